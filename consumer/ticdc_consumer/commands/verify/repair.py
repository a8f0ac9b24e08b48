"""The SQL that makes the target equal: deletes the differing rows by their keys, and inserts those
of the upstream at R - 1."""

from collections.abc import Collection, Sequence
from threading import Lock
from typing import Protocol

from ticdc_consumer.commands.verify.compare import Difference, Outcome
from ticdc_consumer.commands.verify.keys import canonical_keys, key_arrays, rows_of
from ticdc_consumer.commands.verify.pairs import Pair, repair_layout
from ticdc_consumer.errors import LOAD_ANEW, Stop
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.session import UpstreamSession


class Collector(Protocol):
    """Gets the differences of a table, from several threads; again if a DDL came during the
    comparison: the last call then counts."""

    def add(
        self,
        pair: Pair,
        outcome: Outcome,
        upstream: UpstreamSession,
        target: Target,
        resolved_ts: int,
    ) -> None: ...


class RepairScript:
    """The statements of all tables."""

    def __init__(self) -> None:
        self._tables: dict[TableName, str] = {}
        self._lock = Lock()

    def add(
        self,
        pair: Pair,
        outcome: Outcome,
        upstream: UpstreamSession,
        target: Target,
        resolved_ts: int,
    ) -> None:
        """Adds the statements for the differing rows of a table; for one without a key, a comment
        that there are none."""
        lines = [
            f"-- {pair.name} at R = {resolved_ts}: run this while no consumer runs, and R is still "
            "the same"
        ]
        if not pair.key:
            lines.append(f"-- nothing identifies its rows: {LOAD_ANEW}")
        else:
            try:
                lines += _statements(pair, outcome.differences, upstream, target)
            except Stop as refusal:
                lines.append(f"-- rows cannot be written: {refusal}")
        if not outcome.whole:
            lines.append("-- more rows differ: verify again afterwards, or raise --most")
        with self._lock:
            self._tables[pair.table.schema, pair.table.name] = "\n".join(lines) + "\n\n"

    def text(self, unequal: Collection[TableName]) -> str:
        """The statements of these tables."""
        return "".join(text for name, text in self._tables.items() if name in unequal)


def _statements(
    pair: Pair, differences: Sequence[Difference], upstream: UpstreamSession, target: Target
) -> list[str]:
    layout = repair_layout(pair, target)
    encode_rows, encode_keys = encoders(layout.dialect)
    statements = list[str]()
    in_target = canonical_keys(pair, [each for each in differences if each.target is not None])
    if in_target:
        statements += target.shown_deletes(
            layout, encode_keys(layout, key_arrays(layout, in_target))
        )
    for arrays in rows_of(
        pair,
        layout,
        canonical_keys(pair, [e for e in differences if e.upstream is not None]),
        upstream,
    ):
        statements += target.shown_inserts(layout, encode_rows(layout, arrays), "stop")
    return [statement.rstrip().removesuffix(";") + ";" for statement in statements]
