"""Rows too large for Kafka: claim checks, and rows of which only the handle key was sent.

MariaDB's versioned tables stand for TiDB's snapshots here: one statement, which lets a session read
the past, is theirs instead of TiDB's. A real TiDB is read in test_tidb_upstream.py.
"""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pymysql  # type: ignore[import-untyped]
import pytest
import sqlalchemy as sa
from support import brokers
from support.golden import scenario
from support.golden_run import Place, consumer_of, differences, run_to, send
from support.large_rows import DOCS, Reduced, doc, held, told
from support.local_spark import LocalSpark
from support.torture_cli import Begin, Command, Make, refuses
from support.torture_topics import BASE, Feed, inserted, ts
from ticdc_consumer import cli
from ticdc_consumer.cut.read import upstream as snapshots
from ticdc_encoder.event import Row, RowChange
from ticdc_encoder.formats.claim_check import ClaimCheckStorage
from ticdc_encoder.sql.parser import parse_create_table

GOLDEN = [
    name
    for name in scenario("large").variants
    if "handle-key-only" not in name and "no-handling" not in name
]
"""Those of which every row is sent, and none is to be read from the TiDB that it was in."""
TARGETS = ("sqlite", "postgresql", "mariadb", "mysql", "tidb")
NAME = "0d2e66b2-3b3b-49b1-946b-e5cc94563f89.json"
LARGE = inserted(150, {"id": 3, "name": "three"})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each into SQLite and one other target; with `--long` into all."""
    if {"golden", "target"} <= set(metafunc.fixturenames):
        long = metafunc.config.getoption("--long")
        cases = [
            (name, target)
            for number, name in enumerate(GOLDEN)
            for target in (TARGETS if long else ("sqlite", TARGETS[1 + number % 4]))
        ]
        metafunc.parametrize(("golden", "target"), cases)


def test_ticdcs_large_rows_are_whole_in_the_target(
    golden: str,
    target: str,
    request: pytest.FixtureRequest,
    mock_kafka: brokers.Mock,
    tmp_path: Path,
) -> None:
    given = scenario("large")
    variant = given.variants[golden]
    folder = tmp_path / "claims"
    folder.mkdir()
    for path, content in variant.claim_checks.items():
        (folder / Path(path).name).write_bytes(content)
    codec = golden.rpartition("-")[2]
    place = Place(request.getfixturevalue(f"{target}_url"), target)
    with consumer_of(
        variant,
        send(mock_kafka, variant, again=False),
        mock_kafka,
        place,
        LocalSpark(2),  # type: ignore[arg-type]
        "net",
        compression=codec if codec in ("lz4", "snappy") else "none",
        claim_check_url=folder.as_uri(),
        claim_check_raw_value="claim-check-raw" in golden,
    ) as consumer:
        for state in given.states:
            run_to(consumer, state.ts, place, given, {})
            assert differences(place, given, state, {}, ()) == ""


# --- claim checks --------------------------------------------------------------------------------


@pytest.fixture
def claimed(begin: Begin, tmp_path: Path) -> tuple[Feed, Command, ClaimCheckStorage]:
    """A changefeed whose next row is in a claim check, with the storage that should have it."""
    feed, run = begin()
    storage = ClaimCheckStorage((tmp_path / "claims").as_uri())
    location = storage.write(None, b"{}", NAME)
    feed.send(0, replace(LARGE, incomplete=True, claim_check=location))
    feed.mark(200)
    return feed, run, storage


def leave(storage: ClaimCheckStorage, feed: Feed, change: RowChange) -> None:
    key, value = feed.record(change)
    storage.write(key, value or b"", NAME)


Claimed = tuple[Feed, Command, ClaimCheckStorage]


def url(tmp_path: Path) -> str:
    return (tmp_path / "claims").as_uri()


def test_without_the_setting_a_claim_check_stops_and_names_it(claimed: Claimed) -> None:
    _, run, _ = claimed
    refuses(run, "shop.items: a large row is in a claim check: set [source] claim_check", "at ")


def test_a_claim_check_that_is_not_there_stops(claimed: Claimed, tmp_path: Path) -> None:
    feed, run, _ = claimed
    (tmp_path / "claims" / NAME).unlink()
    refuses(
        run,
        f"shop.items: the claim check {NAME} is not in the storage; at {feed.topic}[0] offset",
        source__claim_check=url(tmp_path),
    )


def test_a_claim_check_of_another_row_stops(claimed: Claimed, tmp_path: Path) -> None:
    feed, run, storage = claimed
    leave(storage, feed, inserted(150, {"id": 4, "name": "four"}))
    refuses(
        run,
        f"the claim check {NAME} holds another change than its message",
        source__claim_check=url(tmp_path),
    )


def test_a_claim_check_beyond_the_limit_stops(claimed: Claimed, tmp_path: Path) -> None:
    feed, run, storage = claimed
    leave(storage, feed, LARGE)
    refuses(
        run,
        f"the claim check {NAME} has more than 50 bytes",
        source__claim_check=url(tmp_path),
        limits__message_limit=50,
    )


def test_a_storage_that_does_not_answer_is_tried_again(claimed: Claimed, tmp_path: Path) -> None:
    _, run, _ = claimed
    (tmp_path / "claims" / NAME).unlink()
    (tmp_path / "claims" / NAME).mkdir()
    outcome = run(source__claim_check=url(tmp_path), limits__retries=1)
    assert outcome.code == 1
    assert f"the claim check {NAME} cannot be read: IsADirectoryError" in outcome.said


@pytest.mark.parametrize("location", ["file:///etc/passwd", f"file:///elsewhere/{NAME}"])
def test_a_location_leads_nowhere_but_below_the_prefix(
    location: str, begin: Begin, tmp_path: Path
) -> None:
    feed, run = begin()
    leave(ClaimCheckStorage(url(tmp_path)), feed, LARGE)
    feed.send(0, replace(LARGE, incomplete=True, claim_check=location))
    feed.mark(200)
    outcome = run(source__claim_check=url(tmp_path))
    assert (outcome.code, "does not end with <uuid>.json" in outcome.said) in [
        (0, False),
        (3, True),
    ]
    assert len(run.rows("SELECT * FROM items")) == (3 if outcome.code == 0 else 2)


# --- handle keys ---------------------------------------------------------------------------------

MARIADB = (
    "SET @@system_versioning_asof = FROM_UNIXTIME(0.000001 * ((%(commit_ts)s >> 18) * 1000 + "
    f"(%(commit_ts)s & 262143) - {BASE & 262143}))"
)
"""The tests' logical counter as microseconds."""


