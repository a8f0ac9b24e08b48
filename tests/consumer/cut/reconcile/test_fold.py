"""One fold, run by the driver or by Spark: both give the same net change."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ticdc_consumer.cut.read.facts import SCHEMA
from ticdc_consumer.cut.read.report import Report, pack
from ticdc_consumer.cut.read.staging import STAGE, WITH_STAGE
from ticdc_consumer.cut.reconcile.chunks import ChunkKind, Clash, pieces, unpack
from ticdc_consumer.cut.reconcile.fold import fold
from ticdc_consumer.cut.reconcile.net_change import (
    FoldedChange,
    folded_steps,
    keys_to_delete,
    rows_to_write,
    staged_rows,
)
from ticdc_consumer.cut.reconcile.stream import fold_stream
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.staging import StagingJob

Fact = tuple[int, bytes, int, bool]
"""(table, key, commit_ts, present); the row follows from them, as the wire promises."""

REPLACES = (False, True)


def layout(replaces: bool) -> Layout:
    return Layout("sqlite", "s", "t", '"t"', (), (), (), ("id",), not replaces)


LAYOUTS = tuple(map(layout, REPLACES))


def table_of(facts: list[Fact]) -> pa.Table:
    columns: list[list[Any]] = [
        [table for table, _, _, _ in facts],
        [key for _, key, _, _ in facts],
        [commit_ts for _, _, commit_ts, _ in facts],
        [present for _, _, _, present in facts],
        [b"%s@%d" % (key, ts) if present else None for _, key, ts, present in facts],
        [0] * len(facts),
        list(range(len(facts))),
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


Net = dict[tuple[int, int], tuple[Counter[Any], Counter[Any]]]
"""(step, table) -> deletes and rows."""


def of_tasks(facts: list[Fact], tasks: int, by_key: bool) -> pa.Table:
    """As so many tasks send them: a batch of each table, present facts first. With `by_key` each
    key is in one task, which sends its greatest fact, as most often."""
    sent: dict[tuple[int, int], list[Fact]] = {}
    if by_key:
        greatest: dict[Any, Fact] = {}
        for fact in facts:
            known = greatest.setdefault(fact[:2], fact)
            greatest[fact[:2]] = max(known, fact, key=lambda fact: fact[2:])
        facts = [*greatest.values()]
    for number, fact in enumerate(facts):
        task = sum(fact[1]) if by_key else number
        sent.setdefault((task % tasks, fact[0]), []).append(fact)
    batches = [table_of(sorted(mine, key=lambda fact: not fact[3])) for mine in sent.values()]
    return pa.concat_tables([*batches, SCHEMA.empty_table()])


def by_driver(facts: list[Fact] | pa.Table, steps: bool) -> Net:
    net: Net = {}
    sent = facts if isinstance(facts, pa.Table) else table_of(facts)

    def add(step: int, change: Any) -> None:
        for number, keys in change.deletes():
            net.setdefault((step, number), (Counter(), Counter()))[0].update(keys.to_pylist())
        for number, rows in change.rows():
            net.setdefault((step, number), (Counter(), Counter()))[1].update(rows.to_pylist())

    folded = fold(sent, steps).facts
    if steps:
        for step, change in folded_steps(LAYOUTS, folded):
            add(step, change)
    else:
        add(0, FoldedChange(LAYOUTS, folded))
    return net


def by_spark(facts: list[Fact], steps: bool, size: int) -> Net:
    """What Spark's tasks do with facts that Spark has sorted, in batches of any size."""
    names = ("commit_ts", "table", "key", "present") if steps else SCHEMA.names[:4]
    ordered = table_of(facts).sort_by([(name, "ascending") for name in names])
    net: Net = {}
    for batch in fold_stream(ordered.to_batches(size), REPLACES, steps):
        for chunk in batch.to_pylist():
            if chunk["pass"] not in (ChunkKind.DELETES, ChunkKind.ROWS):
                continue
            values = unpack(chunk["payload"]).to_pylist()
            assert len(values) == chunk["count"]
            slot = net.setdefault((chunk["step"], chunk["table"]), (Counter(), Counter()))
            slot[chunk["pass"]].update(values)
    return net


def by_definition(facts: list[Fact], steps: bool) -> Net:
    """The maximum by (commit_ts, present), as the design defines it."""
    greatest: dict[Any, tuple[int, bool]] = {}
    for table, key, commit_ts, present in facts:
        slot = (commit_ts if steps else 0, table, key)
        greatest[slot] = max(greatest.get(slot, (0, False)), (commit_ts, present))
    net: Net = {}
    for (step, table, key), (commit_ts, present) in greatest.items():
        deletes, rows = net.setdefault((step, table), (Counter(), Counter()))
        if present:
            rows[b"%s@%d" % (key, commit_ts)] += 1
        if not present or REPLACES[table]:
            deletes[key] += 1
    return net


FACTS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([b"", b"a", b"b", b"c\x00", b"\xff"]),
        st.integers(1, 5),
        st.booleans(),
    ),
    max_size=40,
)


@pytest.mark.parametrize("steps", [False, True])
@given(facts=FACTS, size=st.integers(1, 9))
def test_driver_and_spark_fold_to_the_greatest_fact_of_each_key(
    steps: bool, facts: list[Fact], size: int
) -> None:
    expected = by_definition(facts, steps)
    assert by_driver(facts, steps) == expected
    assert by_spark(facts, steps, size) == expected


@given(facts=FACTS, tasks=st.integers(1, 3), by_key=st.booleans())
def test_facts_are_folded_as_tasks_send_them(facts: list[Fact], tasks: int, by_key: bool) -> None:
    assert by_driver(of_tasks(facts, tasks, by_key), False) == by_definition(facts, False)


