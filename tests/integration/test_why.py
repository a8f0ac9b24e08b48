"""`why` names what is the matter, each made for real, in less than 5 seconds."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import make_url
from support import brokers
from support.torture_cli import Begin, Command, Make
from support.torture_topics import Feed, inserted, ts
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.state.activity import recorder
from ticdc_consumer.status import Diagnosis, diagnosis, why
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import until
from ticdc_encoder.errors import TicdcError

SOON = 60.0


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FIRST", 0.1)
    monkeypatch.setattr(recorder, "INTERVAL", 0.1)
    monkeypatch.setattr(diagnosis, "QUIET", 1.0)
    monkeypatch.setattr(diagnosis, "LONG", 1.0)


def diagnosed(run: Command, **settings: Any) -> Diagnosis:
    began = time.monotonic()
    explained = why(run.options(**settings), "orders.toml")
    assert time.monotonic() - began < 5
    return explained


def comes_to(run: Command, cause: str) -> Diagnosis:
    """The diagnosis, once it is this one."""
    last = diagnosed(run)

    def is_named() -> bool:
        nonlocal last
        last = diagnosed(run)
        return last.cause == cause

    assert until(is_named, SOON, pause=0.2), last
    return last


@contextmanager
def running(run: Command, **settings: Any) -> Iterator[None]:
    """A consumer applies what comes, in a thread of its own."""
    with run.consumer(spark__start="when-needed", **settings) as consumer:

        def apply() -> None:
            try:
                list(consumer.epochs())
            except TicdcError:
                return  # the target shows it

        thread = Thread(target=apply)
        thread.start()
        try:
            yield
        finally:
            consumer.stop()
            thread.join()


def begun(command: Make, kafka: brokers.Mock, url: str, schema: str) -> tuple[Feed, Command]:
    """The first cut is in the target: `items` with row 1, in a schema or database of its own."""
    feed = Feed(kafka, "canal-json")
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    feed.mark(100)
    run = command([feed], url, None, **{"tables__route.shop.*": f"{schema}.{{table}}"})
    outcome = run()
    assert outcome.code == 0, outcome.said
    return feed, run


def test_a_target_that_does_not_answer(begin: Begin) -> None:
    _, run = begin()
    shown = diagnosed(run, target__url="postgresql+psycopg://app@127.0.0.1:1/shop")
    assert shown.cause == "target-away" and "127.0.0.1:1" in shown.sentence


def test_a_target_that_takes_connections_and_says_nothing(begin: Begin) -> None:
    _, run = begin()
    with socket.socket() as frozen:
        frozen.bind(("127.0.0.1", 0))
        frozen.listen()
        port = frozen.getsockname()[1]
        shown = diagnosed(run, target__url=f"postgresql+psycopg://app@127.0.0.1:{port}/shop")
    assert shown.cause == "target-away" and "no answer within 4 s" in shown.sentence


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
    assert "exit code 3" in shown.evidence[0]


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


def test_a_ddl_that_waits_for_an_operator(begin: Begin) -> None:
    feed, run = begin()
    feed.ddl(150, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)", "items")
    feed.mark(200)
    assert run().code == 3
    shown = diagnosed(run)
    assert shown.cause == "ddl-waits" and "default is" in shown.sentence
    assert shown.advice[-1].endswith(f"run orders.toml --ddl-done {ts(150)}:1")


def test_a_changefeed_that_sends_nothing_and_one_that_sends_no_resolved_ts(begin: Begin) -> None:
    feed, run = begin()
    with running(run):
        feed.mark(120)
        assert until(lambda: run.resolved_ts == ts(120), SOON, pause=0.2)
        assert "old" in comes_to(run, "nothing-comes").sentence
        ends = time.monotonic() + SOON
        while diagnosed(run).cause != "no-resolved-ts":
            feed.send(0, inserted(150, {"id": 3, "name": "three"}))
            assert time.monotonic() < ends
            time.sleep(0.3)
        feed.mark(200)
        assert until(lambda: run.resolved_ts == ts(200), SOON, pause=0.2)


def test_a_consumer_that_works(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "QUIET", 3600.0)
    _, run = begin()
    with running(run):
        words = "waiting for a resolved ts above R, since"
        assert until(lambda: words in comes_to(run, "working").sentence, SOON, pause=0.2)


def test_a_lock_of_another_session(
    command: Make, mock_kafka: brokers.Mock, postgresql_url: str
) -> None:
    feed, run = begun(command, mock_kafka, postgresql_url, "public")
    with closing(open_target(postgresql_url)) as other, running(run):
        with other.transaction():
            other.execute("LOCK TABLE public.items")
            feed.send(0, inserted(150, {"id": 3, "name": "three"}))
            feed.mark(200)
            shown = comes_to(run, "retries")
            assert "lock" in shown.sentence
        assert until(lambda: run.resolved_ts == ts(200), SOON, pause=0.2)


def test_a_ddl_that_takes_long(command: Make, mock_kafka: brokers.Mock, mariadb_url: str) -> None:
    schema = str(make_url(mariadb_url).database)
    feed, run = begun(command, mock_kafka, mariadb_url, schema)
    with closing(open_target(mariadb_url)) as other, running(run):
        with other.transaction():
            other.query("SELECT id FROM items")
            feed.ddl(150, "ALTER TABLE `items` ADD COLUMN `n` INT", "items")
            feed.mark(200)
            shown = comes_to(run, "ddl-runs-long")
            assert "ADD COLUMN" in shown.sentence
        assert until(lambda: run.resolved_ts > ts(150) + 1, SOON, pause=0.2)


def test_the_command_prints_it_for_people_and_for_programs(
    begin: Begin, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, run = begin()
    command = ["why", str(tmp_path / "changefeed.toml"), *run.arguments()]
    capsys.readouterr()
    assert cli.main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "no consumer runs" and lines[-1] == (
        f"  do    start it: ticdc-consumer run {command[1]}"
    )
    assert cli.main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cause"] == "not-running"
