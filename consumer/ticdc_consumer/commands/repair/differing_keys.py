"""Collects differing keys of `verify` into a request."""

from collections.abc import Iterable
from threading import Lock

from ticdc_encoder.counted import counted

from ticdc_consumer.commands.verify.compare import Outcome
from ticdc_consumer.commands.verify.keys import canonical_keys
from ticdc_consumer.commands.verify.pairs import Pair, repair_layout
from ticdc_consumer.errors import LOAD_ANEW, Stop
from ticdc_consumer.state.repairs import MOST_BYTES, MOST_KEYS, RepairRequest, TableKeys
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.session import UpstreamSession


def load_again(name: TableName) -> str:
    """Advice for a table that has too many rows to be repaired."""
    return f"load the table again: ticdc-consumer load CONFIG --table {'.'.join(name)}"


class DifferingKeys:
    """The keys that differ, by table. `refused`: why the rows of a table cannot be repaired by
    their keys."""

    def __init__(self) -> None:
        self.refused: dict[TableName, str] = {}
        self._tables: dict[TableName, tuple[int, TableKeys]] = {}
        self._lock = Lock()

    def add(
        self,
        pair: Pair,
        outcome: Outcome,
        upstream: UpstreamSession,
        target: Target,
        resolved_ts: int,
    ) -> None:
        """Adds a table's outcome, which replaces an earlier one of it."""
        name = pair.table.schema, pair.table.name
        try:
            if not pair.key:
                raise Stop(f"nothing identifies its rows: {LOAD_ANEW}")
            if not outcome.whole:
                rows = counted(len(outcome.differences), "row")
                raise Stop(f"more than {rows} differ: {load_again(name)}")
            repair_layout(pair, target)
            keys = dict.fromkeys(canonical_keys(pair, outcome.differences))
        except Stop as refusal:
            with self._lock:
                self.refused[name] = str(refusal)
            return
        with self._lock:
            self.refused.pop(name, None)
            self._tables[name] = resolved_ts, TableKeys(pair.key, [*keys])

    def request(self, number: int, unequal: Iterable[TableName]) -> RepairRequest | None:
        """The request for these tables; None if there is nothing to do. Tables that no longer fit
        are `refused`."""
        tables, found_ts, rows, size = dict[TableName, TableKeys](), 0, 0, 0
        for name in unequal:
            if name in self.refused or name not in self._tables:
                continue
            resolved_ts, differing = self._tables[name]
            rows += len(differing.keys)
            size += len(RepairRequest(number, 0, {name: differing}).detail())
            if rows > MOST_KEYS or size > MOST_BYTES:
                self.refused[name] = (
                    f"more than {MOST_KEYS:,} rows differ in all: {load_again(name)}"
                )
                continue
            tables[name] = differing
            found_ts = max(found_ts, resolved_ts)
        return RepairRequest(number, found_ts, tables) if tables else None
