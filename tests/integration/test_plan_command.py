"""`ticdc-consumer plan`: what the next cuts would do is told, and nothing is done."""

from collections.abc import Sequence

import pytest
import sqlalchemy as sa
from confluent_kafka import Consumer, TopicPartition
from support.brokers import Mock
from support.torture_cli import CHANGEFEED, Begin, Command, Make
from support.torture_topics import ITEMS, Feed, deleted, inserted, table, ts, updated
from ticdc_consumer import cli
from ticdc_consumer.commands import plan as dry_run
from ticdc_encoder.event import Row

OTHER = "CREATE TABLE `other` (`id` INT NOT NULL, PRIMARY KEY (`id`))"


@pytest.fixture
def plan(capsys: pytest.CaptureFixture[str]) -> "Plan":
    return Plan(capsys)


class Plan:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, run: Command, *arguments: str) -> tuple[int, list[str], str]:
        """The exit code, the lines of the plan, and what was said beside it."""
        code = cli.main(["plan", str(run._file), *run.arguments(), *arguments])
        told = self._capsys.readouterr()
        return code, told.out.splitlines(), told.err


def changes(feed: Feed) -> None:
    """Row 1 updated, 2 deleted, 3 inserted, 4 come and gone again."""
    one: Row = {"id": 1, "name": "one"}
    two: Row = {"id": 2, "name": "two"}
    feed.send(0, updated(110, one, {"id": 1, "name": "uno"}), inserted(112, {"id": 3, "name": "x"}))
    feed.send(1, deleted(111, two), inserted(113, {"id": 4, "name": "y"}))
    feed.send(1, deleted(114, {"id": 4, "name": "y"}))


def test_it_tells_the_rows_of_each_table_and_does_nothing(begin: Begin, plan: Plan) -> None:
    feed, run = begin()
    changes(feed)
    feed.mark(120)
    before, positions = run.contents(), committed(feed)
    owner = run.rows("SELECT generation, owner FROM ticdc_checkpoint")
    code, lines, said = plan(run)
    assert (code, said) == (0, "")
    assert committed(feed) == positions != []
    assert run.rows("SELECT generation, owner FROM ticdc_checkpoint") == owner
    assert lines[0].startswith(f"cut to R {ts(120)}")
    assert lines[1:] == ["  shop.items: 1 inserted, 1 updated, 1 deleted"]
    assert run.contents() == before
    assert run().code == 0
    assert plan(run) == (0, ["there is nothing to apply"], "")


def committed(feed: Feed) -> list[int]:
    """The group's offsets in Kafka."""
    consumer = Consumer({**feed.kafka.config, "group.id": CHANGEFEED})
    places = [TopicPartition(feed.topic, number) for number in range(feed.partitions)]
    offsets = [place.offset for place in consumer.committed(places, timeout=30)]
    consumer.close()
    return offsets


