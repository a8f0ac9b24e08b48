"""A row whose key the target cannot hold stops the run while upstream has it, and no longer."""

from typing import Any

import pytest
from support import brokers
from support.databases import own_schema
from support.torture_cli import Command, Make
from support.torture_topics import Feed, deleted, inserted, table, ts, updated

WORDS = "CREATE TABLE `words` (`word` VARCHAR(9) NOT NULL, `n` INT, PRIMARY KEY (`word`){more})"
NUL = "a\0"


@pytest.fixture
def feed(mock_kafka: brokers.Mock) -> Feed:
    return Feed(mock_kafka, "canal-json")


def begun(feed: Feed, command: Make, url: str, more: str = "", **settings: Any) -> Command:
    """A table without rows, at 100."""
    route = f'{{"*.*" = "{own_schema(url)}.{{table}}"}}'
    run = command([feed], url, tables__route=route, **settings)
    feed.create(10, WORDS.format(more=more))
    feed.mark(100)
    assert run().code == 0
    return run


def words(run: Command) -> list[tuple[Any, ...]]:
    return run.rows("SELECT word, n FROM words ORDER BY word")


@pytest.mark.parametrize("more", ["", ", UNIQUE KEY `n` (`n`)"])
@pytest.mark.parametrize("way", ["deleted", "changed"])
def test_the_run_goes_on_once_upstream_has_no_such_row(
    feed: Feed, command: Make, postgresql_url: str, more: str, way: str
) -> None:
    run = begun(feed, command, postgresql_url, more)
    of = table(WORDS.format(more=more))
    feed.send(0, inserted(110, {"word": NUL, "n": 1}, of), inserted(110, {"word": "b", "n": 2}, of))
    feed.mark(200)
    outcome = run()
    assert (outcome.code, run.resolved_ts, words(run)) == (3, ts(100), [])
    assert "shop.words.word: a NUL character" in outcome.said
    # From another partition, so that no task has both.
    if way == "deleted":
        feed.send(1, deleted(210, {"word": NUL, "n": 1}, of))
    else:
        feed.send(1, updated(210, {"word": NUL, "n": 1}, {"word": "c", "n": 1}, of))
    feed.mark(300)
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(300)), outcome.said
    assert words(run) == [("b", 2), *([("c", 1)] if way == "changed" else [])]


@pytest.mark.parametrize(
    "settings", [{}, {"target__apply": "transactions"}, {"target__publish": "staging"}], ids=str
)
def test_a_delete_alone_of_such_a_key_is_nothing_to_do(
    feed: Feed, command: Make, postgresql_url: str, settings: dict[str, Any]
) -> None:
    run = begun(feed, command, postgresql_url, **settings)
    of = table(WORDS.format(more=""))
    feed.send(0, inserted(110, {"word": "a", "n": 1}, of), inserted(111, {"word": "b", "n": 2}, of))
    feed.mark(200)
    assert run().code == 0
    feed.send(0, deleted(210, {"word": NUL, "n": 1}, of), deleted(211, {"word": "a", "n": 1}, of))
    feed.mark(300)
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(300)), outcome.said
    assert words(run) == [("b", 2)]


def test_a_table_quarantined_by_a_row_is_released_by_its_delete(
    feed: Feed, command: Make, postgresql_url: str
) -> None:
    run = begun(feed, command, postgresql_url, on_error__quarantine="true")
    of = table(WORDS.format(more=""))
    feed.send(0, inserted(110, {"word": NUL, "n": 1}, of))
    feed.mark(200)
    outcome = run()
    assert outcome.code == 0 and "shop.words is quarantined" in outcome.said
    feed.send(1, deleted(210, {"word": NUL, "n": 1}, of), inserted(211, {"word": "b", "n": 2}, of))
    feed.mark(300)
    assert run().code == 0
    released = run.command("release", "shop.words")
    assert released.code == 0, released.said
    assert words(run) == [("b", 2)]


def test_a_plan_names_such_a_row_as_a_run_does(
    feed: Feed, command: Make, postgresql_url: str
) -> None:
    run = begun(feed, command, postgresql_url)
    of = table(WORDS.format(more=""))
    feed.send(0, inserted(110, {"word": NUL, "n": 1}, of))
    feed.mark(200)
    planned = run.command("plan")
    assert planned.code == 3 and "shop.words.word: a NUL character" in planned.said
    feed.send(1, deleted(210, {"word": NUL, "n": 1}, of))
    feed.mark(300)
    planned = run.command("plan")
    assert planned.code == 0, planned.said


def test_a_row_without_a_key_that_is_gone_again_is_nothing_to_do(
    feed: Feed, command: Make, postgresql_url: str
) -> None:
    keyless = "CREATE TABLE `words` (`word` VARCHAR(9), `n` INT)"
    route = f'{{"*.*" = "{own_schema(postgresql_url)}.{{table}}"}}'
    accepted = {"tables__at_least_once": "shop.words", "tables__route": route}
    run = command([feed], postgresql_url, **accepted)
    feed.create(10, keyless)
    of = table(keyless)
    feed.send(0, inserted(110, {"word": NUL, "n": 1}, of), inserted(111, {"word": "b", "n": 2}, of))
    feed.mark(200)
    assert run().code == 3
    feed.send(1, deleted(210, {"word": NUL, "n": 1}, of))
    feed.mark(300)
    outcome = run()
    assert (outcome.code, words(run)) == (0, [("b", 2)]), outcome.said
