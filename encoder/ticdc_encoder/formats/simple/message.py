"""Parts that Simple's two encodings share: a message's members, and the plan for a table's rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ticdc_encoder.event import RowChange, Table, Value
from ticdc_encoder.formats.json_text import Members

VERSION = 1


@dataclass(frozen=True, slots=True)
class Encoding:
    """Functions that read messages: `parse` returns the members, `readers` has, by type name, the
    conversion of a value of `data` or `old` to the column's; `inferred_type` names the type that
    such a value has if no schema is known."""

    parse: Callable[[bytes], Members]
    readers: dict[str, Callable[[Any], Value]]
    inferred_type: Callable[[Any], str]


Checksums = tuple[int, int]
"""Checksums of the row before and after; 0 for an absent row."""


class Writer(Protocol):
    """Writes messages, uncompressed. `row` writes a change, `reduced` to its handle key."""

    def plan(self, table: Table) -> "Plan": ...

    def watermark(self, ts: int, build_ts: int) -> bytes: ...

    def bootstrap(self, table: Table, build_ts: int) -> bytes: ...

    def ddl(
        self,
        type_: str,
        query: str,
        ts: int,
        build_ts: int,
        table: Table | None,
        previous: Table | None,
    ) -> bytes: ...

    def row(
        self,
        plan: "Plan",
        change: RowChange,
        build_ts: int,
        checksums: Checksums | None,
        *,
        reduced: bool,
    ) -> bytes: ...


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    name: str
    handle: bool
    write: Callable[[Value], Any]


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan for a table's rows."""

    table: Table
    columns: tuple[PlannedColumn, ...]
    names: frozenset[str]


def plan(table: Table, writers: dict[str, Callable[[Value], Any]], *, ordered: bool) -> Plan:
    """A plan with the writer of each column's type; `bigint unsigned` has its own. `ordered` sorts
    the columns as Go sorts the keys of a map."""
    columns = [
        PlannedColumn(
            column.name,
            column.name in table.handle_key,
            writers["bigint unsigned"]
            if column.type.unsigned and column.type.name == "bigint"
            else writers[column.type.name],
        )
        for column in table.columns
        if column.generated != "virtual"
    ]
    if ordered:
        columns.sort(key=lambda column: column.name.encode("utf-8", "surrogateescape"))
    return Plan(table, tuple(columns), frozenset(column.name for column in table.columns))


def row_type(change: RowChange) -> str:
    if change.after is None:
        return "DELETE"
    return "INSERT" if change.before is None else "UPDATE"
