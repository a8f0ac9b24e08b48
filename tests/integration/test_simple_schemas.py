"""Simple's rows and the schemas that they name: what waits, what is kept, what is refused."""

from dataclasses import replace

import pytest
from support.brokers import Mock
from support.torture_cli import Command, Make, refuses
from support.torture_topics import ITEMS, Feed, inserted, table, ts
from ticdc_encoder.event import Ddl, RowChange, Table, Value

V1 = replace(table(), version=1, table_id=9)
V2 = replace(
    table("CREATE TABLE `items` (`id` INT PRIMARY KEY, `name` VARCHAR(40), `n` BIGINT UNSIGNED)"),
    version=2,
    table_id=9,
)
ADD = "ALTER TABLE `items` ADD COLUMN `n` BIGINT UNSIGNED"
NOW = {"limits__schema_wait": "0"}


def item(number: int, id: int, of: Table) -> RowChange:
    row: dict[str, Value] = {"id": id, "name": "x", "n": 7}
    return inserted(number, {column.name: row[column.name] for column in of.columns}, of)


def items(run: Command) -> list[int]:
    return [id for (id,) in run.rows("SELECT id FROM items ORDER BY id")]


def versions(run: Command) -> list[int]:
    return sorted(int(v) for (v,) in run.rows("SELECT version FROM ticdc_schema"))


def define(feed: Feed, number: int, query: str, definition: Table) -> None:
    for partition in range(feed.partitions):
        feed.send(partition, Ddl("shop", "items", query, ts(number), definition=definition))


@pytest.fixture(params=["json", "avro"])
def begun(
    request: pytest.FixtureRequest, mock_kafka: Mock, sqlite_url: str, command: Make
) -> tuple[Feed, Command]:
    """A changefeed whose first cut, up to 100, is applied: `items`, version 1, with row 1."""
    encoding = request.param
    feed = Feed(mock_kafka, "simple", encoding_format=encoding)
    define(feed, 10, ITEMS, V1)
    feed.send(0, item(20, 1, V1))
    feed.mark(100)
    run = command([feed], sqlite_url, source__encoding_format=encoding, tables__filter="shop.items")
    assert run().code == 0
    return feed, run


def test_a_row_whose_schema_nobody_told_holds_its_cut(begun: tuple[Feed, Command]) -> None:
    feed, run = begun
    feed.send(1, item(150, 2, replace(V1, version=3)))
    feed.send(0, item(160, 3, V1))
    feed.mark(200)
    place = f"shop.items: {feed.topic}[1] offset "
    refuses(run, place, "has a row of version 3 of its schema", "send-bootstrap-", **NOW)
    feed.bootstrap(0, replace(V1, version=3))
    assert run(**NOW).code == 0
    assert (run.resolved_ts, items(run)) == (ts(200), [1, 2, 3])


def test_the_schema_may_come_to_any_partition_and_after_its_row(
    begun: tuple[Feed, Command],
) -> None:
    feed, run = begun
    feed.send(0, item(150, 2, replace(V1, version=3)))
    feed.send(1, item(150, 3, replace(V1, version=4)))
    feed.bootstrap(1, replace(V1, version=3))
    feed.bootstrap(1, replace(V1, version=4))
    feed.mark(200)
    assert run(**NOW).code == 0
    assert items(run) == [1, 2, 3]
    assert versions(run) == [1, 3, 4]


def test_a_restart_past_the_message_that_told_a_schema_knows_it(
    begun: tuple[Feed, Command],
) -> None:
    feed, run = begun
    feed.bootstrap(0, replace(V1, version=3))
    feed.mark(200)
    assert run().code == 0
    ((start,),) = run.rows('SELECT restart_offset FROM ticdc_offset WHERE "partition" = 0')
    assert start == 5  # past CREATE, row, mark, BOOTSTRAP, mark
    feed.send(1, item(250, 2, replace(V1, version=3)))
    feed.mark(300)
    assert run(**NOW).code == 0
    assert items(run) == [1, 2]


def test_a_row_of_a_later_cut_that_waits_is_read_again(begun: tuple[Feed, Command]) -> None:
    feed, run = begun
    feed.send(1, item(250, 2, replace(V1, version=3)))
    feed.mark(200)
    assert run(**NOW).code == 0
    assert (run.resolved_ts, items(run)) == (ts(200), [1])
    feed.bootstrap(0, replace(V1, version=3))
    feed.mark(300)
    assert run(**NOW).code == 0
    assert items(run) == [1, 2]


def test_replays_and_tables_that_are_left_out_wait_for_nothing(
    begun: tuple[Feed, Command],
) -> None:
    feed, run = begun
    feed.send(1, item(50, 8, replace(V1, version=3)))
    feed.send(1, item(150, 9, replace(V1, name="other", version=3)))
    feed.mark(200)
    assert run(**NOW).code == 0
    assert (run.resolved_ts, items(run), versions(run)) == (ts(200), [1], [1])


def test_older_versions_go_with_the_ddl_that_ends_them(
    begun: tuple[Feed, Command],
) -> None:
    feed, run = begun
    assert versions(run) == [1]
    feed.send(1, item(140, 2, V1))
    define(feed, 150, ADD, V2)
    feed.send(1, item(160, 3, V2), item(120, 4, V1))
    feed.mark(200)
    assert run(**NOW).code == 0
    assert run.rows("SELECT id, n FROM items ORDER BY id") == [
        (1, None),
        (2, None),
        (3, "7"),
        (4, None),
    ]
    assert versions(run) == [2]


def test_two_schemas_of_one_version_are_refused(begun: tuple[Feed, Command]) -> None:
    feed, run = begun
    feed.bootstrap(0, replace(V2, version=1))
    feed.mark(200)
    refuses(run, "shop.items: two schemas of one version, 1")


def test_the_other_encoding_is_refused_by_its_looks(begun: tuple[Feed, Command]) -> None:
    feed, run = begun
    feed.mark(200)
    told = run._settings["source__encoding_format"]
    other = {"json": "avro", "avro": "json"}[told]
    refuses(
        run, f"(it looks like simple with encoding-format={told})", source__encoding_format=other
    )
