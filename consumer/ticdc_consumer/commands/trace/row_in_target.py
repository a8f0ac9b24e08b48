"""The target's state of one row, and its R."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

import pyarrow as pa
from ticdc_encoder.event import RowChange, Table

from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.read.facts import Fold
from ticdc_consumer.cut.read.fast.reader import NoFastReader
from ticdc_consumer.cut.read.row_key import RowKey, Texts, text_of
from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.errors import Retry, Stop, Unavailable, Usage, problems_of
from ticdc_consumer.protocols import zone_of_rows
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import Layout, TableName
from ticdc_consumer.targets.target import Target

TRIES = 20
"""Most reads of the row, which is read again if a cut was committed in the meantime."""


@dataclass(frozen=True, slots=True)
class RowInTarget:
    """A row in the target. `rows` counts those with the key, at `resolved_ts`; None if the target
    could not be asked, for the `problem`. `schemas` are Simple's, `ddls` the ledger's DDL by
    commit_ts and query, `table` the upstream's as the ledger knows it."""

    resolved_ts: int | None
    rows: int | None = None
    relation: str = ""
    values: tuple[Texts, ...] = ()
    problem: str = ""
    table: Table | None = None
    schemas: tuple[Table, ...] = ()
    ddls: Mapping[tuple[int, str], LedgerEntry] = field(default_factory=dict)


def row_in_target(
    options: Settings,
    name: TableName,
    key: RowKey,
    with_values: bool,
    sent: Table | None = None,
) -> RowInTarget:
    """Reads the row. `sent` is the table as its messages show it, for one that the ledger does not
    know. Raises `Usage` for a key that is not the table's, `Unavailable`."""
    with closing(
        open_target(options.target_url, to_look=True, changefeed=options.changefeed)
    ) as target:
        store = Store(target, options.changefeed, where=InTarget.by(options, target))
        checkpoint = store.read()
        if checkpoint is None or not checkpoint.resolved_ts:
            return RowInTarget(None, problem="nothing was applied to the target yet")
        known = store.ledger.known()
        definitions = [known.get(each) for each in known.spellings(name)]
        table = next((each.table for each in definitions if each is not None), sent)
        state = RowInTarget(
            checkpoint.resolved_ts,
            table=table,
            schemas=tuple(store.schemas().values()),
            ddls={(each.commit_ts, each.query): each for each in store.ledger.entries()},
        )
        if table is None:
            return replace(state, problem="no row of the table was applied, as far as is known")
        try:
            layout = _layout(options, target, store, table)
        except Stop as refusal:
            return replace(state, problem=problems_of(refusal)[0])
        if not layout.key:
            raise Usage(f"{layout.name} has no key, so that its rows cannot be told apart")
        key.require(layout.sent.key, layout.name)
        keys = _encoded(options, layout, RowChange(table, 1, before=key.row(table)))
        return _read(store, state, layout, keys, with_values)


def _layout(options: Settings, target: Target, store: Store, table: Table) -> Layout:
    """The layout of only the key, as a run makes it. Raises `Stop`."""
    tables = TableLayouts(options, target)
    tables.learn(store.ledger)
    tables.add(table, deletes_only=True)
    return tables.layouts[0]


def _encoded(options: Settings, layout: Layout, change: RowChange) -> pa.BinaryArray:
    """The key of a DELETE, encoded for the target's bulk path."""
    fold = Fold([layout], Zone(zone_of_rows(options)), NoFastReader().parse)
    fold.add_change(0, change, 0, 0, 0)
    (facts,) = fold.flush()
    return facts["key"]


def _read(
    store: Store, state: RowInTarget, layout: Layout, keys: pa.BinaryArray, with_values: bool
) -> RowInTarget:
    """Reads again until no cut was committed in the meantime. Raises `Unavailable`."""
    target, state = store.target, replace(state, relation=layout.relation)
    for _ in range(TRIES):
        before = _resolved_ts(store, layout)
        try:
            rows = target.existing(layout, keys)
            values = tuple(_values(target, layout, keys)) if with_values and rows else ()
        except Retry as error:
            raise Unavailable(str(error)) from error
        if _resolved_ts(store, layout) == before:
            return replace(state, resolved_ts=before, rows=rows, values=values)
    return replace(state, problem="cuts are committed too often to read the row at one R")


def _resolved_ts(store: Store, layout: Layout) -> int:
    """R, or the table's own R if it is quarantined."""
    checkpoint = store.read()
    if checkpoint is None:
        raise store.unknown()
    own = (table for table in store.quarantine.tables() if ".".join(table.name) == layout.name)
    return next((table.resolved_ts for table in own), checkpoint.resolved_ts)


def _values(target: Target, layout: Layout, keys: pa.BinaryArray) -> Sequence[Texts]:
    rows: list[Texts] = []
    for statement in target.shown_deletes(layout, keys):
        with (
            target.errors(layout),
            closing(target.execute(f"SELECT *{statement.removeprefix('DELETE')}")) as result,
        ):
            names = list(result.keys())
            rows += [
                {name: _text(value) for name, value in zip(names, row, strict=True)}
                for row in result
            ]
    return rows


def _text(value: object) -> str | None:
    """Text of a value from the database's driver."""
    return text_of(value if value is None or isinstance(value, bytes) else str(value))
