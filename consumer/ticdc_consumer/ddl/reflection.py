"""The definition of a table before an ALTER TABLE, where the consumer did not make the table.

A snapshot's table never came through the stream, and after a person's hand or a skipped DDL the
target's table may not be what its definition says. Then the target's catalog tells what is there,
and the rows that came tell the upstream's types. Either is exact for what the statement touches, or
the DDL stops.
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
from ticdc_consumer.state.ledger import Basis
from ticdc_consumer.targets.layout import TargetTable
from ticdc_consumer.targets.schema.create import index_name
from ticdc_consumer.targets.target import Target

Known = tuple[Table, Basis] | None
Place = tuple[str | None, str]

_WIDEST = {"varchar": 65_535, "varbinary": 65_535, "char": 255, "bit": 64}
"""What a length may be at most that the protocol does not carry."""
_STAND_IN = ColumnType("longtext", charset="utf8mb4", collation="utf8mb4_bin")
"""For a column whose type is not known, and no matter."""
_SURE_WITHOUT_ROWS = TEXTS | BINARIES | TEMPORALS | {"enum", "set", "json"}
"""The types of MySQL's columns that hold no other type's values."""


def evolved(target: Target, place: Place, altered: AlterTable, known: Known) -> Evolved:
    """What the statement makes of the table that is there. Raises `Unsupported` for what is not
    certain, and `Stop` where the two do not belong together."""
    if known is not None and known[1] in ("made", "checked", "found"):
        return _evolve(altered, known[0])
    if known is not None and known[1] == "told":
        found = _evolve(altered, known[0])
        _check_told(target, place, found)
        return found
    described = target.describe(*place)
    if described is None:
        raise Stop(f"there is no table {target.quote(*place)}")
    hints = {} if known is None else {column.name: column for column in known[0].columns}
    if target.transactional_ddl:
        altered = replace(altered, actions=tuple(map(_unplaced, altered.actions)))
        before = _from_rows(target, place, altered, described, hints)
    else:
        before = _from_catalog(target, place, altered, hints)
    found = _evolve(altered, before)
    if target.has_rows(*place):
        _check_types(found, hints)
    return found


def _evolve(altered: AlterTable, table: Table) -> Evolved:
    try:
        return evolve(altered, complete(table, table.columns, table.indexes))
    except DefinitionError as error:
        raise Stop(f"the definition of the table does not fit: {error}") from error


def _modified(found: Evolved) -> list[tuple[Column, Column]]:
    """Columns before and after, of those whose type or NULL changes."""
    before = {column.name: column for column in found.before.columns}
    pairs = [
        (before[found.sources[column.name]], column)
        for column in found.after.columns
        if column.name in found.sources
    ]
    return [(a, b) for a, b in pairs if (a.type, a.nullable) != (b.type, b.nullable)]


# --- after a skipped DDL, or a person's -----------------------------------------------------------


def _check_told(target: Target, place: Place, found: Evolved) -> None:
    """Raises `Unsupported` unless what the statement touches is as the definition says."""
    described = target.describe(*place)
    if described is None:
        raise Stop(f"there is no table {target.quote(*place)}")
    there = {column.name for column in described.columns}
    for column in found.after.columns:
        if column.name not in found.sources and column.name in there:
            raise Unsupported(
                f"column {column.name} is in {target.quote(*place)} already; what its rows hold is "
                "not certain, since a DDL of this table was skipped or done by a person"
            )
    if target.transactional_ddl:
        for old, _ in _modified(found):
            _check_made(target, place, found.before, old, described)


def _check_made(
    target: Target, place: Place, before: Table, old: Column, described: TargetTable
) -> None:
    """Raises `Unsupported` unless the column is as the consumer makes it."""
    wanted = target.column_types(before).get(old.name)
    if wanted is None:
        return  # virtual, and in no target
    found = {column.name: column.type.lower() for column in described.columns}.get(old.name)
    if found != wanted:
        raise Unsupported(
            f"column {old.name} of {target.quote(*place)} is {found or 'not there'}, where the "
            f"consumer makes {wanted}: what is to become of it is not certain"
        )


# --- a snapshot's ---------------------------------------------------------------------------------


def _from_catalog(
    target: Target, place: Place, altered: AlterTable, hints: Mapping[str, Column]
) -> Table:
    """The MySQL family says a table in the upstream's words."""
    with target.errors():
        shown = target.execute(f"SHOW CREATE TABLE {target.quote(*place)}").mappings().one()
    try:
        there = parse_create_table(str(shown["Create Table"]), altered.schema)
    except DefinitionError as error:
        raise Unsupported(
            f"{target.quote(*place)} is defined in words not known: {error}"
        ) from None
    columns = tuple(
        _as_upstream(target, column, hints.get(column.name)) for column in there.columns
    )
    return replace(
        there, schema=altered.schema, name=altered.table, columns=columns, foreign_keys=()
    )


