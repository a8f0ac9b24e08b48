"""The definition of a table before an ALTER TABLE, if the consumer did not create the table.

A snapshot's table never came through the stream, and after an operator's work or a skipped DDL the
target's table may differ from its definition. Then the target's catalog shows what exists, and the
rows that came show the upstream's types. Either is exact for the parts that the statement touches,
or the DDL stops.
"""

from collections.abc import Mapping
from dataclasses import replace

import sqlalchemy as sa
from ticdc_encoder.column import BINARIES, INTEGERS, TEMPORALS, TEXTS, Column, ColumnType, Index
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.clauses import complete
from ticdc_encoder.sql.evolution import Evolved, evolve
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.sql.statements import (
    Action,
    AddColumn,
    AddIndex,
    AlterTable,
    DropIndex,
    ModifyColumn,
    RenameIndex,
    SetDefault,
)

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.known_tables import Definition
from ticdc_consumer.targets.layout import TargetName, TargetTable
from ticdc_consumer.targets.schema.conversions import may_fill
from ticdc_consumer.targets.schema.create import index_name
from ticdc_consumer.targets.target import Target

_WIDEST = {"varchar": 65_535, "varbinary": 65_535, "char": 255, "bit": 64}
"""The greatest length of a type whose length the protocol does not carry."""
_STAND_IN = ColumnType("longtext", charset="utf8mb4", collation="utf8mb4_bin")
"""The type of a column whose type is unknown and does not matter."""
_WITH_DIGITS = frozenset({"decimal", "datetime", "timestamp", "time"})
"""Types whose text has zeros after the point, as many as the column's digits."""
_ZERO_FILLED = INTEGERS | {"decimal", "float", "double"}
"""Types that may be ZEROFILL, which not every protocol shows; they are unsigned then."""
_SURE_WITHOUT_ROWS = TEXTS | BINARIES | TEMPORALS | {"enum", "set", "json"}
"""Types of MySQL's columns that hold no other type's values."""


def evolved(
    target: Target, relation: TargetName, altered: AlterTable, known: Definition | None
) -> Evolved:
    """Returns the statement's result for the table in the target. Raises `Unsupported` if it is not
    certain, and `Stop` if the two do not belong together."""
    if known is not None and known.basis in ("applied", "checked", "reflected"):
        return _evolve(altered, known.table)
    if known is not None and known.basis == "declared":
        result = _evolve(altered, known.table)
        _check_existing(target, relation, result)
        return result
    described = target.describe(*relation)
    if described is None:
        raise Stop(f"there is no table {target.quote(*relation)}")
    _require_new(target, relation, altered, described)
    hints = {} if known is None else {column.name: column for column in known.table.columns}
    if target.transactional_ddl:
        altered = replace(altered, actions=tuple(map(_anywhere, altered.actions)))
        before = _from_rows(target, relation, altered, described, hints)
    else:
        before = _from_catalog(target, relation, altered, hints)
    result = _evolve(altered, before)
    if target.has_rows(*relation):
        _check_types(result, hints)
    return result


def _evolve(altered: AlterTable, table: Table) -> Evolved:
    try:
        return evolve(altered, complete(table, table.columns, table.indexes))
    except DefinitionError as error:
        raise Stop(f"the definition of the table does not fit: {error}") from error


def _modified(evolved: Evolved) -> list[tuple[Column, Column]]:
    """Returns the columns before and after, for those whose type or NULL changes."""
    before = {column.name: column for column in evolved.before.columns}
    pairs = [
        (before[evolved.sources[column.name]], column)
        for column in evolved.after.columns
        if column.name in evolved.sources
    ]
    return [(a, b) for a, b in pairs if (a.type, a.nullable) != (b.type, b.nullable)]


# --- after a skipped DDL, or an operator's --------------------------------------------------------


def _check_existing(target: Target, relation: TargetName, evolved: Evolved) -> None:
    """Raises `Unsupported` unless the parts that the statement touches match the definition."""
    described = target.describe(*relation)
    if described is None:
        raise Stop(f"there is no table {target.quote(*relation)}")
    existing = {column.name for column in described.columns}
    for column in evolved.after.columns:
        if column.name not in evolved.sources and column.name in existing:
            raise Unsupported(
                f"column {column.name} is in {target.quote(*relation)} already; the values in "
                "its rows are not certain, because a DDL of this table was skipped or done by "
                "an operator"
            )
    if target.transactional_ddl:
        for old, _ in _modified(evolved):
            _check_type(target, relation, evolved.before, old, described)


