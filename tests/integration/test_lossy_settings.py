"""Every setting of a changefeed that takes away what exactness needs, in every protocol: `run` and
`check` name it, and where no message shows it, `check` says what must not be. What CSV's and the
storage's settings must be is in test_config.py and test_storage_source.py, too."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.brokers import Mock
from support.registry_server import served
from support.storage_sink import Sink
from support.torture_cli import Make
from support.torture_topics import deleted, inserted, ts, updated
from ticdc_consumer import cli
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Ddl, RowChange, Transaction
from ticdc_encoder.formats.registry import MemoryRegistry
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

KEYED = "CREATE TABLE `items` (`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(400), `n` INT)"
KEYLESS = "CREATE TABLE `items` (`id` INT NOT NULL, `name` VARCHAR(400), `n` INT)"
WHOLE = {
    "canal-json": "enable-tidb-extension=true",
    "open-protocol": "",
    "simple": "",
    "debezium": "enable-tidb-extension=true",
    "avro": "enable-tidb-extension=true&avro-enable-watermark=true",
}
ACCEPTED = {"tables__at_least_once": "shop.items"}
LARGE = "&max-message-bytes=500"
SELECTORS = {"sink": {"column-selectors": [{"matcher": ["*.*"], "columns": ["id", "name"]}]}}


def large(how: str) -> dict[str, Any]:
    handle = {"large-message-handle-option": how}
    if how == "claim-check":
        handle["claim-check-storage-uri"] = "memory://claims"
    return {"sink": {"kafka-config": {"large-message-handle": handle}}}


@dataclass(frozen=True)
class Lossy:
    """`uri` replaces what the protocol needs in the sink URI; `settings` are the consumer's.
    `run` is what a run stops with, None where it cannot; `check` what that says, else the same,
    "" where it says nothing yet: before the table is there, or of rows that come later."""

    protocol: str
    name: str
    uri: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    sql: str = KEYED
    told: bool = True
    run: str | None = None
    check: str | None = None


def everywhere() -> Iterator[Lossy]:
    for protocol in ("canal-json", "open-protocol", "simple"):
        for how, words in (
            ("handle-key-only", "set [source] upstream to the TiDB from which to read"),
            ("claim-check", "set [source] claim_check to the changefeed's claim-check-storage-uri"),
        ):
            yield Lossy(protocol, how, WHOLE[protocol] + LARGE, large(how), run=words)
    for protocol in WHOLE:
        words = "items.n: its rows come without this column, which their CREATE TABLE has"
        yield Lossy(protocol, "column-selectors", config=SELECTORS, run=words, check="")


CASES = [
    *everywhere(),
    Lossy(
        "canal-json",
        "enable-tidb-extension",
        "",
        run="set enable-tidb-extension=true in the changefeed's sink URI",
    ),
    Lossy(
        "canal-json",
        "delete-only-output-handle-key-columns without a key",
        config={
            "force-replicate": True,
            "sink": {"delete-only-output-handle-key-columns": True},
        },
        settings=ACCEPTED,
        sql=KEYLESS,
        run="and delete-only-output-handle-key-columns of the changefeed to false",
        check="",
    ),
    Lossy(
        "open-protocol",
        "output-old-value",
        config={"sink": {"open": {"output-old-value": False}}},
        check="Unless the changefeed has output-old-value = true in [sink.open], UPDATEs look like",
    ),
    Lossy(
        "open-protocol",
        "only-output-updated-columns without a key",
        "only-output-updated-columns=true",
        config={"force-replicate": True},
        settings=ACCEPTED,
        sql=KEYLESS,
        run="set only-output-updated-columns and delete-only-output-handle-key-columns",
        check="",
    ),
    Lossy(
        "simple",
        "send-bootstrap-interval-in-sec",
        config={"sink": {"send-bootstrap-interval-in-sec": 0}},
        settings={"limits__schema_wait": "0"},
        told=False,
        run="the changefeed repeats the newest by send-bootstrap-interval-in-sec and",
        check=" without a schema, which these messages do not contain",
    ),
    Lossy(
        "simple",
        "encoding-format",
        "encoding-format=avro",
        run="(it looks like simple with encoding-format=avro)",
    ),
    Lossy(
        "debezium",
        "enable-tidb-extension",
        "",
        run="rows, and no resolved ts: set enable-tidb-extension=true (of TiCDC 8.5.4's",
        check="the columns of shop.items: set enable-tidb-extension=true",
    ),
    Lossy(
        "debezium",
        "debezium-disable-schema",
        WHOLE["debezium"] + "&debezium-disable-schema=true",
        run="the columns of shop.items: set debezium-disable-schema=false",
    ),
    Lossy(
        "debezium",
        "output-old-value",
        config={"sink": {"debezium": {"output-old-value": False}}},
        check="make sure that it does not, or set output-old-value = true in [sink.debezium]",
    ),
    Lossy(
        "debezium",
        "output-old-value without a key",
        config={"force-replicate": True, "sink": {"debezium": {"output-old-value": False}}},
        settings=ACCEPTED,
        sql=KEYLESS,
        run="was not sent: set output-old-value = true in [sink.debezium] of the changefeed",
        check="or set output-old-value = true in [sink.debezium]",
    ),
    Lossy(
        "avro",
        "enable-tidb-extension",
        "",
        run="no resolved ts: set avro-enable-watermark=true and enable-tidb-extension=true",
        check="has no commit_ts: set enable-tidb-extension=true",
    ),
    Lossy(
        "avro",
        "avro-enable-watermark",
        "enable-tidb-extension=true",
        run="no resolved ts: set avro-enable-watermark=true and enable-tidb-extension=true",
        check="has no commit_ts: set avro-enable-watermark=true and enable-tidb-extension=true",
    ),
    Lossy(
        "avro",
        "output-raw-change-event",
        config={"sink": {"kafka-config": {"output-raw-change-event": True}}},
        check="No message shows whether the changefeed has output-raw-change-event = true",
    ),
]


def messages(topic: str, lossy: Lossy, registry: MemoryRegistry) -> list[Message]:
    uri = WHOLE[lossy.protocol] if lossy.uri is None else lossy.uri
    changefeed = Changefeed(
        f"kafka://h/{topic}?protocol={lossy.protocol}&partition-num=2&{uri}",
        lossy.config,
        "8.5.7",
        new_architecture=True,
        registry=registry,
        clock=lambda: 0,
    )
    table = parse_create_table(lossy.sql, "shop")
    one, two = ({"id": n, "name": "x" * 300, "n": n} for n in (1, 2))
    new = {**one, "n": 3}
    sent = []
    if lossy.told:
        sent += changefeed.ddl(Ddl("shop", "items", lossy.sql, ts(10), 3, table))
        sent += changefeed.resolve(ts(20))
    for number, (before, after) in enumerate([(None, one), (None, two), (one, new), (two, None)]):
        change = RowChange(table, ts(30 + number), before, after)
        sent += changefeed.encode(Transaction(change.commit_ts, (change,)))
    return [*sent, *changefeed.resolve(ts(100))]


@pytest.mark.parametrize("lossy", CASES, ids=[f"{case.protocol}, {case.name}" for case in CASES])
def test_what_is_lost_is_told_with_its_setting(
    lossy: Lossy,
    mock_kafka: Mock,
    sqlite_url: str,
    command: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    registry = MemoryRegistry()
    topic = mock_kafka.create_topic("lossy", 2)
    mock_kafka.produce(messages(topic, lossy, registry))
    with served(registry.schemas) as url:
        run = command(
            [],
            sqlite_url,
            protocol=lossy.protocol,
            kafka__topics=topic,
            **{"kafka__bootstrap.servers": mock_kafka.bootstrap, "kafka__log_level": 2},
            **lossy.settings,
            **({"registry__url": url} if lossy.protocol == "avro" else {}),
        )
        words = lossy.run or "" if lossy.check is None else lossy.check
        code = cli.main(["check", str(tmp_path / "changefeed.toml"), *run.arguments()])
        said = capsys.readouterr().out
        assert words in said
        if lossy.check is None:
            assert code == 3
        outcome = run()
    if lossy.run is None:
        assert (outcome.code, run.rows("SELECT id, n FROM items")) == (0, [(1, 3)]), outcome.said
    else:
        assert (outcome.code, lossy.run in outcome.said) == (3, True), outcome.said
        assert "items" not in [name for (name,) in run.rows("SELECT name FROM sqlite_master")] or (
            run.rows("SELECT * FROM items") == []
        )


@dataclass(frozen=True)
class LossyFiles:
    """The storage sink's, alike."""

    protocol: str
    name: str
    uri: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    sql: str = KEYED
    usage: str | None = None
    run: str | None = None
    check: str | None = None


