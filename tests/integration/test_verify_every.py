"""`[verify] every`: a run compares its rows with the upstream while it works."""

from collections.abc import Iterator
from threading import Thread

import pytest
from support import brokers
from support.loading import opened
from support.moved_money import moving
from support.torture_cli import Command, Make
from support.torture_topics import Feed
from support.upstream_tidb import upstream
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.commands.verify import continuous, share
from ticdc_consumer.commands.verify.report import TableReport
from ticdc_consumer.commands.verify.verification import Request, verify
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Drift
from ticdc_consumer.status import diagnosis
from ticdc_consumer.waiting import until
from ticdc_encoder.event import Resolved


@pytest.fixture(autouse=True)
def short_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share, "DAY", 2.0)
    monkeypatch.setattr(share, "SMALLEST", 4)


@pytest.fixture
def run(
    upstream_url: str, target_url: str, mock_kafka: brokers.Mock, command: Make
) -> Iterator[Command]:
    """A changefeed of people with keys from 1 to 99 and of words, loaded."""
    feed = Feed(mock_kafka)
    run = moving(command, feed, upstream_url, target_url, verify__every=1)
    with upstream(upstream_url) as tidb:
        tidb.execute(
            "CREATE TABLE people (id INT PRIMARY KEY, mail VARCHAR(20))",
            *(f"INSERT INTO people VALUES ({n}, 'm{n}')" for n in range(1, 100, 7)),  # noqa: S608
            "CREATE TABLE words (word VARCHAR(20) PRIMARY KEY, n INT)",
            "INSERT INTO words VALUES ('a', 1), ('b', 2)",
        )
        for partition in range(feed.partitions):
            feed.send(partition, Resolved(tidb.ts()))
    assert run.load().code == 0
    yield run


def spoil(run: Command, statement: str) -> None:
    with opened(run.target_url) as target:
        target.execute(statement).close()


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE people SET mail = 'x' WHERE id = 1", "people: 1 row, (id=1) differs"),
        ("UPDATE people SET mail = 'x' WHERE id = 99", "people: 1 row, (id=99) differs"),
        ("DELETE FROM people WHERE id = 50", "people: 1 row, (id=50) missing"),
        ("INSERT INTO people VALUES (2000, '')", "people: 1 row, (id=2000) extra"),
        ("INSERT INTO people VALUES (-5, '')", "people: 1 row, (id=-5) extra"),
        ("UPDATE words SET n = 3 WHERE word = 'b'", "words: 1 row, (word=b) differs"),
    ],
)
@pytest.mark.parametrize("target_url", ["sqlite"], indirect=True)
def test_rows_that_differ_end_the_run(run: Command, statement: str, found: str) -> None:
    spoil(run, statement)
    ended(run, found)


@pytest.mark.parametrize("target_url", ["postgresql", "mariadb", "mysql", "tidb"], indirect=True)
def test_rows_that_differ_end_the_run_on_every_target(run: Command) -> None:
    spoil(run, "UPDATE people SET mail = 'x' WHERE id = 50")
    ended(run, "people: 1 row, (id=50) differs")
    why = diagnosis.why(run.options(), "orders.toml")
    assert why.cause == "drift" and "(id=50) differs" in why.sentence


def ended(run: Command, found: str) -> None:
    with run.consumer() as consumer, pytest.raises(Drift, match="--repair") as raised:
        list(consumer)
    assert found in str(raised.value)


def beside(consumer: Consumer) -> Thread:
    thread = Thread(target=lambda: list(consumer))
    thread.start()
    return thread


@pytest.mark.parametrize("target_url", ["sqlite"], indirect=True)
def test_a_run_continues_past_overwritten_drift_and_counts_it(run: Command) -> None:
    spoil(run, "UPDATE people SET mail = 'x' WHERE id = 50")
    with run.consumer(target__on_drift="overwrite") as consumer:
        thread = beside(consumer)
        until(lambda: bool(consumer.activity.verified and consumer.activity.verified.differs), 60)
        assert thread.is_alive()
        consumer.stop()
        thread.join()
    assert consumer.activity.verified is not None
    assert consumer.activity.verified.differing == 1


@pytest.mark.parametrize("target_url", ["sqlite"], indirect=True)
def test_all_rows_have_a_turn_and_a_lost_upstream_ends_nothing(
    run: Command, upstream_url: str
) -> None:
    with run.consumer() as consumer:
        thread = beside(consumer)
        until(lambda: consumer.activity.totals.get("verified_rows", 0) >= 2 * (15 + 2), 60)
        assert consumer.activity.totals["verify_failed"] == 0
        consumer.stop()
        thread.join()
    away = upstream_url.replace("root@", "nobody:secret@")
    with run.consumer(source__upstream=away) as consumer:
        thread = beside(consumer)
        until(lambda: consumer.activity.totals.get("verify_failed", 0) > 0, 60)
        assert thread.is_alive() and "secret" not in str(consumer.activity.verified)
        consumer.stop()
        thread.join()


@pytest.mark.parametrize("target_url", ["sqlite"], indirect=True)
def test_what_differs_in_one_state_alone_does_not_count(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def put_right_afterwards(options: Settings, request: Request) -> Iterator[TableReport]:
        for report in verify(options, request):
            yield report
            if report.differences:
                seen.append(report.name)
                spoil(run, "UPDATE people SET mail = 'm50' WHERE id = 50")

    monkeypatch.setattr(continuous, "verify", put_right_afterwards)
    spoil(run, "UPDATE people SET mail = 'x' WHERE id = 50")
    with run.consumer() as consumer:
        thread = beside(consumer)
        until(lambda: bool(seen) and consumer.activity.totals.get("verified_rows", 0) >= 17, 60)
        assert thread.is_alive()
        consumer.stop()
        thread.join()
    assert consumer.activity.verified is not None and not consumer.activity.verified.differs
