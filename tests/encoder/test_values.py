from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.wire_values import COLUMNS, rows
from ticdc_encoder.column import TYPE_NAMES, ColumnType
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Value
from ticdc_encoder.formats.json_text import easyjson, encoding_json, json_float, jsoniter, utf_8
from ticdc_encoder.values import FAMILIES, canonical, fixed, quote, server_time, single, unquote


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (0.1, "0.1"),
        (1e15, "1000000000000000"),
        (1e21, "1" + 21 * "0"),
        (1.5e-7, "0.00000015"),
        (5e-324, "0." + 323 * "0" + "5"),
        (1e308, "1" + 308 * "0"),
        (123456789.12345679, "123456789.12345679"),
    ],
)
def test_a_double_is_its_shortest_decimal_without_exponent(value: float, text: str) -> None:
    assert fixed(value) == text
    assert FAMILIES["double"].from_text(text) == value


@pytest.mark.parametrize(
    ("value", "shortest"),
    [
        (3.140000104904175, 3.14),
        (3.14, 3.14),
        (0.1, 0.1),
        (16777216.0, 16777216.0),
        (3.4028234663852886e38, 3.4028235e38),
        (1.1754943508222875e-38, 1.1754944e-38),
        (1e-45, 1e-45),
        (0.0, 0.0),
    ],
)
def test_a_float_is_the_shortest_decimal_of_its_32_bits(value: float, shortest: float) -> None:
    assert single(value) == shortest


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_shortest_decimal_of_a_float_is_stable(value: float) -> None:
    assert single(single(value)) == single(value)
    assert FAMILIES["float"].from_text(FAMILIES["float"].to_text(value)) == single(value)


@pytest.mark.parametrize("value", [1e39, float("inf"), float("nan")])
def test_a_number_beyond_32_bits_is_no_float(value: float) -> None:
    with pytest.raises((TypeError, ValueError)):
        single(value)


@pytest.mark.parametrize(
    ("value", "new", "old"),
    [
        (0.0, "0", "0"),
        (1.0, "1", "1"),
        (0.000001, "0.000001", "0.000001"),
        (1.5e-7, "1.5e-07", "1.5e-7"),
        (1e-10, "1e-10", "1e-10"),
        (1e20, "100000000000000000000", "100000000000000000000"),
        (1e21, "1e+21", "1e+21"),
        (-3.4028235e38, "-3.4028235e+38", "-3.4028235e+38"),
    ],
)
def test_json_floats_have_an_exponent_where_go_writes_one(value: float, new: str, old: str) -> None:
    assert json_float(value, new_architecture=True) == new
    assert json_float(value, new_architecture=False) == old


@pytest.mark.parametrize(
    ("text", "easy", "go", "plain"),
    [
        ("a", '"a"', '"a"', '"a"'),
        ("<&>", r'"\u003c\u0026\u003e"', r'"\u003c\u0026\u003e"', '"<&>"'),
        ('"\\', r'"\"\\"', r'"\"\\"', r'"\"\\"'),
        ("\n\r\t", r'"\n\r\t"', r'"\n\r\t"', r'"\n\r\t"'),
        (
            "\b\f\0\x7f",
            '"\\u0008\\u000c\\u0000\x7f"',
            '"\\b\\f\\u0000\x7f"',
            '"\\u0008\\u000c\\u0000\x7f"',
        ),
        ("\u2028é", r'"\u2028é"', r'"\u2028é"', '"\u2028é"'),
        ("\udcff", r'"\ufffd"', r'"\ufffd"', '"\udcff"'),
    ],
)
def test_json_strings_are_escaped_as_gos_libraries_do(
    text: str, easy: str, go: str, plain: str
) -> None:
    assert (easyjson(text), encoding_json(text), jsoniter(text)) == (easy, go, plain)


def test_bytes_that_are_not_utf_8_leave_as_they_came() -> None:
    assert utf_8(jsoniter("a\udcff")) == b'"a\xff"'


