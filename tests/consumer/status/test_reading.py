"""What `status` tells of a checkpoint."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, WaitingDdl
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.status import reading, text
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.activity.stored import StoredActivity
from ticdc_consumer.status.reading import TableStatus
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.sql.parser import parse_create_table

R = 429918007904436226
POSITIONS = {
    ("orders", n): Position("orders", "id", n, restart) for n, restart in ((1, 7), (0, 12))
}


SKIPPED = LedgerEntry(
    *(R - 1, 3, "shop", "q", "CREATE SEQUENCE q"), state="skipped", reason="it has no sequences"
)
LEFT_OUT = LedgerEntry(
    *(R - 1, 14, "shop", "v", "CREATE VIEW v AS SELECT 1"),
    state="skipped",
    reason="CREATE VIEW is not translated",
)
REPLACED = replace(LEFT_OUT, seq=15)


def options(url: str, changefeed: str = "orders", **more: object) -> Settings:
    return Settings(
        changefeed=changefeed,
        protocol="canal-json",
        topics=("orders",),
        kafka={},
        target_url=url,
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def target(target_url: str) -> Iterator[Target]:
    with closing(open_target(target_url)) as opened:
        yield opened


def begun(target: Target, options: Settings) -> Store:
    """A changefeed that is at R, with one pending DDL."""
    store = Store(target, options.changefeed)
    assert store.start(1.0) is None
    store.begin_first(Checkpoint.first(options, R, POSITIONS))
    with target.transaction():
        store.ledger.add(
            [
                LedgerEntry(R - 1, 1, "shop", "a", "DROP TABLE a", state="done"),
                LedgerEntry(R - 1, 2, "shop", "b", "ALTER TABLE `b` ADD c INT"),
                SKIPPED,
                LEFT_OUT,
                REPLACED,
            ]
        )
    return store


def test_it_tells_where_the_target_stands(target: Target, target_url: str) -> None:
    settings = options(target_url, at_least_once=("shop.log",))
    begun(target, settings)
    printed = json.loads(text.to_json(reading.read(target, settings)))
    assert printed.pop("lag_seconds") > 0
    assert printed == {
        "changefeed": "orders",
        "resolved_ts": str(R),
        "tidb_snapshot": str(R - 1),
        "resolved_time": "2021-12-20T13:30:49.196+00:00",
        "generation": 1,
        "why": {"cause": "not-running", "sentence": "no consumer is running"},
        "partitions": [
            {"topic": "orders", "partition": 0, "restart_offset": 12},
            {"topic": "orders", "partition": 1, "restart_offset": 7},
        ],
        "pending_ddl": [
            {
                "id": f"{R - 1}:2",
                "commit_ts": str(R - 1),
                "seq": 2,
                "schema": "shop",
                "table": "b",
                "query": "ALTER TABLE `b` ADD c INT",
                "kind": 0,
                "reason": None,
                "suggestion": [],
                "caveats": [],
                "command": f"ticdc-consumer run CONFIG --ddl-done {R - 1}:2",
            }
        ],
        "skipped_ddl": [
            {
                "id": f"{R - 1}:3",
                "commit_ts": str(R - 1),
                "seq": 3,
                "schema": "shop",
                "table": "q",
                "query": "CREATE SEQUENCE q",
                "kind": 0,
                "reason": "it has no sequences",
            }
        ],
        "views_left_out": [
            {
                "id": f"{R - 1}:15",
                "commit_ts": str(R - 1),
                "seq": 15,
                "schema": "shop",
                "table": "v",
                "query": "CREATE VIEW v AS SELECT 1",
                "kind": 0,
                "reason": "CREATE VIEW is not translated",
                "command": f"ticdc-consumer run CONFIG --ddl-run {R - 1}:15 FILE.sql",
            }
        ],
        "counters": {},
        "loading": None,
        "repair": None,
        "quarantined": [],
        "tables": [],
        "consumer": None,
        "at_least_once": ["shop.log"],
        "left_out": [],
    }


def test_people_read_the_same_as_a_table() -> None:
    result = reading.Status(
        changefeed="orders",
        resolved_ts=R,
        lag_seconds=4.25,
        generation=3,
        positions=[POSITIONS["orders", 0], POSITIONS["orders", 1]],
        pending=[LedgerEntry(R - 1, 2, "shop", "b", "ALTER TABLE `b` ADD c INT")],
        skipped=[SKIPPED],
        views_left_out=[LEFT_OUT],
        counters={"replays": 3, "changes": 12345},
        at_least_once=["shop.log"],
    )
    assert text.to_text(result).splitlines() == [
        "changefeed      orders (generation 3)",
        "resolved_ts     429918007904436226 (2021-12-20 13:30:49.196 UTC)",
        "tidb_snapshot   429918007904436225",
        "lag             4.2 s",
        "why             no consumer is running",
        "changes         12,345 since the changefeed's first start",
        "replays         3 since the changefeed's first start",
        "at least once   shop.log: rows may be in it more than once",
        "view left out   429918007904436225:14 shop.v: CREATE VIEW is not translated",
        "  to create it  ticdc-consumer run CONFIG --ddl-run 429918007904436225:14 FILE.sql",
        "DDL pending     429918007904436225:2 shop.b: ALTER TABLE `b` ADD c INT",
        "  to run SQL    ticdc-consumer run CONFIG --ddl-run 429918007904436225:2 FILE.sql",
        "  once done     ticdc-consumer run CONFIG --ddl-done 429918007904436225:2",
        "DDL skipped     429918007904436225:3 shop.q: it has no sequences; CREATE SEQUENCE q",
        "",
        "topic   partition  restart offset",
        "orders          0              12",
        "orders          1               7",
    ]


def status_of(stored: StoredActivity) -> reading.Status:
    return reading.Status(
        *("orders", R, 4.25, 3),
        positions=[],
        pending=[LedgerEntry(R - 1, 2, "shop", "b", "ALTER TABLE `b` ADD c INT")],
        skipped=[],
        counters={},
        at_least_once=[],
        tables=[TableStatus("shop.b", '"shop"."b"', 1, 2)],
        activity=stored,
    )


def ended_by(error: Stop | None, *ddls: WaitingDdl) -> list[str]:
    """What `status` shows of a consumer that ended so."""
    monitor = Monitor("orders")
    monitor.waits_for_operator(ddls)
    monitor.stopped(error)
    return text.to_text(status_of(StoredActivity(monitor.look(), 18.2))).splitlines()


def test_a_clean_end_does_not_look_like_a_failure() -> None:
    (line,) = [line for line in ended_by(None) if line.startswith("consumer ")]
    assert line.endswith(" ended without an error 18.2 s ago")
    (line,) = [line for line in ended_by(Stop("no room")) if line.startswith("consumer ")]
    assert line.endswith(" stopped by an error 18.2 s ago")


def test_the_reason_of_a_ddl_that_waits_is_shown_once_beside_why() -> None:
    waiting = WaitingDdl(f"{R - 1}:2", "no such type")
    stop = Stop(f"DDL {R - 1}:2 of shop.b stops: no such type")
    lines = ended_by(stop, waiting)
    assert [line for line in lines if line.startswith("last error")] == []
    assert "  because       no such type" in lines
    assert "last error      another reason" in ended_by(Stop("another reason"), waiting)


def test_figures_say_since_when_they_count() -> None:
    shown = [line for line in ended_by(None) if line.startswith("table ")]
    assert shown == [
        'table           shop.b in "shop"."b": 1 row deleted, 2 written since the consumer\'s start'
    ]


def test_a_changefeed_that_never_started_is_told_beside_others(
    target: Target, target_url: str
) -> None:
    with pytest.raises(Stop, match=r"other has no checkpoint in the target; its first run"):
        reading.read(target, options(target_url, "other"))
    begun(target, options(target_url))
    with pytest.raises(Stop, match=r"other has no checkpoint.*which has those of: orders"):
        reading.read(target, options(target_url, "other"))


def test_virtual_columns_that_the_target_lacks_have_their_reason(
    target: Target, target_url: str
) -> None:
    store = begun(target, options(target_url))
    table = parse_create_table(
        "CREATE TABLE t (id INT PRIMARY KEY, v BIGINT AS (id + 1), d DOUBLE AS (SQRT(id)),"
        " UNIQUE KEY u (d))",
        "public" if target.dialect == "postgresql" else str(target.engine.url.database),
    )
    for statement in target.create_table(*target.locate(table.schema, "t"), table):
        target.execute(statement)
    with target.transaction():
        store.ledger.define(table)
    result = reading.read(target, options(target_url))
    (left,) = result.left_out
    told = (
        "virtual column d is left out, and with it unique key u: SQRT does not mean the same here "
        "for certain"
    )
    assert left.text() == told
    assert f"left out        {table.schema}.t: {told}" in text.to_text(result).splitlines()
    (shown,) = json.loads(text.to_json(result))["left_out"]
    assert (shown["column"], shown["unique_keys"]) == ("d", ["u"])


def test_a_virtual_column_that_a_snapshots_table_lacks_is_told(
    target: Target, target_url: str
) -> None:
    store = begun(target, options(target_url))
    schema = "public" if target.dialect == "postgresql" else str(target.engine.url.database)
    queries = (
        "ALTER TABLE t ADD COLUMN v BIGINT AS (id + 1), ADD COLUMN w INT AS (id) VIRTUAL",
        "ALTER TABLE t DROP COLUMN w, ADD COLUMN b INT",
        "ALTER TABLE t RENAME COLUMN v TO x",
    )
    target.execute(f"CREATE TABLE {target.quote(*target.locate(schema, 't'))} (id INT PRIMARY KEY)")
    with target.transaction():
        store.ledger.note(schema, "t")
        store.ledger.add(
            [
                LedgerEntry(R - 1, number, schema, "t", query, state="done")
                for number, query in enumerate(queries, 4)
            ]
        )
    (left,) = reading.read(target, options(target_url)).left_out
    assert left.text() == (
        "virtual column x is left out: the table's CREATE TABLE did not come, so that the types "
        "which its columns have upstream are not certain"
    )
