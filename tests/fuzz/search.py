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

LONGEST = 5.0
"""Seconds of processor time that one input may take."""


@dataclass(frozen=True)
class Found:
    """An input that failed; `number` and the seed make it again."""

    name: str
    seed: int
    number: int
    record: Record
    error: Exception

    def __str__(self) -> str:
        kind = type(self.error).__name__
        return f"{self.name} --seed {self.seed} --only {self.number}: {kind}: {self.error}"[:400]

    def save(self, folder: Path) -> None:
        """The parts of the input, each in a file."""
        folder.mkdir(exist_ok=True)
        for place, part in enumerate(self.record):
            if part is not None:
                (folder / f"{self.name}.{self.seed}.{self.number}.{place}").write_bytes(part)


def input_of(name: str, seed: int, number: int) -> Record:
    """The input of that number: the same in every run."""
    rng = Random(f"{name} {seed} {number}")
    corpus = subject(name).corpus
    return mutated(rng, rng.choice(corpus), corpus)


def tried(name: str, seed: int, number: int) -> Found | None:
    record = input_of(name, seed, number)
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
