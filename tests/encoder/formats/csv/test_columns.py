from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ticdc_encoder.formats.csv.columns import read_column
from ticdc_encoder.values import decimal_value, float_value, integer_value, text

READERS = [integer_value, decimal_value, float_value, text]
NUMBERS = (
    st.integers(-(1 << 65), 1 << 65).map(str)
    | st.decimals(allow_nan=False, allow_infinity=False, places=9).map(lambda d: format(d, "f"))
    | st.floats().map(repr)
    | st.text(alphabet="0123456789-+.eE_, \n\u0663N", max_size=4)
)


def one_by_one(read: Any, texts: list[str | None]) -> str:
    try:
        return repr([None if each is None else read(each) for each in texts])
    except (TypeError, ValueError):
        return "refused"


@given(st.sampled_from(READERS), st.lists(st.none() | NUMBERS, max_size=4))
def test_a_column_is_read_as_its_texts_are(read: Any, texts: list[str | None]) -> None:
    try:
        at_once = repr([*read_column(read, texts, nulls=None in texts)])
    except (ArithmeticError, TypeError, ValueError):
        at_once = "refused"
    assert at_once == one_by_one(read, texts)


COLUMNS = [
    (integer_value, ("0", "-7", "18446744073709551615"), [0, -7, 18446744073709551615]),
    (decimal_value, ("0.0000000001", "-1.50", "7"), [Decimal("1E-10"), Decimal("-1.50"), 7]),
    (float_value, ("1.5", "-0", "1e-7"), [1.5, 0.0, 1e-7]),
]


@pytest.mark.parametrize(("read", "texts", "values"), COLUMNS)
def test_a_column_of_numbers_holds_them_in_order(
    read: Any, texts: tuple[str, ...], values: list[Any]
) -> None:
    assert read_column(read, texts, nulls=False) == values
    assert read_column(read, (None, *texts, None), nulls=True) == [None, *values, None]


SPLIT = [("1,2", "3"), ("1", "", "2"), ("1,2",), ("1", "2\n"), (",", "1")]


@pytest.mark.parametrize("texts", SPLIT)
@pytest.mark.parametrize("read", READERS[:3])
def test_a_text_that_looks_like_two_is_refused(read: Any, texts: tuple[str, ...]) -> None:
    with pytest.raises((ArithmeticError, ValueError)):
        read_column(read, texts, nulls=False)
