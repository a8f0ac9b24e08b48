from decimal import Decimal
from typing import Any

import pytest
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Table
from ticdc_encoder.formats.row_reader import RowReader
from ticdc_encoder.values import FAMILIES

TYPES = {"i": "int", "b": "bigint", "d": "decimal", "f": "double", "s": "varchar", "x": "blob"}
TABLE = Table(
    "d", "t", tuple(Column(n, ColumnType(type_)) for n, type_ in TYPES.items()), handle_key=("i",)
)
READER = RowReader(TABLE, {name: FAMILIES[type_].from_text for name, type_ in TYPES.items()})
TEXTS = {"i": "1", "b": "-9", "d": "1.50", "f": "0.5", "s": "x", "x": "\xff"}
ROW = {"i": 1, "b": -9, "d": Decimal("1.50"), "f": 0.5, "s": "x", "x": b"\xff"}

VALUES = [
    ("b", "18446744073709551615", 18446744073709551615),
    ("b", "-9223372036854775808", -9223372036854775808),
    ("b", "999999999999999999", 999999999999999999),
    ("b", "0", 0),
    ("b", None, None),
    ("d", "0.0000000001", Decimal("1E-10")),
    ("d", "-0", Decimal("-0")),
    ("d", "007.50", Decimal("7.50")),
    ("d", None, None),
    ("f", "-0", -0.0),
    ("f", "1e-7", 1e-7),
    ("s", "", ""),
    ("s", None, None),
    ("x", "", b""),
]


def read(
    before: dict[str, Any] | None, after: dict[str, Any] | None
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    READER.read(before, after, 5)
    return before, after


@pytest.mark.parametrize(("name", "text", "value"), VALUES)
def test_a_value_is_the_same_in_every_place(name: str, text: str | None, value: Any) -> None:
    one, other = TEXTS | {name: text}, ROW | {name: value}
    assert repr(read(None, {**one})) == repr((None, other))
    assert repr(read({**one}, None)) == repr((other, None))
    assert repr(read({**one}, {**one})) == repr((other, other))
    assert repr(read({**one}, {**TEXTS})) == repr((other, ROW))
    assert repr(read({**TEXTS}, {**one})) == repr((ROW, other))
    assert repr(read({name: text}, {**TEXTS})) == repr(({name: value}, ROW))


WRONG: list[tuple[str, Any, str]] = [
    ("i", None, "key column `i` of d.t is null"),
    ("i", "x", "column `i` of d.t: not the digits of an integer"),
    ("i", 1, "column `i` of d.t: not text"),
    ("b", "+1", "column `b` of d.t: not the digits of an integer"),
    ("b", "-0", "column `b` of d.t: not the digits of an integer"),
    ("b", "01", "column `b` of d.t: not the digits of an integer"),
    ("b", "1_0", "column `b` of d.t: not the digits of an integer"),
    ("b", "\u0663", "column `b` of d.t: not the digits of an integer"),
    ("b", "1.0", "column `b` of d.t: not the digits of an integer"),
    ("b", "18446744073709551616", "column `b` of d.t: not an integer of at most 64 bits"),
    ("b", True, "column `b` of d.t: not text"),
    ("d", "1E+5", "column `d` of d.t: not a decimal number"),
    ("d", "NaN", "column `d` of d.t: not a decimal number"),
    ("d", "-Infinity", "column `d` of d.t: not a decimal number"),
    ("d", ".5", "column `d` of d.t: not a decimal number"),
    ("d", "\u0663", "column `d` of d.t: not a decimal number"),
    ("d", "x", "column `d` of d.t: not a decimal number"),
    ("d", 1.5, "column `d` of d.t: not text"),
    ("f", "inf", "column `f` of d.t: not a number"),
    ("f", "1e999", "column `f` of d.t: not a finite float"),
    ("f", 0.5, "column `f` of d.t: not text"),
    ("s", 5, "column `s` of d.t: not text"),
    ("s", {}, "column `s` of d.t: not text"),
    ("x", "\u0100", "column `x` of d.t: bytes with a character above U+00FF"),
]


@pytest.mark.parametrize(("name", "text", "message"), WRONG)
def test_a_wrong_value_is_named_in_every_place(name: str, text: Any, message: str) -> None:
    wrong = TEXTS | {name: text}
    for before, after in (
        (None, {**wrong}),
        ({**wrong}, None),
        ({**wrong}, {**wrong}),
        ({**wrong}, {**TEXTS}),
        ({**TEXTS}, {**wrong}),
        ({name: text}, {**TEXTS}),
    ):
        with pytest.raises(WireError) as raised:
            READER.read(before, after, 5)
        assert str(raised.value) == message
        assert (raised.value.table, raised.value.commit_ts) == (("d", "t"), 5)


def test_a_column_that_the_table_has_not_is_named() -> None:
    strange = {"z" if name == "s" else name: text for name, text in TEXTS.items()}
    for before, after in (
        (None, {**strange}),
        ({**strange}, {**TEXTS}),
        ({**TEXTS}, {**strange}),
        (None, {**TEXTS, "z": "1"}),
        (None, {**TEXTS, "z": None}),
        ({"z": None}, {**TEXTS}),
    ):
        with pytest.raises(WireError, match=r"^column `z` of d\.t is unknown$"):
            READER.read(before, after, 5)


def test_numbers_of_json_are_not_each_others() -> None:
    numbers = RowReader(TABLE, {"i": FAMILIES["varchar"].from_text, "f": _name_of_type})
    before: dict[str, Any] = {"i": "1", "f": True}
    after: dict[str, Any] = {"i": "1", "f": 1}
    numbers.read(before, after, 5)
    assert (before["f"], after["f"]) == ("bool", "int")


def _name_of_type(value: Any) -> str:
    return type(value).__name__
