"""Quarantined tables: the rows of `ticdc_quarantine`.

A change that cannot be applied holds back its table, but not the others. From then on the table
equals the upstream at its own R, stored with the positions from which its log must be read again. A
row is written when the table is quarantined, moves with each cut of a release, and is deleted by
the last one.
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import sqlalchemy as sa

from ticdc_consumer.errors import Fenced, Stop
from ticdc_consumer.state.checkpoint import WHOLE, Checkpoint, Position
from ticdc_consumer.state.schema import QUARANTINE
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class SetAside:
    """A quarantined table, equal to the upstream at `resolved_ts`. `positions` and `mark_time`
    belong to that R, as in `Checkpoint`; `since` is the time of the quarantine, in seconds since
    1970, `waiting` the approximate number of row changes since, `cause` what could not be applied,
    and where."""

    schema: str
    table: str
    resolved_ts: int
    mark_time: int
    positions: Mapping[tuple[str, int], Position]
    since: float
    cause: str
    waiting: int = 0

    @classmethod
    def of(cls, name: TableName, state: Checkpoint, cause: str) -> "SetAside":
        """A table that is being quarantined by a consumer at `state`."""
        return cls(*name, state.resolved_ts, state.mark_time, state.positions, time.time(), cause)

    @property
    def name(self) -> TableName:
        return self.schema, self.table

    def state(self, of: Checkpoint) -> Checkpoint:
        """The table's restart, as a checkpoint of the changefeed that is at `of`."""
        return replace(
            of,
            resolved_ts=self.resolved_ts,
            mark_time=self.mark_time,
            positions=self.positions,
            counters={WHOLE: 1} if WHOLE in of.counters else {},
        )

    def moved(self, state: Checkpoint) -> "SetAside":
        """Returns a copy at the R and the positions of `state`."""
        return replace(
            self,
            resolved_ts=state.resolved_ts,
            mark_time=state.mark_time,
            positions=state.positions,
        )


class Quarantine:
    """The target's rows of a changefeed's quarantined tables. Writes belong in
    `target.transaction()`, after the checkpoint was locked."""

    def __init__(self, target: Target, changefeed: str) -> None:
        self._target = target
        self._changefeed = changefeed
        self._mine = QUARANTINE.c.changefeed == changefeed

    def tables(self) -> list[SetAside]:
        """The quarantined tables by name. A command that only reads may find older tables, which
        have none."""
        with self._target.errors():
            if not sa.inspect(self._target.connection).has_table(QUARANTINE.name):
                return []
            query = sa.select(QUARANTINE).where(self._mine)
            rows = self._run(query.order_by(QUARANTINE.c.schema, QUARANTINE.c.table)).all()
        return [_set_aside(row) for row in rows]

    def get(self, name: TableName) -> SetAside | None:
        """A table, if it is quarantined."""
        with self._target.errors():
            row = self._run(sa.select(QUARANTINE).where(*self._of(name))).one_or_none()
        return None if row is None else _set_aside(row)

    def add(self, table: SetAside) -> None:
        """Quarantines a table."""
        values = {"schema": table.schema, "table": table.table, **_values(table)}
        self._run(sa.insert(QUARANTINE).values(changefeed=self._changefeed, **values))

    def count(self, waiting: Mapping[TableName, int]) -> None:
        """Adds the row changes that have come for the quarantined tables. Raises `Fenced` if one is
        no longer quarantined: its omitted rows would then belong in the cut."""
        for name, more in waiting.items():
            counted = QUARANTINE.c.waiting + more
            statement = sa.update(QUARANTINE).where(*self._of(name)).values(waiting=counted)
            if self._run(statement).rowcount != 1:
                raise Fenced(
                    f"{'.'.join(name)} is no longer quarantined: was the target restored, or its "
                    "row in ticdc_quarantine deleted?"
                )

    def move(self, old: SetAside, new: SetAside) -> None:
        """Moves a table. Raises `Fenced` if it is no longer at `old`."""
        statement = sa.update(QUARANTINE).where(*self._at(old)).values(**_values(new))
        self._one(old, self._run(statement).rowcount)

    def remove(self, old: SetAside) -> None:
        """Ends the quarantine of a table. Raises `Fenced` if it is no longer at `old`."""
        self._one(old, self._run(sa.delete(QUARANTINE).where(*self._at(old))).rowcount)

    def _one(self, table: SetAside, rows: int) -> None:
        if rows != 1:
            raise Fenced(f"{table.schema}.{table.table}: another client released it")

    def _of(self, name: TableName) -> tuple[sa.ColumnElement[bool], ...]:
        return self._mine, QUARANTINE.c.schema == name[0], QUARANTINE.c.table == name[1]

    def _at(self, table: SetAside) -> tuple[sa.ColumnElement[bool], ...]:
        return *self._of(table.name), QUARANTINE.c.resolved_ts == table.resolved_ts

    def _run(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        return self._target.connection.execute(statement)


def _values(table: SetAside) -> dict[str, object]:
    positions = [astuple(position) for _, position in sorted(table.positions.items())]
    return {
        "resolved_ts": table.resolved_ts,
        "mark_time": table.mark_time,
        "positions": json.dumps(positions),
        "since": int(table.since),
        "waiting": table.waiting,
        "cause": table.cause,
    }


def _set_aside(row: Any) -> SetAside:
    positions = [Position(*values) for values in json.loads(row.positions)]
    return SetAside(
        row.schema,
        row.table,
        row.resolved_ts,
        row.mark_time,
        {(position.topic, position.partition): position for position in positions},
        float(row.since),
        row.cause,
        int(row.waiting),
    )


def named(tables: Sequence[SetAside], text: str) -> SetAside:
    """Returns the table that a user names. Raises `Stop` if it is not quarantined."""
    for table in tables:
        if text == f"{table.schema}.{table.table}":
            return table
    known = ", ".join(f"{table.schema}.{table.table}" for table in tables)
    raise Stop(f"{text} is not quarantined; {f'these are: {known}' if known else 'no table is'}")
