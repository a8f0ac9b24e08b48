"""Each command as a function gives what the command prints. The command line's own tests, with a
real TiDB, are those of `load`, `verify` and `repair`, too."""

import json
import sqlite3
from contextlib import closing
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from support.torture_cli import Begin, Command
from support.torture_topics import inserted, ts
from ticdc_consumer import Stop, Usage, api
from ticdc_consumer.cut import cut_reader
from ticdc_consumer.cut.reconcile.gathered import Gathered, gather_here
from ticdc_consumer.status.text import to_json


@pytest.fixture
def run(begin: Begin) -> Command:
    """A changefeed at 100 whose topic has a row and a DDL above it."""
    feed, run = begin()
    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.ddl(160, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)", "items")
    feed.mark(200)
    return run


def file_of(run: Command) -> str:
    """Of its SQLite."""
    return str(sa.make_url(run.target_url).database)


def printed(run: Command, name: str, *arguments: str) -> Any:
    return json.loads(run.command(name, "--json", *arguments).printed)


def test_check_gives_its_findings(run: Command) -> None:
    found = [finding.to_json() for finding in api.check(run.options())]
    assert found == printed(run, "check")["findings"]
    assert "items" in json.dumps(found)


def test_plan_gives_cuts_and_raises_what_would_end_the_run(run: Command) -> None:
    cuts = []
    with pytest.raises(Stop, match="stops: "):
        for cut in api.plan(run.options()):
            cuts.append(cut)
    assert (cuts[0].begin, cuts[0].rows) == (ts(100), 1)
    assert [cut["rows"] for cut in printed(run, "plan")["cuts"]] == [cut.rows for cut in cuts]


def test_status_and_why_give_where_it_is(run: Command) -> None:
    status = api.status(run.options())
    assert (status.changefeed, status.resolved_ts) == ("proof", ts(100))
    assert json.loads(to_json(status))["partitions"] == printed(run, "status")["partitions"]
    assert api.why(run.options()).cause == printed(run, "why")["cause"]
    with pytest.raises(FrozenInstanceError):
        status.resolved_ts = 0  # type: ignore[misc]


def test_trace_gives_what_became_of_a_row(run: Command) -> None:
    history = api.trace(run.options(), ("shop", "items"), {"id": "1"})
    assert history.agrees is True
    assert [each.observation.commit_ts for each in history.entries][-1] >= ts(20)
    with pytest.raises(Usage, match="is identified by id"):
        api.trace(run.options(), ("shop", "items"), {"name": "one"})


def test_a_ddl_that_stops_is_answered_by_its_id(run: Command) -> None:
    consumer = run.consumer()
    with pytest.raises(Stop) as stopped, consumer:
        list(consumer.epochs("caught-up"))
    ddl = stopped.value.ddl
    assert ddl is not None
    assert (stopped.value.commit_ts, stopped.value.table) == (ts(160), ("shop", "items"))
    assert (ddl.id, ddl.statement.split()[:2]) == (f"{ts(160)}:1", ["ALTER", "TABLE"])
    assert ddl.reason in str(stopped.value)
    with run.consumer() as consumer:
        entry = consumer.ddl_run(ddl.id, "ALTER TABLE items ADD COLUMN n INTEGER DEFAULT 2")
        assert entry.state == "done"
        assert list(consumer.epochs("caught-up"))[-1].resolved_ts == ts(200)


def test_a_changefeed_is_listed_until_it_is_forgotten(run: Command) -> None:
    options = run.options()
    assert [each.changefeed for each in api.changefeeds(options)] == ["proof"]
    assert api.forget(options).resolved_ts == ts(100)
    assert api.changefeeds(options) == []
    with pytest.raises(Stop, match="no checkpoint"):
        api.status(options)


def test_a_checkpoint_goes_on_in_another_target(run: Command, tmp_path: Path) -> None:
    exported = api.export_checkpoint(run.options())
    assert (exported.changefeed, exported.resolved_ts) == ("proof", ts(100))
    copy = tmp_path / "copy.db"
    with closing(sqlite3.connect(copy)) as other, closing(sqlite3.connect(file_of(run))) as file:
        file.backup(other)
    moved = replace(run.options(), target_url=f"sqlite:///{copy}")
    api.forget(moved)
    document = json.loads(json.dumps(exported.document))
    imported = api.import_checkpoint(moved, document)
    assert imported == api.Imported("proof", ts(100))
    assert api.status(moved).resolved_ts == ts(100)
    with pytest.raises(Stop, match="has a checkpoint of changefeed proof already"):
        api.import_checkpoint(moved, document)


def test_inspect_gives_a_message_as_its_events(run: Command) -> None:
    (topic,) = run.options().topics
    inspection = api.inspect(run.options(), topic, 0, 0)
    assert (inspection.topic, inspection.offset, inspection.error) == (topic, 0, None)
    assert json.loads(inspection.events[0]) and inspection.excerpts == []
    with pytest.raises(Usage, match="and no offset 999"):
        api.inspect(run.options(), topic, 0, 999)


def test_a_program_sees_how_far_a_small_cut_is_read(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[tuple[str, int, int]]()
    consumer = run.consumer()

    def looking(*arguments: Any) -> Gathered:
        gathered = gather_here(*arguments)
        if (cut := consumer.activity.cut) is not None:
            seen.append((consumer.activity.stage, cut.messages_read, cut.messages))
        return gathered

    monkeypatch.setattr(cut_reader, "gather_here", looking)
    with pytest.raises(Stop), consumer:
        list(consumer.epochs("caught-up"))
    assert seen
    assert {(stage, read == messages > 0) for stage, read, messages in seen} == {("reading", True)}
