"""Causes that wait for a person, and DDL that takes its time."""

from ticdc_encoder.tso import duration

from ticdc_consumer.status.text import DDL_DONE
from ticdc_consumer.status.why.diagnosis import Diagnosis
from ticdc_consumer.status.why.evidence import Evidence

LONG = 10.0
"""Seconds after which a DDL runs long."""


def ddl_waits(evidence: Evidence) -> Diagnosis | None:
    status, activity = evidence.status, evidence.activity
    if status is None or activity is None or not status.pending:
        return None
    waiting = {ddl.id: ddl for ddl in activity.ddls}
    entry = next((entry for entry in status.pending if entry.id in waiting), None)
    if entry is None:
        return None
    ddl = waiting[entry.id]
    perhaps = [f"perhaps by: {statement}" for statement in ddl.suggestion]
    return Diagnosis(
        "ddl-waits",
        f"the DDL {entry.id} of {entry.schema}.{entry.table} waits for an operator: {ddl.reason}",
        (f"its statement: {' '.join(entry.query.split())}",),
        (
            *perhaps,
            f"do its work in the target, then: {DDL_DONE.format(config='CONFIG', id=entry.id)}",
            f"or have SQL of yours run in its place: --ddl-run {entry.id} FILE",
        ),
    )


def ddl_runs(evidence: Evidence) -> Diagnosis | None:
    activity = evidence.activity
    seconds = evidence.stage_for("running DDL")
    if activity is None or seconds < LONG:
        return None
    return Diagnosis(
        "ddl-runs-long",
        f"a DDL has been running in the target for {duration(seconds)}: {activity.detail}",
        (f"{activity.who} is at it",),
        ("wait for it: the server goes on with it even if the consumer is restarted",),
    )
