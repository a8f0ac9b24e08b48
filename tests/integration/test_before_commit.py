"""What a program executes in the transaction of each cut, from the topic to the target."""

import sqlite3
from contextlib import closing

import pytest
from support.torture_cli import Begin
from support.torture_topics import inserted, ts
from ticdc_consumer import Consumer, Stop, UncommittedCut


class Broken(Exception):
    """Of the program."""


OF_OURS = Stop("a check of the program's own")
OF_OURS.table = ("shop", "items")


@pytest.mark.parametrize("error", [Broken("no"), OF_OURS], ids=["its own", "one of ours"])
def test_what_it_raises_ends_the_loop_and_a_new_loop_continues(
    begin: Begin, error: Exception
) -> None:
    feed, run = begin(on_error__quarantine=True)
    with closing(sqlite3.connect(run.target_url.removeprefix("sqlite:///"))) as database:
        database.execute("CREATE TABLE audit (r INTEGER PRIMARY KEY, written INTEGER)")
    failures = [error]

    def audit(cut: UncommittedCut) -> None:
        written = sum(counts.upserted for counts in cut.tables.values())
        cut.execute("INSERT INTO audit VALUES (:r, :n)", {"r": cut.resolved_ts, "n": written})
        if failures:
            raise failures.pop()

    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    with Consumer(run.options(), before_commit=audit) as consumer:
        with pytest.raises(type(error)) as raised:
            list(consumer.epochs("caught-up"))
        assert raised.value is error
        assert (run.resolved_ts, run.rows("SELECT * FROM audit")) == (ts(100), [])
        epochs = list(consumer.epochs("caught-up"))
    assert epochs[-1].resolved_ts == run.resolved_ts == ts(200)
    audited = run.rows("SELECT r, written FROM audit")
    assert [r for r, _ in audited] == [epoch.resolved_ts for epoch in epochs]
    assert sum(written for _, written in audited) == 1
    assert run.rows("SELECT id FROM items ORDER BY id") == [(1,), (2,), (3,)]
    assert run.rows("SELECT * FROM ticdc_quarantine") == []
