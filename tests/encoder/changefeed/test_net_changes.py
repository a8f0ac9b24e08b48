"""A transaction's statements, and what TiKV holds of them: one change of each row."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.links import whole_before
from ticdc_encoder.changefeed.sorter import stored
from ticdc_encoder.changefeed.split import SplitMode, split
from ticdc_encoder.event import RowChange, Table, Transaction
from ticdc_encoder.sql.parser import parse_create_table

COLUMNS = {
    "clustered": "id int primary key clustered, u int not null unique, v int",
    "nonclustered": "id int primary key nonclustered, u int not null unique, v int",
    "unique": "id int not null unique, u int unique, v int",
    "several": "id int not null, u int not null, v int, unique (id, u)",
    "none": "id int, u int, v int",
}
TABLES = {
    name: parse_create_table(f"create table t ({columns})", "s")
    for name, columns in COLUMNS.items()
}
NAMES = ("id", "u", "v")
LOOSE = [name for name in TABLES if name != "clustered"]

Values = tuple[Any, ...]
Step = tuple[Values | None, Values | None]


def change(table: Table, before: Values | None, after: Values | None) -> RowChange:
    old, new = (
        None if row is None else dict(zip(NAMES, row, strict=True)) for row in (before, after)
    )
    return RowChange(table, 5, old, new)


def images(of: RowChange) -> Step:
    old, new = (None if row is None else tuple(row.values()) for row in (of.before, of.after))
    return old, new


def net_of(table: Table, steps: list[Step], room: int) -> list[Step]:
    changes = [change(table, *step) for step in steps]
    return [images(of) for of_table in stored(iter(changes), room) for of in of_table]


A, B = (1, 1, 7), (2, 2, 8)
STATEMENTS: list[tuple[str, list[Step], list[Step]]] = [
    (
        "1 and 2 are swapped through 3",
        [(A, (3, 1, 7)), (B, (1, 2, 8)), ((3, 1, 7), (2, 1, 7))],
        [(A, (2, 1, 7)), (B, (1, 2, 8))],
    ),
    ("INSERT, DELETE", [(None, A), (A, None)], []),
    ("UPDATE, DELETE", [(A, (1, 1, 9)), ((1, 1, 9), None)], [(A, None)]),
    ("INSERT, UPDATE", [(None, A), (A, (1, 1, 9))], [(None, (1, 1, 9))]),
    ("UPDATE, UPDATE", [(A, (1, 1, 8)), ((1, 1, 8), (1, 1, 9))], [(A, (1, 1, 9))]),
    ("UPDATE and back", [(A, (1, 1, 8)), ((1, 1, 8), A)], [(A, A)]),
    ("DELETE, INSERT", [(A, None), (None, A)], [(A, None), (None, A)]),
]


@pytest.mark.parametrize("room", [1, 100])
@pytest.mark.parametrize("name", LOOSE)
@pytest.mark.parametrize(
    ("steps", "expected"), [case[1:] for case in STATEMENTS], ids=[case[0] for case in STATEMENTS]
)
def test_the_changes_of_a_row_are_one(
    name: str, steps: list[Step], expected: list[Step], room: int
) -> None:
    assert net_of(TABLES[name], steps, room) == expected


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("room", [1, 100])
def test_an_old_row_without_the_columns_that_did_not_change_is_completed(
    name: str, room: int
) -> None:
    table = TABLES[name]
    changes = [
        RowChange(table, 5, {"u": 1}, {"id": 1, "u": 2, "v": 7}),
        RowChange(table, 5, {"v": 7}, {"id": 1, "u": 2, "v": 9}),
    ]
    ((one,),) = (list(of) for of in stored(changes, room))
    assert (one.before, one.after) == ({"id": 1, "u": 1, "v": 7}, {"id": 1, "u": 2, "v": 9})


@pytest.mark.parametrize("room", [1, 100])
@pytest.mark.parametrize("name", ["nonclustered", "unique"])
def test_a_delete_of_the_handle_key_alone_is_of_the_row_that_has_it(name: str, room: int) -> None:
    table = TABLES[name]
    gone = RowChange(table, 5, {"id": 1})
    assert not [*stored([change(table, None, A), gone], room)]
    ((one,),) = (list(of) for of in stored([change(table, A, (1, 1, 9)), gone], room))
    assert images(one) == (A, None)


@pytest.mark.parametrize("name", LOOSE)
def test_what_tikv_holds_is_sent_as_it_is(name: str) -> None:
    table = TABLES[name]
    chain = [change(table, (1, 1, 7), (2, 1, 7)), change(table, (2, 1, 7), (3, 1, 7))]
    assert list(split(chain, SplitMode.NEVER, net=True)) == chain
    assert len(list(split(chain, SplitMode.NEVER))) == 1


@pytest.mark.parametrize(("net", "sent"), [(False, 0), (True, 2)])
def test_a_transaction_says_what_its_changes_are(net: bool, sent: int) -> None:
    changes = (change(TABLES["unique"], None, A), change(TABLES["unique"], A, None))
    changefeed = Changefeed("kafka://h/t?protocol=canal-json&enable-tidb-extension=true")
    assert len(changefeed.encode(Transaction(5, changes, net=net))) == sent


@st.composite
def histories(draw: st.DrawFn) -> tuple[str, dict[int, Values], dict[int, Values], list[RowChange]]:
    """A table, its rows by hidden numbers before and after a transaction, and its statements."""
    name = draw(st.sampled_from(list(TABLES)))
    table, rows = TABLES[name], dict[int, Values]()
    small = st.integers(1, 4)
    values = st.tuples(small, small, st.integers(0, 1))
    for number, row in enumerate(draw(st.lists(values, max_size=3))):
        if fits(table, rows, row):
            rows[number] = row
    first, number, changes = dict(rows), 10, []
    for _ in range(draw(st.integers(1, 10))):
        old = draw(st.sampled_from([None, *rows]))
        before = None if old is None else rows.pop(old)
        after = draw(st.none() | values) if before else draw(values)
        if after and not fits(table, rows, after):
            if old is not None and before is not None:
                rows[old] = before
            continue
        number += 1
        if after:
            rows[number if old is None else old] = after
        made = change(table, before, after)
        kept = draw(st.booleans())
        if kept and made.before is not None and made.after is not None:
            made.before = {n: v for n, v in made.before.items() if made.after[n] != v}
        elif kept and made.before is not None and table.handle_key:
            made.before = {n: made.before[n] for n in table.handle_key}
        changes.append(made)
    return name, first, rows, changes


def fits(table: Table, rows: dict[int, Values], row: Values) -> bool:
    uniques = [index.columns for index in table.indexes if index.unique]
    return not any(
        all(row[NAMES.index(n)] == other[NAMES.index(n)] for n in columns)
        for columns in uniques
        for other in rows.values()
    )


def keyed(table: Table, row: Any) -> Any:
    """The handle key of a row, or all of it."""
    return None if row is None else tuple(row[name] for name in table.handle_key or NAMES)


@given(histories(), st.sampled_from([1, 2, 3, 100]))
def test_one_change_of_each_row_remains(
    history: tuple[str, dict[int, Values], dict[int, Values], list[RowChange]], room: int
) -> None:
    name, first, last, changes = history
    table = TABLES[name]
    result = [of for of_table in stored(iter(changes), room) for of in of_table]
    olds = Counter(keyed(table, whole_before(of)) for of in result if of.before is not None)
    news = Counter(tuple(of.after.values()) for of in result if of.after is not None)
    if table.handle_key:
        assert not [n for counted in (olds, news) for n in counted.values() if n > 1]
    held = Counter(keyed(table, dict(zip(NAMES, row, strict=True))) for row in first.values())
    assert olds <= held
    remaining = [
        row
        for row in first.values()
        if not table.handle_key or not olds[keyed(table, dict(zip(NAMES, row, strict=True)))]
    ]
    after = Counter(remaining) + news - (Counter() if table.handle_key else olds)
    assert after == Counter(last.values())
    if name in ("nonclustered", "unique", "several"):
        moved: dict[int, Step] = {number: (first.get(number), row) for number, row in last.items()}
        moved |= {number: (row, None) for number, row in first.items() if number not in last}
        expected = {
            (None if old is None else key_of(table, old), new)
            for old, new in moved.values()
            if old != new
        }
        found = {
            (keyed(table, whole_before(of)), of.after and tuple(of.after.values())) for of in result
        }
        # A row that is as it was at the end may be sent or not.
        same = {(key_of(table, row), row) for n, row in first.items() if last.get(n) == row}
        assert expected <= found <= expected | same


def key_of(table: Table, row: Values) -> Any:
    return keyed(table, dict(zip(NAMES, row, strict=True)))


@given(histories())
def test_on_disk_the_net_changes_are_the_same(
    history: tuple[str, dict[int, Values], dict[int, Values], list[RowChange]],
) -> None:
    _, _, _, changes = history
    whole = [[*of] for of in stored(iter(changes))]
    assert [[*of] for of in stored(iter(changes), 1)] == whole
