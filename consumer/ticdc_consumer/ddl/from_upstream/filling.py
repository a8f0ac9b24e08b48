"""Fills a table with the upstream's rows as of a DDL: `refill`, `left_out`.

`tidb_snapshot` at the DDL's commit_ts shows, by definition, the rows after the DDL, and no cut goes
past a DDL that is pending.
"""

import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager

import pyarrow as pa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.statements import AlterTable

from ticdc_consumer import failpoints
from ticdc_consumer.ddl.context import DdlContext, Snapshot
from ticdc_consumer.ddl.names import own_schema
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import Layout, TargetName


def altered_table(context: DdlContext, entry: LedgerEntry) -> tuple[AlterTable, TargetName]:
    """Returns the statement, and the place of its table."""
    statement = context.statement(entry)
    assert isinstance(statement, AlterTable)  # no other statement changes values, or adds keys
    return statement, context.locate((statement.schema, statement.table))


def copy_names(context: DdlContext, entry: LedgerEntry) -> tuple[TargetName, TargetName]:
    """Returns the copy to fill, and the table that shows that the copy has replaced the old one."""
    return _own_name(context, entry, "refilling"), _own_name(context, entry, "refilled")


def marker_name(context: DdlContext, entry: LedgerEntry) -> TargetName:
    """Returns the marker, which is renamed in place of an old table if there is none."""
    return _own_name(context, entry, "refillmark")


def _own_name(context: DdlContext, entry: LedgerEntry, what: str) -> TargetName:
    ending = f"{checksum(context.ledger)}_{entry.commit_ts}_{entry.seq}"
    return own_schema(context.target), f"ticdc_{what}_{ending}"


def checksum(ledger: Ledger) -> str:
    return f"{zlib.crc32(ledger.changefeed.encode()):08x}"


def execute(context: DdlContext, texts: Iterable[str]) -> None:
    """Runs statements that commit by themselves. Raises `Fenced` if another consumer took over."""
    for text in texts:
        with context.target.transaction():
            context.ledger.check()
        failpoints.hit("ddl-statement")
        context.target.execute(text).close()
        failpoints.hit("ddl-statement-ran")


def snapshot_of(context: DdlContext, entry: LedgerEntry) -> AbstractContextManager[Snapshot]:
    """Opens the upstream's table as of the DDL."""
    statement, _ = altered_table(context, entry)
    assert context.snapshot_of is not None  # without one, the work does not begin
    return context.snapshot_of((statement.schema, statement.table), entry.commit_ts)


def fill(context: DdlContext, snapshot: Snapshot, table: TargetName) -> int:
    """Inserts each chunk in a transaction; returns the number of rows."""
    layout, rows = _layout(context, snapshot, table), 0
    for chunk in snapshot.chunks():
        with context.target.transaction():
            context.ledger.check()
            rows += _insert(context, layout, chunk)
            failpoints.hit("refill-commit")
    return rows


def fill_in_transaction(context: DdlContext, snapshot: Snapshot, table: TargetName) -> int:
    """Inserts all rows in the current transaction; returns their number."""
    layout = _layout(context, snapshot, table)
    return sum(_insert(context, layout, chunk) for chunk in snapshot.chunks())


def _layout(context: DdlContext, snapshot: Snapshot, table: TargetName) -> Layout:
    target, source = context.target, snapshot.table
    described = target.describe(*table)
    assert described is not None  # it was just created or altered
    sent = tuple(column for column in source.columns if not column.virtual)
    rows = Table(source.schema, source.name, sent, handle_key=source.handle_key)
    return target.layout(rows, (), described, source, context.rules)


def _insert(context: DdlContext, layout: Layout, batches: Iterator[list[pa.Array]]) -> int:
    encode_rows, _ = encoders(layout.dialect)
    rows = 0
    for arrays in batches:
        payloads = encode_rows(layout, arrays).cast(pa.binary())
        context.target.insert(layout, payloads, "stop")
        rows += len(payloads)
    return rows
