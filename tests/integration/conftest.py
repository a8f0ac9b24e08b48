"""The command line against one target, as tests/support/torture_cli.py gives it. Tests of this
folder start processes, so all of them are slow."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support import brokers
from support.databases import fresh_database, own_schema
from support.local_spark import LocalSpark
from support.server_address import server_address
from support.torture_cli import Begin, Command, Make, commands
from support.torture_topics import Feed, inserted, ts
from support.upstream_tidb import Upstream, upstream


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("slow")


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Make:
    """Makes commands of a changefeed. Their small cuts are read by the driver, all of them by
    Spark if one is given."""

    def make(feeds: Sequence[Feed], target_url: str, spark: Any = None, **settings: Any) -> Command:
        commands(spark or LocalSpark(2), monkeypatch)
        if spark is not None:
            settings.setdefault("spark__from_messages", 0)
        return Command(feeds, target_url, tmp_path, capsys, **settings)

    return make


@pytest.fixture
def upstream_url() -> Iterator[str]:
    """A database of the real TiDB. Not `tidb_url`, which is a target's here."""
    with fresh_database(server_address("TIDB_URL")) as url:
        yield url


@pytest.fixture
def begin(mock_kafka: brokers.Mock, sqlite_url: str, command: Make) -> Begin:
    """A changefeed whose first cut, up to 100, is in a SQLite file: `items` with rows 1 and 2."""

    def begin(
        protocol: str = "canal-json", spark: Any = None, **settings: Any
    ) -> tuple[Feed, Command]:
        codec = settings.get("source__compression", "none")
        feed = Feed(mock_kafka, protocol, compression=codec)
        feed.create(10)
        feed.send(0, inserted(20, {"id": 1, "name": "one"}))
        feed.send(1, inserted(20, {"id": 2, "name": "two"}))
        feed.mark(100)
        run = command([feed], sqlite_url, spark, **settings)
        outcome = run()
        assert (outcome.code, run.resolved_ts) == (0, ts(100)), outcome.said
        return feed, run

    return begin


@pytest.fixture
def tidb(upstream_url: str) -> Iterator[Upstream]:
    """A session of it. A target may be on the same server."""
    with upstream(upstream_url) as tidb:
        yield tidb


@pytest.fixture
def feed(mock_kafka: brokers.Mock, tidb: Upstream) -> Feed:
    """The topic of a changefeed that runs."""
    feed = Feed(mock_kafka)
    feed.resolve(tidb.ts())
    return feed


@pytest.fixture
def into(command: Make, tidb: Upstream, feed: Feed) -> Callable[..., Command]:
    """A changefeed from the TiDB into the target of a URL."""

    def into(target_url: str, name: str = "{table}", **settings: Any) -> Command:
        route = f'{{"*.*" = "{own_schema(target_url)}.{name}"}}'
        return command(
            [feed],
            target_url,
            source__upstream=tidb.url,
            tables__route=route,
            **{"tables__filter": f"{tidb.schema}.*", **settings},
        )

    return into
