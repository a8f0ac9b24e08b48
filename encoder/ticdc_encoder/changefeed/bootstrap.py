"""Simple's schemas apart from DDL: a table's id and version, and when its schema is sent again.

Source: TiCDC `pkg/sink/codec/bootstraper.go`, and its settings `send-bootstrap-*`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ticdc_encoder.event import Table

_Name = tuple[str, str]


@dataclass(slots=True)
class _Sent:
    """Time at which a table's schema was sent, and the number of rows since."""

    at: int
    rows: int = 0


class Bootstraps:
    """Makes a table's schema due before its first row, and again before a row after so many others,
    or so long. (TiCDC checks the clock every 5 seconds, this class at each row.) It is never due if
    one of the two numbers is not positive."""

    def __init__(self, interval_in_sec: int, in_msg_count: int, clock: Callable[[], int]) -> None:
        self._interval, self._count, self._clock = interval_in_sec * 1000, in_msg_count, clock
        self._sent: dict[int, _Sent] = {}
        self._versions: set[tuple[str, str, int]] = set()
        self._numbered: dict[_Name, tuple[Table, Table]] = {}

    def numbered(self, table: Table, ts: int) -> Table:
        """The table with its id and version. A missing version becomes the commit_ts at which the
        table was first seen."""
        if table.table_id and table.version:
            return table
        name = table.schema, table.name
        known = self._numbered.get(name)
        if known is not None and (known[0] is table or known[0] == table):
            return known[1]
        table_id = table.table_id or (known[1].table_id if known else len(self._numbered) + 1)
        numbered = replace(table, table_id=table_id, version=table.version or ts)
        self._numbered[name] = table, numbered
        return numbered

    def sent_by_ddl(self, table: Table) -> None:
        """Notes that a DDL has brought this version of the table."""
        self._versions.add((table.schema, table.name, table.version or 0))

    def due(self, table: Table) -> bool:
        """Returns whether the schema is sent before this row of the table, as it also is for a
        version that no DDL has brought."""
        if self._interval <= 0 or self._count <= 0:
            return False
        now = self._clock()
        sent = self._sent.get(table.table_id or 0)
        version = table.schema, table.name, table.version or 0
        if sent is not None:
            sent.rows += 1
            if (
                version in self._versions
                and sent.rows < self._count
                and now - sent.at < self._interval
            ):
                return False
        self._sent[table.table_id or 0] = _Sent(now)
        self._versions.add(version)
        return True
