from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.split import SplitMode, mysql_split_mode, split, split_mode
from ticdc_encoder.changefeed.storage import StorageChangefeed
from ticdc_encoder.errors import ConfigError, DefinitionError
from ticdc_encoder.event import KeyChange, RowChange, Table, Value
from ticdc_encoder.sql.parser import parse_create_table

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


def sent(mode: SplitMode, table: Table, *steps: Step, **more: Any) -> list[str]:
    """As `D(1, 1)`, `U(1, 1)(1, 2)`, `I(1, 2)`."""
    result = []
    for of in split([change(table, *step) for step in steps], mode, **more):
        images = [tuple(row.values()) for row in (of.before, of.after) if row is not None]
        kind = "U" if len(images) == 2 else "D" if of.after is None else "I"
        result.append(kind + "".join(map(str, images)))
    return result


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
EACH_IN_PLACE = [
    "D(8, 80, 0)",
    "D(1, 10, 0)",
    "I(1, 11, 0)",
    "D(2, 20, 0)",
    "I(2, 20, 9)",
    "D(3, 30, 0)",
    "I(4, 30, 0)",
    "I(7, 70, 0)",
]
HANDLE_KEY = [
    "D(8, 80, 0)",
    "I(1, 11, 0)",
    "I(2, 20, 9)",
    "D(3, 30, 0)",
    "I(4, 30, 0)",
    "I(7, 70, 0)",
]
EACH_AND_SORTED = [
    "D(8, 80, 0)",
    "D(1, 10, 0)",
    "D(3, 30, 0)",
    "D(2, 20, 0)",
    "I(2, 20, 9)",
    "I(1, 11, 0)",
    "I(4, 30, 0)",
    "I(7, 70, 0)",
]
EACH_SORTED = [
    "D(8, 80, 0)",
    "D(1, 10, 0)",
    "D(2, 20, 0)",
    "D(3, 30, 0)",
    "I(1, 11, 0)",
    "I(2, 20, 9)",
    "I(4, 30, 0)",
    "I(7, 70, 0)",
]
EACH_AND_APPENDED = [
    "D(8, 80, 0)",
    "D(1, 10, 0)",
    "D(2, 20, 0)",
    "I(2, 20, 9)",
    "D(3, 30, 0)",
    "I(7, 70, 0)",
    "I(1, 11, 0)",
    "I(4, 30, 0)",
]
MODES = [
    (SplitMode.NEVER, WHOLE),
    (SplitMode.NEVER_BY_KEY, WHOLE),
    (SplitMode.EACH_BY_KEY, EACH_IN_PLACE),
    (SplitMode.HANDLE_KEY, HANDLE_KEY),
    (SplitMode.MULTI_ROW, SORTED),
    (SplitMode.SORTED, SORTED),
    (SplitMode.APPENDED, APPENDED),
    (SplitMode.EACH_IN_PLACE, EACH_IN_PLACE),
    (SplitMode.EACH_AND_SORTED, EACH_AND_SORTED),
    (SplitMode.EACH_SORTED, EACH_SORTED),
    (SplitMode.EACH_AND_APPENDED, EACH_AND_APPENDED),
]


@pytest.mark.parametrize(("mode", "expected"), MODES)
def test_each_mode_has_its_order(mode: SplitMode, expected: list[str]) -> None:
    assert sent(mode, LOOSE, INSERT, U1, U2, U3, DELETE) == expected


SINGLE = [
    (SplitMode.NEVER, ["U(1, 10, 0)(1, 11, 0)"]),
    (SplitMode.NEVER_BY_KEY, ["U(1, 10, 0)(1, 11, 0)"]),
    (SplitMode.EACH_BY_KEY, ["D(1, 10, 0)", "I(1, 11, 0)"]),
    (SplitMode.HANDLE_KEY, ["I(1, 11, 0)"]),
    (SplitMode.MULTI_ROW, ["U(1, 10, 0)(1, 11, 0)"]),
    (SplitMode.SORTED, ["D(1, 10, 0)", "I(1, 11, 0)"]),
    (SplitMode.APPENDED, ["D(1, 10, 0)", "I(1, 11, 0)"]),
    (SplitMode.EACH_IN_PLACE, ["D(1, 10, 0)", "I(1, 11, 0)"]),
    (SplitMode.EACH_AND_SORTED, ["D(1, 10, 0)", "I(1, 11, 0)"]),
    (SplitMode.EACH_SORTED, ["D(1, 10, 0)", "I(1, 11, 0)"]),
    (SplitMode.EACH_AND_APPENDED, ["D(1, 10, 0)", "I(1, 11, 0)"]),
]


