"""`why` names what is the matter, each made for real."""

import json
import socket
import time
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy as sa
from confluent_kafka.admin import AclOperation  # type: ignore[attr-defined]
from integration.expired_certificate import expired
from pyspark.sql import SparkSession
from support import brokers
from support.diagnoses import (
    SOON,
    backlog,
    comes_to,
    diagnosed,
    of_itself,
    running,
    seconds_ago,
)
from support.registry_server import served
from support.server_address import server_address
from support.small_disk import small_disk
from support.torture_cli import Begin, Make
from support.torture_topics import ITEMS, Feed, inserted, table, ts
from ticdc_consumer import targets
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.cut.spark import session
from ticdc_consumer.status import diagnosis
from ticdc_consumer.status.activity import monitor, recorder
from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.status.causes.table import cause_of
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import until
from ticdc_encoder.event import Ddl, Row
from ticdc_encoder.formats.registry import MemoryRegistry

CLAIM = "0d2e66b2-3b3b-49b1-946b-e5cc94563f89.json"
IMPATIENT: dict[str, Any] = {"limits__retries": 1}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FIRST", 0.1)
    monkeypatch.setattr(recorder, "INTERVAL", 0.1)
    monkeypatch.setattr(monitor, "PACE_STEP", 0.1)
    for name in ("QUIET", "LONG", "WINDOW"):
        monkeypatch.setattr(thresholds, name, 1.0)


# --- no consumer runs ----------------------------------------------------------------------------


def test_a_target_that_does_not_answer(begin: Begin) -> None:
    _, run = begin()
    shown = diagnosed(run, target__url="postgresql+psycopg://app@127.0.0.1:1/shop")
    assert shown.cause == "target-unreachable" and "127.0.0.1:1" in shown.sentence


def test_a_target_that_takes_connections_and_says_nothing(begin: Begin) -> None:
    _, run = begin()
    with socket.socket() as frozen:
        frozen.bind(("127.0.0.1", 0))
        frozen.listen()
        port = frozen.getsockname()[1]
        shown = diagnosed(run, target__url=f"postgresql+psycopg://app@127.0.0.1:{port}/shop")
    assert shown.cause == "target-unreachable" and "did not answer within 4 s" in shown.sentence
    assert "no connection was established" in shown.evidence


def test_a_target_that_refuses_its_user(begin: Begin, postgresql_url: str) -> None:
    _, run = begin()
    url = sa.make_url(postgresql_url).set(username="nobody")
    shown = diagnosed(run, target__url=url.render_as_string(hide_password=False))
    assert shown.cause == "refused" and "nobody" in shown.sentence


