import decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.canonical_rows import arrays, key_payloads, row_payloads
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.column_mapping import TypeRules, fit
from ticdc_consumer.targets.layout import Layout, TargetColumn, TargetTable, UniqueKey
from ticdc_consumer.targets.postgresql import types
from ticdc_consumer.targets.postgresql.encode import encode_keys, encode_rows
from ticdc_consumer.targets.postgresql.quoting import quote_name
from ticdc_consumer.targets.rules import ZERO_DATE_AS_NULL
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table

NONE: frozenset[str] = frozenset()
AS_NULL = frozenset({ZERO_DATE_AS_NULL})


def source(sql: str) -> ColumnType:
    return parse_create_table(f"create table t (c {sql})", "s").column("c").type


def existing_column(
    type_: str, nullable: bool = True, labels: tuple[str, ...] = ()
) -> TargetColumn:
    return TargetColumn("c", type_, nullable, elements=labels)


def type_rules(rules: frozenset[str] = NONE) -> TypeRules:
    return TypeRules(
        "postgresql",
        quote_name,
        lambda type_, column, in_key: types.codec(type_, column, in_key, rules),
        types.merges,
    )


def layout(
    create: str, *target: TargetColumn, key: tuple[str, ...] = ("k",), rules: frozenset[str] = NONE
) -> Layout:
    table = parse_create_table(create, "shop")
    existing = TargetTable("shop", "t", target, (UniqueKey("t_pkey", key, True),))
    return fit(type_rules(rules), '"t"', table, key, existing, table)


def one(sql: str, type_: str, value: str | bytes | None, rules: frozenset[str] = NONE) -> bytes:
    """The COPY line of a row with key 1 and that value."""
    fitted = layout(
        f"create table t (k int primary key, c {sql})",
        TargetColumn("k", "integer", False),
        existing_column(type_),
        rules=rules,
    )
    payload: bytes = row_payloads(fitted, [["1", value]])[0].as_py()
    return payload


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("tinyint(1)", "smallint"),
        ("tinyint unsigned", "smallint"),
        ("smallint unsigned", "integer"),
        ("mediumint unsigned", "integer"),
        ("int", "integer"),
        ("int unsigned", "bigint"),
        ("bigint", "bigint"),
        ("bigint unsigned", "numeric(20,0)"),
        ("bit(63)", "bigint"),
        ("bit(64)", "numeric(20,0)"),
        ("decimal(65,30)", "numeric(65,30)"),
        ("float", "real"),
        ("double", "double precision"),
        ("varchar(20)", "text"),
        ("varbinary(20)", "bytea"),
        ("datetime(3)", "timestamp without time zone"),
        ("timestamp", "timestamp with time zone"),
        ("time(6)", "interval"),
        ("year", "smallint"),
        ("enum('a')", "text"),
        ("set('a')", "text"),
        ("json", "text"),
        ("vector(3)", "real[]"),
    ],
)
def test_a_new_column_has_a_type_that_holds_every_value(sql: str, expected: str) -> None:
    assert types.column_type(Column("c", source(sql))) == expected


@pytest.mark.parametrize(
    ("sql", "type_", "codec"),
    [
        ("int", "bigint", "plain"),
        ("int", "numeric(10,0)", "plain"),
        ("int", "text", "plain"),
        ("bigint unsigned", "numeric", "plain"),
        ("tinyint(1)", "boolean", "boolean"),
        ("bit(1)", "boolean", "boolean"),
        ("bit(10)", "bit(10)", "bits:10"),
        ("bit(10)", "integer", "plain"),
        ("enum('a','b')", "smallint", "plain"),
        ("enum('a','b')", "text", "enum"),
        ("set('a','b')", "character varying(3)", "set"),
        ("set('a','b')", "smallint", "plain"),
        ("float", "double precision", "number"),
        ("decimal(10,2)", "numeric(12,3)", "plain"),
        ("decimal(10,2)", "numeric", "plain"),
        ("varchar(5)", "character varying(9)", "text:9"),
        ("char(5)", "character(5)", "text:5"),
        ("json", "jsonb", "jsonb"),
        ("json", "json", "text"),
        ("datetime(3)", "timestamp(3) without time zone", "date:3"),
        ("timestamp", "timestamp with time zone", "date:6"),
        ("timestamp", "timestamp without time zone", "date:6"),
        ("date", "text", "plain"),
        ("time(3)", "interval(3)", "time:3"),
        ("vector", "vector(3)", "vector"),
        ("blob", "bytea", "bytea"),
    ],
)
def test_a_users_column_is_taken_where_it_holds_every_value(
    sql: str, type_: str, codec: str
) -> None:
    assert types.codec(source(sql), existing_column(type_), False, NONE) == codec


