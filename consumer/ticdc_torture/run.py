"""A run: the log goes to Kafka, the consumer is disturbed, an observer looks at the target."""

import shlex
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import SEEK_END
from pathlib import Path
from random import Random
from threading import Event, Lock, Thread
from typing import IO

from sqlalchemy.exc import SQLAlchemyError
from ticdc_encoder.errors import ConfigError

from ticdc_torture.history import History, HistoryPlan, Step
from ticdc_torture.judge import Judge, Verdict
from ticdc_torture.kafka import Kafka, brokers
from ticdc_torture.process import ConsumerProcess
from ticdc_torture.target import ObservedTarget, ResolvedTs
from ticdc_torture.upstream import NAMES

BURST = 12
"""Messages that are sent at once, at most."""
BETWEEN_LOOKS = 0.02
MOST_WAITING = 10.0
"""Longest wait, in seconds, of a disturbance for a change by the consumer."""
MOST_ENDS = 5
"""Times in a row that the consumer may end by itself without having changed anything."""
LAST_WORDS = 4000
"""Bytes of the consumer's output that a report shows."""
STOPPING = 20.0
"""Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Settings of a run, besides its history: numbers of disturbances of each kind; `pace` in
    seconds after each burst of messages, `patience` without a change of the target; `calm` is how
    long the end must last."""

    consumer: str
    target: str
    bootstrap: str | None = None
    kills: int = 3
    pauses: int = 1
    restarts: int = 1
    overtakes: int = 0
    outages: int = 1
    keyed: bool = True
    resolved_ts: ResolvedTs = field(default_factory=ResolvedTs)
    pace: float = 0.02
    patience: float = 60.0
    calm: float = 2.0
    output: Path | None = None


@dataclass
class Result:
    """Result of a run."""

    verdict: Verdict
    events: list[str] = field(default_factory=list)
    """Disturbances, and the consumer's own actions, with the seconds since the start."""
    output: str = ""
    """Last output of the consumer."""


def run(plan: HistoryPlan, settings: RunSettings) -> Result:
    """Plays one history. Raises ConfigError for settings that cannot be, ProduceError if Kafka
    cannot be reached."""
    history = History(plan)
    judge = Judge(history.states())
    if settings.bootstrap is not None and settings.outages:
        raise ConfigError("a broker goes away only of the mock Kafka: --outages 0")
    target = ObservedTarget(settings.target, plan.schema, NAMES, settings.resolved_ts)
    try:
        target.create(history.definitions, settings.keyed)
        with brokers(settings.bootstrap) as kafka, _output(settings) as output:
            command = _command(settings, kafka.bootstrap, history.topics)
            return _Run(history, settings, judge, target, kafka, command, output).go()
    except SQLAlchemyError as error:
        raise ConfigError(f"--target: {error}") from error
    finally:
        target.close()


def _command(settings: RunSettings, bootstrap: str, topics: Sequence[str]) -> list[str]:
    values = {"bootstrap": bootstrap, "topics": ",".join(topics), "target": settings.target}
    words = shlex.split(settings.consumer)
    for name, value in values.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return words


@contextmanager
def _output(settings: RunSettings) -> Iterator[IO[bytes]]:
    file = settings.output
    with tempfile.TemporaryFile() if file is None else file.open("w+b") as output:
        yield output


