"""An ALTER TABLE whose values TiCDC does not send: the table is refilled from the upstream.

The table is altered while it is empty, so that no value is converted, and then gets the upstream's
rows as of the DDL.

Transactional DDL does all of that in its transaction. Elsewhere an empty copy is altered and
filled, chunk by chunk, and replaces the table by one RENAME TABLE. The old table, under its new
name, shows that this ran; until then the copy restarts after a crash. The copy has the table's
foreign keys. Those of other tables follow the old table, and are redirected to the new one
afterwards: the catalog shows which are left.
"""

import re
from collections.abc import Sequence

from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.statements import AlterTable, ModifyColumn, RenameColumn

from ticdc_consumer import failpoints
from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.context import DdlContext, Snapshot
from ticdc_consumer.ddl.from_upstream import filling
from ticdc_consumer.ddl.kinds import kind_of
from ticdc_consumer.ddl.names import REFILL_NAME
from ticdc_consumer.ddl.table.alter import evolution
from ticdc_consumer.errors import Denied, Stop, UpstreamAway, ValuesNotSent
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import ReferenceChanges, TargetColumn, TargetName
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target

_SIZED = frozenset({"char", "varchar", "binary", "varbinary"})


def in_transaction(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """Alters the table and fills it, inside a transaction; returns the work done. Raises `Stop`,
    after which the transaction must not be committed."""
    target = context.target
    altered, table = filling.altered_table(context, entry)
    evolved, _ = evolution(context, altered)
    with filling.snapshot_of(context, entry) as snapshot:
        _require_refillable(context, altered, evolved, table, snapshot)
        rows = _count(target, table)
        target.execute(f"DELETE FROM {target.quote(*table)}").close()  # noqa: S608
        work = translate.work(context, entry)
        for text in work.statements:
            failpoints.hit("ddl-statement")
            target.execute(text).close()
            failpoints.hit("ddl-statement-ran")
        read = filling.fill_in_transaction(context, snapshot, table)
    _require_as_many(altered, entry, rows, read)
    return work


def by_copy(context: DdlContext, entry: LedgerEntry) -> None:
    """Replaces the table with an altered and filled copy. Raises `Stop`; the table is then
    unchanged."""
    target = context.target
    altered, table = filling.altered_table(context, entry)
    copy, aside = filling.copy_names(context, entry)
    target.wait_for_ddl([table, copy, aside])
    filling.execute(context, target.drop_table(*copy))
    evolved, references = evolution(context, altered)
    if references.added or references.dropped:
        raise Stop(f"{altered.schema}.{altered.table}: its foreign keys change, too")
    try:
        with filling.snapshot_of(context, entry) as snapshot:
            _require_refillable(context, altered, evolved, table, snapshot)
            filling.execute(context, target.copy_structure(table, copy, ()))
            filling.execute(
                context, target.alter_table(*copy, evolved, ReferenceChanges()).statements
            )
            _require_same_keys(context, altered, table, copy)
            filling.execute(context, target.copy_keys(table, copy, _renamed(altered)))
            read = filling.fill(context, snapshot, copy)
        _require_as_many(altered, entry, _count(target, table), read)
    except Stop:
        filling.execute(context, target.drop_table(*copy))
        raise
    moves = ", ".join(
        f"{target.quote(*old)} TO {target.quote(*new)}"
        for old, new in ((table, aside), (copy, table))
    )
    filling.execute(context, [f"RENAME TABLE {moves}"])
    return_keys(context, entry)


def return_keys(context: DdlContext, entry: LedgerEntry) -> None:
    """Redirects other tables' foreign keys to the copy that has replaced the table."""
    target = context.target
    altered, table = filling.altered_table(context, entry)
    _, aside = filling.copy_names(context, entry)
    if keys := target.keys_of(aside):
        target.wait_for_ddl([key.child for key in keys])
        filling.execute(context, target.return_keys(aside, table, _renamed(altered)))


def not_read(refusal: ValuesNotSent, reason: Stop) -> Stop:
    """Returns the error for a DDL whose values are not sent, if `reason` forbids reading them."""
    if isinstance(reason, Denied):
        return reason
    text = f"{refusal}; and they are not read from [source] upstream: {reason}"
    if isinstance(reason, UpstreamAway):
        return UpstreamAway(text)
    return ValuesNotSent(text, refusal.instead, refusal.inexact)


def ran(context: DdlContext, entry: LedgerEntry) -> bool:
    """Returns whether a copy has replaced the table, and the ledger lacks that yet."""
    if kind_of(context.statement(entry)).runs != "maybe refilled":
        return False
    _, aside = filling.copy_names(context, entry)
    return context.target.describe(*aside) is not None


def drop_left(context: DdlContext) -> None:
    """Drops this changefeed's copies and old tables of DDL that are not pending. Raises `Fenced` if
    another consumer took over."""
    target, ledger = context.target, context.ledger
    if target.transactional_ddl:
        return
    with target.errors():
        rows = target.execute("SHOW TABLES LIKE 'ticdc_refill%'")
        names = filter(REFILL_NAME.fullmatch, [str(name) for (name,) in map(tuple, rows)])
        mine = {name for name in names if name.split("_")[2] == filling.checksum(ledger)}
        over = mine - {filling.copy_names(context, each)[1][1] for each in ledger.pending()}
        filling.execute(context, [text for name in over for text in target.drop_table(None, name)])


def _count(target: Target, table: TargetName) -> int:
    return int(target.query(f"SELECT count(*) FROM {target.quote(*table)}")[0][0])  # noqa: S608


# --- obstacles -----------------------------------------------------------------------------------


def _require_refillable(
    context: DdlContext,
    altered: AlterTable,
    evolved: Evolved,
    table: TargetName,
    snapshot: Snapshot,
) -> None:
    """Raises `Stop` if the table would lose something, or the upstream's is a different one."""
    target, label = context.target, f"{altered.schema}.{altered.table}"
    if hindrances := target.hindrances(table):
        raise Stop(
            f"{label}: {target.quote(*table)} has {', '.join(hindrances)}, so that its rows cannot "
            "be replaced by the upstream's: drop it, start again, and create it again once the run "
            "has passed this DDL"
        )
    described = target.describe(*table)
    known = {column.name.lower() for column in (*evolved.before.columns, *evolved.after.columns)}
    for column in described.columns if described else ():
        if column.name.lower() not in known and not column.generated:
            raise Stop(
                f"{label}: {target.quote(*table)} has a column {column.name} of its own, whose "
                "values would be lost if the rows were replaced by the upstream's"
            )
    _require_same(label, evolved, snapshot.table.columns)


def _require_same_keys(
    context: DdlContext, altered: AlterTable, table: TargetName, copy: TargetName
) -> None:
    """Raises `Stop` if the altered copy has another type for a column of a foreign key from or to
    the table, unless only its length is equal or greater, as in TiDB."""
    before, after = _columns(context.target, table), _columns(context.target, copy)
    renamed = _renamed(altered)
    for key in context.target.keys_of(table):
        for name in key.columns:
            now = renamed.get(name.lower(), name)
            if _kind(before[name.lower()]) != _kind(after.get(now.lower())):
                raise Stop(
                    f"{altered.schema}.{altered.table}: this statement changes column {name} of "
                    f"foreign key {key.name} of {context.target.quote(*key.child)}: drop that "
                    "foreign key, start again, and create it again once the run has passed this DDL"
                )


def _columns(target: Target, table: TargetName) -> dict[str, TargetColumn]:
    """Returns the columns by their names in lower case."""
    described = target.describe(*table)
    assert described is not None  # it was described before, or created
    return {column.name.lower(): column for column in described.columns}


def _kind(column: TargetColumn | None) -> tuple[str | None, str] | None:
    """Returns the common kind of a foreign key's columns: the length of a text does not matter."""
    if column is None:
        return None
    return column.collation, re.sub(r"^((?:var)?(?:char|binary)|\w*int)\(\d+\)", r"\1", column.type)


def _renamed(altered: AlterTable) -> dict[str, str]:
    """Returns the new names of columns, by their old names in lower case."""
    renamed = {}
    for action in altered.actions:
        if isinstance(action, RenameColumn):
            renamed[action.name.lower()] = action.new_name
        elif isinstance(action, ModifyColumn):
            renamed[action.name.lower()] = action.column.name
    return renamed


def _require_same(label: str, evolved: Evolved, columns: Sequence[Column]) -> None:
    """Raises `Stop` unless the upstream's table is as after the DDL."""
    upstream = {column.name.lower(): column for column in columns}
    after = {column.name.lower(): column for column in evolved.after.columns}
    differing = upstream.keys() ^ after.keys()
    for name in upstream.keys() & after.keys():
        source = evolved.sources.get(after[name].name)
        changed = source is None or evolved.before.column(source).type != after[name].type
        if changed and _meaning(upstream[name]) != _meaning(after[name]):
            differing.add(name)
    if differing:
        raise Stop(
            f"{label}: the upstream's table, as of the DDL, differs from the one after the DDL in "
            f"{', '.join(sorted(differing))}"
        )


def _meaning(column: Column) -> tuple[object, ...]:
    """Returns the properties that decide how values are read; an integer's width does not."""
    type_ = column.type
    length = type_.length if type_.name in _SIZED else None
    decimals = 0 if type_.name in INTEGERS else type_.decimals or 0
    return type_.name, type_.unsigned, length or 0, decimals, type_.elements


def _require_as_many(altered: AlterTable, entry: LedgerEntry, rows: int, read: int) -> None:
    if rows != read:
        raise Stop(
            f"{altered.schema}.{altered.table}: the target has {rows:,} rows and the upstream "
            f"{read:,} as of {entry.commit_ts}, so that they are not replaced by the upstream's"
        )
