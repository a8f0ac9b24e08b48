"""Causes in the process itself: whether one runs, who took over, what ended it."""

from ticdc_encoder.tso import duration

from ticdc_consumer.status.why.diagnosis import Diagnosis
from ticdc_consumer.status.why.evidence import Evidence

RECENT = 600.0
"""Seconds for which a take-over explains something."""


def fenced(evidence: Evidence) -> Diagnosis | None:
    activity = evidence.activity
    if activity is None or not activity.displaced or evidence.now - activity.started > RECENT:
        return None
    since = duration(max(0.0, evidence.now - activity.started))
    return Diagnosis(
        "fenced",
        f"a newer consumer, {activity.who}, took the changefeed over {since} ago from "
        f"{activity.displaced}, which was running and has been refused since",
        (f"generation {activity.generation} was begun while {activity.displaced} was running",),
        (
            "let one of the two run; where a supervisor restarts both, they take over for ever: "
            "do not restart on exit code 4",
        ),
    )


def failed(evidence: Evidence) -> Diagnosis | None:
    """What no other cause explains."""
    error = evidence.error
    if error is None or evidence.running:
        return None
    ago = duration(max(0.0, evidence.now - error.at))
    return Diagnosis(
        "failed",
        f"the consumer ended {ago} ago with exit code {error.exit_code}: {error.text}",
        (f"it was {evidence.activity.who}" if evidence.activity else "",),
        ("do what the message says, then start it again: ticdc-consumer run CONFIG",),
    )


def not_running(evidence: Evidence) -> Diagnosis | None:
    if evidence.running or evidence.target.error is not None:
        return None
    if evidence.status is None:
        sentence = f"changefeed {evidence.options.changefeed} has not been started yet"
    elif evidence.activity is None:
        sentence = "it is not known whether a consumer runs: the last one was of an older release"
    else:
        stored = evidence.status.activity
        ago = duration(stored.age if stored else 0.0)
        sentence = f"no consumer runs: the last word of {evidence.activity.who} is {ago} old"
    return Diagnosis("not-running", sentence, (), ("start it: ticdc-consumer run CONFIG",))


def nothing_to_do(evidence: Evidence) -> Diagnosis | None:
    activity = evidence.activity
    if activity is None or not evidence.running:
        return None
    if evidence.error is not None or evidence.status is None or evidence.status.pending:
        return None
    return Diagnosis(
        "nothing-to-do",
        f"all is well: R is {duration(evidence.lag)} behind the clock, and {activity.sentence}",
        (f"{activity.who} runs, generation {activity.generation}",),
    )
