"""Readiness of a consumer."""

from ticdc_encoder.tso import duration, lag

from ticdc_consumer.status.activity.activity import Activity


def unready(activity: Activity, ready_lag: float) -> str | None:
    """The reason, in one sentence, not to rely on the target; None if the consumer runs and R is
    less than `ready_lag` seconds old."""
    if activity.stage == "stopped":
        reason = f": {activity.error.text}" if activity.error else ""
        return f"the consumer has stopped{reason}"
    if not activity.generation:
        return f"the changefeed is not taken over yet; {activity.sentence}"
    behind = lag(activity.resolved_ts)
    if behind >= ready_lag:
        limit = f"{duration(ready_lag)} (metrics.ready_lag)"
        return f"R is {duration(behind)} behind, the limit is {limit}; {activity.sentence}"
    return None
