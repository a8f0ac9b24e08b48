"""Starts the guided search for each subject, and brings what it kept into the tree."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz.corpus import keep, kept, packed, unpacked
from fuzz.mutator import Record
from fuzz.subjects import subject

PROGRAM = Path(__file__).with_name("guided.py")
MOST_KEPT = 30
"""Inputs of one subject in the tree."""
MOST_BYTES_KEPT = 300
_TRIED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_COVERED = re.compile(r"cov: (\d+)")


def search(names: Sequence[str], seed: int, seconds: float, folder: Path) -> int:
    """Each subject for its part of the time. 1 if an input failed, else 0."""
    total, failed = 0, False
    for name in names:
        run = _run(name, seed, seconds / len(names), folder)
        tried, covered = _TRIED.findall(run.stderr), _COVERED.findall(run.stderr)
        total += int(tried[-1]) if tried else 0
        print(run.stdout, end="")
        if run.returncode != 0 or not tried:
            print(run.stderr[-2000:])
        failed = failed or run.returncode != 0 or bool(run.stdout.strip())
        print(
            f"{name}: {int(tried[-1]) if tried else 0:,} inputs, "
            f"{covered[-1] if covered else 0} places reached",
            flush=True,
        )
    print(f"{total:,} inputs, {'some' if failed else 'none'} failed")
    return 1 if failed else 0


def _run(name: str, seed: int, seconds: float, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(PROGRAM), name, str(seconds), str(seed), str(folder)]
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )


def keep_found(names: Sequence[str], folder: Path) -> None:
    """Of what the search kept, short inputs of all sizes, no golden ones, into the tree."""
    for name in names:
        known = set(subject(name).corpus)
        parts = len(subject(name).corpus[0])
        files = sorted((folder / "corpus" / name).glob("*"))
        found = [*kept(name), *(unpacked(file.read_bytes(), parts) for file in files)]
        new = {each for each in found if each not in known and _size(each) <= MOST_BYTES_KEPT}
        ordered = sorted(new, key=lambda each: (_size(each), packed(each)))
        keep(name, ordered[:: -(-len(ordered) // MOST_KEPT) or 1])


def _size(record: Record) -> int:
    return len(packed(record))
