"""The tables of a changefeed: which are sent, as what, and to which topics."""

from collections.abc import Callable

from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter

TableKey = tuple[str, str]
"""Schema and name of an upstream table."""


class TablesSent:
    """What rows and DDL have shown of each table. `topic_of` routes a table; tables without a valid
    key are sent with `force_replicate` alone, but their topics get the resolved ts all the same."""

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
        """Whether the filter lets it through."""
        return self._filter.matches(*name)

    def definition(self, name: TableKey) -> Table | None:
        """The table as it was last seen."""
        known = self._known.get(name)
        return None if known is None else known[0]

    def sent(self, name: TableKey) -> bool | None:
        """Whether its rows are sent; None for a table that is not known."""
        known = self._known.get(name)
        return None if known is None else known[1]

    def sends(self, table: Table) -> bool:
        """Whether rows of the table are sent; it is noted if it is not the one known."""
        name = table.schema, table.name
        known = self._known.get(name)
        return known[1] if known and known[0] is table else self.note(name, table)

    def note(self, name: TableKey, table: Table) -> bool:
        """Whether rows are sent of the table as it is from here on."""
        matches = self._filter.matches(*name)
        sends = matches and (self._force_replicate or bool(table.handle_key))
        self._known[name] = table, sends
        if matches:
            self.note_topic(name)
        else:
            self._topics.pop(name, None)
        return sends

    def note_topic(self, name: TableKey) -> None:
        """Its topic is in use, although its definition is not known."""
        self._topics[name] = self._topic_of(*name)

    def forget(self, name: TableKey) -> None:
        self._topics.pop(name, None)
        self._known.pop(name, None)

    def forget_schema(self, schema: str) -> None:
        for name in [name for name in self._known if name[0] == schema]:
            self.forget(name)
