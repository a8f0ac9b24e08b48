"""The metrics, read from an `Activity`; docs/reference/metrics.md lists them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from ticdc_encoder.tso import lag, seconds

from ticdc_consumer.state.reports import Cause, Stage
from ticdc_consumer.status.activity.activity import Activity, StageSeconds
from ticdc_consumer.status.causes.table import CAUSES, cause_of
from ticdc_consumer.status.metrics.processes import ProcessCost, processes

PREFIX = "ticdc_consumer_"
CHANGEFEED = "changefeed"
"""The first label of every metric."""
OTHERS = "(others)"
"""Label of the tables beyond the first thousand."""

Kind = Literal["gauge", "counter", "histogram"]
Values = Iterable[tuple[tuple[str, ...], float | StageSeconds]]
"""Pairs of the labels' values and the metric's value."""


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric. `name` omits the prefix, and the `_total` of a counter; `labels` follow the
    changefeed."""

    name: str
    kind: Kind
    help: str
    values: Callable[[Activity], Values]
    labels: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The name in Prometheus."""
        return f"{PREFIX}{self.name}{'_total' if self.kind == 'counter' else ''}"


def _one(value: Callable[[Activity], float | None]) -> Callable[[Activity], Values]:
    """Yields one value; none if it is unknown."""

    def values(activity: Activity) -> Values:
        known = value(activity)
        return [] if known is None else [((), known)]

    return values


def _total(name: str) -> Callable[[Activity], Values]:
    return lambda activity: [((), activity.totals.get(name, 0))]


def _stages(activity: Activity) -> Values:
    return [((stage,), float(stage == activity.stage)) for stage in get_args(Stage)]


def _causes(activity: Activity) -> Values:
    present = cause_of(activity)
    return [((cause.name,), float(cause.name == present)) for cause in CAUSES]


def _partitions(
    value: Callable[[int, int | None, int], float | None],
) -> Callable[[Activity], Values]:
    """Yields one value for each partition, from its restart offset, end offset, and resolved ts."""

    def values(activity: Activity) -> Values:
        for each in activity.partitions:
            known = value(each.restart_offset, each.end_offset, each.resolved_ts)
            if known is not None:
                yield (each.topic, str(each.partition)), known

    return values


def _rows(activity: Activity) -> Values:
    for table, (deleted, written) in activity.tables.items():
        yield (table or OTHERS, "delete"), deleted
        yield (table or OTHERS, "write"), written


def _stage_seconds(activity: Activity) -> Values:
    for stage in ("plan", "read", "load", "ddl"):
        yield (stage,), activity.seconds.get(stage, StageSeconds())


def _retries(activity: Activity) -> Values:
    return [((cause,), activity.retries.get(cause, 0)) for cause in get_args(Cause)]


def _ddls(activity: Activity) -> Values:
    states = ("done", "skipped")
    return [((state,), activity.totals.get(f"ddl_{state}", 0)) for state in states]


@lru_cache(maxsize=1)
def _costs(_at: float) -> Mapping[str, ProcessCost]:
    """Costs of the processes, measured once for each look."""
    return processes()


def _memory(activity: Activity) -> Values:
    return [((name,), cost.resident_bytes) for name, cost in _costs(activity.at).items()]


def _cpu(activity: Activity) -> Values:
    return [((name,), cost.cpu_seconds) for name, cost in _costs(activity.at).items()]


def _resolved(activity: Activity) -> float | None:
    return seconds(activity.resolved_ts) if activity.resolved_ts else None


def _lag(activity: Activity) -> float | None:
    return lag(activity.resolved_ts) if activity.resolved_ts else None


_METRICS = (
    # Position.
    MetricDefinition(
        "resolved_timestamp_seconds",
        "gauge",
        "The time of R: the target has every change below it.",
        _one(_resolved),
    ),
    MetricDefinition(
        "lag_seconds", "gauge", "How far R is behind this machine's clock.", _one(_lag)
    ),
    MetricDefinition(
        "commit_timestamp_seconds",
        "gauge",
        "When R was raised last.",
        _one(lambda activity: activity.committed),
    ),
    MetricDefinition(
        "newest_message_timestamp_seconds",
        "gauge",
        "Kafka's time of the newest message of a partition 0, when the consumer last waited.",
        _one(lambda activity: activity.newest_message),
    ),
    MetricDefinition(
        "stage",
        "gauge",
        "1 for the stage that the consumer is at, 0 for the others.",
        _stages,
        ("stage",),
    ),
    MetricDefinition(
        "stage_begin_timestamp_seconds",
        "gauge",
        "When this stage began.",
        _one(lambda activity: activity.since),
    ),
    MetricDefinition(
        "cause",
        "gauge",
        "1 for the cause of the present state, as far as the consumer knows it, 0 for the others.",
        _causes,
        ("cause",),
    ),
    MetricDefinition(
        "generation",
        "gauge",
        "Counts the consumers of the changefeed; 0 until it is taken over.",
        _one(lambda activity: activity.generation),
    ),
    MetricDefinition(
        "last_error_exit_code",
        "gauge",
        "The exit code of the last error that ended a run: 3 waits for an operator, 4 is fenced; "
        "0 after the next commit.",
        _one(lambda activity: activity.error.exit_code if activity.error else 0),
    ),
    MetricDefinition(
        "start_timestamp_seconds",
        "gauge",
        "When the consumer started.",
        _one(lambda activity: activity.started),
    ),
    MetricDefinition(
        "build_info",
        "gauge",
        "1, with the release.",
        lambda activity: [((activity.release,), 1)],
        ("release",),
    ),
    # Topics: the thousand partitions that are furthest behind.
    MetricDefinition(
        "partition_restart_offset",
        "gauge",
        "The offset in the checkpoint: everything before it is applied.",
        _partitions(lambda restart, _end, _ts: restart),
        ("topic", "partition"),
    ),
    MetricDefinition(
        "partition_end_offset",
        "gauge",
        "The end of the partition, as listed for the last cut.",
        _partitions(lambda _restart, end, _ts: end),
        ("topic", "partition"),
    ),
    MetricDefinition(
        "partition_resolved_timestamp_seconds",
        "gauge",
        "The time of the newest resolved ts that was read; of partition 0, which is followed.",
        _partitions(lambda _restart, _end, ts: seconds(ts) if ts else None),
        ("topic", "partition"),
    ),
    # Changes applied since the start.
    MetricDefinition("cuts", "counter", "Cuts committed.", _total("cuts")),
    MetricDefinition(
        "spilled_cuts",
        "counter",
        "Cuts that did not fit limits.memory_budget and went through Spark's shuffle.",
        _total("spilled_cuts"),
    ),
    MetricDefinition("messages", "counter", "Messages read of these cuts.", _total("messages")),
    MetricDefinition(
        "message_bytes", "counter", "Bytes of these messages, as they came.", _total("bytes")
    ),
    MetricDefinition(
        "changes", "counter", "Keys set or deleted upstream, in these cuts.", _total("changes")
    ),
    MetricDefinition(
        "duplicates",
        "counter",
        "Changes of these cuts that came more than once.",
        _total("duplicates"),
    ),
    MetricDefinition(
        "replays", "counter", "Changes of earlier cuts that came once more.", _total("replays")
    ),
    MetricDefinition(
        "corrupted_rows",
        "counter",
        "Rows that were applied although their checksum differs.",
        _total("corrupted"),
    ),
    MetricDefinition(
        "filtered_changes", "counter", "Changes that the filter left out.", _total("left_out")
    ),
    MetricDefinition(
        "rows",
        "counter",
        "Rows deleted and written in the target, by upstream table; those beyond the first "
        "thousand tables as one.",
        _rows,
        ("table", "operation"),
    ),
    MetricDefinition("ddls", "counter", "DDL done or skipped.", _ddls, ("outcome",)),
    MetricDefinition(
        "waiting_ddls",
        "gauge",
        "Pending DDL that wait for an operator.",
        _one(lambda activity: len(activity.ddls)),
    ),
    # Comparisons of `[verify] every` since the start.
    MetricDefinition(
        "verified_rows", "counter", "Rows compared with the upstream.", _total("verified_rows")
    ),
    MetricDefinition(
        "verify_failures",
        "counter",
        "Shares of the rows that could not be compared.",
        _total("verify_failed"),
    ),
    MetricDefinition(
        "verify_timestamp_seconds",
        "gauge",
        "When a share of the rows was compared last.",
        _one(lambda activity: activity.verified.at if activity.verified else None),
    ),
    MetricDefinition(
        "differing_rows",
        "gauge",
        "Rows that differ from the upstream, until they are compared again or repaired.",
        _one(lambda activity: activity.verified.differing if activity.verified else 0),
    ),
    # Quarantined tables.
    MetricDefinition(
        "quarantined_timestamp_seconds",
        "gauge",
        "The time of the R of a quarantined table.",
        lambda activity: [((t.table,), seconds(t.resolved_ts)) for t in activity.set_aside],
        ("table",),
    ),
    MetricDefinition(
        "quarantined_changes",
        "gauge",
        "The approximate number of changes of a quarantined table that wait in the log.",
        lambda activity: [((t.table,), t.waiting) for t in activity.set_aside],
        ("table",),
    ),
    # Costs.
    MetricDefinition(
        "stage_seconds", "histogram", "Seconds of each stage of a cut.", _stage_seconds, ("stage",)
    ),
    MetricDefinition("retries", "counter", "Retries, by operation.", _retries, ("cause",)),
    MetricDefinition(
        "process_resident_memory_bytes",
        "gauge",
        "Resident memory of this process, and of the JVM and Python workers below it (Linux).",
        _memory,
        ("process",),
    ),
    MetricDefinition(
        "process_cpu_seconds", "counter", "CPU time of the same processes.", _cpu, ("process",)
    ),
)

METRICS: Mapping[str, MetricDefinition] = {metric.full_name: metric for metric in _METRICS}
"""The metrics by their name in Prometheus."""
