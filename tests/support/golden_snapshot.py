"""The golden upstream as of a timestamp, as a run reads it whose values TiCDC did not send."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from ticdc_consumer.config.options import Settings
from ticdc_consumer.targets.layout import TableName
from ticdc_encoder.event import Row, Table
from ticdc_encoder.values import canonical

from support.golden import Change, Value, scenario
from support.golden_changes import table_at, values


@dataclass(frozen=True)
class RecordedTable:
    """A `ddl.context.Snapshot`, in one chunk."""

    table: Table
    rows: Sequence[Row]

    def chunks(self) -> Iterator[Iterator[list[pa.Array]]]:
        sent = [column.name for column in self.table.columns if not column.virtual]
        yield iter([[self._array(name) for name in sent]])

    def _array(self, name: str) -> pa.Array:
        type_ = self.table.column(name).type
        told = [None if row[name] is None else canonical(row[name], type_) for row in self.rows]
        return pa.array(told, pa.binary() if type_.binary else pa.string())


@contextmanager
def recorded(_: Settings, name: TableName, ts: int) -> Iterator[RecordedTable]:
    """Stands for `upstream.as_of.table_as_of`, for the scenario `ddl`."""
    table = table_at("ddl", *name, ts)
    of = [change for change in scenario("ddl").changes if (change.schema, change.table) == name]
    rows = (_whole(table, row, ts, of) for row in _rows(table, ts, of))
    yield RecordedTable(table, [row for row in rows if row is not None])


def _key(table: Table, row: Mapping[str, Value]) -> tuple[Value, ...]:
    return tuple(row[column] for column in table.handle_key)


def _rows(table: Table, ts: int, of: list[Change]) -> list[Mapping[str, Value]]:
    """As their last change before the DDL left them."""
    rows: dict[tuple[Value, ...], Mapping[str, Value]] = {}
    for change in of:
        if change.commit_ts <= ts:
            if change.before is not None:
                del rows[_key(table, change.before)]
            if change.after is not None:
                rows[_key(table, change.after)] = change.after
    return list(rows.values())


def _whole(table: Table, row: Mapping[str, Value], ts: int, of: list[Change]) -> Row | None:
    """With what columns that are newer hold: what the row's next change found there, or else that
    of another row, since a default is one for all."""
    later = [change.before for change in of if change.commit_ts > ts and change.before is not None]
    own = [before for before in later if _key(table, before) == _key(table, row)]
    known: dict[str, Value] = {}
    for told in (*reversed(later), *reversed(own)):
        known.update(told)
    return values(table, {**known, **row})
