"""What a run has applied is what its port shows."""

import socket
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Mapping

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from support.ports import free_port
from support.torture_cli import Begin, ended_by
from support.torture_topics import inserted, ts
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.errors import Usage
from ticdc_encoder.tso import seconds

ROWS = 50
OFFSETS = "SELECT topic, partition, restart_offset FROM ticdc_offset"
Samples = Mapping[tuple[str, tuple[str, ...]], float]
"""By name, and the labels' values in the order of their names, the changefeed aside."""


@pytest.fixture
def port() -> int:
    return free_port()


def fetched(port: int, path: str) -> tuple[int, str]:
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=accept)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def samples(port: int) -> Samples:
    status, text = fetched(port, "/metrics")
    assert status == 200
    shown = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert sample.labels["changefeed"] == "proof"
            labels = tuple(value for name, value in sample.labels.items() if name != "changefeed")
            shown[sample.name.removeprefix("ticdc_consumer_"), labels] = sample.value
    return shown


def test_all_counts_add_up_with_what_was_applied(begin: Begin, port: int) -> None:
    feed, run = begin()
    for n in range(ROWS):
        feed.send(n % 2, inserted(150 + n, {"id": 10 + n, "name": "x"}))
        if n % 10 == 9:
            feed.send(n % 2, inserted(150 + n, {"id": 10 + n, "name": "x"}))  # sent twice
            feed.mark(151 + n)
    feed.ddl(300, "ALTER TABLE `items` ADD COLUMN `n` INT", "items")
    feed.mark(400)
    settings = {"metrics__listen": f"127.0.0.1:{port}", "limits__rows_per_epoch": 15}
    with run.consumer(**settings) as consumer:
        epochs = list(consumer.epochs("caught-up"))
        shown = samples(port)
        page = fetched(port, "/")
    assert len(epochs) > 2
    assert page[0] == 200 and "was done at" in page[1]
    assert "<code>ALTER TABLE `items` ADD COLUMN `n` INT</code>" in page[1]
    assert shown["cuts_total", ()] == len(epochs)
    for name, total in [
        ("messages", sum(epoch.messages for epoch in epochs)),
        ("message_bytes", sum(epoch.bytes for epoch in epochs)),
        ("changes", sum(epoch.changes for epoch in epochs)),
        ("duplicates", sum(epoch.duplicates for epoch in epochs)),
        ("replays", sum(epoch.replays for epoch in epochs)),
    ]:
        assert shown[f"{name}_total", ()] == total, name
    assert shown["message_bytes_total", ()] > 0 and shown["duplicates_total", ()] == ROWS // 10
    (count,) = run.rows("SELECT count(*) FROM items")
    assert shown["rows_total", ("write", "shop.items")] == ROWS == count[0] - 2
    assert shown["ddls_total", ("done",)] == sum(len(epoch.ddls) for epoch in epochs) == 1
    times: Counter[str] = Counter()
    for epoch in epochs:
        times.update(epoch.stages)
    for stage in ("plan", "read", "load", "ddl"):
        assert shown["stage_seconds_count", (stage,)] == sum(stage in e.stages for e in epochs)
        assert shown["stage_seconds_sum", (stage,)] == pytest.approx(times[stage], abs=0.05)
    assert shown["resolved_timestamp_seconds", ()] == pytest.approx(seconds(run.resolved_ts))
    for topic, number, offset in run.rows(OFFSETS):
        assert shown["partition_restart_offset", (str(number), topic)] == offset


def test_a_run_is_ready_once_caught_up_and_its_port_ends_with_it(begin: Begin, port: int) -> None:
    _, run = begin()
    with run.consumer(metrics__listen=f"127.0.0.1:{port}", metrics__ready_lag="1000000d") as it:
        list(it.epochs("caught-up"))
        assert fetched(port, "/readyz") == (200, "ready\n")
        assert fetched(port, "/healthz") == (200, "ok\n")
    with pytest.raises(urllib.error.URLError):
        fetched(port, "/healthz")


def test_a_program_keeps_the_last_figures_in_its_own_registry(begin: Begin) -> None:
    feed, run = begin()
    feed.send_raw(1, None, b"no json")
    feed.mark(200)
    registry = CollectorRegistry()
    labels = {"changefeed": "proof"}
    with Consumer(run.options(), registry=registry) as consumer:
        assert ended_by(consumer.epochs("caught-up")).code == 3
        assert registry.get_sample_value("ticdc_consumer_last_error_exit_code", labels) == 3
        assert registry.get_sample_value("ticdc_consumer_cuts_total", labels) == 0
    assert registry.get_sample_value("ticdc_consumer_last_error_exit_code", labels) == 3
    assert registry.get_sample_value("ticdc_consumer_cuts_total", labels) == 0


def test_a_ddl_that_waits_is_counted_until_it_is_done(begin: Begin, port: int) -> None:
    feed, run = begin()
    feed.ddl(150, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)", "items")
    feed.mark(200)
    with run.consumer(metrics__listen=f"127.0.0.1:{port}") as consumer:
        assert ended_by(consumer.epochs("caught-up")).code == 3
        shown = samples(port)
    assert shown["waiting_ddls", ()] == 1 and shown["last_error_exit_code", ()] == 3
    assert shown["cuts_total", ()] == 1
    assert shown["resolved_timestamp_seconds", ()] == pytest.approx(seconds(ts(150) + 1))
    with run.consumer(metrics__listen=f"127.0.0.1:{port}") as consumer:
        assert samples(port)["waiting_ddls", ()] == 1  # as the last run left it
        consumer.target.execute("ALTER TABLE items ADD COLUMN n INT").close()
        consumer.ddl_done(f"{ts(150)}:1")
        list(consumer.epochs("caught-up"))
        shown = samples(port)
    assert shown["waiting_ddls", ()] == 0 and shown["last_error_exit_code", ()] == 0


def test_a_taken_port_ends_the_start_with_the_target_untouched(begin: Begin) -> None:
    _, run = begin()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        name, number = taken.getsockname()
        outcome = run(metrics__listen=f"{name}:{number}")
    assert outcome.code == 2 and "cannot be listened on: Address already in use" in outcome.said
    assert run.rows("SELECT generation FROM ticdc_checkpoint") == [(1,)]


def test_without_prometheus_client_the_way_out_is_named(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = begin()
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(Usage, match=r"pip install 'ticdc-consumer\[metrics\]'"):
        run.consumer(metrics__listen="127.0.0.1:9464").__enter__()
