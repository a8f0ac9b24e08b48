"""Row changes -> facts: which key is absent, and which row a key holds, as of a commit_ts.

A fact's worth is (commit_ts, present): of the facts of one key the greatest counts, and that is
deduplication, transaction order and DELETE before INSERT at once (the design's section 2). The
maximum is associative, so it is taken as early as possible: here, inside the task that reads.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Row, RowChange, Table
from ticdc_encoder.values import canonicaliser

from ticdc_consumer.errors import Stop
from ticdc_consumer.read.time_zone import Zone
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import Layout

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
report, whose JSON is in `row`. `row` is null where the fact is an absence. commit_ts fits into 63
bits, because nothing from the far future is believed.

Of a table without a key (`Layout.key` is empty) a fact says how many more equal rows there are:
`key` is the whole row, `offset` that number, below 0 where they are fewer, and `present` whether it
is above. `row` is TiKV's key where the wire tells it, else null; `place` says nothing."""

REPORT = -1

Key = bytes | tuple[bytes, ...]
Body = bytes | Row | None
"""What a key holds: a row as decoded, or the piece of a message that a fast reader will parse."""

Slot = tuple[tuple[str | bytes | None, ...], int, bytes | None, int]
Rows = dict[Slot, int]
"""Of a table without a key: (canonical row, commit_ts, TiKV's key, sign) -> how many more. Without
TiKV's key both signs count together, and without `steps` all commit_ts: the two are 0 then."""

Parse = Callable[[Layout, Sequence[bytes]], Sequence[pa.Array]]
"""A fast reader's pieces -> canonical arrays in the order of the layout's source columns."""


Fact = tuple[int, bool, int, int, Body]
"""commit_ts, whether the key is present, the number of the place, the offset, the body. Its first
two are its worth. A plain tuple, since one is made for every change."""


@dataclass(slots=True)
class Tally:
    """Counts by table number; `facts` are those inside the cut, before folding, and `given` how
    many were handed on, of all tables."""

    facts: Counter[int] = field(default_factory=Counter)
    duplicates: Counter[int] = field(default_factory=Counter)
    replays: Counter[int] = field(default_factory=Counter)
    given: int = 0


class Conflict(Stop):
    """Two different rows for one key at one commit_ts; `known` is the fact that came first."""

    def __init__(self, words: str, known: "Fact") -> None:
        super().__init__(words)
        self.known = known


