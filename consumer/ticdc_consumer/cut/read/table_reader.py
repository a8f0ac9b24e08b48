"""Checks on the rows of one table in a cut, before their facts count."""

from collections.abc import Sequence

from ticdc_encoder.event import RowChange, Table

from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.report import NO_LAYOUT
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.protocols.exactness import Restorers, restored
from ticdc_consumer.protocols.shape import NO_ROWS, Shape, shape
from ticdc_consumer.targets.layout import Layout, TableName


class TableReader:
    """Checks the row changes of a table that passes the filter; made once per table and task.
    `number` is that of its layout, or NO_LAYOUT."""

    def __init__(self, job: ReadJob, name: TableName) -> None:
        self.name = name
        self.number, self._expected = job.shapes.get(name, (NO_LAYOUT, NO_ROWS))
        self._layout: Layout | None = None
        self._restorers: Restorers = {}
        self._protocol = protocol_of(job.options)
        self._rules = job.options.rules
        self.is_exact = self._protocol.exactness.refuse is None
        """True if `require_exact` has nothing to look for."""
        self._exact: dict[int, Table] = {}
        self._fits: Table | None = None
        """The table of the last row with the right key and shape."""
        self._key_fits: Table | None = None
        """The table of the last DELETE whose key columns had the right shape."""
        if self.number != NO_LAYOUT:
            self._layout = job.layouts[self.number].sent
            self._restorers = self._protocol.exactness.restore(self._layout)

    @property
    def layout(self) -> Layout:
        """The layout; only for a table that has one."""
        assert self._layout is not None
        return self._layout

    def require_exact(self, table: Table) -> None:
        """Raises `Stop` for the first column that rows of this table do not carry exactly. `table`
        comes with a row."""
        if id(table) not in self._exact:
            self._protocol.exactness.require_exact(table, self._rules)
            # Holding the table keeps its id from being reused.
            self._exact[id(table)] = table

    def lacks_layout(self, change: RowChange) -> bool:
        """Returns whether such a change has no layout: one that was made for DELETEs does not fit
        others."""
        return self._layout is None or (self._expected.keys_only and change.after is not None)

    def checked(self, change: RowChange) -> RowChange:
        """Returns the change with all digits. Raises `Stop` if it does not fit the layout."""
        table, layout = change.table, self.layout
        if table is not self._fits:
            self._require_key(table)
        if not layout.key:
            self._require_whole(change)
        elif change.after is None:
            self._require_key_columns(change)
            return restored(change, layout, self._restorers) if self._restorers else change
        if table is not self._fits:
            self._require_shape(table)
            self._fits = table
        return restored(change, layout, self._restorers) if self._restorers else change

    def _require_key(self, table: Table) -> None:
        handle, key = table.handle_key, self.layout.key
        if handle and set(handle) != set(key):
            raise Stop(
                f"{self.layout.name}: the stream names ({', '.join(handle)}) as the key, "
                f"the cut began with ({', '.join(key)})"
            )

    def _require_key_columns(self, change: RowChange) -> None:
        """Checks only the key: a DELETE need not carry other columns."""
        key, table = self.layout.key, change.table
        missing = [name for name in key if name not in (change.before or {})]
        if missing:
            raise Stop(f"{self.layout.name}: a DELETE without key column {missing[0]}")
        if table is not self._key_fits:
            self._require_shape(table, key)
            self._key_fits = table

    def _require_shape(self, table: Table, names: Sequence[str] | None = None) -> None:
        """Checks these columns; all by default."""
        sent, expected = shape(table), self._expected.columns
        if names is not None:
            sent, expected = _of(names, sent), _of(names, expected)
        if sent != expected:
            raise Stop(
                f"{self.layout.name}: rows of two shapes in one cut: "
                f"{_differences(expected, sent)}: was a column selector or a DDL filter changed?"
            )

    def _require_whole(self, change: RowChange) -> None:
        """Requires all columns before the change, if nothing else identifies a row."""
        if change.before is None:
            return
        missing = [c.name for c in self.layout.source if c.name not in change.before]
        partial = change.after is not None and self._protocol.omits_unchanged
        if missing and not partial:
            settings = "only-output-updated-columns and delete-only-output-handle-key-columns"
            cure = f"set {settings} of the changefeed to false"
            if not change.before and self._protocol.needs_for_old_rows:
                cure = f"set {self._protocol.needs_for_old_rows} of the changefeed"
            raise Stop(
                f"{self.layout.name}: nothing identifies its rows, and column {missing[0]} of a "
                f"row before its change was not sent: {cure}"
            )


def _of(names: Sequence[str], columns: Shape) -> Shape:
    return tuple(column for column in columns if column[0] in names)


def _differences(expected: Shape, sent: Shape) -> str:
    one, other = set(expected), set(sent)
    return ", ".join(
        [f"{name} {kind}" for name, kind, _ in sorted(one - other)]
        + ["now " + f"{name} {kind}" for name, kind, _ in sorted(other - one)]
    )
