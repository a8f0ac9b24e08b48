"""Why a changefeed is where it is: the sentence, what shows it, what to do. It is read from the
target alone, as `status` is; nothing is written."""

import json
import re
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from threading import Thread

from ticdc_encoder.errors import TicdcError, visible
from ticdc_encoder.tso import duration, lag, with_time

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.state.activity.activity import Activity
from ticdc_consumer.state.activity.monitor import FOR_MARK
from ticdc_consumer.status.reading import Status, read
from ticdc_consumer.status.text import DDL_DONE
from ticdc_consumer.targets import open_target

PATIENCE = 4.0
"""Seconds that the target may take."""
QUIET = 30.0
"""Seconds without a message, or without a resolved ts, that need an explanation: TiCDC sends a
resolved ts about every second."""
_OFFSET = re.compile(r"\[\d+\] offset \d+$")
"""How an error ends that one message raised."""
LONG = 30.0
"""Seconds after which a DDL takes long."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A cause by its name, in one sentence, with what shows it and what to do."""

    cause: str
    sentence: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


def why(options: Options, config: str = "CONFIG") -> Diagnosis:
    """What explains the present state best. `config` is the file of settings, for commands."""
    statuses: list[Status | TicdcError] = []

    def look() -> None:
        try:
            with closing(
                open_target(options.target_url, to_look=True, changefeed=options.changefeed)
            ) as target:
                statuses.append(read(target, options))
        except TicdcError as error:
            statuses.append(error)

    # A target that hangs must not keep us.
    thread = Thread(target=look, name="ticdc-why", daemon=True)
    thread.start()
    thread.join(PATIENCE)
    match next(iter(statuses), None):
        case None:
            return _away(f"it gives no answer within {PATIENCE:g} s")
        case Unavailable() | Retry() as error:
            return _away(str(error))
        case TicdcError() as error:
            advice = (f"if it was never started: ticdc-consumer run {config}",)
            return Diagnosis("no-status", str(error), (), advice)
        case status:
            return explain(status, config)


def _away(reason: str) -> Diagnosis:
    return Diagnosis(
        "target-away",
        f"the target cannot be reached: {reason}",
        (),
        ("see to the server and the way to it; a consumer that runs waits for it",),
    )


def explain(status: Status, config: str) -> Diagnosis:
    """What explains this status: the first cause that holds."""
    causes = (_ddl_waits, _bad_message, _failed)
    diagnosis = next((each for cause in causes if (each := cause(status, config))), None)
    if diagnosis is not None:
        return diagnosis
    if status.activity is None or not status.activity.running:
        return _not_running(status, config)
    activity = status.activity.activity
    works = (_retries, _ddl_runs, _nothing_comes)
    diagnosis = next((each for work in works if (each := work(activity, status))), None)
    return diagnosis or Diagnosis(
        "working", f"the consumer works: {activity.sentence}", (_position(status),)
    )


def _position(status: Status) -> str:
    return f"R is {with_time(status.resolved_ts)}, {duration(lag(status.resolved_ts))} behind"


def _since(activity: Activity) -> float:
    """For how long it has been at its stage."""
    return max(0.0, activity.at - activity.since)


def _ddl_waits(status: Status, config: str) -> Diagnosis | None:
    waiting = {ddl.id: ddl for ddl in status.activity.activity.ddls} if status.activity else {}
    entry = next((entry for entry in status.pending if entry.id in waiting), None)
    if entry is None:
        return None
    ddl = waiting[entry.id]
    return Diagnosis(
        "ddl-waits",
        f"the DDL {entry.id} of {entry.schema}.{entry.table} waits for an operator: {ddl.reason}",
        (f"its statement: {' '.join(entry.query.split())}",),
        (
            *(f"perhaps by: {statement}" for statement in ddl.suggestion),
            f"do its work in the target, then: {DDL_DONE.format(config=config, id=entry.id)}",
        ),
    )


def _retries(activity: Activity, _: Status) -> Diagnosis | None:
    retry = activity.retry
    if retry is None:
        return None
    return Diagnosis(
        "retries",
        f"the consumer tries again what failed {retry.times} times: {retry.text}",
        (f"it first failed {duration(max(0.0, activity.at - retry.at))} ago", activity.sentence),
        ("do what the message says; the consumer then goes on by itself",),
    )


def _bad_message(status: Status, config: str) -> Diagnosis | None:
    failure = _failed(status, config)
    error = status.activity.activity.error if status.activity else None
    if failure is None or error is None or not _OFFSET.search(error.text):
        return None
    return Diagnosis(
        "bad-message",
        f"a message cannot be applied, which ended the last run: {error.text}",
        failure.evidence,
        ("look at it: ticdc-encoder decode PROTOCOL --kafka TOPIC --partition N --offset N",),
    )


def _failed(status: Status, config: str) -> Diagnosis | None:
    stored = status.activity
    if stored is None or stored.running or stored.activity.error is None:
        return None
    error = stored.activity.error
    return Diagnosis(
        "failed",
        f"no consumer runs, and an error ended the last run: {error.text}",
        (
            f"{stored.activity.who} ended with exit code {error.exit_code}, "
            f"{duration(max(0.0, time.time() - error.at))} ago",
        ),
        (f"do what the message says, then start it again: ticdc-consumer run {config}",),
    )


def _not_running(status: Status, config: str) -> Diagnosis:
    stored = status.activity
    seen = f"{stored.activity.who} was there {duration(stored.age)} ago" if stored else ""
    advice = (f"start it: ticdc-consumer run {config}",)
    return Diagnosis("not-running", "no consumer runs", (seen,) if seen else (), advice)


def _ddl_runs(activity: Activity, _: Status) -> Diagnosis | None:
    if activity.stage != "running DDL" or _since(activity) < LONG:
        return None
    return Diagnosis(
        "ddl-runs-long",
        f"a DDL has been running in the target for {duration(_since(activity))}: {activity.detail}",
        (),
        ("wait for it, or see in the target which session it waits for",),
    )


def _nothing_comes(activity: Activity, status: Status) -> Diagnosis | None:
    if (activity.stage, activity.detail) != ("waiting", FOR_MARK) or _since(activity) < QUIET:
        return None
    newest = activity.newest_message
    evidence = (_position(status),)
    if newest is not None and activity.at - newest >= QUIET:
        return Diagnosis(
            "nothing-comes",
            "TiCDC sends nothing: the newest message in a partition 0 is "
            f"{duration(activity.at - newest)} old",
            evidence,
            ("see whether the changefeed is paused or has failed: cdc cli changefeed query -c ID",),
        )
    return Diagnosis(
        "no-resolved-ts",
        f"no resolved ts above R has come for {duration(_since(activity))}",
        evidence if newest is None else (*evidence, "other messages come"),
        ("see whether the changefeed still sends resolved ts, and whether TiCDC lags itself",),
    )


def why_to_text(diagnosis: Diagnosis) -> str:
    """For people."""
    lines = [diagnosis.sentence]
    lines += [f"  seen  {line}" for line in diagnosis.evidence]
    lines += [f"  do    {line}" for line in diagnosis.advice]
    return "\n".join(map(visible, lines))


def why_to_json(diagnosis: Diagnosis) -> str:
    """For programs."""
    return json.dumps(asdict(diagnosis), indent=2, ensure_ascii=False)
