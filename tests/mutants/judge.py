"""Runs the tests that reach a function, and then histories of the world, on each of its changes."""

import multiprocessing
import os
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path

import pytest
from mutants.operators import Change, applied, probes
from world.history import Plan, worlds

PROBE = "__reached__"
NOTICED = 7
"""How a process ends in which a test failed."""


@dataclass(frozen=True)
class Cost:
    """Seconds by the processor and by the clock."""

    cpu: float
    wall: float

    @classmethod
    def now(cls) -> "Cost":
        return cls(time.process_time(), time.monotonic())

    def since(self, begin: "Cost") -> "Cost":
        return Cost(self.cpu - begin.cpu, self.wall - begin.wall)


class Judge:
    """A plugin of pytest: in place of the run of the tests, a run of each change.

    The tests run once without a change, to see which functions each of them calls.
    """

    def __init__(self, changes: Sequence[Change], end: float, histories: int) -> None:
        self.changes = changes
        self.end = end
        self.histories = histories
        self.tried = 0
        self.endless = 0
        """Changes that were noticed because something took five times as long, and a minute."""
        self.alive: list[str] = []
        self._failed = False
        self._costs: dict[pytest.Item, Cost] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        return "", "", ""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        begin = Cost.now()
        reach = self._reach(session.items)
        spent = Cost.now().since(begin)
        print(f"{len(self._costs)} tests, {spent.cpu:.0f} s of CPU without a change", flush=True)
        for change in self.changes:
            if time.monotonic() > self.end:
                break
            self.tried += 1
            items = reach[change.module, change.function]
            if self._survives(change, items):
                self.alive.append(change.name)
                print(f"survives {len(items)} tests: {change.name}", flush=True)
        return True

    @cached_property
    def _of_histories(self) -> Cost:
        begin = Cost.now()
        if not self._plays():
            raise pytest.UsageError("a history goes wrong without any change")
        return Cost.now().since(begin)

    def _reach(self, items: Sequence[pytest.Item]) -> dict[tuple[str, str], list[pytest.Item]]:
        """By module and function, the tests that call it, the quickest first."""
        found = defaultdict[tuple[str, str], list[pytest.Item]](list)
        with _reached({change.module for change in self.changes}) as reached:
            for item in items:
                reached.clear()
                begin = Cost.now()
                if not self._passes([item]):
                    raise pytest.UsageError(f"{item.nodeid} fails without any change")
                self._costs[item] = Cost.now().since(begin)
                for place in reached:
                    found[place].append(item)
        for reaching in found.values():
            reaching.sort(key=lambda item: self._costs[item].cpu)
        return found

    def _passes(self, items: Sequence[pytest.Item]) -> bool:
        self._failed = False
        for item, after in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                return False
        return True

    def _plays(self) -> bool:
        with worlds() as place:
            return all(place.play(Plan.of(n)).broken is None for n in range(self.histories))

    def _survives(self, change: Change, items: Sequence[pytest.Item]) -> bool:
        costs = [self._costs[item] for item in items]
        of_tests = Cost(sum(each.cpu for each in costs), sum(each.wall for each in costs))
        return self._says_so(change, lambda: self._passes(items), of_tests) and (
            self._says_so(change, self._plays, self._of_histories)
        )

    def _says_so(self, change: Change, passes: Callable[[], bool], cost: Cost) -> bool:
        with applied(change.module, {change.function: change.code()}):
            code = _exit_code(passes, cost)
        self.endless += code not in (0, NOTICED)
        return code == 0


@contextmanager
def _reached(modules: set[str]) -> Iterator[set[tuple[str, str]]]:
    """The functions of these modules that are called, as module and name."""
    called = set[tuple[str, str]]()
    with ExitStack() as stack:
        for module in modules:
            setattr(import_module(module), PROBE, lambda name, of=module: called.add((of, name)))
            stack.enter_context(applied(module, probes(module, PROBE)))
        yield called


def _exit_code(passes: Callable[[], bool], cost: Cost) -> int | None:
    """That of a process of its own; another one than 0 or `NOTICED` if it does not end by itself
    in five times what it costs, and a minute."""

    def run() -> None:
        most = 60 + round(5 * cost.cpu)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        code = NOTICED
        try:
            code = 0 if passes() else NOTICED
        finally:
            os._exit(code)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(60 + 5 * cost.wall)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode
