"""`ticdc-consumer trace`: every message of one row, what became of it, what the target holds."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from support.brokers import Mock, Real
from support.registry_server import served
from support.storage_sink import Sink
from support.torture_cli import Begin, Command, Make
from support.torture_topics import Feed, deleted, inserted, table, ts, updated
from ticdc_consumer import cli
from ticdc_consumer.commands.trace.tracing import TraceRequest, trace_row
from ticdc_consumer.cut.read.row_key import RowKey
from ticdc_encoder.event import Row
from ticdc_encoder.formats.registry import MemoryRegistry

Trace = Callable[..., tuple[int, Any]]


@pytest.fixture
def trace(capsys: pytest.CaptureFixture[str]) -> Trace:
    """The exit code, and the document, or the text of an error."""

    def trace(run: Command, *words: str, name: str = "shop.items", **settings: Any) -> Any:
        file, sets = str(run._file), run.arguments(**settings)
        capsys.readouterr()
        code = cli.main(["trace", file, name, *words, "--json", *sets])
        printed = capsys.readouterr()
        return code, json.loads(printed.out) if printed.out else printed.err

    return trace


def entries(document: Any) -> list[tuple[Any, ...]]:
    return [
        (int(e["commit_ts"]) - ts(0), e["kind"], e["role"], e["partition"], e["fate"])
        for e in document["entries"]
    ]


def history_of_one(feed: Feed) -> None:
    one: Row = {"id": 1, "name": "one"}
    uno: Row = {"id": 1, "name": "uno"}
    feed.send(0, updated(110, one, uno), inserted(111, {"id": 3, "name": "x"}))
    feed.send(0, updated(110, one, uno))
    feed.mark(120)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))


@pytest.fixture(params=["canal-json", "open-protocol", "debezium", "simple", "avro"])
def begun(
    request: pytest.FixtureRequest, mock_kafka: Mock, sqlite_url: str, command: Make
) -> Iterator[tuple[Feed, Command]]:
    """A changefeed of each protocol with `items` and row 1, at R = 120; then its DELETE."""
    protocol, registry = request.param, MemoryRegistry()
    with served(registry.schemas) as url:
        more: dict[str, Any] = {}
        if protocol == "avro":
            more = {"registry": registry, "avro_enable_watermark": True}
        feed = Feed(mock_kafka, protocol, **more)
        run = command([feed], sqlite_url, **({"registry__url": url} if more else {}))
        feed.create(10)
        feed.send(0, inserted(20, {"id": 1, "name": "one"}), inserted(20, {"id": 2, "name": "x"}))
        feed.mark(100)
        history_of_one(feed)
        outcome = run()
        assert outcome.code == 0, outcome.said
        feed.send(0, deleted(130, {"id": 1, "name": "uno"}))
        yield feed, run


def test_every_message_of_a_row_is_shown_with_what_became_of_it(
    begun: tuple[Feed, Command], trace: Trace
) -> None:
    _, run = begun
    code, document = trace(run, "id=1")
    told = entries(document)
    assert code == 0
    assert told == [
        (10, "ddl", "ddl", 0, "done"),
        (20, "insert", "change", 0, "applied"),
        (20, "insert", "replay", 0, "dropped"),
        (110, "update", "change", 0, "applied"),
        (110, "update", "duplicate", 0, "dropped"),
        (130, "delete", "change", 0, "not applied: at or above R"),
    ]
    assert document["net"] == {"exists": True, "commit_ts": str(ts(110)), "reason": None}
    assert (document["target"]["rows"], document["agrees"]) == (1, True)
    assert "uno" not in json.dumps(document)


def test_values_are_shown_if_they_are_asked_for(begin: Begin, trace: Trace) -> None:
    feed, run = begin()
    history_of_one(feed)
    assert run().code == 0
    _, document = trace(run, "id=1", "--show-values")
    update = document["entries"][3]
    assert (update["before"]["name"], update["after"]["name"]) == ("one", "uno")
    assert update["changed"] == ["name"]
    assert document["target"]["values"] == [{"id": "1", "name": "uno"}]


def test_a_key_that_changed_names_both_keys(begin: Begin, trace: Trace) -> None:
    feed, run = begin()
    feed.send(0, updated(110, {"id": 1, "name": "one"}, {"id": 7, "name": "one"}))
    feed.send(1, deleted(111, {"id": 2, "name": "two"}))
    feed.send(0, inserted(111, {"id": 8, "name": "two"}))
    feed.mark(120)
    assert run().code == 0
    for key, keys in (("1", [{"id": "7"}]), ("7", [{"id": "1"}])):
        _, document = trace(run, f"id={key}")
        assert document["entries"][-1]["other_keys"] == keys
    assert trace(run, "id=2")[1]["entries"][-1]["other_keys"] == []
    for key, other in (("2", "8"), ("8", "2")):
        _, document = trace(run, f"id={key}", "--follow")
        last = document["entries"][-1]
        assert (last["half"], last["other_keys"]) == (True, [{"id": other}])
        assert document["agrees"] is True


def test_a_target_that_was_changed_by_hand_is_noticed(
    begin: Begin, trace: Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    _, run = begin()
    with sqlite3.connect(run.target_url.removeprefix("sqlite:///")) as connection:
        connection.execute("DELETE FROM items WHERE id = 1")
    connection.close()
    code, document = trace(run, "id=1")
    assert (code, document["target"]["rows"], document["agrees"]) == (5, 0, False)
    assert cli.main(["trace", str(run._file), "shop.items", "id=1", *run.arguments()]) == 5
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "shop.items id=1"
    assert lines[-1] == 'target  "items" has no such row: NOT as the log says'
    assert lines[-2].startswith("net     at R the row exists, by the insert at ")


def test_only_the_time_that_is_asked_for_is_told(begin: Begin, trace: Trace) -> None:
    feed, run = begin()
    history_of_one(feed)
    assert run().code == 0
    _, document = trace(run, "id=1", "--from", str(ts(30)))
    assert [entry[0] for entry in entries(document)] == [110, 110]
    assert document["agrees"] is True
    _, document = trace(run, "id=1", "--to", str(ts(30)))
    assert [entry[0] for entry in entries(document)] == [10, 20]
    assert document["net"]["reason"] == "--to is below R"
    _, document = trace(run, "id=1", "--from", "2100-01-01 12:00")
    assert (document["entries"], document["agrees"]) == ([], None)


ORDER_LINES = (
    "CREATE TABLE `lines` (`order` BIGINT UNSIGNED, `line` DECIMAL(6,2), `kind` ENUM('a','b'), "
    "`at` DATETIME(3), `tag` VARBINARY(9), PRIMARY KEY (`order`, `line`, `kind`, `at`, `tag`))"
)


def test_a_composite_key_is_written_alike_for_any_target(
    mock_kafka: Mock, target_url: str, command: Make, trace: Trace
) -> None:
    lines, feed = table(ORDER_LINES), Feed(mock_kafka)
    feed.create(105, ORDER_LINES)
    key: Row = {
        "order": 2**64 - 1,
        "line": Decimal("1.50"),
        "kind": 2,
        "at": "2024-05-25 10:00:00.100",
        "tag": b"\xff\x00",
    }
    feed.send(0, inserted(110, key, lines), inserted(110, {**key, "kind": 1}, lines))
    feed.mark(120)
    database = sa.make_url(target_url)
    schema = "public" if database.drivername.startswith("postgresql") else database.database
    run = command([feed], target_url, tables__route=f'{{"*.*" = "`{schema}`.{{table}}"}}')
    outcome = run()
    assert outcome.code == 0, outcome.said
    words = ["LINE=1.5", f"order={2**64 - 1}", "kind=b", "tag=0xff00"]
    for at in ("2024-05-25 10:00:00.1", "2024-05-25 10:00:00.100"):
        code, document = trace(run, *words, f"at={at}", "--show-values", name="shop.lines")
        assert (code, document["target"]["rows"], document["agrees"]) == (0, 1, True)
        (values,) = document["target"]["values"]
        assert (values["order"], values["tag"]) == (str(2**64 - 1), "0xff00")


WRONG = [
    (["name=one"], {}, "a row of shop.items is identified by id: give id=..."),
    (["id=one"], {}, "shop.items.id: one is not a value of INT"),
    (["id"], {}, "id is not COLUMN=VALUE, such as id=5"),
    (["id=1", "ID=2"], {}, "column id is given twice"),
    (["id=1"], {"tables__filter": "other.*"}, "shop.items is left out by [tables] filter"),
]


@pytest.mark.parametrize(("words", "settings", "text"), WRONG)
def test_what_names_no_row_is_refused(
    words: list[str], settings: dict[str, str], text: str, begin: Begin, trace: Trace
) -> None:
    _, run = begin()
    code, error = trace(run, *words, **settings)
    assert code == 2
    assert text in error


def test_a_message_that_cannot_be_read_leaves_the_verdict_open(begin: Begin, trace: Trace) -> None:
    feed, run = begin()
    feed.send_raw(1, None, b'{"isDdl":false,"table":"items"')
    code, document = trace(run, "id=1")
    assert (code, document["unreadable"], document["agrees"]) == (0, 1, None)
    assert document["errors"][0].startswith(f"{feed.topic}[1] offset 2: not JSON")
    assert document["net"]["reason"] == "some messages could not be read"


def test_a_row_of_simple_that_lacks_its_schema_is_counted(begin: Begin, trace: Trace) -> None:
    feed, run = begin("simple")
    unknown = replace(table(), version=7, table_id=9)
    feed.send(1, inserted(150, {"id": 1, "name": "x"}, unknown))
    code, document = trace(run, "id=1")
    unread = [{"schema": "shop", "table": "items", "version": 7, "rows": 1}]
    assert (code, document["unread"], document["agrees"]) == (0, unread, None)
    feed.bootstrap(0, unknown)
    _, document = trace(run, "id=1")
    assert document["unread"] == []
    assert entries(document)[-1][:3] == (150, "insert", "change")


def test_a_log_whose_beginning_was_removed_says_where_it_begins(begin: Begin, trace: Trace) -> None:
    feed, run = begin()
    feed.kafka.delete_records(feed.topic, 0, 2)  # CREATE TABLE and row 1
    _, document = trace(run, "id=1")
    assert [(part["begin"], part["end"]) for part in document["log"]] == [(2, 3), (0, 2)]
    assert document["entries"] == []
    assert document["net"]["reason"] == "the log has no change of the row below R"
    assert document["target"]["rows"] == 1


def test_before_the_first_start_the_log_is_told_alone(
    mock_kafka: Mock, sqlite_url: str, command: Make, trace: Trace
) -> None:
    feed = Feed(mock_kafka)
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    code, document = trace(command([feed], sqlite_url), "id=1")
    assert (code, [entry[0] for entry in entries(document)]) == (0, [10, 20])
    assert document["target"]["problem"] == "nothing was applied to the target yet"


def test_files_of_a_storage_are_read_too(
    tmp_path: Path, sqlite_url: str, command: Make, trace: Trace
) -> None:
    sink = Sink(tmp_path / "sink")
    settings = {"storage__url": (tmp_path / "sink").as_uri(), "protocol": "csv"}
    settings["storage__csv"] = "{include-commit-ts = true}"
    sink.create(10)
    sink.send(inserted(20, {"id": 1, "name": "one"}), inserted(30, {"id": 2, "name": "two"}))
    sink.mark(100)
    run = command([], sqlite_url, **settings)
    outcome = run()
    assert outcome.code == 0, outcome.said
    code, document = trace(run, "id=1")
    assert [entry[:3] for entry in entries(document)] == [
        (10, "ddl", "ddl"),
        (20, "insert", "change"),
    ]
    assert (code, document["agrees"]) == (0, True)


def test_sparks_tasks_read_a_long_log_of_a_real_kafka(
    real_kafka: Real, sqlite_url: str, command: Make, spark: SparkSession
) -> None:
    feed = Feed(real_kafka, partitions=3)
    feed.create(10)
    feed.send(1, *(inserted(20 + n, {"id": n, "name": "x"}) for n in range(2_000)))
    feed.mark(5_000)
    feed.send(1, inserted(27, {"id": 7, "name": "x"}))
    run = command([feed], sqlite_url)
    assert run().code == 0
    shares: list[float] = []
    traced = trace_row(
        run.options(spark__from_messages="0"),
        TraceRequest(("shop", "items"), RowKey.parse(["id=7"])),
        shares.append,
        spark,
    )
    assert [each.role for each in traced.entries] == ["ddl", "change", "replay"]
    assert traced.agrees is True
    assert all(part.time > 0 for part in traced.log)