def test_a_machine_that_is_slow_to_import_has_a_target(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = begin()
    imported: set[str] = set()

    def slowly(name: str) -> ModuleType:
        time.sleep(0.0 if name in imported else 3.5)
        imported.add(name)
        return import_module(name)

    monkeypatch.setattr(diagnosis, "PATIENCE", 3.0)
    monkeypatch.setattr(targets, "import_module", slowly)
    assert diagnosed(run).cause == "not-running"
    assert imported == {"ticdc_consumer.targets.sqlite.session"}


def test_a_changefeed_that_was_never_started(begin: Begin) -> None:
    _, run = begin()
    shown = diagnosed(run, changefeed="other")
    assert shown.cause == "no-status" and "run orders.toml" in shown.advice[0]


def test_a_consumer_that_does_not_run(begin: Begin) -> None:
    _, run = begin()
    assert diagnosed(run).cause == "not-running"


def test_a_message_that_cannot_be_read(begin: Begin) -> None:
    feed, run = begin()
    feed.send_raw(1, None, b"no json")
    feed.mark(200)
    assert run().code == 3
    shown = diagnosed(run)
    assert shown.cause == "bad-message" and "[1] offset 2" in shown.sentence
    look, aside, anew = shown.advice
    assert look == f"look at it: ticdc-consumer inspect orders.toml {feed.topic} 1 2"
    assert "run orders.toml --set on_error.quarantine=true" in aside
    assert "forget orders.toml, then ticdc-consumer load orders.toml --replace" in anew
    assert "exit code 3" in shown.evidence[0]


@pytest.mark.parametrize(
    ("sent", "read"),
    [("canal-json", "open-protocol"), ("debezium", "simple"), ("avro", "canal-json")],
)
def test_a_protocol_that_is_another(
    sent: str, read: str, mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    registry = MemoryRegistry()
    avro: dict[str, Any] = {"registry": registry, "avro_enable_watermark": True}
    feed = Feed(mock_kafka, sent, **(avro if sent == "avro" else {}))
    feed.create(10)
    feed.send(0, inserted(150, {"id": 1, "name": "one"}))
    feed.mark(200)
    with served(registry.schemas) as url:
        run = command([feed], sqlite_url, protocol=read)
        assert run().code == 3
        shown = diagnosed(run)
        assert shown.cause == "other-protocol" and f"look like {sent}," in shown.sentence
        assert "forget orders.toml" in shown.advice[0]
        run.set(protocol=sent, registry__url=url)
        assert run.command("forget", "--yes").code == 0
        assert run().code == 0
    assert run.rows("SELECT id, name FROM items") == [(1, "one")]


def test_another_error_that_ended_the_run(begin: Begin) -> None:
    feed, run = begin()
    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    with closing(open_target(run.target_url)) as target:
        target.execute("INSERT INTO items (id, name) VALUES (99, 'three')")
        target.execute("CREATE UNIQUE INDEX one_name ON items (name)")
    assert run().code == 3
    shown = diagnosed(run)
    assert shown.cause == "failed" and "items" in shown.sentence
    assert "exit code 3" in shown.evidence[0] and "run orders.toml" in shown.advice[0]


def test_a_ddl_that_waits_for_an_operator(
    begin: Begin, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    feed, run = begin()
    feed.ddl(150, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)", "items")
    feed.mark(200)
    assert run().code == 3
    shown = diagnosed(run)
    assert shown.cause == "ddl-waits" and "default is" in shown.sentence
    assert shown.advice[-1].endswith(f"run orders.toml --ddl-done {ts(150)}:1")
    capsys.readouterr()
    assert cli.main(["status", str(tmp_path / "changefeed.toml"), *run.arguments()]) == 0
    assert f"why             {shown.sentence}" in capsys.readouterr().out.splitlines()


def test_a_disk_that_is_full(mock_kafka: brokers.Mock, command: Make, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    feed = Feed(mock_kafka)
    feed.create(10, wide := ITEMS.replace("VARCHAR(40)", "VARCHAR(1000)"))
    feed.mark(100)
    with small_disk(folder, 1):
        run = command([feed], f"sqlite:///{folder / 'target.db'}")
        assert run().code == 0
        known, body = table(wide), "x" * 900
        rows = (inserted(150, {"id": n, "name": body}, known) for n in range(3000))
        feed.send(0, *rows)
        feed.mark(200)
        assert run().code == 1
        shown = diagnosed(run)
    assert shown.cause == "disk-full" and "target.db" in shown.sentence


def test_a_registry_that_is_away(mock_kafka: brokers.Mock, sqlite_url: str, command: Make) -> None:
    registry = MemoryRegistry()
    feed = Feed(mock_kafka, "avro", registry=registry, avro_enable_watermark=True)
    feed.create(10)
    feed.mark(100)
    with served(registry.schemas) as url:
        run = command([feed], sqlite_url, registry__url=url, **IMPATIENT)
        assert run().code == 0
    feed.send(0, inserted(150, {"id": 1, "name": "one"}))
    feed.mark(200)
    away = {"registry__url": "http://127.0.0.1:1", **IMPATIENT}  # its own port may be taken anew
    assert run(**away).code == 1
    assert diagnosed(run, **away).cause == "registry-unreachable"


def test_a_storage_of_claim_checks_that_is_away(begin: Begin, tmp_path: Path) -> None:
    feed, run = begin()
    claims = tmp_path / "claims"
    claims.write_text("a file, and no folder")
    large = inserted(150, {"id": 3, "name": "three"})
    feed.send(0, replace(large, incomplete=True, claim_check=f"{claims.as_uri()}/{CLAIM}"))
    feed.mark(200)
    assert run(source__claim_check=claims.as_uri(), **IMPATIENT).code == 1
    shown = diagnosed(run)
    assert shown.cause == "claim-check-unreachable" and CLAIM in shown.sentence


def test_a_log_that_is_deleted_before_it_is_applied(begin: Begin) -> None:
    feed, run = begin()
    feed.send(1, *(inserted(150, {"id": n, "name": "x"}) for n in range(3, 30)))
    feed.mark(200)
    feed.kafka.delete_records(feed.topic, 1, 2)
    shown = diagnosed(run)
    assert shown.cause == "retention-near" and "will soon delete" in shown.sentence
    assert "[1]" in shown.sentence and "needs them from offset 2" in shown.evidence[0]
    feed.kafka.delete_records(feed.topic, 1, 5)
    shown = diagnosed(run)
    assert shown.cause == "retention-near" and "has deleted" in shown.sentence


def test_a_topic_that_was_recreated_before_a_run(
    real_kafka: brokers.Real, sqlite_url: str, command: Make
) -> None:
    feed = Feed(real_kafka)
    feed.create(10)
    feed.mark(100)
    run = command([feed], sqlite_url)
    assert run().code == 0
    real_kafka.delete_topic(feed.topic)
    shown = diagnosed(run)
    assert shown.cause == "topics-changed" and f"topic {feed.topic} does not" in shown.sentence
    real_kafka.create_topic(feed.name, feed.partitions)
    for _ in range(9):
        feed.mark(200)
    shown = comes_to(run, "topic-recreated")
    assert "was deleted and recreated" in shown.sentence
    assert "ticdc-consumer forget orders.toml" in shown.advice[0]


def test_a_filter_that_lets_nothing_through(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    feed.mark(100)
    marks = count(101)
    run = command([feed], sqlite_url, tables__filter="shop.itms")
    with running(run):
        shown = comes_to(run, "filter-leaves-all-out", lambda: feed.mark(next(marks)))
    assert "shop.items" in shown.sentence and "check orders.toml" in shown.advice[0]


def test_a_log_whose_retention_is_near(
    real_kafka: brokers.Real, sqlite_url: str, command: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ticdc_consumer.source.kafka import tails

    monkeypatch.setattr(tails, "AGED", 2 / 3600)
    feed = Feed(real_kafka, partitions=0)
    feed.partitions = 1
    real_kafka.create_topic(feed.name, 1, **{"retention.ms": "3600000"})
    feed.create(10)
    feed.mark(100)
    run = command([feed], sqlite_url)
    assert run().code == 0
    assert diagnosed(run).cause == "not-running"
    feed.send(0, inserted(150, {"id": 1, "name": "one"}))
    feed.mark(200)
    shown = comes_to(run, "retention-near")
    assert "60 min" in shown.sentence


# --- one runs, and waits -------------------------------------------------------------------------


def test_topics_that_nobody_writes_to(
    mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    feed = Feed(mock_kafka)
    run = command([feed], sqlite_url)
    with running(run):
        shown = comes_to(run, "nobody-writes")
    assert feed.topic in shown.sentence and "dispatchers" in shown.advice[0]


def test_a_changefeed_that_has_stopped(begin: Begin) -> None:
    feed, run = begin()
    with running(run):
        feed.mark(120)
        assert until(lambda: run.resolved_ts == ts(120), SOON, pause=0.2)
        shown = comes_to(run, "ticdc-stopped")
    assert "the newest message in any partition is" in shown.sentence


def test_a_partition_without_a_resolved_ts(begin: Begin) -> None:
    feed, run = begin()
    with running(run):
        numbers = count(201)
        shown = comes_to(run, "partition-without-resolved-ts", lambda: feed.mark(next(numbers), 1))
        assert f"{feed.topic}[0] gets no resolved ts" in shown.sentence
        feed.mark(900)
        assert until(lambda: run.resolved_ts == ts(900), SOON, pause=0.2)


def test_a_transaction_that_is_not_complete(begin: Begin) -> None:
    feed, run = begin()
    with running(run):
        ids = count(3)

        def send() -> None:
            id_ = next(ids)
            feed.send(id_ % 2, inserted(150, {"id": id_, "name": "x"}))

        shown = comes_to(run, "transaction-open", send)
        assert str(ts(150)) in shown.sentence and "waiting messages all have" in shown.sentence
        feed.mark(200)
        assert until(lambda: run.resolved_ts == ts(200), SOON, pause=0.2)


def test_a_changefeed_that_sends_no_resolved_ts(begin: Begin) -> None:
    feed, run = begin()
    with running(run):
        numbers = count(150)
        row: Row = {"id": 3, "name": "x"}
        comes_to(run, "no-resolved-ts", lambda: feed.send(0, inserted(next(numbers), row)))


def test_a_schema_that_is_missing(mock_kafka: brokers.Mock, sqlite_url: str, command: Make) -> None:
    feed = Feed(mock_kafka, "simple")
    known = replace(table(), version=1, table_id=9)
    for number in range(feed.partitions):
        feed.send(number, Ddl("shop", "items", ITEMS, ts(10), definition=known))
    feed.mark(100)
    run = command([feed], sqlite_url)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 2, "name": "x"}, replace(known, version=3)))
    feed.mark(200)
    with running(run, limits__schema_wait=3600):
        shown = comes_to(run, "schema-missing")
    assert "version 3 of the schema of shop.items" in shown.sentence
    assert run(limits__schema_wait=0).code == 3
    assert diagnosed(run).cause == "schema-missing"


def test_brokers_that_are_away(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticdc_consumer.cut.opening.PATIENCE", 1.0)
    monkeypatch.setattr("ticdc_consumer.source.kafka.brokers.REQUEST_TIMEOUT", 1.0)
    feed, run = begin()
    assert isinstance(feed.kafka, brokers.Mock)
    with running(run):
        comes_to(run, "ticdc-stopped")
        feed.kafka.close()
        shown = comes_to(run, "brokers-unreachable")
        assert feed.kafka.bootstrap in shown.sentence
        own = "brokers-unreachable"
        assert until(lambda: cause_of(of_itself(run)) == own, SOON, pause=0.2)
    assert run().code == 1
    assert diagnosed(run).cause == "brokers-unreachable"


def test_a_topic_that_is_gone(begin: Begin) -> None:
    feed, run = begin()
    with running(run):
        comes_to(run, "ticdc-stopped")
        feed.kafka.delete_topic(feed.topic)
        shown = comes_to(run, "topics-changed")
    assert feed.topic in shown.sentence


def as_app() -> dict[str, Any]:
    """The settings of a user with a password, but for that."""
    return {
        "kafka__bootstrap.servers": server_address("KAFKA_SASL"),
        "kafka__security.protocol": "SASL_PLAINTEXT",
        "kafka__sasl.mechanism": "PLAIN",
        "kafka__sasl.username": "app",
    }


def test_brokers_that_refuse_their_user(
    real_kafka: brokers.Real, sqlite_url: str, command: Make
) -> None:
    feed = Feed(real_kafka)
    feed.create(10)
    feed.mark(100)
    secured = as_app()
    wrong: dict[str, Any] = {**secured, "kafka__sasl.password": "canary-7731"}
    run = command([feed], sqlite_url, **secured, **{"kafka__sasl.password": "app-secret"})
    assert run().code == 0
    with running(run):
        comes_to(run, "ticdc-stopped")
        shown = comes_to(run, "refused", **wrong)
    assert "password" in shown.sentence and "canary-7731" not in str(shown)


@pytest.mark.parametrize("allowed", [AclOperation.DESCRIBE, AclOperation.ALTER_CONFIGS])
def test_a_topic_that_is_denied(
    allowed: AclOperation, real_kafka: brokers.Real, sqlite_url: str, command: Make
) -> None:
    feed = Feed(real_kafka)
    feed.create(10)
    feed.mark(100)
    run = command([feed], sqlite_url, **as_app(), **{"kafka__sasl.password": "app-secret"})
    assert run().code == 0
    with real_kafka.denied(feed.topic, "app", allowed):
        feed.send(0, inserted(150, {"id": 1, "name": "one"}))
        feed.mark(200)
        outcome = run()
        shown = diagnosed(run)
    assert outcome.code == 1
    assert feed.topic in shown.sentence and "kafka-acls" in shown.sentence
    assert run().code == 0 and run.resolved_ts == ts(200)


def test_brokers_whose_certificate_has_expired(begin: Begin, tmp_path: Path) -> None:
    _, run = begin()
    with expired(tmp_path) as (address, authority):
        tls: dict[str, Any] = {
            "kafka__bootstrap.servers": address,
            "kafka__security.protocol": "SSL",
            "kafka__ssl.ca.location": str(authority),
        }
        assert run(**tls).code == 1
        shown = diagnosed(run, **tls)
    assert shown.cause == "refused" and "certificate verify failed" in shown.sentence
    assert "has expired" in shown.advice[0]


def test_ticdc_that_is_behind_itself(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "QUIET", 3600.0)
    feed, run = begin()
    with running(run):
        feed.mark(200)
        shown = comes_to(run, "ticdc-lags")
    assert "old when it sent it" in shown.sentence


def test_nothing_to_do(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "QUIET", 3600.0)
    feed, run = begin()
    with running(run):
        feed.mark(seconds_ago(0))
        shown = comes_to(run, "nothing-to-do")
    assert "waiting for a resolved ts above R" in shown.evidence[-1]


def test_a_clock_that_is_behind(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "QUIET", 3600.0)
    feed, run = begin()
    with running(run, limits__future_limit=3 * 3600):
        feed.mark(seconds_ago(-3 * 3500))
        shown = comes_to(run, "clock-skew")
    assert "3 h in the future of this machine" in shown.sentence


def test_a_consumer_that_took_over(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "QUIET", 3600.0)
    feed, run = begin()
    with running(run):
        feed.mark(200)
        assert until(lambda: run.resolved_ts == ts(200), SOON, pause=0.2)
        # A takeover is known by what the older consumer has written last, and that it still runs.
        assert until(lambda: of_itself(run).stage != "stopped", SOON, pause=0.2)
        with running(run):
            shown = comes_to(run, "fenced")
            feed.mark(300)
            assert until(lambda: run.resolved_ts == ts(300), SOON, pause=0.2)
    assert "took over from process" in shown.sentence


# --- one runs, and works -------------------------------------------------------------------------

SMALL_CUTS = {"limits__rows_per_epoch": 1}


def test_a_lag_that_grows(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "SLOW_SHARE", 1.1)
    feed, run = begin(**SMALL_CUTS)
    backlog(feed, run, 0.001)
    with running(run):
        shown = comes_to(run, "lag-grows")
    assert "loses another 0." in shown.sentence or "another 1.00 s" in shown.sentence


def test_a_consumer_that_catches_up(begin: Begin) -> None:
    feed, run = begin(**SMALL_CUTS)
    backlog(feed, run, 1.0)
    with running(run):
        shown = comes_to(run, "catching-up")
    assert "the rest takes about" in shown.sentence


def test_a_consumer_that_works(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thresholds, "LAG", 1e9)
    feed, run = begin(**SMALL_CUTS)
    backlog(feed, run, 0.001)
    with running(run):
        shown = comes_to(run, "working")
    assert shown.sentence.startswith("the consumer is working: ")


def test_a_memory_budget_that_is_too_small(
    begin: Begin, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "UNKNOWN_SIZE", 1)
    monkeypatch.setattr(thresholds, "SPILLED_CUTS", 1)
    feed, run = begin(spark=spark, **SMALL_CUTS)
    backlog(feed, run, 0.001, cuts=50)
    with running(run, limits__memory_budget=1):
        shown = comes_to(run, "memory-budget")
    assert "did not fit limits.memory_budget" in shown.sentence


def test_the_command_prints_it_for_people_and_for_programs(
    begin: Begin, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, run = begin()
    command = ["why", str(tmp_path / "changefeed.toml"), *run.arguments()]
    capsys.readouterr()
    assert cli.main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "no consumer is running" and lines[-1] == (
        f"  do    start it: ticdc-consumer run {command[1]}"
    )
    assert cli.main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cause"] == "not-running"
