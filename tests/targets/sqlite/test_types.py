import decimal

import orjson
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.canonical_rows import key_payloads, row_payloads
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.column_mapping import TypeRules, fit
from ticdc_consumer.targets.layout import Layout, TargetColumn, TargetTable, UniqueKey
from ticdc_consumer.targets.sqlite import types
from ticdc_consumer.targets.sqlite.encode import encode_keys
from ticdc_consumer.targets.sqlite.quoting import quote_name
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.sql.parser import parse_create_table


def source(sql: str) -> ColumnType:
    return parse_create_table(f"create table t (c {sql})", "s").column("c").type


def existing_column(type_: str, collation: str | None = None) -> TargetColumn:
    return TargetColumn("c", type_, True, collation=collation)


def layout(create: str, *target: TargetColumn, key: tuple[str, ...] = ("k",)) -> Layout:
    table = parse_create_table(create, "shop")
    existing = TargetTable(None, "t", target, (UniqueKey("PRIMARY KEY", key, True),))
    rules = TypeRules("sqlite", quote_name, types.codec, types.merges)
    return fit(rules, '"t"', table, key, existing, table)


def one(sql: str, type_: str, value: str | bytes | None) -> bytes:
    """The payload of a row with key 1 and that value."""
    fitted = layout(
        f"create table t (k int primary key, c {sql})",
        TargetColumn("k", "integer", False),
        existing_column(type_),
    )
    payload: bytes = row_payloads(fitted, [["1", value]])[0].as_py()
    return payload


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("tinyint(1)", "INTEGER"),
        ("bigint", "INTEGER"),
        ("int unsigned", "INTEGER"),
        ("bigint unsigned", "TEXT"),
        ("bit(63)", "INTEGER"),
        ("bit(64)", "TEXT"),
        ("decimal(5,2)", "TEXT"),
        ("float", "REAL"),
        ("year", "INTEGER"),
        ("char(5)", "TEXT"),
        ("binary(5)", "BLOB"),
        ("date", "TEXT"),
        ("datetime", "TEXT"),
        ("timestamp", "TEXT"),
        ("time", "TEXT"),
        ("enum('a')", "TEXT"),
        ("set('a')", "TEXT"),
        ("json", "TEXT"),
        ("vector", "TEXT"),
    ],
)
def test_a_new_column_has_a_type_that_holds_every_value(sql: str, expected: str) -> None:
    assert types.column_type(Column("c", source(sql))) == expected
    types.codec(source(sql), existing_column(expected.lower()), False)


@pytest.mark.parametrize(
    ("declared", "affinity"),
    [
        ("int", "INTEGER"),
        ("tinyint(1)", "INTEGER"),
        ("floating point", "INTEGER"),
        ("charint", "INTEGER"),
        ("varchar(9)", "TEXT"),
        ("clob", "TEXT"),
        ("blob", "NONE"),
        ("", "NONE"),
        ("double precision", "REAL"),
        ("decimal(5,2)", "NUMERIC"),
        ("datetime", "NUMERIC"),
        ("json", "NUMERIC"),
        ("boolean", "NUMERIC"),
    ],
)
def test_affinity_follows_sqlites_rules(declared: str, affinity: str) -> None:
    assert types.affinity(declared) == affinity


@pytest.mark.parametrize(
    ("sql", "declared", "codec"),
    [
        ("int", "numeric", "integer"),
        ("int", "boolean", "integer"),
        ("int", "text", "quoted:int"),
        ("bigint unsigned", "varchar(20)", "quoted:bigint unsigned"),
        ("bit(3)", "text", "quoted:bit"),
        ("double", "float", "number"),
        ("double", "text", "quoted_number"),
        ("decimal(5,2)", "", "quoted:decimal"),
        ("datetime", "datetime", "quoted:datetime"),
        ("time", "time", "quoted:time"),
        ("varchar(5)", "varchar(5)", "text"),
        ("json", "text", "text"),
        ("binary(16)", "binary(16)", "blob"),
        ("enum('a')", "integer", "integer"),
        ("set('a')", "", "set"),
    ],
)
def test_a_users_column_is_taken_where_it_holds_every_value(
    sql: str, declared: str, codec: str
) -> None:
    assert types.codec(source(sql), existing_column(declared), False) == codec


@pytest.mark.parametrize(
    ("sql", "declared"),
    [
        ("bigint unsigned", "integer"),
        ("bit(64)", "bigint"),
        ("bigint", "real"),
        ("double", "integer"),
        ("decimal(5,2)", "decimal(5,2)"),
        ("decimal(5,2)", "real"),
        ("varchar(5)", "string"),
        ("varchar(5)", "integer"),
        ("json", "json"),
        ("blob", "text"),
        ("date", "integer"),
        ("enum('a')", "numeric"),
        ("vector", "numeric"),
    ],
)
def test_a_users_column_that_changes_values_is_refused(sql: str, declared: str) -> None:
    with pytest.raises(Stop, match=r"has \w+ affinity, which does not keep every"):
        types.codec(source(sql), existing_column(declared), False)


