"""One scheduler for all that happens: who goes on, what fails and when, and what time it is.

Processes are threads of which one runs at a time. All of them reach the world through doors: before
a statement, a poll, a sleep. There the scheduler may let others go on, or let something fail. It
decides by its seed alone, so that the same seed gives the same history.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

BEGIN = 1_700_000_000.0
"""When every world begins, in seconds since 1970."""
MOST_DOORS = 60_000
"""A history that is not at its end after so many does not end."""
TICK = 0.002
"""Seconds that pass at each door."""


class Killed(BaseException):
    """Ends a process as kill -9 does: whatever it still asks of the world is refused."""


class Endless(AssertionError):
    """The history did not come to its end, although nothing fails any more."""


@dataclass(frozen=True, order=True)
class Fault:
    """Something that fails at the `at`-th door of a kind, counted from 1; `size` is how much."""

    door: str
    at: int
    kind: str
    size: int = 0

    def __str__(self) -> str:
        return f"{self.kind} (size {self.size}) at {self.door} {self.at}"


@dataclass(eq=False)
class Process:
    name: str
    main: Callable[[], None]
    baton: threading.Lock = field(default_factory=threading.Lock)
    wakes: float = 0.0
    dead: bool = False
    on_death: list[Callable[[], None]] = field(default_factory=list)
    work: "Work | None" = None
    """What a second thread of the process would do."""
    jobs: list[Any] = field(default_factory=list)
    """Of Spark, whose tasks run now; the last one's do."""
    thread: int | None = None


