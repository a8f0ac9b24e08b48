"""Tables without a key: rows are counted. In a task, in the driver and in Spark's fold the counts
are the same, and a target finds as many equal rows as are asked for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.both_paths import (
    Outcome,
    decoded,
    fast_for,
    job_of,
    learning_at_once,
    options_for,
    outcome,
    tables_in,
)
from support.loading import opened, options, place, route
from ticdc_consumer.cut.apply.counts import Counts
from ticdc_consumer.cut.apply.transaction import _delete_rows
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.read.facts import SCHEMA, Fold
from ticdc_consumer.cut.read.fast.reader import NoFastReader
from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.cut.reconcile.chunks import ChunkKind, unpack
from ticdc_consumer.cut.reconcile.fold import fold
from ticdc_consumer.cut.reconcile.net_change import FoldedChange, folded_steps
from ticdc_consumer.cut.reconcile.stream import fold_stream
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.shape import ExpectedShape, shape
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target
from ticdc_encoder.column import Column, ColumnType, Index
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.formats import FORMATS

LOG = Table(
    "shop", "log", (Column("a", ColumnType("int")), Column("v", ColumnType("varchar", length=9)))
)
KEYED = Table.define(
    "shop",
    "orders",
    (Column("id", ColumnType("int"), nullable=False), Column("v", ColumnType("varchar"))),
    (Index("primary", ("id",), unique=True, primary=True),),
)
LAYOUTS = (
    Layout(
        "sqlite",
        "shop",
        "log",
        '"log"',
        LOG.columns,
        ('"a"', '"v"'),
        ("integer", "text"),
        (),
        False,
    ),
    Layout(
        "sqlite",
        "shop",
        "orders",
        '"orders"',
        KEYED.columns,
        ('"id"', '"v"'),
        ("integer", "text"),
        ("id",),
        True,
    ),
)

Row = tuple[int | None, str | None]


def change(ts: int, before: Row | None, after: Row | None, name: bytes | None = None) -> RowChange:
    images = [None if row is None else dict(zip("av", row, strict=True)) for row in (before, after)]
    return RowChange(LOG, ts, images[0], images[1], row_key=name)


def order(ts: int, number: int, value: str | None) -> RowChange:
    row = {"id": number, "v": value}
    return RowChange(KEYED, ts, before=row) if value is None else RowChange(KEYED, ts, after=row)


def facts_of(tasks: Iterable[Sequence[RowChange]], steps: bool, each: int = 1000) -> pa.Table:
    """What tasks send that read these changes, and flush after `each`."""
    batches: list[pa.RecordBatch] = []
    for changes in tasks:
        task = Fold(LAYOUTS, Zone("UTC"), NoFastReader().parse, steps)
        for start in range(0, len(changes), each):
            for one in changes[start : start + each]:
                task.add_change(0 if one.table is LOG else 1, one, 0, start, 10)
            batches += task.flush()
    return pa.Table.from_batches(batches, schema=SCHEMA)


Net = dict[int, tuple[Counter[bytes], Counter[bytes]]]
"""Step -> payloads deleted and written."""


def by_the_driver(facts: pa.Table, steps: bool) -> tuple[Net, dict[int, int]]:
    folded = fold(facts, steps, keyless=(0,))
    whole = [(0, FoldedChange(LAYOUTS, folded.facts))]
    groups = folded_steps(LAYOUTS, folded.facts) if steps else whole
    result = {step: (_payloads(net.deletes()), _payloads(net.rows())) for step, net in groups}
    return {step: net for step, net in result.items() if any(net)}, folded.duplicates


def _payloads(chunks: Iterable[tuple[int, pa.Array]]) -> Counter[bytes]:
    return Counter(payload for _, chunk in chunks for payload in chunk.to_pylist())


def by_spark(facts: pa.Table, steps: bool, size: int) -> tuple[Net, dict[int, int]]:
    order = ["table", "key", "commit_ts", "present"]
    if steps:
        order = ["commit_ts", "table", "key", "present"]
    ordered = facts.sort_by([(name, "ascending") for name in order]).combine_chunks()
    result: Net = {}
    duplicates: Counter[int] = Counter()
    for batch in fold_stream(ordered.to_batches(size), (False, False), steps, keyless=(0,)):
        chunk = batch.to_pylist()[0]
        if chunk["pass"] == ChunkKind.DUPLICATES:
            duplicates[chunk["table"]] += chunk["count"]
        elif chunk["pass"] in (ChunkKind.DELETES, ChunkKind.ROWS):
            net = result.setdefault(chunk["step"], (Counter(), Counter()))
            net[chunk["pass"]].update(unpack(chunk["payload"]).to_pylist())
    return result, dict(duplicates)


def net(deleted: dict[bytes, int], written: dict[bytes, int]) -> Net:
    return {0: (Counter(deleted), Counter(written))}


ONE, TWO, NULLS = b'[1,"x"]', b'[2,"y"]', b"[null,null]"

CASES = [
    ("an INSERT of equal rows is as many rows", [(1, None, (1, "x"))] * 3, net({}, {ONE: 3})),
    ("a DELETE of a row is one row less", [(1, (1, "x"), None)] * 2, net({ONE: 2}, {})),
    (
        "a row that comes and goes is nothing",
        [(1, None, (1, "x")), (2, (1, "x"), None)],
        {},
    ),
    (
        "an UPDATE is one row less and one more",
        [(1, (None, None), (2, "y"))],
        net({NULLS: 1}, {TWO: 1}),
    ),
    (
        "an UPDATE of columns that are not sent is nothing",
        [(1, (1, "x"), (1, "x"))],
        {},
    ),
    (
        "of one of two equal rows that was changed and deleted, the other is left",
        [(1, None, (1, "x")), (1, None, (1, "x")), (2, (1, "x"), (2, "y")), (3, (2, "y"), None)],
        net({}, {ONE: 1}),
    ),
]


@pytest.mark.parametrize(("label", "changes", "expected"), CASES)
def test_rows_are_counted(label: str, changes: Any, expected: Net) -> None:
    facts = facts_of([[change(*one) for one in changes]], steps=False)
    assert by_the_driver(facts, False) == (expected, {})
    assert by_spark(facts, False, 1) == (expected, {})


def test_a_fact_of_no_more_rows_is_not_present_and_is_sent() -> None:
    task = Fold(LAYOUTS, Zone("UTC"), NoFastReader().parse)
    for one in (change(1, None, (1, "x")), change(1, None, (2, "y")), change(2, (1, "x"), None)):
        task.add_change(0, one, 0, 5, 10)
    (batch,) = task.flush()
    facts = batch.select(["key", "present", "offset"]).to_pylist()
    assert [tuple(fact.values()) for fact in facts] == [(ONE, False, 0), (TWO, True, 1)]
    assert task.counts.sent == 2


def test_with_steps_each_commit_ts_is_counted_apart() -> None:
    facts = facts_of(
        [[change(1, None, (1, "x")), change(2, (1, "x"), None), change(2, None, (1, "x"))]], True
    )
    expected: Net = {1: (Counter(), Counter({ONE: 1}))}
    assert by_the_driver(facts, True) == (expected, {})
    assert by_spark(facts, True, 2) == (expected, {})


def test_a_duplicate_counts_once_where_tikv_names_the_row() -> None:
    first = [change(1, None, (1, "x"), b"r1"), change(1, None, (1, "x"), b"r2")]
    then = [change(2, (1, "x"), (2, "y"), b"r1")]
    facts = facts_of([first + then + first, first + then], steps=False)
    assert by_the_driver(facts, False) == (net({}, {ONE: 1, TWO: 1}), {0: 4})
    assert by_spark(facts, False, 3) == (net({}, {ONE: 1, TWO: 1}), {0: 4})


def test_a_duplicate_counts_twice_where_nothing_names_the_row() -> None:
    facts = facts_of([[change(1, None, (1, "x"))], [change(1, None, (1, "x"))]], steps=False)
    assert by_the_driver(facts, False) == (net({}, {ONE: 2}), {})


ROW = st.sampled_from([(1, "x"), (2, "y"), (None, None), (1, None)])
CHANGE = st.builds(
    change,
    st.integers(1, 4),
    st.none() | ROW,
    ROW,
    st.sampled_from([None, None, b"r1", b"r2"]),
)
ORDER = st.builds(order, st.integers(1, 4), st.integers(1, 3), st.sampled_from([None, "x"]))


def expected_net(tasks: Iterable[Sequence[RowChange]], steps: bool) -> Net:
    """The definition: each change once, if it can be distinguished from others, summed."""
    encode, _ = encoders("sqlite")
    seen = set()
    sums: dict[int, Counter[bytes]] = {}
    for one in (one for task in tasks for one in task if one.table is LOG):
        for sign, image in ((-1, one.before), (1, one.after)):
            if image is None:
                continue
            row = tuple(image.values())
            if one.row_key is not None and (one.row_key, one.commit_ts, sign, row) in seen:
                continue
            seen.add((one.row_key, one.commit_ts, sign, row))
            texts = [None if value is None else str(value) for value in row]
            payload = encode(LAYOUTS[0], [pa.array([text], pa.string()) for text in texts])
            counts = sums.setdefault(one.commit_ts if steps else 0, Counter())
            counts[payload[0].as_py()] += sign
    result = {step: (-counts, +counts) for step, counts in sums.items()}
    return {step: both for step, both in result.items() if any(both)}


@given(
    tasks=st.lists(st.lists(CHANGE, max_size=8), min_size=1, max_size=3),
    steps=st.booleans(),
    each=st.integers(1, 5),
    size=st.integers(1, 7),
)
def test_both_places_count_what_was_sent(
    tasks: list[list[RowChange]], steps: bool, each: int, size: int
) -> None:
    facts = facts_of(tasks, steps, each)
    expected = expected_net(tasks, steps)
    driver, spark = by_the_driver(facts, steps), by_spark(facts, steps, size)
    assert driver[0] == spark[0] == expected
    assert driver[1] == spark[1]


@given(
    tasks=st.lists(st.lists(CHANGE | ORDER, max_size=8), min_size=1, max_size=3),
    steps=st.booleans(),
    size=st.integers(1, 7),
)
def test_tables_with_a_key_beside_are_folded_as_ever(
    tasks: list[list[RowChange]], steps: bool, size: int
) -> None:
    facts = facts_of(tasks, steps)
    driver, spark = by_the_driver(facts, steps), by_spark(facts, steps, size)
    assert driver == spark
    alone = [[one for one in task if one.table is KEYED] for task in tasks]
    with_key = fold(facts_of(alone, steps), steps).facts
    mixed = fold(facts, steps, keyless=(0,)).facts
    assert mixed.filter(pc.equal(mixed["table"], 1)) == with_key


def test_what_an_update_leaves_out_did_not_change() -> None:
    before = {"v": "x"}
    partial = RowChange(LOG, 1, before=before, after={"a": 1, "v": "y"})
    deleted, written = by_the_driver(facts_of([[partial]], False), False)[0][0]
    assert (deleted, written) == (Counter({ONE: 1}), Counter({b'[1,"y"]': 1}))


# --- from the wire -----------------------------------------------------------------------------


def read(protocol: str, changes: Iterable[RowChange], **options: bool) -> Outcome:
    """What a task makes of the messages, whose fast reader learns from the first on."""
    wire_format = FORMATS[protocol]
    options = {"new_architecture": True} | options
    encoder = wire_format.Encoder(wire_format.Options(**options), lambda: 0)
    records = [record for one in changes for record in [*encoder.row(one), *encoder.flush()]]
    consumer = options_for(protocol)
    tables = tables_in(decoded(consumer, records)) or {("shop", "log"): LOG}
    job = replace(
        job_of(consumer, {}),
        layouts=LAYOUTS[:1],
        shapes={name: (0, ExpectedShape(shape(table))) for name, table in tables.items()},
    )
    with learning_at_once():
        return outcome(job, records, fast_for(job))


PROTOCOLS = ["canal-json", "open-protocol"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_fast_reader_takes_them(protocol: str) -> None:
    rows = [change(ts, None, (1, "x")) for ts in range(1, 40)]
    result = read(protocol, [*rows, change(40, (1, "x"), (2, "y")), change(41, (2, "y"), None)])
    assert (result.read_fast, result.rows, result.error) == (0, 42, ())
    counts = {key: count for _, key, _, _, _, _, count in result.facts}
    assert counts == {ONE: 38, TWO: 0}


def test_canal_json_names_the_row_where_it_is_asked_to() -> None:
    row = change(1, None, (1, "x"), b"r1")
    result = read("canal-json", [row, row], output_row_key=True)
    assert result.facts == [(0, ONE, 1, True, b"r1", 0, 1)]
    assert read("canal-json", [row, row]).facts == [(0, ONE, 0, True, None, 0, 2)]


def test_what_canal_json_leaves_out_of_an_update_did_not_change() -> None:
    update = change(2, (1, "x"), (1, "z"))
    result = read("canal-json", [update], only_output_updated_columns=True)
    assert {key: count for _, key, _, _, _, _, count in result.facts} == {ONE: -1, b'[1,"z"]': 1}


REDUCED = [
    ("open-protocol", change(2, (1, "x"), (1, "z")), "only_output_updated_columns"),
    ("canal-json", change(2, (1, "x"), None), "delete_only_output_handle_key_columns"),
]


@pytest.mark.parametrize(("protocol", "reduced", "option"), REDUCED)
def test_a_row_of_which_something_is_missing_is_refused(
    protocol: str, reduced: RowChange, option: str
) -> None:
    whole = change(1, None, (1, "x"))
    kind, words, *_ = read(protocol, [whole, reduced], **{option: True}).error
    assert kind == "Stop"
    assert "shop.log: nothing identifies its rows, and column a of a row before" in words
    assert option.replace("_", "-") in words


def test_an_update_without_its_old_row_is_refused() -> None:
    rows = [change(1, None, (1, "x")), change(2, (1, "x"), (1, "z"))]
    kind, words, *_ = read("debezium", rows, output_old_value=False).error
    assert kind == "Stop"
    assert "set output-old-value = true in [sink.debezium] of the changefeed" in words


def test_rows_of_another_shape_are_refused() -> None:
    wide = Table("shop", "log", (*LOG.columns, Column("w", ColumnType("int"))))
    row = RowChange(wide, 2, before={"a": 1, "v": "x", "w": 2})
    _, words, *_ = read("canal-json", [change(1, None, (1, "x")), row]).error
    assert "shop.log: rows of two shapes in one cut: now w int" in words


# --- in a target -------------------------------------------------------------------------------


@contextmanager
def created(url: str, table: Table) -> Iterator[tuple[Target, Layout]]:
    with opened(url) as target:
        schema = target.create_schema(route(target)("", "")[0])
        for text in [*schema, *target.create_table(*place(target, table.name), table)]:
            target.connection.exec_driver_sql(text, None, {"no_parameters": True})
        described = target.describe(*place(target, table.name))
        assert described is not None
        yield target, target.layout(table, (), described, None, frozenset())


def payloads(layout: Layout, rows: Sequence[Sequence[str | bytes | None]]) -> pa.Array:
    arrays = [
        pa.array(values, pa.binary() if column.type.binary else pa.string())
        for column, values in zip(layout.source, zip(*rows, strict=True), strict=True)
    ]
    return encoders(layout.dialect)[0](layout, arrays)


def insert(target: Target, layout: Layout, rows: Sequence[Sequence[str | bytes | None]]) -> None:
    with target.transaction():
        target.insert(layout, payloads(layout, rows), "stop")


def contents(target: Target, layout: Layout) -> Counter[Any]:
    rows = target.execute(f"SELECT * FROM {layout.relation}").all()  # noqa: S608
    return Counter(map(tuple, rows))


Values = list[str | bytes | None]

FOLDING = ColumnType("varchar", length=9, collation="utf8mb4_general_ci")
NOTES = Table("shop", "notes", (Column("a", ColumnType("int")), Column("v", FOLDING)))
ALIKE = [
    ("1", "x"), ("1", "x"), ("1", "x"), ("1", "X"), ("1", "x "), ("1", None), (None, "x"),
    (None, None), (None, None), (None, ""), ("2", "100%"), ("2", "\\N"), ("2", "a'b\t\\"),
]  # fmt: skip


@pytest.mark.parametrize("row_deleted", sorted({*ALIKE}, key=repr))
def test_as_many_equal_rows_are_deleted_as_asked_and_no_others(
    target_url: str, row_deleted: tuple[str | None, str | None]
) -> None:
    with created(target_url, NOTES) as (target, layout):
        insert(target, layout, ALIKE)
        before = contents(target, layout)
        with target.transaction():
            assert target.delete_rows(layout, payloads(layout, [row_deleted])) == 1
        row = (None if row_deleted[0] is None else int(row_deleted[0]), row_deleted[1])
        assert contents(target, layout) == before - Counter([row])
        with target.transaction():
            assert (
                target.delete_rows(layout, payloads(layout, [row_deleted] * 5)) == before[row] - 1
            )
        del before[row]
        assert contents(target, layout) == before


ROW_NUMBERS = ["_rowid_", "ROWID", "oid"]


@pytest.mark.parametrize("names", [ROW_NUMBERS[:1], ROW_NUMBERS[:2], ROW_NUMBERS])
def test_columns_called_like_sqlites_row_numbers_are_columns(
    sqlite_url: str, names: list[str]
) -> None:
    columns = tuple(Column(name, ColumnType("int")) for name in (*names, "v"))
    rows = [(*["7"] * len(names), v) for v in ("1", "2")]
    with created(sqlite_url, Table("shop", "notes", columns)) as (target, layout):
        insert(target, layout, rows)
        with target.transaction():
            if len(names) == 3:
                with pytest.raises(Stop, match="its columns hide the row numbers"):
                    target.delete_rows(layout, payloads(layout, rows[:1]))
            else:
                assert target.delete_rows(layout, payloads(layout, rows[:1])) == 1
        left = contents(target, layout)
        assert left == Counter([tuple(map(int, row)) for row in rows[len(names) < 3 :]])


TYPES: list[tuple[ColumnType, str | bytes]] = [
    (ColumnType("tinyint"), "-5"),
    (ColumnType("bigint", unsigned=True), "18446744073709551615"),
    (ColumnType("float"), "1.1"),
    (ColumnType("double"), "1e100"),
    (ColumnType("decimal", length=12, decimals=4), "12345678.5000"),
    (ColumnType("date"), "2024-02-29"),
    (ColumnType("datetime", decimals=3), "2024-02-29 01:02:03.400"),
    (ColumnType("timestamp", decimals=6), "2024-02-29 01:02:03.456789"),
    (ColumnType("time", decimals=2), "-01:02:03.50"),
    (ColumnType("year"), "2024"),
    (ColumnType("bit", length=5), "17"),
    (ColumnType("bit", length=64), "18446744073709551615"),
    (ColumnType("char", length=5), "é"),
    (ColumnType("longtext"), "long"),
    (ColumnType("binary", length=3), b"\0\xff'"),
    (ColumnType("blob"), b""),
    (ColumnType("json"), '{"a": [1, "x"]}'),
    (ColumnType("enum", elements=("p", "q")), "2"),
    (ColumnType("set", elements=("p", "q")), "3"),
]


def test_rows_of_all_types_are_found(target_url: str) -> None:
    columns = tuple(Column(f"c{n} {t.name}", t) for n, (t, _) in enumerate(TYPES))
    with created(target_url, Table("shop", "kinds", columns)) as (target, layout):
        full: Values = [value for _, value in TYPES]
        rows: list[Values] = [full, *([*full[:n], None, *full[n + 1 :]] for n in range(len(full)))]
        insert(target, layout, rows)
        with target.transaction():
            assert target.delete_rows(layout, payloads(layout, rows)) == len(rows)
        assert not contents(target, layout)


def test_rows_that_are_not_there_stop_the_load_or_are_counted(target_url: str) -> None:
    rows = [("1", "x"), ("2", "y")]
    with created(target_url, NOTES) as (target, layout):
        insert(target, layout, rows[:1])
        deleted, counts = payloads(layout, rows * 2), Counts()
        with (
            pytest.raises(Stop, match=r"shop.notes: 3 of 4 rows to be deleted do not exist"),
            target.transaction(),
        ):
            _delete_rows(target, layout, deleted, options(target_url), counts)
        assert contents(target, layout) == Counter([(1, "x")])
        with target.transaction():
            overwriting = options(target_url, on_drift="overwrite")
            _delete_rows(target, layout, deleted, overwriting, counts)
        assert (counts.deleted, counts.missing) == (1, 3)


UNIQUE = replace(NOTES, name="unique", indexes=(Index("uk", ("a",), unique=True, primary=False),))


def test_a_duplicate_is_one_row_where_a_unique_key_wants_it_so(target_url: str) -> None:
    with created(target_url, UNIQUE) as (target, layout):
        insert(target, layout, [("1", "old"), (None, "x")])
        twice = payloads(layout, [("1", "new"), ("1", "new"), (None, "x")])
        with target.transaction():
            assert target.insert(layout, twice, "overwrite") >= 1
        expected = Counter([(1, "new"), (None, "x"), (None, "x")])
        assert contents(target, layout) == expected


# --- which tables --------------------------------------------------------------------------------


def laid_out(target: Target, source: Table, *at_least_once: str, deletes: bool = False) -> Layout:
    tables = TableLayouts(options("", at_least_once=at_least_once), target)
    tables.add(source, deletes)
    assert not tables.shapes[source.schema, source.name][1].keys_only or tables.layouts[0].key
    return tables.layouts[0]


@pytest.mark.parametrize("accepted", ["shop.notes", "shop.n*", "*.*"])
@pytest.mark.parametrize("deletes", [False, True])
def test_a_keyless_table_is_taken_where_it_is_accepted_by_name(
    sqlite_url: str, accepted: str, deletes: bool
) -> None:
    with created(sqlite_url, NOTES) as (target, _):
        assert laid_out(target, NOTES, accepted, deletes=deletes).key == ()


@pytest.mark.parametrize("accepted", [(), ("shop.log",), ("*.*", "!shop.notes")])
def test_a_table_without_a_key_is_refused_elsewhere(
    sqlite_url: str, accepted: tuple[str, ...]
) -> None:
    with (
        created(sqlite_url, NOTES) as (target, _),
        pytest.raises(Stop, match=r"shop.notes: no valid key.*\[tables\] at_least_once"),
    ):
        laid_out(target, NOTES, *accepted)


def test_a_delete_that_names_no_column_is_refused(sqlite_url: str) -> None:
    with (
        created(sqlite_url, NOTES) as (target, _),
        pytest.raises(Stop, match="no valid key"),
    ):
        laid_out(target, replace(NOTES, columns=()), "*.*", deletes=True)


def test_a_table_with_a_key_keeps_it_whatever_is_accepted(sqlite_url: str) -> None:
    with created(sqlite_url, KEYED) as (target, _):
        assert laid_out(target, replace(KEYED, indexes=()), "*.*").key == ("id",)
        with pytest.raises(Stop, match="neither the messages nor a CREATE TABLE name upstream's"):
            laid_out(target, replace(KEYED, handle_key=(), indexes=()), "*.*")


def test_a_key_of_the_settings_has_the_case_of_the_messages(sqlite_url: str) -> None:
    with created(sqlite_url, KEYED) as (target, _):
        source = replace(KEYED, handle_key=(), indexes=())
        tables = TableLayouts(options("", keys={f"shop.{KEYED.name}": ("ID",)}), target)
        tables.add(source, deletes_only=False)
        assert tables.layouts[0].key_positions() == (0,)


def test_a_key_that_the_target_added_is_not_the_upstreams(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        target.execute(
            "CREATE TABLE notes (n TEXT PRIMARY KEY DEFAULT (hex(randomblob(8))), a INT, v TEXT)"
        )
        layout = laid_out(target, NOTES, "shop.notes")
        assert layout.key == ()
        insert(target, layout, [("1", "x"), ("1", "x")])
        with target.transaction():
            assert target.delete_rows(layout, payloads(layout, [("1", "x")])) == 1
        assert [row[1:] for row in contents(target, layout)] == [(1, "x")]