class Fold:
    """The maximum over the facts of one task, flushed at a budget.

    With `steps` every commit_ts is kept apart (`apply = "transactions"`).
    """

    def __init__(
        self, layouts: Sequence[Layout], zone: Zone, parse: Parse, steps: bool = False
    ) -> None:
        self._layouts = layouts
        self._columns = [Columns(layout, zone) for layout in layouts]
        self._parse = parse
        self._steps = steps
        self._facts: list[dict[Any, Fact]] = [{} for _ in layouts]
        self._rows: dict[int, Rows] = {n: {} for n, known in enumerate(layouts) if not known.key}
        self.tally = Tally()
        self.bytes = 0

    def add(self, table: int, key: Key, fact: Fact, size: int) -> None:
        """Raises `Conflict` where the same key and commit_ts already holds another row."""
        facts = self._facts[table]
        slot = (key, fact[0]) if self._steps else key
        self.tally.facts[table] += 1
        known = facts.get(slot)
        if known is None:
            facts[slot] = fact
            self.bytes += size
        elif known[:2] < fact[:2]:
            facts[slot] = fact
        elif known[:2] == fact[:2]:
            self.tally.duplicates[table] += 1
            if fact[1] and fact[4] != known[4]:
                self._compare(table, key, known, fact)

    def add_change(self, table: int, change: RowChange, place: int, offset: int, size: int) -> int:
        """The facts of one decoded change; says how many they were."""
        if table in self._rows:
            return self._add_rows(table, change, size)
        before, after = self._columns[table].keys(change)
        if after is not None:
            fact = (change.commit_ts, True, place, offset, change.after)
            self.add(table, after, fact, size)
        if before is not None and before != after:
            self.add(table, before, (change.commit_ts, False, place, offset, None), 64)
        return (after is not None) + (before is not None and before != after)

    def _add_rows(self, table: int, change: RowChange, size: int) -> int:
        """One row less, one row more. Copies of a change are known by TiKV's key alone."""
        columns, rows = self._columns[table], self._rows[table]
        images = [(-1, change.before), (1, change.after)]
        told = [(sign, image) for sign, image in images if image is not None]
        for sign, image in told:
            row = columns.row(image, change.after or image)
            slot: Slot = (row, change.commit_ts, change.row_key, sign)
            if change.row_key is None:
                slot = (row, change.commit_ts if self._steps else 0, None, 0)
            self.tally.facts[table] += 1
            if slot not in rows:
                rows[slot] = sign
                self.bytes += size
            elif change.row_key is None:
                rows[slot] += sign
            else:
                self.tally.duplicates[table] += 1
        return len(told)

    def add_raw(
        self,
        table: int,
        commit_ts: int,
        present: Key | None,
        body: bytes | None,
        absent: Key | None,
        place: int,
        offset: int,
        size: int,
    ) -> None:
        """The facts of one change as a fast reader found them."""
        # `add`, twice, without a call: this is done for every change of a large cut.
        facts, steps = self._facts[table], self._steps
        if present is not None:
            self.tally.facts[table] += 1
            slot = (present, commit_ts) if steps else present
            known = facts.get(slot)
            if known is None:
                facts[slot] = (commit_ts, True, place, offset, body)
                self.bytes += size
            elif known[0] < commit_ts or (known[0] == commit_ts and not known[1]):
                facts[slot] = (commit_ts, True, place, offset, body)
            elif known[0] == commit_ts:
                self.tally.facts[table] -= 1
                self.add(table, present, (commit_ts, True, place, offset, body), size)
        if absent is not None and absent != present:
            self.tally.facts[table] += 1
            slot = (absent, commit_ts) if steps else absent
            known = facts.get(slot)
            if known is None:
                facts[slot] = (commit_ts, False, place, offset, None)
                self.bytes += 64
            elif known[0] < commit_ts:
                facts[slot] = (commit_ts, False, place, offset, None)
            elif known[0] == commit_ts and not known[1]:
                self.tally.duplicates[table] += 1

    def flush(self) -> Iterator[pa.RecordBatch]:
        """The facts that are left, encoded for the target, a batch per table."""
        for number, facts in enumerate(self._facts):
            if facts:
                self.tally.given += len(facts)
                yield self._batch(number, facts)
                facts.clear()
        for number, rows in self._rows.items():
            if rows:
                self.tally.given += len(rows)
                yield self._rows_batch(number, rows)
                rows.clear()
        self.bytes = 0

    def _batch(self, number: int, facts: Mapping[Any, Fact]) -> pa.RecordBatch:
        layout, columns = self._layouts[number], self._columns[number]
        encode_rows, encode_keys = encoders(layout.dialect)
        # Present facts first, those with a fast reader's pieces before decoded rows.
        pieces = [item for item in facts.items() if type(item[1][4]) is bytes]
        rows = [item for item in facts.items() if item[1][1] and type(item[1][4]) is not bytes]
        gone = [item for item in facts.items() if not item[1][1]]
        slots, ordered = zip(*pieces, *rows, *gone, strict=True)
        keys = [key for key, _ in slots] if self._steps else slots
        commit_ts, _, places, offsets, bodies = zip(*ordered, strict=True)
        payloads = []
        if pieces:
            parsed = self._parse(layout, bodies[: len(pieces)])
            payloads.append(encode_rows(layout, columns.in_utc(parsed)))
        if rows:
            decoded = columns.arrays(bodies[len(pieces) : len(pieces) + len(rows)])
            payloads.append(encode_rows(layout, columns.in_utc(decoded)))
        payloads.append(pa.nulls(len(gone), pa.binary()))
        present = [pa.repeat(True, len(pieces) + len(rows)), pa.repeat(False, len(gone))]
        return pa.RecordBatch.from_arrays(
            [
                pa.repeat(pa.scalar(number, pa.int32()), len(ordered)),
                encode_keys(layout, columns.key_arrays(keys)).cast(pa.binary()),
                pa.array(commit_ts, pa.int64()),
                pa.concat_arrays(present),
                pa.concat_arrays([payload.cast(pa.binary()) for payload in payloads]),
                pa.array(places, pa.int32()),
                pa.array(offsets, pa.int64()),
            ],
            schema=SCHEMA,
        )

    def _rows_batch(self, number: int, rows: Rows) -> pa.RecordBatch:
        layout, columns = self._layouts[number], self._columns[number]
        encode_rows, _ = encoders(layout.dialect)
        arrays = columns.in_utc(columns.arrays_of([row for row, _, _, _ in rows]))
        return pa.RecordBatch.from_arrays(
            [
                pa.array([number] * len(rows), pa.int32()),
                encode_rows(layout, arrays).cast(pa.binary()),
                pa.array([commit_ts for _, commit_ts, _, _ in rows], pa.int64()),
                pa.array([count > 0 for count in rows.values()], pa.bool_()),
                pa.array([row_key for _, _, row_key, _ in rows], pa.binary()),
                pa.array([0] * len(rows), pa.int32()),
                pa.array(rows.values(), pa.int64()),
            ],
            schema=SCHEMA,
        )

    def _compare(self, table: int, key: Key, known: Fact, fact: Fact) -> None:
        layout, columns = self._layouts[table], self._columns[table]
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
            )