def _as_upstream(target: Target, there: Column, hint: Column | None) -> Column:
    """A MariaDB has no JSON, but a LONGTEXT for it."""
    if hint is None or hint.type.name != "json" or there.type.name != "longtext":
        return there
    same = target.column_type(hint).partition(" ")[0] == there.type.name
    return replace(there, type=hint.type) if same else there


def _from_rows(
    target: Target,
    place: Place,
    altered: AlterTable,
    described: TargetTable,
    hints: Mapping[str, Column],
) -> Table:
    """PostgreSQL's and SQLite's types say little of the upstream's, rows know most. Raises
    `Unsupported` where the statement needs to know more."""
    types = {name: _certain(column.type) for name, column in hints.items()}
    columns = tuple(
        Column(there.name, types.get(there.name) or _STAND_IN, nullable=there.nullable)
        for there in described.columns
    )
    table = Table(altered.schema, altered.table, columns)
    unknown = {there.name.lower() for there in described.columns if not types.get(there.name)}
    for action in altered.actions:
        for name in sorted({name.lower() for name in _retyped(action)} & unknown):
            raise Unsupported(
                f"what type column {name} has upstream is not known: no CREATE TABLE came, and no "
                "row that tells it"
            )
        _check_action(target, place, table, action, described)
    indexes = _indexes(target, place, altered, unknown, described)
    return replace(table, indexes=tuple(indexes))


def _retyped(action: Action) -> tuple[str, ...]:
    """The columns whose type matters for an action."""
    match action:
        case ModifyColumn() | SetDefault():
            return (action.name,)
        case AddIndex(index):
            return index.columns
        case _:
            return ()


def _certain(type_: ColumnType) -> ColumnType | None:
    """The type with what it may be at most where the protocol does not say; None where that is not
    enough."""
    name = type_.name
    if name in _WIDEST:
        type_ = replace(type_, length=type_.length or _WIDEST[name])
    lacking = (
        (name in ("decimal", "binary") and type_.length is None)
        or (name in TEMPORALS - {"date"} and type_.decimals is None)
        or (name in ("enum", "set") and not type_.elements)
    )
    return None if lacking else type_


def _unplaced(action: Action) -> Action:
    """Here columns have no place."""
    return replace(action, after=None) if isinstance(action, AddColumn | ModifyColumn) else action


def _check_action(
    target: Target, place: Place, table: Table, action: Action, described: TargetTable
) -> None:
    if not isinstance(action, ModifyColumn | SetDefault):
        return
    there = {column.name: column for column in described.columns}.get(action.name)
    known = {column.name: column for column in table.columns}.get(action.name)
    if there is None or known is None:
        return  # evolve says so
    if isinstance(action, ModifyColumn):
        _check_made(target, place, table, known, described)
    default = action.column.default if isinstance(action, ModifyColumn) else action.default
    if there.has_default and default is None:
        raise Unsupported(
            f"column {action.name} has a default here that did not come from upstream"
        )


def _indexes(
    target: Target, place: Place, altered: AlterTable, unknown: set[str], described: TargetTable
) -> list[Index]:
    """The primary key, and the indexes that the statement names."""
    found = [
        Index("PRIMARY", key.columns, True, True, lengths=(None,) * len(key.columns))
        for key in described.unique_keys
        if key.primary
    ]
    named = [a.name for a in altered.actions if isinstance(a, DropIndex | RenameIndex)]
    if not named:
        return found
    with target.errors():
        catalog = sa.inspect(target.connection)
        there = {str(i["name"]): i for i in catalog.get_indexes(place[1], place[0])}
    for name in named:
        if name.upper() == "PRIMARY":
            continue
        index = there.get(index_name(place[1], name))
        if index is None:
            if not there:
                continue  # nothing to drop
            raise Unsupported(
                f"which index of {target.quote(*place)} is upstream's {name} is not certain; the "
                f"consumer would have called it {index_name(place[1], name)}"
            )
        columns = tuple(str(column) for column in index["column_names"] if column is not None)
        if len(columns) != len(index["column_names"]) or {c.lower() for c in columns} & unknown:
            raise Unsupported(f"what the columns of index {name} are upstream is not known")
        # With such lengths it is one that the consumer keeps; it is only dropped, or renamed.
        found.append(Index(name, columns, bool(index["unique"]), lengths=(1,) * len(columns)))
    return found


def _check_types(found: Evolved, hints: Mapping[str, Column]) -> None:
    """Raises `Unsupported` where the type before is not certain: TiDB's conversion goes by it."""
    for old, new in _modified(found):
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
                f"column {old.name} is {old.type.name} here, and {upstream} upstream: what its "
                "values become is not certain"
            )
