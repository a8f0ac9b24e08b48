"""Tables that were dropped or emptied upstream, and lie aside for a while (`[ddl] keep_dropped`).

RECOVER TABLE and FLASHBACK TABLE bring back what TiDB has kept; its rows are not sent again.
"""

from collections.abc import Iterable

from ticdc_encoder.event import Table
from ticdc_encoder.tso import seconds

from ticdc_consumer.ddl.foreign_keys import Locate, references
from ticdc_consumer.ddl.names import Definitions, Name, Place
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.state.ledger import KeptTable, Ledger, LedgerEntry
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.target import Target


def drop(
    target: Target, ledger: Ledger, entry: LedgerEntry, name: Name, locate: Locate
) -> Alteration:
    """DROP TABLE: sets the table aside, where tables are kept and no other refers to it."""
    place, definitions = locate(name), ledger.definitions()
    aside = _aside(place, entry)
    kept = ledger.keep_dropped > 0 and not _referred(definitions, name)
    if target.describe(*place) is None:
        there = kept and target.describe(*aside) is not None
        return Alteration(set_aside=aside if there else None)
    if not kept:
        return Alteration(tuple(target.drop_table(*place)))
    return Alteration(_move(target, place, aside, definitions.get(name)), set_aside=aside)


def truncate(
    target: Target, ledger: Ledger, entry: LedgerEntry, name: Name, locate: Locate
) -> Alteration:
    """TRUNCATE TABLE: sets the table aside, too, where its definition is known."""
    place, definitions = locate(name), ledger.definitions()
    table = definitions.get(name)
    if ledger.keep_dropped <= 0 or table is None or _referred(definitions, name):
        return Alteration(tuple(target.truncate_table(*place)))
    aside, statements = _aside(place, entry), list[str]()
    there = target.describe(*place) is not None
    if there and target.describe(*aside) is not None:
        return Alteration(set_aside=aside)  # it ran, and a crash came before it was noted
    if there:
        statements += _move(target, place, aside, table)
    made = target.create_table(*place, table, references(table, definitions, locate))
    return Alteration((*statements, *made), set_aside=aside)


def recover(
    target: Target, ledger: Ledger, dropped: Name, name: Name, locate: Locate
) -> Alteration:
    """Raises `Unsupported` where the table was not kept."""
    kept = newest(ledger.kept(), dropped)
    if kept is None:
        raise Unsupported(
            f"{'.'.join(dropped)} was not kept: tables that are dropped or emptied are, where "
            '[ddl] keep_dropped says for how long, as "24h"'
        )
    place, aside = locate(name), (kept.target_schema, kept.target_table)
    there = target.describe(*aside) is not None, target.describe(*place) is not None
    if there == (False, True) and not target.transactional_ddl:
        return Alteration()  # it ran, and a crash came before it was noted
    if there != (True, False):
        told = "the latter is there" if there[0] else "it is gone"
        raise Stop(f"{target.quote(*aside)} is to become {target.quote(*place)}, but {told}")
    return Alteration(_move(target, aside, place, kept.definition))


def newest(kept: Iterable[KeptTable], name: Name) -> KeptTable | None:
    """Of a name, as TiDB finds it."""
    lower = name[0].lower(), name[1].lower()
    same = [each for each in kept if (each.schema.lower(), each.table.lower()) == lower]
    return same[-1] if same else None


def purge(target: Target, ledger: Ledger, kept: Iterable[KeptTable], resolved_ts: int) -> bool:
    """Drops those whose time is over at `resolved_ts`; whether there was any."""
    over = [
        each
        for each in kept
        if seconds(resolved_ts) - seconds(each.commit_ts) >= ledger.keep_dropped
    ]
    for each in over:
        if not target.transactional_ddl:
            _drop(target, each)  # commits by itself, and may be said twice
        with target.transaction():
            ledger.release(each)
            if target.transactional_ddl:
                _drop(target, each)
    return bool(over)


def _drop(target: Target, kept: KeptTable) -> None:
    with target.errors():
        for text in target.drop_table(kept.target_schema, kept.target_table):
            target.execute(text)


def _aside(place: Place, entry: LedgerEntry) -> Place:
    return place[0], f"ticdc_dropped_{entry.commit_ts}_{entry.seq}"


def _move(target: Target, old: Place, new: Place, table: Table | None) -> tuple[str, ...]:
    return (*target.drop_references(*old), *target.rename_table(old, new, table))


def _referred(definitions: Definitions, name: Name) -> bool:
    """Whether foreign keys of other tables name it: TiDB drops it only without checks."""
    lower = name[0].lower(), name[1].lower()
    return any(
        (key.parent[0].lower(), key.parent[1].lower()) == lower
        for other, table in definitions.items()
        if other != name
        for key in table.foreign_keys
    )