def test_a_plan_that_grows_too_large_says_where_it_ends(
    begin: Begin, plan: Plan, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    feed, run = begin(limits__rows_per_epoch=1)
    for number in (110, 120, 130):
        feed.send(0, inserted(number, {"id": number, "name": "x"}))
        feed.mark(number + 5)
    monkeypatch.setattr(dry_run, "MOST_KEYS", 1)
    _, lines, _ = plan(run)
    assert len([line for line in lines if line.startswith("cut")]) == 2
    assert f"the plan ends at R {ts(125)}" in caplog.text


def test_a_later_cut_is_compared_with_the_one_before_it(begin: Begin, plan: Plan) -> None:
    feed, run = begin(limits__rows_per_epoch=1)
    feed.send(0, inserted(110, {"id": 3, "name": "x"}))
    feed.mark(120)
    feed.send(0, updated(125, {"id": 3, "name": "x"}, {"id": 3, "name": "z"}))
    feed.send(0, deleted(126, {"id": 1, "name": "one"}))
    feed.mark(130)
    _, lines, _ = plan(run)
    rows = [line for line in lines if "items" in line]
    assert rows == [
        "  shop.items: 1 inserted, 0 updated, 0 deleted",
        "  shop.items: 0 inserted, 1 updated, 1 deleted",
    ]


def test_it_ends_where_it_is_told_to(begin: Begin, plan: Plan) -> None:
    feed, run = begin()
    changes(feed)
    feed.mark(120)
    _, lines, _ = plan(run, "--until", str(ts(112)))
    assert lines[1:] == ["  shop.items: 0 inserted, 1 updated, 1 deleted"]


def test_ddl_is_in_the_targets_words_and_ends_what_is_counted(begin: Begin, plan: Plan) -> None:
    feed, run = begin()
    before = run.contents()
    feed.create(105, OTHER)
    feed.ddl(110, "ALTER TABLE `items` ADD COLUMN `n` INT", "items")
    wider = table(ITEMS.replace("VARCHAR(40)", "VARCHAR(40), `n` INT"))
    feed.send(0, inserted(112, {"id": 3, "name": "x", "n": 1}, wider))
    feed.ddl(115, "ALTER TABLE `items` ADD COLUMN `m` INT", "items")
    widest = table(ITEMS.replace("VARCHAR(40)", "VARCHAR(40), `n` INT, `m` INT"))
    feed.send(0, inserted(117, {"id": 4, "name": "y", "n": 1, "m": 2}, widest))
    feed.mark(120)
    code, lines, _ = plan(run)
    assert code == 0
    text = "\n".join(lines)
    assert 'CREATE TABLE "other" ("id" INTEGER NOT NULL, PRIMARY KEY ("id"));' in text
    assert 'ALTER TABLE "items" ADD COLUMN "n" INTEGER;' in text
    waiting = [line for line in lines if "wait" in line]
    # Both where they are met: the second is not read again in its own cut.
    assert waiting == [
        "  shop.items: changes that wait for the preceding DDL are not counted: about 2"
    ]
    assert "its SQL depends on the preceding DDL" in text
    assert run.contents() == before
    assert run().code == 0


def test_what_would_stop_is_told_last_with_exit_code_3(begin: Begin, plan: Plan) -> None:
    feed, run = begin()
    changes(feed)
    feed.ddl(115, "CREATE PLACEMENT POLICY `q` FOLLOWERS=2", "q")
    feed.ddl(116, "DROP TABLE `items`", "items")
    feed.mark(120)
    code, lines, said = plan(run)
    assert code == 3
    assert lines[-1] == "    would stop: CREATE PLACEMENT is not translated"
    assert "stops: CREATE PLACEMENT is not translated" in said
    assert run().code == 3
    code, lines, said = plan(run)  # and so it does where it is pending
    assert (code, len(lines)) == (3, 2)
    code, lines, _ = plan(run, "--set", "ddl.on_unsupported=skip")
    assert code == 0
    assert "    would be skipped: CREATE PLACEMENT is not translated" in lines
    assert '    DROP TABLE IF EXISTS "items";' in lines


def test_rows_that_would_stop_stop_the_plan(begin: Begin, plan: Plan) -> None:
    feed, run = begin()
    feed.send(0, inserted(110, {"id": 1}, table(OTHER)))
    feed.mark(120)
    code, lines, said = plan(run)
    assert (code, lines) == (3, [])
    assert "shop.other: the target has no table" in said


SQL = {
    "sqlite": [
        """DELETE FROM "items" WHERE "id" = 2;""",
        """INSERT OR ABORT INTO "items" ("id", "name") VALUES (1, 'it''s') ON CONFLICT ("id") """
        """DO UPDATE SET "name" = excluded."name";""",
    ],
    "postgresql": [
        """DELETE FROM "{db}"."items" WHERE "id" = '2';""",
        """INSERT INTO "{db}"."items" ("id", "name") OVERRIDING SYSTEM VALUE VALUES """
        """('1', 'it''s') ON CONFLICT ("id") DO UPDATE SET "name" = EXCLUDED."name";""",
    ],
    "mariadb": [
        "DELETE FROM `{db}`.`items` WHERE `id` IN (2);",
        "INSERT INTO `{db}`.`items` (`id`, `name`) VALUES (1,'it''s') "
        "ON DUPLICATE KEY UPDATE `name`=VALUES(`name`);",
    ],
}
SQL["mysql"] = SQL["mariadb"]


def test_the_statements_of_a_small_cut_run_as_they_are_shown(
    target_url: str, mock_kafka: Mock, command: Make, plan: Plan
) -> None:
    feed, run, database = first_cut(mock_kafka, target_url, command)
    code, lines, _ = plan(run, "--sql")  # a first start: nothing is there
    assert code == 0 and any("CREATE TABLE" in line for line in lines)
    outcome = run()
    assert outcome.code == 0, outcome.said
    feed.send(0, deleted(110, {"id": 2, "name": "b"}))
    feed.send(1, updated(110, {"id": 1, "name": "a"}, {"id": 1, "name": "it's"}))
    feed.mark(120)
    kind = next(kind for kind in SQL if target_url.startswith(kind))
    code, lines, said = plan(run, "--sql")
    assert code == 0, said
    shown = [line.strip() for line in lines[2:]]
    assert shown == [line.format(db=database) for line in SQL[kind]]
    assert lines[1] == "  shop.items: 0 inserted, 1 updated, 1 deleted"
    execute(run, shown)
    assert plan(run)[1][1] == "  shop.items: 0 inserted, 1 updated, 0 deleted"


def first_cut(kafka: Mock, target_url: str, command: Make) -> tuple[Feed, Command, str]:
    """Rows 1 and 2 in a topic, and the schema or database where they land."""
    feed = Feed(kafka)
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "a"}), inserted(20, {"id": 2, "name": "b"}))
    feed.mark(100)
    url = sa.make_url(target_url)
    database = str(url.database) if url.get_backend_name() in ("mysql", "mariadb") else "public"
    run = command([feed], target_url, tables__route=f'{{"shop.*" = "{database}.{{table}}"}}')
    return feed, run, database


