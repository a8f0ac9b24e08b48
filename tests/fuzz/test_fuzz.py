"""The short form of `make fuzz`: the same first inputs of each subject every time, and those of the
tree, which a long search kept."""

import pytest
from fuzz.corpus import kept, packed, unpacked
from fuzz.mutator import Record
from fuzz.search import input_of, judged, tried
from fuzz.subjects import SUBJECTS

INPUTS = 200
SLOW = {"canal-json": 80, "open-protocol": 80, "checkpoint": 60}


@pytest.mark.parametrize("name", SUBJECTS)
def test_damaged_input_is_read_or_refused_by_an_error_of_ours(name: str, long: bool) -> None:
    inputs = 20_000 if long else SLOW.get(name, INPUTS)
    found = [one for number in range(inputs) if (one := tried(name, 1, number))]
    assert [str(one) for one in found[:3]] == []


@pytest.mark.parametrize("name", SUBJECTS)
def test_what_a_search_kept_is_read_or_refused_by_our_errors(name: str) -> None:
    found = [one for number, r in enumerate(kept(name)) if (one := judged(name, r, number))]
    assert [str(one) for one in found[:3]] == []


MENDED = [
    ("open-protocol", 1, 589),
    ("open-protocol", 1, 623),
    ("canal-json", 1, 1621),
    ("expression", 2, 533),
    ("patterns", 2, 2177),
    ("csv", 2, 9402),
    ("configuration", 2, 13209),
    ("open-protocol", 11, 17332),
    ("ddl", 11, 14286),
]


@pytest.mark.parametrize(("name", "seed", "number"), MENDED)
def test_what_it_found_stays_mended(name: str, seed: int, number: int) -> None:
    assert tried(name, seed, number) is None


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_number_and_a_seed_make_an_input_again(name: str) -> None:
    assert input_of(name, 5, 7) == input_of(name, 5, 7)
    assert len({input_of(name, 5, number) for number in range(20)}) > 10


@pytest.mark.parametrize(
    ("record", "data"),
    [
        ((b"text",), b"text"),
        ((b"key", b"value"), b"\0\0\0\3keyvalue"),
        ((None, b""), b"\xff\xff\xff\xff"),
    ],
)
def test_an_input_is_one_text_for_the_guided_search(record: Record, data: bytes) -> None:
    assert packed(record) == data
    assert unpacked(data, len(record)) == record


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\x09ab", b"\xff\xff\xff\xff\xff"])
def test_any_text_is_an_input(data: bytes) -> None:
    assert len(unpacked(data, 2)) == 2
