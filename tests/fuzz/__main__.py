"""`make fuzz ARGS="--seconds 3600"`: any length, any subject; a failing input is saved.

Guided by coverage where atheris is installed; else, and with `--blind`, by a seed alone.
"""

import argparse
import resource
import sys
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fuzz import guides  # noqa: E402
from fuzz.search import MEMORY, Kinds, tried  # noqa: E402
from fuzz.subjects import SUBJECTS, failure  # noqa: E402

SLICE = 100
"""Inputs of one subject before the next one's turn."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=...", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--seed", type=int, default=1, help="other seeds try other inputs")
    parser.add_argument("--blind", action="store_true", help="not guided by what inputs reach")
    parser.add_argument("--keep", action="store_true", help="adds what reached more to the tree")
    parser.add_argument("--only", type=int, help="one input, by its number")
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"), help="for failing inputs")
    parser.add_argument("--file", type=Path, nargs="+", help="the parts of one saved input")
    arguments = parser.parse_args()
    names = arguments.subjects or [*SUBJECTS]
    if unknown := set(names) - set(SUBJECTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if not (arguments.blind or arguments.file or arguments.only is not None):
        if find_spec("atheris"):
            code = guides.search(names, arguments.seed, arguments.seconds, arguments.folder)
            if arguments.keep:
                guides.keep_found(names, arguments.folder)
            return code
        print("without atheris: not guided by coverage")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if arguments.file:
        error = failure(names[0], tuple(path.read_bytes() for path in arguments.file))
        print(repr(error))
        return 1 if error else 0
    if arguments.only is not None:
        found = tried(names[0], arguments.seed, arguments.only)
        print(found or "nothing")
        if found is not None:
            raise found.error
        return 0
    return _search(names, arguments.seed, arguments.seconds, arguments.folder)


def _search(names: list[str], seed: int, seconds: float, folder: Path) -> int:
    """The same inputs for the same seed, whatever they reach."""
    end, kinds = time.monotonic() + seconds, Kinds(folder)
    for begin in count(0, SLICE):
        for name in names:
            for number in range(begin, begin + SLICE):
                if time.monotonic() > end:
                    failed = sum(kinds.failed.values())
                    print(f"{begin:,} inputs of each subject, {failed} failed")
                    return 1 if failed else 0
                found = tried(name, seed, number)
                if found is not None:
                    kinds.add(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