class Columns:
    """Between decoded rows of one table and arrays in canonical form."""

    def __init__(self, layout: Layout, zone: Zone) -> None:
        self._layout = layout
        self._names = tuple(column.name for column in layout.source)
        self._types = [pa.binary() if c.type.binary else pa.string() for c in layout.source]
        self._canonical = [canonicaliser(column.type) for column in layout.source]
        self._zoned = [
            i for i, c in enumerate(layout.source) if c.type.name == "timestamp" and not zone.utc
        ]
        self._zone = zone
        self._key = layout.key_positions()
        self._single = len(self._key) == 1

    def keys(self, change: RowChange) -> tuple[Key | None, Key | None]:
        """The keys that the change says absent and present, in this order."""
        after = None if change.after is None else self._key_of(change.after, change.after)
        if change.before is None:
            return None, after
        # Unchanged columns may be left out of `before`.
        return self._key_of(change.before, change.after or change.before), after

    def _key_of(self, row: Row, rest: Row) -> Key:
        parts = []
        for position in self._key:
            name = self._names[position]
            value = row[name] if name in row else rest.get(name)
            text = self._canonical[position](value)
            if text is None:
                raise Stop(f"{self._layout.name}: no value for key column {name}")
            parts.append(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return parts[0] if self._single else tuple(parts)

    def key_text(self, key: Key) -> str:
        parts = (key,) if isinstance(key, bytes) else key
        return ", ".join(
            f"{self._layout.key[i]}={part.decode('utf-8', 'backslashreplace')}"
            for i, part in enumerate(parts)
        )

    def key_arrays(self, keys: Sequence[Key]) -> list[pa.Array]:
        """Canonical arrays in the order of the layout's key."""
        columns: Iterable[Sequence[bytes]] = [keys] if self._single else zip(*keys, strict=True)  # type: ignore[list-item]
        arrays = []
        for position, parts in zip(self._key, columns, strict=True):
            array = pa.array(parts, pa.binary())
            if self._types[position] == pa.string():
                array = self._text(position, array)
            if position in self._zoned:
                array = self._zone.to_utc(array, self._where(position))
            arrays.append(array)
        return arrays

    def arrays(self, rows: Sequence[Row]) -> list[pa.Array]:
        """Canonical arrays, one per source column, TIMESTAMP as it came."""
        arrays = []
        for position, name in enumerate(self._names):
            canonical = self._canonical[position]
            try:
                values = [canonical(row[name]) for row in rows]
            except KeyError:
                raise WireError(f"{self._layout.name}: a row without column {name}") from None
            arrays.append(self._array(position, values))
        return arrays

    def row(self, image: Row, rest: Row) -> tuple[str | bytes | None, ...]:
        """The canonical values of all columns; what `image` leaves out is as in `rest`."""
        try:
            return tuple(
                [
                    canonical(image[name] if name in image else rest[name])
                    for name, canonical in zip(self._names, self._canonical, strict=True)
                ]
            )
        except KeyError as missing:
            raise WireError(
                f"{self._layout.name}: a row without column {missing.args[0]}"
            ) from None

    def arrays_of(self, rows: Sequence[tuple[str | bytes | None, ...]]) -> list[pa.Array]:
        """Arrays of what `row` gave."""
        return [self._array(i, values) for i, values in enumerate(zip(*rows, strict=True))]

    def _array(self, position: int, values: Sequence[str | bytes | None]) -> pa.Array:
        try:
            return pa.array(values, self._types[position])
        except UnicodeEncodeError:
            raise WireError(f"{self._where(position)}: text that is not UTF-8") from None

    def in_utc(self, arrays: Sequence[pa.Array]) -> list[pa.Array]:
        done = list(arrays)
        for position in self._zoned:
            done[position] = self._zone.to_utc(done[position], self._where(position))
        return done

    def _where(self, position: int) -> str:
        return f"{self._layout.name}.{self._names[position]}"

    def _text(self, position: int, array: pa.Array) -> pa.Array:
        try:
            return array.cast(pa.string())
        except pa.ArrowInvalid:
            raise WireError(f"{self._where(position)}: text that is not UTF-8") from None


Shape = tuple[tuple[str, str, bool], ...]


def shape(table: Table) -> Shape:
    """What must not change within a cut: the columns and the kinds of their values."""
    return tuple(sorted((c.name, c.type.name, c.type.unsigned) for c in table.columns))
