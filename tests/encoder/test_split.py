import pytest
from ticdc_encoder.definition import parse_create_table
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import RowChange, Table, Transaction, Value
from ticdc_encoder.split import SplitMode, key_changed, split, split_mode

LOOSE = parse_create_table(
    "create table loose (id int primary key nonclustered, u int unique, v int)", "s"
)
CLUSTERED = parse_create_table(
    "create table clustered (id int primary key, u int unique, v int)", "s"
)
WORDS = parse_create_table(
    "create table words (id varchar(9) collate utf8mb4_general_ci primary key, v int)", "s"
)

Step = tuple[tuple[Value, ...] | None, tuple[Value, ...] | None]


def change(
    table: Table, before: tuple[Value, ...] | None, after: tuple[Value, ...] | None
) -> RowChange:
    names = [column.name for column in table.columns]
    return RowChange(
        table,
        5,
        None if before is None else dict(zip(names, before, strict=True)),
        None if after is None else dict(zip(names, after, strict=True)),
    )


def sent(mode: SplitMode, table: Table, *steps: Step) -> list[str]:
    """As `D(1, 1)`, `U(1, 1)(1, 2)`, `I(1, 2)`."""
    transaction = Transaction(5, tuple(change(table, *step) for step in steps))
    shown = []
    for of in split(transaction, mode):
        images = [tuple(row.values()) for row in (of.before, of.after) if row is not None]
        kind = "U" if len(images) == 2 else "D" if of.after is None else "I"
        shown.append(kind + "".join(map(str, images)))
    return shown


U1, U2, U3 = ((1, 10, 0), (1, 11, 0)), ((2, 20, 0), (2, 20, 9)), ((3, 30, 0), (4, 30, 0))
INSERT: Step = (None, (7, 70, 0))
DELETE: Step = ((8, 80, 0), None)

WHOLE = [
    "D(8, 80, 0)",
    "U(1, 10, 0)(1, 11, 0)",
    "U(2, 20, 0)(2, 20, 9)",
    "U(3, 30, 0)(4, 30, 0)",
    "I(7, 70, 0)",
]
SORTED = [
    "D(8, 80, 0)",
    "D(1, 10, 0)",
    "D(3, 30, 0)",
    "U(2, 20, 0)(2, 20, 9)",
    "I(1, 11, 0)",
    "I(4, 30, 0)",
    "I(7, 70, 0)",
]
APPENDED = [
    "D(8, 80, 0)",
    "D(1, 10, 0)",
    "U(2, 20, 0)(2, 20, 9)",
    "D(3, 30, 0)",
    "I(7, 70, 0)",
    "I(1, 11, 0)",
    "I(4, 30, 0)",
]
MODES = [
    (SplitMode.NEVER, WHOLE),
    (SplitMode.UNSORTED, WHOLE),
    (SplitMode.MULTI_ROW, SORTED),
    (SplitMode.SORTED, SORTED),
    (SplitMode.APPENDED, APPENDED),
]


@pytest.mark.parametrize(("mode", "expected"), MODES)
def test_each_mode_has_its_order(mode: SplitMode, expected: list[str]) -> None:
    assert sent(mode, LOOSE, INSERT, U1, U2, U3, DELETE) == expected


SINGLE = [
    (SplitMode.NEVER, ["U(1, 10, 0)(1, 11, 0)"]),
    (SplitMode.UNSORTED, ["D(1, 10, 0)", "I(1, 11, 0)"]),
    (SplitMode.MULTI_ROW, ["U(1, 10, 0)(1, 11, 0)"]),
    (SplitMode.SORTED, ["D(1, 10, 0)", "I(1, 11, 0)"]),
    (SplitMode.APPENDED, ["D(1, 10, 0)", "I(1, 11, 0)"]),
]


@pytest.mark.parametrize(("mode", "expected"), SINGLE)
def test_a_transaction_of_one_row_has_its_own_rule(mode: SplitMode, expected: list[str]) -> None:
    assert sent(mode, LOOSE, U1) == expected


@pytest.mark.parametrize("mode", SplitMode)
def test_a_row_that_leaves_its_clustered_key_is_always_split(mode: SplitMode) -> None:
    assert sent(mode, CLUSTERED, ((1, 10, 0), (2, 10, 0))) == ["D(1, 10, 0)", "I(2, 10, 0)"]


@pytest.mark.parametrize("mode", SplitMode)
def test_rows_that_swap_a_clustered_key_are_updates_in_place(mode: SplitMode) -> None:
    plain = parse_create_table("create table t (id int primary key, v int)", "s")
    swap = sent(mode, plain, ((1, 5), (-1, 5)), ((2, 6), (1, 6)), ((-1, 5), (2, 5)))
    assert swap == ["U(1, 5)(1, 6)", "U(2, 6)(2, 5)"]


