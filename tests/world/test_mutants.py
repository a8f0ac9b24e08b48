"""Each rule is needed: without it the world, or the named test, goes wrong."""

import subprocess
import sys
from pathlib import Path

import pytest
from world.history import worlds
from world.invariants import MUTANTS, document
from world.killing import DOCUMENT, seed_that_kills
from world.mutants import Mutant

BY_WORLD = [each for each in MUTANTS if not each.tests]
BY_TESTS = [each for each in MUTANTS if each.tests]


@pytest.mark.longest
@pytest.mark.parametrize("mutant", BY_WORLD, ids=lambda mutant: str(mutant.name))
def test_the_world_notices_that_a_rule_is_missing(mutant: Mutant) -> None:
    with worlds() as place:
        assert seed_that_kills(place, mutant) is not None


@pytest.mark.longest
def test_the_named_tests_notice_that_a_rule_is_missing() -> None:
    # In a process of its own, in which pytest runs once for each.
    program = Path(__file__).with_name("killing.py")
    names = [each.name for each in BY_TESTS]
    run = subprocess.run(
        [sys.executable, program, *names], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{len(names)} mutants, 0 survive" in run.stdout


def test_the_document_is_what_is_tested() -> None:
    assert DOCUMENT.read_text() == document()
