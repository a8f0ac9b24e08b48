"""Facts of many tasks -> the net change of a cut.

One rule, two places to run it: `fold` keeps the greatest fact of each key. The driver runs it over
Arrow columns in memory; Spark runs it over its sorted shuffle where the cut is too large for that.
Of tables without a key equal rows are counted.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.read.facts import REPORT, SCHEMA
from ticdc_consumer.targets.layout import Layout

CHUNK_ROWS = 10_000
CHUNK_BYTES = 4 << 20

DELETES, ROWS = 0, 1
"""The two passes of a load: all deletes of a cut before its first row."""

CHUNKS = pa.schema(
    [
        pa.field("step", pa.int64()),
        pa.field("pass", pa.int32()),
        pa.field("table", pa.int32()),
        pa.field("count", pa.int32()),
        pa.field("payload", pa.binary()),
    ]
)
"""What Spark's fold hands to the driver: `payload` is an Arrow stream of one column of payloads, or
a report (`pass` REPORT), or the places of a conflict (`pass` CLASH). `step` is a commit_ts where
steps are kept apart, else 0."""

CLASH = -2


class Clash(NamedTuple):
    """Two present facts of one key and commit_ts with different rows, by place and offset."""

    table: int
    commit_ts: int
    first: tuple[int, int]
    second: tuple[int, int]


class Folded(NamedTuple):
    facts: pa.Table
    duplicates: dict[int, int]
    clash: Clash | None


def fold(facts: pa.Table, steps: bool, keyless: Sequence[int] = ()) -> Folded:
    """The greatest fact of each key, by (commit_ts, present), of facts in any order.

    With `steps`, of each key and commit_ts. The result is sorted by table, key and commit_ts, but
    for the facts of `keyless` tables at its end, which are as `count_rows` gives them.
    """
    if keyless:
        facts, rows = _split(facts, keyless)
        folded, counted = fold(facts, steps), count_rows(rows, steps)
        return Folded(
            pa.concat_tables([folded.facts, counted.facts]).combine_chunks(),
            folded.duplicates | counted.duplicates,
            folded.clash,
        )
    order = [(name, "ascending") for name in ("table", "key", "commit_ts", "present")]
    return fold_sorted(facts.take(pc.sort_indices(facts, order)).combine_chunks(), steps)


def fold_sorted(facts: pa.Table, steps: bool) -> Folded:
    """As `fold`, of facts sorted by table, key, commit_ts and present."""
    count = facts.num_rows
    if count < 2:
        return Folded(facts, {}, None)
    head, tail = facts.slice(0, count - 1), facts.slice(1)

    def same(name: str) -> pa.ChunkedArray:
        return pc.equal(head[name], tail[name])

    key = pc.and_(same("table"), same("key"))
    moment = pc.and_(key, same("commit_ts"))
    again = pc.and_(moment, same("present"))
    superseded = moment if steps else key
    last = pa.chunked_array([*pc.invert(superseded).chunks, pa.array([True])])
    duplicates: dict[int, int] = {}
    clash = None
    if pc.any(again).as_py():
        duplicates = _by_table(tail.filter(again))
        both = pc.and_(again, tail["present"])
        differs = pc.fill_null(pc.and_(both, pc.not_equal(head["row"], tail["row"])), False)
        if pc.any(differs).as_py():
            clash = _clash(facts, pc.index(differs, True).as_py())
    return Folded(facts.filter(last), duplicates, clash)


def _split(facts: pa.Table, keyless: Sequence[int]) -> tuple[pa.Table, pa.Table]:
    is_keyless = pc.is_in(facts["table"], pa.array(keyless, pa.int32()))
    return facts.filter(pc.invert(is_keyless)), facts.filter(is_keyless)


def count_rows(facts: pa.Table, steps: bool) -> Folded:
    """A fact for each row that is to be deleted or inserted, of facts in any order of tables
    without a key. `key` is the row, also where it is inserted.

    A change that came again is left out where TiKV's key tells it, and counted again elsewhere.
    """
    moment = ["table", "key", "commit_ts"]
    named = facts.filter(pc.is_valid(facts["row"]))
    once = named.group_by([*moment, "present", "row"]).aggregate([("offset", "max")])
    duplicates = _by_table(named)
    for number, count in _by_table(once).items():
        duplicates[number] -= count
    changes = pa.concat_tables(
        [
            once.select([*moment, "offset_max"]).rename_columns([*moment, "offset"]),
            facts.filter(pc.is_null(facts["row"])).select([*moment, "offset"]),
        ]
    )
    if not steps:
        never = pa.array(np.zeros(changes.num_rows, np.int64))
        changes = changes.set_column(2, "commit_ts", never)
    net = changes.group_by(moment).aggregate([("offset", "sum")])
    counts = net["offset_sum"].to_numpy()
    rows = net.take(pa.array(np.repeat(np.arange(len(counts)), np.abs(counts))))
    present = pc.greater(rows["offset_sum"], 0)
    nothing = np.zeros(rows.num_rows, np.int64)
    columns = [
        *(rows[name] for name in moment),
        present,
        pc.if_else(present, rows["key"], pa.scalar(None, pa.binary())),
        pa.array(nothing, pa.int32()),
        pa.array(nothing, pa.int64()),
    ]
    told = {number: count for number, count in duplicates.items() if count}
    return Folded(pa.table(columns, schema=SCHEMA), told, None)


def _by_table(facts: pa.Table) -> dict[int, int]:
    return {e["values"]: e["counts"] for e in pc.value_counts(facts["table"]).to_pylist()}


def _clash(facts: pa.Table, at: int) -> Clash:
    one, other = facts.slice(at, 2).select(["table", "commit_ts", "place", "offset"]).to_pylist()
    return Clash(
        one["table"],
        one["commit_ts"],
        (one["place"], one["offset"]),
        (other["place"], other["offset"]),
    )


@dataclass(frozen=True, slots=True)
class NetChange:
    """The net change of a cut (or of one commit_ts), in memory, by table number."""

    layouts: Sequence[Layout]
    facts: pa.Table

    def deletes(self) -> Iterator[tuple[int, pa.Array]]:
        """Keys that are absent; where the target has more unique keys, those present as well."""
        for number, facts in self._tables():
            if not self.layouts[number].replaces:
                facts = facts.filter(pc.invert(facts["present"]))
            for chunk in chunks(facts["key"]):
                yield number, chunk

    def rows(self) -> Iterator[tuple[int, pa.Array]]:
        for number, facts in self._tables():
            for chunk in chunks(facts["row"].filter(facts["present"])):
                yield number, chunk

    def _tables(self) -> Iterator[tuple[int, pa.Table]]:
        for number in sorted(pc.unique(self.facts["table"]).to_pylist()):
            yield number, self.facts.filter(pc.equal(self.facts["table"], number))


def steps_of(layouts: Sequence[Layout], facts: pa.Table) -> Iterator[tuple[int, NetChange]]:
    """The facts of each commit_ts apart, oldest first; `facts` were folded with `steps`."""
    ordered = facts.take(pc.sort_indices(facts["commit_ts"].combine_chunks()))
    for commit_ts in sorted(pc.unique(ordered["commit_ts"]).to_pylist()):
        first = pc.index(ordered["commit_ts"], commit_ts).as_py()
        count = pc.sum(pc.equal(ordered["commit_ts"], commit_ts)).as_py()
        yield commit_ts, NetChange(layouts, ordered.slice(first, count))


def chunks(payloads: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Pieces of at most CHUNK_ROWS payloads and about CHUNK_BYTES."""
    for array in payloads.chunks:
        start = 0
        while start < len(array):
            piece = array.slice(start, CHUNK_ROWS)
            if piece.nbytes > CHUNK_BYTES and len(piece) > 1:
                piece = array.slice(start, max(1, len(piece) * CHUNK_BYTES // piece.nbytes))
            yield piece
            start += len(piece)


# In Spark's tasks.


def fold_stream(
    batches: Iterable[pa.RecordBatch],
    upserts: Sequence[bool],
    steps: bool,
    keyless: Sequence[int] = (),
) -> Iterator[pa.RecordBatch]:
    """Facts sorted by table, key, commit_ts and present -> chunks, in bounded memory.

    `upserts` says of each table whether its present keys need no delete. Facts of `keyless` tables
    need no order but that those of one row (with `steps`, and commit_ts) come together.
    """
    taken = 0
    held: pa.Table | None = None
    rows = SCHEMA.empty_table()
    for batch in batches:
        table = pa.Table.from_batches([batch]).select(SCHEMA.names)
        reports = table.filter(pc.equal(table["table"], REPORT))
        for text in reports["row"].to_pylist():
            yield _chunk(0, REPORT, REPORT, 0, text)
        table = table.filter(pc.not_equal(table["table"], REPORT))
        taken += table.num_rows
        if keyless:
            table, more = _split(table, keyless)
            complete, rows = _complete(pa.concat_tables([rows, more]), steps)
            yield from _counted(complete, upserts, steps)
        if table.num_rows == 0:
            continue
        if held is not None:
            table = pa.concat_tables([held, table]).combine_chunks()
        folded = fold_sorted(table, steps)
        if folded.clash is not None:
            yield _chunk(0, CLASH, folded.clash.table, 0, _clash_text(folded.clash))
        # The last fact may be superseded by the next batch's first.
        held = folded.facts.slice(folded.facts.num_rows - 1)
        yield from _passes(folded.facts.slice(0, folded.facts.num_rows - 1), upserts, steps)
        for number, count in folded.duplicates.items():
            yield _chunk(0, DUPLICATES, number, count, b"")
    if held is not None:
        yield from _passes(held, upserts, steps)
    yield from _counted(rows, upserts, steps)
    yield _chunk(0, TAKEN, 0, taken, b"")


def _complete(facts: pa.Table, steps: bool) -> tuple[pa.Table, pa.Table]:
    """The facts of all rows but the last, of which the next batch may hold more."""
    if facts.num_rows == 0:
        return facts, facts
    last = pc.equal(facts["key"], facts["key"][-1])
    for name in ("table", "commit_ts") if steps else ("table",):
        last = pc.and_(last, pc.equal(facts[name], facts[name][-1]))
    return facts.filter(pc.invert(last)), facts.filter(last)


def _counted(facts: pa.Table, upserts: Sequence[bool], steps: bool) -> Iterator[pa.RecordBatch]:
    if facts.num_rows:
        counted = count_rows(facts, steps)
        yield from _passes(counted.facts, upserts, steps)
        for number, count in counted.duplicates.items():
            yield _chunk(0, DUPLICATES, number, count, b"")


DUPLICATES = -3
TAKEN = -4
"""How many facts came, of all tables."""


def _passes(facts: pa.Table, upserts: Sequence[bool], steps: bool) -> Iterator[pa.RecordBatch]:
    moments = pc.unique(facts["commit_ts"]).to_pylist() if steps else [None]
    for moment in moments:
        now = facts if moment is None else facts.filter(pc.equal(facts["commit_ts"], moment))
        for number in pc.unique(now["table"]).to_pylist():
            own = now.filter(pc.equal(now["table"], number))
            gone = own.filter(pc.invert(own["present"])) if upserts[number] else own
            for piece in chunks(gone["key"]):
                yield _chunk(moment or 0, DELETES, number, len(piece), pack(piece))
            for piece in chunks(own["row"].filter(own["present"])):
                yield _chunk(moment or 0, ROWS, number, len(piece), pack(piece))


def _chunk(step: int, kind: int, table: int, count: int, payload: bytes) -> pa.RecordBatch:
    values: list[list[object]] = [[step], [kind], [table], [count], [payload]]
    return pa.RecordBatch.from_arrays(
        [pa.array(v, f.type) for v, f in zip(values, CHUNKS, strict=True)], schema=CHUNKS
    )


def pack(payloads: pa.Array) -> bytes:
    batch = pa.RecordBatch.from_arrays([payloads], names=["payload"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpack(payload: bytes) -> pa.Array:
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()["payload"].combine_chunks()


def _clash_text(clash: Clash) -> bytes:
    return ",".join(map(str, (clash.table, clash.commit_ts, *clash.first, *clash.second))).encode()


def clash_of(text: bytes) -> Clash:
    table, commit_ts, *places = (int(part) for part in text.split(b","))
    return Clash(table, commit_ts, (places[0], places[1]), (places[2], places[3]))
