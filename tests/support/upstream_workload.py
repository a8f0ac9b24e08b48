"""Transactions on a table of the real TiDB, which a topic then shows."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from ticdc_encoder.event import Ddl, Row, RowChange, Table
from ticdc_encoder.sql.parser import parse_create_table

from support.torture_topics import Feed
from support.upstream_tidb import Upstream


def definition(tidb: Upstream, table: str) -> Table:
    return parse_create_table(tidb.execute(f"SHOW CREATE TABLE {table}")[0][1], tidb.schema)


PAUSE = 0.003
"""Seconds between two transactions."""


class Workload:
    """Transactions on the table `stock`, which may get columns in between."""

    def __init__(self, tidb: Upstream, feed: Feed, seed: int) -> None:
        self._tidb, self._feed = tidb, feed
        self._random = random.Random(seed)
        self._rows: dict[int, Row] = {}
        self._table = definition(tidb, "stock")
        self._added: dict[str, int] = {}
        self._one_at_a_time = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.last = 0

    def begin(self) -> None:
        for _ in range(40):
            self.transact()
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        for _ in range(5):
            self.transact()

    def _run(self) -> None:
        while not self._over.wait(PAUSE):
            self.transact()

    def add_column(self) -> None:
        """As of the present moment, between two transactions."""
        with self._one_at_a_time:
            number = len(self._added)
            query = f"ALTER TABLE stock ADD COLUMN more{number} int DEFAULT {number}"
            commit_ts = self._tidb.ddl(query)
            self._table = definition(self._tidb, "stock")
            self._added[f"more{number}"] = number
            self._rows = {key: {**row, **self._added} for key, row in self._rows.items()}
            self._feed.send(0, Ddl(self._tidb.schema, "stock", query, commit_ts, 5, self._table))
            self._resolve(commit_ts)

    def transact(self) -> None:
        """One of up to three rows."""
        with self._one_at_a_time:
            self._transact()

    def _transact(self) -> None:
        changes = [self._change() for _ in range(3)]
        statements = [statement for statement, _, _ in changes]
        *_, ((found,),) = [
            self._tidb.execute(text)
            for text in ("BEGIN", *statements, "COMMIT", "SELECT @@tidb_last_txn_info")
        ]
        commit_ts = int(found.partition('"commit_ts":')[2].split(",")[0])
        before, after = dict[int, Row | None](), dict[int, Row | None]()
        for _, old, new in changes:
            key = cast("int", (old or new or {})["id"])
            before.setdefault(key, old)
            after[key] = new
        for key, old in before.items():
            if old != after[key]:
                change = RowChange(self._table, commit_ts, old, after[key])
                self._feed.send(key % 2, change)
        self._resolve(commit_ts)

    def _resolve(self, commit_ts: int) -> None:
        self.last = commit_ts + 1
        self._feed.resolve(self.last)

    def _change(self) -> tuple[str, Row | None, Row | None]:
        key, number = self._random.randrange(60), self._random.randrange(1000)
        old = self._rows.get(key)
        if old is not None and number < 300:
            del self._rows[key]
            return f"DELETE FROM stock WHERE id = {key}", old, None  # noqa: S608
        new = self._rows[key] = {"id": key, "n": number, "text": f"t{number}", **self._added}
        text = f"REPLACE INTO stock (id, n, text) VALUES ({key}, {number}, 't{number}')"  # noqa: S608
        return text, old, new


@contextmanager
def working(workload: Workload) -> Iterator[Workload]:
    """It goes on while the block runs."""
    workload.begin()
    try:
        yield workload
    finally:
        workload.end()
