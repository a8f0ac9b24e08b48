"""Causes in how fast the consumer works: memory that spills, a lag that grows, Spark."""

from ticdc_encoder.tso import duration, seconds

from ticdc_consumer.status.why.diagnosis import Diagnosis
from ticdc_consumer.status.why.evidence import Evidence

GROWN = 5.0
"""Seconds by which a lag must have grown."""
SPARK_STARTS = 60.0
"""Seconds that Spark may take to start, or to give a cut's tasks someone to run them."""


def spills(evidence: Evidence) -> Diagnosis | None:
    activity = evidence.activity
    if activity is None or not evidence.running or not activity.totals.get("spilled"):
        return None
    spilled, cuts = activity.totals["spilled"], activity.totals.get("cuts", 0)
    budget = evidence.options.memory_budget
    return Diagnosis(
        "memory-budget",
        f"the memory budget is too small: {spilled:,} cuts did not fit and went through Spark's "
        "disks, which takes several times as long",
        (f"limits.memory_budget is {budget:,} bytes; {cuts:,} cuts since the start",),
        ("raise limits.memory_budget, and the driver's memory with it",),
    )


def lag_grows(evidence: Evidence) -> Diagnosis | None:
    activity = evidence.activity
    if activity is None or not evidence.running or len(activity.samples) < 2:
        return None
    first, last = activity.samples[0], activity.samples[-1]
    if not first.resolved_ts or last.at <= first.at:
        return None
    lag = last.at - seconds(last.resolved_ts)
    grown = lag - (first.at - seconds(first.resolved_ts))
    span = last.at - first.at
    rate = (seconds(last.resolved_ts) - seconds(first.resolved_ts)) / span
    behind = seconds(last.newest_ts) - seconds(last.resolved_ts)
    changes = (last.changes - first.changes) / span
    if behind < GROWN:
        return None
    evidence_of = (
        f"in the last {duration(span)} R moved {rate:.2f} s a second, {changes:,.0f} changes/s",
        f"the newest resolved ts that was read is {duration(behind)} after R",
    )
    if grown > GROWN:
        return Diagnosis(
            "lag-grows",
            f"the lag grows: it is {duration(lag)}, {duration(grown)} more than "
            f"{duration(span)} ago, since more comes than is applied; it will not catch up so",
            evidence_of,
            ("see which stage takes the time (status --json, `seconds`); give that more",),
        )
    if grown < -GROWN:
        return Diagnosis(
            "catching-up",
            f"the consumer catches up: the lag of {duration(lag)} will be gone in about "
            f"{duration(lag / max(1e-6, rate - 1.0))}",
            evidence_of,
        )
    return None


def no_executors(evidence: Evidence) -> Diagnosis | None:
    waited = evidence.stage_for("starting Spark")
    if waited < SPARK_STARTS:
        return None
    return Diagnosis(
        "no-executors",
        f"Spark has been starting for {duration(waited)}: its master gives no executor",
        (f"master {evidence.options.spark.get('spark.master', 'of spark-submit')}",),
        ("see whether the master is reachable and has free cores and memory",),
    )
