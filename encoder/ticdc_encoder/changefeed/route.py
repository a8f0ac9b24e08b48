"""Topic and partition of a row: TiCDC's dispatchers and its hash."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from zlib import crc32

from ticdc_encoder.column import Column
from ticdc_encoder.errors import ConfigError, DefinitionError
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.filters.table import TableMatcher
from ticdc_encoder.settings import list_of, of_type
from ticdc_encoder.values import FAMILIES, server_time

_TOPIC = re.compile(r"[\w.-]*(?:\{schema\})?(?:[\w.-]*\{table\})?[\w.-]*", re.ASCII)
_NOT_OF_A_TOPIC = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST_TOPIC = 249

_TARGET = re.compile(r"(?:[^{}]|\{schema\}|\{table\})*")
_TEXTS = ("topic", "partition", "dispatcher", "index", "target-schema", "target-table")

PARTITION_RULES = {
    "": "table",
    "default": "table",
    "table": "table",
    "index-value": "index-value",
    "rowid": "index-value",
    "columns": "columns",
    "ts": "ts",
}
"""Names that TiCDC knows, including old ones. It reads any other as `table`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """One entry of `[sink] dispatchers`. `topic` is an expression, "" for the default topic; so are
    `target_schema` and `target_table`, "" for the names as they are."""

    matcher: tuple[str, ...]
    topic: str = ""
    partition: str = "default"
    index: str = ""
    columns: tuple[str, ...] = ()
    target_schema: str = ""
    target_table: str = ""

    @classmethod
    def parse(cls, entry: Mapping[str, Any]) -> Self:
        """Parses a TOML entry; `dispatcher` is the old name of `partition`. Raises ConfigError."""
        texts = {name: of_type(name, entry.get(name, ""), str) for name in _TEXTS}
        if unknown := set(entry) - {"matcher", "columns", *_TEXTS}:
            raise ConfigError(f"unknown key of a dispatcher: {', '.join(sorted(unknown))}")
        for name in ("target-schema", "target-table"):
            if not _TARGET.fullmatch(texts[name]):
                raise ConfigError(
                    f"{name} {texts[name]!r} must contain only literal text, {{schema}}, "
                    "and {table}"
                )
        topic = texts["topic"]
        if "{column:" in topic:
            raise ConfigError("no release of TiCDC has {column:...} in topics (pingcap/ticdc#4340)")
        if not _TOPIC.fullmatch(topic):
            raise ConfigError(f"not a topic expression: {topic!r}")
        if texts["partition"] and texts["dispatcher"]:
            raise ConfigError("partition and dispatcher are one setting, given twice")
        rule = texts["partition"] or texts["dispatcher"] or "default"
        columns = tuple(list_of("columns", entry, str))
        if rule.lower() == "columns" and not columns:
            raise ConfigError("the dispatcher columns needs a list of columns")
        return cls(
            matcher=tuple(list_of("matcher", entry, str)),
            topic=topic,
            partition=rule,
            index=texts["index"],
            columns=columns,
            target_schema=texts["target-schema"],
            target_table=texts["target-table"],
        )


