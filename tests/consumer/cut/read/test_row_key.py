"""A row's key as an operator writes it."""

from decimal import Decimal

import pytest
from ticdc_consumer.cut.read.row_key import RowKey, RowMatch, Texts, text_of, texts, value_of
from ticdc_consumer.errors import Usage
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.sql.parser import parse_create_table

ENUM = ColumnType("enum", elements=("new", "paid"))
SET = ColumnType("set", elements=("a", "b", "c"))

VALUES: list[tuple[str, ColumnType, Value]] = [
    ("5", ColumnType("int"), 5),
    ("-5", ColumnType("bigint"), -5),
    ("0x10", ColumnType("bit", length=8), 16),
    ("2024", ColumnType("year"), 2024),
    ("paid", ENUM, 2),
    ("2", ENUM, 2),
    ("a,c", SET, 5),
    ("", SET, 0),
    ("1.5", ColumnType("decimal", decimals=2), Decimal("1.50")),
    ("1.5", ColumnType("decimal"), Decimal("1.5")),
    ("1e3", ColumnType("double"), 1000.0),
    ("0xff00", ColumnType("varbinary", length=9), b"\xff\x00"),
    ("ab", ColumnType("binary", length=4), b"ab\0\0"),
    ("2024-05-25 10:00:00", ColumnType("datetime", decimals=3), "2024-05-25 10:00:00.000"),
    ("2024-05-25", ColumnType("date"), "2024-05-25"),
    ("5", ColumnType("varchar"), "5"),
]


@pytest.mark.parametrize(("text", "type_", "value"), VALUES)
def test_a_text_is_the_value_that_decoders_give(text: str, type_: ColumnType, value: Value) -> None:
    given = value_of(text, type_)
    assert (given, type(given)) == (value, type(value))
    assert str(given) == str(value)


NO_VALUES = [
    ("x", ColumnType("int")),
    ("sent", ENUM),
    ("a,d", SET),
    ("1.234", ColumnType("decimal", decimals=2)),
    ("0xfg", ColumnType("varbinary")),
]


@pytest.mark.parametrize(("text", "type_"), NO_VALUES)
def test_a_text_that_is_no_value_is_refused(text: str, type_: ColumnType) -> None:
    with pytest.raises((ValueError, ArithmeticError)):
        value_of(text, type_)


def test_a_value_is_shown_with_bytes_and_controls_as_digits() -> None:
    shown = [text_of(value) for value in (None, b"\xff", Decimal("1E+2"), "a\x1b[1m", 2**64 - 1)]
    assert shown == [None, "0xff", "100", "a\\u001b[1m", "18446744073709551615"]


LINES = parse_create_table(
    "CREATE TABLE `lines` (`Order` INT, `line` INT, `note` VARCHAR(9), "
    "PRIMARY KEY (`Order`, `line`))",
    "shop",
)
ROW: Row = {"Order": 7, "line": 1, "note": "x"}
OTHER: Row = {"Order": 7, "line": 2, "note": "x"}

CHANGES: list[tuple[Row | None, Row | None, tuple[bool, bool]]] = [
    (None, ROW, (False, True)),
    (ROW, None, (True, False)),
    ({"Order": 7, "line": 1}, None, (True, False)),
    (ROW, {**ROW, "note": "y"}, (True, True)),
    ({"note": "x"}, {**ROW, "note": "y"}, (True, True)),
    (ROW, OTHER, (True, False)),
    ({"line": 1}, OTHER, (True, False)),
    (OTHER, ROW, (False, True)),
    (None, OTHER, (False, False)),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_a_change_is_of_the_row_before_it_or_after_it(
    before: Row | None, after: Row | None, expected: tuple[bool, bool]
) -> None:
    match = RowMatch(RowKey.parse(["order=7", "LINE=1"]))
    assert match.of(RowChange(LINES, 1, before, after)) == expected
    assert match.names(LINES) == ("Order", "line")


FILES = parse_create_table(
    "CREATE TABLE files (name VARCHAR(9), hash BINARY(4), PRIMARY KEY (name, hash))", "shop"
)
IMAGES: list[tuple[Row, bool]] = [
    ({"name": "a", "hash": b"\xff\x00\x00\x00"}, True),
    ({"name": "a", "hash": b"\xff"}, True),
    ({"name": "a", "hash": b"\xfe"}, False),
    ({"name": "b", "hash": b"\xff"}, False),
]


@pytest.mark.parametrize(("image", "expected"), IMAGES)
def test_bytes_are_equal_whether_they_are_filled_up_or_not(image: Row, expected: bool) -> None:
    match = RowMatch(RowKey.parse(["name=a", "hash=0xff"]))
    assert match.of(RowChange(FILES, 1, None, image)) == (False, expected)


def orders(*labels: str) -> Table:
    return Table("shop", "orders", (Column("state", ColumnType("enum", elements=labels)),))


SENT = [
    ("a message without labels", (), 2),
    ("a message with others than the definition", ("new", "sent", "paid"), 3),
]


@pytest.mark.parametrize(("labels", "value"), [s[1:] for s in SENT], ids=[s[0] for s in SENT])
def test_a_label_has_the_number_that_messages_give_it(labels: tuple[str, ...], value: int) -> None:
    key = RowKey.parse(["state=paid"])
    assert key.row(orders(*labels), orders("new", "paid")) == {"state": value}


def test_a_table_that_had_other_columns_then_has_no_such_row() -> None:
    match = RowMatch(RowKey.parse(["order=7", "piece=1"]))
    assert match.of(RowChange(LINES, 1, None, ROW)) == (False, False)


def test_a_part_of_the_key_is_refused_with_the_whole() -> None:
    with pytest.raises(Usage, match=r"identified by Order, line: give Order=\.\.\. line=\.\.\."):
        RowKey.parse(["order=7"]).require(LINES.handle_key, "shop.lines")


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (None, {"id": "1", "note": None}),
        (["note"], {"note": None}),
        (["id", "gone"], {"id": "1"}),
    ],
    ids=["all", "one", "one that the image leaves out"],
)
def test_the_values_of_a_row_are_shown(names: list[str] | None, shown: Texts) -> None:
    assert texts({"id": 1, "note": None}, names) == shown
