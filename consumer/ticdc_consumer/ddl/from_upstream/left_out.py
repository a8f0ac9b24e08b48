"""A table that TiCDC left out until an ALTER TABLE gave it a key: it is loaded from the upstream.

TiCDC sends neither the CREATE TABLE of a table without a key nor its rows, except those written
after the ALTER TABLE (tiflow, `cdc/puller/ddl_puller.go`: checkIneligibleTableDDL). So the table is
created as it is upstream as of the DDL, with its rows at that time.

Transactional DDL does that in its transaction. Elsewhere a copy is created and filled, chunk by
chunk, and gets the table's name by one RENAME TABLE, which renames a marker as well. The marker,
which holds the definition, shows that this ran; until then the copy restarts after a crash.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from ticdc_encoder.event import Table

from ticdc_consumer import failpoints
from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.context import DdlContext, Snapshot
from ticdc_consumer.ddl.foreign_keys import references
from ticdc_consumer.ddl.from_upstream import filling, refill
from ticdc_consumer.ddl.table.create import keys_of_children
from ticdc_consumer.errors import Denied, Stop, TableNotSent, UpstreamAway
from ticdc_consumer.state.known_tables import Definition
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.schema.alteration import Alteration

_DEFINITION = "ticdc_definition"
"""The only column of a marker. No altered upstream table has just this one."""


def in_transaction(context: DdlContext, entry: LedgerEntry, refusal: TableNotSent) -> Alteration:
    """Creates the table and fills it, inside a transaction; returns the work done. Raises `Stop`,
    after which the transaction must not be committed: `refusal`, unless it may be loaded."""
    _, located = filling.altered_table(context, entry)
    with _snapshot(context, entry, refusal) as snapshot:
        work = translate.creation(context, snapshot.table)
        for text in work.statements:
            failpoints.hit("ddl-statement")
            context.target.execute(text).close()
            failpoints.hit("ddl-statement-ran")
        filling.fill_in_transaction(context, snapshot, located)
    return Alteration(work.statements, created=snapshot.table)


def by_copy(context: DdlContext, entry: LedgerEntry, refusal: TableNotSent) -> Alteration:
    """Fills a copy and gives it the table's name. Raises `Stop`, after which there is no such
    table: `refusal`, unless it may be loaded."""
    target = context.target
    _, located = filling.altered_table(context, entry)
    copy, done = filling.copy_names(context, entry)
    marker = filling.marker_name(context, entry)
    with _snapshot(context, entry, refusal) as snapshot:
        table = snapshot.table
        translate.creation(context, table)  # raises if it is not allowed
        target.wait_for_ddl([located, copy, done, marker])
        filling.execute(context, [*target.drop_table(*copy), *target.drop_table(*marker)])
        keys = references(table, context.definitions, context.locate)
        try:
            filling.execute(context, target.create_table(*copy, table, keys))
            filling.fill(context, snapshot, copy)
        except Stop:
            filling.execute(context, target.drop_table(*copy))
            raise
    _mark(context, marker, table)
    moves = f"{target.quote(*copy)} TO {target.quote(*located)}"
    moves += f", {target.quote(*marker)} TO {target.quote(*done)}"
    filling.execute(context, [f"RENAME TABLE {moves}"])
    return finished(context, entry)


def finished(context: DdlContext, entry: LedgerEntry) -> Alteration:
    """Returns the work to note after a copy has its place. A copy of `refill` leaves nothing to
    note, but may leave foreign keys to redirect."""
    target = context.target
    _, done = filling.copy_names(context, entry)
    described = target.describe(*done)
    if described is None or [column.name for column in described.columns] != [_DEFINITION]:
        refill.return_keys(context, entry)
        return Alteration()
    ((text,),) = target.query(f"SELECT {_DEFINITION} FROM {target.quote(*done)}")  # noqa: S608
    table = Definition(str(text), "applied").table
    filling.execute(context, keys_of_children(context, table))
    return Alteration(created=table)


def _mark(context: DdlContext, marker: TargetName, table: Table) -> None:
    target = context.target
    name = target.quote(*marker)
    longtext = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    filling.execute(context, [f"CREATE TABLE {name} ({_DEFINITION} {longtext})"])
    with target.transaction():
        context.ledger.check()
        text = Definition.of(table, "applied").text
        target.execute(f"INSERT INTO {name} VALUES (%s)", (text,)).close()  # noqa: S608


@contextmanager
def _snapshot(context: DdlContext, entry: LedgerEntry, refusal: TableNotSent) -> Iterator[Snapshot]:
    """Opens the upstream's table. Raises `refusal` if the user did not allow loading it, and with
    the reason if it cannot be loaded."""
    if not context.load_missing or context.snapshot_of is None:
        raise refusal
    try:
        with filling.snapshot_of(context, entry) as snapshot:
            if not snapshot.table.handle_key:
                raise Stop("it has no key as of this statement")
            yield snapshot
    except Denied:
        raise
    except Stop as reason:
        kind = UpstreamAway if isinstance(reason, UpstreamAway) else TableNotSent
        raise kind(f"{refusal}; and it is not loaded from [source] upstream: {reason}") from reason
