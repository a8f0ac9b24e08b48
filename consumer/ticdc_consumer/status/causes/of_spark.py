"""Causes in Spark's cluster."""

from ticdc_encoder.tso import duration

from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.status.causes.situation import Explanation, KnownCause, Situation


def _no_executors(situation: Situation) -> Explanation | None:
    activity = situation.busy
    executors = activity.executors if activity else None
    if activity is None or executors is None or executors.lacking_since is None:
        return None
    lacking = activity.at - executors.lacking_since
    if lacking < thresholds.QUIET:
        return None
    return Explanation(
        f"Spark has no executor: jobs have been waiting for one for {duration(lacking)}",
        (activity.sentence,),
    )


def _executors_lost(situation: Situation) -> Explanation | None:
    activity = situation.at_work
    executors = activity.executors if activity else None
    if activity is None or executors is None or executors.last_lost is None:
        return None
    ago = max(0.0, activity.at - executors.last_lost)
    if executors.lost < thresholds.LOST_EXECUTORS or ago >= thresholds.RECENT:
        return None
    return Explanation(
        f"Spark keeps losing executors: {executors.lost:,} since the start, the last "
        f"{duration(ago)} ago",
        (f"{executors.count:,} are running now", activity.sentence),
    )


NO_EXECUTORS = KnownCause(
    "no-executors",
    "Spark's jobs have waited for a first executor for 30 s",
    "check that the cluster's master runs, and that a worker has a free core and enough memory for "
    "[spark] executor.memory",
    _no_executors,
)
EXECUTORS_LOST = KnownCause(
    "executors-lost",
    "three executors or more have been lost since the start, the last within ten minutes",
    "look at the executors' logs: usually they exceed their memory ([spark] executor.memory, "
    "executor.memoryOverhead), or the cluster takes them away",
    _executors_lost,
)
