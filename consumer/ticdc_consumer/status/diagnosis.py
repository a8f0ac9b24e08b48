"""Why a changefeed is where it is: what the target shows, and the source just now; nothing is
written."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from threading import Thread
from typing import Generic, TypeVar

from ticdc_encoder.errors import TicdcError, visible

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Away, fault
from ticdc_consumer.source import facts_of
from ticdc_consumer.source.facts import SourceFacts
from ticdc_consumer.state.causes.situation import Diagnosis, Situation
from ticdc_consumer.state.causes.table import explain
from ticdc_consumer.status.reading import Status, read
from ticdc_consumer.targets import import_target, open_target
from ticdc_consumer.waiting import Deadline

PATIENCE = 4.0
"""Seconds that target and source may take, both at once."""
REQUEST = 2.5
"""Seconds that the source may take for one request."""

T = TypeVar("T")


class _Look(Generic[T]):
    """A look that may hang, which must not keep us: it has a thread of its own."""

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

    def wait(self, patience: float) -> None:
        self._thread.join(patience)


def why(options: Options, config: str = "CONFIG") -> Diagnosis:
    """What explains the present state best, in 5 seconds at most: asks the target and the source,
    and needs no consumer that runs. `config` is the file of settings, for the commands in the
    advice."""

    def look() -> Status:
        opening = open_target(options.target_url, to_look=True, changefeed=options.changefeed)
        with closing(opening) as target:
            return read(target, options)

    def look_at_source() -> SourceFacts:
        return facts_of(options, REQUEST)

    import_target(options.target_url)
    deadline = Deadline(PATIENCE)
    of_source, of_target = _Look(look_at_source, "ticdc-topics"), _Look(look, "ticdc-why")
    of_target.wait(PATIENCE)
    if of_target.answer is None:
        error = of_target.error or Away(f"no answer within {PATIENCE:g} s")
        return explain(Situation(now=time.time(), unreadable=error, config=config))
    of_source.wait(deadline.left)
    status = of_target.answer
    return explain(status.situation(config, of_source.answer, of_source.error))


def why_to_text(diagnosis: Diagnosis) -> str:
    """For people."""
    lines = [diagnosis.sentence]
    lines += [f"  seen  {line}" for line in diagnosis.evidence]
    lines += [f"  do    {line}" for line in diagnosis.advice]
    return "\n".join(map(visible, lines))


def why_to_json(diagnosis: Diagnosis) -> str:
    """For programs."""
    return json.dumps(asdict(diagnosis), indent=2, ensure_ascii=False)
