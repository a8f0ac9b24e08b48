"""Views: those that mean the same in every dialect, and what preserves them when tables change.

TiDB's views name their tables, and use whatever table has the name. So do those of MySQL and
MariaDB. In PostgreSQL and SQLite a view is in the way of what is done to its table: it is dropped
before, and recreated afterwards if its query still has its table and columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.statements import CreateView, DropSchema, DropView

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.names import parsed
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.known_tables import Definitions, lower
from ticdc_consumer.state.ledger import Ledger
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.target import Target

_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def create(context: DdlContext, view: CreateView) -> Alteration:
    """Raises `Unsupported` for a query that may mean something else in the target."""
    target, name = context.target, context.locate((view.schema, view.view))
    query = _query(context, view, context.definitions)
    existing = _columns(target, name)
    if existing is not None and not view.or_replace:
        if target.transactional_ddl or existing != query.columns:
            raise Stop(f"there is a view {target.quote(*name)} already")
        return Alteration()  # it ran, and a crash came before it was noted
    return Alteration((*_dropped(target, name, existing), _text(target, name, query)))


def drop(context: DdlContext, view: DropView) -> Alteration:
    name = context.locate((view.schema, view.view))
    return Alteration((f"DROP VIEW IF EXISTS {context.target.quote(*name)}",))


def known(ledger: Ledger) -> dict[TableName, CreateView]:
    """The views that came through the stream."""
    result: dict[TableName, CreateView] = {}
    for entry in ledger.of_schemas_and_views():
        if entry.state != "done":
            continue
        try:
            statement = parsed(entry.query, entry.schema)
        except TicdcError:
            continue  # an operator did its work
        match statement:
            case CreateView():
                result[entry.schema, entry.table] = statement
            case DropView():
                result.pop((entry.schema, entry.table), None)
            case DropSchema(schema):
                result = {name: view for name, view in result.items() if name[0] != schema}
    return result


def around(
    context: DdlContext, changed: Iterable[TableName], after: Definitions
) -> tuple[list[str], list[str]]:
    """What is to be done to views before and after something is done to tables that may be theirs;
    `after` are all definitions then."""
    before: list[str] = []
    again: list[str] = []
    target = context.target
    if not target.transactional_ddl:
        return before, again
    tables = set(map(lower, changed))
    for view_name, view in known(context.ledger).items():
        table = _table_of(view)
        if table is None or lower(table) not in tables:
            continue
        name = context.locate(view_name)
        before.append(f"DROP VIEW IF EXISTS {target.quote(*name)}")
        try:
            again.append(_text(target, name, _query(context, view, after)))
        except Unsupported:
            continue  # as in TiDB it is of no use until there is such a table again
    return before, again


# --- one query ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Query:
    columns: tuple[str, ...]
    text: str


def _text(target: Target, name: TargetName, query: _Query) -> str:
    # A reader needs the rights that the query needs.
    verb = "CREATE" if target.transactional_ddl else "CREATE OR REPLACE SQL SECURITY INVOKER"
    columns = ", ".join(target.quote(None, column) for column in query.columns)
    return f"{verb} VIEW {target.quote(*name)} ({columns}) AS {query.text}"


def _dropped(target: Target, name: TargetName, existing: tuple[str, ...] | None) -> list[str]:
    if existing is None or not target.transactional_ddl:
        return []
    return [f"DROP VIEW {target.quote(*name)}"]


def _columns(target: Target, view: TargetName) -> tuple[str, ...] | None:
    """The columns of a view, None if there is no such view."""
    schema, name = view
    with target.errors():
        catalog = sa.inspect(target.connection)
        if schema is not None and schema not in catalog.get_schema_names():
            return None
        if name not in catalog.get_view_names(schema):
            return None
        return tuple(column["name"] for column in catalog.get_columns(name, schema))


def _parsed(view: CreateView) -> exp.Select:
    try:
        (tree,) = sqlglot.parse(view.select, read="mysql")
    except (SqlglotError, ValueError, RecursionError):
        raise _refused("its query is not read") from None
    if not isinstance(tree, exp.Select):
        raise _refused("its query is not a SELECT")
    return tree


def _table_of(view: CreateView) -> TableName | None:
    try:
        return _only_table(view, _parsed(view))
    except Unsupported:
        return None


def _only_table(view: CreateView, select: exp.Select) -> TableName:
    for part, value in select.args.items():
        if value and part not in ("expressions", "from_", "from", "where", "kind"):
            raise _refused(f"{part.upper()} in its query")
    source = select.args.get("from_") or select.args.get("from")
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or len(list(select.find_all(exp.Table))) != 1:
        raise _refused("its query is not of one table")
    parts = {part for part, value in table.args.items() if value}
    if not parts <= {"this", "db", "alias"} or not isinstance(table.this, exp.Identifier):
        raise _refused("its query is not of one plain table")
    schema = table.db or view.session_schema
    if not schema:
        raise _refused(f"it does not name the database of {table.name}")
    return schema, table.name


def _query(context: DdlContext, view: CreateView, definitions: Definitions) -> _Query:
    target = context.target
    if view.other_definer:
        raise _refused("it has a definer")
    select = _parsed(view)
    name = definitions.spelled(_only_table(view, select))
    if name not in definitions:
        raise _refused(f"the definition of {'.'.join(name)} did not come through the stream")
    rows = _Rows(target, definitions[name], select)
    names, texts = [], []
    for item in _items(target, select, definitions[name]):
        column = item.this if isinstance(item, exp.Alias) else item
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            raise _refused("it selects more than columns by their names")
        names.append(item.alias if isinstance(item, exp.Alias) else column.name)
        texts.append(target.quote(None, rows.column(column).name))
    if view.columns and len(view.columns) != len(names):
        raise _refused("it names another number of columns")
    where = select.args.get("where")
    text = f"SELECT {', '.join(texts)} FROM {target.quote(*context.locate(name))}"  # noqa: S608
    shard = context.shard(name)
    conditions = (
        []
        if where is None
        else [f"({rows.condition(where.this)})" if shard else rows.condition(where.this)]
    )
    if shard is not None:
        conditions.append(f"{target.quote(None, shard.column)} = {literal(shard.name)}")
    if conditions:
        text += " WHERE " + " AND ".join(conditions)
    return _Query(view.columns or tuple(names), text)


def _items(target: Target, select: exp.Select, table: Table) -> list[exp.Expr]:
    """What it selects. `*` is the columns that the table has at this moment, as TiDB has it, where
    the view is never created again from its statement, when the table has others."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        if type(item) is exp.Star and not any(item.args.values()) and not target.transactional_ddl:
            items += [exp.column(column.name, quoted=True) for column in table.columns]
        else:
            items.append(item)
    return items


