"""The query of a view, before it is translated: which tables it names, and what is refused."""

from collections.abc import Iterable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from ticdc_encoder.sql.statements import CreateView

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.state.known_tables import Definitions
from ticdc_consumer.targets.layout import TableName


@dataclass(frozen=True, slots=True)
class ViewQuery:
    """A query in the target's words, and the columns of its view."""

    columns: tuple[str, ...]
    text: str


class Missing(Unsupported):
    """The query names a table or a column that is not there: TiDB keeps such a view, and refuses to
    read it."""


def refused(reason: str) -> Unsupported:
    return Unsupported(_refusal(reason))


def missing(reason: str) -> Missing:
    return Missing(_refusal(reason))


def _refusal(reason: str) -> str:
    return f"CREATE VIEW is not translated: {reason}"


def tree_of(
    view: CreateView, definitions: Definitions, others: Iterable[TableName] = ()
) -> exp.Query:
    """The query, with the database of each table. `definitions` are those of the time of the CREATE
    VIEW, `others` are names that tables and views have, too. Raises `Unsupported`."""
    if "\\" in view.select:
        raise refused("there is a backslash in its query")  # TiCDC does not escape each of them
    try:
        (tree,) = sqlglot.parse(view.select, read="mysql")
    except (SqlglotError, ValueError, RecursionError):
        raise refused("its query is not read") from None
    if not isinstance(tree, exp.Query):
        raise refused("its query is not a SELECT")
    tables = _tables(tree)
    schema = _schema_of_session(view, tables, (*definitions, *others))
    for table in tables:
        name = definitions.spelled((table.db or schema, table.name))
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("db", exp.to_identifier(name[0], quoted=True))
        table.set("this", exp.to_identifier(name[1], quoted=True))
    return tree


def tables_of(tree: exp.Query) -> set[TableName]:
    """Of what `tree_of` gives."""
    return {(table.db, table.name) for table in tree.find_all(exp.Table)}


def _tables(tree: exp.Query) -> list[exp.Table]:
    tables = list(tree.find_all(exp.Table))
    for table in tables:
        parts = {part for part, value in table.args.items() if value}
        plain = parts <= {"this", "db", "alias", "joins"}
        if not plain or not isinstance(table.this, exp.Identifier):
            raise refused("its query is not of plain tables")
    if tree.find(exp.With) is not None:
        raise refused("WITH in its query")
    return tables


def _schema_of_session(
    view: CreateView, tables: Iterable[exp.Table], existing: Iterable[TableName]
) -> str:
    """The database of the tables that are named without one. Where the view is named with its
    database, the stream does not tell the session's: it is the only one with all these tables."""
    names = sorted({table.name for table in tables if not table.db})
    if view.session_schema or not names:
        return view.session_schema
    of_schema: dict[str, set[str]] = {}
    for schema, name in existing:
        of_schema.setdefault(schema, set()).add(name.lower())
    searched = {name.lower() for name in names}
    possible = sorted(schema for schema, of_it in of_schema.items() if searched <= of_it)
    if len(possible) == 1:
        return possible[0]
    where = f"{' and '.join(possible)} have it" if possible else "none that is known has it"
    raise refused(f"it does not name the database of {', '.join(names)}, and {where}")


def column_names(view: CreateView, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the view, whose query's columns have `names`. Raises `Unsupported`."""
    own = tuple(names)
    if view.columns and len(view.columns) != len(own):
        raise refused("it names another number of columns")
    return view.columns or own
