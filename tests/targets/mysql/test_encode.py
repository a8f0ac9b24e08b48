"""Canonical values -> SQL literals, without a server."""

import subprocess
import sys
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.mysql.encode import encode_keys, encode_rows
from ticdc_encoder import Column, ColumnType, WireError

Value = str | bytes | None


def layout(
    *columns: tuple[str, str], key: tuple[str, ...] = ("c0",), dialect: str = "mysql"
) -> Layout:
    """Columns c0, c1, ... of these (type name, codec)."""
    return Layout(
        dialect=dialect,
        schema="shop",
        table="item",
        relation="`shop`.`item`",
        source=tuple(Column(f"c{i}", ColumnType(type_)) for i, (type_, _) in enumerate(columns)),
        columns=tuple(f"`c{i}`" for i in range(len(columns))),
        codecs=tuple(codec for _, codec in columns),
        key=key,
        upsert=True,
    )


def array(type_: str, values: Sequence[Value]) -> pa.Array:
    return pa.array(values, pa.binary() if ColumnType(type_).binary else pa.string())


def row(type_: str, codec: str, value: Value) -> str:
    (payload,) = encode_rows(layout((type_, codec)), [array(type_, [value])]).to_pylist()
    return str(payload, "utf-8")


def key(type_: str, codec: str, value: Value) -> str:
    (payload,) = encode_keys(layout((type_, codec)), [array(type_, [value])]).to_pylist()
    return str(payload, "utf-8")


LITERALS: list[tuple[str, str, Value, str]] = [
    ("int", "integer", "-2147483648", "(-2147483648)"),
    ("bigint", "integer", "18446744073709551615", "(18446744073709551615)"),
    ("bit", "integer", "0", "(0)"),
    ("year", "integer", "0", "(0)"),
    ("set", "integer", "3", "(3)"),
    ("enum", "enum:3", "0", "(0)"),
    ("enum", "enum:3", "3", "(3)"),
    ("decimal", "decimal:10:2", "-99999999.99", "(-99999999.99)"),
    ("decimal", "decimal:3:3", "0.125", "(0.125)"),
    ("decimal", "decimal:65:0", "9" * 65, f"({'9' * 65})"),
    ("float", "float", "3.14", "(3.140000104904175e0)"),
    ("float", "float", "-3.4028235e+38", "(-3.4028234663852886e+38)"),
    ("float", "float:2", "99999.99", "(99999.9921875e0)"),
    ("double", "double", "3.14", "(3.14e0)"),
    ("double", "double", "1" + "0" * 308, "(1e+308)"),
    ("double", "double", "5e-324", "(5e-324)"),
    ("varchar", "text", "it's", "('it''s')"),
    ("varchar", "text", "a\\'b\\", "('a\\''b\\')"),
    ("varchar", "text", "nul\0\x1a\r\n😀", "('nul\0\x1a\r\n😀')"),
    ("varchar", "text", "", "('')"),
    ("varchar", "text:3", "é ü", "('é ü')"),
    ("varchar", "text:4b", "é ", "('é ')"),
    ("varchar", "text:wary:3", None, "(NULL)"),
    ("json", "text", '{"a": "\\n"}', '(\'{"a": "\\n"}\')'),
    ("varbinary", "binary", b"\x00\xff'", "(X'00ff27')"),
    ("varbinary", "binary", b"", "(X'')"),
    ("binary", "binary:2", b"a\x00", "(X'6100')"),
    ("date", "date", "2023-02-31", "('2023-02-31')"),
    ("datetime", "datetime:0", "2024-01-01 00:00:00.000", "('2024-01-01 00:00:00.000')"),
    ("datetime", "datetime:3", "0000-00-00 00:00:00.120000", "('0000-00-00 00:00:00.120000')"),
    ("timestamp", "instant:6", "2024-01-01 00:00:00.123456", "('2024-01-01 00:00:00.123456')"),
    ("time", "time:1", "-838:59:59.0", "('-838:59:59.0')"),
    ("int", "integer", None, "(NULL)"),
    ("varchar", "text", None, "(NULL)"),
    ("varbinary", "binary", None, "(NULL)"),
    ("double", "double", None, "(NULL)"),
]


@pytest.mark.parametrize(("type_", "codec", "value", "literal"), LITERALS)
def test_a_value_becomes_a_literal(type_: str, codec: str, value: Value, literal: str) -> None:
    assert row(type_, codec, value) == literal


