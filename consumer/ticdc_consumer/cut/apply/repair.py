"""The rows of a request, in the transaction of a cut."""

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
    """All `keys` are deleted, and `rows` written: payloads, see `targets.layout`. A key may be
    there in the upstream's notation as well as in that of the `asked` ones."""

    layout: Layout
    asked: int
    keys: pa.BinaryArray
    rows: pa.BinaryArray


@dataclass(frozen=True, slots=True)
class Repair:
    """What a request brings to a cut, as the upstream has it where the cut ends. `reason`: what is
    left out, and why; or, if it is `put_off`, why nothing can be done at this cut."""

    number: int
    tables: Sequence[RepairedTable] = ()
    reason: str = ""
    put_off: bool = False

    @property
    def rows(self) -> int:
        return sum(table.asked for table in self.tables)

    def refused(self, reason: str) -> "Repair":
        """The same request, which is left as it is."""
        return replace(self, tables=(), reason=reason, put_off=True)

    def delete(self, target: Target) -> None:
        """Makes room for the cut's rows, and then for its own."""
        for table, keys in self._pieces("keys"):
            target.delete(table.layout, keys)
        failpoints.hit("repair-deleted")

    def write(self, target: Target, requests: RepairRequests, resolved_ts: int) -> None:
        """After the rows of the cut that ends at `resolved_ts`; notes what was done. What another
        row holds of a unique key is drift, whose row goes."""
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
