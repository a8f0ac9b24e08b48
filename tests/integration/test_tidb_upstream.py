"""The real TiDB as the upstream: rows of which only the handle key was sent are read there as of
their commit_ts, although newer versions exist, and the target is what TiDB was at each R."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.large_rows import DOCS, Reduced, doc
from support.torture_cli import Command, Make
from support.torture_topics import Feed
from ticdc_consumer.errors import LOAD_ANEW
from ticdc_encoder.event import Ddl, Resolved, Row, RowChange
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.tso import compose

COLUMNS = "id, code, seen, `100%`, raw, four, amount, big, flags + 0, mood + 0, born, `at`, y"


class TiDb:
    """A table of the real TiDB, and what it held at any timestamp."""

    def __init__(self, url: str) -> None:
        self.url = url
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        self._connection = engine.connect().execution_options(no_parameters=True)
        self.execute("SET time_zone = '+00:00'")
        self.execute(DOCS)
        self.schema = str(engine.url.database)
        self.table = parse_create_table(DOCS, self.schema)

    def execute(self, statement: str, *parameters: object) -> sa.CursorResult[Any]:
        return self._connection.exec_driver_sql(statement, parameters or None)

    def insert(self, row: Row) -> None:
        values = ", ".join(["%s"] * len(row))
        names = ", ".join(f"`{name}`".replace("%", "%%") for name in row)
        self.execute(f"INSERT INTO docs ({names}) VALUES ({values})", *row.values())  # noqa: S608

    def commit(self) -> int:
        """Ends the transaction; its commit_ts."""
        self.execute("COMMIT")
        found = self.execute("SELECT json_extract(@@tidb_last_txn_info, '$.commit_ts')")
        return int(found.scalar_one())

    def alter(self, statement: str) -> Ddl:
        """The DDL, at a timestamp after it and before whatever comes next."""
        self.execute(statement)
        self.execute("BEGIN")
        commit_ts = int(self.execute("SELECT @@tidb_current_ts").scalar_one())
        self.execute("COMMIT")
        created = self.execute("SHOW CREATE TABLE docs").mappings().one()["Create Table"]
        table = parse_create_table(created, self.schema)
        return Ddl(self.schema, "docs", statement, commit_ts, 5, table)

    def held(self, resolved_ts: int, columns: str) -> list[tuple[Any, ...]]:
        """What it held at R."""
        self.execute(f"SET @@tidb_snapshot = {resolved_ts - 1}")
        try:
            found = self.execute(f"SELECT {columns} FROM docs ORDER BY id, code")  # noqa: S608
            return [tuple(row) for row in found]
        finally:
            self.execute("SET @@tidb_snapshot = ''")


@pytest.fixture
def upstream(tidb_url: str) -> Iterator[TiDb]:
    tidb = TiDb(tidb_url)
    yield tidb
    tidb._connection.close()


class Changefeed(Reduced):
    """Of the real table: events at TiDB's own timestamps, spread over the partitions."""

    def row(self, commit_ts: int, before: Row | None, after: Row | None, partition: int) -> None:
        self.feed.send(partition, RowChange(self.table, commit_ts, before, after))

    def ddl(self, ddl: Ddl) -> None:
        assert ddl.definition is not None
        if self.feed.protocol == "simple":
            version = ddl.commit_ts
            ddl = replace(ddl, definition=replace(ddl.definition, table_id=7, version=version))
        assert ddl.definition is not None
        self.table = ddl.definition
        for partition in range(1 if self.feed.protocol == "canal-json" else self.feed.partitions):
            self.feed.send(partition, ddl)

    def resolve(self, resolved_ts: int) -> int:
        for partition in range(self.feed.partitions):
            self.feed.send(partition, Resolved(resolved_ts))
        return resolved_ts