@pytest.mark.parametrize(
    ("sql", "type_"),
    [
        ("bigint", "integer"),
        ("int unsigned", "integer"),
        ("bigint unsigned", "bigint"),
        ("bigint unsigned", "numeric(19,0)"),
        ("int", "boolean"),
        ("bit(2)", "boolean"),
        ("bit(10)", "bit(9)"),
        ("bit(64)", "bigint"),
        ("set('a','b')", "boolean"),
        ("double", "real"),
        ("decimal(10,2)", "numeric(10,1)"),
        ("decimal(10,2)", "numeric(9,2)"),
        ("decimal(10,2)", "double precision"),
        ("decimal(10,2)", "money"),
        ("varchar(5)", "character(5)"),
        ("varchar(5)", "citext"),
        ("varchar(5)", "bytea"),
        ("blob", "text"),
        ("json", "bytea"),
        ("date", "timestamp without time zone"),
        ("datetime", "timestamp with time zone"),
        ("datetime(6)", "timestamp(3) without time zone"),
        ("datetime", "date"),
        ("time", "time without time zone"),
        ("time(6)", "interval(0)"),
        ("year", "date"),
        ("vector", "jsonb"),
    ],
)
def test_a_users_column_too_narrow_for_a_value_is_refused(sql: str, type_: str) -> None:
    with pytest.raises(Stop, match=r"cannot hold every .*; .* can"):
        types.codec(source(sql), existing_column(type_), False, NONE)


def test_labels_of_the_target_are_not_taken_for_upstreams() -> None:
    unknown, mood = ColumnType("enum"), existing_column("mood", labels=("a", "b"))
    for existing in (mood, existing_column("text")):
        with pytest.raises(Stop, match="labels of this enum are not known"):
            types.codec(unknown, existing, False, NONE)
    assert types.codec(unknown, existing_column("smallint"), False, NONE) == "plain"
    assert types.codec(source("enum('b','a')"), mood, False, NONE) == "enum"
    with pytest.raises(Stop, match="cannot hold every enum"):
        types.codec(
            source("enum('a','c')"), existing_column("mood", labels=("a", "b")), False, NONE
        )
    with pytest.raises(Stop, match="which also means no value"):
        types.codec(source("enum('a','')"), existing_column("text"), True, NONE)


@pytest.mark.parametrize(
    ("sql", "type_", "value", "field"),
    [
        ("int", "integer", "-5", b"-5"),
        ("int", "integer", None, b"\\N"),
        ("text", "text", "", b""),
        ("text", "text", "\\N", b"\\\\N"),
        ("text", "text", "\\.", b"\\\\."),
        ("text", "text", "a\tb\nc\rd\\e\b\x1a", b"a\\tb\\nc\\rd\\\\e\b\x1a"),
        ("text", "text", "😀", "😀".encode()),
        ("blob", "bytea", b"", b"\\\\x"),
        ("blob", "bytea", b"\x00\xffa", b"\\\\x00ff61"),
        ("double", "double precision", "1" + "0" * 308, b"1e+308"),
        ("double", "double precision", "1e3", b"1000"),
        ("float", "real", "3.14", b"3.14"),
        ("bit(10)", "bit(10)", "5", b"0000000101"),
        ("enum('x','y z')", "text", "2", b"y z"),
        ("enum('x')", "text", "0", b""),
        ("set('x','y','z')", "text", "5", b"x,z"),
        ("set('x','y','z')", "text", "0", b""),
        ("vector", "real[]", "[1,2.5]", b"{1,2.5}"),
        ("tinyint", "boolean", "1", b"1"),
        ("json", "jsonb", '{"a": "\\\\u0000"}', b'{"a": "\\\\\\\\u0000"}'),
        ("datetime(6)", "timestamp without time zone", "2024-02-29 23:59:59.000001", None),
        ("decimal(5,2)", "numeric(5,2)", "-999.99", None),
        ("time(6)", "interval", "-838:59:59.000000", None),
    ],
)
def test_a_value_is_one_field_of_copy(
    sql: str, type_: str, value: str | bytes | None, field: bytes | None
) -> None:
    if field is None:
        assert isinstance(value, str)
        field = value.encode()
    assert one(sql, type_, value) == b"1\t" + field + b"\n"


