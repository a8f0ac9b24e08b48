"""`[[sink.column-selectors]]`: the columns of a table that are sent.

The first selector whose matcher fits a table decides. Partitions are chosen, and UPDATEs split, by
whole rows. Source: TiCDC `downstreamadapter/sink/columnselector`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Row, RowChange, Table
from ticdc_encoder.filters.table import ColumnMatcher, TableMatcher
from ticdc_encoder.settings import list_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSelector:
    """One entry. `columns` are patterns, of which the last that matches decides; `!` excludes."""

    matcher: tuple[str, ...]
    columns: tuple[str, ...]

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> Self:
        """Parses a TOML entry. Raises ConfigError."""
        if unknown := set(entry) - {"matcher", "columns"}:
            raise ConfigError(f"unknown key of a column selector: {', '.join(sorted(unknown))}")
        return cls(
            matcher=tuple(list_of("matcher", entry, str)),
            columns=tuple(list_of("columns", entry, str)),
        )


class ColumnSelectors:
    def __init__(self, selectors: Sequence[ColumnSelector], case_sensitive: bool = False) -> None:
        self._selectors = [
            (TableMatcher(each.matcher, case_sensitive), ColumnMatcher(each.columns))
            for each in selectors
        ]
        self._tables: dict[tuple[str, str], tuple[Table, Table]] = {}

    def selected(self, table: Table, dispatched: Sequence[str] = ()) -> Table:
        """The table with only the columns that are sent: itself if all are.

        Raises ConfigError if a column of the handle key, or one that a dispatcher lists
        (`dispatched`), is not among them. TiCDC accepts a selector without the primary key if a
        unique key stays, and sends rows without their handle key; here that is refused, too.
        """
        name = table.schema, table.name
        known = self._tables.get(name)
        if known is None or known[0] is not table:
            known = self._tables[name] = table, self._cut(table, dispatched)
        return known[1]

    def _cut(self, table: Table, dispatched: Sequence[str]) -> Table:
        name = f"{table.schema}.{table.name}"
        for matcher, columns in self._selectors:
            if not matcher.matches(table.schema, table.name):
                continue
            selected = tuple(column for column in table.columns if columns.matches(column.name))
            if len(selected) == len(table.columns):
                return table
            names = {column.name.lower() for column in selected}
            for what, needed in (
                ("its handle key", table.handle_key),
                ("its dispatcher", dispatched),
            ):
                for column in needed:
                    if column.lower() not in names:
                        raise ConfigError(
                            f"the column selector of {name} excludes {column}, which {what} needs"
                        )
            # With all indexes: Open Protocol's flags depend on those of unsent columns, too.
            return replace(table, columns=selected)
        return table


def without(change: RowChange, table: Table) -> RowChange:
    """The change with only the columns of `table`."""
    names = {column.name for column in table.columns}

    def cut(row: Row | None) -> Row | None:
        return None if row is None else {n: value for n, value in row.items() if n in names}

    return replace(change, before=cut(change.before), after=cut(change.after))
