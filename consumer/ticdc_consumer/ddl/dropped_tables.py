"""Tables that were dropped or emptied upstream, kept for a while (`[ddl] keep_dropped`).

RECOVER TABLE and FLASHBACK TABLE restore what TiDB still has; its rows are not sent again.
"""

from collections.abc import Iterable

from ticdc_encoder.event import Table
from ticdc_encoder.tso import seconds

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.foreign_keys import references
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.known_tables import Definitions, lower
from ticdc_consumer.state.ledger import DroppedTable, Ledger, LedgerEntry
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target


def drop(context: DdlContext, entry: LedgerEntry, name: TableName) -> Alteration:
    """Does DROP TABLE: keeps the table under another name, if kept tables are stored and no table
    refers to it."""
    target, definitions = context.target, context.definitions
    table = context.locate(name)
    aside = _aside(table, entry)
    stored = context.ledger.keep_dropped > 0 and not _referred(definitions, name)
    if target.describe(*table) is None:
        moved = stored and target.describe(*aside) is not None
        return Alteration(set_aside=aside if moved else None)
    if not stored:
        return Alteration(tuple(target.drop_table(*table)))
    return Alteration(_move(target, table, aside, definitions.get(name)), set_aside=aside)


def truncate(context: DdlContext, entry: LedgerEntry, name: TableName) -> Alteration:
    """Does TRUNCATE TABLE: keeps the old rows as a table, too, if its definition is known. Raises
    `Stop` for a relation that is not written like a table."""
    target, definitions = context.target, context.definitions
    table, definition = context.locate(name), definitions.get(name)
    exists = target.describe(*table) is not None
    if context.ledger.keep_dropped <= 0 or definition is None or _referred(definitions, name):
        return Alteration(tuple(target.truncate_table(*table)))
    aside, statements = _aside(table, entry), list[str]()
    if exists and target.describe(*aside) is not None:
        as_after = (
            f"{target.quote(*aside)}, which should keep the rows of {target.quote(*table)}, "
            "exists already; drop it, and start again"
        )
        rows = f"SELECT 1 FROM {target.quote(*table)} LIMIT 1"  # noqa: S608
        return Alteration(
            set_aside=aside,
            as_after=as_after,
            evidence=target.evidence(aside),
            unlike=((rows, f"{target.quote(*table)} has rows"),),
        )
    if exists:
        statements += _move(target, table, aside, definition)
    keys = references(definition, definitions, context.locate)
    created = target.create_table(*table, definition, keys)
    evidence = target.evidence(table if exists else aside)
    return Alteration((*statements, *created), set_aside=aside, evidence=evidence)


def recover(context: DdlContext, name: TableName, new: TableName) -> Alteration:
    """Restores the table `name` as `new`. Raises `Unsupported` if it was not kept."""
    target = context.target
    dropped = newest(context.ledger.dropped(), name)
    if dropped is None:
        raise Unsupported(
            f"{'.'.join(name)} was not kept: dropped or emptied tables are kept only if [ddl] "
            'keep_dropped sets for how long, such as "24h"'
        )
    table, aside = context.locate(new), (dropped.target_schema, dropped.target_table)
    exist = target.describe(*aside) is not None, target.describe(*table) is not None
    evidence = target.evidence(table if exist == (False, True) else aside)
    if exist == (False, True) and not target.transactional_ddl:
        as_after = (
            f"{target.quote(*aside)} must become {target.quote(*table)}, but only the latter exists"
        )
        return Alteration(as_after=as_after, evidence=evidence)
    if exist != (True, False):
        state = "the latter exists" if exist[0] else "the former does not exist"
        raise Stop(f"{target.quote(*aside)} must become {target.quote(*table)}, but {state}")
    return Alteration(_move(target, aside, table, dropped.definition), evidence=evidence)


def newest(dropped: Iterable[DroppedTable], name: TableName) -> DroppedTable | None:
    """Returns the last table that had this name, in any case: TiDB takes that one."""
    same = [one for one in dropped if lower((one.schema, one.table)) == lower(name)]
    return same[-1] if same else None


def over(
    dropped: Iterable[DroppedTable], keep_dropped: float, resolved_ts: int
) -> list[DroppedTable]:
    """Returns the tables whose time, `keep_dropped` seconds, is over at `resolved_ts`."""
    return [one for one in dropped if seconds(resolved_ts) - seconds(one.commit_ts) >= keep_dropped]


def purge(target: Target, ledger: Ledger, one: DroppedTable) -> None:
    """Drops one kept table."""
    if not target.transactional_ddl:
        _drop(target, one)  # commits by itself, and may be repeated
    with target.transaction():
        ledger.remove_dropped(one)
        if target.transactional_ddl:
            _drop(target, one)


def _drop(target: Target, dropped: DroppedTable) -> None:
    with target.errors():
        for text in target.drop_table(dropped.target_schema, dropped.target_table):
            target.execute(text)


def _aside(table: TargetName, entry: LedgerEntry) -> TargetName:
    return table[0], f"ticdc_dropped_{entry.commit_ts}_{entry.seq}"


def _move(target: Target, old: TargetName, new: TargetName, table: Table | None) -> tuple[str, ...]:
    return (*target.drop_references(*old), *target.rename_table(old, new, table))


def _referred(definitions: Definitions, name: TableName) -> bool:
    """Returns whether foreign keys of other tables name it: TiDB drops it only without checks."""
    return any((child.schema, child.name) != name for child in definitions.children(name))
