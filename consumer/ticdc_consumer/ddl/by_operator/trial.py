"""Trials of statements against the target's current state, without lasting effects.

Where DDL is transactional, a trial runs them as `--ddl-run` does, in a transaction that is rolled
back. In the MySQL family the query of a view is explained, and an ALTER TABLE is run on a temporary
table with the same rows, which only this session sees.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import sqlalchemy as sa
from sqlglot import exp
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.ddl.by_operator.manual import run_in_place, statements
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.target import Target

MOST_ROWS = 100_000
"""Rows of a table up to which a change of it is tried."""

Outcome = Literal["tried", "not tried", "refused"]
"""`tried`: the target takes it; `not tried`: it may take it."""

_TRIAL = "ticdc_trial"
_VALUES = (exp.Literal, exp.Null, exp.Neg)


class _Undo(Exception):
    """Ends a trial."""


def run_and_undone(
    context: DdlContext, entry: LedgerEntry, texts: Sequence[str], read: str = ""
) -> Outcome:
    """Returns the outcome of these statements in place of a DDL, where DDL is transactional. `read`
    is the name of a view that must then be readable."""
    target = context.target
    relation = context.locate((entry.schema, entry.table))
    try:
        if not read and target.describe(*relation) is not None and _is_large(target, *relation):
            return "not tried"
        with target.transaction():
            done = replace(entry, state="done")
            run_in_place(target, context.ledger, done, statements(target, "; ".join(texts)))
            if read:
                target.execute(f"SELECT * FROM {read} LIMIT 0").close()  # noqa: S608
            if target.before_ddl:
                target.execute(target.before_ddl).close()  # COMMIT would check this
            raise _Undo
    except _Undo:
        return "tried"
    except (TicdcError, sa.exc.DBAPIError):
        return "refused"


def _is_large(target: Target, schema: str | None, name: str) -> bool:
    relation = target.quote(schema, name)
    with target.errors():
        return bool(target.query(f"SELECT 1 FROM {relation} LIMIT 1 OFFSET {MOST_ROWS}"))  # noqa: S608


def outcome_of(context: DdlContext, entry: LedgerEntry, tree: exp.Expr, text: str) -> Outcome:
    """Returns the outcome of one statement; "refused" also if it cannot be known. `tree` is the
    text, with the target's names."""
    target = context.target
    try:
        if isinstance(tree, exp.Create) and tree.kind == "VIEW":
            if target.transactional_ddl:
                view = _plain(target, next(tree.find_all(exp.Table)))
                return run_and_undone(context, entry, [text], view)
            return _explained(target, tree)
        if target.transactional_ddl:
            return "refused"
        match tree:
            case exp.Create(kind="TABLE"):
                return _creates_table(target, tree)
            case exp.Drop(kind="TABLE" | "VIEW"):
                return "not tried" if _exist(target, tree.find_all(exp.Table)) else "refused"
            case exp.Alter(kind="TABLE"):
                return _alters(target, tree)
        return "refused"
    except (TicdcError, sa.exc.DBAPIError):
        return "refused"


def _plain(target: Target, table: exp.Table) -> str:
    return exp.Table(this=table.this, db=table.args.get("db")).sql(dialect=target.sqlglot_dialect)


def _exist(target: Target, tables: Iterator[exp.Table]) -> bool:
    with target.errors():
        catalog = sa.inspect(target.connection)
        return all(catalog.has_table(table.name, table.db) for table in tables)


def _sql(target: Target, tree: exp.Expr) -> str:
    return tree.sql(dialect=target.sqlglot_dialect)


# --- the MySQL family ----------------------------------------------------------------------------


def _explained(target: Target, tree: exp.Create) -> Outcome:
    view = next(tree.find_all(exp.Table))
    if _exist(target, iter([view])) and not tree.args.get("replace"):
        return "refused"
    if tree.find(exp.Parameter, exp.SessionParameter) is not None:
        return "refused"
    columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    names = f" ({', '.join(_sql(target, name) for name in columns)})" if columns else ""
    query = f"WITH `v`{names} AS ({_sql(target, tree.expression)}) SELECT * FROM `v`"  # noqa: S608
    target.execute(f"EXPLAIN {query}").close()
    return "tried"


