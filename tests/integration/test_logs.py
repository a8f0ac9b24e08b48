"""What a run logs: the same events as lines for people and as objects for programs."""

import json
import sys

import pytest
from support.torture_cli import Begin
from support.torture_topics import ITEMS, inserted, ts
from ticdc_consumer import cli


def objects(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_run_logs_what_it_does_as_objects_without_rows(begin: Begin) -> None:
    feed, run = begin()
    feed.send(0, inserted(150, {"id": 3, "name": "private-value"}))
    feed.mark(200)
    outcome = run("--log-format", "json", "--log-level", "debug")
    assert outcome.code == 0
    printed = objects(outcome.said)
    events = [line["event"] for line in printed]
    assert events.count("started") == events.count("commit") == events.count("ended") == 1
    assert {"cut", "rows", "position", "progress"} <= set(events)
    commit = printed[events.index("commit")]
    assert commit["resolved_ts"] == str(ts(200)) and commit["changes"] == 1
    assert commit["logger"] == "ticdc_consumer.cut.epoch"
    assert float(str(commit["seconds"])) > 0
    rows = printed[events.index("rows")]
    assert (rows["table"], rows["rows_written"]) == ("shop.items", 1)
    position = printed[events.index("position")]
    assert (position["topic"], position["partition"]) == (feed.topic, 0)
    assert "private-value" not in outcome.said


def test_the_same_events_are_the_lines_of_a_run(begin: Begin) -> None:
    feed, run = begin()
    feed.create(150, ITEMS.replace("items", "other"))
    feed.send(0, inserted(160, {"id": 3, "name": "x"}))
    feed.mark(200)
    lines = run().said.splitlines()
    assert lines[0].startswith(f"DDL {ts(150)}:1 in shop: CREATE TABLE `other`")
    assert lines[1].startswith("R ") and " changes/s: " in lines[1]
    assert lines[-1].startswith(f"done: R {ts(200)} (")


def test_a_quiet_run_logs_warnings_and_the_error_that_ends_it(begin: Begin) -> None:
    feed, run = begin()
    feed.send(0, inserted(150, {"id": 3, "name": "x"}))
    feed.mark(200)
    assert run("--log-level", "warning").said == ""
    feed.send_raw(1, None, b"no json")
    feed.mark(300)
    outcome = run("--log-level", "error", "--log-format", "json")
    (failed,) = objects(outcome.said)
    assert (outcome.code, failed["event"], failed["exit_code"]) == (3, "failed", 3)
    assert (failed["topic"], failed["partition"]) == (feed.topic, 1)


def test_lines_that_nobody_reads_end_the_run(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    feed, run = begin()
    feed.send(0, inserted(150, {"id": 3, "name": "x"}))
    feed.mark(200)

    class Closed:
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def flush(self) -> None: ...

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stderr", Closed())
    assert cli.main(["run", str(run._file), *run.arguments()]) == 141
