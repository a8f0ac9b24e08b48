"""Why a changefeed is where it is: the sentence, what shows it, what to do.

Evidence is gathered once (`evidence.py`), and each cause looks at it (`causes.py` orders them).
"""

import json
from collections.abc import Iterator, Sequence

from ticdc_encoder.errors import visible

from ticdc_consumer.config.options import Options
from ticdc_consumer.status.why.causes import CAUSES
from ticdc_consumer.status.why.diagnosis import Diagnosis
from ticdc_consumer.status.why.evidence import Evidence, gather

__all__ = ["CAUSES", "Diagnosis", "explain", "to_json", "to_text", "why"]

UNKNOWN = Diagnosis(
    "unknown",
    "nothing that is known explains it",
    (),
    ("see status, and what the consumer prints; please report it with both",),
)


def why(options: Options) -> list[Diagnosis]:
    """What explains the present state, the most important first; at least one. Takes a few seconds,
    whatever hangs; nothing is written."""
    return explain(gather(options))


def explain(evidence: Evidence) -> list[Diagnosis]:
    """Every cause that holds by this evidence, in order."""
    diagnoses = [cause(evidence) for cause in CAUSES.values()]
    return [each for each in diagnoses if each is not None] or [UNKNOWN]


def to_text(diagnoses: Sequence[Diagnosis], config: str) -> str:
    """For people: the answer, then what else holds."""
    return "\n".join(visible(line.replace("CONFIG", config)) for line in _lines(diagnoses))


def _lines(diagnoses: Sequence[Diagnosis]) -> Iterator[str]:
    first, *others = diagnoses
    yield first.sentence
    yield from (f"  seen     {line}" for line in first.evidence if line)
    yield from (f"  do       {line}" for line in first.advice)
    yield from (f"also: {other.sentence}" for other in others if other.cause != "nothing-to-do")


def to_json(diagnoses: Sequence[Diagnosis]) -> str:
    """An array, the most important first."""
    return json.dumps([each.to_json() for each in diagnoses], indent=2, ensure_ascii=False)
