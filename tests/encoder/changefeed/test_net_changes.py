"""A transaction's statements, and what TiKV holds of them: one change of each row."""

from collections import Counter
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
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
def test_an_old_row_of_changed_columns_only_is_completed(name: str, room: int) -> None:
    table = TABLES[name]
    changes = [
        RowChange(table, 5, {"u": 1}, {"id": 1, "u": 2, "v": 7}),
        RowChange(table, 5, {"v": 7}, {"id": 1, "u": 2, "v": 9}),
    ]
    ((one,),) = (list(of) for of in stored(changes, room))
    assert (one.before, one.after) == ({"id": 1, "u": 1, "v": 7}, {"id": 1, "u": 2, "v": 9})


@pytest.mark.parametrize("room", [1, 100])
@pytest.mark.parametrize("name", ["nonclustered", "unique"])
def test_a_delete_of_a_handle_key_is_of_the_row_that_has_it(name: str, room: int) -> None:
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


KEYS = {
    **COLUMNS,
    "pair": "id int, u int, v int, primary key (id, u) clustered",
    "words": "id varchar(9) collate utf8mb4_general_ci, u int, v int, primary key (id) clustered",
    "loose words": "id varchar(9) collate utf8mb4_general_ci not null unique, u int, v int",
    "two": "id int not null, u int not null, v int, unique (u), unique (id)",
    "nullable": "id int primary key nonclustered, u int, v int, unique (u, v)",
}
ALL = {name: parse_create_table(f"create table t ({KEYS[name]})", "s") for name in KEYS}


class Upstream:
    """A table as TiKV holds it: rows by their places, which are the values of the clustered key, or
    else hidden numbers. Its transaction is written down as statements, and as what became of the
    row of each place."""

    def __init__(self, table: Table, random: Random) -> None:
        self.table, self._random = table, random
        self._clustered = next((index.columns for index in table.indexes if index.clustered), ())
        self._uniques = [index.columns for index in table.indexes if index.unique]
        self._rows: dict[Any, Values] = {}
        self._numbers = count()
        for _ in range(random.randrange(4)):
            self._put(None, self._row())
        self.first = dict(self._rows)
        self.statements: list[RowChange] = []
        self.touched: set[Any] = set()

    @property
    def last(self) -> dict[Any, Values]:
        return self._rows

    def _row(self) -> Values:
        a, b, c = (self._random.randrange(size) for size in (4, 4, 2))
        word = "words" in self._clustered or self.table.columns[0].type.name == "varchar"
        first = ("a", "A", "b", "B")[a] if word else a
        return first, b if b or "u" in self.table.handle_key else None, c

    def _value(self, columns: tuple[str, ...], row: Values) -> tuple[Any, ...] | None:
        """As unique keys compare it; None if a part is NULL."""
        values = [row[NAMES.index(name)] for name in columns]
        if None in values:
            return None
        return tuple(value.lower() if isinstance(value, str) else value for value in values)

    def _put(self, old: Any, row: Values) -> bool:
        others = [other for place, other in self._rows.items() if place != old]
        for columns in self._uniques:
            value = self._value(columns, row)
            if value is not None and value in [self._value(columns, of) for of in others]:
                return False
        self._rows.pop(old, None)
        hidden = next(self._numbers) if old is None else old
        place = self._value(self._clustered, row) if self._clustered else hidden
        self._rows[place] = row
        return True

    def execute(self) -> None:
        """A statement, if the keys allow it."""
        old = self._random.choice([None, *self._rows])
        before = None if old is None else self._rows[old]
        after = None if before and not self._random.randrange(3) else self._row()
        if after == before:
            return
        if after is None:
            del self._rows[old]
        elif not self._put(old, after):
            return
        self.touched |= {old, *(p for p, row in self._rows.items() if row is after)}
        self.statements.append(self._stated(before, after))

    def _stated(self, before: Values | None, after: Values | None) -> RowChange:
        made = change(self.table, before, after)
        if made.before is not None and self._random.randrange(2):
            if made.after is not None:
                new = made.after
                made.before = {n: v for n, v in made.before.items() if new[n] != v}
            elif self.table.handle_key:
                made.before = {n: made.before[n] for n in self.table.handle_key}
        return made

    def net(self) -> Counter[Any]:
        """What became of the rows: how TiKV has it, with the old ones by their handle keys."""
        return Counter(
            (key_of(self.table, self.first.get(place)), self._rows.get(place))
            for place in self.touched
            if place in self.first or place in self._rows
        )


def key_of(table: Table, row: Values | None) -> Any:
    """The handle key of a row, or all of it."""
    of = row and dict(zip(NAMES, row, strict=True))
    return of and tuple(of[name] for name in table.handle_key or NAMES)


def whole(table: Table, of: RowChange) -> tuple[Any, Values | None]:
    before, after = whole_before(of), of.after
    key = None if before is None else tuple(before[name] for name in table.handle_key or NAMES)
    return key, None if after is None else tuple(after.values())


def check(random: Random, room: int) -> None:
    """One transaction: what remains of its statements, and what any release sends of it."""
    table = ALL[random.choice(list(ALL))]
    upstream = Upstream(table, random)
    for _ in range(random.randrange(1, 10)):
        upstream.execute()
    kept = [replace(of) for of in upstream.statements]
    remaining = [of for of_table in stored(iter(kept), room) for of in of_table]
    ranks = [(of.before is None) + (of.after is not None) for of in remaining]
    assert ranks == sorted(ranks)
    found = Counter(whole(table, of) for of in remaining)
    if table.handle_key:
        assert found == upstream.net()
    modes = [mode for mode in SplitMode if table.handle_key or mode is not SplitMode.HANDLE_KEY]
    mode = random.choice(modes)
    assert folded(upstream, list(split(upstream.statements, mode, room=room))) == Counter(
        upstream.last.values()
    )


def folded(upstream: Upstream, sent: list[RowChange]) -> Counter[Values]:
    """The rows after what was sent: of each key the present fact wins over the absent."""
    table, first = upstream.table, upstream.first.values()
    facts = [whole(table, of) for of in sent]
    if not table.handle_key:
        # Rows with equal values are one another's equals: here all are counted.
        counted = Counter(first)
        counted.subtract([old for old, _ in facts if old is not None])
        counted.update([new for _, new in facts if new is not None])
        return +counted
    rows = {key_of(table, row): row for row in first}
    for old, _ in facts:
        rows.pop(old, None)
    for _, new in facts:
        if new is not None:
            rows[key_of(table, new)] = new
    return Counter(rows.values())


@settings(max_examples=200)
@given(st.randoms(use_true_random=False), st.sampled_from([1, 2, 3, 100]))
def test_one_change_of_each_row_remains_and_makes_the_table(random: Random, room: int) -> None:
    check(random, room)


def test_so_it_is_in_many_transactions(long: bool) -> None:
    for seed in range(1_000_000 if long else 500):
        try:
            check(Random(seed), 1 if seed % 1_000 == 0 else 100)
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise


@given(st.randoms(use_true_random=False))
def test_on_disk_the_net_changes_are_the_same(random: Random) -> None:
    upstream = Upstream(ALL[random.choice(list(ALL))], random)
    for _ in range(10):
        upstream.execute()
    in_memory = [[*of] for of in stored(iter(upstream.statements))]
    assert [[*of] for of in stored(iter(upstream.statements), 1)] == in_memory