@pytest.mark.parametrize(("mode", "expected"), SINGLE)
def test_a_transaction_of_one_row_has_its_own_rule(mode: SplitMode, expected: list[str]) -> None:
    assert sent(mode, LOOSE, U1) == expected


@pytest.mark.parametrize("mode", SplitMode)
def test_a_row_that_leaves_its_clustered_key_is_always_split(mode: SplitMode) -> None:
    assert sent(mode, CLUSTERED, ((1, 10, 0), (2, 10, 0))) == ["D(1, 10, 0)", "I(2, 10, 0)"]


# Two rows swap their clustered key: by SQL's statements, and as what became of each row, which no
# order of statements could have done (a ROW log or a join of snapshots may tell it so).
SWAPS: list[list[Step]] = [
    [((1, 5), (-1, 5)), ((2, 6), (1, 6)), ((-1, 5), (2, 5))],
    [((1, 5), (2, 5)), ((2, 6), (1, 6))],
    [((2, 6), (1, 6)), ((1, 5), (2, 5))],
]
PLAIN = parse_create_table("create table t (id int primary key, v int)", "s")


@pytest.mark.parametrize("steps", SWAPS)
@pytest.mark.parametrize("mode", [SplitMode.NEVER, SplitMode.SORTED, SplitMode.APPENDED])
def test_rows_that_swap_a_clustered_key_are_updates_in_place(
    mode: SplitMode, steps: list[Step]
) -> None:
    assert sorted(sent(mode, PLAIN, *steps)) == ["U(1, 5)(1, 6)", "U(2, 6)(2, 5)"]


@pytest.mark.parametrize(
    "steps",
    [
        [((2, 2), (3, 2)), ((1, 1), (2, 1))],
        [((1, 1), (2, 1)), ((2, 2), (3, 2))],  # as TiCDC may receive it: its documents' example
    ],
)
def test_a_chain_of_clustered_keys_is_the_same_in_any_order(steps: list[Step]) -> None:
    assert sent(SplitMode.NEVER, PLAIN, *steps) == ["D(1, 1)", "U(2, 2)(2, 1)", "I(3, 2)"]


@pytest.mark.parametrize(
    "steps",
    [
        [(None, (1, 1)), (None, (1, 2))],
        [((1, 1), (1, 2)), (None, (1, 3))],
        [((1, 1), (1, 2)), ((1, 3), None)],
        [((1, 1), None), ((1, 2), None)],
        [((5, 5), (1, 5)), ((6, 6), (1, 6))],
    ],
)
def test_two_rows_at_one_clustered_key_are_an_error(steps: list[Step]) -> None:
    with pytest.raises(DefinitionError, match=r"two rows at one primary key of s\.t"):
        sent(SplitMode.NEVER, PLAIN, *steps)


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


BETWEEN: list[tuple[SplitMode, list[str]]] = [
    (SplitMode.NEVER, ["D(9, 9)", "U(2, 2)(2, 3)", "I(1, 1)"]),
    (SplitMode.NEVER_BY_KEY, ["D(9, 9)", "I(1, 1)", "U(2, 2)(2, 3)"]),
    (SplitMode.EACH_BY_KEY, ["D(9, 9)", "I(1, 1)", "D(2, 2)", "I(2, 3)"]),
    (SplitMode.EACH_SORTED, ["D(9, 9)", "D(2, 2)", "I(1, 1)", "I(2, 3)"]),
]


@pytest.mark.parametrize(("mode", "expected"), BETWEEN)
def test_rows_of_a_clustered_key_come_as_the_sorter_has_them(
    mode: SplitMode, expected: list[str]
) -> None:
    assert sent(mode, PLAIN, ((2, 2), (2, 3)), (None, (1, 1)), ((9, 9), None)) == expected


def test_a_filter_sees_the_halves_that_the_puller_made() -> None:
    def keeps(change: RowChange) -> bool:
        return change.before is None

    update: Step = ((2, 2), (2, 3))
    assert sent(SplitMode.EACH_SORTED, PLAIN, update, keeps=keeps) == ["I(2, 3)"]
    assert sent(SplitMode.EACH_IN_PLACE, PLAIN, update, keeps=keeps) == []


