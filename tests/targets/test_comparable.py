"""Equal values give equal texts, and others do not, however a database prints them."""

import pytest
from ticdc_consumer.targets import comparable
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.postgresql import read_back as postgresql
from ticdc_consumer.targets.sqlite import read_back as sqlite


@pytest.mark.parametrize(
    ("form", "equal", "other"),
    [
        ("number", ["1.5", "1.50", "1.500000"], ["1.51", "15", "-1.5"]),
        ("number", ["0", "-0", "0.00", "-0.000"], ["0.01"]),
        ("number", ["100", "100.0"], ["1", "10"]),
        ("double", ["0.1", "1e-1", "1E-01"], ["0.10000000000000002"]),
        ("double", ["-0", "0", "0.0"], ["5e-324"]),
        ("moment", ["2024-02-29 00:00:00.1", "2024-02-29 00:00:00.100"], ["2024-02-29 00:00:00"]),
        ("moment", ["2024-10-10"], ["2024-10-1"]),
        ("moment_or_null", ["2024-02-29 10:00:00", "2024-02-29 10:00:00.000"], ["0000-00-00"]),
        ("json", ['{"a": 1, "b": [1.50, "x"]}', '{"b":[1.5,"x"],"a":1.0}'], ['{"a": 1}', "null"]),
        ("json", ["1e2", "100", "100.0"], ['"100"', '["number", "1E+2"]']),
        ("vector", ["[1,2.5,-0.1]", "{1,2.5,-0.1}"], ["[1,2.5,0.1]", "[1,2.5]", "[]"]),
    ],
)
def test_equal_values_have_one_text(
    form: comparable.Form, equal: list[str], other: list[str]
) -> None:
    convert = comparable.CONVERTED[form]
    (text,) = {convert(value) for value in equal}
    assert [value for value in other if convert(value) == text] == []


def test_a_float_in_a_wider_column_is_its_shortest_decimal() -> None:
    assert comparable.shortest_single("0.10000000149011612") == "0.1"
    assert comparable.moment_or_null("2024-02-00") is None


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (r"\N", None),
        (r"a\tb\nc\rd", "a\tb\nc\rd"),
        (r"\\N", r"\N"),
        (r"\\\\n\\t\n", "\\\\n\\t\n"),
        (r"\b\f\v", "\b\f\v"),
        ("", ""),
    ],
)
def test_fields_of_copy_are_read(field: str, text: str | None) -> None:
    assert postgresql._field(field) == text


@pytest.mark.parametrize(
    ("codec", "value", "text"),
    [
        ("integer", 5, "5"),
        ("integer", "5", "str '5'"),
        ("integer", 5.0, "float 5.0"),
        ("number", -0.0, "0.0"),
        ("number", 1, "int 1"),
        ("quoted", "1.50", "1.50"),
        ("quoted", 1.5, "float 1.5"),
        ("quoted_number", "1e3", "1000.0"),
        ("quoted_number", "many", "str 'many'"),
        ("text:nocase", "Ab ", "Ab "),
        ("text", b"ab", "bytes b'ab'"),
        ("blob", b"\x00\xff", "00ff"),
        ("blob", "ab", "str 'ab'"),
    ],
)
def test_a_value_of_another_type_is_no_value_of_upstream(
    codec: str, value: object, text: str
) -> None:
    read = sqlite.column(TargetColumn("c", "", True), codec, '"c"')
    assert read.convert is not None
    assert read.convert(value) == text
