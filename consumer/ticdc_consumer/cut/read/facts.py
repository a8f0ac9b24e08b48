"""Row changes -> facts: the absent key, or the row that a key holds, as of a commit_ts.

Facts are ordered by (commit_ts, present). The greatest fact of a key counts; this rule gives
deduplication, transaction order and DELETE before INSERT at once. The maximum is associative, so it
is taken as early as possible: here, inside the task that reads.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import compress, repeat
from operator import is_not, itemgetter, ne
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ticdc_encoder.event import Row, RowChange

from ticdc_consumer.cut.read.columns import Columns, Key
from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.errors import Stop, about
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.not_held import marking

SCHEMA = pa.schema(
    [
        pa.field("table", pa.int32()),
        pa.field("key", pa.binary()),
        pa.field("commit_ts", pa.int64()),
        pa.field("present", pa.bool_()),
        pa.field("row", pa.binary()),
        pa.field("place", pa.int32()),
        pa.field("offset", pa.int64()),
    ]
)
"""`table` numbers the job's layouts, `place` its partitions; REPORT in `table` marks a task's
report, whose JSON is in `row`. `row` is null for an absence. commit_ts fits into 63 bits, because
nothing from the far future is believed.

For a table without a key (`Layout.key` is empty) a fact counts additional equal rows: `key` is the
whole row, `offset` the count, below 0 for fewer rows, and `present` whether it is above 0. `row` is
TiKV's key if the wire has it, else null; `place` means nothing.
"""

REPORT = -1

Body = bytes | Row | None
"""The content of a key: a decoded row, or the piece of a message that a fast reader will parse."""

Objects = np.ndarray[tuple[int], np.dtype[np.object_]]

Slot = tuple[tuple[str | bytes | None, ...], int, bytes | None, int]
Rows = dict[Slot, int]
"""Counts for tables without a key: (canonical row, commit_ts, TiKV's key, sign) -> additional rows.
Without TiKV's key both signs count together, and without `steps` all commit_ts: the two are 0 then.
"""


class FastRows(NamedTuple):
    """Changes of one table from a fast reader, by column: the present keys, the pieces with their
    rows, and the absent keys. None where no change has any."""

    table: int
    commit_ts: Sequence[int]
    present: Sequence[Key] | None
    bodies: Sequence[bytes] | None
    absent: Sequence[Key] | None

    def chosen(self, chosen: Sequence[bool]) -> "FastRows":
        """Returns the chosen changes."""
        _, commit_ts, present, bodies, absent = self
        return FastRows(
            self.table,
            tuple(compress(commit_ts, chosen)),
            present and tuple(compress(present, chosen)),
            bodies and tuple(compress(bodies, chosen)),
            absent and tuple(compress(absent, chosen)),
        )


Parse = Callable[[Layout, Sequence[bytes]], Sequence[pa.Array]]
"""Converts a fast reader's pieces to canonical arrays in the order of the layout's source
columns."""


Fact = tuple[int, bool, int, int, Body]
"""commit_ts, whether the key is present, the partition's number, the offset, the body. Facts are
ordered by the first two. A plain tuple, since one is made for every change."""

_commit_ts = itemgetter(0)


@dataclass(slots=True)
class FactCounts:
    """Counts by table number; `facts` counts those inside the cut, before folding, and `sent` those
    flushed, of all tables."""

    facts: Counter[int] = field(default_factory=Counter)
    duplicates: Counter[int] = field(default_factory=Counter)
    sent: int = 0


class Conflict(Stop):
    """Two different rows for one key at one commit_ts: `known` is the fact that came first, `fact`
    the other."""

    def __init__(self, message: str, known: Fact, fact: Fact, table: tuple[str, str]) -> None:
        super().__init__(message)
        self.known, self.fact, self.table = known, fact, table
        self.commit_ts = fact[0]


class Fold:
    """The maximum over the facts of one task, flushed at a budget. A table uses no memory before
    its first fact.

    With `steps` every commit_ts is kept apart (`apply = "transactions"`).
    """

    def __init__(
        self, layouts: Sequence[Layout], zone: Zone, parse: Parse, steps: bool = False
    ) -> None:
        self._layouts = layouts
        self._zone = zone
        self._sent: dict[int, Layout] = {}
        self._met: dict[int, Columns] = {}
        self._parse = parse
        self._steps = steps
        self._facts: defaultdict[int, dict[Any, Fact]] = defaultdict(dict)
        self._rows: defaultdict[int, Rows] = defaultdict(dict)
        self.counts = FactCounts()
        self.bytes = 0

    def add(self, table: int, key: Key, fact: Fact, size: int) -> None:
        """Adds one fact. Raises `Conflict` if another row is known for its key and commit_ts."""
        self._merge(table, [key], [fact], size)

    def add_change(
        self, table: int, change: RowChange, partition: int, offset: int, size: int
    ) -> None:
        """Adds the facts of one decoded change. `size` is about their bytes. Raises `Conflict`."""
        columns = self._columns(table)
        if not self._sent[table].key:
            self._add_rows(table, change, size)
            return
        before, after = columns.keys(change)
        if after is not None:
            fact = (change.commit_ts, True, partition, offset, change.after)
            self.add(table, after, fact, size)
        if before is not None and before != after:
            self.add(table, before, (change.commit_ts, False, partition, offset, None), 64)

    def _add_rows(self, table: int, change: RowChange, size: int) -> None:
        """Counts one row less, one row more. Only TiKV's key shows that a change is a copy."""
        columns, rows = self._columns(table), self._rows[table]
        for sign, image in ((-1, change.before), (1, change.after)):
            if image is None:
                continue
            row = columns.row(image, change.after or image)
            slot: Slot = (row, change.commit_ts, change.row_key, sign)
            if change.row_key is None:
                slot = (row, change.commit_ts if self._steps else 0, None, 0)
            self.counts.facts[table] += 1
            if slot not in rows:
                rows[slot] = sign
                self.bytes += size
            elif change.row_key is None:
                rows[slot] += sign
            else:
                self.counts.duplicates[table] += 1

    def add_many(self, rows: FastRows, offsets: Sequence[int], partition: int, size: int) -> None:
        """Adds the facts of a fast reader's changes, each with its offset. `size` is about the
        bytes of one change. Raises `Conflict`."""
        table, commit_ts, present, bodies, absent = rows
        if present is not None and bodies is not None:
            presences = zip(commit_ts, repeat(True), repeat(partition), offsets, bodies)
            self._merge(table, present, [*presences], size)
        if absent is None or absent == present:
            return
        absences = [*zip(commit_ts, repeat(False), repeat(partition), offsets, repeat(None))]
        if present is not None:
            moves = [*map(ne, absent, present)]
            absent, absences = [*compress(absent, moves)], [*compress(absences, moves)]
        self._merge(table, absent, absences, 64)

    def _merge(self, table: int, keys: Sequence[Key], added: Sequence[Fact], size: int) -> None:
        """Adds a fact for each of the keys. Raises `Conflict`."""
        facts = self._facts[table]
        slots: Sequence[Any] = keys
        if self._steps:
            slots = [*zip(keys, map(_commit_ts, added), strict=True)]
        before = len(facts)
        # No Python step for a new key: this runs for every change.
        others = map(is_not, map(facts.setdefault, slots, added), added)
        for slot, fact in [*compress(zip(slots, added, strict=True), others)]:
            known = facts[slot]
            if known[:2] < fact[:2]:
                facts[slot] = fact
            elif known[:2] == fact[:2]:
                self.counts.duplicates[table] += 1
                if fact[1] and fact[4] != known[4]:
                    self._compare(table, slot[0] if self._steps else slot, known, fact)
        self.counts.facts[table] += len(added)
        self.bytes += size * (len(facts) - before)

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yields and forgets the remaining facts, encoded for the target, a batch per table.
        Present facts come first, both kinds in the order of their keys, so that the target's pages
        stay together."""
        for number, facts in self._facts.items():
            if facts:
                self.counts.sent += len(facts)
                with self._about(number):
                    batch = self._batch(number, facts)
                yield batch
                facts.clear()
        for number, rows in self._rows.items():
            if rows:
                self.counts.sent += len(rows)
                with self._about(number):
                    batch = self._rows_batch(number, rows)
                yield batch
                rows.clear()
        self.bytes = 0

    def _about(self, number: int) -> AbstractContextManager[None]:
        return about((self._layouts[number].schema, self._layouts[number].table))

    def _batch(self, number: int, facts: Mapping[Any, Fact]) -> pa.RecordBatch:
        layout, columns = self._layouts[number], self._columns(number)
        _, encode_keys = encoders(layout.dialect)
        slots: Sequence[Any] = tuple(facts)
        commit_ts, present, partitions, offsets, bodies = zip(*facts.values(), strict=True)
        keys = [key for key, _ in slots] if self._steps else slots
        encoded = encode_keys(layout, _with_shard(layout, columns.key_arrays(keys)))
        unsorted = pa.RecordBatch.from_arrays(
            [
                pa.array(present, pa.bool_()),
                encoded,
                pa.array(commit_ts, pa.int64()),
                pa.array(partitions, pa.int32()),
                pa.array(offsets, pa.int64()),
            ],
            names=["present", "key", "commit_ts", "place", "offset"],
        )
        order = pc.sort_indices(unsorted, [("present", "descending"), ("key", "ascending")])
        rows = self._encoded(number, _of_objects(bodies)[order.to_numpy()[: sum(present)]])
        ordered = unsorted.take(order)
        return pa.RecordBatch.from_arrays(
            [
                pa.repeat(pa.scalar(number, pa.int32()), len(bodies)),
                ordered["key"],
                ordered["commit_ts"],
                ordered["present"],
                pa.concat_arrays([rows, pa.nulls(len(bodies) - len(rows), pa.binary())]),
                ordered["place"],
                ordered["offset"],
            ],
            schema=SCHEMA,
        )

    def _encoded(self, number: int, bodies: Objects) -> pa.BinaryArray:
        """Returns the rows for the target, in the order of the bodies, pieces or decoded ones."""
        layout, columns = self._layouts[number], self._columns(number)
        encode_rows, _ = encoders(layout.dialect)

        def encoded(canonical: Sequence[pa.Array]) -> pa.BinaryArray:
            return marking(encode_rows)(layout, _with_shard(layout, columns.in_utc(canonical)))

        kinds = set(map(type, bodies))
        if not kinds:
            return pa.nulls(0, pa.binary())
        if bytes not in kinds:
            return encoded(columns.arrays(bodies.tolist()))
        if kinds == {bytes}:
            return encoded(self._parse(self._sent[number], bodies.tolist()))
        is_piece = np.ones(len(bodies), np.bool_)
        is_piece[[i for i, body in enumerate(bodies) if type(body) is not bytes]] = False
        pieces, decoded = bodies[is_piece].tolist(), bodies[~is_piece].tolist()
        parts = [encoded(self._parse(self._sent[number], pieces)), encoded(columns.arrays(decoded))]
        positions = np.empty(len(bodies), np.int64)
        positions[is_piece] = np.arange(len(pieces))
        positions[~is_piece] = np.arange(len(pieces), len(bodies))
        return pa.concat_arrays(parts).take(pa.array(positions))

    def _rows_batch(self, number: int, rows: Rows) -> pa.RecordBatch:
        layout, columns = self._layouts[number], self._columns(number)
        encode_rows, _ = encoders(layout.dialect)
        arrays = columns.in_utc(columns.arrays_of([row for row, _, _, _ in rows]))
        return pa.RecordBatch.from_arrays(
            [
                pa.array([number] * len(rows), pa.int32()),
                marking(encode_rows)(layout, arrays),
                pa.array([commit_ts for _, commit_ts, _, _ in rows], pa.int64()),
                pa.array([count > 0 for count in rows.values()], pa.bool_()),
                pa.array([row_key for _, _, row_key, _ in rows], pa.binary()),
                pa.array([0] * len(rows), pa.int32()),
                pa.array(rows.values(), pa.int64()),
            ],
            schema=SCHEMA,
        )

    def _columns(self, table: int) -> Columns:
        columns = self._met.get(table)
        if columns is None:
            layout = self._sent[table] = self._layouts[table].sent
            columns = self._met[table] = Columns(layout, self._zone)
        return columns

    def _compare(self, table: int, key: Key, known: Fact, fact: Fact) -> None:
        columns = self._columns(table)
        layout = self._sent[table]
        texts = []
        for body in (known[4], fact[4]):
            arrays = (
                self._parse(layout, [body])
                if isinstance(body, bytes)
                else columns.arrays([body or {}])
            )
            texts.append([array[0].as_py() for array in arrays])
        differing = [
            column.name
            for column, one, other in zip(layout.source, *texts, strict=True)
            if one != other
        ]
        if differing:
            raise Conflict(
                f"{layout.name}: two different rows for key {columns.key_text(key)} at commit_ts "
                f"{fact[0]}: columns {', '.join(differing)} differ",
                known,
                fact,
                (layout.schema, layout.table),
            )


def _of_objects(values: Sequence[object]) -> Objects:
    """Returns an array of these objects, whatever they hold."""
    return np.fromiter(values, np.object_, len(values))


def _with_shard(layout: Layout, arrays: Sequence[pa.Array]) -> list[pa.Array]:
    """Returns the sent arrays and that of the shard's column."""
    if layout.shard is None:
        return list(arrays)
    return [*arrays, pa.repeat(pa.scalar(layout.shard, pa.string()), len(arrays[0]))]