TEXT = parse_create_table("create table t (id int primary key, u varchar(9) unique)", "s")
NULLS: list[tuple[SplitMode, list[str]]] = [
    (SplitMode.SORTED, ["U(1, None)(1, 'null')"]),
    (SplitMode.APPENDED, ["D(1, None)", "I(1, 'null')"]),
]


@pytest.mark.parametrize(("mode", "expected"), NULLS)
def test_the_old_architecture_takes_null_for_its_text(mode: SplitMode, expected: list[str]) -> None:
    assert sent(mode, TEXT, ((1, None), (1, "null"))) == expected
    assert sent(mode, TEXT, ((1, None), (1, "x"))) == ["D(1, None)", "I(1, 'x')"]


def test_nullable_unique_keys_count_and_plain_indexes_do_not() -> None:
    table = parse_create_table(
        "create table t (id int primary key, u int, v int, unique (u), key (v))", "s"
    )
    assert change(table, (1, None, 1), (1, 2, 1)).key_changed is KeyChange.UNIQUE
    assert not change(table, (1, None, 1), (1, None, 2)).key_changed
    assert not change(table, None, (1, None, 2)).key_changed


def test_the_handle_key_counts_where_only_it_is_known() -> None:
    wire = Table("s", "t", LOOSE.columns, handle_key=("id",))
    assert change(wire, (1, 1, 1), (2, 1, 1)).key_changed is KeyChange.PRIMARY
    assert not change(wire, (1, 1, 1), (1, 2, 1)).key_changed


PK, UK = KeyChange.PRIMARY, KeyChange.UNIQUE
KEYS = "create table t (id int {}, u int {}, v int, {})"
CHANGED = [
    # The table's keys; which is changed with id, with u, with both, and with v.
    (KEYS.format("primary key", "", "unique (u)"), PK, UK, PK, None),
    (KEYS.format("", "primary key", "unique (id)"), UK, PK, PK, None),
    (KEYS.format("", "", "primary key (id, u)"), PK, PK, PK, None),
    # No primary key: the handle key is one of the unique keys.
    (KEYS.format("not null", "", "unique (id), key (v)"), UK, None, UK, None),
    (KEYS.format("", "not null", "unique (id, v), unique (u)"), UK, UK, UK, UK),
    (KEYS.format("", "", "key (id)"), None, None, None, None),
]


@pytest.mark.parametrize(("sql", "with_id", "with_u", "with_both", "with_v"), CHANGED)
def test_an_update_tells_the_primary_key_from_another_unique_key(
    sql: str,
    with_id: KeyChange | None,
    with_u: KeyChange | None,
    with_both: KeyChange | None,
    with_v: KeyChange | None,
) -> None:
    table = parse_create_table(sql, "s")
    old = (1, 1, 1)
    assert change(table, old, (2, 1, 1)).key_changed is with_id
    assert change(table, old, (1, 2, 1)).key_changed is with_u
    assert change(table, old, (2, 2, 1)).key_changed is with_both
    assert change(table, old, (1, 1, 2)).key_changed is with_v
    assert change(table, None, old).key_changed is change(table, old, None).key_changed is None
    assert [KeyChange.PRIMARY.value, KeyChange.UNIQUE.value] == ["UPDATEPK", "UPDATEUK"]


def test_tables_and_partitions_are_sent_one_after_the_other() -> None:
    first, second = change(LOOSE, *U1), change(CLUSTERED, *INSERT)
    third = change(LOOSE, *INSERT)
    result = split((first, second, third), SplitMode.APPENDED)
    assert [of.table.name for of in result] == ["loose", "loose", "loose", "clustered"]


MOVED = [
    (
        SplitMode.NEVER,
        ["D(8, 80, 0)", "D(2, 20, 0)", *WHOLE[1:2], *WHOLE[3:4], "I(2, 20, 9)", "I(7, 70, 0)"],
    ),
    (
        SplitMode.HANDLE_KEY,
        [*HANDLE_KEY[:2], "D(2, 20, 0)", *HANDLE_KEY[2:]],
    ),
    (
        SplitMode.APPENDED,
        [*APPENDED[:2], "D(2, 20, 0)", *APPENDED[3:6], "I(2, 20, 9)", *APPENDED[6:]],
    ),
]


@pytest.mark.parametrize(("mode", "expected"), MOVED)
def test_what_moves_is_split_whatever_the_mode_is(mode: SplitMode, expected: list[str]) -> None:
    def moves(change: RowChange) -> bool:
        return change.before is not None and change.before["v"] != (change.after or {})["v"]

    assert sent(mode, LOOSE, INSERT, U1, U2, U3, DELETE, moves=moves) == expected


