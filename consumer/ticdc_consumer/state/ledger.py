"""Every DDL that came, done or not, and the table definitions that they left behind."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.state.schema import DEFINITION, KEPT, LEDGER
from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One DDL, numbered from 1 within its commit_ts in the order of execution. `reason` is why it
    was skipped, `instead` the SQL that a person had run in its place."""

    commit_ts: int
    seq: int
    schema: str
    table: str
    query: str
    kind: int = 0
    state: Literal["pending", "done", "skipped"] = "pending"
    reason: str = ""
    instead: str = ""

    @property
    def place(self) -> str:
        """What `--ddl-done` takes."""
        return f"{self.commit_ts}:{self.seq}"


Basis = Literal["made", "told", "checked", "seen", "found"]
"""Of a kept definition. "made": the target's table is what the consumer makes of it. "told": it is
the upstream's, but a person may have made another table here, or a DDL was skipped; "checked" for
the pending ALTER TABLE. "seen": no more than the columns that rows had. "found": what the target's
catalog says, for the pending ALTER TABLE."""


@dataclass(frozen=True, slots=True)
class KeptTable:
    """A table that was dropped or emptied upstream at `commit_ts`, and where it lies since."""

    commit_ts: int
    seq: int
    schema: str
    table: str
    target_schema: str | None
    target_table: str
    definition: Table | None
    basis: Basis


class Ledger:
    """One changefeed's part of `ticdc_ddl`, `ticdc_table` and `ticdc_dropped`. `keep_dropped` says
    for how many seconds, of the upstream's time, a dropped table is kept.

    Writes belong into `target.transaction()`. `check` locks the checkpoint, and raises `Fenced`
    where a newer consumer took over.
    """

    def __init__(
        self,
        target: Target,
        changefeed: str,
        check: Callable[[], None],
        keep_dropped: float = 0.0,
    ) -> None:
        self.keep_dropped = keep_dropped
        self._target = target
        self.changefeed = changefeed
        self.check = check

    def entries(self) -> list[LedgerEntry]:
        """Every DDL there was, in the order of execution."""
        rows = self._read(sa.select(LEDGER).where(LEDGER.c.changefeed == self.changefeed))
        entries = [
            LedgerEntry(**{name: getattr(row, name) for name in LedgerEntry.__slots__})
            for row in rows
        ]
        return sorted(entries, key=lambda entry: (entry.commit_ts, entry.seq))

    def pending(self) -> list[LedgerEntry]:
        """What must be done before any later cut, in order."""
        return [entry for entry in self.entries() if entry.state == "pending"]

    def add(self, entries: Iterable[LedgerEntry]) -> None:
        """New entries; inside the transaction of their cut."""
        rows = [{"changefeed": self.changefeed, **asdict(entry)} for entry in entries]
        if rows:
            self._target.connection.execute(sa.insert(LEDGER), rows)

    def mark(self, entry: LedgerEntry) -> None:
        """Writes an entry's state, and why. Raises `Fenced` if another consumer took over."""
        self.check()
        self._target.connection.execute(
            sa.update(LEDGER)
            .where(
                LEDGER.c.changefeed == self.changefeed,
                LEDGER.c.commit_ts == entry.commit_ts,
                LEDGER.c.seq == entry.seq,
            )
            .values(state=entry.state, reason=entry.reason, instead=entry.instead)
        )

    def definitions(self) -> dict[tuple[str, str], Table]:
        """The tables whose CREATE TABLE came through the stream, by upstream schema and table."""
        known = self.known().items()
        return {name: table for name, (table, basis) in known if basis not in ("seen", "found")}

    def known(self) -> dict[tuple[str, str], tuple[Table, Basis]]:
        """All that is known of the upstream's tables."""
        rows = self._read(sa.select(DEFINITION).where(*self._defined()))
        return {
            (row.schema, row.table): (from_json(json.loads(row.definition)), row.basis)
            for row in rows
        }

    def define(self, table: Table, basis: Basis = "made") -> None:
        """Keeps a definition; in the transaction in which its CREATE TABLE is done."""
        self.forget(table.schema, table.name)
        self._target.connection.execute(
            sa.insert(DEFINITION).values(
                changefeed=self.changefeed,
                schema=table.schema,
                table=table.name,
                definition=json.dumps(to_json(table)),
                basis=basis,
            )
        )

    def kept(self) -> list[KeptTable]:
        """What lies aside, the oldest first."""
        rows = self._read(sa.select(KEPT).where(KEPT.c.changefeed == self.changefeed))
        found = []
        for row in rows:
            values = {name: getattr(row, name) for name in KeptTable.__slots__}
            stored = json.loads(row.definition) if row.definition else None
            values["definition"] = from_json(stored) if stored else None
            found.append(KeptTable(**values))
        return sorted(found, key=lambda kept: (kept.commit_ts, kept.seq))

    def keep(self, kept: KeptTable) -> None:
        """Notes a table that was set aside."""
        values: dict[str, Any] = {name: getattr(kept, name) for name in KeptTable.__slots__}
        values["definition"] = json.dumps(to_json(kept.definition)) if kept.definition else None
        self._target.connection.execute(
            sa.insert(KEPT).values(changefeed=self.changefeed, **values)
        )

    def release(self, kept: KeptTable) -> None:
        """Notes that a table lies aside no more. Raises `Fenced` if another consumer took over."""
        self.check()
        self._target.connection.execute(
            sa.delete(KEPT).where(
                KEPT.c.changefeed == self.changefeed,
                KEPT.c.commit_ts == kept.commit_ts,
                KEPT.c.seq == kept.seq,
            )
        )

    def forget(self, schema: str, table: str | None = None) -> None:
        """Drops the definition of a table, or of all tables of a schema."""
        self._target.connection.execute(sa.delete(DEFINITION).where(*self._defined(schema, table)))

    def _defined(
        self, schema: str | None = None, table: str | None = None
    ) -> list[sa.ColumnElement[bool]]:
        values = (self.changefeed, schema, table)
        columns = (DEFINITION.c.changefeed, DEFINITION.c.schema, DEFINITION.c.table)
        return [c == v for c, v in zip(columns, values, strict=True) if v is not None]

    def _read(self, statement: sa.Executable) -> Sequence[sa.Row[Any]]:
        with self._target.errors():
            return self._target.connection.execute(statement).all()
