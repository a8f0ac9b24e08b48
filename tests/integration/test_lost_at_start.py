"""A session that is lost while a start looks at its tables is replaced, unless a newer consumer
took over meanwhile."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import pytest
import sqlalchemy as sa
from support import brokers
from support.torture_cli import Command, Make
from support.torture_topics import Feed, inserted, ts
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.target import Target

SERVERS = ["postgresql", "mariadb", "mysql", "tidb"]


@pytest.fixture(params=SERVERS)
def run(request: pytest.FixtureRequest, mock_kafka: brokers.Mock, command: Make) -> Command:
    """A target at 100; rows up to 200 wait in the topic."""
    url = request.getfixturevalue(f"{request.param}_url")
    feed = Feed(mock_kafka)
    schema = "shop" if request.param == "postgresql" else f"{sa.make_url(url).database}"
    run = command([feed], url, tables__route=f'{{"*.*" = "{schema}.{{table}}"}}')
    feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "a"}))
    feed.mark(100)
    assert run().code == 0
    feed.send(0, inserted(120, {"id": 2, "name": "b"}))
    feed.mark(200)
    return run


Lose = Callable[[Callable[[Target], None]], None]


@pytest.fixture
def at_the_check(run: Command, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lose]:
    """Has something done to the session that checks the tables, once."""
    with closing(open_target(run.target_url)) as opened:
        kind = type(opened)
    check = kind.require_lasting

    def lose(happens: Callable[[Target], None]) -> None:
        def once(target: Target, tables: Sequence[TargetName]) -> None:
            if "items" in {name for _, name in tables}:
                monkeypatch.setattr(kind, "require_lasting", check)
                happens(target)
            check(target, tables)

        monkeypatch.setattr(kind, "require_lasting", once)

    yield lose
    assert kind.require_lasting is check, "it was not checked"


def end_session(target: Target) -> None:
    with closing(open_target(str(target.engine.url.render_as_string(hide_password=False)))) as by:
        by.end_session(target.session_id())


def test_it_goes_on_in_a_new_session(run: Command, at_the_check: Lose) -> None:
    at_the_check(end_session)
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(200)), outcome.said


def test_it_does_not_take_over_again_from_a_newer_consumer(
    run: Command, at_the_check: Lose
) -> None:
    def overtaken(target: Target) -> None:
        newer = run(limits__takeover_after="1")
        assert newer.code == 0, newer.said

    at_the_check(overtaken)
    outcome = run()
    assert outcome.code == 4, outcome.said
    assert "a newer consumer took over (generation 3, this one has 2)" in outcome.said
    assert run.resolved_ts == ts(200)