ROWS = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(0, 1))


@st.composite
def transactions(draw: st.DrawFn) -> list[RowChange]:
    """Statements over two tables and a partition, of rows that are there."""
    rows_of: dict[tuple[str, int | None], dict[int, Any]] = {}
    changes = []
    for _ in range(draw(st.integers(0, 12))):
        table = draw(st.sampled_from([CLUSTERED, LOOSE]))
        partition = draw(st.sampled_from([None, 7]))
        rows = rows_of.setdefault((table.name, partition), {1: (1, 1, 0), 2: (2, 2, 0)})
        old = rows.pop(draw(st.integers(1, 4)), None)
        new = draw(st.none() | ROWS)
        if new is not None and new[0] in rows:
            new = None
        if new is not None:
            rows[new[0]] = new
        if old is not None or new is not None:
            changes.append(replace(change(table, old, new), partition_id=partition))
    return changes


@given(transactions(), st.sampled_from(SplitMode), st.integers(1, 4))
def test_on_disk_the_order_is_the_same(
    changes: list[RowChange], mode: SplitMode, room: int
) -> None:
    assert list(split(changes, mode, room=room)) == list(split(changes, mode))


def test_changes_keep_their_table_on_disk() -> None:
    changes = [change(CLUSTERED, None, (n, n, 0)) for n in range(300)]
    for of in split(iter(changes), SplitMode.APPENDED, room=2):
        assert of.table is CLUSTERED


