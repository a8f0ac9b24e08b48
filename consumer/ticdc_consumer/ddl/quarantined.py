"""DDL and quarantined tables: which DDL wait with their table, and which tables cannot be
quarantined because others depend on them."""

import re
from collections.abc import Collection
from typing import Literal

from ticdc_encoder.event import Ddl
from ticdc_encoder.sql.statements import Statement

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.kinds import kind_of, names_of
from ticdc_consumer.ddl.names import understood
from ticdc_consumer.ddl.touched import of_statement
from ticdc_consumer.state.known_tables import lower
from ticdc_consumer.targets.layout import TableName, TargetName

Relation = Literal["apart", "alone", "joined"]
"""A DDL's relation to quarantined tables: it concerns only other tables; only one of them, and
waits with it; or one of them and something else, so that it cannot take place now."""


def relation(ddl: Ddl, set_aside: Collection[TableName]) -> Relation:
    """Returns the DDL's relation to the tables. A statement that is not understood, or that reads
    tables by a query, concerns every table whose name it has."""
    tables = {lower(name) for name in set_aside}
    own = {lower((ddl.schema, ddl.table))} if ddl.table else set()
    statement = understood(ddl.query, ddl.schema)
    if statement is None:
        return "joined" if own & tables or _mentions(ddl.query, tables) else "apart"
    kind, names = kind_of(statement), names_of(statement)
    if names.schema is not None:
        within = names.contents and lower((names.schema, ""))[0] in {name[0] for name in tables}
        return "joined" if within else "apart"
    if names.views:
        return "joined" if kind.reads and _mentions(ddl.query, tables) else "apart"
    named = _named(statement)
    if named is None:
        return "joined" if own & tables or _mentions(ddl.query, tables) else "apart"
    named |= own
    if not named & tables:
        return "apart"
    return "alone" if len(named) == 1 else "joined"


def _named(statement: Statement) -> set[TableName] | None:
    """Returns the tables of a statement, in lower case; None if they may not be all."""
    names = of_statement(statement)
    if names is None or any(not schema for schema, _ in names):
        return None
    return {lower(name) for name in (*names, *names_of(statement).like)}


def _mentions(query: str, tables: Collection[TableName]) -> bool:
    text = lower((query, ""))[0]
    return any(re.search(rf"(?<!\w){re.escape(table)}(?!\w)", text) for _, table in tables)


def bond_of(context: DdlContext, name: TableName) -> str:
    """Returns why a table cannot stand still while others continue; "" if it can."""
    known = context.ledger.known()
    if context.shard(name) is not None or len(known.sharing(name)) > 1:
        return "its rows share a table of the target with others"
    definition = known.get(name)
    linked = {lower(child) for child in known.children(name)}
    linked |= definition.parents() if definition is not None else set()
    if others := sorted(linked - {lower(name)}):
        return f"a foreign key joins it and {'.'.join(others[0])}"
    target, mine = context.target, context.locate(name)
    for other, destination in sorted(known.destinations.items()):
        own = mine if other == name else destination or context.locate(other)
        for reference in target.references(*own):
            parent = reference.schema, reference.table
            if _same(context, own, mine) != _same(context, parent, mine):
                return f"foreign key {reference.name} of {target.quote(*own)} joins it and another"
    return ""


def _same(context: DdlContext, one: TargetName, other: TargetName) -> bool:
    """Returns whether they are the same; a name without a schema may be in any."""
    comparable = context.target.comparable
    (schema, table), (other_schema, other_table) = comparable(one), comparable(other)
    return table == other_table and (None in (schema, other_schema) or schema == other_schema)


def literal_rule(schema: str, table: str) -> str:
    """Returns the filter rule of one table or, without one, of all tables of a schema."""
    return f"{_quoted(schema)}.{_quoted(table) if table else '*'}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