def _check_type(
    target: Target, relation: TargetName, before: Table, old: Column, described: TargetTable
) -> None:
    """Raises `Unsupported` unless the column has the type that the consumer creates."""
    expected = target.column_types(before).get(old.name)
    if expected is None:
        return  # virtual, and in no target
    type_ = {column.name: column.type.lower() for column in described.columns}.get(old.name)
    if type_ != expected:
        raise Unsupported(
            f"column {old.name} of {target.quote(*relation)} is {type_ or 'missing'}, but the "
            f"consumer creates {expected}: the result of the change is not certain"
        )


# --- a snapshot's ---------------------------------------------------------------------------------


def _require_new(
    target: Target, relation: TargetName, altered: AlterTable, described: TargetTable
) -> None:
    """Raises `Unsupported` for ADD COLUMN IF NOT EXISTS of a column that exists here: it was new
    upstream, whose rows have its default."""
    existing = {column.name.lower() for column in described.columns}
    for action in altered.actions:
        if isinstance(action, AddColumn) and action.column.name.lower() in existing:
            raise Unsupported(
                f"column {action.column.name} is in {target.quote(*relation)} already; the "
                "values in its rows are not certain"
            )


def _from_catalog(
    target: Target, relation: TargetName, altered: AlterTable, hints: Mapping[str, Column]
) -> Table:
    """Reads the catalog: the MySQL family shows a table in the upstream's dialect."""
    with target.errors():
        row = target.execute(f"SHOW CREATE TABLE {target.quote(*relation)}").mappings().one()
    try:
        table = parse_create_table(target.in_mysql_words(str(row["Create Table"])), altered.schema)
    except DefinitionError as error:
        raise Unsupported(
            f"the definition of {target.quote(*relation)} is not understood: {error}"
        ) from None
    columns = tuple(
        _as_upstream(target, column, hints.get(column.name)) for column in table.columns
    )
    return replace(
        table, schema=altered.schema, name=altered.table, columns=columns, foreign_keys=()
    )


def _as_upstream(target: Target, column: Column, hint: Column | None) -> Column:
    """Returns the upstream's column: MariaDB has no JSON, but a LONGTEXT for it."""
    if hint is None or hint.type.name != "json" or column.type.name != "longtext":
        return column
    same = target.column_type(hint).partition(" ")[0] == column.type.name
    return replace(column, type=hint.type) if same else column


def _from_rows(
    target: Target,
    relation: TargetName,
    altered: AlterTable,
    described: TargetTable,
    hints: Mapping[str, Column],
) -> Table:
    """Reads rows: PostgreSQL's and SQLite's types show little of the upstream's, rows show most.
    Raises `Unsupported` if the statement needs to know more."""
    types = {name: _certain(column.type) for name, column in hints.items()}
    columns = tuple(
        Column(column.name, types.get(column.name) or _STAND_IN, nullable=column.nullable)
        for column in described.columns
    )
    table = Table(altered.schema, altered.table, columns)
    unknown = {c.name.lower() for c in described.columns if not types.get(c.name)}
    for action in altered.actions:
        for name in sorted({name.lower() for name in _retyped(action)} & unknown):
            raise Unsupported(
                f"the upstream type of column {name} is not known: neither a CREATE TABLE nor a "
                "row showed it"
            )
        _check_action(target, relation, table, action, described)
    indexes = _indexes(target, relation, altered, unknown, described)
    return replace(table, indexes=tuple(indexes))


def _retyped(action: Action) -> tuple[str, ...]:
    """Returns the columns whose type matters for an action."""
    match action:
        case ModifyColumn() | SetDefault():
            return (action.name,)
        case AddIndex(index):
            return index.columns
        case _:
            return ()


def _certain(type_: ColumnType) -> ColumnType | None:
    """Returns the type, with the greatest length if the protocol does not carry one; None if that
    is not enough."""
    name = type_.name
    if name in _WIDEST:
        type_ = replace(type_, length=type_.length or _WIDEST[name])
    lacking = (
        (name in ("decimal", "binary") and type_.length is None)
        or (name in TEMPORALS - {"date"} and type_.decimals is None)
        or (name in ("enum", "set") and not type_.elements)
    )
    return None if lacking else type_