def execute(run: Command, statements: Sequence[str]) -> None:
    engine = sa.create_engine(run.target_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        for text in statements:
            connection.exec_driver_sql(text, None, {"no_parameters": True})


def test_a_consumer_that_runs_is_not_disturbed(
    target_url: str, mock_kafka: Mock, command: Make, plan: Plan
) -> None:
    feed, run, _ = first_cut(mock_kafka, target_url, command)
    with run.consumer() as consumer:
        assert [epoch.resolved_ts for epoch in consumer.epochs("caught-up")][-1] == ts(100)
        changes(feed)
        feed.mark(120)
        code, lines, said = plan(run)
        assert (code, said) == (0, "")
        assert lines[1:] == ["  shop.items: 1 inserted, 1 updated, 1 deleted"]
        assert [epoch.resolved_ts for epoch in consumer.epochs("caught-up")] == [ts(120)]


def test_a_table_that_would_be_set_aside_stays_where_it_is(begin: Begin, plan: Plan) -> None:
    feed, run = begin(ddl__keep_dropped="1h")
    before = run.contents()
    feed.ddl(110, "DROP TABLE `items`", "items")
    feed.ddl(111, "RECOVER TABLE `items`", "items")
    feed.mark(120)
    code, lines, said = plan(run)
    assert code == 0, said
    assert 'ALTER TABLE "items" RENAME TO' in "\n".join(lines)
    assert run.contents() == before


@pytest.mark.parametrize("server", ["mariadb", "mysql"])
def test_renames_that_run_as_one_statement_are_told_so(
    request: pytest.FixtureRequest, server: str, mock_kafka: Mock, command: Make, plan: Plan
) -> None:
    url: str = request.getfixturevalue(f"{server}_url")
    feed, run, database = first_cut(mock_kafka, url, command)
    feed.create(105, OTHER)
    feed.mark(106)
    assert run().code == 0
    for old, new, final in (
        ("items", "x", "other"),
        ("other", "items", "items"),
        ("x", "other", "other"),
    ):
        feed.ddl(110, f"RENAME TABLE `shop`.`{old}` TO `shop`.`{new}`", final)
    feed.mark(120)
    code, lines, said = plan(run)
    assert (code, said) == (0, "")
    (renamed,) = (line for line in lines if "RENAME TABLE" in line and "ticdc_renaming" in line)
    at = f"`{database}`"
    assert (
        f"{at}.`items` TO {at}.`x`, {at}.`other` TO {at}.`items`, {at}.`x` TO {at}.`other`"
        in renamed
    )
    assert sum(f"by the statement of {ts(110)}:1" in line for line in lines) == 2
    assert run().code == 0


def test_an_exchanged_partition_is_told_with_the_rows_that_move(begin: Begin, plan: Plan) -> None:
    parted = (
        "CREATE TABLE `parted` (`id` INT NOT NULL PRIMARY KEY) "
        "PARTITION BY RANGE (`id`) (PARTITION `p0` VALUES LESS THAN (10), "
        "PARTITION `p1` VALUES LESS THAN (20))"
    )
    feed, run = begin()
    feed.create(105, parted)
    feed.create(106, OTHER)
    feed.send(0, inserted(107, {"id": 1}, table(parted)), inserted(107, {"id": 11}, table(parted)))
    feed.send(1, inserted(107, {"id": 2}, table(OTHER)))
    feed.mark(108)
    assert run().code == 0
    feed.ddl(110, "ALTER TABLE `parted` EXCHANGE PARTITION `p0` WITH TABLE `other`", "other")
    feed.send(0, inserted(115, {"id": 12}, table(parted)))
    feed.send(1, inserted(115, {"id": 3}, table(OTHER)))
    feed.mark(120)
    before = run.contents()
    code, lines, said = plan(run)
    assert (code, said) == (0, "")
    text = "\n".join(lines)
    assert 'DELETE FROM "parted" WHERE (("id" < 10));' in text
    assert 'INSERT INTO "parted" ("id") SELECT "id" FROM "other";' in text
    for name in ("parted", "other"):
        assert (
            f"shop.{name}: changes that wait for the preceding DDL are not counted: about 1" in text
        )
    assert run.contents() == before
    assert run().code == 0
