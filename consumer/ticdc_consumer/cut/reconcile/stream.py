"""The fold inside Spark's tasks: sorted facts in, chunks out, in bounded memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.cut.read.facts import REPORT, SCHEMA
from ticdc_consumer.cut.reconcile.chunks import ChunkKind, note_chunk, payload_chunk, pieces
from ticdc_consumer.cut.reconcile.fold import count_rows, fold_sorted, split_keyless
from ticdc_consumer.cut.reconcile.net_change import keys_to_delete, rows_to_write


def fold_stream(
    batches: Iterable[pa.RecordBatch],
    replaces: Sequence[bool],
    steps: bool,
    keyless: Sequence[int] = (),
) -> Iterator[pa.RecordBatch]:
    """Folds facts sorted by table, key, commit_ts and present into batches of CHUNKS.

    `replaces` has an entry per table: whether its present keys must be deleted, too. Facts of
    `keyless` tables need no order, but those of one row (with `steps`, of one row and commit_ts)
    must be adjacent.
    """
    facts_read = 0
    last: pa.Table | None = None
    rows = SCHEMA.empty_table()
    for batch in batches:
        table = pa.Table.from_batches([batch]).select(SCHEMA.names)
        is_report = pc.equal(table["table"], REPORT)
        for text in table.filter(is_report)["row"].to_pylist():
            yield note_chunk(ChunkKind.REPORT, REPORT, text=text)
        table = table.filter(pc.invert(is_report))
        facts_read += table.num_rows
        if keyless:
            table, more = split_keyless(table, keyless)
            complete, rows = _complete(pa.concat_tables([rows, more]), steps)
            yield from _counted(complete, replaces, steps)
        if table.num_rows == 0:
            continue
        if last is not None:
            table = pa.concat_tables([last, table]).combine_chunks()
        folded = fold_sorted(table, steps)
        if folded.clash is not None:
            yield note_chunk(ChunkKind.CLASH, folded.clash.table, text=folded.clash.to_bytes())
        # The next batch's first fact may supersede the last one.
        last = folded.facts.slice(folded.facts.num_rows - 1)
        yield from _passes(folded.facts.slice(0, folded.facts.num_rows - 1), replaces, steps)
        yield from _duplicates(folded.duplicates)
    if last is not None:
        yield from _passes(last, replaces, steps)
    yield from _counted(rows, replaces, steps)
    yield note_chunk(ChunkKind.TAKEN, 0, facts_read)


def _complete(facts: pa.Table, steps: bool) -> tuple[pa.Table, pa.Table]:
    """Returns the facts of all rows but the last, which the next batch may continue; and the last
    row's."""
    if facts.num_rows == 0:
        return facts, facts
    last = pc.equal(facts["key"], facts["key"][-1])
    for name in ("table", "commit_ts") if steps else ("table",):
        last = pc.and_(last, pc.equal(facts[name], facts[name][-1]))
    return facts.filter(pc.invert(last)), facts.filter(last)


def _counted(facts: pa.Table, replaces: Sequence[bool], steps: bool) -> Iterator[pa.RecordBatch]:
    if facts.num_rows:
        counted = count_rows(facts, steps)
        yield from _passes(counted.facts, replaces, steps)
        yield from _duplicates(counted.duplicates)


def _duplicates(counts: Mapping[int, int]) -> Iterator[pa.RecordBatch]:
    for number, count in counts.items():
        yield note_chunk(ChunkKind.DUPLICATES, number, count)


def _passes(facts: pa.Table, replaces: Sequence[bool], steps: bool) -> Iterator[pa.RecordBatch]:
    if not steps:
        yield from _step(0, facts, replaces)
        return
    for commit_ts in pc.unique(facts["commit_ts"]).to_pylist():
        mine = facts.filter(pc.equal(facts["commit_ts"], commit_ts))
        yield from _step(commit_ts, mine, replaces)


def _step(step: int, facts: pa.Table, replaces: Sequence[bool]) -> Iterator[pa.RecordBatch]:
    for number in pc.unique(facts["table"]).to_pylist():
        mine = facts.filter(pc.equal(facts["table"], number))
        for piece in pieces(keys_to_delete(mine, replaces[number])):
            yield payload_chunk(step, ChunkKind.DELETES, number, piece)
        for piece in pieces(rows_to_write(mine)):
            yield payload_chunk(step, ChunkKind.ROWS, number, piece)
