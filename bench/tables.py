"""What one DDL costs the driver, by how many tables the changefeed knows.

    python bench/tables.py [--tables 10,1000,10000] [--columns 20] [--repeat 5]
                           [--target URL] [--create-all]

Every known table came by a CREATE TABLE, and is in the ledger. Then a cut without rows brings a
CREATE TABLE, and another an ADD COLUMN. Measured is all that an epoch does for them, from the cut's
transaction to the layouts that are forgotten, as CPU of this process: the least of some tries. The
first DDL after a start is apart: it reads the ledger. The goal: with 10,000 tables at most 20 ms
more than with 10.

The driver looks at no table in the target but the one that the DDL names, and only that one is
created; `--create-all` creates all of them. SQLite, the default, is then part of what is measured:
its ALTER TABLE parses its whole schema again. A server's CPU is not.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.apply.transaction import apply
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.reconcile.net_change import NoChange
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.schema import DEFINITION, LEDGER, METADATA
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table, to_json

GOAL = 20.0
"""Milliseconds of CPU that the most tables may cost above the fewest."""
FIRST = 1 << 40
"""The commit_ts of the first DDL."""


def query(name: str, columns: int) -> str:
    more = ", ".join(f"c{n} VARCHAR({n + 10}) NOT NULL DEFAULT 'x'" for n in range(columns - 1))
    return f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, {more})"


class Measured:
    """A changefeed that knows some tables, and its next DDL."""

    def __init__(self, url: str, tables: int, columns: int, create_all: bool) -> None:
        self._target = target = open_target(url)
        self._options = Settings(
            changefeed="tables",
            protocol="canal-json",
            topics=("shop",),
            kafka={},
            target_url=url,
        )
        self._known, self._columns, self._create_all = tables, columns, create_all
        store = Store(target, "tables")
        store.start(1.0)
        store.begin_first(Checkpoint.first(self._options, FIRST, {}))
        self._fill(target)
        # As the next start finds it.
        self._store = Store(target, "tables")
        state = self._store.start(1.0)
        assert state is not None
        self._state = state
        self._layouts = TableLayouts(self._options, target)
        self._layouts.learn(self._store.ledger)
        self._context = DdlContext.of(
            self._options, target, self._store.ledger, self._layouts.route
        )
        self._altered = 0

    def _fill(self, target: Target) -> None:
        names = [f"known{n}" for n in range(self._known)]
        pattern = parse_create_table(query(names[0], self._columns), "shop")
        tables = [replace(pattern, name=name) for name in names]
        for text in target.create_schema("shop"):
            target.execute(text)
        with target.transaction():
            for table in tables if self._create_all else tables[:1]:
                for text in target.create_table(*target.locate("shop", table.name), table):
                    target.execute(text)
            target.connection.execute(sa.insert(DEFINITION), [_definition(t) for t in tables])
            rows = [
                _entry(number, name, query(name, self._columns))
                for number, name in enumerate(names, 1)
            ]
            target.connection.execute(sa.insert(LEDGER), rows)

    def create(self) -> float:
        self._altered += 1
        name = f"new{self._altered}"
        return self._step(name, query(name, self._columns))

    def add_column(self) -> float:
        self._altered += 1
        return self._step("known0", f"ALTER TABLE known0 ADD COLUMN more{self._altered} INT")

    def _step(self, table: str, text: str) -> float:
        """Milliseconds of CPU."""
        began = time.process_time()
        old = self._state
        new = replace(old, resolved_ts=old.resolved_ts + 1)
        entry = LedgerEntry(old.resolved_ts, 1, "shop", table, text)
        apply(self._context, self._store, Step(old, new, [entry]), NoChange(), self._options)
        self._state = new
        ddl.run_pending(self._context, self._store, 1)
        self._layouts.learn(self._store.ledger, [entry])
        took = time.process_time() - began
        last = self._store.ledger.entries()[-1]
        assert (last.commit_ts, last.state) == (entry.commit_ts, "done"), last
        return took * 1000

    def close(self) -> None:
        self._target.close()


def _definition(table: Table) -> dict[str, object]:
    definition = json.dumps(to_json(table))
    of = {"changefeed": "tables", "schema": table.schema, "table": table.name}
    return {**of, "definition": definition, "basis": "applied"}


def _entry(commit_ts: int, name: str, text: str) -> dict[str, object]:
    of = {"changefeed": "tables", "schema": "shop", "table": name}
    state = {"kind": 3, "state": "done", "reason": "", "instead": ""}
    return {**of, **state, "commit_ts": commit_ts, "seq": 1, "query": text}


@contextmanager
def empty_target(url: str | None) -> Iterator[str]:
    """A SQLite file, or a server's database, which is left without the tables of this program."""
    if url is None:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{Path(folder) / 'target.db'}"
        return
    yield url
    target = open_target(url)
    try:
        for own in METADATA.tables:
            target.execute(f"DROP TABLE {own}").close()
        schema = target.quote(None, "shop")
        target.execute(f"DROP SCHEMA {schema}" + " CASCADE" * target.transactional_ddl).close()
    finally:
        target.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default="10,1000,10000")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--target")
    parser.add_argument("--create-all", action="store_true")
    arguments = parser.parse_args()
    print(
        f"ms of CPU; {'known tables':>12} {'first DDL':>10} {'CREATE TABLE':>13} {'ADD COLUMN':>11}"
    )
    least: dict[int, tuple[float, float]] = {}
    for number in map(int, arguments.tables.split(",")):
        with empty_target(arguments.target) as url:
            measured = Measured(url, number, arguments.columns, arguments.create_all)
            first = measured.create()
            tries = [(measured.create(), measured.add_column()) for _ in range(arguments.repeat)]
            measured.close()
        create, add = min(c for c, _ in tries), min(a for _, a in tries)
        least[number] = create, add
        print(f"           {number:>12,} {first:>10.1f} {create:>13.1f} {add:>11.1f}", flush=True)
    fewest, most = least[min(least)], least[max(least)]
    above = [b - a for a, b in zip(fewest, most, strict=True)]
    print(f"above the fewest{'':>18} {above[0]:>13.1f} {above[1]:>11.1f}")
    print(f"goal{'':>30} {GOAL:>13.1f} {GOAL:>11.1f}")


if __name__ == "__main__":
    main()