class _Run:
    def __init__(
        self,
        history: History,
        settings: RunSettings,
        judge: Judge,
        target: ObservedTarget,
        kafka: Kafka,
        command: list[str],
        output: IO[bytes],
    ) -> None:
        self._history, self._settings, self._judge = history, settings, judge
        self._kafka, self._command, self._output = kafka, command, output
        self._random = Random(f"{history.plan.seed} disturbances")
        self._begin = time.monotonic()
        self._result = Result(judge.verdict)
        self._observer = _Observer(target, judge)
        self._process: ConsumerProcess | None = None
        self._ends = 0
        self._changes_at_end = 0

    def go(self) -> Result:
        with self._observer:
            try:
                self._start()
                self._disturbed()
                self._await_the_end()
                if self._judge.is_over:
                    self._restarted()
            finally:
                self._end()
                self._result.output = self._last_words()
        self._judge.judge_the_end()
        return self._result

    def _last_words(self) -> str:
        end = self._output.seek(0, SEEK_END)
        self._output.seek(max(0, end - LAST_WORDS))
        return self._output.read().decode(errors="replace")

    # --- the consumer ---------------------------------------------------------------------------

    def _note(self, words: str) -> None:
        self._result.events.append(f"{time.monotonic() - self._begin:.1f} s: {words}")

    def _start(self) -> None:
        self._process = ConsumerProcess(self._command, output=self._output)

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _tend(self) -> bool:
        """Starts the consumer again if it ended by itself; False if that has become useless."""
        process = self._process
        if process is None or process.running:
            return True
        self._note(f"the consumer ended by itself, exit code {process.process.returncode}")
        progress = self._observer.changes > self._changes_at_end
        self._changes_at_end = self._observer.changes
        self._ends = 1 if progress else self._ends + 1
        if self._ends >= MOST_ENDS:
            words = f"it ended by itself {self._ends} times in a row, and changed nothing"
            self._judge.verdict.fail("alive", words)
            return False
        time.sleep(0.2 * self._ends)
        self._end()
        self._start()
        return True

    def _wait(self, seconds: float) -> None:
        """Starts the consumer again whenever it ends."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._tend():
            time.sleep(BETWEEN_LOOKS)

    def _changes(self, since: int, seconds: float) -> bool:
        """Returns whether the target has changed since then, or does so within these seconds."""
        end = time.monotonic() + seconds
        while self._observer.changes <= since:
            if time.monotonic() > end or not self._tend():
                return False
            time.sleep(BETWEEN_LOOKS)
        return True

    # --- disturbances ---------------------------------------------------------------------------

    def _disturbed(self) -> None:
        settings = self._settings
        kinds = [
            *[self._kill] * settings.kills,
            *[self._pause] * settings.pauses,
            *[self._restart] * settings.restarts,
            *[self._overtake] * settings.overtakes,
            *[self._outage] * settings.outages,
        ]
        self._random.shuffle(kinds)
        steps, done = self._history.steps, 0
        cuts = sorted(self._random.randrange(len(steps)) for _ in kinds)
        for number, (disturb, cut) in enumerate(zip(kinds, cuts, strict=True)):
            before = self._observer.changes
            self._produce(steps[done:cut])
            done = cut
            # Every third comes at some moment of a start, the others after a change.
            if number % 3:
                self._changes(before, MOST_WAITING)
            else:
                self._wait(self._random.uniform(0, 2.0))
            disturb()
        self._produce(steps[done:])

    def _produce(self, steps: Sequence[Step]) -> None:
        while steps:
            most = self._random.randint(1, BURST)
            self._kafka.take(steps[:most])
            steps = steps[most:]
            self._wait(self._settings.pace)

    def _kill(self) -> None:
        self._note("kill -9")
        self._end()
        self._start()

    def _pause(self) -> None:
        assert self._process is not None
        seconds = self._random.uniform(0.5, 3.0)
        self._note(f"paused for {seconds:.1f} s")
        self._process.pause()
        time.sleep(seconds)
        self._process.go_on()

    def _restart(self) -> None:
        assert self._process is not None
        code = self._process.stop(STOPPING)
        self._note(f"SIGTERM, it ended with {'a kill' if code is None else code}; started again")
        self._start()

    def _overtake(self) -> None:
        """Starts a second consumer while the first is paused; then both run for a while."""
        self._note("a second one overtakes it")
        first = self._process
        assert first is not None
        first.pause()
        self._start()
        self._wait(MOST_WAITING / 2)
        first.go_on()
        self._wait(2.0)
        first.kill()

    def _outage(self) -> None:
        seconds = self._random.uniform(0.5, 3.0)
        self._note(f"the broker is away for {seconds:.1f} s")
        self._kafka.away(seconds)

    # --- the end --------------------------------------------------------------------------------

    def _await_the_end(self) -> None:
        """Waits until the target equals the upstream and stays so, or nothing changes for too
        long.
        """
        self._note("all is sent")
        patience, calm = self._settings.patience, self._settings.calm
        changes = self._observer.changes
        while self._changes(changes, calm if self._observer.is_over else patience):
            changes = self._observer.changes
        if not self._observer.is_over:
            self._note(f"nothing changed for {patience:g} s")

    def _restarted(self) -> None:
        self._restart()
        before = self._judge.verdict.counts.total()
        self._wait(3 * self._settings.calm)
        if not self._observer.is_over or self._judge.verdict.counts.total() > before:
            self._judge.verdict.fail("restart", "the target changed after it was complete")
        if self._process is not None:
            self._process.stop(STOPPING)


class _Observer:
    """A thread that reads the target all the time."""

    def __init__(self, target: ObservedTarget, judge: Judge) -> None:
        self.changes = 0
        self._target, self._judge = target, judge
        self._stop, self._lock = Event(), Lock()
        self._thread = Thread(target=self._look, daemon=True)
        self._failed: BaseException | None = None

    def __enter__(self) -> "_Observer":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        self._look_once()

    @property
    def is_over(self) -> bool:
        """Returns whether the target holds the upstream's last state."""
        with self._lock:
            return self._judge.is_over

    def _look(self) -> None:
        try:
            while not self._stop.wait(BETWEEN_LOOKS):
                self._look_once()
        except (SQLAlchemyError, ConfigError) as error:
            self._failed = error

    def _look_once(self) -> None:
        look = self._target.look()
        with self._lock:
            self.changes += self._judge.seen(look)
