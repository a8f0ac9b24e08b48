"""What explains the present state of a changefeed: one `Diagnosis` for each cause that holds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticdc_consumer.status.why.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A cause by its name in `CAUSES`, in one sentence, with what shows it and what to do."""

    cause: str
    sentence: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "cause": self.cause,
            "sentence": self.sentence,
            "evidence": list(self.evidence),
            "advice": list(self.advice),
        }


Cause = Callable[["Evidence"], Diagnosis | None]
"""Looks at the evidence; None if this is not the cause. It asks nothing of anyone: whatever takes
time is in the evidence already."""