class MariaDb:
    """The upstream: what is written here at a test's timestamp can be read as of it."""

    def __init__(self, url: str) -> None:
        self.url = sa.make_url(url).set(drivername="mysql+pymysql")
        self.table = parse_create_table(DOCS, str(self.url.database))
        self.write(f"{DOCS} WITH SYSTEM VERSIONING")

    def insert(self, number: int, row: Row) -> None:
        values = ", ".join(["%s"] * len(row))
        names = ", ".join(f"`{name}`".replace("%", "%%") for name in row)
        self.write(f"INSERT INTO docs ({names}) VALUES ({values})", *row.values(), number=number)  # noqa: S608

    def write(self, statement: str, *parameters: object, number: int = 0) -> None:
        with closing(
            pymysql.connect(
                host=self.url.host,
                port=self.url.port or 3306,
                user=self.url.username,
                password=self.url.password or "",
                database=self.url.database,
                autocommit=True,
            )
        ) as connection:
            cursor = connection.cursor()
            at = (BASE >> 18) * 1000 + number
            cursor.execute(f"SET time_zone = '+00:00', timestamp = {at} * 0.000001")
            cursor.execute(statement, parameters or None)


@pytest.fixture
def maria(mariadb_url: str, monkeypatch: pytest.MonkeyPatch) -> MariaDb:
    monkeypatch.setattr(snapshots, "SNAPSHOT", MARIADB)
    return MariaDb(mariadb_url)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai"])
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "simple"])
def test_a_row_is_completed_as_it_was_at_its_commit_ts(
    protocol: str,
    zone: str,
    maria: MariaDb,
    mock_kafka: brokers.Mock,
    sqlite_url: str,
    command: Make,
) -> None:
    small, first, second, other = (
        doc(1, "small"),
        doc(2, "a" * 4000),
        doc(2, "b" * 4000),
        doc(2, "c" * 4000, "another"),
    )
    maria.insert(20, small)
    maria.insert(30, first)
    maria.insert(30, other)
    maria.write(
        "UPDATE docs SET `100%%` = %s, raw = %s WHERE code = %s",
        second["100%"],
        second["raw"],
        second["code"],
        number=40,
    )
    maria.write("DELETE FROM docs", number=50)
    topic = Reduced(mock_kafka, maria.table, protocol, zone)
    topic.send(20, None, small)
    topic.send(30, None, first)
    topic.send(30, None, other)
    topic.feed.mark(35)
    topic.send(40, first, second)
    topic.send(50, other, None)
    topic.feed.mark(100)
    run = command(
        [topic.feed],
        sqlite_url,
        source__time_zone=zone,
        source__upstream=maria.url.render_as_string(hide_password=False),
        limits__schema_wait=1,
    )
    outcome = run(until=str(ts(35)))
    assert outcome.code == 0, outcome.said
    assert held(run) == told(small, other, first)
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert held(run) == told(small, second)
    # Completed or whole, a row is the same: but for its key and the two long columns.
    rest = ", ".join(f'"{name}"' for name in list(small)[5:])
    assert len({*run.rows(f"SELECT {rest} FROM docs")}) == 1  # noqa: S608


