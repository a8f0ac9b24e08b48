"""ALTER TABLE, with the required knowledge of the table before it."""

from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved
from ticdc_encoder.sql.statements import (
    Action,
    AddColumn,
    AddIndex,
    AlterTable,
    EmptyPartitions,
    ExchangePartition,
    ModifyColumn,
    OtherAction,
    Statement,
)

from ticdc_consumer.ddl import generated_columns, merged_tables
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.foreign_keys import changes
from ticdc_consumer.ddl.kinds import action_kind
from ticdc_consumer.ddl.partition import actions as partitions
from ticdc_consumer.ddl.shared.tables import refuse_shared
from ticdc_consumer.ddl.table import reflection
from ticdc_consumer.errors import Stop, TableNotSent, Unsupported
from ticdc_consumer.state.known_tables import Basis
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import (
    ReferenceChanges,
    TableName,
)
from ticdc_consumer.targets.schema.alteration import Alteration


def alter(context: DdlContext, altered: AlterTable) -> Alteration:
    target = context.target
    for action in altered.actions:
        match action:
            case OtherAction(what):
                raise Unsupported(f"ALTER TABLE ... {what} is not translated")
    if not any(action_kind(action).work for action in altered.actions):
        return Alteration()
    table = context.locate((altered.schema, altered.table))
    if _partitions(altered):
        if target.describe(*table) is None:
            raise Stop(f"there is no table {target.quote(*table)}")
        return _change_partitions(context, altered)
    evolved, references = evolution(context, altered)
    return target.alter_table(*table, evolved, references)


def evolution(context: DdlContext, altered: AlterTable) -> tuple[Evolved, ReferenceChanges]:
    """Returns the table before and after an ALTER TABLE, as far as the target has it. Raises
    `Stop`."""
    target, name = context.target, (altered.schema, altered.table)
    table = context.locate(name)
    _require_sent(context, altered)
    known = context.ledger.known().get(name)
    evolved = reflection.evolved(target, table, altered, known)
    existing = target.describe(*table)
    if existing is None:
        raise Stop(f"there is no table {target.quote(*table)}")
    certain = known is not None and known.basis in ("applied", "checked")
    evolved = generated_columns.as_it_is(target, evolved, existing, certain)
    return evolved, changes(target, evolved, context.definitions, context.locate)


def _require_sent(context: DdlContext, altered: AlterTable) -> None:
    """Raises `TableNotSent` for a table that was left out until now."""
    name = altered.schema, altered.table
    if gives_first_key(context, altered, name):
        raise TableNotSent(
            f"{'.'.join(name)}: there is no table {context.target.quote(*context.locate(name))}: "
            "TiCDC leaves out a table that has neither a primary key nor a NOT NULL unique key; "
            "the rows that it had when this statement gave it one are not in the topic"
        )


def gives_first_key(context: DdlContext, statement: Statement, name: TableName) -> bool:
    """Returns whether the statement may give a key to this table, which then was left out until
    now: nothing of it came before, and it is not in the target."""
    return (
        isinstance(statement, AlterTable)
        and (statement.schema, statement.table) == name
        and name not in context.ledger.known().destinations
        and any(map(_may_give_key, statement.actions))
        and context.target.describe(*context.locate(name)) is None
    )


def _may_give_key(action: Action) -> bool:
    match action:
        case AddIndex(index):
            return index.unique
        case AddColumn(column, keys) | ModifyColumn(_, column, keys):
            return bool(keys) or not column.nullable
        case _:
            return False


def _partitions(altered: AlterTable) -> bool:
    return any(action_kind(action).partitions for action in altered.actions)


def _change_partitions(context: DdlContext, altered: AlterTable) -> Alteration:
    target, definitions = context.target, context.definitions
    name = altered.schema, altered.table
    if name not in definitions:
        raise Unsupported(
            f"the definition of {'.'.join(name)} did not come through the stream, so it is "
            "not certain which rows are in which partition"
        )
    table = context.locate(name)
    match altered.actions:
        case (EmptyPartitions(names),):
            return partitions.empty(target, table, definitions[name], names)
        case (ExchangePartition(partition, other),):
            with_table = context.locate(definitions.spelled(other))
            return partitions.exchange(target, table, definitions[name], partition, with_table)
        case _:
            raise Unsupported("TRUNCATE, DROP and EXCHANGE PARTITION beside other actions")


def before_alter(context: DdlContext, entry: LedgerEntry) -> tuple[Table, Basis] | None:
    """Returns the definition to store before an ALTER TABLE that commits by itself, if the consumer
    did not create the table: after a crash the catalog no longer shows the old one. Raises `Stop`.
    """
    statement = context.statement(entry)
    if not isinstance(statement, AlterTable) or not _alters(statement):
        return None
    name = statement.schema, statement.table
    refuse_shared(context, statement)
    merged_tables.refuse_merged(context, statement)
    _require_sent(context, statement)
    known = context.ledger.known().get(name)
    if known is not None and known.basis not in ("declared", "seen"):
        return None
    evolved = reflection.evolved(context.target, context.locate(name), statement, known)
    return evolved.before, "reflected" if known is None or known.basis == "seen" else "checked"


def _alters(statement: AlterTable) -> bool:
    """Returns whether it can be done, and affects the table itself."""
    actions = statement.actions
    return (
        not any(isinstance(action, OtherAction) for action in actions)
        and not _partitions(statement)
        and any(action_kind(action).work for action in actions)
    )