class _Rows:
    """Expressions over the columns of a view's table, in the target's words."""

    def __init__(self, target: Target, table: Table, select: exp.Select) -> None:
        self._target = target
        self._columns = {column.name.lower(): column for column in table.columns}
        (source,) = select.find_all(exp.Table)
        self._names = {"", source.alias_or_name.lower()}

    def column(self, node: exp.Column) -> Column:
        column = self._columns.get(node.name.lower())
        if column is None or node.db or node.table.lower() not in self._names:
            raise _refused(f"its table has no column {node.name}")
        if column.generated == "virtual":
            raise _refused(f"column {node.name} is virtual, and not sent")
        return column

    def condition(self, node: exp.Expr) -> str:
        match node:
            case exp.Paren():
                return self.condition(node.this)
            case exp.And() | exp.Or():
                word = "AND" if isinstance(node, exp.And) else "OR"
                return f"({self.condition(node.left)} {word} {self.condition(node.right)})"
            case exp.Not():
                return f"NOT ({self.condition(node.this)})"
            case exp.Is(this=exp.Column() as column, expression=exp.Null()):
                return f"{self._target.quote(None, self.column(column).name)} IS NULL"
            case exp.In(this=exp.Column() as column) if node.expressions:
                members = ", ".join(map(self._number, node.expressions))
                return f"{self._number(column)} IN ({members})"
        if type(node) in _COMPARISONS and isinstance(node, exp.Binary):
            word = _COMPARISONS[type(node)]
            return f"{self._number(node.left)} {word} {self._number(node.right)}"
        raise _refused("its condition is more than comparisons of integers")

    def _number(self, node: exp.Expr) -> str:
        """An integer's column, or literal: what compares alike everywhere."""
        if isinstance(node, exp.Column):
            column = self.column(node)
            long = column.type.name == "bigint" and column.type.unsigned
            text = long and self._target.unsigned_bigint_is_text
            if column.type.name in INTEGERS and not text:
                return self._target.quote(None, column.name)
        sign, literal = ("-", node.this) if isinstance(node, exp.Neg) else ("", node)
        if isinstance(literal, exp.Literal) and not literal.is_string and literal.name.isdecimal():
            return sign + literal.name
        raise _refused("its condition is more than comparisons of integers")


def _refused(reason: str) -> Unsupported:
    return Unsupported(f"CREATE VIEW is not translated: {reason}")
