"""`make core-mutants`: small changes of the core that its tests, or the world, must notice."""

import argparse
import hashlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pytest  # noqa: E402
from mutants.core import CORE, TESTS  # noqa: E402
from mutants.equivalent import EQUIVALENT, WITH_SERVERS  # noqa: E402
from mutants.judge import Judge  # noqa: E402
from mutants.operators import Change, changes_of  # noqa: E402

SAMPLE = 300


def _order(change: Change) -> str:
    """Neither of the module nor of the place in it, and the same in every run."""
    return hashlib.sha256(change.name.encode()).hexdigest()


def chosen(names: Sequence[str], most: int) -> list[Change]:
    """Of the changes whose name holds one of `names`, so many as a sample.

    Raises `LookupError` if one that is listed as surviving is of no change any more.
    """
    every = sorted((each for module in CORE for each in changes_of(module)), key=_order)
    if stale := (EQUIVALENT.keys() | WITH_SERVERS.keys()) - {each.name for each in every}:
        raise LookupError(f"of no change any more: {', '.join(sorted(stale))}")
    return [each for each in every if any(part in each.name for part in names or [""])][:most]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make core-mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only changes whose name holds one of these")
    parser.add_argument("--of", type=int, default=SAMPLE, help="how many, chosen by their names")
    parser.add_argument("--skip", type=int, default=0, help="goes on behind so many")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="others than all of the core's")
    parser.add_argument("--histories", type=int, default=40, help="of the world, after the tests")
    parser.add_argument("--seconds", type=float, default=1e9, help="begins none after this long")
    arguments = parser.parse_args()
    sample = chosen(arguments.names, arguments.of)[arguments.skip :]
    judge = Judge(
        [each for each in sample if each.name not in EQUIVALENT | WITH_SERVERS],
        time.monotonic() + arguments.seconds,
        arguments.histories,
    )
    quietly = ["-q", "--fast", "--no-summary", "--tb=short", "-p", "no:cacheprovider"]
    tests = [str(ROOT / path) for path in arguments.tests]
    pytest.main([*tests, *quietly, f"--rootdir={ROOT.parent}"], plugins=[judge])
    names = {each.name for each in sample}
    print(
        f"{len(sample)} changes, {len(names & EQUIVALENT.keys())} of them equivalent, "
        f"{len(names & WITH_SERVERS.keys())} left to tests with servers; "
        f"{judge.tried} tried, {judge.endless} do not end, {len(judge.alive)} survive"
    )
    print("".join(f"ended oddly: {each}\n" for each in judge.odd), end="")
    return 1 if judge.alive or judge.tried < len(judge.changes) else 0


if __name__ == "__main__":
    sys.exit(main())
