"""The short form of `make fuzz`: the same first inputs of each subject every time."""

import pytest
from fuzz.search import input_of, tried
from fuzz.subjects import SUBJECTS

INPUTS = 250
SLOW = {"canal-json": 100, "open-protocol": 100}


@pytest.mark.parametrize("name", SUBJECTS)
def test_damaged_input_is_read_or_refused_by_an_error_of_ours(name: str, long: bool) -> None:
    inputs = 20_000 if long else SLOW.get(name, INPUTS)
    found = [one for number in range(inputs) if (one := tried(name, 1, number))]
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
