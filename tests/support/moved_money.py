"""Money that moves between accounts of a real TiDB, and the topic that says so, as TiCDC would."""

import json
from collections.abc import Sequence
from random import Random
from threading import Event, Thread
from typing import Any

import pytest
import sqlalchemy as sa
from ticdc_consumer.cli import commands as cli
from ticdc_encoder.event import Ddl, Resolved, Row, RowChange
from ticdc_encoder.sql.parser import parse_create_table

from support.databases import own_schema
from support.torture_cli import Command, Make
from support.torture_topics import Feed
from support.upstream_tidb import Upstream, upstream

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
        self._thread = Thread(target=self._run)

    def begin(self) -> None:
        with upstream(self._url) as tidb:
            tidb.execute(ACCOUNTS)
            self._table = parse_create_table(ACCOUNTS, tidb.schema)
            ts = tidb.ts()
            self._feed.send(0, Ddl(tidb.schema, "accounts", ACCOUNTS, ts, 3, self._table))
            rows: list[Row] = [{"id": n, "balance": 100, "note": f"row {n}"} for n in range(1, 41)]
            self._write(tidb, [(None, row) for row in rows])
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with upstream(self._url) as tidb:
            while not self._over.wait(0.01):
                one, other = self._rng.sample(sorted(set(self._rows) - {1, 2, 3}), 2)
                self._write(tidb, [self._moved(one, -1), self._moved(other, 1)])

    def _moved(self, number: int, money: int) -> tuple[Row, Row]:
        before = self._rows[number]
        return before, {**before, "balance": before["balance"] + money}  # type: ignore[operator]

    def _write(self, tidb: Upstream, changes: Sequence[tuple[Row | None, Row]]) -> None:
        tidb.execute("BEGIN")
        for _, row in changes:
            values = f"{row['id']!r}, {row['balance']!r}, {row['note']!r}"
            tidb.execute(f"REPLACE INTO accounts VALUES ({values})")  # noqa: S608
            self._rows[int(str(row["id"]))] = row
        tidb.execute("COMMIT")
        ((info,),) = tidb.execute("SELECT json_extract(@@tidb_last_txn_info, '$.commit_ts')")
        for number, (before, after) in enumerate(changes):
            self._feed.send(number % 2, RowChange(self._table, int(info), before, after))
        for partition in range(2):
            self._feed.send(partition, Resolved(int(info) + 1))


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
