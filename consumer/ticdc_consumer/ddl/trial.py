"""Whether the target takes a statement as it is now, tried such that nothing of it stays.

Where DDL is transactional that is the statement itself, in a transaction that is rolled back. In
the MySQL family a view is explained, and what else may be refused for its types or its rows is
tried in a temporary table, which only this session sees.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlglot import exp
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.targets.target import Target

MOST_ROWS = 100_000
"""Rows of a table up to which the values of a column are tried."""

_TRIAL = "ticdc_trial"
_VALUES = (exp.Literal, exp.Null, exp.Neg)


def is_taken(target: Target, tree: exp.Expr, text: str) -> bool:
    """Whether the target takes the statement, and can read what it creates; False if that cannot
    be tried. `tree` is the text, with the target's names."""
    try:
        if isinstance(tree, exp.Create) and tree.kind == "VIEW":
            rolled_back = target.transactional_ddl
            return (_rolled_back if rolled_back else _explained)(target, tree, text)
        if target.transactional_ddl:
            return False
        match tree:
            case exp.Create(kind="TABLE"):
                return _creates_table(target, tree)
            case exp.Drop(kind="TABLE" | "VIEW"):
                return _exist(target, tree.find_all(exp.Table))
            case exp.Alter(kind="TABLE"):
                return _alters(target, tree)
        return False
    except (TicdcError, sa.exc.DBAPIError):
        return False


class _Undo(Exception):
    """Ends a trial."""


def _rolled_back(target: Target, tree: exp.Create, text: str) -> bool:
    plain = _plain(target, next(tree.find_all(exp.Table)))
    try:
        with target.transaction():
            target.execute(text)
            target.execute(f"SELECT * FROM {plain} LIMIT 0")  # noqa: S608
            raise _Undo
    except _Undo:
        return True


def _plain(target: Target, table: exp.Table) -> str:
    return exp.Table(this=table.this, db=table.args.get("db")).sql(dialect=target.sqlglot_dialect)


def _exist(target: Target, tables: Iterator[exp.Table]) -> bool:
    with target.errors():
        catalog = sa.inspect(target.connection)
        return all(catalog.has_table(table.name, table.db) for table in tables)


def _sql(target: Target, tree: exp.Expr) -> str:
    return tree.sql(dialect=target.sqlglot_dialect)


# --- the MySQL family ----------------------------------------------------------------------------


def _explained(target: Target, tree: exp.Create, _: str) -> bool:
    view = next(tree.find_all(exp.Table))
    if _exist(target, iter([view])) and not tree.args.get("replace"):
        return False
    if tree.find(exp.Parameter, exp.SessionParameter) is not None:
        return False
    columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    names = f" ({', '.join(_sql(target, name) for name in columns)})" if columns else ""
    query = f"WITH `v`{names} AS ({_sql(target, tree.expression)}) SELECT * FROM `v`"  # noqa: S608
    target.execute(f"EXPLAIN {query}").close()
    return True


def _creates_table(target: Target, tree: exp.Create) -> bool:
    created, *sources = tree.find_all(exp.Table)
    if _exist(target, iter([created])) or not _exist(target, iter(sources)):
        return False
    if tree.expression is not None:
        return target.alters_as_mysql
    if not isinstance(tree.this, exp.Schema):
        return bool(sources)  # LIKE
    trial = tree.copy()
    with _temporary(target, created.db) as (name, temporary):
        next(trial.find_all(exp.Table)).replace(name)
        trial.set("properties", temporary)
        target.execute(_sql(target, trial)).close()
    return True


def _alters(target: Target, tree: exp.Alter) -> bool:
    actions = tree.args.get("actions") or []
    if not target.alters_as_mysql and (len(actions) != 1 or tree.args.get("options")):
        return False
    if any(isinstance(action, exp.Drop) and action.kind == "CONSTRAINT" for action in actions):
        return False
    if not _exist(target, tree.find_all(exp.Table)):
        return False
    for action in actions:
        column = action.this if isinstance(action, exp.ModifyColumn) else action
        if isinstance(action, exp.ModifyColumn | exp.ColumnDef):
            if not _holds(target, tree.this, column, action):
                return False
        elif isinstance(action, exp.AlterRename) or not target.alters_as_mysql:
            return False
    return True


def _holds(target: Target, table: exp.Table, column: exp.ColumnDef, action: exp.Expr) -> bool:
    """Whether a new column, or one with another definition, holds what the rows have for it."""
    computed = column.find(exp.ComputedColumnConstraint, exp.GeneratedAsIdentityColumnConstraint)
    if not target.alters_as_mysql and not _plain_for_tidb(target, table, column, action):
        return False
    if isinstance(action, exp.ModifyColumn) and _computes(target, table, column, action) != (
        computed is not None
    ):
        return False  # no server of the family makes one of the other
    if computed is not None:
        return True
    own = column.copy()
    own.set("position", None)
    own.set("exists", None)
    with _temporary(target, table.db) as (name, _):
        relation = _sql(target, name)
        target.execute(f"CREATE TEMPORARY TABLE {relation} ({_sql(target, own)})").close()
        if isinstance(action, exp.ModifyColumn):
            before = _sql(target, action.args.get("rename_from") or column.this)
            source = _plain(target, table)
            rows = f"SELECT 1 FROM {source} LIMIT 1 OFFSET {MOST_ROWS}"  # noqa: S608
            if target.query(rows):
                return False
            copied = f"INSERT INTO {relation} SELECT {before} FROM {source}"  # noqa: S608
            target.execute(copied).close()
    return True


def _computes(
    target: Target, table: exp.Table, column: exp.ColumnDef, action: exp.ModifyColumn
) -> bool:
    """Whether the column that changes is a generated one now."""
    before = (action.args.get("rename_from") or column.this).name.lower()
    described = target.describe(table.db, table.name)
    return described is not None and any(
        each.generated and each.name.lower() == before for each in described.columns
    )


def _plain_for_tidb(
    target: Target, table: exp.Table, column: exp.ColumnDef, action: exp.Expr
) -> bool:
    """TiDB refuses computed columns and defaults in ALTER TABLE, and changes of a character set."""
    if column.find(exp.ComputedColumnConstraint, exp.CharacterSetColumnConstraint) is not None:
        return False
    default = column.find(exp.DefaultColumnConstraint)
    if default is not None and not isinstance(default.this, _VALUES):
        return False
    if not isinstance(action, exp.ModifyColumn):
        return True
    before = (action.args.get("rename_from") or column.this).name.lower()
    described = target.describe(table.db, table.name)
    types = {c.name.lower(): c.type for c in described.columns} if described is not None else {}
    texts = [types.get(before, "blob").lower(), _sql(target, column.args["kind"]).lower()]
    return not any(word in text for text in texts for word in ("binary", "blob"))


@contextmanager
def _temporary(target: Target, schema: str) -> Iterator[tuple[exp.Table, exp.Properties]]:
    """The name of a temporary table, and what makes one of a CREATE TABLE; it is dropped at the
    end."""
    name = exp.Table(
        this=exp.to_identifier(_TRIAL, quoted=True), db=exp.to_identifier(schema, quoted=True)
    )
    try:
        yield name, exp.Properties(expressions=[exp.TemporaryProperty()])
    finally:
        target.execute(f"DROP TEMPORARY TABLE IF EXISTS {_sql(target, name)}").close()
