"""Upstream databases that share a name on the wire, or a database of the target.

TiCDC's table routes rewrite the names in DDL. If databases `a` and `b` are routed to `x`, both
arrive as CREATE DATABASE `x`, and DROP DATABASE `x` may drop either. TiDB runs no CREATE DATABASE
for an existing database, with or without IF NOT EXISTS, so TiCDC sends none: a second one without a
DROP between proves that there are two.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import sqlalchemy as sa
from ticdc_encoder.sql.statements import AlterSchema, CreateSchema, DropSchema, Statement

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.names import own_schema, understood
from ticdc_consumer.errors import InTheWay
from ticdc_consumer.state.known_tables import lower
from ticdc_consumer.state.ledger import Ledger, LedgerEntry

WAS_THERE = "its database was there already"
"""The reason of a CREATE DATABASE before which tables of the database were known."""

_MOST_SHOWN = 100


@dataclass
class UpstreamDatabases:
    """The number of upstream databases by name on the wire, and the names that several have had
    since there was none."""

    number: dict[str, int] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, ledger: Ledger, before: tuple[int, int]) -> "UpstreamDatabases":
        """Counts them by the DDL before that (commit_ts, seq)."""
        databases = cls()
        for entry in ledger.of_schemas_and_views():
            if entry.order < before and entry.state != "pending":
                databases.see(entry)
        return databases

    def see(self, entry: LedgerEntry) -> None:
        match statement_of_database(entry):
            case CreateSchema(schema):
                name = _lower(schema)
                self.spelled[name] = schema
                existing = self.number.get(name, 0)
                if entry.reason == WAS_THERE:
                    existing = max(existing, 1)
                self.number[name] = existing + 1
                if existing:
                    self.shared.add(name)
            case DropSchema(schema):
                name = _lower(schema)
                self.number[name] = max(0, self.number.get(name, 0) - 1)
                if not self.number[name]:
                    self.shared.discard(name)

    def is_shared(self, schema: str) -> bool:
        return _lower(schema) in self.shared


def statement_of_database(entry: LedgerEntry) -> Statement | None:
    """Returns None if the DDL is sent for a table, or is not understood."""
    return None if entry.table else understood(entry.query, entry.schema)


def is_shared(ledger: Ledger, schema: str, before: tuple[int, int]) -> bool:
    """Returns whether several upstream databases had this name on the wire, before that DDL."""
    return UpstreamDatabases.of(ledger, before).is_shared(schema)


def reason(ledger: Ledger, entry: LedgerEntry) -> str:
    """Returns the reason of an entry done by the consumer: its proof, if that would be lost later.
    Runs inside its transaction, before the definitions change."""
    created = statement_of_database(entry)
    existing = isinstance(created, CreateSchema) and ledger.known().of_schema(created.schema)
    return WAS_THERE if existing else entry.reason


def refuse_shared(context: DdlContext, entry: LedgerEntry, statement: Statement) -> None:
    """Raises `InTheWay` for a statement that would touch the tables of another upstream
    database."""
    if not isinstance(statement, DropSchema | AlterSchema):
        return
    source = statement.schema
    if is_shared(context.ledger, source, entry.order):
        raise InTheWay(
            f"several upstream databases are routed to {source}, because it was created again "
            "while it existed, and this statement may concern any of them; "
            f"{_holds(context, source)}; {_way_on(statement)}"
        )
    others = _others(context, source, entry) if isinstance(statement, DropSchema) else []
    if others:
        raise InTheWay(
            f"[tables] route leads {', '.join(others)} to the same database as {source}; "
            f"{_holds(context, source)}; {_way_on(statement)}"
        )


def _way_on(statement: Statement) -> str:
    if isinstance(statement, AlterSchema):
        return "nothing to do here: its tables keep their character sets"
    return "drop only those of its tables and views that the upstream no longer has"


def _holds(context: DdlContext, source: str) -> str:
    contents = sorted(_contents(context, source))
    more = len(contents) - _MOST_SHOWN
    rest = [f"and {more} more"] if more > 0 else []
    return f"it holds {', '.join([*contents[:_MOST_SHOWN], *rest]) or 'nothing'}"


def _contents(context: DdlContext, source: str) -> Iterable[str]:
    target = context.target
    schema = _located(context, source)
    if schema is None or schema == own_schema(target):
        # It is not their own database here.
        names = (context.locate(name) for name in context.ledger.known().of_schema(source))
        return {table for of, table in names if target.describe(of, table) is not None}
    catalog = sa.inspect(target.connection)
    if schema not in catalog.get_schema_names():
        return ()
    return {*catalog.get_table_names(schema), *catalog.get_view_names(schema)}


def _others(context: DdlContext, source: str, entry: LedgerEntry) -> list[str]:
    """Returns the other upstream databases that go to a database of the target which is not
    kept."""
    mine = _located(context, source)
    if mine is None or mine == own_schema(context.target):
        return []
    databases = UpstreamDatabases.of(context.ledger, entry.order)
    goes = [
        (databases.spelled[name], _located(context, databases.spelled[name]))
        for name, alive in databases.number.items()
        if alive
    ]
    known = context.ledger.known().destinations
    goes += [(schema, at[0]) for (schema, _), at in known.items() if at is not None]
    same = context.target.comparable
    return sorted(
        {
            other
            for other, at in goes
            if _lower(other) != _lower(source) and at and same((at, "")) == same((mine, ""))
        }
    )


def _located(context: DdlContext, source: str) -> str | None:
    return context.target.locate(context.route(source, "")[0], "")[0]


def _lower(schema: str) -> str:
    return lower((schema, ""))[0]