def _creates_table(target: Target, tree: exp.Create) -> Outcome:
    created, *sources = tree.find_all(exp.Table)
    if _exist(target, iter([created])) or not _exist(target, iter(sources)):
        return "refused"
    if tree.expression is not None:
        return "refused"  # TiDB makes no table of a query
    if not isinstance(tree.this, exp.Schema):
        return "not tried" if sources else "refused"  # LIKE
    trial = tree.copy()
    with _temporary(target, created.db) as (name, temporary):
        next(trial.find_all(exp.Table)).replace(name)
        trial.set("properties", temporary)
        target.execute(_sql(target, trial)).close()
    return "tried"


def _alters(target: Target, tree: exp.Alter) -> Outcome:
    actions = tree.args.get("actions") or []
    for action in actions:
        constraint = isinstance(action, exp.Drop) and action.kind == "CONSTRAINT"
        if constraint or isinstance(action, exp.AlterRename):
            return "refused"
    if not _exist(target, tree.find_all(exp.Table)):
        return "refused"
    if target.alters_as_mysql:
        return _rehearsed(target, tree)
    if len(actions) != 1 or tree.args.get("options"):
        return "refused"
    (action,) = actions
    column = action.this if isinstance(action, exp.ModifyColumn) else action
    if not isinstance(column, exp.ColumnDef):
        return "refused"
    return _one_column(target, tree.this, column, action)


def _rehearsed(target: Target, tree: exp.Alter) -> Outcome:
    """Runs it on a copy of the table with its rows."""
    table: exp.Table = tree.this
    described = target.describe(table.db, table.name)
    assert described is not None
    if _is_large(target, table.db, table.name):
        return "not tried"
    columns = ", ".join(target.quote(None, c.name) for c in described.columns if not c.generated)
    source, trial = _plain(target, table), tree.copy()
    with _temporary(target, table.db) as (name, _):
        copy = _sql(target, name)
        target.execute(f"CREATE TEMPORARY TABLE {copy} LIKE {source}").close()
        target.execute(
            f"INSERT INTO {copy} ({columns}) SELECT {columns} FROM {source}"  # noqa: S608
        ).close()
        trial.this.replace(name.copy())
        target.execute(_sql(target, trial)).close()
    return "tried"


def _one_column(
    target: Target, table: exp.Table, column: exp.ColumnDef, action: exp.Expr
) -> Outcome:
    """Tests a new or redefined column with the rows' values for it, in TiDB, which alters no
    temporary table."""
    described = target.describe(table.db, table.name)
    assert described is not None
    before = (action.args.get("rename_from") or column.this).name.lower()
    now = {each.name.lower(): each for each in described.columns}
    changes = isinstance(action, exp.ModifyColumn)
    exists = column.name.lower() in now and not (changes and column.name.lower() == before)
    if exists or not _plain_for_tidb(column, now.get(before), changes):
        return "refused"
    own = column.copy()
    own.set("position", None)
    own.set("exists", None)
    if changes and _is_large(target, table.db, table.name):
        return "not tried"
    with _temporary(target, table.db) as (name, _):
        relation = _sql(target, name)
        target.execute(f"CREATE TEMPORARY TABLE {relation} ({_sql(target, own)})").close()
        if changes:
            old = target.quote(None, now[before].name)
            values = f"SELECT {old} FROM {_plain(target, table)}"  # noqa: S608
            target.execute(f"INSERT INTO {relation} {values}").close()
    return "tried"


def _plain_for_tidb(column: exp.ColumnDef, before: TargetColumn | None, changes: bool) -> bool:
    """Checks for TiDB, which refuses computed columns and defaults in ALTER TABLE, and changes of a
    character set."""
    if column.find(exp.ComputedColumnConstraint, exp.CharacterSetColumnConstraint) is not None:
        return False
    default = column.find(exp.DefaultColumnConstraint)
    if default is not None and not isinstance(default.this, _VALUES):
        return False
    if not changes:
        return True
    if before is None or before.generated:
        return False
    texts = [before.type.lower(), _sql_of_type(column)]
    return not any(word in text for text in texts for word in ("binary", "blob"))


def _sql_of_type(column: exp.ColumnDef) -> str:
    return str(column.args["kind"].sql(dialect="mysql")).lower()


@contextmanager
def _temporary(target: Target, schema: str) -> Iterator[tuple[exp.Table, exp.Properties]]:
    """Yields the name of a temporary table and the properties that make a CREATE TABLE temporary;
    drops it at the end."""
    name = exp.Table(
        this=exp.to_identifier(_TRIAL, quoted=True), db=exp.to_identifier(schema, quoted=True)
    )
    try:
        yield name, exp.Properties(expressions=[exp.TemporaryProperty()])
    finally:
        target.execute(f"DROP TEMPORARY TABLE IF EXISTS {_sql(target, name)}").close()
