import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import scenario
from ticdc_encoder.errors import WireError
from ticdc_encoder.formats.compression import Compression, deflate, inflate

CODECS: list[Compression] = ["lz4", "snappy"]


@given(st.binary(max_size=300_000), st.sampled_from(["none", *CODECS]))
def test_what_was_deflated_inflates(plain: bytes, codec: Compression) -> None:
    assert inflate(deflate(plain, codec), codec, len(plain)) == plain


@pytest.mark.parametrize("codec", CODECS)
def test_ticdcs_compressed_values_inflate_to_the_plain_ones(codec: Compression) -> None:
    sent = scenario("large").variants[f"canal-json.claim-check-{codec}"].records
    values = [inflate(record.value or b"", codec, 1 << 20) for record in sent]
    assert values
    assert all(value.startswith(b'{"id":0,') and value.endswith(b"}") for value in values)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 65536, 200_000, 50_000_000])
def test_a_value_beyond_the_limit_is_refused(codec: Compression, size: int) -> None:
    bomb = deflate(bytes(size), codec)
    with pytest.raises(WireError) as raised:
        inflate(bomb, codec, size - 1)
    assert str(raised.value) == f"the compressed value inflates to more than {size - 1} bytes"


MALFORMED: list[tuple[str, Compression, bytes, str]] = [
    ("plain JSON", "lz4", b'{"id":0}', "the value is not an LZ4 frame"),
    ("plain JSON", "snappy", b'{"id":0}', "the value is not a Snappy block"),
    ("cut off", "lz4", deflate(b"abc" * 99, "lz4")[:-3], "the value is not an LZ4 frame"),
    ("cut off", "snappy", deflate(b"abc" * 99, "snappy")[:-3], "the value is not a Snappy block"),
    ("bytes left", "lz4", deflate(b"abc", "lz4") + b"abc", "the value is not an LZ4 frame"),
    ("bytes left", "snappy", deflate(b"abc", "snappy") + b"a", "the value is not a Snappy block"),
    ("the other codec", "lz4", deflate(b"abc", "snappy"), "the value is not an LZ4 frame"),
    ("nothing", "snappy", b"", "the value is not a Snappy block"),
    ("nothing", "lz4", b"", "the value is not an LZ4 frame"),
    ("an endless length", "snappy", b"\xff" * 9, "inflates to more than"),
]


@pytest.mark.parametrize(
    ("codec", "value", "message"), [c[1:] for c in MALFORMED], ids=[c[0] for c in MALFORMED]
)
def test_malformed_values_are_refused(codec: Compression, value: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message):
        inflate(value, codec, 1 << 30)


@pytest.mark.parametrize("codec", CODECS)
def test_every_cut_of_a_value_is_refused(codec: Compression) -> None:
    whole = scenario("large").variants[f"canal-json.claim-check-{codec}"].records[0].value or b""
    assert inflate(whole, codec, 1 << 20)
    for end in range(len(whole)):
        with pytest.raises(WireError):
            inflate(whole[:end], codec, 1 << 20)


@given(st.binary(max_size=200), st.sampled_from(CODECS))
def test_any_bytes_inflate_or_are_refused(value: bytes, codec: Compression) -> None:
    try:
        assert len(inflate(value, codec, 1000)) <= 1000
    except WireError as error:
        assert "value" in str(error)