NONSENSE: list[tuple[str, str, Value]] = [
    *[
        ("int", "integer", value)
        for value in ("", "-", "1\n", "\n1", "+1", "01", "-0", "1 ", "0x1f", "1e3", "1.0", "٣")
    ],
    ("int", "integer", "1),(2"),
    ("int", "integer", "1 OR 1=1"),
    ("int", "integer", "NULL"),
    ("enum", "enum:3", "a"),
    ("enum", "enum:3", "-1"),
    ("enum", "enum:3", "9" * 30),
    ("decimal", "decimal:10:2", "1e2"),
    ("decimal", "decimal:10:2", ".5"),
    ("decimal", "decimal:10:2", "1.5\n"),
    ("decimal", "decimal:10:2", "1;DROP TABLE item"),
    *[("float", "float", value) for value in ("nan", "inf", "-Infinity", "1e39", "1e", "1,5", "")],
    *[("double", "double", value) for value in ("NaN", "1e999", "0x1p3", "sleep(9)", "1e5e5")],
    ("date", "date", "2024-1-1"),
    ("date", "date", "20240101"),
    ("datetime", "datetime:6", "2024-01-01T00:00:00"),
    ("datetime", "datetime:6", "2024-01-01 00:00:00+05:30"),
    ("datetime", "datetime:6", "2024-01-01 00:00:00\n"),
    ("time", "time:6", "1:2:3"),
    ("time", "time:6", "1 10:00:00"),
]


@pytest.mark.parametrize(("type_", "codec", "value"), NONSENSE)
def test_what_is_no_value_of_the_type_is_refused_by_name(
    type_: str, codec: str, value: Value
) -> None:
    with pytest.raises(WireError) as error:
        row(type_, codec, value)
    assert str(error.value) == f"shop.item.c0: the value is not a valid {type_}"


def test_text_that_is_not_utf_8_is_refused() -> None:
    broken = pa.StringArray.from_buffers(
        1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xe4'")
    )
    with pytest.raises(WireError, match=r"shop\.item\.c0"):
        encode_rows(layout(("varchar", "text")), [broken])


TOO_LARGE: list[tuple[str, str, Value, str]] = [
    ("varchar", "text:3", "abc ", "a text of more than 3 characters"),
    ("varchar", "text:wary:3", "abc ", "a text of more than 3 characters"),
    ("varchar", "text:255b", "x" * 255 + " ", "a text of more than 255 bytes"),
    ("enum", "enum:3", "4", "an index beyond the 3 labels"),
    ("decimal", "decimal:5:2", "1.125", "a value with more digits than (5,2)"),
    ("decimal", "decimal:5:2", "1000.00", "a value with more digits than (5,2)"),
    ("decimal", "decimal:5:0", "1.0", "a value with more digits than (5,0)"),
    ("float", "float:1", "0.25", "a value with more than 1 decimals"),
    ("double", "double:2", "1e-7", "a value with more than 2 decimals"),
    ("binary", "binary:4", b"abc", "a value of other than 4 bytes"),
    (
        "datetime",
        "datetime:0",
        "2024-01-01 00:00:00.5",
        "a value with more than 0 digits after the second",
    ),
    ("time", "time:3", "00:00:00.1234", "a value with more than 3 digits after the second"),
    ("timestamp", "instant:0", None, "NULL"),
]


@pytest.mark.parametrize(("type_", "codec", "value", "reason"), TOO_LARGE)
def test_what_the_column_would_change_is_refused(
    type_: str, codec: str, value: Value, reason: str
) -> None:
    with pytest.raises(Stop) as error:
        row(type_, codec, value)
    assert str(error.value) == (
        f"shop.item.c0: {reason}, which the target's column cannot hold exactly"
    )


def test_a_row_is_a_tuple_without_the_targets_generated_columns() -> None:
    table = layout(
        ("int", "integer"),
        ("varchar", "text"),
        ("varchar", "skip"),
        ("blob", "binary"),
        ("double", "double"),
    )
    arrays = [
        array("int", ["1", "2"]),
        array("varchar", ["a'b", None]),
        array("varchar", ["x", "y"]),
        array("blob", [b"\x00\xff", b""]),
        array("double", [None, "1.5"]),
    ]
    assert encode_rows(table, arrays).to_pylist() == [
        b"(1,'a''b',X'00ff',NULL)",
        b"(2,NULL,X'',1.5e0)",
    ]


def test_a_task_of_spark_encodes_without_the_databases_driver() -> None:
    code = "import sys; import ticdc_consumer.targets.mysql.encode; print('pymysql' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_no_rows_are_no_payloads() -> None:
    table = layout(("int", "integer"), ("varchar", "text"), ("blob", "binary"))
    arrays = [array("int", []), array("varchar", []), array("blob", [])]
    assert len(encode_rows(table, arrays)) == len(encode_keys(table, arrays[:1])) == 0


def test_slices_of_larger_arrays_are_encoded_as_what_they_show() -> None:
    table = layout(("varchar", "text"), ("blob", "binary"))
    arrays = [array("varchar", ["'", "b", None])[1:], array("blob", [b"a", b"b", b"c"])[1:]]
    assert encode_rows(table, arrays).to_pylist() == [b"('b',X'62')", b"(NULL,X'63')"]


