"""Money that moves between accounts of a real TiDB, and the topic that says so, as TiCDC would."""

import json
from collections.abc import Sequence
from random import Random
from threading import Event, Lock, Thread
from typing import Any

import pytest
import sqlalchemy as sa
from ticdc_consumer.cli import commands as cli
from ticdc_encoder.event import Ddl, Row, RowChange, Table

from support.databases import own_schema
from support.torture_cli import Command, Make
from support.torture_topics import Feed
from support.upstream_tidb import Upstream, upstream
from support.upstream_workload import definition

ACCOUNTS = "CREATE TABLE accounts (id INT PRIMARY KEY, balance INT, note VARCHAR(99))"


class Workload:
    """Moves money between accounts of the real TiDB, and sends what it has done to a topic, as
    TiCDC would, until the end."""

    def __init__(self, url: str, feed: Feed) -> None:
        self._url = url
        self._feed = feed
        self._over = Event()
        self._rng = Random(1)
        self._rows: dict[int, Row] = {}
        self._added: dict[str, int] = {}
        self._one_at_a_time = Lock()
        self._thread = Thread(target=self._run)

    def begin(self) -> None:
        with upstream(self._url) as tidb:
            self._table = self._define(tidb, "accounts", ACCOUNTS, 3)
            rows: list[Row] = [{"id": n, "balance": 100, "note": f"row {n}"} for n in range(1, 41)]
            self._write(tidb, self._table, [(None, row) for row in rows])
        self._rows = {int(str(row["id"])): row for row in rows}
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def define_more(self) -> None:
        """Between two transactions: one more column of the accounts, and one more table with a
        row."""
        number = len(self._added)
        column, name = f"more{number}", f"table{number}"
        add = f"ALTER TABLE accounts ADD COLUMN {column} INT DEFAULT {number}"
        create = f"CREATE TABLE {name} (id INT PRIMARY KEY)"
        with self._one_at_a_time, upstream(self._url) as tidb:
            self._table = self._define(tidb, "accounts", add, 5)
            self._added[column] = number
            self._rows = {key: {**row, column: number} for key, row in self._rows.items()}
            self._write(tidb, self._define(tidb, name, create, 3), [(None, {"id": 1})])

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with upstream(self._url) as tidb:
            while not self._over.wait(0.01):
                with self._one_at_a_time:
                    one, other = self._rng.sample(sorted(set(self._rows) - {1, 2, 3}), 2)
                    moved = {one: self._moved(one, -1), other: self._moved(other, 1)}
                    self._write(tidb, self._table, [(self._rows[n], moved[n]) for n in moved])
                    self._rows |= moved

    def _moved(self, number: int, money: int) -> Row:
        before = self._rows[number]
        return {**before, "balance": before["balance"] + money}  # type: ignore[operator]

    def _define(self, tidb: Upstream, name: str, query: str, kind: int) -> Table:
        """Runs the DDL of a table."""
        commit_ts, table = tidb.ddl(query), definition(tidb, name)
        self._feed.send(0, Ddl(tidb.schema, name, query, commit_ts, kind, table))
        self._feed.resolve(commit_ts + 1)
        return table

    def _write(
        self, tidb: Upstream, table: Table, changes: Sequence[tuple[Row | None, Row]]
    ) -> None:
        tidb.execute("BEGIN")
        for _, row in changes:
            values = ", ".join(map(repr, row.values()))
            tidb.execute(f"REPLACE INTO {table.name} ({', '.join(row)}) VALUES ({values})")  # noqa: S608
        tidb.execute("COMMIT")
        ((info,),) = tidb.execute("SELECT json_extract(@@tidb_last_txn_info, '$.commit_ts')")
        for number, (before, after) in enumerate(changes):
            self._feed.send(number % 2, RowChange(table, int(info), before, after))
        self._feed.resolve(int(info) + 1)


def moving(
    command: Make, feed: Feed, upstream_url: str, target_url: str, **settings: Any
) -> Command:
    """A changefeed of the feed's topic from that TiDB into that target."""
    return command(
        [feed],
        target_url,
        source__upstream=upstream_url,
        tables__filter=f"{sa.make_url(upstream_url).database}.*",
        tables__route=f'{{"*.*" = "{own_schema(target_url)}.{{table}}"}}',
        **settings,
    )


def has_rows(run: Command) -> bool:
    try:
        return run.rows("SELECT count(*) FROM accounts") == [(40,)]
    except sa.exc.DBAPIError:
        return False


def verified_json(
    run: Command, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = cli.main(["verify", str(run._file), "--json", *run.arguments(), *arguments])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else {"equal": printed.err}
