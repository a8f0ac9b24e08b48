"""The causes, in the order in which they are checked: the first that holds is the answer."""

from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.causes import of_runs, of_sources, of_spark, of_targets, pace
from ticdc_consumer.status.causes.situation import Diagnosis, KnownCause, Situation

CAUSES: tuple[KnownCause, ...] = (
    of_sources.REFUSED,
    of_targets.TARGET_AWAY,
    of_runs.NO_STATUS,
    of_runs.LOADING,
    of_runs.DDL_WAITS,
    # Errors with a name of their own, whether they are being retried or have ended the run.
    of_targets.DISK_FULL,
    of_targets.READ_ONLY,
    of_sources.REGISTRY_AWAY,
    of_sources.CLAIM_CHECK_AWAY,
    of_sources.SCHEMA_MISSING,
    of_sources.BROKERS_AWAY,
    of_targets.LOCK,
    of_runs.SILENT,
    of_runs.OTHER_PROTOCOL,
    of_runs.BAD_MESSAGE,
    of_runs.DRIFT,
    of_sources.RECREATED,
    of_sources.NO_TOPICS,
    # No consumer runs.
    of_sources.RETENTION_NEAR,
    of_runs.FAILED,
    of_runs.NOT_RUNNING,
    # A consumer runs, and makes no progress.
    of_spark.NO_EXECUTORS,
    of_spark.EXECUTORS_LOST,
    of_runs.RETRIES,
    of_targets.DDL_RUNS_LONG,
    of_sources.NOBODY_WRITES,
    of_sources.TICDC_STOPPED,
    of_sources.PARTITION_WITHOUT_MARK,
    of_sources.TRANSACTION_OPEN,
    of_sources.NO_RESOLVED_TS,
    of_runs.FENCED,
    of_runs.CLOCK_SKEW,
    of_targets.HELD_UP,
    of_targets.MISSING_INDEX,
    pace.MEMORY_BUDGET,
    of_targets.SLOW_TARGET,
    of_runs.TABLE_QUARANTINED,
    pace.LAG_GROWS,
    pace.CATCHING_UP,
    of_sources.FILTERED_OUT,
    # All is well.
    of_runs.STANDBY,
    of_sources.TICDC_LAGS,
    of_runs.NOTHING_TO_DO,
    of_runs.WORKING,
)


def explain(situation: Situation) -> Diagnosis:
    """Returns the first cause that holds. One always does: a consumer either runs or does not."""
    for cause in CAUSES:
        if (explanation := cause.explain(situation)) is not None:
            remedy = (cause.remedy.format(config=situation.config),)
            return Diagnosis(
                cause.name,
                explanation.sentence,
                explanation.evidence,
                explanation.advice or remedy,
            )
    raise AssertionError("a consumer runs, or none does")


def cause_of(activity: Activity) -> str:
    """The name of the cause, as far as the consumer itself knows."""
    return explain(Situation.of(activity)).cause
