"""Requests to repair rows: the rows of `ticdc_repair`.

`verify --repair` writes a request with the keys that differ. A consumer does it in the transaction
of a cut, which also marks it as done: a crash before the COMMIT leaves it pending, a crash after
does not.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import sqlalchemy as sa
from ticdc_encoder.counted import counted
from ticdc_encoder.tso import with_time

from ticdc_consumer.state.schema import REPAIR
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target

Key = tuple[str | bytes, ...]
"""Canonical values (`targets.layout`)."""
State = Literal["pending", "done"]

ABANDONED = 3_600_000
"""Milliseconds after which no command still waits for its request."""

MOST_KEYS = 10_000
"""Most keys of one request, over all tables."""
MOST_BYTES = 4 << 20
"""Most bytes of a request's keys, as JSON: databases limit the size of a statement."""


@dataclass(frozen=True, slots=True)
class TableKeys:
    """Rows of an upstream table: the columns that identify them, and their values."""

    columns: tuple[str, ...]
    keys: Sequence[Key]


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """Rows that differed at R = `found_ts`, by upstream table."""

    number: int
    found_ts: int
    tables: Mapping[TableName, TableKeys]

    @property
    def rows(self) -> int:
        return sum(len(table.keys) for table in self.tables.values())

    def detail(self) -> str:
        """The keys as JSON."""
        return json.dumps(
            [
                [*name, table.columns, [[_stored(value) for value in key] for key in table.keys]]
                for name, table in self.tables.items()
            ]
        )


@dataclass(frozen=True, slots=True)
class RepairState:
    """The outcome of a request: `resolved_ts` is the R of the transaction that did it, `rows` the
    number of rows in the request or repaired, `reason` why it waits, or what was left out."""

    number: int
    state: State
    resolved_ts: int
    rows: int
    reason: str

    def __str__(self) -> str:
        reason, rows = f": {self.reason}" if self.reason else "", counted(self.rows, "row")
        if self.state == "done":
            return f"{rows} repaired at R = {with_time(self.resolved_ts)}{reason}"
        return f"{rows} waiting for a cut of the consumer{reason}"

    def to_json(self) -> dict[str, object]:
        """JSON for programs."""
        return {
            "number": self.number,
            "state": self.state,
            "resolved_ts": str(self.resolved_ts),
            "rows": self.rows,
            "reason": self.reason or None,
        }


class RepairRequests:
    """The requests of one changefeed. Writes belong in `target.transaction()`."""

    def __init__(self, target: Target, changefeed: str) -> None:
        self._target = target
        self._changefeed = changefeed
        self._mine = REPAIR.c.changefeed == changefeed

    def oldest_pending(self) -> RepairRequest | None:
        query = sa.select(REPAIR).where(self._mine, REPAIR.c.state == "pending")
        with self._target.errors():
            row = self._run(query.order_by(REPAIR.c.number).limit(1)).one_or_none()
        return None if row is None else _request(row)

    def waits(self) -> bool:
        """Returns whether a request is pending."""
        query = sa.select(REPAIR.c.number).where(self._mine, REPAIR.c.state == "pending")
        with self._target.errors():
            return self._run(query.limit(1)).first() is not None

    def last(self) -> RepairState | None:
        """The newest request. A command that only reads may find older tables, which have none."""
        with self._target.errors():
            if not sa.inspect(self._target.connection).has_table(REPAIR.name):
                return None
            newest = sa.select(REPAIR).where(self._mine).order_by(REPAIR.c.number.desc()).limit(1)
            row = self._run(newest).one_or_none()
        return None if row is None else _state(row)

    def state(self, number: int) -> RepairState | None:
        """The state of a request; None if it is not there."""
        with self._target.errors():
            row = self._run(sa.select(REPAIR).where(*self._of(number))).one_or_none()
        return None if row is None else _state(row)

    def add(self, request: RepairRequest) -> None:
        """Writes a new request. Withdraws any that is so old that its command must have been
        killed."""
        is_old = REPAIR.c.number < request.number - ABANDONED
        self._run(sa.delete(REPAIR).where(self._mine, REPAIR.c.state == "pending", is_old))
        values = {
            "number": request.number,
            "state": "pending",
            "found_ts": request.found_ts,
            "resolved_ts": 0,
            "row_count": request.rows,
            "reason": "",
            "detail": request.detail(),
        }
        self._run(sa.insert(REPAIR).values(changefeed=self._changefeed, **values))

    def withdraw(self, number: int) -> None:
        """Removes a request that no consumer has done."""
        self._run(sa.delete(REPAIR).where(*self._of(number), REPAIR.c.state == "pending"))

    def done(self, number: int, resolved_ts: int, rows: int, reason: str) -> None:
        """Marks that so many rows are as upstream at `resolved_ts`, and forgets their keys."""
        values = {"state": "done", "resolved_ts": resolved_ts, "row_count": rows, "detail": ""}
        self._run(sa.update(REPAIR).where(*self._of(number)).values(**values, reason=reason))

    def put_off(self, number: int, reason: str) -> None:
        """Stores why the request still waits."""
        self._run(sa.update(REPAIR).where(*self._of(number)).values(reason=reason))

    def _of(self, number: int) -> tuple[sa.ColumnElement[bool], ...]:
        return self._mine, REPAIR.c.number == number

    def _run(self, statement: sa.Executable) -> sa.CursorResult[Any]:
        return self._target.connection.execute(statement)


def _request(row: Any) -> RepairRequest:
    tables = {
        (schema, table): TableKeys(tuple(columns), [tuple(map(_restored, key)) for key in keys])
        for schema, table, columns, keys in json.loads(row.detail)
    }
    return RepairRequest(row.number, row.found_ts, tables)


def _state(row: Any) -> RepairState:
    state = cast("State", row.state)
    return RepairState(row.number, state, row.resolved_ts, row.row_count, row.reason)


def _stored(value: str | bytes) -> object:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _restored(value: Any) -> str | bytes:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else str(value)