def test_labels_come_from_the_definition() -> None:
    with pytest.raises(Stop, match="labels of this enum are not known"):
        types.codec(ColumnType("enum"), existing_column("text"), False)
    assert types.codec(ColumnType("enum"), existing_column("integer"), False) == "integer"


@pytest.mark.parametrize(
    ("sql", "declared", "value", "element"),
    [
        ("int", "integer", "-5", b"-5"),
        ("int", "integer", None, b"null"),
        ("text", "text", None, b"null"),
        ("text", "text", "null", b'"null"'),
        ("text", "text", "", b'""'),
        ("text", "text", 'a"b\\c\n\t\r', b'"a\\"b\\\\c\\n\\t\\r"'),
        ("text", "text", "\0\x01\x1f\x7f", b'"\\u0000\\u0001\\u001f\x7f"'),
        ("text", "text", "😀", '"😀"'.encode()),
        ("bigint unsigned", "text", "18446744073709551615", b'"18446744073709551615"'),
        ("double", "real", "10000000000000000000", b"1e+19"),
        ("double", "real", "1234567890", b"1234567890.0"),
        ("double", "real", "1" + "0" * 308, b"1e+308"),
        ("double", "real", "-0", b"-0.0"),
        ("float", "real", "3.14", b"3.14"),
        ("float", "text", "1e3", b'"1000"'),
        ("blob", "blob", b"", b'""'),
        ("blob", "blob", b"\x00\xff", b'"00ff"'),
        ("enum('x\"','y')", "text", "1", b'"x\\""'),
        ("set('x','y','z')", "text", "6", b'"y,z"'),
        ("date", "text", "2024-00-00", b'"2024-00-00"'),
        ("time", "text", "-838:59:59", b'"-838:59:59"'),
    ],
)
def test_a_value_is_one_element_of_a_json_array(
    sql: str, declared: str, value: str | bytes | None, element: bytes
) -> None:
    assert one(sql, declared, value) == b"[1," + element + b"]"


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KEYS = (
    "create table t (a varchar(9), b varbinary(9), c varchar(9), primary key (a, b, c))",
    TargetColumn("a", "text", False),
    TargetColumn("b", "blob", False),
    TargetColumn("c", "text", False),
)


@given(st.lists(st.tuples(TEXT, st.binary(), TEXT), min_size=1, max_size=20))
def test_two_keys_have_one_payload_if_and_only_if_they_are_equal(
    keys: list[tuple[str, bytes, str]],
) -> None:
    payloads = key_payloads(layout(*KEYS, key=("c", "b", "a")), keys).to_pylist()
    assert len(set(payloads)) == len(set(keys)) == len(set(zip(payloads, keys, strict=True)))
    assert [orjson.loads(payload) for payload in payloads] == [[a, b.hex(), c] for a, b, c in keys]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_a_floating_point_key_has_one_payload_in_every_notation(values: list[float]) -> None:
    fitted = layout("create table t (k double primary key)", TargetColumn("k", "real", False))
    written = encode_keys(fitted, [pa.array([repr(value) for value in values])])
    plain = encode_keys(fitted, [pa.array([f"{decimal.Decimal(repr(v)):f}" for v in values])])
    assert written.to_pylist() == plain.to_pylist()
    read = [orjson.loads(payload.as_py())[0] for payload in written]
    assert read == values and {type(value) for value in read} == {float}


@pytest.mark.parametrize(
    ("declared", "collation", "refused"),
    [
        ("varchar(9) collate utf8mb4_bin", "BINARY", False),
        ("varchar(9) collate utf8mb4_bin", "NOCASE", True),
        ("varchar(9) collate utf8mb4_general_ci", "NOCASE", False),
        ("varchar(9) collate utf8mb4_general_ci", "RTRIM", True),
        ("varchar(9) collate utf8mb4_general_ci", "MINE", True),
    ],
)
def test_a_unique_key_coarser_than_upstreams_is_refused(
    declared: str, collation: str, refused: bool
) -> None:
    create = f"create table t (k {declared} primary key)"
    column = TargetColumn("k", "text", False, collation=collation)
    if refused:
        with pytest.raises(Stop, match=rf"shop\.t\.k: collation {collation} of the unique key"):
            layout(create, column)
    else:
        layout(create, column)
