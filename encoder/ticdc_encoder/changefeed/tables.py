"""Tables of a changefeed: which are sent, as what, and to which topics."""

from collections.abc import Callable

from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter

TableKey = tuple[str, str]
"""Schema and name of an upstream table."""


class TablesSent:
    """Tables as shown by rows and DDL. `topic_of` routes a table; tables without a valid key are
    sent only with `force_replicate`, but their topics get the resolved ts all the same."""

    def __init__(
        self, filter_: TableFilter, topic_of: Callable[[str, str], str], *, force_replicate: bool
    ) -> None:
        self._filter = filter_
        self._topic_of = topic_of
        self._force_replicate = force_replicate
        self._topics: dict[TableKey, str] = {}
        self._known: dict[TableKey, tuple[Table, bool]] = {}  # whether rows of it are sent

    @property
    def topics(self) -> dict[str, None]:
        """The topics of all tables that the filter lets through, each once."""
        return dict.fromkeys(self._topics.values())

    def matches(self, name: TableKey) -> bool:
        """Returns whether the filter lets the table through."""
        return self._filter.matches(*name)

    def definition(self, name: TableKey) -> Table | None:
        """The table as it was last seen."""
        known = self._known.get(name)
        return None if known is None else known[0]

    def sent(self, name: TableKey) -> bool | None:
        """Returns whether the table's rows are sent; None for an unknown table."""
        known = self._known.get(name)
        return None if known is None else known[1]

    def sends(self, table: Table) -> bool:
        """Returns whether rows of the table are sent; notes a table that differs from the known
        one.
        """
        name = table.schema, table.name
        known = self._known.get(name)
        return known[1] if known and known[0] is table else self.note(name, table)

    def note(self, name: TableKey, table: Table) -> bool:
        """Sets the table's definition from here on; returns whether its rows are sent."""
        matches = self._filter.matches(*name)
        sends = matches and (self._force_replicate or bool(table.handle_key))
        self._known[name] = table, sends
        if matches:
            self.note_topic(name)
        else:
            self._topics.pop(name, None)
        return sends

    def note_topic(self, name: TableKey) -> None:
        """Marks its topic as in use, although its definition is unknown."""
        self._topics[name] = self._topic_of(*name)

    def forget(self, name: TableKey) -> None:
        self._topics.pop(name, None)
        self._known.pop(name, None)

    def forget_schema(self, schema: str) -> None:
        for name in [name for name in self._known if name[0] == schema]:
            self.forget(name)
