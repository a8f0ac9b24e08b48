"""Losses of a protocol: refused by table and column, before any effect.

`Exactness.refuse` uses the messages; `Exactness.complete` adds facts that only a CREATE TABLE
of the stream shows, and refuses what is still unknown; `Exactness.restore` gives values the
digits that the messages leave out. The messages of Debezium and Avro lose data:
their modules list the losses and the reasons.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import InvalidOperation
from typing import TYPE_CHECKING

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Row, RowChange, Table, Value

from ticdc_consumer.errors import LOAD_ANEW, Stop

if TYPE_CHECKING:
    # A layout comes with the targets, which a command line need not load.
    from ticdc_consumer.targets.layout import Layout, TargetTable

Refuse = Callable[[Table, frozenset[str]], None]
"""Called with the table of a row and the rules that the user allows. Raises `Stop` for the first
column that rows of this table do not carry exactly."""

Complete = Callable[[Table, Table | None, "TargetTable"], Table]
"""Called with the table of a row, its CREATE TABLE if that came through the stream, and the
target's table. Returns the table with what only the CREATE TABLE shows. Raises `Stop`."""

Restore = Callable[[Value], Value]
"""Gives a value, which is not None, all its digits. Raises ValueError, or InvalidOperation, if it
has more digits than its column."""

Restorers = Mapping[str, Restore]
"""Restorers by column name."""


def _as_sent(source: Table, definition: Table | None, described: "TargetTable") -> Table:
    return source


def _no_restorers(layout: "Layout") -> Restorers:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactness:
    """Checks, completions and restorations that make a protocol's rows exact. With the defaults,
    rows are exact as sent."""

    refuse: Refuse | None = None
    complete: Complete = _as_sent
    restore: "Callable[[Layout], Restorers]" = _no_restorers
    """Makes restorers for the columns of a layout whose values lack digits."""
    types_are_complete: bool = True
    """True if rows show the types of their columns, rather than families of types."""
    wire_name: Callable[[str], str] | None = None
    """Form of a schema's, table's or column's name in messages; None: unchanged."""

    def require_exact(self, table: Table, rules: frozenset[str]) -> None:
        """Raises `Stop` for the first column that rows of this table do not carry exactly."""
        if self.refuse is not None:
            self.refuse(table, rules)


AS_SENT = Exactness()


def require_all_columns(source: Table, definition: Table | None, described: "TargetTable") -> None:
    """Raises `Stop` if rows lack a column that their CREATE TABLE and the target have: it would
    stay empty."""
    if definition is None:
        return
    sent = {column.name.lower() for column in source.columns}
    filled = {column.name.lower() for column in described.columns if not column.generated}
    for column in definition.columns:
        name = column.name.lower()
        if column.generated != "virtual" and name in filled and name not in sent:
            raise Stop(
                f"{source.schema}.{source.name}.{column.name}: its rows come without this column, "
                "which their CREATE TABLE has: add it to the changefeed's column-selectors, and "
                f"{LOAD_ANEW}"
            )


def complete_columns(
    source: Table,
    definition: Table | None,
    complete: Callable[[Column, Column | None], Column],
) -> Table:
    """Returns the table with each column completed from its CREATE TABLE, if known. Raises the
    `Stop` of `complete`, prefixed with the column's name."""
    declared = {c.name: c for c in definition.columns} if definition is not None else {}
    columns = []
    for column in source.columns:
        try:
            columns.append(complete(column, declared.get(column.name)))
        except Stop as reason:
            raise Stop(f"{source.schema}.{source.name}.{column.name}: {reason}") from None
    return replace(source, columns=tuple(columns))


def with_elements(column: Column, declared: ColumnType | None) -> Column:
    """ENUM and SET with the elements of their definition, else with those that the message lists,
    unless quotes may be missing there."""
    elements = column.type.elements
    if not elements:
        return column
    if declared is not None and len(declared.elements) == len(elements):
        elements = declared.elements
    elif any("'" in element or "\\" in element for element in elements):
        elements = ()
    return replace(column, type=replace(column.type, elements=elements))


def restored(change: RowChange, layout: "Layout", restorers: Restorers) -> RowChange:
    """The change with all digits. Raises `Stop` for a value with more than its column."""
    return replace(
        change,
        before=_restored(change.before, layout, restorers),
        after=_restored(change.after, layout, restorers),
    )


def _restored(row: Row | None, layout: "Layout", restorers: Restorers) -> Row | None:
    if row is None:
        return None
    result = dict(row)
    for name, restore in restorers.items():
        value = row.get(name)
        if value is not None:
            try:
                result[name] = restore(value)
            except (ValueError, InvalidOperation):
                raise Stop(
                    f"{layout.name}.{name}: a value with more digits than the column's definition "
                    "allows: was a DDL filtered out?"
                ) from None
    return result