@pytest.mark.parametrize(
    ("sql", "type_", "value", "why"),
    [
        ("date", "date", "0000-00-00", "a date that PostgreSQL does not have"),
        ("date", "date", "2024-00-10", "a date that PostgreSQL does not have"),
        ("datetime", "timestamp without time zone", "2023-02-31 00:00:00", "a date that"),
        ("timestamp", "timestamp with time zone", "0000-00-00 00:00:00", "a date that"),
        ("date", "date", "0000-01-01", "a date that PostgreSQL does not have"),
        ("text", "text", "a\0b", "a NUL character"),
        ("json", "jsonb", '["\\\\\\u0000"]', "the escape"),
        ("tinyint", "boolean", "2", "neither 0 nor 1"),
        ("varchar(9)", "character varying(3)", "abc ", "longer than 3 characters"),
        ("enum('a')", "text", "2", "an ENUM index beyond the 1 known labels"),
        ("set('a')", "text", "2", "a SET mask beyond the 1 known labels"),
    ],
)
def test_a_value_postgresql_cannot_hold_names_its_column_and_key(
    sql: str, type_: str, value: str, why: str
) -> None:
    with pytest.raises(Stop) as stopped:
        one(sql, type_, value)
    assert str(stopped.value).startswith(f"shop.t.c: {why}")
    assert "(row with key k='1')" in str(stopped.value)


def test_without_a_declared_scale_each_decimal_is_checked() -> None:
    fitted = Layout(
        dialect="postgresql",
        schema="shop",
        table="t",
        relation="t",
        source=(Column("k", ColumnType("int")), Column("c", ColumnType("decimal"))),
        columns=('"k"', '"c"'),
        codecs=(
            "plain",
            types.codec(ColumnType("decimal"), existing_column("numeric(5,2)"), False, NONE),
        ),
        key=("k",),
        upsert=True,
    )
    assert row_payloads(fitted, [["1", "1.500"]])[0].as_py() == b"1\t1.500\n"
    with pytest.raises(Stop, match=r"shop\.t\.c: .*decimal\(5,2\).*k='2'"):
        row_payloads(fitted, [["1", "1.5"], ["2", "1.501"]])
    with pytest.raises(Stop, match=r"shop\.t\.c: .*decimal\(5,2\)"):
        row_payloads(fitted, [["1", "1000.5"]])


def test_without_a_declared_precision_each_moment_is_checked() -> None:
    fitted = layout(
        "create table t (k int primary key, c datetime)",
        TargetColumn("k", "integer", False),
        existing_column("timestamp(1) without time zone"),
    )
    row_payloads(fitted, [["1", "2024-01-01 00:00:00.500000"]])
    with pytest.raises(Stop, match="more than 1 digits after the second"):
        row_payloads(fitted, [["1", "2024-01-01 00:00:00.510000"]])


def test_zero_dates_become_null_by_rule_and_never_in_a_key() -> None:
    assert one("date", "date", "2023-02-31", AS_NULL) == b"1\t\\N\n"
    assert one("date", "date", "2023-02-28", AS_NULL) == b"1\t2023-02-28\n"
    zero = source("date")
    assert types.codec(zero, existing_column("date", nullable=False), False, AS_NULL) == "date:6"
    assert types.codec(zero, existing_column("date"), True, AS_NULL) == "date:6"


def test_a_column_that_the_target_generates_is_not_written() -> None:
    fitted = layout(
        "create table t (k int primary key, g int as (k + 1) stored, v int as (k + 2) virtual)",
        TargetColumn("k", "integer", False),
        TargetColumn("g", "integer", True, generated=True),
    )
    assert fitted.codecs == ("plain", "skip", "skip")
    assert row_payloads(fitted, [["1", "2", None]])[0].as_py() == b"1\n"


