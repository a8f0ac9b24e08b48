"""What is suggested for a DDL whose values TiCDC does not send, and what it leaves.

The DDL of `changed_stops.tsv`, and others, run in a real TiDB, in a session of another time zone.
Each suggestion is run in the target as `--ddl-run` does it, and what the message says to do
afterwards, `verify --repair`, is done: then the rows are TiDB's.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import sqlalchemy as sa
from support.databases import fresh_database
from support.server_address import server_address
from support.tidb_answers import CHANGED
from support.upstream_tidb import Upstream, upstream
from support.verified import Verified
from ticdc_consumer.ddl.by_operator.manual import run_by_operator
from ticdc_consumer.ddl.by_operator.suggestion import Suggestion, suggested
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import keep_definition
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.schema import CHECKPOINT
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.standby import Watch
from ticdc_consumer.targets import open_target
from ticdc_encoder.sql.parser import parse_create_table


@dataclass(frozen=True)
class Ddl:
    """Of a table of `id` and what is `before` the DDL, with these values of it."""

    before: str
    values: tuple[str, ...]
    action: str
    new: str

    def __str__(self) -> str:
        before = self.before.removeprefix(", a ")
        return f"{before} -> {self.new}" if before else self.new

    def created(self, name: str) -> str:
        return f"CREATE TABLE {name} (id INT PRIMARY KEY{self.before})"

    def altered(self, name: str) -> str:
        return f"ALTER TABLE {name} {self.action}"


def _changes() -> Iterator[Ddl]:
    lines = (CHANGED.parent / "changed_stops.tsv").read_text().splitlines()
    stops = [line.split("\t") for line in lines]
    questions = [tuple(rest) for kind, _, *rest in stops if kind == "type"]
    for old, new in dict.fromkeys((old, new) for old, _, new in questions):
        values = tuple(value for o, value, n in questions if (o, n) == (old, new))
        rows = tuple(f", {value}" for value in (*values, "NULL"))
        yield Ddl(f", a {old}", rows, f"MODIFY COLUMN a {new}", new)


ADDED = (
    "TIMESTAMP NULL DEFAULT '2011-11-11 11:11:11'",
    "TIMESTAMP NOT NULL DEFAULT '2011-11-11 11:11:11'",
    "TIMESTAMP(3) NOT NULL DEFAULT '2011-11-11 11:11:11.5'",
    "DATETIME DEFAULT CURRENT_TIMESTAMP",
    "DATE DEFAULT (CURRENT_DATE)",
    "INT NOT NULL DEFAULT (5)",
    "INT DEFAULT 2.5e0",
    "VARCHAR(3) DEFAULT 'abc  '",
    "BINARY(4) DEFAULT x'00ff'",
    "TIME DEFAULT '2024-01-01 10:11:12'",
    "DATETIME DEFAULT '2024-01-01 10:11:12+02:00'",
)
ALL = (
    *_changes(),
    *(Ddl("", ("",) * 2, f"ADD COLUMN a {definition}", definition) for definition in ADDED),
)
ALWAYS = {
    "TIMESTAMP NULL DEFAULT '2011-11-11 11:11:11'",
    "TIMESTAMP NOT NULL DEFAULT '2011-11-11 11:11:11'",
    "DATE DEFAULT (CURRENT_DATE)",
    "DATETIME DEFAULT CURRENT_TIMESTAMP",
    "TIMESTAMP -> DATETIME",
    "BINARY(3) -> VARCHAR(5)",
    "FLOAT -> VARCHAR(30)",
    "INT -> ENUM('a','b')",
    "VARCHAR(9) -> INT",
}
"""Each takes TiDB seconds; the others are tried with --long."""


@dataclass(frozen=True)
class Altered:
    """A database of TiDB after the DDL, each of a table of its own, and one before."""

    tidb: Upstream
    before_url: str
    tables: dict[str, Ddl]


@pytest.fixture(scope="module")
def altered(long: bool) -> Iterator[Altered]:
    server = server_address("TIDB_URL")
    tried = [ddl for ddl in ALL if long or str(ddl) in ALWAYS]
    tables = {f"t{number}": ddl for number, ddl in enumerate(tried)}
    with fresh_database(server) as url, fresh_database(server) as before_url, upstream(url) as tidb:
        before = str(sa.make_url(before_url).database)
        for name, ddl in tables.items():
            rows = ", ".join(f"({id}{value})" for id, value in enumerate(ddl.values))
            for table in (name, f"{before}.{name}"):
                tidb.execute(ddl.created(table), f"INSERT INTO {table} VALUES {rows}")  # noqa: S608
        tidb.execute("SET time_zone = '+08:00'")
        for name, ddl in tables.items():
            tidb.execute(ddl.altered(name))
        yield Altered(tidb, before_url, tables)


def follow(altered: Altered, verified: Verified) -> dict[str, Suggestion]:
    """By table, what was suggested and has run. The target is at R then, after all of the DDL."""
    options, found = verified.options, dict[str, Suggestion]()
    schema, commit_ts = altered.tidb.schema, altered.tidb.ts()
    with closing(open_target(verified.target_url)) as target:
        where = InTarget.by(options, target)
        store = Store(target, options.changefeed, where=where)
        assert store.start(0.2) is not None
        context = DdlContext.of(options, target, store.ledger, where.routes)
        for number, (name, ddl) in enumerate(altered.tables.items()):
            entry = LedgerEntry(commit_ts, number, schema, name, ddl.altered(name))
            with target.transaction():
                store.ledger.define(parse_create_table(ddl.created(name), schema))
                store.ledger.add([entry])
            suggestion = suggested(context, entry)
            if suggestion is None:
                done = replace(entry, state="done")  # the table is left as it is
                with target.transaction():
                    store.ledger.mark(done)
                    keep_definition(store.ledger, done, "declared")
            else:
                assert suggestion.tried, ddl
                run_by_operator(context, store, entry.id, "; ".join(suggestion.statements))
                found[name] = suggestion
        with target.transaction():
            target.connection.execute(sa.update(CHECKPOINT).values(resolved_ts=commit_ts + 1))
    return found


def test_rows_after_a_suggestion_and_its_advice_are_tidbs(
    altered: Altered,
    target_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Watch, "is_gone", lambda *_: True)  # no consumer may come back
    before = Verified.of(altered.before_url, target_url, tmp_path, None)
    with closing(open_target(target_url)) as target:
        before.fill(target)
    verified = Verified.of(altered.tidb.url, target_url, tmp_path, capsys)
    verified.load(fill=False)
    followed = follow(altered, verified)
    named = [f"--table={altered.tidb.schema}.{name}" for name in followed]
    differing = {name for name, *_ in verified.differences(*named)}
    assert "TIMESTAMP NULL DEFAULT '2011-11-11 11:11:11'" in {
        str(altered.tables[name]) for name in differing
    }
    assert {name for name in differing if not followed[name].inexact} == set()
    code, out, err = verified.verify("--repair", *named)
    assert code == 0, (out, err)
