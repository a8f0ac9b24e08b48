"""What is checked at every commit of the target, by an observer with a connection of its own."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
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
    aside: dict[str, int] = field(default_factory=dict)
    """The tables that are quarantined, each with its own R."""
    pending: int = 0
    """DDL below R that are not done: until they are, tables differ from the upstream."""


class Judge:
    """`writer` tells the generation of the consumer that committed, `covered` counts what was
    seen."""

    def __init__(self, file: Path, upstream: TiDB, way: str) -> None:
        self._observer = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._upstream, self._way = upstream, way
        self._last = Seen(0, 0, {}, ())
        self.writer: Callable[[], int | None] = lambda: None
        self.covered: Counter[str] = Counter()
        self.late = set[str]()
        """Tables that the filter leaves out at first: the target may get them later."""
        self.misses: Callable[[], bool] = lambda: False
        """Whether the brokers have kept a topic secret from the consumer."""
        self.may_be_forgotten = False
        self.forgotten = False
        self.highest = 0
        """The greatest R that was ever committed."""

    @property
    def resolved_ts(self) -> int:
        return self._last.resolved_ts

    @property
    def aside(self) -> dict[str, int]:
        return self._last.aside

    @property
    def tables(self) -> list[str]:
        """Those of the target, by name."""
        return sorted(self._last.contents)

    def close(self) -> None:
        self._observer.close()

    def restart(self, topic: str, partition: int) -> int | None:
        """Where the checkpoint, or a table that is quarantined, has a partition read on."""
        if "ticdc_offset" not in self._names():
            return None
        row = self._observer.execute(
            "SELECT restart_offset FROM ticdc_offset WHERE topic = ? AND partition = ?",
            (topic, partition),
        ).fetchone()
        if row is None:
            return None
        aside = [
            int(offset)
            for (text,) in self._observer.execute("SELECT positions FROM ticdc_quarantine")
            for name, _, number, offset, *_ in json.loads(text)
            if (name, number) == (topic, partition)
        ]
        return min([int(row[0]), *aside])

    def restored(self) -> None:
        """All is as it was at an earlier commit."""
        self.covered["restored"] += 1
        self._last = self._look() or Seen(0, 0, {}, ())

    def committed(self) -> None:
        """Raises `Broken`."""
        last, seen = self._last, self._look()
        if seen is None:
            if last.generation and not self.forgotten:
                self._forgotten()
            return
        self.covered["commits"] += 1
        if seen.generation < last.generation:
            raise Broken(f"the generation went back from {last.generation} to {seen.generation}")
        if seen.resolved_ts < last.resolved_ts:
            raise Broken(f"R went back from {last.resolved_ts} to {seen.resolved_ts}")
        if (seen.resolved_ts, seen.aside) != (last.resolved_ts, last.aside):
            self._moved(last, seen)
        elif last.pending:
            self.covered["pending DDL"] += 1
            self._compare(seen)
        elif self.late & (seen.contents.keys() - last.contents.keys()):
            self.covered["tables that a wider filter takes"] += 1
            self._compare(seen)
        elif seen.contents != last.contents:
            raise Broken(f"rows changed while R stayed {seen.resolved_ts}")
        self._last = seen
        self.highest = max(self.highest, seen.resolved_ts)

    def _forgotten(self) -> None:
        """The changefeed has no checkpoint any more: nothing else of it is left, all rows are."""
        if not self.may_be_forgotten:
            raise Broken("the target has no checkpoint any more")
        contents, left = self._contents(), self._left()
        if left:
            raise Broken(f"it is forgotten, but for what these have: {left}")
        if contents != self._last.contents:
            raise Broken("rows changed when it was forgotten")
        self.forgotten = True
        self._last = Seen(0, 0, contents, ())

    def filter(self) -> list[str]:
        """That of the checkpoint."""
        if "ticdc_checkpoint" not in self._names():
            return []
        rows = self._observer.execute("SELECT scope_text FROM ticdc_checkpoint").fetchall()
        return [rule for (text,) in rows for rule in json.loads(text)["filter"]]

    def _left(self) -> list[str]:
        """The consumer's own tables that have rows of the changefeed."""
        left = []
        for name in self._names():
            of = f"FROM \"{name}\" WHERE changefeed = 'world'"
            columns = self._observer.execute(f'SELECT * FROM "{name}" LIMIT 0').description  # noqa: S608
            if "changefeed" in [column[0] for column in columns]:
                left += [name] * bool(self._observer.execute(f"SELECT 1 {of}").fetchall())
        return left

    def _moved(self, last: Seen, seen: Seen) -> None:
        self.covered["cuts" if seen.resolved_ts > last.resolved_ts else "cuts aside"] += 1
        if (writer := self.writer()) not in (None, seen.generation):
            raise Broken(f"generation {writer} moved R, the checkpoint has {seen.generation}")
        self._look_aside(last, seen)
        if self.misses():
            self.covered["cuts without a topic that listings lack"] += 1
            return
        self._compare(seen)
        if self._way == "transactions":
            changed = self._upstream.transactions_between(last.resolved_ts, seen.resolved_ts)
            if len(changed) > 1:
                raise Broken(f"one commit applied the transactions of {changed}")

    def _compare(self, seen: Seen) -> None:
        """Rows and DDL with the upstream's, where both can be known."""
        if seen.pending or self.misses():
            return
        expected = self._expected(seen)
        if seen.contents != expected:
            raise Broken(
                f"at R = {seen.resolved_ts}, aside {seen.aside}, the target differs from the "
                f"upstream: {_difference(seen.contents, expected)}"
            )
        ddls = sorted(
            (d.commit_ts, d.table)
            for d in self._upstream.ddls_before(seen.resolved_ts)
            if d.commit_ts < seen.aside.get(d.table, seen.resolved_ts)
        )
        if list(seen.ddls) != ddls:
            raise Broken(f"at R = {seen.resolved_ts} the ledger has {seen.ddls}, upstream {ddls}")

    def _look_aside(self, last: Seen, seen: Seen) -> None:
        """A table is quarantined at R; its own R does not go back, and ends at R."""
        for table, ts in seen.aside.items():
            before = last.aside.get(table)
            if before is None:
                self.covered["tables quarantined"] += 1
                if ts != seen.resolved_ts:
                    raise Broken(f"{table} is quarantined at {ts}, R is {seen.resolved_ts}")
            elif not before <= ts < seen.resolved_ts + 1:
                raise Broken(f"{table} went from {before} to {ts}, R is {seen.resolved_ts}")
        self.covered["tables released"] += len(last.aside.keys() - seen.aside.keys())

    def _expected(self, seen: Seen) -> Contents:
        """The upstream at R, and at their own R what is quarantined."""
        there = self._last.contents.keys() | seen.contents.keys()
        contents = self._upstream.at(seen.resolved_ts)
        contents = {n: of for n, of in contents.items() if n not in self.late or n in there}
        if not seen.aside:
            return contents
        contents = {name: of for name, of in contents.items() if name not in seen.aside}
        for table, ts in seen.aside.items():
            if (then := self._upstream.at(ts)).get(table) is not None:
                contents[table] = then[table]
        return contents

    def _look(self) -> Seen | None:
        observer = self._observer
        observer.execute("BEGIN")
        try:
            if "ticdc_checkpoint" not in self._names():
                return None
            row = observer.execute(
                "SELECT resolved_ts, generation FROM ticdc_checkpoint WHERE changefeed = 'world'"
            ).fetchone()
            if row is None:
                return None
            contents = self._contents()
            done = observer.execute(
                "SELECT commit_ts, \"table\" FROM ticdc_ddl WHERE state = 'done'"
            )
            # The load of a table that comes late has an entry for it.
            ddls = tuple(sorted((int(ts), name) for ts, name in done if name not in self.late))
            (pending,) = observer.execute(
                "SELECT count(*) FROM ticdc_ddl WHERE state = 'pending'"
            ).fetchone()
            aside = observer.execute('SELECT "table", resolved_ts FROM ticdc_quarantine')
            by_name = {table: int(ts) for table, ts in aside}
        finally:
            observer.execute("COMMIT")
        return Seen(int(row[0]), int(row[1]), contents, ddls, by_name, pending)

    def _names(self) -> list[str]:
        found = self._observer.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        return [name for (name,) in found]

    def _contents(self) -> Contents:
        own = ("ticdc_", "world_", "sqlite_")
        names = [name for name in self._names() if not name.startswith(own)]
        return {name: _contents(self._observer, name) for name in names}


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