def test_one_transaction_makes_one_change_of_a_clustered_key() -> None:
    for steps, expected in (
        ([(None, (1, 1, 1)), ((1, 1, 1), (1, 1, 2))], ["I(1, 1, 2)"]),
        ([(None, (1, 1, 1)), ((1, 1, 1), None)], []),
        ([((1, 1, 1), None), (None, (1, 1, 1))], ["U(1, 1, 1)(1, 1, 1)"]),
        ([((1, 1, 1), (1, 1, 2)), ((1, 1, 2), None)], ["D(1, 1, 1)"]),
    ):
        assert sent(SplitMode.NEVER, CLUSTERED, *steps) == expected


def test_equal_to_a_collation_is_one_clustered_key() -> None:
    assert sent(SplitMode.NEVER, WORDS, (("abc", 1), ("AbC ", 1))) == ["U('abc', 1)('AbC ', 1)"]
    assert sent(SplitMode.APPENDED, WORDS, (("abc", 1), ("AbC", 1))) == [
        "D('abc', 1)",
        "I('AbC', 1)",
    ]
    assert sent(SplitMode.NEVER, WORDS, (("abc", 1), ("abd", 1))) == ["D('abc', 1)", "I('abd', 1)"]


def test_nullable_unique_keys_count_and_plain_indexes_do_not() -> None:
    table = parse_create_table(
        "create table t (id int primary key, u int, v int, unique (u), key (v))", "s"
    )
    assert key_changed(change(table, (1, None, 1), (1, 2, 1)))
    assert not key_changed(change(table, (1, None, 1), (1, None, 2)))
    assert not key_changed(change(table, None, (1, None, 2)))


def test_the_handle_key_counts_where_only_it_is_known() -> None:
    wire = Table("s", "t", LOOSE.columns, handle_key=("id",))
    assert key_changed(change(wire, (1, 1, 1), (2, 1, 1)))
    assert not key_changed(change(wire, (1, 1, 1), (1, 2, 1)))


def test_tables_and_partitions_are_sent_one_after_the_other() -> None:
    first, second = change(LOOSE, *U1), change(CLUSTERED, *INSERT)
    third = change(LOOSE, *INSERT)
    shown = split(Transaction(5, (first, second, third)), SplitMode.APPENDED)
    assert [of.table.name for of in shown] == ["loose", "loose", "loose", "clustered"]


VERSIONS = [
    ("v6.5.0", SplitMode.NEVER, SplitMode.NEVER, False),
    ("6.5.2", SplitMode.NEVER, SplitMode.NEVER, False),
    ("6.5.3", SplitMode.NEVER, SplitMode.UNSORTED, False),
    ("6.5.4", SplitMode.MULTI_ROW, SplitMode.MULTI_ROW, False),
    ("6.5.9", SplitMode.SORTED, SplitMode.SORTED, False),
    ("6.5.10", SplitMode.SORTED, SplitMode.SORTED, True),
    ("7.1.0", SplitMode.NEVER, SplitMode.NEVER, False),
    ("7.1.1", SplitMode.NEVER, SplitMode.UNSORTED, False),
    ("7.1.5", SplitMode.SORTED, SplitMode.SORTED, False),
    ("7.1.6", SplitMode.SORTED, SplitMode.SORTED, True),
    ("7.3.0", SplitMode.NEVER, SplitMode.UNSORTED, False),
    ("7.4.0", SplitMode.SORTED, SplitMode.SORTED, False),
    ("7.5.2", SplitMode.SORTED, SplitMode.SORTED, False),
    ("7.5.3", SplitMode.SORTED, SplitMode.SORTED, True),
    ("8.1.0", SplitMode.SORTED, SplitMode.SORTED, False),
    ("8.1.1", SplitMode.SORTED, SplitMode.SORTED, True),
    ("v8.5.3", SplitMode.SORTED, SplitMode.SORTED, True),
    ("v8.5.4-pre", SplitMode.APPENDED, SplitMode.APPENDED, True),
    ("9.0.0", SplitMode.APPENDED, SplitMode.APPENDED, True),
]


@pytest.mark.parametrize(("version", "rows", "avro", "raw"), VERSIONS)
def test_each_version_has_its_mode(
    version: str, rows: SplitMode, avro: SplitMode, raw: bool
) -> None:
    assert split_mode(version, "canal-json") is rows
    assert split_mode(version, "open-protocol") is rows
    assert split_mode(version, "avro") is avro
    if raw:
        assert split_mode(version, "canal-json", output_raw_change_event=True) is SplitMode.NEVER
    else:
        with pytest.raises(ConfigError, match="has no output-raw-change-event"):
            split_mode(version, "canal-json", output_raw_change_event=True)


@pytest.mark.parametrize("version", ["", "8.5", "latest", "8.5.x"])
def test_a_version_is_three_numbers(version: str) -> None:
    with pytest.raises(ConfigError, match="not a TiCDC version"):
        split_mode(version, "canal-json")
