"""Two consumers of one changefeed: the newer one goes on, the older one ends and says why.

The older one runs as a process of its own that stops itself (SIGSTOP) at a step of an epoch
(`ticdc_consumer/failpoints.py`), or in this process. With `--long` (`make torture`) at every step.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make, ended_by
from support.torture_driver import Driver
from support.torture_topics import Feed, inserted, ts, updated
from ticdc_encoder.event import Row

pytestmark = pytest.mark.torture

SERVERS = ["postgresql", "mariadb", "mysql", "tidb"]
STEPS = {
    "inside": [
        "write-rows",
        "commit",
        "begin",
        "fenced",
        "delete-rows",
        "run-ddl",
        "write-checkpoint",
    ],
    "between": ["committed", "plan", "read", "apply", "end-chosen", "publish-offsets", "cut-ended"],
}
"""Within the transaction, and outside; the first so many also without `--long`."""
SHORT = {"inside": 2, "between": 1}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for where, steps in STEPS.items():
        if where in metafunc.fixturenames:
            chosen = steps if metafunc.config.getoption("--long") else steps[: SHORT[where]]
            metafunc.parametrize(where, chosen)


class Pair:
    """A target at 100, and rows up to 200 that wait in the topic."""

    def __init__(self, feed: Feed, run: Command) -> None:
        self.feed, self.run = feed, run
        feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
        feed.create(10)
        feed.send(0, inserted(20, {"id": 1, "name": "a"}))
        feed.send(1, inserted(20, {"id": 11, "name": "x"}))
        feed.mark(100)
        assert run().code == 0
        self.number = 1
        self.more()

    def more(self) -> None:
        """One more cut: a row changes, another gets another key."""
        self.number += 1
        now = 100 * self.number
        (old, *olds), (new, *news) = self.rows(self.number - 1), self.rows(self.number)
        self.feed.send(0, updated(now - 50, old, new))
        self.feed.send(1, updated(now - 40, olds[0], news[0]))
        self.feed.mark(now)

    def rows(self, number: int) -> list[Row]:
        return [
            {"id": 1, "name": "abcdefgh"[number - 1]},
            {"id": 10 + number, "name": "x"},
        ]

    def overtake(self) -> None:
        """A newer consumer catches up."""
        outcome = self.run(limits__takeover_after="1")
        assert outcome.code == 0, outcome.said

    def is_right(self) -> bool:
        family = self.run.target_url.startswith(("mysql", "mariadb"))
        schema = sa.make_url(self.run.target_url).database if family else "shop"
        name = "items" if self.run.target_url.startswith("sqlite") else f"{schema}.items"
        rows = self.run.rows(f"SELECT id, name FROM {name} ORDER BY id")  # noqa: S608
        expected = [tuple(row.values()) for row in self.rows(self.number)]
        return rows == expected and self.run.resolved_ts == ts(100 * self.number)


@pytest.fixture
def pair(request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make) -> Pair:
    """Of the target that the test names in its parameters, else of each."""
    url = request.getfixturevalue(f"{request.param}_url")
    family = request.param in ("mariadb", "mysql", "tidb")
    route = {"tables__route": f'{{"*.*" = "{sa.make_url(url).database}.{{table}}"}}'}
    return Pair(feed := Feed(mock_kafka), command([feed], url, **(route if family else {})))


@contextmanager
def stopped(pair: Pair, step: str) -> Iterator[Driver]:
    """An older consumer that stopped itself at a step of its first epoch."""
    older = pair.run.driver(failpoint=f"{step}:stop")
    try:
        older.wait_until_stopped()
        yield older
    finally:
        older.kill()


def is_fenced(older: Driver, generation: int) -> None:
    older.go_on()
    code, said = older.wait()
    assert code == 4, said
    assert said.splitlines()[-1] == (
        f"ticdc-consumer: changefeed proof: a newer consumer took over (generation {generation}, "
        "this one has 2)"
    )


@pytest.mark.parametrize("pair", SERVERS, indirect=True)
def test_a_consumer_that_stopped_in_its_transaction_is_overtaken(pair: Pair, inside: str) -> None:
    with stopped(pair, inside) as older:
        pair.overtake()
        assert pair.is_right()
        pair.more()
        pair.overtake()
        is_fenced(older, 4)
    assert pair.is_right()


@pytest.mark.parametrize("pair", ["sqlite", *SERVERS], indirect=True)
def test_a_consumer_stopped_between_transactions_is_overtaken(pair: Pair, between: str) -> None:
    with stopped(pair, between) as older:
        pair.overtake()
        assert pair.is_right()
        pair.more()
        pair.overtake()
        pair.more()
        is_fenced(older, 4)
    pair.overtake()
    assert pair.is_right()


@pytest.mark.parametrize("pair", ["sqlite", *SERVERS], indirect=True)
def test_a_consumer_that_is_overtaken_while_it_starts_says_so(pair: Pair) -> None:
    with pair.run.consumer() as older:
        pair.overtake()
        pair.more()
        end = ended_by(older.epochs())
    assert end.code == 4
    assert "a newer consumer took over (generation 3, this one has 2)" in end.said
    older_process = pair.run.driver(failpoint="lease-taken:stop")
    try:
        older_process.wait_until_stopped()
        pair.overtake()
        older_process.go_on()
        code, said = older_process.wait()
        assert code == 4, said
        assert "a newer consumer took over (generation 5, this one has 4)" in said
    finally:
        older_process.kill()


@pytest.mark.parametrize("kind", ["sqlite", *SERVERS])
def test_a_consumer_that_is_overtaken_at_its_first_start_says_so(
    request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make, kind: str
) -> None:
    feed = Feed(mock_kafka)
    run = command([feed], request.getfixturevalue(f"{kind}_url"))
    feed.mark(100)
    older = run.driver(failpoint="lease-taken:stop")
    try:
        older.wait_until_stopped()
        assert run(limits__takeover_after="1").code == 0
        older.go_on()
        code, said = older.wait()
        assert code == 4
        # Where its session was ended it sees only that.
        assert said.removeprefix("ticdc-consumer: changefeed proof: ") in (
            "another consumer began it first\n",
            "a newer consumer took over while this one began\n",
        )
    finally:
        older.kill()


@pytest.mark.parametrize("pair", ["sqlite"], indirect=True)
def test_the_lock_of_a_stopped_process_on_a_file_is_named(pair: Pair, inside: str) -> None:
    with stopped(pair, inside) as older:
        outcome = pair.run(limits__takeover_after="1")
        assert outcome.code == 1
        assert outcome.said == (
            "ticdc-consumer: another process holds the write lock of "
            f"{sa.make_url(pair.run.target_url).database} for longer than 1 s; end it, then start "
            "again\n"
        )
        assert pair.run.resolved_ts == ts(100)
        older.go_on()
        while pair.run.resolved_ts < ts(200):
            assert older.running
            time.sleep(0.01)
    assert pair.is_right()
    pair.more()
    pair.overtake()
    assert pair.is_right()


@pytest.mark.parametrize("pair", ["sqlite", *SERVERS], indirect=True)
def test_the_older_of_two_running_consumers_ends(pair: Pair) -> None:
    with pair.run.consumer() as older:
        assert [epoch.resolved_ts for epoch in older.epochs("caught-up")] == [ts(200)]
        with pair.run.consumer(limits__takeover_after="1") as newer:
            pair.more()
            assert [epoch.resolved_ts for epoch in newer.epochs("caught-up")] == [ts(300)]
            pair.more()
            end = ended_by(older.epochs())
            assert end.code == 4
            assert "a newer consumer took over (generation 3, this one has 2)" in end.said
            assert [epoch.resolved_ts for epoch in newer.epochs("caught-up")] == [ts(400)]
    assert pair.is_right()


@pytest.mark.parametrize("kind", ["sqlite", *SERVERS])
def test_of_two_that_begin_at_once_one_goes_on(
    request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make, kind: str
) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    feed = Feed(mock_kafka)
    family = kind in ("mariadb", "mysql", "tidb")
    schema = f"{sa.make_url(url).database}" if family else "shop"
    route = {"tables__route": f'{{"*.*" = "{schema}.{{table}}"}}'} if family else {}
    run = command([feed], url, **route)
    feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
    feed.create(10)
    feed.send(0, *[inserted(20 + n, {"id": n, "name": "x"}) for n in range(50)])
    feed.mark(100)
    # The one that creates the ticdc_* tables would be ended between two of them.
    rivals = [run.driver(until="caught-up", limits__takeover_after="10") for _ in range(3)]
    ends = [rival.wait() for rival in rivals]
    assert [said for code, said in ends if code not in (0, 4)] == []
    for code, said in ends:
        fenced = "newer consumer took over" in said or "another consumer began it first" in said
        assert fenced == (code == 4), said
    assert run().code == 0
    name = "items" if kind == "sqlite" else f"{schema}.items"
    assert run.rows(f"SELECT count(*) FROM {name}") == [(50,)]  # noqa: S608