class Scheduler:
    """`actors` are what goes on beside the processes; each does one step, and says whether it has
    more to do. `handlers` are what faults do that no door's own model knows."""

    def __init__(self, rng: Random, faults: Iterable[Fault], words: bool = False) -> None:
        self.rng = rng
        self.now = BEGIN
        self.jump = 0.0
        """What the wall clock is wrong by."""
        self.doors: Counter[str] = Counter()
        self.fired: list[Fault] = []
        self.words: list[str] | None = [] if words else None
        self.actor: Callable[[], bool] = lambda: False
        self.handlers: dict[str, Callable[[Fault], None]] = {}
        self.heard: Callable[[Fault], object] = lambda fault: None
        """Is told of each fault before it does what it does."""
        self.current: Process | None = None
        self.processes: list[Process] = []
        self.pace = rng.choice([0.02, 0.1, 0.4])
        """How probable a step of the actor is at each door."""
        self.switching = rng.choice([0.02, 0.1, 0.5])
        self._due: dict[tuple[str, int], list[Fault]] = {}
        for fault in faults:
            self._due.setdefault((fault.door, fault.at), []).append(fault)
        self._main = threading.Lock()
        self._main.acquire()
        self._until: Callable[[], bool] = lambda: False
        self._error: BaseException | None = None
        self._is_over = False

    def say(self, text: str) -> None:
        """A line of the history in words."""
        if self.words is not None:
            who = self.current.name if self.current else "-"
            self.words.append(f"{self.now - BEGIN:8.3f} {who:10} {text}")

    # --- doors --------------------------------------------------------------------------------

    def door(self, kind: str) -> list[Fault]:
        """What fails here, of the kinds that no handler has."""
        process = self.current
        if process is None:
            return []
        self._live(process)
        self.now += TICK
        if self.rng.random() < self.pace:
            self.actor()
        if len(self.processes) > 1 and self.rng.random() < self.switching:
            self._leave(process)
        if process.work is not None and self.rng.random() < self.switching:
            work, process.work = process.work, None
            work.run()
        faults = self.passed(kind)
        self._live(process)
        return faults

    def passed(self, kind: str) -> list[Fault]:
        """Counts a door; what fails at it, of the kinds that no handler has."""
        self.doors[kind] += 1
        due = self._due.pop((kind, self.doors[kind]), None)
        if due is None:
            return []
        left = []
        for fault in due:
            self.fired.append(fault)
            self.say(f"** {fault}")
            self.heard(fault)
            handler = self.handlers.get(fault.kind)
            if handler is None:
                left.append(fault)
            else:
                handler(fault)
        return left

    def sleep(self, seconds: float) -> None:
        process = self.current
        if process is None:
            return
        self._live(process)
        process.wakes = self.now + max(seconds, TICK)
        self._leave(process)
        self.passed("sleep")
        self._live(process)

    def _live(self, process: Process) -> None:
        self.doors["all"] += 1
        if process.dead:
            raise Killed(process.name)
        if self.doors["all"] > MOST_DOORS:
            raise Endless(f"no end after {MOST_DOORS} doors")

    # --- processes ----------------------------------------------------------------------------

    def is_here(self) -> bool:
        """Whether the process that runs is the one that asks. Other threads are not the world's: a
        library has threads of its own."""
        return self.current is not None and self.current.thread == threading.get_ident()

    def start(self, name: str, main: Callable[[], None], after: float = 0.0) -> Process:
        process = Process(name, main, wakes=self.now + after)
        process.baton.acquire()
        self.processes.append(process)
        threading.Thread(target=self._run, args=(process,), daemon=True, name=name).start()
        return process

    def kill(self, process: Process) -> None:
        """It does nothing from here on."""
        self.say(f"{process.name} is killed")
        process.dead, process.wakes = True, self.now
        for work in process.on_death:
            work()

    def go(self, until: Callable[[], bool]) -> None:
        """Runs all processes until none is left, or `until`; then ends those that are left. Raises
        what a process, the actor or `until` raised."""
        self._until = until
        try:
            if (first := self._chosen()) is not None:
                self._resume(first)
            if self._error is not None:
                raise self._error
        finally:
            self._is_over = True
            for process in list(self.processes):
                process.dead = True
            while self.processes:
                self._resume(self.processes[0])

    def _chosen(self) -> Process | None:
        """Who goes on now, None if it is over. It is the process that leaves who looks: it goes on
        itself, or hands over, without a thread between the two."""
        self.current = None
        try:
            while not self._is_over and self._error is None:
                if not self.processes or self._until():
                    break
                awake = [process for process in self.processes if process.wakes <= self.now]
                if awake:
                    chosen = awake[0] if len(awake) == 1 else self.rng.choice(awake)
                    self.current = chosen
                    return chosen
                nearest = min(process.wakes for process in self.processes)
                # Whoever sleeps may wake up late.
                self.now = nearest + self.rng.choice([0, 0, 0.01, 0.1])
                self.actor()
        except BaseException as error:  # noqa: BLE001 - raised by `go`
            self._error = error
        return None

    def _resume(self, process: Process) -> None:
        """Returns when it is over, or, at the end, when the process has ended."""
        self.current = process
        process.baton.release()
        self._main.acquire()
        self.current = None

    def _leave(self, process: Process) -> None:
        chosen = self._chosen()
        if chosen is process:
            return
        (self._main if chosen is None else chosen.baton).release()
        process.baton.acquire()

    def _run(self, process: Process) -> None:
        process.thread = threading.get_ident()
        process.baton.acquire()
        try:
            if not process.dead:
                process.main()
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - raised by `go`
            # What a process does once it is killed concerns nobody.
            if not process.dead:
                self._error = error
        self.processes.remove(process)
        chosen = self._chosen()
        (self._main if chosen is None else chosen.baton).release()


class Work:
    """Stands for a `Future` of a thread that the scheduler runs at some door of its process, or at
    the latest when its result is asked for."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work: Callable[[], object] | None = work
        self._result: object = None
        self._error: Exception | None = None

    def run(self) -> None:
        work, self._work = self._work, None
        if work is None:
            return
        try:
            self._result = work()
        except Exception as error:  # noqa: BLE001 - raised by `result`
            self._error = error

    def exception(self) -> Exception | None:
        self.run()
        return self._error

    def result(self) -> object:
        self.run()
        if self._error is not None:
            raise self._error
        return self._result


class Threads:
    """Stands for a pool of one thread."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._process = scheduler.current

    def submit(self, work: Callable[..., object], *arguments: object) -> Work:
        future = Work(lambda: work(*arguments))
        if self._process is not None:
            self._process.work = future
        return future

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        if self._process is not None:
            self._process.work = None


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings that a consumer logs."""
    import logging

    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
