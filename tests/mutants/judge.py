"""Runs the tests that reach a function, and then histories of the world, on each of its changes."""

import multiprocessing
import os
import signal
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
BROKERED = ("consumer/source/kafka/test_scout.py", "consumer/source/kafka/test_survey.py")
"""Their broker is in this process."""
KILLED = "consumer/cut/apply/"
"""With SQLite."""
NOTICED = 7
"""How a process ends in which a test failed."""
ENDLESS = -signal.SIGKILL


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
        """Changes that were noticed because something took five times as long, and more."""
        self.odd: list[str] = []
        """Those whose process ended in another way, by exit code: to be looked at."""
        self.alive: list[str] = []
        self._failed = False
        self._costs: dict[pytest.Item, Cost] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str]:
        return "", "", ""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Some that the fast lane leaves out take part."""
        slower = [item for item in items if _is_slower(item)]
        yield
        items += slower

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        begin = Cost.now()
        reach = self._reach(session.items)
        if _exit_code(lambda: self._passes([i for i in session.items if _is_slower(i)])) != 0:
            raise pytest.UsageError("a test fails in a fork without any change")
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
    def _of_histories(self) -> float:
        begin = time.monotonic()
        if not self._plays():
            raise pytest.UsageError("a history goes wrong without any change")
        return time.monotonic() - begin

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
        for item, after in zip(items, [*items[1:], None], strict=False):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed:
                return False
        return True

    def _plays(self) -> bool:
        with worlds() as place:
            return all(place.play(Plan.of(n)).broken is None for n in range(self.histories))

    def _survives(self, change: Change, items: Sequence[pytest.Item]) -> bool:
        wall = sum(self._costs[item].wall for item in items)
        return self._says_so(change, lambda: self._passes(items), wall) and self._says_so(
            change, self._plays, self._of_histories
        )

    def _says_so(self, change: Change, passes: Callable[[], bool], wall: float) -> bool:
        with applied(change.module, {change.function: change.code()}):
            code = _exit_code(passes, 30 + 5 * wall)
        if code not in (0, NOTICED, ENDLESS):
            self.odd.append(f"{change.name}: {code}")
        self.endless += code == ENDLESS
        return code == 0


def _is_slower(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    with_sqlite = "[sqlite" in item.nodeid or "sqlite_url" in fixtures
    brokered = any(path in item.nodeid for path in BROKERED)
    return brokered or (KILLED in item.nodeid and with_sqlite)


@contextmanager
def _reached(modules: set[str]) -> Iterator[set[tuple[str, str]]]:
    """The functions of these modules that are called, as module and name."""
    called = set[tuple[str, str]]()
    with ExitStack() as stack:
        for module in modules:
            setattr(import_module(module), PROBE, lambda name, of=module: called.add((of, name)))
            stack.enter_context(applied(module, probes(module, PROBE)))
        yield called


def _exit_code(passes: Callable[[], bool], most: float = 900) -> int | None:
    """That of a process of its own, which has so many seconds."""

    def run() -> None:
        with Path(os.devnull).open("w") as nothing:
            os.dup2(nothing.fileno(), 1)
            os.dup2(nothing.fileno(), 2)
        os._exit(0 if passes() else NOTICED)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(most)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode
