"""`make fuzz ARGS="--seconds 3600"`: any length, any subject; a failing input is saved."""

import argparse
import resource
import sys
import time
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from fuzz.search import tried  # noqa: E402
from fuzz.subjects import SUBJECTS, failure  # noqa: E402

MEMORY = 4 << 30
"""Bytes of address space: more than any input of a few kilobytes may ask for."""
SLICE = 100
"""Inputs of one subject before the next one's turn."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz ARGS=...", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(SUBJECTS))
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--seed", type=int, default=1, help="other seeds try other inputs")
    parser.add_argument("--only", type=int, help="one input, by its number")
    parser.add_argument("--folder", type=Path, default=Path(".fuzz"), help="for failing inputs")
    parser.add_argument("--file", type=Path, nargs="+", help="the parts of one saved input")
    arguments = parser.parse_args()
    names = arguments.subjects or [*SUBJECTS]
    if unknown := set(names) - set(SUBJECTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
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
    end, kinds = time.monotonic() + seconds, dict[str, int]()
    for begin in count(0, SLICE):
        for name in names:
            for number in range(begin, begin + SLICE):
                if time.monotonic() > end:
                    print(f"{begin:,} inputs of each subject, {sum(kinds.values())} failed")
                    return 1 if kinds else 0
                found = tried(name, seed, number)
                if found is None:
                    continue
                trace = found.error.__traceback__
                while trace is not None and trace.tb_next is not None:
                    trace = trace.tb_next
                where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
                kind = f"{name} {type(found.error).__name__} {where}"
                kinds[kind] = kinds.get(kind, 0) + 1
                if kinds[kind] == 1:  # the first of its kind
                    print(f"{found}\n  {where}", flush=True)
                    found.save(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
