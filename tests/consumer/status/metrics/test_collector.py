"""A registry shows what consumers are at, in few enough lines, also of those that ended."""

import re
from collections.abc import Mapping

import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families
from support.loading import at
from ticdc_consumer.errors import Stop, Unavailable, WaitingDdl
from ticdc_consumer.status.activity.activity import BOUNDS, CutActivity, VerifiedShare
from ticdc_consumer.status.activity.monitor import MOST, Monitor
from ticdc_consumer.status.metrics.collector import register
from ticdc_consumer.status.metrics.definitions import METRICS
from ticdc_encoder.tso import compose

R = compose(1_700_000_000_000)
TOTALS = {
    "cuts": 1,
    "spilled_cuts": 1,
    "messages": 7,
    "bytes": 900,
    "changes": 5,
    "duplicates": 2,
    "replays": 3,
    "corrupted": 4,
    "left_out": 6,
}


def busy(changefeed: str = "shop") -> Monitor:
    monitor = Monitor(changefeed, "0.1.0")
    monitor.generation = 3
    monitor.waiting(1_700_000_001.5, {"t": R})
    monitor.planned(CutActivity(R, R + 1, 100), {("t", 0): 9}, {"t": R})
    seconds = {"plan": 0.02, "read": 0.2, "load": 5000.0}
    monitor.committed(R, at(t=7), TOTALS, {"shop.a": (1, 2)}, seconds)
    monitor.ran_ddls(["done", "done", "skipped"], 1.0)
    monitor.waits_for_operator([WaitingDdl("7:1", "no such type")])
    monitor.sets_aside(("shop", "b"), R, "no such column")
    monitor.keeps_waiting({("shop", "b"): 8})
    monitor.retries(Unavailable("away"), "target unreachable")
    monitor.verified(VerifiedShare(1_700_000_002.5, 3, 24, R, 1_000, 2, "shop.a: 2 rows"))
    monitor.verified(VerifiedShare(1_700_000_003.5, 4, 24, R, 500, failed="away"))
    monitor.failed(Stop("poison"))
    return monitor


