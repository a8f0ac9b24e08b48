"""A table that is quarantined, and whose log cannot be read, is loaded from the upstream at R."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa
from support.torture_cli import Command
from support.torture_topics import Feed
from support.upstream_tidb import Upstream
from support.upstream_workload import definition
from ticdc_consumer import failpoints
from ticdc_encoder.event import Ddl, Row, RowChange

STOCK = "CREATE TABLE stock (id int PRIMARY KEY, text varchar(20), UNIQUE KEY (text))"
OTHERS = "CREATE TABLE others (id int PRIMARY KEY)"
ALTER = "ALTER TABLE stock ADD COLUMN n int DEFAULT 5"
ROWS = "SELECT id, text, n FROM stock ORDER BY id"


def insert(tidb: Upstream, feed: Feed, row: Row, name: str = "stock") -> None:
    values = ", ".join(repr(value) for value in row.values())
    tidb.execute(f"INSERT INTO {name} VALUES ({values})")  # noqa: S608
    feed.send(0, RowChange(definition(tidb, name), tidb.ts(), after=row))


def insert_unreadable(tidb: Upstream, feed: Feed) -> None:
    """A row whose message does not have its key."""
    tidb.execute("INSERT INTO stock VALUES (2, 'two')")
    row: Row = {"id": 2, "text": "two"}
    key, value = feed.record(RowChange(definition(tidb, "stock"), tidb.ts(), after=row))
    assert value is not None and b'"id":"2"' in value
    feed.send_raw(1, key, value.replace(b'"id":"2"', b'"id":"x"'))


def alter(run: Command, statement: str) -> None:
    engine = sa.create_engine(run.target_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


def test_it_equals_the_upstream_at_r_and_goes_on(
    tidb: Upstream,
    feed: Feed,
    into: Callable[..., Command],
    target_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tidb.execute(STOCK, OTHERS, "INSERT INTO stock VALUES (1, 'one')")
    run, stock = into(target_url, on_error__quarantine="true"), f"{tidb.schema}.stock"
    assert run.load().code == 0
    insert_unreadable(tidb, feed)
    tidb.execute(ALTER)
    feed.send(0, Ddl(tidb.schema, "stock", ALTER, tidb.ts(), 5))
    insert(tidb, feed, {"id": 3, "text": "three", "n": 3})
    insert(tidb, feed, {"id": 1}, "others")
    feed.resolve(tidb.ts())
    outcome = run()
    assert (outcome.code, f"{stock} is quarantined" in outcome.said) == (0, True), outcome.said
    assert run.rows("SELECT id, text FROM stock") == [(1, "one")]
    reached = run.resolved_ts
    assert run.command("release", stock).code == 3
    outcome = run.command("release", stock, "--load")
    assert (outcome.code, f"{stock}.n" in outcome.said) == (3, True), outcome.said
    alter(run, "DROP TABLE stock")
    for step in ("release-commit", "released"):
        failpoints._hits.clear()
        with monkeypatch.context() as patch, pytest.raises(failpoints.FailpointReached):
            patch.setenv("TICDC_FAILPOINT", f"{step}:raise")
            run.command("release", stock, "--load")
        assert len(run.rows("SELECT * FROM ticdc_quarantine")) == (step == "release-commit")
    assert run.rows(ROWS) == tidb.execute(ROWS) == [(1, "one", 5), (2, "two", 5), (3, "three", 3)]
    assert run.resolved_ts == reached
    insert(tidb, feed, {"id": 4, "text": "four", "n": 4})
    feed.resolve(last := tidb.ts())
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, last), outcome.said
    assert run.rows(ROWS) == tidb.execute(ROWS)
    assert run.command("verify").code == 0


@pytest.mark.parametrize("target_url", ["sqlite"], indirect=True)
def test_rows_of_a_table_that_has_its_columns_are_replaced(
    tidb: Upstream, feed: Feed, into: Callable[..., Command], target_url: str
) -> None:
    tidb.execute(STOCK, "INSERT INTO stock VALUES (1, 'one'), (9, 'nine')")
    run, stock = into(target_url, on_error__quarantine="true"), f"{tidb.schema}.stock"
    assert run.load().code == 0
    assert "stock is not quarantined" in run.command("release", stock, "--load").said
    insert_unreadable(tidb, feed)
    tidb.execute("DELETE FROM stock WHERE id = 9")
    feed.resolve(tidb.ts())
    assert run().code == 0
    outcome = run.command("release", stock, "--load")
    assert (outcome.code, "is released: 2 rows loaded" in outcome.said) == (0, True), outcome.said
    query = "SELECT id, text FROM stock ORDER BY id"
    assert run.rows(query) == tidb.execute(query)
    assert run().code == 0
    assert run.command("verify").code == 0
