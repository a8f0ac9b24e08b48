"""The query of a view before translation: the tables that it names, and refusals."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from ticdc_encoder.sql.expression import UTF8
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
    """The query names a missing table or column: TiDB keeps such a view, and refuses to read it."""


def refused(reason: str) -> Unsupported:
    return Unsupported(_refusal(reason))


def missing(reason: str) -> Missing:
    return Missing(_refusal(reason))


def of_view(refusal: Unsupported) -> Unsupported:
    """Returns the same refusal, which says that it is about a view."""
    reason = str(refusal)
    return refusal if reason.startswith(_NOT_TRANSLATED) else refused(reason)


_NOT_TRANSLATED = "CREATE VIEW is not translated: "


def _refusal(reason: str) -> str:
    return f"{_NOT_TRANSLATED}{reason}"


class OtherSession(Unsupported):
    """A table is named without its database, and the view with it. `likely` is the only known
    database with all these tables, if there is one."""

    def __init__(self, reason: str, likely: str | None) -> None:
        super().__init__(_refusal(reason))
        self.likely = likely


def require_parts(node: exp.Expr, known: Collection[str]) -> None:
    """Raises `Unsupported` if the node says more than its reader handles."""
    more = sorted({part for part, value in node.args.items() if value} - set(known))
    if more:
        raise refused(f"{as_text(node)} is not certain to mean the same here ({', '.join(more)})")


def as_text(node: exp.Expr) -> str:
    text = node.sql(dialect="mysql")
    return text if len(text) <= 60 else f"{text[:60]}..."


def tree_of(
    view: CreateView, definitions: Definitions, others: Iterable[TableName] = ()
) -> exp.Query:
    """Returns the query, with the database of each table. `definitions` are those at the time of
    the CREATE VIEW, `others` are names that tables and views have, too. Raises `Unsupported`."""
    try:
        (tree,) = sqlglot.parse(view.select, read="mysql")
    except (SqlglotError, ValueError, RecursionError):
        raise refused("its query is not read") from None
    if not isinstance(tree, exp.Query):
        raise refused("its query is not a SELECT")
    for text in list(tree.find_all(exp.Introducer)):
        text.replace(_without_introducer(text))
    tables = _tables(tree)
    schema = _schema_of_session(view, tables, (*definitions, *others))
    for table in tables:
        name = definitions.spelled((table.db or schema, table.name))
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("db", exp.to_identifier(name[0], quoted=True))
        table.set("this", exp.to_identifier(name[1], quoted=True))
    return tree


def _without_introducer(node: exp.Introducer) -> exp.Literal:
    """Returns the text of a literal with its character set, as TiCDC writes each
    (`_UTF8MB4'paid'`)."""
    text = node.expression
    if node.name.upper() not in UTF8 or not isinstance(text, exp.Literal) or not text.is_string:
        raise refused(f"{as_text(node)} is not certain to mean the same here")
    return text


def tables_of(tree: exp.Query) -> set[TableName]:
    """Returns the tables of a query from `tree_of`."""
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
    """Returns the database of the tables that are named without one. If the view is named with its
    database, the stream does not tell the session's, which the changefeed may leave out. Raises
    `OtherSession`."""
    names = sorted({table.name for table in tables if not table.db})
    if view.session_schema or not names:
        return view.session_schema
    of_schema: dict[str, set[str]] = {}
    for schema, name in existing:
        of_schema.setdefault(schema, set()).add(name.lower())
    searched = {name.lower() for name in names}
    possible = sorted(schema for schema, of_it in of_schema.items() if searched <= of_it)
    listed = " and ".join(possible) or "no database that is known"
    have = "have" if len(possible) > 1 else "has"
    raise OtherSession(
        f"it does not name the database of {', '.join(names)}, and that of the session is not "
        f"sent ({listed} {have} it)",
        possible[0] if len(possible) == 1 else None,
    )


def column_names(view: CreateView, names: Iterable[str]) -> tuple[str, ...]:
    """Returns the view's column names; its query's columns have `names`. Raises `Unsupported`."""
    own = tuple(names)
    if view.columns and len(view.columns) != len(own):
        raise refused("it names another number of columns")
    return view.columns or own
