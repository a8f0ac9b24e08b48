"""`[[filter.event-filters]]` and `ignore-txn-start-ts`: changes and DDL that are not sent.

Source: TiCDC `pkg/filter`. A filter sees an UPDATE before the old architecture's sink splits it,
and the halves of one that the new architecture has split, from 8.5.8 on after the kind of the
whole; `split.py` calls it at that point.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.filters.expression import Condition, condition, parsed
from ticdc_encoder.filters.go_regexp import GoRegexp
from ticdc_encoder.filters.table import TableMatcher
from ticdc_encoder.settings import list_of, of_type

_EXPRESSIONS = (
    "ignore-insert-value-expr",
    "ignore-update-old-value-expr",
    "ignore-update-new-value-expr",
    "ignore-delete-value-expr",
)

_ALTERS: dict[int, str] = {
    5: "add column",
    6: "drop column",
    7: "create index",
    8: "drop index",
    12: "modify column",
    13: "rebase auto id",
    14: "rename table",
    15: "set default value",
    17: "modify table comment",
    18: "rename index",
    19: "add table partition",
    20: "drop table partition",
    22: "modify table charset and collate",
    23: "truncate table partition",
    32: "add primary key",
    33: "drop primary key",
    37: "add column",
    38: "drop column",
    41: "alter index visibility",
    42: "exchange table partition",
    47: "rename table",
    61: "multi schema change",
    64: "reorganize table partition",
    65: "alter ttl info",
    67: "alter ttl remove",
    71: "alter table partitioning",
    72: "remove table partitioning",
}
"""TiDB's action codes that are also an `alter table`."""
_DDL: dict[int, str] = {
    1: "create database",
    2: "drop database",
    3: "create table",
    4: "drop table",
    9: "add foreign key",
    10: "drop foreign key",
    11: "truncate table",
    21: "create view",
    24: "drop view",
    25: "recover table",
    26: "modify schema charset and collate",
    60: "create table",
} | _ALTERS
_ALIASES = {"create schema": "create database", "drop schema": "drop database"}
_EVENTS = frozenset(
    {"all dml", "all ddl", "insert", "update", "delete", "alter table", *_DDL.values(), *_ALIASES}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """One entry of `[[filter.event-filters]]`, named as its keys are."""

    matcher: tuple[str, ...]
    ignore_event: tuple[str, ...] = ()
    ignore_sql: tuple[str, ...] = ()
    ignore_insert_value_expr: str = ""
    ignore_update_old_value_expr: str = ""
    ignore_update_new_value_expr: str = ""
    ignore_delete_value_expr: str = ""
    ignore_update_only_columns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> Self:
        """Parses a TOML entry. Raises ConfigError."""
        known = {field.name.replace("_", "-") for field in fields(cls)}
        if unknown := set(entry) - known:
            raise ConfigError(f"unknown key of an event filter: {', '.join(sorted(unknown))}")
        events = tuple(event.lower() for event in list_of("ignore-event", entry, str))
        if strange := set(events) - _EVENTS:
            raise ConfigError(f"ignore-event has unknown events: {', '.join(sorted(strange))}")
        expressions = {name: of_type(name, entry.get(name, ""), str) for name in _EXPRESSIONS}
        for text in filter(None, expressions.values()):
            parsed(text)
        return cls(
            matcher=tuple(list_of("matcher", entry, str)),
            ignore_event=tuple(_ALIASES.get(event, event) for event in events),
            ignore_sql=tuple(list_of("ignore-sql", entry, str)),
            ignore_update_only_columns=tuple(list_of("ignore-update-only-columns", entry, str)),
            **{name.replace("-", "_"): text for name, text in expressions.items()},
        )


class EventFilters:
    """The filters of a changefeed: events that one of them ignores are not sent.

    The old architecture takes the names in matchers as they are written, the new one by
    `case_sensitive`. With `whole_updates` it ignores an UPDATE by its kind before it is split
    (`filters_whole_updates` of `changefeed/versions.py`). TIMESTAMP is compared in `time_zone`, the
    server's. Only in a `kafka` sink does `ignore-update-only-columns` have an effect
    (`EnableIgnoreUpdateOnlyColumns` of `downstreamadapter/dispatcher/basic_dispatcher_info.go`).
    """

    def __init__(
        self,
        filters: Sequence[EventFilter] = (),
        *,
        case_sensitive: bool = False,
        new_architecture: bool = False,
        whole_updates: bool = False,
        time_zone: str = "UTC",
        kafka: bool = False,
    ) -> None:
        if not kafka:
            filters = [replace(each, ignore_update_only_columns=()) for each in filters]
        as_written = case_sensitive or not new_architecture
        self._rules = [_EventRule(each, as_written, time_zone) for each in filters]
        self._whole_updates = whole_updates
        self._of_tables: dict[tuple[str, str], tuple[Table, list[_Test], bool]] = {}

    def keeps(self, change: RowChange) -> bool:
        """Returns whether the change is sent. Raises ConfigError for an expression that does not
        fit its table, as TiCDC stops the changefeed."""
        if not self._rules:
            return True
        _, tests, _ = self._of(change.table)
        return not any(test(change) for test in tests)

    def keeps_whole(self, change: RowChange) -> bool:
        """Returns whether a change that may be split is sent at all: `keeps` decides on its halves.
        Raises ConfigError as `keeps`."""
        if not self._whole_updates or not self._rules or None in (change.before, change.after):
            return True
        _, _, ignores_updates = self._of(change.table)
        return not ignores_updates

    def _of(self, table: Table) -> tuple[Table, list["_Test"], bool]:
        """The table's tests, and whether it ignores every UPDATE."""
        name = table.schema, table.name
        known = self._of_tables.get(name)
        if known is None or known[0] is not table:
            rules = [rule for rule in self._rules if rule.matcher.matches(*name)]
            tests = [rule.test(table) for rule in rules]
            known = table, tests, any(rule.ignores("update") for rule in rules)
            self._of_tables[name] = known
        return known

    def keeps_ddl(self, schema: str, table: str, query: str, kind: int) -> bool:
        """Returns whether the DDL is sent. `table` is "" for a schema's own; a RENAME's names are
        the old ones. `kind` is TiDB's action code: 0 counts as an `alter table` without a kind."""
        return not any(
            rule.ignores_ddl(query, kind)
            for rule in self._rules
            if (
                rule.matcher.matches(schema, table)
                if table
                else rule.matcher.matches_schema(schema)
            )
        )


_Test = Callable[[RowChange], bool]


class _EventRule:
    def __init__(self, settings: EventFilter, case_sensitive: bool, time_zone: str) -> None:
        self.matcher = TableMatcher(settings.matcher, case_sensitive)
        self._case_sensitive = case_sensitive
        self._settings = settings
        self._events = frozenset(settings.ignore_event)
        self._time_zone = time_zone
        pattern = "|".join(settings.ignore_sql)
        self._sql = GoRegexp(pattern, case_sensitive=False) if pattern else None

    def ignores(self, kind: str) -> bool:
        """Returns whether a `kind` (insert, update or delete) is ignored."""
        return "all dml" in self._events or kind in self._events

    def ignores_ddl(self, query: str, kind: int) -> bool:
        names = {"all ddl", _DDL.get(kind, "")}
        if not kind or kind in _ALTERS:
            names.add("alter table")
        elif kind not in _DDL:
            return False  # TiCDC reads no other
        return bool(self._events & names) or (self._sql is not None and self._sql.found_in(query))

    def test(self, table: Table) -> _Test:
        """The test for ignored changes of the table."""
        settings = self._settings

        def expression(text: str) -> Condition | None:
            return condition(text, table, self._time_zone) if text else None

        inserted = expression(settings.ignore_insert_value_expr)
        old, new = (
            expression(settings.ignore_update_old_value_expr),
            expression(settings.ignore_update_new_value_expr),
        )
        deleted = expression(settings.ignore_delete_value_expr)
        unimportant = self._unimportant(table)

        def ignores(change: RowChange) -> bool:
            before, after = change.before, change.after
            kind = "delete" if after is None else "insert" if before is None else "update"
            if self.ignores(kind):
                return True
            if before is None or after is None:
                row, test = (before, deleted) if after is None else (after, inserted)
                return row is not None and test is not None and test(row)
            if unimportant is not None and all(
                name in unimportant or after.get(name) == value for name, value in before.items()
            ):
                return True
            whole = {**after, **before}
            return bool((old and old(whole)) or (new and new(after)))

        return ignores

    def _unimportant(self, table: Table) -> frozenset[str] | None:
        """The columns of `ignore-update-only-columns` that are in no key: an UPDATE of only these
        is ignored. None if the table has no listed column. Source: TiCDC's master,
        `pkg/filter/update_only_columns_filter.go`."""
        listed = {self._folded(name) for name in self._settings.ignore_update_only_columns}
        columns = {
            column.name
            for column in table.columns
            if self._folded(column.name) in listed and column.generated != "virtual"
        }
        return frozenset(columns.difference(table.key_columns)) if columns else None

    def _folded(self, name: str) -> str:
        return name if self._case_sensitive else name.lower()
