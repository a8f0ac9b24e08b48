"""Keys that a target cannot hold: the absence of such a row is true, its presence is refused."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from support.canonical_rows import (
    Canonical,
    arrays,
    contents,
    created,
    defined,
    key_payloads,
    load,
    row_payloads,
)
from ticdc_consumer.cut.read.facts import SCHEMA
from ticdc_consumer.cut.reconcile.fold import fold
from ticdc_consumer.cut.reconcile.net_change import FoldedChange
from ticdc_consumer.errors import NotHeld
from ticdc_consumer.targets import encoders, open_target
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.not_held import holdable, marking, require_holdable
from ticdc_consumer.targets.target import Target
from ticdc_encoder.column import Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table


def of_columns(dialect: str, declared: Sequence[str], codecs: Sequence[str]) -> Layout:
    """Of a table whose columns are all of its key."""
    names = [f"c{n}" for n in range(len(declared))]
    columns = ", ".join(f"{name} {type_}" for name, type_ in zip(names, declared, strict=True))
    table = defined(f"create table t ({columns}, primary key ({', '.join(names)}))")
    source: tuple[Column, ...] = table.columns
    return Layout(
        dialect, "shop", "t", "t", source, tuple(names), tuple(codecs), tuple(names), upsert=True
    )


LAYOUTS = [
    of_columns("postgresql", ["varchar(9)"], ["text:3"]),
    of_columns("postgresql", ["varchar(9)"], ["text:3@LATIN1"]),
    of_columns("postgresql", ["date", "int"], ["date:6", "plain"]),
    of_columns("postgresql", ["decimal(9,4)"], ["decimal:4:2"]),
    of_columns("mysql", ["varchar(9)"], ["text:3"]),
    of_columns("mariadb", ["decimal(9,4)", "varchar(9)"], ["decimal:4:2", "text"]),
    of_columns("sqlite", ["varchar(9)"], ["text"]),
]
_VALUES = {
    "varchar": st.sampled_from(["", "a", "b", "abcd", "a\0", "\0", "中", "'", "\\"]),
    "date": st.sampled_from(["0000-00-00", "2020-00-01", "2020-02-30", "2020-02-29"]),
    "int": st.sampled_from(["0", "-1"]),
    "decimal": st.sampled_from(["0", "12.34", "123.45", "1.234", "9999"]),
}


@given(st.data())
def test_a_key_is_passed_over_only_if_its_row_would_be_refused(data: st.DataObject) -> None:
    layout = data.draw(st.sampled_from(LAYOUTS))
    row = st.tuples(*[_VALUES[column.type.name] for column in layout.source])
    rows = data.draw(st.lists(row, min_size=1, max_size=9))
    encode_rows, encode_keys = encoders(layout.dialect)
    columns = arrays(layout, rows)
    keys = encode_keys(layout, columns)
    for number, key in enumerate(keys.to_pylist()):
        try:
            encode_rows(layout, [array.slice(number, 1) for array in columns])
            refused = False
        except NotHeld:
            refused = True
        assert (len(holdable(pa.array([key], pa.binary()))) == 0) is refused
    # They are fold keys, too: equal if and only if the values are.
    assert len({*keys.to_pylist()}) == len({*rows})
    written = marking(encode_rows)(layout, columns)
    assert len(holdable(written)) == len(holdable(keys))
    assert len(written) == len(rows)


@pytest.mark.parametrize(
    ("layout", "row"),
    [
        (of_columns("postgresql", ["int"], ["plain"]), ["1); DROP"]),
        (of_columns("postgresql", ["decimal(9,4)"], ["decimal:4:2"]), ["x"]),
        (of_columns("mysql", ["int"], ["integer"]), ["1); DROP"]),
        (of_columns("mysql", ["enum('a')"], ["enum:1"]), ["7"]),
        (of_columns("sqlite", ["decimal(9,4)"], ["quoted"]), ["1,2"]),
    ],
)
def test_what_is_no_value_of_its_type_is_refused_as_a_key_too(
    layout: Layout, row: Sequence[Canonical]
) -> None:
    with pytest.raises(TicdcError) as refused:
        key_payloads(layout, [row])
    assert not isinstance(refused.value, NotHeld)


# --- within one cut ------------------------------------------------------------------------------

NUL = of_columns("postgresql", ["varchar(9)"], ["text"])


def fact(key: str, commit_ts: int, present: bool) -> pa.Table:
    """As a task sends it that met no other of the key."""
    columns = arrays(NUL, [[key]])
    encode_rows, encode_keys = encoders(NUL.dialect)
    row = marking(encode_rows)(NUL, columns) if present else pa.nulls(1, pa.binary())
    values = [[0], encode_keys(NUL, columns), [commit_ts], [present], row, [0], [commit_ts]]
    return pa.table(
        [pa.array(v, f.type) for v, f in zip(values, SCHEMA, strict=True)], schema=SCHEMA
    )


@pytest.mark.parametrize(
    ("facts", "refused"),
    [
        ([("a\0", 1, True), ("a\0", 2, False)], False),
        ([("a\0", 2, False), ("a\0", 1, True)], False),
        ([("a\0", 1, True), ("a\0", 1, True)], True),
        ([("a\0", 1, True), ("b\0", 2, False)], True),
        ([("a\0", 1, False), ("a\0", 1, True)], True),
        ([("a\0", 3, False), ("a", 3, True), ("a\0", 1, True)], False),
    ],
)
def test_a_row_that_cannot_be_held_is_refused_only_if_it_is_left(
    facts: Sequence[tuple[str, int, bool]], refused: bool
) -> None:
    folded = fold(pa.concat_tables([fact(*each) for each in facts]), steps=False)
    assert folded.clash is None
    change = FoldedChange([NUL], folded.facts)
    if not refused:
        for _, rows in change.rows():
            require_holdable(rows)
        return
    why = r"shop\.t\.c0: a NUL character, .* \(row with key c0='a\\x00'\)"
    with pytest.raises(NotHeld, match=why):
        for _, rows in change.rows():
            require_holdable(rows)


# --- in real targets -----------------------------------------------------------------------------

_POSTGRESQL = [
    ("varchar(9)", ["x\0", "a", "\0"]),
    ("date", ["0000-00-00", "2020-02-29", "2020-02-30"]),
    ("datetime(3)", ["0000-00-00 00:00:00.000", "2020-02-29 00:00:00.500"]),
]


def deletes(target: Target, declared: str, values: Sequence[str], table: Table, name: str) -> None:
    """One by one, and many at once; with them goes the row that is there."""
    layout = created(target, table)
    present = next(value for value in values if len(holdable(key_payloads(layout, [[value, "1"]]))))
    for keys in ([values[0]], [*values], [values[0]] * 30 + [*values]):
        load(target, layout, [[present, "1"], [present, "2"]])
        deleted, _ = load(target, layout, deleted=[[key, "1"] for key in dict.fromkeys(keys)])
        assert deleted == (present in keys)
        assert target.existing(layout, key_payloads(layout, [[key, "1"] for key in keys])) == (
            present not in keys and 0
        )
        assert len(contents(target, layout)) == 2 - deleted
    with pytest.raises(NotHeld, match=rf"{name}\.k: "):
        row_payloads(layout, [[values[0], "1"]])


@pytest.mark.parametrize(("declared", "values"), _POSTGRESQL)
@pytest.mark.parametrize("more", ["", ", unique key u (n)"])
def test_postgresql_deletes_what_it_holds_and_skips_the_rest(
    postgresql_url: str, declared: str, values: Sequence[str], more: str
) -> None:
    table = defined(f"create table t (k {declared}, n int, primary key (k, n){more})")
    with closing(open_target(postgresql_url)) as target:
        deletes(target, declared, values, table, "shop.t")


@pytest.fixture
def narrow_url(postgresql_url: str) -> Iterator[str]:
    """Of a database in LATIN9."""
    url = sa.make_url(postgresql_url)
    name = f"{url.database}_latin9"
    server = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with server.connect() as connection:
        connection.exec_driver_sql(
            f"CREATE DATABASE {name} ENCODING 'LATIN9' LC_COLLATE 'C' LC_CTYPE 'C' "
            "TEMPLATE template0"
        )
    yield url.set(database=name).render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    ("declared", "values"),
    [
        ("varchar(9)", ["中", "a", "¤"]),
        ("varchar(9)", ["x中", "€", "ß"]),
        ("text", ["\U0001f600", "\xff", "Œ"]),
    ],
)
def test_letters_outside_the_databases_encoding_are_in_no_key(
    narrow_url: str, declared: str, values: Sequence[str]
) -> None:
    table = defined(f"create table t (k {declared}, n int, primary key (k, n))")
    with closing(open_target(narrow_url)) as target:
        deletes(target, declared, values, table, "shop.t")


def test_labels_reach_a_database_with_another_encoding(narrow_url: str) -> None:
    table = defined("create table t (e enum('a', 'é', '中'), s set('x', '€'), primary key (e))")
    with closing(open_target(narrow_url)) as target:
        layout = created(target, table)
        load(target, layout, [["1", "3"], ["2", "0"]])
        assert contents(target, layout) == [("a", "x,€"), ("é", "")]
        load(target, layout, deleted=[["2"], ["3"]])
        assert contents(target, layout) == [("a", "x,€")]
        with pytest.raises(NotHeld, match=r"shop\.t\.e: "):
            row_payloads(layout, [["3", "0"]])


@pytest.mark.parametrize("key", ["k", "k, n"])
@pytest.mark.parametrize("dialect", ["mysql", "mariadb", "tidb"])
def test_letters_outside_a_columns_character_set_are_in_no_key(
    dialect: str, key: str, request: pytest.FixtureRequest
) -> None:
    with closing(open_target(request.getfixturevalue(f"{dialect}_url"))) as target:
        target.execute(
            "CREATE TABLE t (k varchar(9) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, "
            f"n int NOT NULL, PRIMARY KEY ({key}))"
        ).close()
        table = defined(
            "create table t (k varchar(9) character set ascii collate ascii_bin, n int, "
            f"primary key ({key}))"
        )
        described = target.describe(None, "t")
        assert described is not None
        layout = target.layout(table, table.handle_key, described, table, frozenset())
        load(target, layout, [["a", "1"], ["b", "1"]])
        keys = [["ß", "1"], ["a", "1"], ["中", "1"], ["c", "1"]]
        asked = key_payloads(layout, [each[: len(layout.key)] for each in keys])
        assert target.existing(layout, asked) == 1
        with target.transaction():
            assert target.delete(layout, asked) == 1
        assert contents(target, layout) == [("b", 1)]