QUOTED = [
    (b"", ""),
    (b"abc", "abc"),
    (b"\x89PNG\r\n\x1a\n", r"\x89PNG\r\n\x1a\n"),
    (b'\\"', r"\\\""),
    (b"\a\b\f\n\r\t\v", r"\a\b\f\n\r\t\v"),
    (b"\0\x1f\x7f", r"\x00\x1f\x7f"),
    ("é中😀".encode(), "é中😀"),
    ("\u00a0\u200b\ufeff".encode(), r"\u00a0\u200b\ufeff"),
    ("\u0080\U000e0001".encode(), r"\u0080\U000e0001"),
    ("\ufffd".encode(), "\ufffd"),
    (b"\xc3(", r"\xc3("),
    (b"\xe4\xb8A", r"\xe4\xb8A"),
    (b"\xed\xa0\x80", r"\xed\xa0\x80"),
]


@pytest.mark.parametrize(("raw", "quoted"), QUOTED)
def test_bytes_are_quoted_as_strconv_does(raw: bytes, quoted: str) -> None:
    assert quote(raw) == quoted
    assert unquote(quoted) == raw


@given(st.binary())
def test_quoted_bytes_come_back(raw: bytes) -> None:
    assert unquote(quote(raw)) == raw
    assert unquote("".join(f"\\x{byte:02X}" for byte in raw)) == raw


@pytest.mark.parametrize(
    "quoted", ["\\", r"\q", r"\'", r"\101", r"\x4", r"\u12", r"\ud800", r"\U00110000"]
)
def test_escapes_that_strconv_does_not_write_are_refused(quoted: str) -> None:
    with pytest.raises(ValueError, match="an escape that"):
        unquote(quoted)


CANONICAL: list[tuple[str, Value, str | bytes | None]] = [
    ("bigint", -(1 << 63), "-9223372036854775808"),
    ("bit", (1 << 64) - 1, "18446744073709551615"),
    ("year", 0, "0"),
    ("enum", 2, "2"),
    ("set", 5, "5"),
    ("decimal", Decimal("-0.10"), "-0.10"),
    ("decimal", Decimal("1E+3"), "1000"),
    ("decimal", Decimal("0E-10"), "0.0000000000"),
    ("float", 3.14, "3.14"),
    ("double", 1e300, "1e+300"),
    ("varchar", "x", "x"),
    ("json", '{"a": 1}', '{"a": 1}'),
    ("datetime", "0000-00-00 00:00:00.000", "0000-00-00 00:00:00.000"),
    ("varbinary", b"\xff", b"\xff"),
    ("blob", b"", b""),
]


@pytest.mark.parametrize(("type_", "value", "form"), CANONICAL)
def test_the_canonical_form_of_a_value(type_: str, value: Value, form: str | bytes | None) -> None:
    assert canonical(value, ColumnType(type_)) == form


@pytest.mark.parametrize("type_", sorted(TYPE_NAMES))
def test_null_is_canonical_in_every_type(type_: str) -> None:
    assert canonical(None, ColumnType(type_)) is None


@given(rows())
def test_every_value_has_one_canonical_form(row: dict[str, Value]) -> None:
    for column in COLUMNS:
        value = row[column.name]
        if value is None:
            continue
        family = FAMILIES[column.type.name]
        form = canonical(value, column.type)
        if column.type.binary:
            assert form == value
        else:
            assert isinstance(form, str)
            assert family.from_text(form) == value
        assert family.from_text(family.to_text(value)) == value


@pytest.mark.parametrize(
    ("zone", "utc", "local"),
    [
        ("UTC", "2024-06-01 12:00:00.5", "2024-06-01 12:00:00.5"),
        ("Asia/Shanghai", "2024-06-01 16:00:00.123456", "2024-06-02 00:00:00.123456"),
        ("America/New_York", "2024-11-03 05:30:00", "2024-11-03 01:30:00"),
        ("America/New_York", "2024-11-03 06:30:00", "2024-11-03 01:30:00"),
        ("Asia/Shanghai", "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
    ],
)
def test_a_timestamp_is_written_in_the_servers_zone(zone: str, utc: str, local: str) -> None:
    assert server_time(zone)(utc) == local


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown time zone 'Mars/Olympus'"):
        server_time("Mars/Olympus")


@pytest.mark.parametrize("name", ["int", "decimal", "double"])
def test_what_is_no_number_is_refused_without_telling_it(name: str) -> None:
    with pytest.raises(ValueError, match=r"^not (the digits of an integer|a \w*\s?number)$"):
        FAMILIES[name].from_text("canary")
