"""Selects the rows in some of a table's partitions, by a condition on its columns.

The target's tables have no partitions, so TRUNCATE, DROP and EXCHANGE PARTITION are done to these
rows. NULL is less than every value (TiDB, `locatePartition` in `table/tables/partition.go`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.event import Table
from ticdc_encoder.partitioning import Partition, Partitioning, PartitionValue

from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.target import Target

_BINARY = frozenset({"utf8mb4_bin", "utf8_bin", "ascii_bin", "latin1_bin"})
"""Collations that order by bytes, except for spaces at the end."""
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?)?")
_OF_DAYS = frozenset({"year", "to_days"})


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """`condition` selects the rows, None selects all; it is not certain for rows that one of
    `refused` selects."""

    condition: str | None
    refused: tuple[str, ...] = ()


def partition_rows(table: Table, names: Sequence[str], target: Target) -> PartitionRows:
    """Returns the rows of the partitions of these names. Raises `Unsupported` if they are not
    certain."""
    scheme = table.partitioning
    if scheme is None or not scheme.exact:
        raise Unsupported(
            f"it is not certain which rows of {table.schema}.{table.name} are in the partition"
        )
    if scheme.method == "list" and scheme.function:
        raise Unsupported(f"partitions by LIST of {scheme.function}() are not computed here")
    positions = {partition.name.lower(): n for n, partition in enumerate(scheme.partitions)}
    for name in names:
        if name.lower() not in positions:
            raise Unsupported(f"{table.schema}.{table.name} has no partition {name}")
    spelled = {column.name.lower(): column for column in table.columns}
    columns = [
        _Operand(spelled[name.lower()], scheme.function, target, table.collation)
        for name in scheme.columns
        if name.lower() in spelled
    ]
    if len(columns) != len(scheme.columns) or not columns:
        raise Unsupported(f"{table.schema}.{table.name} is not partitioned by columns that it has")
    conditions = [_rows(scheme, positions[name.lower()], columns) for name in names]
    refused = tuple(text for column in columns for text in column.refused(scheme.method))
    if any(condition is None for condition in conditions):
        return PartitionRows(None, refused)
    return PartitionRows(" OR ".join(f"({text})" for text in conditions), refused)


def _rows(scheme: Partitioning, position: int, columns: "Sequence[_Operand]") -> str | None:
    match scheme.method:
        case "range":
            below = _below(columns, scheme.partitions[position])
            least = _below(columns, scheme.partitions[position - 1]) if position else None
            parts = [part for part in (below, f"NOT ({least})" if least else None) if part]
            return " AND ".join(parts) or None
        case "list":
            return _members(columns, scheme, position)
        case "hash":
            (column,) = columns
            return column.hashed(len(scheme.partitions), position)
        case "key":
            raise Unsupported("the KEY partition of a row is not computed here")


def _below(columns: "Sequence[_Operand]", partition: Partition) -> str | None:
    """Returns the condition "less than the bound"; None if every row is. It is never NULL."""
    if len(partition.values) != 1 or len(partition.values[0]) != len(columns):
        raise Unsupported(f"partition {partition.name} has no bound of {len(columns)} values")
    condition = None
    for column, value in reversed(list(zip(columns, partition.values[0], strict=True))):
        if value.kind == "maxvalue":
            condition = None
            continue
        less = f"{column.text} < {column.literal(value)}"
        if column.nullable:
            less = f"{column.text} IS NULL OR {less}"
        if column is not columns[-1]:
            same = f"{column.text} = {column.literal(value)}"
            less = f"{less} OR {same} AND ({condition})" if condition else f"{less} OR {same}"
        condition = f"({less})"
    return condition


def _members(columns: "Sequence[_Operand]", scheme: Partitioning, position: int) -> str:
    partition = scheme.partitions[position]
    default = [p for p in scheme.partitions if any(v[0].kind == "default" for v in p.values)]
    texts = [_member(columns, each) for each in partition.values if each[0].kind != "default"]
    if partition in default:
        others = [
            _member(columns, each)
            for other in scheme.partitions
            for each in other.values
            if each[0].kind != "default"
        ]
        texts.append(f"NOT ({' OR '.join(others)})" if others else "1 = 1")
    return " OR ".join(texts) or "1 = 0"


def _member(columns: "Sequence[_Operand]", values: Sequence[PartitionValue]) -> str:
    """Returns a condition that is never NULL."""
    if len(values) != len(columns):
        raise Unsupported(
            f"a member of a partition has {len(values)} values for {len(columns)} columns"
        )
    parts = []
    for column, value in zip(columns, values, strict=True):
        if value.kind == "null":
            parts.append(f"{column.text} IS NULL")
            continue
        known = f"{column.text} IS NOT NULL AND " if column.nullable else ""
        parts.append(f"{known}{column.text} = {column.literal(value)}")
    return f"({' AND '.join(parts)})"


class _Operand:
    """A column that rows are partitioned by; `collation` is the table's own. Raises `Unsupported`
    for a type, a collation or a function whose order is not computed here."""

    def __init__(
        self, column: Column, function: str, target: Target, collation: str | None
    ) -> None:
        self._name, self._type = target.quote(None, column.name), column.type
        self._function, self._target = function, target
        self.nullable = column.nullable
        self._where = f"column {column.name}"
        kind = self._type.name
        dated = kind in ("date", "datetime") and function in ("", *_OF_DAYS)
        timed = kind == "timestamp" and function == "unix_timestamp"
        plain = kind in INTEGERS and not function
        self._textual = kind in ("char", "varchar") and not function
        if not (plain or dated or timed or self._textual):
            what = f"{function}() of {kind}" if function else kind
            raise Unsupported(f"{self._where}: partitions by {what} are not computed here")
        if self._textual and self._type.collation not in _BINARY:
            raise Unsupported(
                f"{self._where}: the order of {self._type.collation} is not computed here"
            )
        if self._textual and collation is None:
            raise Unsupported(
                f"{self._where}: its collation is that of its database, which the stream does not "
                "carry"
            )

    @property
    def _long(self) -> bool:
        as_text = self._target.unsigned_bigint_is_text
        return as_text and self._type.name == "bigint" and self._type.unsigned

    @property
    def text(self) -> str:
        if self._long:
            return f"substr('{'0' * 20}' || {self._name}, -20)"
        return self._target.comparable_text(self._name) if self._textual else self._name

    def hashed(self, number: int, position: int) -> str:
        if self._type.name not in INTEGERS or (self._type.name == "bigint" and self._type.unsigned):
            raise Unsupported(f"{self._where}: its HASH is not computed here")
        text = f"abs({self._name} % {number})"
        return f"{f'coalesce({text}, 0)' if self.nullable else text} = {position}"

    def refused(self, method: str) -> tuple[str, ...]:
        """Returns conditions for rows for which no condition is certain."""
        if self._function in _OF_DAYS and self._target.has_zero_dates:
            # The function may be NULL for a date with a zero in it.
            year = f"{self._name} LIKE '0000-%'"
            return (f"{year} OR {self._name} LIKE '%-00-%' OR {self._name} LIKE '____-__-00%'",)
        if self._textual and method == "range":
            # Where shorter texts are padded with spaces, these are less than nothing.
            below = self._target.sorts_below_space(self._name)
            return () if below is None else (below,)
        return ()

    def literal(self, value: PartitionValue) -> str:
        if self._type.name in INTEGERS:
            if value.kind != "number":
                raise Unsupported(f"{self._where} is compared with something other than a number")
            return f"'{value.text.zfill(20)}'" if self._long else value.text
        if self._textual:
            if value.kind != "string" or "\0" in value.text:
                raise Unsupported(f"{self._where} is compared with something other than text")
            return literal(value.text.rstrip(" "))
        return literal(self._moment(value))

    def _moment(self, value: PartitionValue) -> str:
        try:
            text = self._date(value)
        except (ValueError, OverflowError):
            raise Unsupported(
                f"{self._where} is compared with something other than a date"
            ) from None
        if self._type.name == "date":
            return text[:10]
        digits = self._type.decimals or 0
        zone = self._target.timestamp_zone if self._type.name == "timestamp" else ""
        return text + (f".{'0' * digits}" if digits else "") + zone

    def _date(self, value: PartitionValue) -> str:
        match self._function:
            case "year":
                return f"{date(int(value.text), 1, 1)} 00:00:00"
            case "to_days":
                return f"{date.fromordinal(int(value.text) - 365)} 00:00:00"
            case "unix_timestamp":
                moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=int(value.text))
                return moment.strftime("%Y-%m-%d %H:%M:%S")
        match = _DATE.fullmatch(value.text) if value.kind == "string" else None
        if match is None or (match[3] or "").strip("0"):
            raise ValueError(value.text)
        day, time = date.fromisoformat(match[1]), match[2] or "00:00:00"
        if self._type.name == "date" and time != "00:00:00":
            raise ValueError(value.text)
        return f"{day} {time}"
