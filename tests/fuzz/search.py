"""Looks for inputs that raise what is no error of ours, or take too long."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType

from fuzz.mutator import Record, mutated
from fuzz.subjects import failure, subject

MEMORY = 4 << 30
"""Bytes of address space: more than any input of a few kilobytes may ask for."""
LONGEST = 5.0
"""Seconds of processor time that one input may take."""


@dataclass(frozen=True)
class Found:
    """An input that failed. `number` and the seed make it again, or without a seed its files."""

    name: str
    seed: int | None
    number: int
    record: Record
    error: Exception

    def __str__(self) -> str:
        again = f"--file {self._file('*')}" if self.seed is None else self._by_seed
        return f"{self.name} {again}: {type(self.error).__name__}: {self.error}"[:400]

    @property
    def _by_seed(self) -> str:
        return f"--seed {self.seed} --only {self.number}"

    def _file(self, place: object) -> str:
        return f"{self.name}.{self.seed or 0}.{self.number}.{place}"

    def save(self, folder: Path) -> None:
        """The parts of the input, each in a file."""
        folder.mkdir(exist_ok=True)
        for place, part in enumerate(self.record):
            if part is not None:
                (folder / self._file(place)).write_bytes(part)


class Kinds:
    """Failing inputs by where they fail; the first of each kind is printed and saved."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.failed = dict[str, int]()

    def add(self, found: Found) -> None:
        trace = found.error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
        kind = f"{found.name} {type(found.error).__name__} {where}"
        self.failed[kind] = self.failed.get(kind, 0) + 1
        if self.failed[kind] == 1:
            print(f"{found}\n  {where}", flush=True)
            found.save(self._folder)


def input_of(name: str, seed: int, number: int) -> Record:
    """The input of that number: the same in every run."""
    rng = Random(f"{name} {seed} {number}")
    corpus = subject(name).corpus
    return mutated(rng, rng.choice(corpus), corpus)


def tried(name: str, seed: int, number: int) -> Found | None:
    return judged(name, input_of(name, seed, number), number, seed)


def judged(name: str, record: Record, number: int, seed: int | None = None) -> Found | None:
    """What this input fails with, or that it takes too long."""
    try:
        with _limited():
            error = failure(name, record)
    except TimeoutError as late:
        error = late
    return None if error is None else Found(name, seed, number, record, error)


@contextmanager
def _limited() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        # Not from inside the code under test, which may take any Exception for its own.
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    try:
        yield
    except KeyboardInterrupt:
        raise TimeoutError(f"it takes more than {LONGEST:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
