"""A session of the real TiDB that reads the past, and what it says of a past that is gone."""

import pytest
from support.upstream_tidb import Upstream
from ticdc_consumer import config
from ticdc_consumer.commands.verify.verification import Request, verify
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Unavailable, Usage
from ticdc_consumer.upstream.session import reading, upstream_url
from ticdc_consumer.upstream.snapshot import current_ts, life_time, pinned, require_kept
from ticdc_consumer.upstream.tables import names, tables
from ticdc_consumer.waiting import until
from ticdc_encoder.tso import compose


def options(**settings: object) -> Settings:
    return config.Settings.of(
        {
            "changefeed": "c",
            "protocol": "canal-json",
            "kafka.topics": "t",
            "kafka.bootstrap.servers": "b",
            "target.url": "sqlite:///t.db",
            **{name.replace("__", "."): value for name, value in settings.items()},
        }
    )


def test_the_tables_are_those_of_the_filter_as_of_the_snapshot(tidb: Upstream) -> None:
    tidb.execute(
        "CREATE TABLE kept (id int PRIMARY KEY, `100%` int)",
        "CREATE TABLE left_out (id int PRIMARY KEY)",
        "CREATE VIEW kept_view AS SELECT id FROM kept",
    )
    snapshot_ts = tidb.ts()
    tidb.execute("DROP TABLE kept", "CREATE TABLE kept_later (id int PRIMARY KEY)")
    of_kept = options(tables__filter=[f"{tidb.schema}.kept*"])
    with reading(tidb.url, snapshot_ts) as session:
        (kept,) = tables(session, of_kept)
        assert names(session, of_kept, "VIEW") == [(tidb.schema, "kept_view")]
    assert kept.name == (tidb.schema, "kept")
    assert [column.name for column in kept.table.columns] == ["id", "100%"]
    assert kept.table.handle_key == ("id",)
    assert kept.statement.startswith("CREATE TABLE `kept` (")
    with reading(tidb.url) as session:
        assert names(session, of_kept) == [(tidb.schema, "kept_later")]


def test_a_snapshot_that_was_collected_is_named_in_one_sentence(tidb: Upstream) -> None:
    # The tests' TiDB has a safe point of 2020 (tests/services).
    lost = compose(1_560_000_000_000)
    with reading(tidb.url) as session:
        require_kept(session, tidb.ts())
        with pytest.raises(Stop, match=f"no longer has the snapshot of {lost}: .* 2020-01-01"):
            require_kept(session, lost)
        assert life_time(session) >= 600
    gone = pytest.raises(Stop, match=f"no longer has the snapshot of {lost} .error 8055")
    with gone, reading(tidb.url, lost):
        pass


def test_a_snapshot_is_pinned_by_a_transaction_that_begins_at_it(tidb: Upstream) -> None:
    with reading(tidb.url) as session:
        snapshot_ts = current_ts(session)

    def shows() -> bool:
        rows = tidb.execute("SELECT TxnStart FROM information_schema.processlist")
        starts = [int(text.rpartition("(")[2].rstrip(")")) for (text,) in rows if text]
        return any(snapshot_ts - (1 << 18) < start <= snapshot_ts for start in starts)

    # The server writes its list after its answer.
    with pinned(tidb.url, snapshot_ts):
        assert until(shows, 10.0)


def test_an_upstream_that_is_not_set_or_not_running_is_named() -> None:
    with pytest.raises(
        Usage, match=r"\[source\] upstream is not set: .*; or, for load, dump: Dump"
    ):
        upstream_url(options())
    with pytest.raises(
        Usage, match=r"; or, without a TiDB, verify --topics, which replays the top"
    ):
        next(verify(options(), Request()))
    url = upstream_url(options(source__upstream="mysql+pymysql://u:canary@127.0.0.1:1"))
    with (
        pytest.raises(Unavailable, match=r"cannot connect to 127\.0\.0\.1:1") as caught,
        reading(url),
    ):
        pass
    assert "canary" not in str(caught.value)
