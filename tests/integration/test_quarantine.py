"""A table whose rows cannot be applied is set aside; the others go on; it is released by replay."""

from support.torture_cli import Begin, Command
from support.torture_topics import Feed, inserted, table, ts

OTHERS = "CREATE TABLE `others` (`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(40))"


def aside(run: Command) -> list:
    return run.rows('SELECT "table", resolved_ts, waiting, cause FROM ticdc_quarantine')


def test_first(begin: Begin) -> None:
    feed, run = begin(on_error__quarantine="true")
    feed.create(110, OTHERS)
    feed.mark(120)
    assert run().code == 0
    more = "CREATE TABLE `items` (`id` INT NOT NULL PRIMARY KEY, `name` TEXT, `extra` INT)"
    feed.send(0, inserted(150, {"id": 3, "name": "three", "extra": 1}, table(more)))
    feed.send(1, inserted(150, {"id": 3, "name": "three"}, table(OTHERS)))
    feed.mark(200)
    outcome = run()
    print(outcome)
    print(aside(run), run.rows("SELECT * FROM others"), run.resolved_ts - ts(0))
    feed.send(1, inserted(250, {"id": 4, "name": "four"}, table(OTHERS)))
    feed.ddl(260, "ALTER TABLE `items` ADD COLUMN `extra` INT")
    feed.send(1, inserted(270, {"id": 5, "name": "five", "extra": 1}, table(more)))
    feed.mark(300)
    print(run())
    print(aside(run), run.rows("SELECT * FROM others"), run.resolved_ts - ts(0))
    print(run.command("release", "shop.items"))
    import sqlite3, sqlalchemy as sa

    c = sqlite3.connect(str(sa.make_url(run.target_url).database))
    c.execute("ALTER TABLE items ADD COLUMN extra INT")
    c.close()
    print(run.command("release", "shop.items"))
    print(aside(run), run.rows("SELECT * FROM items"), run.resolved_ts - ts(0))
    print(run.rows("SELECT * FROM ticdc_ddl"))
    assert 0
