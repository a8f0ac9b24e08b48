"""The scope of the next cut: one frozen value, passed by call."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ticdc_encoder.event import Ddl

from ticdc_consumer.ddl.quarantined import relation
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.marks import SeenDdl
from ticdc_consumer.targets.layout import TableName


@dataclass(frozen=True, slots=True)
class CutScope:
    """The rows and DDL of the filter that a cut leaves out, and the DDL before which it ends."""

    set_aside: frozenset[TableName] = frozenset()
    """Quarantined tables: neither their rows nor their DDL are read."""
    released: TableName | None = None
    """The only table that is read; only its DDL end cuts."""
    joining: tuple[str, ...] = ()
    """Rules of a wider filter that takes effect after the cuts being read now."""
    left_out: tuple[str, ...] = ()
    """Patterns of tables whose DDL are read, but not their rows."""
    holds: Callable[[Ddl], bool] = lambda ddl: False
    """Returns whether a DDL has to wait, so that no cut passes it."""

    def is_of_another_run(self, ddl: Ddl) -> bool:
        """Returns whether the DDL is left to another run: it waits with a quarantined table, or
        does not concern the released one."""
        if self.released is not None:
            return relation(ddl, {self.released}) == "apart"
        return bool(self.set_aside) and relation(ddl, self.set_aside) == "alone"

    def before_held(self, ddls: Iterable[SeenDdl], applied: int, reach: int) -> int:
        """Returns how far a cut may reach: not past a DDL that has to wait."""
        inside = (seen.ddl for seen in ddls if applied <= seen.ddl.commit_ts < reach)
        return min([reach, *(ddl.commit_ts for ddl in inside if self.holds(ddl))])

    def before_joined(self, applied: int, reach: int, ddls: Iterable[SeenDdl]) -> int:
        """Returns the reach of a cut: before the first DDL that concerns a quarantined table and
        anything else. Raises `Stop` if that DDL is next."""
        tables = self.set_aside if self.released is None else {self.released}
        joined = [
            seen.ddl
            for seen in ddls
            if applied <= seen.ddl.commit_ts < reach
            if tables and relation(seen.ddl, tables) == "joined"
        ]
        first = min(joined, key=lambda ddl: ddl.commit_ts, default=None)
        if first is None:
            return reach
        if first.commit_ts > applied:
            return first.commit_ts
        name = next(each for each in sorted(tables) if relation(first, {each}) != "apart")
        raise Stop(
            f"{' '.join(first.query.split())} (in {first.schema or '-'}, commit_ts "
            f"{first.commit_ts}) involves a quarantined table and something else: release the "
            f"table first by: ticdc-consumer release CONFIG {'.'.join(name)}"
        )
