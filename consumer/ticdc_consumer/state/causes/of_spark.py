"""Causes in Spark's cluster."""

from ticdc_encoder.tso import duration

from ticdc_consumer.state.causes import thresholds
from ticdc_consumer.state.causes.situation import Explanation, KnownCause, Situation


def _no_executors(situation: Situation) -> Explanation | None:
    activity = situation.busy
    executors = activity.executors if activity else None
    if activity is None or executors is None or executors.lacking_since is None:
        return None
    lacking = activity.at - executors.lacking_since
    if lacking < thresholds.QUIET:
        return None
    return Explanation(
        f"Spark has no executor: its jobs have waited for one for {duration(lacking)}",
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
        f"Spark loses its executors again and again: {executors.lost:,} since the start, the last "
        f"{duration(ago)} ago",
        (f"{executors.count:,} are there now", activity.sentence),
    )


NO_EXECUTORS = KnownCause(
    "no-executors",
    "Spark's jobs have waited for a first executor for 30 s",
    "see that the cluster's master runs, and workers with a core and [spark] executor.memory free",
    _no_executors,
)
EXECUTORS_LOST = KnownCause(
    "executors-lost",
    "three executors or more have gone since the start, the last within ten minutes",
    "look at the logs of the executors: most often they exceed their memory ([spark] "
    "executor.memory, executor.memoryOverhead), or the cluster takes them away",
    _executors_lost,
)
