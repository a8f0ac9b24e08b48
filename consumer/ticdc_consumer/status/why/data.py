"""Causes in the messages, and in what they refer to: all end the run, or are tried again."""

import re
from dataclasses import dataclass

from ticdc_encoder.tso import duration

from ticdc_consumer.status.why.diagnosis import Cause, Diagnosis
from ticdc_consumer.status.why.evidence import Evidence


@dataclass(frozen=True, slots=True)
class _Known:
    """An error that explains itself by its class or its text."""

    cause: str
    kinds: tuple[str, ...]
    text: re.Pattern[str]
    sentence: str
    advice: tuple[str, ...]

    def fits(self, kinds: tuple[str, ...], text: str) -> bool:
        return any(kind in kinds for kind in self.kinds) or self.text.search(text) is not None


_NOTHING = r"(?!)"
_KNOWN = (
    _Known(
        "disk-full",
        (),
        re.compile(
            r"No space left on device|disk is full|could not extend file|is full\b|"
            r"error (1021|1114)\b|Errno 28"
        ),
        "a disk is full",
        ("make room on the disk that the message names (the target's, or that of Spark's files)",),
    ),
    _Known(
        "schema-missing",
        (),
        re.compile(r"of its schema, which no message brought"),
        "rows of Simple wait for their table's schema, which has not come",
        (
            "have the changefeed repeat its schemas: send-bootstrap-interval-in-sec and "
            "send-bootstrap-in-msg-count; if an older one is missing, load a new snapshot",
        ),
    ),
    _Known(
        "registry-away",
        ("RegistryError",),
        re.compile(r"schema registry|schema \d+ cannot be read"),
        "the schema registry cannot be read",
        ("start the registry, or mend [registry] url and its credentials",),
    ),
    _Known(
        "claim-check-away",
        ("ClaimCheckError",),
        re.compile(r"\bclaim check"),
        "the storage of the claim checks cannot be read",
        ("mend [source] claim_check, its credentials, or the storage; deleted files are lost",),
    ),
    _Known(
        "executors-lost",
        (),
        re.compile(r"(?i)executor lost|ExecutorLost|its JVM has ended|executor .*(exited|failed)"),
        "Spark loses its executors",
        ("see the executors' logs; the usual reason is their memory: spark.executor.memory",),
    ),
    _Known(
        "target-refuses-user",
        (),
        re.compile(r"password authentication failed|Access denied|a privilege is missing"),
        "the target refuses this user",
        ("mend the user's password or rights in the target, as the message says",),
    ),
    _Known(
        "poison-message",
        ("WireError",),
        re.compile(r"\[\d+\] offset \d+"),
        "a message cannot be applied",
        (
            "look at it: ticdc-encoder decode PROTOCOL --kafka TOPIC --partition N --offset N; "
            "nothing after it is applied before it can be",
        ),
    ),
)


def _cause_of(known: _Known) -> Cause:
    def cause(evidence: Evidence) -> Diagnosis | None:
        error = evidence.error
        if error is None or not known.fits(error.kinds, error.text):
            return None
        ago = duration(max(0.0, evidence.now - error.at))
        how = f"tried {error.times} times" if evidence.running else "the run has ended"
        return Diagnosis(
            known.cause,
            f"{known.sentence}: {error.text}",
            (f"{how}; it first came {ago} ago",),
            known.advice,
        )

    return cause


ERRORS: dict[str, Cause] = {known.cause: _cause_of(known) for known in _KNOWN}


def schema_awaited(evidence: Evidence) -> Diagnosis | None:
    """While the consumer still waits for it."""
    activity = evidence.activity
    if activity is None or not evidence.running or not activity.detail.startswith("for version"):
        return None
    known = next(known for known in _KNOWN if known.cause == "schema-missing")
    since = duration(max(0.0, activity.at - activity.since))
    sentence = f"{known.sentence}: it waits {activity.detail}"
    return Diagnosis("schema-missing", sentence, (f"since {since}",), known.advice)