def test_rows_of_keys_that_one_task_sent_are_not_copied() -> None:
    first = table_of([(0, b"b", 1, True), (0, b"d", 1, True), (0, b"a", 1, False)])
    second = table_of([(0, b"c", 1, True), (0, b"e", 1, False)])
    facts = fold(pa.concat_tables([first, second]), steps=False).facts
    whole = rows_to_write(facts)
    assert whole.to_pylist() == [b"b@1", b"d@1", b"c@1"]
    assert keys_to_delete(facts, replaces=False).to_pylist() == [b"a", b"e"]
    sent = [
        chunk.buffers()[2].address for table in (first, second) for chunk in table["row"].chunks
    ]
    assert [chunk.buffers()[2].address for chunk in whole.chunks] == sent


def test_rows_of_a_keyless_table_are_counted_besides_staged_ones() -> None:
    facts = table_of([(0, b"a", 1, True), (1, b"r", 1, True)])
    staged = facts.append_column(WITH_STAGE.field(STAGE), pa.array([7, None], pa.int64()))
    folded = fold(staged, steps=False, keyless=(1,)).facts
    assert folded.schema == WITH_STAGE
    assert folded["table"].to_pylist() == [0, 1]
    assert folded[STAGE].to_pylist() == [7, None]


def test_staged_rows_are_published_unless_a_later_one_supersedes() -> None:
    facts = table_of(
        [(0, b"a", 1, True), (0, b"b", 1, True), (0, b"b", 2, True), (1, b"c", 1, True)]
    )
    sent = facts.append_column(WITH_STAGE.field(STAGE), pa.array([7, 7, 8, 9], pa.int64()))
    job = StagingJob("sqlite://", "c")
    staged = staged_rows(sent, fold(sent, steps=False).facts, job)
    found = [(each.table, each.name, each.superseded.to_pylist(), each.count) for each in staged]
    assert found == [
        (0, job.name(7), [b"b"], 1),
        (0, job.name(8), [], 1),
        (1, job.name(9), [], 1),
    ]


def test_small_chunks_share_a_piece_and_large_ones_are_cut() -> None:
    small = pa.chunked_array([pa.array([b"a"]), pa.array([b"b", b"c"])])
    assert [piece.to_pylist() for piece in pieces(small)] == [[b"a", b"b", b"c"]]
    large = pa.chunked_array([pa.array([b"a"] * 25_000), pa.array([b"b"] * 10_000)])
    assert [len(piece) for piece in pieces(large)] == [10_000, 10_000, 5_000, 10_000]
    full = pa.chunked_array([pa.array([b"a"] * 4_000), pa.array([b"b"] * 6_000)])
    assert [len(piece) for piece in pieces(full)] == [10_000]
    rows_of_3_mib = pa.chunked_array([pa.array([b"a" * (3 << 20)]) for _ in range(3)])
    assert [len(piece) for piece in pieces(rows_of_3_mib)] == [1, 1, 1]
    sizes = [1, 1, 1, 1, 1, 1, 1, 5]
    uneven = pa.chunked_array([pa.array([b"a" * (size << 20) for size in sizes])])
    assert [len(piece) for piece in pieces(uneven)] == [2, 3, 2, 1]
    rows_of_5_mib = pa.chunked_array([pa.array([b"a" * (5 << 20)] * 2)])
    assert [len(piece) for piece in pieces(rows_of_5_mib)] == [1, 1]
    assert [*pieces(pa.chunked_array([], pa.binary()))] == []


@given(facts=FACTS, extra=st.integers(0, 39), seed=st.randoms(use_true_random=False))
def test_copies_and_order_change_nothing(facts: list[Fact], extra: int, seed: Any) -> None:
    again = facts + facts[:extra]
    seed.shuffle(again)
    assert by_driver(again, False) == by_driver(facts, False)


def test_copies_are_counted_by_table() -> None:
    facts = [(0, b"a", 1, True)] * 3 + [(1, b"a", 1, False)] * 2
    assert fold(table_of(facts), steps=False).duplicates == {0: 2, 1: 1}
    counted: Counter[int] = Counter()
    for batch in fold_stream(table_of(facts).to_batches(2), REPLACES, steps=False):
        for chunk in batch.to_pylist():
            if chunk["pass"] == ChunkKind.DUPLICATES:
                counted[chunk["table"]] += chunk["count"]
    assert counted == {0: 2, 1: 1}


def test_sparks_fold_counts_the_facts_that_it_took() -> None:
    facts = [(0, b"a", 1, True)] * 3 + [(1, b"a", 1, False)] * 2
    batches = [*table_of(facts).to_batches(2), pack(Report(facts_sent=5))]
    counted = [
        (chunk["count"], chunk["payload"])
        for batch in fold_stream(batches, REPLACES, steps=False)
        for chunk in batch.to_pylist()
        if chunk["pass"] == ChunkKind.TAKEN
    ]
    assert counted == [(5, b"")]


@pytest.mark.parametrize("size", [1, 2, 10])
def test_both_folds_find_different_rows_of_one_key_and_commit_ts(size: int) -> None:
    facts = table_of([(0, b"a", 1, True), (0, b"b", 2, True), (0, b"b", 2, True)])
    rows = pa.array([b"a", b"one", b"other"], pa.binary())
    facts = facts.set_column(4, SCHEMA.field("row"), rows)
    clash = fold(facts, steps=False).clash
    assert clash is not None
    assert (clash.table, clash.commit_ts, clash.first, clash.second) == (0, 2, (0, 1), (0, 2))
    clashes = [
        Clash.from_bytes(chunk["payload"])
        for batch in fold_stream(facts.to_batches(size), REPLACES, steps=False)
        for chunk in batch.to_pylist()
        if chunk["pass"] == ChunkKind.CLASH
    ]
    assert clashes == [clash]
