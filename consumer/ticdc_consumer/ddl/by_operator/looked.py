"""Checks of the target after an operator's DDL: `--ddl-done` and `--ddl-run` verify its result. The
operator answers for facts that no query can show."""

import re
from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa
from ticdc_encoder.column import INTEGERS, TEXTS, Column
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.statements import (
    AddColumn,
    AddIndex,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    CreateView,
    DropColumn,
    DropSchema,
    DropTable,
    DropView,
    ModifyColumn,
    RecoverTable,
    RenameColumn,
    RenameTable,
    Statement,
    TruncateTable,
)

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.shared.databases import is_shared
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import TableName, TargetName, TargetTable
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.schema.initial import initial

_WIDTH = re.compile(r"(?<=int)\(\d+\)")
"""Additions to an integer's type in MySQL's and MariaDB's catalogs."""
_COMPARED = INTEGERS | TEXTS | {"decimal", "enum"}
"""Types whose values a statement compares alike in every target."""


def require_done(context: DdlContext, entry: LedgerEntry, option: str) -> None:
    """Raises `Stop`, which begins with the command line's `option` and names what was found, unless
    the target looks as after the DDL."""
    try:
        statement = context.statement(entry)
    except (DefinitionError, Stop):
        return  # its effect is not certain
    try:
        with context.target.errors():
            _look(context, entry, statement)
    except Stop as found:
        raise Stop(f"{option}: {found}") from found


def _look(context: DdlContext, entry: LedgerEntry, statement: Statement) -> None:
    match statement:
        case CreateSchema(schema):
            _require_schema(context, schema)
        case DropSchema(schema) if not is_shared(context.ledger, schema, entry.order):
            for name in context.definitions.of_schema(schema):
                _require_gone(context, name)
        case CreateTable(table):
            _require_new(context, (table.schema, table.name))
        case CreateTableLike(schema, table):
            _require_new(context, (schema, table))
        case DropTable(schema, table):
            _require_gone(context, (schema, table))
        case TruncateTable(schema, table):
            _table(context, (schema, table))
            _require_empty(context, (schema, table), "delete them")
        case RenameTable(old, new):
            _require_renamed(context, old, new)
        case RecoverTable(_, (_, _) as name):
            _table(context, name)
        case AlterTable():
            _require_altered(context, entry, statement)
        case CreateView(schema, view) if not _is_view(context, (schema, view)):
            raise Stop(f"there is no view {_quoted(context, (schema, view))}")
        case DropView(schema, view) if _is_view(context, (schema, view)):
            raise Stop(f"the view {_quoted(context, (schema, view))} is still there")


# --- schemas, tables and views -------------------------------------------------------------------


def _require_schema(context: DdlContext, source: str) -> None:
    target = context.target
    schema = target.locate(context.route(source, "")[0], "")[0]
    if schema not in {None, *sa.inspect(target.connection).get_schema_names()}:
        raise Stop(f"there is no schema {target.quote(None, str(schema))}")


def _require_new(context: DdlContext, name: TableName) -> None:
    """Requires no rows, or those that a load brought: only then the ledger knows the table."""
    _table(context, name)
    if name not in context.ledger.known().destinations:
        _require_empty(context, name, "the upstream created the table without rows; delete them")


def _require_empty(context: DdlContext, name: TableName, cure: str) -> None:
    condition = _of_shard(context, name)
    rows = _quoted(context, name) + (f" WHERE {condition}" if condition else "")
    if context.target.execute(f"SELECT 1 FROM {rows} LIMIT 1").first() is not None:  # noqa: S608
        raise Stop(f"there are rows in {rows}: {cure}")


def _require_gone(context: DdlContext, name: TableName) -> None:
    """Requires the table gone; of a merged table, only the rows of its own shard."""
    located = _located(context, name)
    if located is None or context.target.describe(*located) is None:
        return
    if context.shard(name) is not None:
        _require_empty(context, name, "delete them")
        return
    raise Stop(f"the table {context.target.quote(*located)} is still there")


def _require_renamed(context: DdlContext, old: TableName, new: TableName) -> None:
    before, after = _located(context, old), _located(context, new)
    if before == after:
        return
    known = context.ledger.known().destinations
    if before is not None and old in known:
        _require_gone(context, old)
    if after is None:
        return
    if old not in known and new not in known:
        label = ".".join(new)
        raise Stop(
            f"the rows that {label} had as {'.'.join(old)} did not come through the changefeed: "
            f"load them by: ticdc-consumer load CONFIG --table {label}"
        )
    _table(context, new)


def _is_view(context: DdlContext, name: TableName) -> bool:
    schema, view = context.locate(name)
    return view in sa.inspect(context.target.connection).get_view_names(schema)


# --- ALTER TABLE ---------------------------------------------------------------------------------