def samples(registry: CollectorRegistry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """By name and labels, the changefeed aside."""
    return {
        (
            sample.name,
            tuple(sorted((k, v) for k, v in sample.labels.items() if k != "changefeed")),
        ): (sample.value)
        for family in text_string_to_metric_families(generate_latest(registry).decode())
        for sample in family.samples
    }


VALUES: list[tuple[str, Mapping[str, str], float]] = [
    ("resolved_timestamp_seconds", {}, 1_700_000_000),
    ("quarantined_timestamp_seconds", {"table": "shop.b"}, 1_700_000_000),
    ("quarantined_changes", {"table": "shop.b"}, 8),
    ("newest_message_timestamp_seconds", {}, 1_700_000_001.5),
    ("stage", {"stage": "planning"}, 1),
    ("stage", {"stage": "waiting"}, 0),
    ("cause", {"cause": "ddl-waits"}, 1),
    ("cause", {"cause": "working"}, 0),
    ("generation", {}, 3),
    ("last_error_exit_code", {}, 3),
    ("build_info", {"release": "0.1.0"}, 1),
    ("partition_restart_offset", {"topic": "t", "partition": "0"}, 7),
    ("partition_end_offset", {"topic": "t", "partition": "0"}, 9),
    ("partition_resolved_timestamp_seconds", {"topic": "t", "partition": "0"}, 1_700_000_000),
    ("cuts_total", {}, 1),
    ("spilled_cuts_total", {}, 1),
    ("messages_total", {}, 7),
    ("message_bytes_total", {}, 900),
    ("changes_total", {}, 5),
    ("duplicates_total", {}, 2),
    ("replays_total", {}, 3),
    ("corrupted_rows_total", {}, 4),
    ("filtered_changes_total", {}, 6),
    ("rows_total", {"table": "shop.a", "operation": "delete"}, 1),
    ("rows_total", {"table": "shop.a", "operation": "write"}, 2),
    ("ddls_total", {"outcome": "done"}, 2),
    ("ddls_total", {"outcome": "skipped"}, 1),
    ("waiting_ddls", {}, 1),
    ("verified_rows_total", {}, 1_500),
    ("verify_failures_total", {}, 1),
    ("verify_timestamp_seconds", {}, 1_700_000_003.5),
    ("differing_rows", {}, 2),
    ("stage_seconds_bucket", {"stage": "plan", "le": "0.01"}, 0),
    ("stage_seconds_bucket", {"stage": "plan", "le": "0.025"}, 1),
    ("stage_seconds_bucket", {"stage": "plan", "le": "+Inf"}, 1),
    ("stage_seconds_bucket", {"stage": "load", "le": "1800.0"}, 0),
    ("stage_seconds_bucket", {"stage": "load", "le": "+Inf"}, 1),
    ("stage_seconds_sum", {"stage": "read"}, 0.2),
    ("stage_seconds_count", {"stage": "ddl"}, 1),
    ("retries_total", {"cause": "target unreachable"}, 1),
    ("retries_total", {"cause": "read failed"}, 0),
]


def test_each_value_is_what_the_steps_reported() -> None:
    registry = CollectorRegistry()
    register(registry, "shop", busy().look)
    shown = samples(registry)
    wrong = {
        (name, str(labels)): shown.get((f"ticdc_consumer_{name}", tuple(sorted(labels.items()))))
        for name, labels, value in VALUES
        if shown.get((f"ticdc_consumer_{name}", tuple(sorted(labels.items())))) != value
    }
    assert wrong == {}


def test_every_metric_has_a_value_in_both_formats() -> None:
    registry = CollectorRegistry()
    register(registry, "shop", busy().look)
    new = read_openmetrics(generate_openmetrics(registry).decode())
    for families in (list(new), text_string_to_metric_families(generate_latest(registry).decode())):
        with_values = {f.name for f in families if f.samples}
        assert {name.removesuffix("_total") for name in METRICS} == {
            name.removesuffix("_total") for name in with_values
        }


def test_what_is_not_known_has_no_value() -> None:
    registry = CollectorRegistry()
    register(registry, "shop", Monitor("shop", "0.1.0").look)
    names = {name for name, _ in samples(registry)}
    assert not any("lag" in name or "commit" in name or "resolved" in name for name in names)
    assert "ticdc_consumer_cuts_total" in names


def test_tables_and_partitions_are_bounded() -> None:
    monitor = Monitor("shop", "0.1.0")
    tables = {f"shop.t{n}": (1, 1) for n in range(MOST + 50)}
    monitor.committed(R, at(**{f"p{n}": n for n in range(MOST + 50)}), {}, tables, {})
    registry = CollectorRegistry()
    register(registry, "shop", monitor.look)
    shown = samples(registry)
    rows = [labels for name, labels in shown if name == "ticdc_consumer_rows_total"]
    assert len(rows) == 2 * (MOST + 1)
    assert shown["ticdc_consumer_rows_total", (("operation", "write"), ("table", "(others)"))] == 50
    offsets = [name for name, _ in shown if name == "ticdc_consumer_partition_restart_offset"]
    assert len(offsets) == MOST


def test_consumers_of_one_registry_are_told_apart() -> None:
    registry = CollectorRegistry()
    Counter("of_the_host", "Something else.", registry=registry)
    ended, running = busy("shop"), busy("shop")
    ended.stopped()
    for changefeed, monitor in (("shop", ended), ("crm", busy("crm"))):
        register(registry, changefeed, monitor.look)
    text = generate_latest(registry).decode()
    assert text.count("# TYPE ticdc_consumer_cuts_total counter") == 1
    for changefeed in ("shop", "crm"):
        assert f'ticdc_consumer_cuts_total{{changefeed="{changefeed}"}} 1.0' in text
    running.committed(101, {}, {"cuts": 1}, {}, {})
    register(registry, "shop", running.look)
    text = generate_latest(registry).decode()
    assert re.findall(r'consumer_cuts_total{changefeed="shop"} (\S+)', text) == ["2.0"]


def test_a_name_that_the_registry_has_already_is_refused() -> None:
    registry = CollectorRegistry()
    Counter("ticdc_consumer_cuts", "Another's.", registry=registry)
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        register(registry, "shop", busy().look)


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, 0), (0.01, 0), (0.010001, 1), (1800.0, 13), (1801.0, 14)]
)
def test_a_time_is_counted_in_its_bucket(seconds: float, bucket: int) -> None:
    monitor = Monitor()
    monitor.committed(1, {}, {}, {}, {"read": seconds})
    buckets = monitor.look().seconds["read"].buckets
    assert [n for n, count in enumerate(buckets) if count] == [bucket]
    assert len(buckets) == len(BOUNDS) + 1
