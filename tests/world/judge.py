"""What is checked at every commit of the target, by an observer with a connection of its own."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ticdc_torture.upstream import Contents, TiDB


class Broken(AssertionError):
    """The promise does not hold."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the observer found after a commit."""

    resolved_ts: int
    generation: int
    contents: Contents
    ddls: tuple[tuple[int, str], ...]
    """commit_ts and table of each that the ledger has as done."""


class Judge:
    """`writer` tells the generation of the consumer that committed, `covered` counts what was
    seen."""

    def __init__(self, file: Path, upstream: TiDB, way: str) -> None:
        self._observer = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._upstream, self._way = upstream, way
        self._last = Seen(0, 0, {}, ())
        self.writer: Callable[[], int] = lambda: 0
        self.covered: Counter[str] = Counter()

    @property
    def resolved_ts(self) -> int:
        return self._last.resolved_ts

    def close(self) -> None:
        self._observer.close()

    def restart(self, topic: str, partition: int) -> int | None:
        """Where the checkpoint has a partition read on."""
        row = self._observer.execute(
            "SELECT restart_offset FROM ticdc_offset WHERE topic = ? AND partition = ?",
            (topic, partition),
        ).fetchone()
        return None if row is None else int(row[0])

    def committed(self) -> None:
        """Raises `Broken`."""
        last, seen = self._last, self._look()
        if seen is None:
            return
        self.covered["commits"] += 1
        if seen.generation < last.generation:
            raise Broken(f"the generation went back from {last.generation} to {seen.generation}")
        if seen.resolved_ts < last.resolved_ts:
            raise Broken(f"R went back from {last.resolved_ts} to {seen.resolved_ts}")
        if seen.resolved_ts == last.resolved_ts and seen.contents != last.contents:
            raise Broken(f"rows changed while R stayed {seen.resolved_ts}")
        if seen.resolved_ts > last.resolved_ts:
            self._moved(last, seen)
        self._last = seen

    def _moved(self, last: Seen, seen: Seen) -> None:
        self.covered["cuts"] += 1
        if (writer := self.writer()) != seen.generation:
            raise Broken(f"generation {writer} moved R, the checkpoint has {seen.generation}")
        expected = self._upstream.at(seen.resolved_ts)
        if seen.contents != expected:
            raise Broken(
                f"at R = {seen.resolved_ts} the target differs from the upstream: "
                f"{_difference(seen.contents, expected)}"
            )
        ddls = sorted((d.commit_ts, d.table) for d in self._upstream.ddls_before(seen.resolved_ts))
        if list(seen.ddls) != ddls:
            raise Broken(f"at R = {seen.resolved_ts} the ledger has {seen.ddls}, upstream {ddls}")
        if self._way == "transactions":
            changed = self._upstream.transactions_between(last.resolved_ts, seen.resolved_ts)
            if len(changed) > 1:
                raise Broken(f"one commit applied the transactions of {changed}")

    def _look(self) -> Seen | None:
        observer = self._observer
        observer.execute("BEGIN")
        try:
            tables = [
                name
                for (name,) in observer.execute("SELECT name FROM sqlite_schema WHERE type='table'")
            ]
            if "ticdc_checkpoint" not in tables:
                return None
            row = observer.execute(
                "SELECT resolved_ts, generation FROM ticdc_checkpoint WHERE changefeed = 'world'"
            ).fetchone()
            if row is None:
                return None
            own = [n for n in tables if not n.startswith(("ticdc_", "world_", "sqlite_"))]
            contents = {name: _contents(observer, name) for name in own}
            done = observer.execute(
                "SELECT commit_ts, \"table\" FROM ticdc_ddl WHERE state = 'done'"
            )
            ddls = tuple(sorted((int(ts), table) for ts, table in done))
        finally:
            observer.execute("COMMIT")
        return Seen(int(row[0]), int(row[1]), contents, ddls)


def _contents(observer: sqlite3.Connection, table: str) -> tuple[tuple[str, ...], list[Any]]:
    found = observer.execute(f'SELECT * FROM "{table}"')  # noqa: S608
    names = [column[0] for column in found.description]
    order = sorted(range(len(names)), key=names.__getitem__)
    rows = [tuple(row[n] for n in order) for row in found]
    return tuple(names[n] for n in order), sorted(rows, key=repr)


def _difference(found: Contents, expected: Contents) -> str:
    for name in sorted({*found, *expected}):
        if found.get(name) != expected.get(name):
            return f"{name} is {found.get(name)}, upstream {expected.get(name)}"
    return "nothing"
