import pyarrow as pa
import pytest
from ticdc_consumer.read.fast.json import has_no_control, is_usual, of_distinct


@pytest.mark.parametrize(
    ("data", "no_control", "usual"),
    [
        (b"", True, True),
        (b' "~\x7f\x80\xff', True, True),
        (b"a\\b", True, False),
        (b"a\x1f", False, False),
        (b"\0" + b"a" * 1000, False, False),
    ],
)
def test_control_characters_are_noticed_wherever_they_are(
    data: bytes, no_control: bool, usual: bool
) -> None:
    assert (has_no_control(data), is_usual(data)) == (no_control, usual)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([], []),
        ([None], [None]),
        ([1.5, None, 1.5, 1e300], ["1.5", None, "1.5", "1e+300"]),
        ([0.0, -0.0, 5e-324, -5e-324], ["0.0", "-0.0", "5e-324", "-5e-324"]),
        ([0.1, 0.30000000000000004, 0.3], ["0.1", "0.30000000000000004", "0.3"]),
    ],
)
def test_every_double_keeps_its_own_text(
    values: list[float | None], texts: list[str | None]
) -> None:
    assert of_distinct(pa.array(values, pa.float64()), repr).to_pylist() == texts