# The version, what is older than the start, what is newer, and what is newer in safe mode.
MYSQL = [
    ("6.5.1", SplitMode.EACH_BY_KEY, SplitMode.NEVER_BY_KEY, SplitMode.EACH_BY_KEY),
    ("6.5.3", SplitMode.EACH_IN_PLACE, SplitMode.NEVER, SplitMode.EACH_IN_PLACE),
    ("6.5.4", SplitMode.EACH_AND_SORTED, SplitMode.MULTI_ROW, SplitMode.EACH_AND_SORTED),
    ("6.5.9", SplitMode.EACH_AND_SORTED, SplitMode.MULTI_ROW, SplitMode.EACH_AND_SORTED),
    ("6.5.10", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.NEVER),
    ("6.5.11", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.NEVER),
    ("6.5.12", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
    ("7.1.1", SplitMode.EACH_IN_PLACE, SplitMode.NEVER, SplitMode.EACH_IN_PLACE),
    ("7.1.2", SplitMode.EACH_AND_SORTED, SplitMode.MULTI_ROW, SplitMode.EACH_AND_SORTED),
    ("7.1.5", SplitMode.EACH_AND_SORTED, SplitMode.MULTI_ROW, SplitMode.EACH_AND_SORTED),
    ("7.1.6", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
    ("7.3.0", SplitMode.EACH_IN_PLACE, SplitMode.NEVER, SplitMode.EACH_IN_PLACE),
    ("7.4.0", SplitMode.EACH_AND_SORTED, SplitMode.MULTI_ROW, SplitMode.EACH_AND_SORTED),
    ("7.5.1", SplitMode.EACH_AND_SORTED, SplitMode.MULTI_ROW, SplitMode.EACH_AND_SORTED),
    ("7.5.2", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.NEVER),
    ("7.5.4", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.NEVER),
    ("7.5.5", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
    ("8.0.0", SplitMode.EACH_AND_SORTED, SplitMode.MULTI_ROW, SplitMode.EACH_AND_SORTED),
    ("8.1.0", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.NEVER),
    ("8.1.1", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.NEVER),
    ("8.1.2", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
    ("8.2.0", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.NEVER),
    ("8.4.0", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.NEVER),
    ("8.5.0", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
    ("8.5.3", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
    ("8.5.4", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
    ("9.0.0-beta.1", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
    ("9.0.0", SplitMode.EACH_SORTED, SplitMode.NEVER, SplitMode.EACH_SORTED),
]


@pytest.mark.parametrize(("version", "old", "new", "safe"), MYSQL)
def test_the_mysql_sink_splits_what_is_older_than_its_start(
    version: str, old: SplitMode, new: SplitMode, safe: SplitMode
) -> None:
    assert mysql_split_mode(version, 99, threshold_ts=100) is old
    at_start = new if old in (SplitMode.EACH_SORTED, SplitMode.EACH_AND_APPENDED) else old
    assert mysql_split_mode(version, 100, threshold_ts=100) is at_start
    assert mysql_split_mode(version, 101, threshold_ts=100) is new
    assert mysql_split_mode(version, 100, safe_mode=True) is safe
    assert mysql_split_mode(version, 99, threshold_ts=100, safe_mode=True) is old


@pytest.mark.parametrize("version", ["8.5.4-release.1", "8.5.4", "8.5.7", "9.0.0"])
def test_the_new_architecture_has_its_own_rule(version: str) -> None:
    of = partial(mysql_split_mode, version, threshold_ts=100, new_architecture=True)
    assert of(99) is of(100, safe_mode=True) is SplitMode.EACH_AND_APPENDED
    assert of(100) is SplitMode.APPENDED
    assert split_mode(version, "canal-json", new_architecture=True) is SplitMode.APPENDED
    assert split_mode(version, "avro", True, new_architecture=True) is SplitMode.NEVER


def test_there_is_no_new_architecture_before_8_5_4() -> None:
    uri, refused = (
        "://h/t?protocol=canal-json",
        r"TiCDC 8\.5\.3 has no new architecture: 8\.5\.4-release\.1 is",
    )
    with pytest.raises(ConfigError, match=refused):
        split_mode("8.5.3", "avro", new_architecture=True)
    with pytest.raises(ConfigError, match=refused):
        mysql_split_mode("v8.5.3", 5, new_architecture=True)
    with pytest.raises(ConfigError, match=refused):
        Changefeed(f"kafka{uri}", version="8.5.3", new_architecture=True)
    with pytest.raises(ConfigError, match=refused):
        StorageChangefeed(f"s3{uri}", version="8.5.3", new_architecture=True)


@pytest.mark.parametrize("version", ["9.0.0-alpha", "9.0.0-beta.1", "v9.0.0-beta.2.pre"])
def test_the_new_architecture_of_the_betas_of_9_0_is_refused(version: str) -> None:
    uri = "://h/t?protocol=canal-json"
    for use in (
        lambda: split_mode(version, "avro", new_architecture=True),
        lambda: mysql_split_mode(version, 5, new_architecture=True),
        lambda: Changefeed(f"kafka{uri}", version=version, new_architecture=True),
        lambda: StorageChangefeed(f"s3{uri}", version=version, new_architecture=True),
    ):
        with pytest.raises(
            ConfigError, match=r"of TiCDC 9\.0\.0-\S+ is not known: 8\.5\.4 to 8\.5\.8"
        ):
            use()


VERSIONS = [
    ("v6.5.0", SplitMode.NEVER_BY_KEY, SplitMode.NEVER_BY_KEY, False),
    ("6.5.1", SplitMode.NEVER_BY_KEY, SplitMode.NEVER_BY_KEY, False),
    ("7.0.0", SplitMode.NEVER_BY_KEY, SplitMode.NEVER_BY_KEY, False),
    ("6.5.2", SplitMode.NEVER, SplitMode.NEVER, False),
    ("6.5.3", SplitMode.NEVER, SplitMode.HANDLE_KEY, False),
    ("6.5.4", SplitMode.MULTI_ROW, SplitMode.HANDLE_KEY, False),
    ("6.5.9", SplitMode.SORTED, SplitMode.SORTED, False),
    ("6.5.10", SplitMode.SORTED, SplitMode.SORTED, True),
    ("7.1.0", SplitMode.NEVER, SplitMode.NEVER, False),
    ("7.1.1", SplitMode.NEVER, SplitMode.HANDLE_KEY, False),
    ("7.1.5", SplitMode.SORTED, SplitMode.SORTED, False),
    ("7.1.6", SplitMode.SORTED, SplitMode.SORTED, True),
    ("7.3.0", SplitMode.NEVER, SplitMode.HANDLE_KEY, False),
    ("7.4.0", SplitMode.SORTED, SplitMode.SORTED, False),
    ("7.5.2", SplitMode.SORTED, SplitMode.SORTED, False),
    ("7.5.3", SplitMode.SORTED, SplitMode.SORTED, True),
    ("8.1.0", SplitMode.SORTED, SplitMode.SORTED, False),
    ("8.1.1", SplitMode.SORTED, SplitMode.SORTED, True),
    ("v8.5.3", SplitMode.SORTED, SplitMode.SORTED, True),
    ("v8.5.4-pre", SplitMode.SORTED, SplitMode.SORTED, True),
    ("9.0.0", SplitMode.SORTED, SplitMode.SORTED, True),
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