SAME_KEYS: list[tuple[str, str, list[str], str]] = [
    ("int", "integer", ["7"], "7"),
    ("decimal", "decimal:10:3", ["1.5", "1.50", "01.500"], "1.5"),
    ("decimal", "decimal:10:3", ["0", "-0", "0.00", "-0.000"], "0"),
    ("decimal", "decimal:10:3", ["100", "100.0"], "100"),
    ("float", "float", ["3.14", "3.1400001", "314e-2"], "3.140000104904175e0"),
    ("double", "double", ["0", "-0", "-0.0", "0e5"], "0e0"),
    ("double", "double", ["1000", "1e3", "1.0e+3"], "1000e0"),
    (
        "datetime",
        "datetime:3",
        ["2024-01-01 00:00:10", "2024-01-01 00:00:10.000"],
        "'2024-01-01 00:00:10'",
    ),
    ("time", "time:3", ["-00:00:00", "00:00:00.0", "000:00:00"], "'00:00:00'"),
    ("time", "time:3", ["-01:00:00.10", "-001:00:00.1"], "'-01:00:00.1'"),
    ("varchar", "text", ["a' "], "'a'' '"),
    ("varbinary", "binary", [], "X''"),
]


@pytest.mark.parametrize(("type_", "codec", "values", "payload"), SAME_KEYS)
def test_equal_keys_have_one_payload(
    type_: str, codec: str, values: list[str], payload: str
) -> None:
    for value in values:
        assert key(type_, codec, value) == payload


SEVERAL = [
    ("mysql", b"(`c2`='2024-01-01' AND `c1`='x,''y')"),
    ("mariadb", b"('2024-01-01','x,''y')"),
    ("tidb", b"(`c2`='2024-01-01' AND `c1`='x,''y')"),
]


@pytest.mark.parametrize(("dialect", "payload"), SEVERAL)
def test_a_composite_key_is_compared_as_the_dialect_does_best(dialect: str, payload: bytes) -> None:
    table = layout(
        ("int", "integer"), ("varchar", "text"), ("date", "date"), key=("c2", "c1"), dialect=dialect
    )
    arrays = [array("date", ["2024-01-01"]), array("varchar", ["x,'y"])]
    assert encode_keys(table, arrays).to_pylist() == [payload]


def test_a_null_in_a_key_is_refused() -> None:
    with pytest.raises(WireError, match=r"shop\.item\.c0: NULL in a key column"):
        key("int", "integer", None)


TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("',()\\`"), max_size=8)
KEYS = st.tuples(TEXT, st.binary(max_size=4), TEXT)


@pytest.mark.parametrize("dialect", ["mysql", "mariadb"])
@given(keys=st.lists(KEYS, min_size=2, max_size=2))
def test_different_keys_have_different_payloads(
    dialect: str, keys: list[tuple[str, bytes, str]]
) -> None:
    table = layout(
        ("varchar", "text"),
        ("varbinary", "binary"),
        ("text", "text"),
        key=("c0", "c1", "c2"),
        dialect=dialect,
    )
    columns = zip(("varchar", "varbinary", "text"), zip(*keys, strict=True), strict=True)
    one, other = encode_keys(table, [array(name, values) for name, values in columns]).to_pylist()
    assert (one == other) == (keys[0] == keys[1])


def read_tuple(payload: str) -> list[str | None]:
    """What the server's lexer sees under NO_BACKSLASH_ESCAPES, for a tuple of strings."""
    values: list[str | None] = []
    rest = payload.removeprefix("(")
    while rest:
        if rest.startswith("NULL"):
            values.append(None)
            rest = rest.removeprefix("NULL")
        else:
            assert rest[0] == "'"
            value, rest = "", rest[1:]
            while not rest.startswith("'") or rest.startswith("''"):
                value += rest[0]
                rest = rest[2:] if rest.startswith("''") else rest[1:]
            values.append(value)
            rest = rest[1:]
        assert rest[0] in ",)"
        if rest[0] == ")":
            assert rest == ")"
        rest = rest[1:]
    return values


@given(st.lists(st.none() | TEXT, min_size=1, max_size=4))
def test_no_text_leaves_its_quotes(values: list[str | None]) -> None:
    table = layout(*[("varchar", "text")] * len(values))
    (payload,) = encode_rows(table, [array("varchar", [value]) for value in values]).to_pylist()
    assert read_tuple(str(payload, "utf-8")) == values


@given(st.text(max_size=6))
def test_a_number_is_never_anything_else(text: str) -> None:
    try:
        payload = row("bigint", "integer", text)
    except WireError:
        return
    except UnicodeEncodeError:
        assert not text.isascii()
        return
    assert payload == f"({int(text)})"
