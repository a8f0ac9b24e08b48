import pytest
from ticdc_encoder.counted import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (25_000, "25,000 rows")]
)
def test_one_thing_is_no_plural(number: int, words: str) -> None:
    assert counted(number, "row") == words
