"""The tables that other changefeeds have in the target.

All changefeeds of one URL share the ticdc_* tables. The others' rows of `ticdc_table` are read
again each time, since those changefeeds may be running. A changefeed without a checkpoint has
ended, and has no tables.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from ticdc_consumer.state.destinations import Destinations
from ticdc_consumer.state.known_tables import Shared
from ticdc_consumer.state.schema import CHECKPOINT, DEFINITION
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.target import Target

_AT_ONCE = 500


class OtherChangefeeds:
    """The changefeeds that share the ticdc_* tables with `changefeed`."""

    def __init__(self, target: Target, changefeed: str, where: Destinations) -> None:
        self._target = target
        self._changefeed = changefeed
        self._where = where
        self._is_stored = False

    def require_none_has(self, names: Iterable[TableName]) -> None:
        """Raises `Shared` if one of these upstream tables has, or had until now, a destination that
        another changefeed writes to."""
        mine = {name: self._where.of(name) for name in names}
        by_destination = {
            self._where.comparable(destination): name
            for name, destination in mine.items()
            if destination is not None
        }
        if not by_destination or not self._others():
            return
        tables = sorted({table for _, table in by_destination})
        for begin in range(0, len(tables), _AT_ONCE):
            for row in self._rows_named(tables[begin : begin + _AT_ONCE]):
                theirs = row.target_schema, row.target_table
                name = by_destination.get(self._where.comparable(theirs))
                if name is not None:
                    raise self._refusal(name, theirs, row)

    def names_among(self, schema: str | None, names: Sequence[str]) -> set[str]:
        """Returns which of these tables of the target's schema another changefeed writes to."""
        if not names or not self._others():
            return set()
        by_destination = {self._where.comparable((schema, name)): name for name in names}
        rows = [
            row
            for begin in range(0, len(names), _AT_ONCE)
            for row in self._rows_named([*names[begin : begin + _AT_ONCE]])
        ]
        theirs = [self._where.comparable((row.target_schema, row.target_table)) for row in rows]
        return {by_destination[name] for name in theirs if name in by_destination}

    def _refusal(self, name: TableName, theirs: TargetName, row: Any) -> Shared:
        return Shared(
            f"{'.'.join(name)} goes to {self._target.quote(*theirs)}, and so does "
            f"{row.schema}.{row.table} of changefeed {row.changefeed}: in one of the two, send "
            "it elsewhere by [tables] route, or leave it out by [tables] filter; or, if "
            f"changefeed {row.changefeed} is no longer needed, end it with its own "
            "configuration: ticdc-consumer forget CONFIG"
        )

    def _others(self) -> bool:
        """Returns whether there are other changefeeds: most targets have one."""
        if not self._has_tables():
            return False
        query = sa.select(CHECKPOINT.c.changefeed).where(self._of_others(CHECKPOINT)).limit(1)
        with self._target.errors():
            return self._target.connection.execute(query).first() is not None

    def _has_tables(self) -> bool:
        """Returns whether the target has the tables with destinations; an older release's have
        none."""
        if not self._is_stored:
            with self._target.errors():
                inspector = sa.inspect(self._target.connection)
                self._is_stored = inspector.has_table(CHECKPOINT.name) and {
                    DEFINITION.c.target_schema.name,
                    DEFINITION.c.target_table.name,
                } <= {column["name"] for column in inspector.get_columns(DEFINITION.name)}
        return self._is_stored

    def _rows_named(self, tables: list[str]) -> Sequence[Any]:
        """The others' tables with these names, in any case."""
        query = (
            sa.select(
                DEFINITION.c.changefeed,
                DEFINITION.c.schema,
                DEFINITION.c.table,
                DEFINITION.c.target_schema,
                DEFINITION.c.target_table,
            )
            .where(
                self._of_others(DEFINITION),
                DEFINITION.c.changefeed.in_(sa.select(CHECKPOINT.c.changefeed)),
                self._target.named(DEFINITION.c.target_table, tables),
            )
            .order_by(DEFINITION.c.changefeed, DEFINITION.c.schema, DEFINITION.c.table)
        )
        with self._target.errors():
            return self._target.connection.execute(query).all()

    def _of_others(self, table: sa.Table) -> sa.ColumnElement[bool]:
        column: sa.Column[str] = table.c.changefeed
        return column != self._changefeed
