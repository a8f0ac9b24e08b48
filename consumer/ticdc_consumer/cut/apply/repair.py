"""The rows of a repair request, in the transaction of a cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ticdc_consumer import failpoints
from ticdc_consumer.cut.reconcile.chunks import pieces
from ticdc_consumer.state.repairs import RepairRequests
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class RepairedTable:
    """A table's repair: all `keys` are deleted, and `rows` written; both are payloads, see
    `targets.layout`. A key may occur both in the upstream's notation and in that of the `asked`
    keys."""

    layout: Layout
    asked: int
    keys: pa.BinaryArray
    rows: pa.BinaryArray


@dataclass(frozen=True, slots=True)
class Repair:
    """The rows that a request adds to a cut, as of the cut's end upstream. `reason` names what is
    left out, and why; if `put_off`, why nothing can be done at this cut."""

    number: int
    tables: Sequence[RepairedTable] = ()
    reason: str = ""
    put_off: bool = False

    @property
    def rows(self) -> int:
        return sum(table.asked for table in self.tables)

    def refused(self, reason: str) -> "Repair":
        """Returns the same request, left undone."""
        return replace(self, tables=(), reason=reason, put_off=True)

    def delete(self, target: Target) -> None:
        """Makes room for the cut's rows, and for the repair's own."""
        for table, keys in self._pieces("keys"):
            target.delete(table.layout, keys)
        failpoints.hit("repair-deleted")

    def write(self, target: Target, requests: RepairRequests, resolved_ts: int) -> None:
        """Writes after the rows of the cut that ends at `resolved_ts`, and notes the result.
        Another row that holds one of the unique keys is drift and is deleted."""
        self.delete(target)
        for table, rows in self._pieces("rows"):
            target.insert(table.layout, rows, "overwrite")
        failpoints.hit("repair-written")
        if self.put_off:
            requests.put_off(self.number, self.reason)
        else:
            requests.done(self.number, resolved_ts, self.rows, self.reason)
        failpoints.hit("repair-noted")

    def _pieces(self, of: str) -> Iterator[tuple[RepairedTable, pa.BinaryArray]]:
        for table in self.tables:
            for piece in pieces(pa.chunked_array([getattr(table, of)])):
                yield table, piece
