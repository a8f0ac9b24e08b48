"""Explains the state of a changefeed from what the target and the source show now; writes
nothing."""

import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from threading import Thread
from typing import Generic, TypeVar

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import TicdcError, visible
from ticdc_encoder.tso import duration

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import NoAnswer, fault
from ticdc_consumer.source import facts_of
from ticdc_consumer.source.facts import SourceFacts
from ticdc_consumer.status.activity.recorder import blockers_of
from ticdc_consumer.status.causes.situation import Diagnosis, Situation
from ticdc_consumer.status.causes.table import explain
from ticdc_consumer.status.reading import Status, read
from ticdc_consumer.targets import import_target, open_target
from ticdc_consumer.targets.blockers import Blocker
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import Deadline

PATIENCE = 4.0
"""Seconds that target and source may take, both at once."""
REQUEST = 2.5
"""Seconds that the source may take for one request."""

FOR_THE_LOCK = 1.5
"""Seconds, of these, to find out what blocks a target that has accepted the connection."""

T = TypeVar("T")


class _Look(Generic[T]):
    """A query that may hang, in its own thread so that it does not block the caller."""

    def __init__(self, ask: Callable[[], T], name: str) -> None:
        self._ask = ask
        self.answer: T | None = None
        self.error: TicdcError | None = None
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.answer = self._ask()
        except Exception as error:  # noqa: BLE001 - what cannot be seen is not explained by it
            self.error = fault(error)

    @property
    def pending(self) -> bool:
        return self._thread.is_alive()

    def wait(self, patience: float) -> None:
        self._thread.join(patience)


def why(options: Settings, config: str = "CONFIG") -> Diagnosis:
    """Returns the best explanation of the present state, within 5 seconds: asks the target and the
    source, and needs no running consumer. `config` is the settings file, for the commands in the
    advice."""

    sessions: list[str] = []

    def look() -> Status:
        with closing(_opened(options)) as target:
            sessions.append(target.session_id())
            return read(target, options)

    def look_at_source() -> SourceFacts:
        return facts_of(options, REQUEST)

    import_target(options.target_url)
    deadline = Deadline(PATIENCE)
    of_source, of_target = _Look(look_at_source, "ticdc-topics"), _Look(look, "ticdc-why")
    of_target.wait(PATIENCE - FOR_THE_LOCK)
    of_lock = None
    if of_target.pending and sessions:
        of_lock = _Look(lambda: _what_keeps(options, sessions[0]), "ticdc-lock")
    of_target.wait(deadline.left)
    if of_target.answer is None:
        error, seen = of_target.error, tuple[str, ...]()
        if error is None:
            error = NoAnswer(f"did not answer within {PATIENCE:g} s")
            seen = _else_known(bool(sessions), of_lock, of_source)
        return explain(Situation(now=time.time(), unreadable=error, config=config, seen=seen))
    of_source.wait(deadline.left)
    status = of_target.answer
    return explain(status.situation(config, of_source.answer, of_source.error))


def _opened(options: Settings) -> Target:
    return open_target(options.target_url, to_look=True, changefeed=options.changefeed)


def _what_keeps(options: Settings, session: str) -> tuple[Blocker, ...]:
    """The sessions that block the first query, asked for in another session."""
    with closing(_opened(options)) as target:
        return blockers_of(target, session) if session else ()


def _else_known(
    connected: bool, of_lock: _Look[tuple[Blocker, ...]] | None, of_source: _Look[SourceFacts]
) -> tuple[str, ...]:
    """Other facts about a target that does not answer."""
    lines = ["the server accepted the connection" if connected else "no connection was established"]
    for blocker in (of_lock.answer if of_lock else None) or ():
        lines += [f"the query waits for {blocker.text}", *blocker.details]
    busy, cores = os.getloadavg()[0], os.cpu_count() or 1
    if busy > 2 * cores:
        lines.append(f"this machine is busy: a load of {busy:.0f} on {counted(cores, 'core')}")
    source = of_source.answer
    if source is not None and source.newest is not None:
        age = duration(max(0.0, time.time() - source.newest))
        lines.append(f"the topics answer: their newest message is {age} old")
    elif of_source.error is not None:
        lines.append(f"nor are the topics known: {of_source.error}")
    return tuple(lines)


def why_to_text(diagnosis: Diagnosis) -> str:
    """Text for people."""
    lines = [diagnosis.sentence]
    lines += [f"  seen  {line}" for line in diagnosis.evidence]
    lines += [f"  do    {line}" for line in diagnosis.advice]
    return "\n".join(map(visible, lines))


def why_to_json(diagnosis: Diagnosis) -> str:
    """JSON for programs."""
    return json.dumps(asdict(diagnosis), indent=2, ensure_ascii=False)