def test_slices_of_arrays_are_encoded_as_they_are() -> None:
    fitted = layout(
        "create table t (k int primary key, a text, b blob)",
        TargetColumn("k", "integer", False),
        TargetColumn("a", "text", True),
        TargetColumn("b", "bytea", True),
    )
    rows: list[list[str | bytes | None]]
    rows = [["1", "x\n", b"\x01"], ["2", None, b"\x02"], ["3", "z", None], ["4", "\t", b""]]
    whole = row_payloads(fitted, rows).to_pylist()
    sliced = encode_rows(fitted, [array.slice(1, 3) for array in arrays(fitted, rows)])
    assert sliced.to_pylist() == whole[1:]
    assert encode_rows(fitted, [array.slice(4) for array in arrays(fitted, rows)]).to_pylist() == []


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(st.lists(st.tuples(TEXT, st.binary(), TEXT), min_size=1, max_size=20))
def test_two_keys_have_one_payload_if_and_only_if_they_are_equal(
    keys: list[tuple[str, bytes, str]],
) -> None:
    fitted = layout(
        "create table t (a varchar(9), b varbinary(9), c varchar(9), primary key (a, b, c))",
        TargetColumn("a", "text", False),
        TargetColumn("b", "bytea", False),
        TargetColumn("c", "text", False),
        key=("c", "b", "a"),
    )
    payloads = key_payloads(fitted, keys).to_pylist()
    assert len(set(payloads)) == len(set(keys))
    assert len(set(zip(payloads, keys, strict=True))) == len(set(keys))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_a_floating_point_key_has_one_payload_in_every_notation(values: list[float]) -> None:
    fitted = layout(
        "create table t (k double primary key)", TargetColumn("k", "double precision", False)
    )
    written = encode_keys(fitted, [pa.array([repr(value) for value in values])])
    plain = encode_keys(fitted, [pa.array([f"{decimal.Decimal(repr(v)):f}" for v in values])])
    assert written.to_pylist() == plain.to_pylist()
    assert [float(line.as_py()) for line in written] == values


def table(create: str) -> Table:
    return parse_create_table(create, "shop")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            TargetTable("shop", "t", (TargetColumn("k", "integer", False),)),
            r"shop\.t\.v: the target table has no such column",
        ),
        (
            TargetTable(
                "shop",
                "t",
                (
                    TargetColumn("k", "integer", False),
                    TargetColumn("v", "integer", True),
                    TargetColumn("more", "integer", False),
                ),
                (UniqueKey("p", ("k",), True),),
            ),
            r"shop\.t: the target column more is NOT NULL without a default",
        ),
        (
            TargetTable(
                "shop",
                "t",
                (TargetColumn("k", "integer", False), TargetColumn("v", "integer", True)),
                (UniqueKey("u", ("v",), False),),
            ),
            r"shop\.t: its rows are identified by \(k\), .*it has u \(v\)",
        ),
        (
            TargetTable(
                "shop",
                "t",
                (TargetColumn("k", "integer", True), TargetColumn("v", "integer", True)),
                (UniqueKey("u", ("k",), False),),
            ),
            "all NOT NULL; it has u",
        ),
        (
            TargetTable(
                "shop",
                "t",
                (TargetColumn("k", "integer", False), TargetColumn("v", "smallint", True)),
                (UniqueKey("p", ("k",), True),),
            ),
            r"shop\.t\.v: the target's type smallint cannot hold every int; integer can",
        ),
    ],
)
def test_a_target_table_that_does_not_fit_is_refused_by_name(
    target: TargetTable, message: str
) -> None:
    source_table = table("create table t (k int primary key, v int)")
    with pytest.raises(Stop, match=message):
        fit(type_rules(), "t", source_table, ("k",), target, None)


@pytest.mark.parametrize(
    ("keys", "upsert"),
    [
        ((UniqueKey("p", ("k",), True),), True),
        ((UniqueKey("p", ("k",), True), UniqueKey("wide", ("k", "v"), False)), True),
        ((UniqueKey("p", ("k",), True), UniqueKey("u", ("v",), False)), False),
        ((UniqueKey("p", ("k",), True), UniqueKey("e", ("k",), False, plain=False)), False),
        ((UniqueKey("p", ("k",), True, deferrable=True),), False),
    ],
)
def test_rows_are_upserted_if_nothing_but_the_fold_key_can_clash(
    keys: tuple[UniqueKey, ...], upsert: bool
) -> None:
    columns = (TargetColumn("k", "integer", False), TargetColumn("v", "integer", True))
    upstream = table("create table t (k int primary key, v int)")
    existing = TargetTable("shop", "t", columns, keys)
    assert fit(type_rules(), "t", upstream, ("k",), existing, None).upsert is upsert
