"""While a consumer works, and after its end, the target shows what it is or was at."""

import json
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.torture_cli import Begin, ended_by
from support.torture_topics import inserted, ts
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.cli import progress
from ticdc_consumer.cli.progress import RunProgress
from ticdc_consumer.cut import opening
from ticdc_consumer.source.log import Log, survey
from ticdc_consumer.status.activity import recorder
from ticdc_consumer.status.activity.stored import StoredActivity, read
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import until

SOON = 60.0


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FIRST", 0.1)
    monkeypatch.setattr(recorder, "INTERVAL", 0.1)


def stored(url: str) -> StoredActivity:
    with closing(open_target(url)) as target:
        activity = read(target, "proof")
    assert activity is not None
    return activity


def soon(condition: Callable[[], bool]) -> bool:
    return until(condition, SOON, pause=0.1)


def test_a_waiting_run_is_seen_to_wait_and_later_to_have_stopped(begin: Begin) -> None:
    feed, run = begin()
    with run.consumer() as consumer:
        list(consumer.epochs("caught-up"))
        feed.send(1, inserted(150, {"id": 3, "name": "three"}))
        consumer._epochs.next(None, 0.5)
        assert consumer.activity.stage == "waiting"
        assert soon(lambda: stored(run.target_url).activity.stage == "waiting")
        now = stored(run.target_url)
        assert now.running and now.activity.resolved_ts == ts(100)
        assert now.activity.who == consumer.activity.who
        feed.mark(200)
        list(consumer.epochs(ts(200)))
        assert soon(lambda: stored(run.target_url).activity.tables == {"shop.items": (0, 1)})
    last = stored(run.target_url)
    assert not last.running and last.activity.stage == "stopped" and last.activity.error is None
    assert last.activity.resolved_ts == ts(200) and last.activity.committed


def test_the_error_that_ended_a_run_is_there_afterwards(begin: Begin) -> None:
    feed, run = begin()
    feed.send_raw(1, None, b"no json")
    feed.mark(200)
    assert run().code == 3
    error = stored(run.target_url).activity.error
    assert error is not None and error.exit_code == 3
    assert "[1] offset 2" in error.text
    # A start that fails keeps it; one that commits something ends it.
    assert run().code == 3
    assert stored(run.target_url).activity.error is not None


def test_a_waiting_ddl_is_shown_with_its_reason_and_the_way_out(
    begin: Begin, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    feed, run = begin()
    feed.ddl(150, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)", "items")
    feed.mark(200)
    assert run().code == 3
    capsys.readouterr()
    command = ["status", str(tmp_path / "changefeed.toml"), *run.arguments()]
    assert cli.main([*command, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    (ddl,) = printed["pending_ddl"]
    assert "default is" in ddl["reason"] and "ADD COLUMN" in ddl["suggestion"][0]
    assert ddl["command"].endswith(f"--ddl-done {ts(150)}:1")
    assert printed["consumer"]["stage"] == "stopped" and not printed["consumer"]["running"]
    assert printed["consumer"]["resolved_ts"] == printed["resolved_ts"] == str(ts(150) + 1)
    assert printed["tables"][0]["name"] == "shop.items"
    assert cli.main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  because       ") for line in lines)
    assert f"  once done     ticdc-consumer run {command[1]} --ddl-done {ts(150)}:1" in lines
    assert cli.main(["list", *command[1:]]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert (
        line.startswith(f"proof: R {ts(150) + 1} ") and ", 1 DDL pending; none is running: " in line
    )


def test_what_cannot_be_written_delays_and_fails_no_cut(begin: Begin) -> None:
    feed, run = begin()
    with closing(sqlite3.connect(run.target_url.removeprefix("sqlite:///"))) as other:
        other.execute("DROP TABLE ticdc_activity")
    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    with run.consumer() as consumer:
        assert soon(lambda: "ticdc_activity" in consumer.activity.unwritten)
        assert [epoch.rows for epoch in consumer.epochs("caught-up")] == [1]
        assert "cannot be written" in consumer.activity.sentence
    assert run.resolved_ts == ts(200)


def test_a_run_that_commits_nothing_prints_what_it_is_at(
    begin: Begin, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = begin()
    caplog.set_level(logging.INFO, "ticdc_consumer.cli")
    monkeypatch.setattr(progress, "SECONDS_OF_SILENCE", 0.2)
    lines, consumer = RunProgress(), run.consumer()
    with lines.watching(lambda: consumer.activity), consumer:
        consumer._epochs.next(None, 0.5)
        assert soon(lambda: caplog.text.count("waiting") >= 2)
    line = caplog.messages[-1]
    assert line.startswith(f"R {ts(100)} (") and "waiting for a resolved ts above R, " in line


def test_the_first_line_of_a_run_comes_sooner_than_the_next(
    begin: Begin, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = begin()
    caplog.set_level(logging.INFO, "ticdc_consumer.cli")
    caplog.clear()
    monkeypatch.setattr(progress, "SECONDS_TO_FIRST_WORD", 0.2)
    lines, consumer = RunProgress(), run.consumer()
    with lines.watching(lambda: consumer.activity), consumer:
        assert soon(lambda: len(caplog.messages) == 1)
        consumer._epochs.next(None, 0.5)
    assert len(caplog.messages) == 1


def test_a_start_that_waits_for_the_source_prints_that(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = begin()
    consumer, sentences = run.consumer(), []

    def looked(*arguments: Any) -> Log:
        sentences.append(consumer.activity.sentence)
        return survey(*arguments)

    monkeypatch.setattr(opening, "survey", looked)
    with consumer:
        pass
    (sentence,) = sentences
    assert sentence.startswith("starting by asking the source what its log holds, ")


def test_the_end_of_a_run_does_not_wait_for_a_target_that_hangs(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, run = begin()
    monkeypatch.setattr(recorder, "write", lambda *_: time.sleep(600))
    monkeypatch.setattr(recorder, "LAST_WORD", 0.2)
    feed.mark(200)
    began = time.monotonic()
    assert run().code == 0
    assert time.monotonic() - began < SOON


def test_a_run_in_an_error_shows_it_while_it_tries_again(begin: Begin) -> None:
    feed, run = begin()
    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    file = run.target_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        with run.consumer(limits__retries=1) as consumer:
            other.execute("BEGIN IMMEDIATE")
            outcome = ended_by(consumer.epochs("caught-up"))
            other.execute("ROLLBACK")
        assert outcome.code == 1
    error = stored(run.target_url).activity.error
    assert error is not None and "holds the write lock" in error.text
    assert error.kinds[0] == "Unavailable" and "Locked" in error.kinds
