"""The pace of a changefeed: rates in and out, the time by stage, and the causes that these show."""

from collections.abc import Mapping
from dataclasses import dataclass

from ticdc_encoder.tso import duration, seconds

from ticdc_consumer.state.reports import Stage
from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.status.causes.situation import Explanation, KnownCause, Situation, at_stage_for

UNDER_WAY: Mapping[Stage, str] = {"applying": "load", "running DDL": "ddl", "reading": "read"}
"""Name of a stage in the seconds of a cut."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed over the last `window` seconds: the seconds by which the lag grows per second, and
    messages per second that arrive and that are applied, if known."""

    window: float
    growth: float
    rate_in: float | None
    rate_out: float | None

    @property
    def lines(self) -> tuple[str, ...]:
        if self.rate_in is None or self.rate_out is None:
            return ()
        return (f"{self.rate_in:,.0f} messages/s arrive, {self.rate_out:,.0f} are applied",)


def speed(situation: Situation) -> Speed | None:
    """The speed; None if the consumer has not been seen for long enough."""
    activity = situation.activity
    if activity is None or not activity.pace or not activity.pace[0].resolved_ts:
        return None
    first, last = activity.pace[0], activity.pace[-1]
    window = activity.at - first.at
    if window < thresholds.WINDOW:
        return None
    advanced = seconds(activity.resolved_ts) - seconds(first.resolved_ts)
    rate_in = rate_out = None
    if first.listed and last.at > first.at:
        rate_in = max(0, last.listed - first.listed) / (last.at - first.at)
        rate_out = max(0, last.read - first.read) / (last.at - first.at)
    return Speed(window, 1 - advanced / window, rate_in, rate_out)


def shares(activity: Activity) -> dict[str, float]:
    """Shares by stage of the time that recent cuts took, including the current one."""
    first, last = (activity.pace[0], activity.pace[-1]) if activity.pace else (None, None)
    took = dict.fromkeys(("plan", "read", "load", "ddl"), 0.0)
    for stage in took:
        now = last.seconds.get(stage, 0.0) if last else 0.0
        took[stage] = now - (first.seconds.get(stage, 0.0) if first else 0.0)
    if (under_way := UNDER_WAY.get(activity.stage)) is not None:
        took[under_way] += at_stage_for(activity)
    whole = sum(took.values())
    return {stage: each / whole for stage, each in took.items()} if whole else {}


def share_of(activity: Activity, *stages: str) -> float:
    """The share of these stages together."""
    parts = shares(activity)
    return sum(parts.get(stage, 0.0) for stage in stages)


def _lag_grows(situation: Situation) -> Explanation | None:
    activity, pace = situation.busy, speed(situation)
    if activity is None or pace is None or situation.lag < thresholds.LAG:
        return None
    if pace.growth <= thresholds.STEADY:
        return None
    slowest = max(shares(activity).items(), key=lambda item: item[1], default=("read", 0.0))
    return Explanation(
        f"the lag grows: R is {duration(situation.lag)} behind, and loses another "
        f"{pace.growth:.2f} s each second",
        (
            *pace.lines,
            f"{slowest[1]:.0%} of the time goes to stage {slowest[0]}; {activity.sentence}",
        ),
    )


def _catching_up(situation: Situation) -> Explanation | None:
    activity, pace = situation.busy, speed(situation)
    if activity is None or pace is None or situation.lag < thresholds.LAG:
        return None
    if pace.growth >= -thresholds.STEADY:
        return None
    left = situation.lag / -pace.growth
    return Explanation(
        f"the consumer is catching up: R is {duration(situation.lag)} behind, and the rest takes "
        f"about {duration(left)}",
        (*pace.lines, activity.sentence),
    )


def _spills(situation: Situation) -> Explanation | None:
    activity = situation.busy
    if activity is None:
        return None
    is_spilled = int(activity.cut is not None and activity.cut.spilled)
    cuts = activity.totals.get("cuts", 0) + is_spilled
    spilled = activity.totals.get("spilled_cuts", 0) + is_spilled
    few = spilled < max(thresholds.SPILLED_CUTS, cuts * thresholds.SPILLED_SHARE)
    if few or situation.lag < thresholds.LAG:
        return None
    return Explanation(
        f"the memory budget is too small: {spilled:,} of {cuts:,} cuts did not fit "
        "limits.memory_budget, and went through Spark's shuffle on disk",
        (situation.position, activity.sentence),
    )


MEMORY_BUDGET = KnownCause(
    "memory-budget",
    "R is a minute behind, and half of the cuts since the start, three at least, go through "
    "Spark's shuffle",
    "raise limits.memory_budget, and the driver's memory with it, or lower limits.rows_per_epoch",
    _spills,
)
LAG_GROWS = KnownCause(
    "lag-grows",
    "R is a minute behind, and falls further behind over the last minutes",
    "give the slowest stage more: for read, Spark's cores and Kafka's partitions; for load, the "
    "target (docs/how-to/sizing.md)",
    _lag_grows,
)
CATCHING_UP = KnownCause(
    "catching-up",
    "R is a minute behind, and the lag has shrunk over the last minutes",
    "wait",
    _catching_up,
)