IN_CSV = {"storage__csv": "{include-commit-ts = true}"}
OF_FILES = [
    LossyFiles("csv", "include-commit-ts", usage="set it in [sink.csv] of the changefeed"),
    LossyFiles(
        "csv",
        "output-old-value",
        settings=IN_CSV,
        check="make sure that it does not, or set output-old-value = true in [sink.csv]",
    ),
    LossyFiles(
        "csv",
        "output-old-value without a key",
        settings=IN_CSV | ACCEPTED,
        sql=KEYLESS,
        run="was not sent: set output-old-value = true in [sink.csv] of the changefeed",
        check="or set output-old-value = true in [sink.csv]",
    ),
    LossyFiles(
        "canal-json",
        "enable-tidb-extension",
        "&enable-tidb-extension=false",
        run="set enable-tidb-extension=true",
    ),
]


@pytest.mark.parametrize("lossy", OF_FILES, ids=[f"{one.protocol}, {one.name}" for one in OF_FILES])
def test_what_files_lose_is_told_with_its_setting(
    lossy: LossyFiles,
    sqlite_url: str,
    command: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sink = Sink(tmp_path / "sink", lossy.protocol, parameters=lossy.uri, force_replicate=True)
    of = parse_create_table(lossy.sql, "shop")
    one, two = ({"id": n, "name": "x", "n": n} for n in (1, 2))
    sink.create(10, lossy.sql)
    sink.send(inserted(20, one, of), inserted(20, two, of), updated(30, one, {**one, "n": 3}, of))
    sink.send(deleted(40, two, of))
    sink.mark(100)
    where = {"protocol": lossy.protocol, "storage__url": sink.folder.as_uri()}
    run = command([], sqlite_url, **where, **lossy.settings)
    code = cli.main(["check", str(tmp_path / "changefeed.toml"), *run.arguments()])
    told = capsys.readouterr()
    outcome = run()
    if lossy.usage is not None:
        assert (code, outcome.code) == (2, 2)
        assert lossy.usage in told.err
        assert lossy.usage in outcome.said
        return
    assert (lossy.check or lossy.run or "") in told.out
    if lossy.run is None:
        assert (outcome.code, run.rows("SELECT id, n FROM items")) == (0, [(1, 3)]), outcome.said
    else:
        assert (outcome.code, lossy.run in outcome.said) == (3, True), outcome.said