def test_a_key_of_a_time_that_the_zone_has_twice_stops(
    maria: MariaDb, mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    topic = Reduced(mock_kafka, maria.table, "canal-json", "Europe/Berlin")
    topic.send(20, None, {**doc(1, "a" * 4000), "seen": "2024-10-27 00:30:00.000"})
    topic.feed.mark(100)
    run = command([topic.feed], sqlite_url, source__time_zone="Europe/Berlin")
    outcome = run(source__upstream=maria.url.render_as_string(hide_password=False))
    words = (
        "docs: a TIMESTAMP of a large row's key: a time that occurs twice or never in Europe/Berlin"
    )
    assert (outcome.code, words in outcome.said) == (3, True), outcome.said


def test_keys_whose_columns_come_in_any_order_are_completed(
    maria: MariaDb, mock_kafka: brokers.Mock, sqlite_url: str, command: Make
) -> None:
    first, other = doc(1, "a" * 4000), doc(2, "b" * 4000)
    maria.insert(20, first)
    maria.insert(20, other)
    topic = Reduced(mock_kafka, maria.table, "simple", "UTC", encoding_format="avro")
    topic.send(20, None, first)
    topic.table = replace(topic.table, columns=topic.table.columns[::-1])
    topic.send(20, None, other)
    topic.feed.mark(100)
    run = command(
        [topic.feed],
        sqlite_url,
        source__encoding_format="avro",
        source__upstream=maria.url.render_as_string(hide_password=False),
        limits__schema_wait=1,
    )
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert held(run) == told(first, other)


@pytest.fixture
def reduced(begin: Begin) -> Command:
    """A changefeed of whose next row only the handle key was sent."""
    feed, run = begin()
    feed.send(0, replace(LARGE, incomplete=True))
    feed.mark(200)
    return run


def test_without_an_upstream_a_handle_key_names_the_setting(reduced: Command) -> None:
    refuses(
        reduced,
        "shop.items: only the handle key of a large row was sent: set [source] upstream",
        "at ",
        "offset",
    )


def maria_url(maria: MariaDb) -> str:
    return maria.url.render_as_string(hide_password=False)


def test_a_snapshot_that_is_gone_stops(
    reduced: Command, maria: MariaDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = (
        "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 9006, MESSAGE_TEXT = "
        "'GC life time is shorter than transaction duration'"
    )
    monkeypatch.setattr(snapshots, "SNAPSHOT", gone)
    refuses(
        reduced,
        f"shop.items: the upstream has removed the rows of commit_ts {ts(150)} (error 9006)",
        "tidb_gc_life_time",
        source__upstream=maria_url(maria),
    )


def test_a_row_that_the_upstream_never_had_stops(
    mock_kafka: brokers.Mock, maria: MariaDb, sqlite_url: str, command: Make
) -> None:
    topic = Reduced(mock_kafka, maria.table, "canal-json", "UTC")
    topic.feed.mark(20)
    run = command([topic.feed], sqlite_url, source__upstream=maria_url(maria))
    assert run().code == 0
    topic.send(30, None, doc(2, "a" * 4000))
    topic.feed.mark(40)
    refuses(run, 'has no row code="it\'s 100%", id=2, seen=', f"at commit_ts {ts(30)}")


def test_an_upstream_without_the_table_stops(reduced: Command, maria: MariaDb) -> None:
    refuses(reduced, "shop.items: the upstream refuses: ", source__upstream=maria_url(maria))


def test_an_upstream_that_refuses_ends_with_1_without_a_password(
    reduced: Command, maria: MariaDb
) -> None:
    url = maria.url.set(username="nobody", password="Geheim-1").render_as_string(False)
    outcome = reduced(source__upstream=url)
    assert outcome.code == 1
    assert "Geheim" not in outcome.said


def test_check_makes_the_first_large_row_whole(
    reduced: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code = cli.main(["check", str(tmp_path / "changefeed.toml"), *reduced.arguments()])
    assert code == 3
    assert (
        "fail  large rows: shop.items: only the handle key of a large row"
        in capsys.readouterr().out
    )


def test_the_statement_asks_for_what_is_sent_and_binds_values() -> None:
    docs = parse_create_table(DOCS, "a`b")
    assert snapshots.SNAPSHOT == "SET @@tidb_snapshot = %(commit_ts)s"
    assert snapshots.select(docs, ("id", "code"), 2) == (
        "SELECT `id`, `code`, CAST(`seen` AS CHAR), `100%%`, `raw`, `four`, `f` + 0E0, `d`, "
        "`amount`, `big`, CAST(`flags` AS UNSIGNED), CAST(`mood` AS UNSIGNED), "
        "CAST(`tags` AS UNSIGNED), CAST(`born` AS CHAR), CAST(`at` AS CHAR), "
        "CAST(`span` AS CHAR), `y` FROM `a``b`.`docs` WHERE (`id`, `code`) IN ((%s, %s), (%s, %s))"
    )
    assert snapshots.select(docs, ("id",), 2).endswith(" WHERE `id` IN (%s, %s)")
