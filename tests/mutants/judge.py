"""Runs the tests that reach a function, and then histories of the world, on each of its changes."""

import multiprocessing
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from mutants.operators import Change, apply
from world.history import Plan, worlds

HISTORIES = 40
MOST_CPU = 60
"""Seconds of the processor that a change may take; one that goes on for ever is noticed by it."""
LONGEST = 900.0


class Judge:
    """A plugin of pytest: in place of the run of the tests, a run of each change.

    The tests run once without a change, to see which functions each of them calls.
    """

    def __init__(self, changes: Sequence[Change], end: float) -> None:
        self.changes = changes
        self.end = end
        self.tried = 0
        self.alive: list[str] = []
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        return "", "", ""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        reach = self._reach(session.items)
        for change in self.changes:
            if time.monotonic() > self.end:
                break
            self.tried += 1
            items = reach[change.module, change.function]
            if self._survives(change, items):
                self.alive.append(change.name)
                print(f"\nsurvives {len(items)} tests: {change.name}", flush=True)
        return True

    def _reach(self, items: Sequence[pytest.Item]) -> dict[tuple[str, str], list[pytest.Item]]:
        """By module and function, the tests that call it, the quickest first."""
        found = defaultdict[tuple[str, str], list[tuple[float, int]]](list)
        modules = {change.module for change in self.changes}
        files = {sys.modules[name].__file__ or "": name for name in modules}
        for number, item in enumerate(items):
            begin = time.process_time()
            with _calls(files) as called:
                if not self._passes([item]):
                    raise pytest.UsageError(f"{item.nodeid} fails without any change")
            for place in called:
                found[place].append((time.process_time() - begin, number))
        return defaultdict(
            list, {place: [items[n] for _, n in sorted(of)] for place, of in found.items()}
        )

    def _passes(self, items: Sequence[pytest.Item]) -> bool:
        self._failed = False
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                return False
        return True

    def _survives(self, change: Change, items: Sequence[pytest.Item]) -> bool:
        return _says_so(change, lambda: self._passes(items)) and _says_so(change, _histories)


@contextmanager
def _calls(files: dict[str, str]) -> Iterator[set[tuple[str, str]]]:
    """The functions of these files that are called meanwhile, as module and name."""
    called = set[tuple[str, str]]()

    def see(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_filename in files:
            called.add((files[code.co_filename], code.co_qualname.split(".<locals>")[0]))

    sys.settrace(see)
    try:
        yield called
    finally:
        sys.settrace(None)


def _histories() -> bool:
    with worlds() as place:
        return all(place.play(Plan.of(seed)).broken is None for seed in range(HISTORIES))


def _says_so(change: Change, judge: Callable[[], bool]) -> bool:
    """What it says in a process of its own, in which the change is made."""

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU))
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        apply(change)
        os._exit(0 if judge() else 1)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(LONGEST)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0
