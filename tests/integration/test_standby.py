"""`run --standby` beside a leader: two real processes of one changefeed."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make
from support.torture_driver import Driver
from support.torture_topics import Feed, inserted, ts
from ticdc_consumer.waiting import until

PATIENCE = 120.0
WAITS = "standby: starts when no other consumer of the changefeed is alive"


@contextmanager
def killed_at_the_end(driver: Driver) -> Iterator[Driver]:
    try:
        yield driver
    finally:
        driver.kill()


def standby_of(run: Command) -> Driver:
    return run.standby(limits__standby_after="7")


class Upstream:
    """A table whose rows go on."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self.number = 0
        feed.create(10)
        self.more()

    def more(self) -> None:
        self.number += 1
        moment = 100 * self.number
        self._feed.send(0, inserted(moment - 50, {"id": self.number, "name": "x"}))
        self._feed.mark(moment)


def reaches(run: Command, upstream: Upstream) -> bool:
    def there() -> bool:
        try:
            return run.resolved_ts == ts(100 * upstream.number)
        except (sa.exc.DBAPIError, ValueError):
            return False

    return until(there, PATIENCE)


@pytest.fixture(params=[signal.SIGTERM, signal.SIGKILL], ids=["by SIGTERM", "by SIGKILL"])
def ending(request: pytest.FixtureRequest) -> signal.Signals:
    number: signal.Signals = request.param
    return number


def test_a_standby_starts_when_its_leader_is_gone(
    mock_kafka: brokers.Mock, command: Make, sqlite_url: str, ending: signal.Signals
) -> None:
    feed = Feed(mock_kafka)
    upstream = Upstream(feed)
    run = command([feed], sqlite_url)
    with killed_at_the_end(standby_of(run)) as leader:
        assert reaches(run, upstream)
        first = generation(run)
        with killed_at_the_end(standby_of(run)) as standby:
            standby.await_words(WAITS)
            upstream.more()
            assert reaches(run, upstream)
            assert generation(run) == first
            leader.process.send_signal(ending)
            leader.wait()
            upstream.more()
            assert reaches(run, upstream), standby.text
            assert standby.running
            assert generation(run) == first + 1
            standby.process.send_signal(signal.SIGTERM)
            assert standby.wait()[0] == 0
    rows = run.rows("SELECT id FROM items ORDER BY id")
    assert rows == [(number,) for number in range(1, upstream.number + 1)]


def test_a_standby_that_ends_while_it_waits_has_changed_nothing(
    mock_kafka: brokers.Mock, command: Make, sqlite_url: str
) -> None:
    feed = Feed(mock_kafka)
    upstream = Upstream(feed)
    run = command([feed], sqlite_url)
    with killed_at_the_end(run.driver()) as leader:
        assert reaches(run, upstream)
        standby = standby_of(run)
        standby.await_words(WAITS)
        standby.process.send_signal(signal.SIGTERM)
        code, text = standby.wait()
        upstream.more()
        assert reaches(run, upstream)
        assert leader.running
    assert (code, text) == (0, f"{WAITS}\nstopped by SIGTERM: nothing was applied\n")


def generation(run: Command) -> int:
    ((number,),) = run.rows("SELECT generation FROM ticdc_checkpoint")
    return int(number)
