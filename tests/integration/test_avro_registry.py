"""Avro in watermark mode, with a registry over HTTP: what is refused by name, and what is said
where the registry does not give what it should."""

from base64 import b64encode
from collections.abc import Iterator

import pytest
from support.brokers import Mock
from support.registry_server import served
from support.torture_cli import Command, Make, refuses
from support.torture_topics import Feed, deleted, inserted, table, ts, updated
from ticdc_encoder.event import Row
from ticdc_encoder.formats.registry import MemoryRegistry

WIDE = (
    "CREATE TABLE `items` (`id` INT PRIMARY KEY, `t` TINYINT UNSIGNED, `c` CHAR(9), "
    "`e` ENUM('it''s','b'), `d` DECIMAL(20,5), `b` BIGINT UNSIGNED, `v` INT AS (`t` + 1))"
)
USER = b64encode(b"reader:s3cret").decode()


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


@pytest.fixture
def url(registry: MemoryRegistry) -> Iterator[str]:
    with served(registry.schemas) as url:
        yield url


@pytest.fixture
def feed(mock_kafka: Mock, registry: MemoryRegistry) -> Feed:
    return avro(mock_kafka, registry)


def avro(kafka: Mock, registry: MemoryRegistry, **options: bool) -> Feed:
    marks = {"avro_enable_watermark": True, **options}
    return Feed(kafka, "avro", f"t{len(options)}", registry=registry, **marks)


@pytest.fixture
def run(feed: Feed, url: str, sqlite_url: str, command: Make) -> Command:
    return command([feed], sqlite_url, registry__url=url)


def test_rows_and_ddl_are_applied(feed: Feed, run: Command) -> None:
    feed.create(10, WIDE)
    of = table(WIDE)
    row: Row = {"id": 1, "t": 255, "c": "x", "e": 1, "d": None, "b": 2**64 - 1}
    feed.send(0, inserted(20, row, of), inserted(20, {**row, "id": 2}, of))
    feed.send(1, updated(30, row, {**row, "c": "y"}, of), deleted(40, {**row, "id": 2}, of))
    feed.mark(100)
    assert run().code == 0
    assert run.rows("SELECT id, t, c, e, d, b FROM items") == [
        (1, 255, "y", "it's", None, str(2**64 - 1))
    ]


def test_a_whole_update_that_has_its_old_row_moves_its_key(
    mock_kafka: Mock, registry: MemoryRegistry, url: str, sqlite_url: str, command: Make
) -> None:
    feed = avro(mock_kafka, registry, avro_include_before_value=True)
    run = command([feed], sqlite_url, registry__url=url)
    feed.create(10)
    rows: list[Row] = [{"id": n, "name": "x"} for n in (1, 2, 3)]
    feed.send(0, inserted(20, rows[0]), inserted(20, rows[2]), updated(30, rows[0], rows[1]))
    feed.send(0, deleted(40, rows[2]))
    feed.mark(100)
    assert run().code == 0
    assert run.rows("SELECT id FROM items") == [(2,)]


def test_a_table_without_a_primary_key_is_refused(feed: Feed, run: Command) -> None:
    sql = "CREATE TABLE `items` (`id` INT NOT NULL UNIQUE, `name` VARCHAR(9))"
    feed.create(10, sql)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 1, "name": "x"}, table(sql)))
    feed.mark(200)
    refuses(run, "shop.items: its messages have no key", "give it a primary key")
    assert run(tables__filter="!shop.items", changefeed="other").code == 0


def test_its_delete_names_no_row(feed: Feed, run: Command) -> None:
    sql = "CREATE TABLE `items` (`id` INT NOT NULL UNIQUE, `name` VARCHAR(9))"
    feed.mark(100)
    assert run().code == 0
    feed.send(1, deleted(150, {"id": 1, "name": "x"}, table(sql)))
    feed.mark(200)
    refuses(run, "a DELETE that names no row: its table has no primary key")


@pytest.mark.parametrize("column", ["a-b", "größe", "1st"])
def test_a_column_whose_name_avro_changes_is_refused(feed: Feed, run: Command, column: str) -> None:
    sql = f"CREATE TABLE `items` (`id` INT PRIMARY KEY, `{column}` INT)"
    feed.create(10, sql)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 1, column: 2}, table(sql)))
    feed.mark(200)
    refuses(run, f"for column {column}: rename it, or leave the table out by [tables] filter")


def test_a_table_whose_name_avro_changes_is_refused(feed: Feed, run: Command) -> None:
    sql = "CREATE TABLE `a-b` (`id` INT PRIMARY KEY)"
    feed.create(10, sql)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 1}, table(sql)))
    feed.mark(200)
    refuses(run, "shop.a_b: avro's messages have a_b for a-b, too: rename it, or leave a_b out")


def test_of_two_tables_that_avro_calls_the_same_none_is_mixed_up(feed: Feed, run: Command) -> None:
    one, two = (f"CREATE TABLE `{name}` (`id` INT PRIMARY KEY)" for name in ("a-b", "a_b"))
    feed.create(10, one)
    feed.create(20, two)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 1}, table(one)), inserted(150, {"id": 1}, table(two)))
    feed.mark(200)
    refuses(run, "shop.a_b: avro's messages have a_b for a-b, too: rename it, or leave a_b out")


@pytest.mark.parametrize("partition", [0, 1])
def test_without_extension_or_watermark_the_setting_is_named(
    mock_kafka: Mock,
    registry: MemoryRegistry,
    url: str,
    sqlite_url: str,
    command: Make,
    partition: int,
) -> None:
    whole = avro(mock_kafka, registry)
    plain = avro(mock_kafka, registry, enable_tidb_extension=False)
    run = command([whole], sqlite_url, registry__url=url)
    whole.mark(100)
    assert run().code == 0
    row: Row = {"id": 1, "name": "x"}
    whole.send_raw(partition, *plain.record(inserted(150, row)))
    whole.mark(200)
    refuses(run, "a row of shop.items has no commit_ts: set enable-tidb-extension=true")


def test_a_schema_that_the_registry_has_not_ends_the_run(
    feed: Feed, run: Command, registry: MemoryRegistry
) -> None:
    feed.create(10)
    feed.mark(100)
    assert run().code == 0
    feed.send(1, inserted(150, {"id": 1, "name": "x"}))
    feed.mark(200)
    kept = dict(registry.schemas)
    registry.schemas.clear()
    outcome = run(limits__retries="1")
    assert (outcome.code, "cannot be read: Schema not found" in outcome.said) == (1, True)
    registry.schemas.update(kept)
    assert run().code == 0
    assert run.rows("SELECT id FROM items") == [(1,)]


def test_the_registrys_credentials_are_used_and_never_told(
    mock_kafka: Mock, registry: MemoryRegistry, sqlite_url: str, command: Make
) -> None:
    feed = avro(mock_kafka, registry)
    feed.create(10)
    feed.send(1, inserted(50, {"id": 1, "name": "x"}))
    feed.mark(100)
    with served(registry.schemas, USER) as url:
        run = command([feed], sqlite_url, registry__url=url, limits__retries="1")
        refused = run(**{"registry__basic.auth.user.info": "reader:wr0ng"})
        assert refused.code == 1
        assert "wr0ng" not in refused.said
        assert run(**{"registry__basic.auth.user.info": "reader:s3cret"}).code == 0
    assert run.resolved_ts == ts(100)