def into(command: Make, feed: Feed, upstream: TiDb, mysql_url: str) -> Command:
    return command(
        [feed],
        mysql_url,
        source__upstream=upstream.url,
        limits__schema_wait=1,
        tables__route=f'{{"*.*" = "{sa.make_url(mysql_url).database}.{{table}}"}}',
    )


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "simple"])
def test_the_target_is_what_tidb_was_at_every_resolved_ts(
    protocol: str, upstream: TiDb, mock_kafka: brokers.Mock, mysql_url: str, command: Make
) -> None:
    topic = Changefeed(mock_kafka, upstream.table, protocol, "UTC")
    small, first, other = doc(1, "small"), doc(2, "a" * 4000), doc(2, "c" * 4000, "another")
    second, third = doc(2, "b" * 4000), doc(2, "d" * 5000)
    marks = []
    upstream.execute("BEGIN")
    for row in (small, first, other):
        upstream.insert(row)
    inserted = upstream.commit()
    for number, row in enumerate((small, first, other)):
        topic.row(inserted, None, row, number % 2)
    marks.append(topic.resolve(inserted + 1))
    # Two versions within one cut, and a third row that comes and goes.
    for old, new in ((first, second), (second, third)):
        upstream.execute("BEGIN")
        statement = "UPDATE docs SET `100%%` = %s, raw = %s WHERE id = 2 AND code <> 'another'"
        upstream.execute(statement, new["100%"], new["raw"])
        updated = upstream.commit()
        topic.row(updated, old, new, 1)
        marks.append(topic.resolve(updated + 1))
    upstream.execute("BEGIN")
    upstream.execute("DELETE FROM docs WHERE code = 'another'")
    deleted = upstream.commit()
    topic.row(deleted, other, None, 0)
    ddl = upstream.alter("ALTER TABLE docs ADD COLUMN added int NOT NULL DEFAULT 7 AFTER code")
    topic.ddl(ddl)
    marks.append(topic.resolve(ddl.commit_ts + 1))
    upstream.execute("BEGIN")
    upstream.insert({**doc(3, "e" * 4000), "added": 9})
    upstream.execute("UPDATE docs SET `100%%` = %s WHERE id = 2", first["100%"])
    changed = upstream.commit()
    wide = {**third, "added": 7}
    topic.row(changed, None, {**doc(3, "e" * 4000), "added": 9}, 0)
    topic.row(changed, wide, {**wide, "100%": first["100%"]}, 1)
    marks.append(topic.resolve(changed + 1))
    # What is gone upstream, columns and rows, is read as it was.
    upstream.alter("ALTER TABLE docs DROP COLUMN raw")
    upstream.execute("DELETE FROM docs")
    run = into(command, topic.feed, upstream, mysql_url)
    for number, mark in enumerate(marks):
        if number == 1:
            continue  # the two versions are one cut's
        outcome = run(until=str(mark))
        assert outcome.code == 0, outcome.said
        columns = COLUMNS if mark <= ddl.commit_ts else f"added, {COLUMNS}"
        assert run.resolved_ts == mark
        assert run.rows(f"SELECT {columns} FROM docs ORDER BY id, code") == upstream.held(  # noqa: S608
            mark, columns
        )
    assert len(run.rows("SELECT id FROM docs")) == 3


def test_a_past_that_is_collected_is_told_in_one_sentence(
    upstream: TiDb, mock_kafka: brokers.Mock, mysql_url: str, command: Make
) -> None:
    # The tests' TiDB has a safe point of 2020 (tests/services).
    commit_ts = compose(1_560_000_000_000)
    feed = Feed(mock_kafka, max_message_bytes=3000, large_message_handle_option="handle-key-only")
    feed.send(0, Ddl(upstream.schema, "docs", DOCS, commit_ts - 10, 3, upstream.table))
    feed.send(0, Resolved(commit_ts))
    feed.send(1, RowChange(upstream.table, commit_ts, after=doc(2, "a" * 4000)))
    feed.send(0, Resolved(commit_ts + 1))
    run = into(command, feed, upstream, mysql_url)
    outcome = run()
    assert outcome.code == 3
    (said,) = [line for line in outcome.said.splitlines() if line.startswith("ticdc-consumer: ")]
    assert said == (
        f"ticdc-consumer: {upstream.schema}.docs: the upstream has removed the rows of commit_ts "
        f"{commit_ts} (error 8055), so that a large row cannot be completed: raise "
        f"tidb_gc_life_time there, and {LOAD_ANEW}; to avoid this, let the changefeed use "
        "claim-check"
    )
    assert run.resolved_ts == commit_ts - 9  # after the CREATE TABLE
    assert run.rows("SELECT count(*) FROM docs") == [(0,)]


LABELS = "CREATE TABLE words (id INT PRIMARY KEY, mood ENUM('b','a'), tags SET('y','x'))"


def test_labels_that_messages_lack_come_from_upstream_by_row(
    upstream: TiDb, mock_kafka: brokers.Mock, mysql_url: str, command: Make
) -> None:
    upstream.execute(LABELS)
    table = parse_create_table(LABELS, upstream.schema)
    feed = Feed(mock_kafka)
    marks = []
    for number in (1, 2):
        upstream.execute("BEGIN")
        upstream.execute("INSERT INTO words VALUES (%s, 'b', 'x')", number)
        inserted = upstream.commit()
        feed.send(0, RowChange(table, inserted, after={"id": number, "mood": 1, "tags": 2}))
        for partition in range(feed.partitions):
            feed.send(partition, Resolved(inserted + 1))
        marks.append(inserted + 1)
    # What upstream has now is not what the rows were written by.
    upstream.execute("ALTER TABLE words MODIFY mood ENUM('x','a','b')")
    target = sa.create_engine(mysql_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with target.connect() as connection:
        wrong = LABELS.replace("'b','a'", "'a','b'").replace("'y','x'", "'x','y'")
        connection.exec_driver_sql(wrong)
        route = f'{{"*.*" = "{sa.make_url(mysql_url).database}.{{table}}"}}'
        unasked = command([feed], mysql_url, tables__route=route)
        run = into(command, feed, upstream, mysql_url)
        outcome = unasked()
        assert outcome.code == 3
        assert "words.mood: the labels of this enum are not known: neither" in outcome.said
        assert "words.tags: the labels of this set are not known: neither" in outcome.said
        outcome = run()
        assert outcome.code == 3
        assert "words.mood: its labels are not the first ones of the target's" in outcome.said
        assert run.rows("SELECT * FROM words") == []
        connection.exec_driver_sql(
            "ALTER TABLE words MODIFY mood ENUM('b','a'), MODIFY tags SET('y','x')"
        )
    outcome = run(until=str(marks[0]))
    assert outcome.code == 0, outcome.said
    # Once told, they are known without the upstream.
    outcome = unasked()
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT id, mood, tags FROM words ORDER BY id") == [
        (1, "b", "x"),
        (2, "b", "x"),
    ]