def _require_altered(context: DdlContext, entry: LedgerEntry, altered: AlterTable) -> None:
    name = altered.schema, altered.table
    described = _table(context, name)
    columns = {column.name.lower() for column in described.columns}
    for action in altered.actions:
        match action:
            case AddColumn(column):
                _require_column(context, name, columns, column.name)
                _require_initial(context, name, column, action.computed)
            case ModifyColumn(old, column):
                _require_column(context, name, columns, column.name)
                _require_type(context, name, described, old, column)
                if column.name.lower() != old.lower():
                    _require_no_column(context, name, columns, old)
            case RenameColumn(old, new):
                _require_column(context, name, columns, new)
                _require_no_column(context, name, columns, old)
            case DropColumn(dropped):
                _require_no_column(context, name, columns, dropped)
            case AddIndex(index) if index.unique and not (index.expression or index.partial):
                _require_unique(context, name, described, index.columns)


def _require_column(context: DdlContext, name: TableName, columns: set[str], column: str) -> None:
    if column.lower() not in columns:
        raise Stop(f"{_quoted(context, name)} has no column {column}")


def _require_no_column(
    context: DdlContext, name: TableName, columns: set[str], column: str
) -> None:
    if column.lower() in columns:
        raise Stop(f"{_quoted(context, name)} still has the column {column}")


def _require_type(
    context: DdlContext, name: TableName, described: TargetTable, old: str, column: Column
) -> None:
    """Requires that the column no longer has the type that the consumer made of the old one, unless
    the new one is the same. Any other type is an operator's choice."""
    if name not in context.definitions:
        return
    before = context.definitions[name]
    columns = [column if c.name.lower() == old.lower() else c for c in before.columns]
    try:
        was = context.target.column_types(before)
        becomes = context.target.column_types(replace(before, columns=tuple(columns)))
    except Stop:
        return  # a type that the target does not have: only an operator can know
    types = {c.name.lower(): _WIDTH.sub("", c.type.lower()) for c in described.columns}
    of_before = next((was[c] for c in was if c.lower() == old.lower()), None)
    if of_before in (None, becomes.get(column.name)) or types[column.name.lower()] != of_before:
        return
    raise Stop(
        f"column {column.name} of {_quoted(context, name)} is still {of_before}, "
        f"which becomes {becomes.get(column.name)} by the DDL"
    )


def _require_initial(context: DdlContext, name: TableName, column: Column, computed: bool) -> None:
    """Requires that existing rows hold the upstream's values from the ADD COLUMN: no others came
    yet."""
    try:
        value = initial(column, computed)
    except Unsupported:
        return
    target, quoted = context.target, context.target.quote(None, column.name)
    if value is None:
        expected, differs = "NULL", f"{quoted} IS NOT NULL"
    elif column.type.name in _COMPARED and isinstance(value, int | str):
        expected = str(value) if isinstance(value, int) else literal(value)
        differs = f"({quoted} IS NULL OR {quoted} <> {expected})"
    else:
        expected, differs = "", f"{quoted} IS NULL"
    relation, condition = _quoted(context, name), _of_shard(context, name)
    both = " AND ".join(filter(None, [condition, differs]))
    if target.execute(f"SELECT 1 FROM {relation} WHERE {both} LIMIT 1").first() is None:  # noqa: S608
        return
    where = f" WHERE {condition}" if condition else ""
    update = f"UPDATE {relation} SET {quoted} = {expected}{where}" if expected else "an UPDATE"  # noqa: S608
    raise Stop(
        f"rows of {relation}{where} have another {column.name} than the upstream's rows, which "
        f"got its default: correct them by {update}"
    )


def _require_unique(
    context: DdlContext, name: TableName, described: TargetTable, columns: Sequence[str]
) -> None:
    expected = {column.lower() for column in columns}
    shard = context.shard(name)
    if shard is not None:
        expected.add(shard.column.lower())
    if not any({c.lower() for c in key.columns} == expected for key in described.unique_keys):
        raise Stop(f"{_quoted(context, name)} has no unique key ({', '.join(columns)})")


# --- names ---------------------------------------------------------------------------------------


def _table(context: DdlContext, name: TableName) -> TargetTable:
    described = context.target.describe(*context.locate(name))
    if described is None:
        raise Stop(f"there is no table {_quoted(context, name)}")
    return described


def _located(context: DdlContext, name: TableName) -> TargetName | None:
    """Returns None for a table that the filter leaves out."""
    try:
        return context.locate(name)
    except Unsupported:
        return None


def _quoted(context: DdlContext, name: TableName) -> str:
    return context.target.quote(*context.locate(name))


def _of_shard(context: DdlContext, name: TableName) -> str:
    """Returns the condition of a merged table's rows of its own shard."""
    shard = context.shard(name)
    if shard is None:
        return ""
    return f"{context.target.quote(None, shard.column)} = {literal(shard.name)}"
