"""Decides which consecutive CREATE TABLEs share a cut, and how many."""

from collections.abc import Iterable, Mapping

from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.cuts import Cut
from ticdc_consumer.ddl.kinds import kind_of
from ticdc_consumer.ddl.names import understood
from ticdc_consumer.source import rows_need_definitions
from ticdc_consumer.source.marks import SeenDdl
from ticdc_consumer.state.known_tables import lower
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target

MOST = 100
"""Most CREATE TABLEs of one cut. PostgreSQL holds some locks for each until the end of the
transaction, and has 6,400 by default for all sessions."""
LONGEST_WAIT = 64
"""Most cuts before more CREATE TABLEs are tried together again."""


def creates(seen: SeenDdl) -> bool:
    """Returns whether a DDL is only a CREATE TABLE."""
    statement = understood(seen.ddl.query, seen.ddl.schema)
    if statement is None or not seen.ddl.table:
        return False
    return kind_of(statement).runs == "in a shared cut"


def early(cut: Cut, names: Iterable[TableName]) -> int:
    """Returns how many of the DDL that share the cut precede all rows of the tables that they
    create, if the cut has rows of `names`; 0 if all do."""
    created: Mapping[TableName, int] = {
        lower((seen.ddl.schema, seen.ddl.table)): seen.ddl.commit_ts
        for seen in reversed(cut.ddls)
        if seen.ddl.commit_ts < cut.end - 1
    }
    begun = [created[lower(name)] for name in names if lower(name) in created]
    return sum(seen.ddl.commit_ts <= min(begun) for seen in cut.ddls) if begun else 0


class Together:
    """The limit of CREATE TABLEs that may share the next cut: lower after some could not, higher
    again after others could."""

    def __init__(self, most: int = 1) -> None:
        self._most = self.limit = most
        self._wait = self._left = 1

    @classmethod
    def of(cls, options: Settings, target: Target) -> "Together":
        """Allows sharing only where either all or none of them take effect, no trigger must see
        every step, and a row that precedes its table's creation is detectable."""
        atomic = target.transactional_ddl and target.savepoints
        net = options.apply == "net"
        return cls(MOST if atomic and net and not rows_need_definitions(options) else 1)

    def shorten(self, limit: int) -> None:
        """Notes that only `limit` of them could share the last cut."""
        self.limit = max(1, limit)
        self._wait = self._left = min(LONGEST_WAIT, 2 * self._wait)

    def applied(self, number: int) -> None:
        """Notes that `number` of them were in a committed cut."""
        if number > 1:
            self._wait = 1
        if number >= self.limit:
            self._left -= 1
        if self._left <= 0:
            self.limit = min(self._most, 2 * self.limit)
            self._left = self._wait