class Router:
    """The first dispatcher whose matcher fits decides; a last one fits every table.

    `partitions` is the number of partitions of every topic, or of the topic that it is asked for.
    Rows carry TIMESTAMP in UTC, and are hashed as the server of `time_zone` would. Without
    `new_architecture`, NULL of listed columns is hashed as `null`. With `default_by_index`, the
    rule `default` is `index-value` for a table of one unique key.
    """

    def __init__(
        self,
        dispatchers: Sequence[Dispatcher],
        default_topic: str,
        partitions: Callable[[str], int] | int,
        *,
        case_sensitive: bool = False,
        new_architecture: bool = False,
        default_by_index: bool = False,
        time_zone: str = "UTC",
    ) -> None:
        self.default_topic = default_topic
        self._partitions = partitions
        self._rules = [
            (TableMatcher(dispatcher.matcher, case_sensitive), dispatcher)
            for dispatcher in (*dispatchers, Dispatcher(matcher=("*.*",)))
        ]
        self._null = None if new_architecture else b"null"
        self._new = new_architecture
        self._default_by_index = default_by_index
        self._in_server_time = server_time(time_zone)
        self._topics: dict[tuple[str, str], str] = {}
        self._hashes: dict[tuple[str, str], tuple[Table, _Hash]] = {}
        self._columns: dict[tuple[str, str], tuple[Table, list[str]]] = {}

    def topic(self, schema: str, table: str) -> str:
        """The topic of a table. "" for `table` is the schema itself: the default topic."""
        topic = self._topics.get((schema, table))
        if topic is None:
            topic = self._topics[schema, table] = self._substituted(schema, table)
        return topic

    def partitions(self, topic: str) -> int:
        return self._partitions if isinstance(self._partitions, int) else self._partitions(topic)

    def listed_columns(self, schema: str, table: str) -> tuple[str, ...]:
        """The columns that the table's dispatcher lists, if it is `columns`."""
        dispatcher = self._dispatcher(schema, table)
        return dispatcher.columns if dispatcher.partition.lower() == "columns" else ()

    def moves(self, change: RowChange) -> bool:
        """Returns whether an UPDATE changes a column that chooses its partition, even if the
        partition stays: for the dispatchers `columns` and `index-value`."""
        before, after, table = change.before, change.after, change.table
        if before is None or after is None:
            return False
        name = table.schema, table.name
        known = self._columns.get(name)
        if known is None or known[0] is not table:
            columns = [column.name for column in self._dispatched(table) or ()]
            known = self._columns[name] = table, columns
        return any(n in before and before[n] != after.get(n) for n in known[1])

    def partition(self, change: RowChange) -> int:
        """The partition of the table's topic. Raises ConfigError if the table lacks a column that
        the dispatcher names, DefinitionError if the row does."""
        table = change.table
        name = table.schema, table.name
        known, value_hash = self._hashes.get(name, (None, None))
        if value_hash is None or known is not table:
            value_hash = self._hash(table)
            self._hashes[name] = table, value_hash
        return value_hash(change) % self.partitions(self.topic(*name))

    def _substituted(self, schema: str, table: str) -> str:
        expression = self._dispatcher(schema, table).topic if table else ""
        if not expression:
            return self.default_topic
        name = expression.format(
            schema=_NOT_OF_A_TOPIC.sub("_", schema), table=_NOT_OF_A_TOPIC.sub("_", table)
        )[:_LONGEST_TOPIC]
        return {".": "_", "..": "__"}.get(name, name)

    def _dispatcher(self, schema: str, table: str) -> Dispatcher:
        return next(rule for matcher, rule in self._rules if matcher.matches(schema, table))

    def _hash(self, table: Table) -> "_Hash":
        dispatcher = self._dispatcher(table.schema, table.name)
        rule = self._rule(table, dispatcher)
        if rule == "ts":
            return lambda change: change.commit_ts
        start = crc32(f"{table.schema}{table.name}".encode())
        columns = self._dispatched(table)
        if columns is None:
            return lambda change: start
        null = self._null if rule == "columns" or dispatcher.index else b"null"
        texts = [
            (column.name, crc32(column.name.encode()), self._text(column)) for column in columns
        ]

        def value_hash(change: RowChange) -> int:
            row: Row = change.after if change.after is not None else change.before or {}
            result = start
            for name, name_hash, text in texts:
                try:
                    value = row[name]
                except KeyError:
                    raise _lacks(table, name) from None
                chunk = null if value is None else text(value)
                if chunk is not None:
                    result ^= crc32(chunk, name_hash)
            return result

        return value_hash

    def _rule(self, table: Table, dispatcher: Dispatcher) -> str:
        name = dispatcher.partition.lower()
        rule = PARTITION_RULES.get(name, "table")
        is_default = rule == "table" and name != "table"
        if is_default and self._default_by_index and sum(i.unique for i in table.indexes) == 1:
            return "index-value"
        return rule

    def _dispatched(self, table: Table) -> list[Column] | None:
        """The columns whose values choose the partition, None if none do. Their order has no
        effect: the hash is an XOR."""
        dispatcher = self._dispatcher(table.schema, table.name)
        match self._rule(table, dispatcher):
            case "columns":
                return self._named(table, dispatcher.columns)
            case "index-value" if dispatcher.index:
                return self._named(table, _unique_index(table, dispatcher.index))
            case "index-value":
                return _declared(table, table.handle_key)
        return None

    def _named(self, table: Table, names: Sequence[str]) -> list[Column]:
        """The columns of these names. The old architecture takes their positions in the table, but
        applies them to a row without virtual columns: after a virtual one it takes other columns.
        """
        columns = _declared(table, names)
        sent = [column for column in table.columns if column.generated != "virtual"]
        if self._new or len(sent) == len(table.columns):
            return columns
        positions = [table.columns.index(column) for column in columns]
        if max(positions) >= len(sent):
            raise ConfigError(
                f"{table.schema}.{table.name} has virtual columns before those of its dispatcher: "
                "TiCDC of that version cannot dispatch by them"
            )
        return [sent[position] for position in positions]

    def _text(self, column: Column) -> Callable[[Value], bytes]:
        """A value's bytes in the hash."""
        to_text = FAMILIES[column.type.name].to_text
        if column.type.binary:
            return lambda value: value if isinstance(value, bytes) else to_text(value).encode()
        if column.type.name == "timestamp":
            return lambda value: self._in_server_time(to_text(value)).encode()
        return lambda value: to_text(value).encode("utf-8", "surrogateescape")


_Hash = Callable[[RowChange], int]


def _lacks(table: Table, name: str) -> DefinitionError:
    return DefinitionError(
        f"a row of {table.schema}.{table.name} without `{name}`, which its partition depends on"
    )


def _unique_index(table: Table, name: str) -> tuple[str, ...]:
    for index in table.indexes:
        if index.name.lower() == name.lower():
            if not index.unique:
                raise ConfigError(f"index {name} of {table.schema}.{table.name} is not unique")
            return index.columns
    raise ConfigError(f"{table.schema}.{table.name} has no index {name}")


def _declared(table: Table, names: Sequence[str]) -> list[Column]:
    """The columns of these names, whatever their case."""
    declared = {column.name.lower(): column for column in table.columns}
    columns = []
    for name in names:
        column = declared.get(name.lower())
        if column is None:
            raise ConfigError(f"{table.schema}.{table.name} has no column {name}")
        if column.generated == "virtual":
            raise ConfigError(f"column {name} of {table.schema}.{table.name} is virtual")
        columns.append(column)
    return columns
