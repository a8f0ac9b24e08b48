"""`make mutants`: which of the mutants the world and the unit tests notice."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402
from world.history import Plan, Worlds, worlds  # noqa: E402
from world.invariants import MUTANTS, document  # noqa: E402
from world.mutants import Mutant, mutated  # noqa: E402
from world.others import document as bugs_document  # noqa: E402

MOST_HISTORIES = 60
DOCUMENT = ROOT.parent / "docs" / "explanation" / "invariants.md"
BUGS_DOCUMENT = DOCUMENT.with_name("bugs-of-others.md")


def seed_that_kills(place: Worlds, mutant: Mutant) -> int | None:
    """The first history that goes wrong."""
    with mutated(mutant):
        for seed in range(MOST_HISTORIES):
            if place.play(Plan.of(seed)).broken is not None:
                return seed
    return None


def _outcome(tests: Sequence[str]) -> int:
    places = [str(ROOT.parent / test) for test in tests]
    quietly = ["-q", "-x", "--no-summary", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore"]
    return int(pytest.main([*places, *quietly, f"--rootdir={ROOT.parent}"]))


def not_killed_by_tests(mutants: Sequence[Mutant]) -> list[str]:
    """The names of those that no test of theirs notices. Raises `AssertionError` if a test fails
    without any mutant."""
    assert _outcome(sorted({test for each in mutants for test in each.tests})) == 0
    alive = []
    for each in mutants:
        with mutated(each):
            if _outcome(each.tests) != int(pytest.ExitCode.TESTS_FAILED):
                alive.append(each.name)
    return alive


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument("--write", action="store_true", help="the two documents, and no mutant")
    arguments = parser.parse_args()
    if arguments.write:
        DOCUMENT.write_text(document())
        BUGS_DOCUMENT.write_text(bugs_document())
        return 0
    chosen = [each for each in MUTANTS if each.name in (arguments.names or [each.name])]
    alive = []
    if by_tests := [each for each in chosen if each.tests]:
        alive += not_killed_by_tests(by_tests)
    with worlds() as place:
        for each in chosen:
            if each.tests:
                continue
            seed = seed_that_kills(place, each)
            print(f"{each.name}: {'survives' if seed is None else f'SEED={seed}'}", flush=True)
            alive += [each.name] * (seed is None)
    print(f"{len(chosen)} mutants, {len(alive)} survive{': ' * bool(alive)}{', '.join(alive)}")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
