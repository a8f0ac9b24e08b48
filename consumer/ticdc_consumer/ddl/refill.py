"""An ALTER TABLE whose values TiCDC does not send: the table is filled anew from the upstream.

What `tidb_snapshot` shows at the DDL's commit_ts are, by definition, the rows after the DDL, and no
cut goes past a DDL that is pending. So the table is altered while it is empty, so that no value is
converted, and then gets the upstream's rows.

Transactional DDL does all of that in its transaction. Elsewhere an empty copy is altered and
filled, chunk by chunk, and takes the table's place by one RENAME TABLE. The old table, under its
new name, shows that this ran; until then a crash begins the copy anew.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

import pyarrow as pa
from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.statements import AlterTable

from ticdc_consumer import failpoints
from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.context import DdlContext, Snapshot
from ticdc_consumer.ddl.names import REFILL_NAME, own_schema
from ticdc_consumer.errors import Denied, Stop, UpstreamAway, ValuesNotSent
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import Layout, ReferenceChanges, TargetName
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.target import Target

_SIZED = frozenset({"char", "varchar", "binary", "varbinary"})


def in_transaction(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """Alters the table and fills it, inside a transaction; returns what was done. Raises `Stop`,
    after which the transaction must not be committed."""
    target = context.target
    altered, table = _altered(context, entry)
    evolved, _ = translate.evolution(context, altered)
    with _snapshot(context, entry, altered) as snapshot:
        _require_refillable(context, altered, evolved, table, snapshot)
        rows = _count(target, table)
        target.execute(f"DELETE FROM {target.quote(*table)}").close()  # noqa: S608
        work = translate.work(context, entry)
        for text in work.statements:
            failpoints.hit("D1")
            target.execute(text).close()
            failpoints.hit("D2")
        layout = _layout(context, snapshot, table)
        read = sum(_insert(target, layout, chunk) for chunk in snapshot.chunks())
    _require_as_many(altered, entry, rows, read)
    return work


def by_copy(context: DdlContext, entry: LedgerEntry) -> None:
    """Puts an altered and filled copy in the table's place. Raises `Stop`; the table is then as it
    was."""
    target = context.target
    altered, table = _altered(context, entry)
    copy, aside = _names(context, entry)
    target.wait_for_ddl([table, copy, aside])
    _execute(context, target.drop_table(*copy))
    evolved, references = translate.evolution(context, altered)
    if references.added or references.dropped:
        raise Stop(f"{altered.schema}.{altered.table}: its foreign keys change, too")
    try:
        with _snapshot(context, entry, altered) as snapshot:
            _require_refillable(context, altered, evolved, table, snapshot)
            _execute(context, target.copy_structure(table, copy, ()))
            _execute(context, target.alter_table(*copy, evolved, ReferenceChanges()).statements)
            read = _fill(context, snapshot, _layout(context, snapshot, copy))
        _require_as_many(altered, entry, _count(target, table), read)
    except Stop:
        _execute(context, target.drop_table(*copy))
        raise
    moves = ", ".join(
        f"{target.quote(*old)} TO {target.quote(*new)}"
        for old, new in ((table, aside), (copy, table))
    )
    _execute(context, [f"RENAME TABLE {moves}"])


def not_read(refusal: ValuesNotSent, reason: Stop) -> Stop:
    """What to say of a DDL whose values are not sent, if `reason` forbids to read them."""
    if isinstance(reason, Denied):
        return reason
    text = f"{refusal}; and they are not read from [source] upstream: {reason}"
    if isinstance(reason, UpstreamAway):
        return UpstreamAway(text)
    return ValuesNotSent(text, refusal.instead, refusal.inexact)


def ran(context: DdlContext, entry: LedgerEntry) -> bool:
    """Whether a copy has taken the table's place, and the ledger does not have that yet."""
    if not isinstance(context.statement(entry), AlterTable):
        return False
    _, aside = _names(context, entry)
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
        mine = {name for name in names if name.split("_")[2] == _checksum(ledger)}
        over = mine - {_names(context, each)[1][1] for each in ledger.pending()}
        _execute(context, [text for name in over for text in target.drop_table(None, name)])


def _names(context: DdlContext, entry: LedgerEntry) -> tuple[TargetName, TargetName]:
    """The copy, and what the table is called once the copy has its place."""
    schema = own_schema(context.target)
    ending = f"{_checksum(context.ledger)}_{entry.commit_ts}_{entry.seq}"
    return (schema, f"ticdc_refilling_{ending}"), (schema, f"ticdc_refilled_{ending}")


def _checksum(ledger: Ledger) -> str:
    return f"{zlib.crc32(ledger.changefeed.encode()):08x}"


def _altered(context: DdlContext, entry: LedgerEntry) -> tuple[AlterTable, TargetName]:
    statement = context.statement(entry)
    assert isinstance(statement, AlterTable)  # no other statement changes values
    return statement, context.locate((statement.schema, statement.table))


def _snapshot(
    context: DdlContext, entry: LedgerEntry, altered: AlterTable
) -> AbstractContextManager[Snapshot]:
    assert context.snapshot_of is not None  # whoever has none does not begin
    return context.snapshot_of((altered.schema, altered.table), entry.commit_ts)


def _execute(context: DdlContext, texts: Iterable[str]) -> None:
    """Statements that commit by themselves."""
    for text in texts:
        with context.target.transaction():
            context.ledger.check()
        failpoints.hit("D1")
        context.target.execute(text).close()
        failpoints.hit("D2")


# --- the rows ------------------------------------------------------------------------------------


def _layout(context: DdlContext, snapshot: Snapshot, table: TargetName) -> Layout:
    target, source = context.target, snapshot.table
    described = target.describe(*table)
    assert described is not None  # it was altered just now
    sent = tuple(column for column in source.columns if not column.virtual)
    rows = Table(source.schema, source.name, sent, handle_key=source.handle_key)
    return target.layout(rows, (), described, source, context.rules)


def _fill(context: DdlContext, snapshot: Snapshot, layout: Layout) -> int:
    """Each chunk in a transaction; returns how many rows there are."""
    rows = 0
    for chunk in snapshot.chunks():
        with context.target.transaction():
            context.ledger.check()
            rows += _insert(context.target, layout, chunk)
            failpoints.hit("F1")
    return rows


def _insert(target: Target, layout: Layout, batches: Iterator[list[pa.Array]]) -> int:
    encode_rows, _ = encoders(layout.dialect)
    rows = 0
    for arrays in batches:
        payloads = encode_rows(layout, arrays).cast(pa.binary())
        target.insert(layout, payloads, "stop")
        rows += len(payloads)
    return rows


def _count(target: Target, table: TargetName) -> int:
    return int(target.query(f"SELECT count(*) FROM {target.quote(*table)}")[0][0])  # noqa: S608


# --- what forbids it -----------------------------------------------------------------------------


def _require_refillable(
    context: DdlContext,
    altered: AlterTable,
    evolved: Evolved,
    table: TargetName,
    snapshot: Snapshot,
) -> None:
    """Raises `Stop` if the table would lose something, or the upstream's is another one."""
    target, label = context.target, f"{altered.schema}.{altered.table}"
    if hindrances := target.hindrances(table):
        raise Stop(
            f"{label}: {target.quote(*table)} has {', '.join(hindrances)}, so that its rows cannot "
            "be replaced by the upstream's"
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


def _require_same(label: str, evolved: Evolved, columns: Sequence[Column]) -> None:
    """Raises `Stop` unless the upstream has the table as it is after the DDL."""
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
    """What decides how values are read, whatever an integer's width is."""
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
