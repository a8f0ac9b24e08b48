"""A skipped DDL through the command line: what it says, and which rows stop then."""

from pathlib import Path

import sqlalchemy as sa
from support.torture_cli import Begin
from support.torture_topics import ITEMS, inserted, table, ts

WIDER = table(ITEMS.replace("`name` VARCHAR(40)", "`name` VARCHAR(40), `n` INT"))


def test_rows_of_a_skipped_column_stop_until_it_is_there(begin: Begin) -> None:
    feed, run = begin(ddl__on_unsupported="skip")
    feed.ddl(110, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)", "items")
    feed.mark(120)
    skipped = run()
    assert skipped.code == 0
    assert "ADD COLUMN `n` INT DEFAULT (1 + 1); skipped: column n: its default is" in skipped.said
    feed.send(0, inserted(130, {"id": 3, "name": "three", "n": 2}, WIDER))
    feed.mark(140)
    stopped = run()
    assert stopped.code == 3
    assert "shop.items.n: the target table has no such column" in stopped.said
    engine = sa.create_engine(run.target_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE items ADD COLUMN n INTEGER")
    assert run().code == 0
    assert run.rows("SELECT * FROM items ORDER BY id")[-1] == (3, "three", 2)


def test_a_kind_not_named_stops_with_its_reason_and_the_way_on(begin: Begin) -> None:
    feed, run = begin(ddl__kinds='{"CREATE VIEW" = "skip"}')
    feed.ddl(110, "CREATE VIEW `q` AS SELECT UPPER(`name`) AS `n` FROM `items`", "q")
    feed.ddl(111, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)", "items")
    feed.mark(120)
    stopped = run()
    assert stopped.code == 3
    assert 'perhaps by: ALTER TABLE "items" ADD COLUMN' in stopped.said
    assert "CREATE VIEW is not translated" in stopped.said


def test_sql_from_a_file_replaces_a_ddl_and_the_run_continues(begin: Begin, tmp_path: Path) -> None:
    feed, run = begin()
    query = "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)"
    feed.ddl(110, query, "items")
    feed.send(0, inserted(130, {"id": 3, "name": "three", "n": 5}, WIDER))
    feed.mark(140)
    assert f"--ddl-run {ts(110)}:1 FILE" in run().said
    sql = tmp_path / "instead.sql"
    assert run("--ddl-run", str(ts(110)), str(sql)).code == 2
    sql.write_text("ALTER TABLE items ADD COLUMN n INTEGER;\nUPDATE items SET n = 2;\n")
    done = run("--ddl-run", str(ts(110)), str(sql))
    assert (done.code, run.resolved_ts) == (0, ts(140))
    assert f"DDL {ts(110)}:1 is done by {sql}" in done.said
    assert [n for (n,) in run.rows("SELECT n FROM items ORDER BY id")] == [2, 2, 5]
    ledger = run.rows("SELECT query, state, instead FROM ticdc_ddl ORDER BY commit_ts")
    assert ledger[-1] == (query, "done", sql.read_text())


def test_what_the_sql_sets_for_its_session_ends_with_it(begin: Begin) -> None:
    feed, run = begin()
    feed.ddl(110, "CREATE PLACEMENT POLICY `q` FOLLOWERS=2", "q")
    feed.mark(140)
    assert run().code == 3
    with run.consumer() as consumer:
        before = consumer.target.execute("PRAGMA busy_timeout").scalar()
        consumer.ddl_run(str(ts(110)), "PRAGMA busy_timeout = 4321")
        assert consumer.target.execute("PRAGMA busy_timeout").scalar() == before != 4321
        assert [epoch.resolved_ts for epoch in consumer.epochs("caught-up")] == [ts(140)]