def _anywhere(action: Action) -> Action:
    """Drops the position: the order of columns does not matter here."""
    return replace(action, after=None) if isinstance(action, AddColumn | ModifyColumn) else action


def _check_action(
    target: Target, relation: TargetName, table: Table, action: Action, described: TargetTable
) -> None:
    if not isinstance(action, ModifyColumn | SetDefault):
        return
    existing = {column.name: column for column in described.columns}.get(action.name)
    known = {column.name: column for column in table.columns}.get(action.name)
    if existing is None or known is None:
        return  # evolve raises
    if isinstance(action, ModifyColumn):
        _check_type(target, relation, table, known, described)
    default = action.column.default if isinstance(action, ModifyColumn) else action.default
    if existing.has_default and default is None:
        raise Unsupported(
            f"column {action.name} has a default here that did not come from upstream"
        )


def _indexes(
    target: Target,
    relation: TargetName,
    altered: AlterTable,
    unknown: set[str],
    described: TargetTable,
) -> list[Index]:
    """Returns the primary key, and the indexes that the statement names."""
    indexes = [
        Index("PRIMARY", key.columns, True, True, lengths=(None,) * len(key.columns))
        for key in described.unique_keys
        if key.primary
    ]
    named = [a.name for a in altered.actions if isinstance(a, DropIndex | RenameIndex)]
    if not named:
        return indexes
    with target.errors():
        catalog = sa.inspect(target.connection)
        existing = {str(i["name"]): i for i in catalog.get_indexes(relation[1], relation[0])}
    for name in named:
        if name.upper() == "PRIMARY":
            continue
        index = existing.get(index_name(relation[1], name))
        if index is None:
            if not existing:
                continue  # nothing to drop
            raise Unsupported(
                f"it is not certain which index of {target.quote(*relation)} is upstream's "
                f"{name}; the consumer would have named it {index_name(relation[1], name)}"
            )
        columns = tuple(str(column) for column in index["column_names"] if column is not None)
        if len(columns) != len(index["column_names"]) or {c.lower() for c in columns} & unknown:
            raise Unsupported(f"the upstream columns of index {name} are not known")
        # With such lengths it counts as one of the target's; it is only dropped, or renamed.
        indexes.append(Index(name, columns, bool(index["unique"]), lengths=(1,) * len(columns)))
    return indexes


def _check_types(evolved: Evolved, hints: Mapping[str, Column]) -> None:
    """Raises `Unsupported` if the type before is not certain: TiDB's conversion depends on it."""
    for old, new in _modified(evolved):
        if old.type == new.type:
            continue
        hint = hints.get(old.name)
        if hint is not None:
            same = (hint.type.name, hint.type.unsigned) == (old.type.name, old.type.unsigned)
        else:
            same = old.type.name in _SURE_WITHOUT_ROWS or (
                old.type.name in INTEGERS and new.type.name in INTEGERS
            )
        if not same:
            upstream = "unknown" if hint is None else hint.type.name
            raise Unsupported(
                f"column {old.name} is {old.type.name} here, and {upstream} upstream: its new "
                "values are not certain"
            )
        if new.type.name in TEXTS and (unknown := _not_of_text(old.type, hint)):
            raise Unsupported(
                f"column {old.name} becomes text, and {unknown} upstream is not known, since its "
                "CREATE TABLE did not come"
            )
        if may_fill(replace(old, default=None), new) and not may_fill(old, new):
            raise Unsupported(
                f"column {old.name} may have had another default upstream than here, so that it is "
                "not certain whether its NULLs became the new one"
            )


def _not_of_text(here: ColumnType, hint: Column | None) -> str:
    """Returns what is unknown of the upstream's type and decides how values are written as text; ""
    if nothing."""
    if here.name in _WITH_DIGITS and (hint is None or hint.type.decimals != here.decimals):
        return "how many digits it has after the point"
    if here.name in _ZERO_FILLED and (hint is None or hint.type.unsigned):
        return "whether it is ZEROFILL"
    return ""
