"""Stands for what `load --table` reads of the upstream: the tables and rows of the world's TiDB."""

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from ticdc_consumer.commands.load import again, growing
from ticdc_consumer.config.options import Settings
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.origin import StoredChunk
from ticdc_consumer.upstream.tables import Defined
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.sql.parser import parse_create_table

WORLD: list[Any] = []
"""The history that runs."""


@dataclass(frozen=True)
class Origin:
    """In place of `FromUpstream`: chunks are the rows whose keys have the same remainder."""

    url: str

    def cut(self, snapshot_ts: int, table: Table, size: int) -> list[StoredChunk]:
        _, rows = WORLD[-1].upstream.at(snapshot_ts + 1)[table.name]
        parts = min(3, len(rows) + 1)
        return [(json.dumps([part, parts]), len(rows) // parts) for part in range(parts)]

    def reader(self) -> "Origin":
        return self

    def batches(self, table: Table, stored: str, snapshot_ts: int) -> Iterator[list[pa.Array]]:
        part, parts = json.loads(stored)
        WORLD[-1].people.see_a_load(table.name)
        names, rows = WORLD[-1].upstream.at(snapshot_ts + 1)[table.name]
        key = [names.index(name) for name in table.handle_key]
        mine = [
            row for row in rows if zlib.crc32(repr([row[n] for n in key]).encode()) % parts == part
        ]
        for row in mine:
            texts = [row[names.index(column.name)] for column in table.columns]
            yield [pa.array([None if v is None else str(v)], pa.string()) for v in texts]

    def close(self) -> None:
        return


@contextmanager
def _reading(url: str, snapshot_ts: int = 0) -> Iterator[dict[str, str]]:
    """The statements of the tables that there are."""
    yield WORLD[-1].upstream.statements_at(snapshot_ts + 1)


def _names(session: dict[str, str], options: Settings) -> list[TableName]:
    passes, schema = TableFilter(options.filter).matches, WORLD[-1].schema
    return [(schema, name) for name in sorted(session) if passes(schema, name)]


def _current_ts(session: dict[str, str]) -> int:
    """Of any moment after all that TiCDC has sent, which it will reach."""
    cdc = WORLD[-1].cdc
    least = max(cdc.latest, cdc.resolved)
    now = int(WORLD[-1].scheduler.rng.randint(least, max(least, cdc.goal - 1)))
    if now >= cdc.goal:
        cdc.goal, cdc.over = now + 1, False
    return now


def _defined(session: dict[str, str], schema: str, name: str) -> Defined:
    return Defined(parse_create_table(session[name], schema), session[name])


def _stored(*_: object) -> Any:
    """The consumer that runs, as its rows in the target would show it."""
    history = WORLD[-1]
    activities = [
        consumer.activity
        for process, consumer in history.consumers.items()
        if process in history.scheduler.processes and not process.dead
    ]
    generations = [a.generation for a in activities if a.generation and a.stage != "stopped"]
    if not generations:
        return None
    activity = SimpleNamespace(generation=max(generations))
    return SimpleNamespace(running=True, activity=activity)


_OF_BOTH: dict[str, object] = {
    "FromUpstream": Origin,
    "reading": _reading,
    "names": _names,
    "defined": _defined,
}
PARTS: list[tuple[object, str, object]] = [
    *((module, name, part) for module in (again, growing) for name, part in _OF_BOTH.items()),
    (growing, "current_ts", _current_ts),
    (again, "_upstream_url", lambda options: ""),
    (again, "pinned", lambda *_: nullcontext()),
    (again, "require_kept", lambda *_: None),
    (again, "stored", SimpleNamespace(read=_stored)),
]
"""What is put in the place of the command's own."""
