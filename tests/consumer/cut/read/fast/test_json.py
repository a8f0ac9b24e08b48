import pyarrow as pa
import pytest
from support.both_paths import matching
from ticdc_consumer.cut.read.fast.json import CHARACTERS, STRING, Form, of_distinct

PATTERN = rb'\{"k":"(?P<new0>%b)","v":(?P<row>"%b")\}' % (CHARACTERS, STRING)


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize(
    ("messages", "rows"),
    [
        ([b'{"k":"1","v":"a"}'], [(b"1", b'"a"')]),
        ([b'{"k":"1","v":"a"}', b'{"k":"2","v":"b"}'], [(b"1", b'"a"'), (b"2", b'"b"')]),
        (
            [b'{"k":"1","v":"\\n"}', b'{"k":"2","v":"b"}', b'{"k":"3","v":"\\""}'],
            [(b"1", rb'"\n"'), (b"2", b'"b"'), (b"3", rb'"\""')],
        ),
        ([b'{"k":"1","v":"a"}', b'{"k":"2","v":"b"} '], None),
        ([b' {"k":"1","v":"a"}', b'{"k":"2","v":"b"}'], None),
        ([b'{"k":"1","v":"a"}', b""], None),
        ([b'{"k":"1","v":"a', b'b"}'], None),
        ([b'{"k":"1","v":"a', b'b"}', b'{"k":"2","v":"b"}'], None),
        ([b'{"k":"1","v":"a"}{"k":"2","v":"b"}'], None),
        ([b'{"k":"1","v":"a"}\n{"k":"2","v":"b"}'], None),
        ([b'{"k":"1","v":"a"}\n{"k":"2","v":"b"}', b""], None),
        ([b'{"k":"1","v":"a\nb"}'], None),
        ([b'{"k":"1","v":"\0"}', b'{"k":"2","v":"b"}'], None),
        ([b'{"k":"1","v":"a"}', b'{"k":"2","v":"\x1f"}'], None),
        ([b'{"k":"1","v":"\\x"}', b'{"k":"2","v":"b"}'], None),
        ([b'{"k":"\\n","v":"a"}', b'{"k":"2","v":"b"}'], None),
        ([b'{"k":"1","v":"\xff"}'], None),
        ([b'{"k":"1","v":"a"}', b'{"k":"2","v":"\xc3"}'], None),
        ([b'{"k":"1","v":"\xc3\xa9"}'], [(b"1", b'"\xc3\xa9"')]),
        ([b'{"k":"1","v":"\x7f"}'], [(b"1", b'"\x7f"')]),
    ],
)
def test_messages_match_together_as_each_matches_alone(
    messages: list[bytes],
    rows: list[tuple[bytes, bytes]] | None,
    one_by_one: bool,
    optional: bool,
) -> None:
    with matching(one_by_one):
        assert Form(PATTERN, 0, optional).match_all(messages) == rows
        skipping = Form(PATTERN, 0, optional, skip=2).match_all([b'"{' + each for each in messages])
        assert skipping == rows


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
