"""A table's rows in ranges of a key that TiDB reads in storage order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.event import Table

from ticdc_consumer.upstream.session import Record, UpstreamSession
from ticdc_consumer.upstream.tables import quoted, relation

ROWID = "_tidb_rowid"
"""The key by which TiDB stores the rows of a table without a clustered primary key."""

_ORDERED = INTEGERS | {"year", "decimal", "date", "datetime", "timestamp"}
_ORDERED |= {"char", "varchar", "binary", "varbinary"}
"""Types whose values compare with a parameter in the order of the key. Labels do not: they sort by
their number, but compare as texts."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The rows whose `key` is above `after` and not above `upto`; without one of them the range is
    open there. Values are as TiDB prints them. A table without a usable key has one chunk, whose
    `key` is empty. `rows` is their number."""

    key: tuple[str, ...] = ()
    after: Record | None = None
    upto: Record | None = None
    rows: int = 0

    def where(self, table: Table) -> tuple[str, list[object]]:
        """The condition, in which % is doubled, and its parameters."""
        conditions, parameters = [], list[object]()
        for operator, bound in ((">", self.after), ("<=", self.upto)):
            if bound is not None:
                condition, values = _beside(table, self.key, operator, bound)
                conditions.append(condition)
                parameters += values
        return " AND ".join(conditions) or "TRUE", parameters

    def to_json(self) -> dict[str, Any]:
        """Returns a form that JSON can hold; `from_json` restores it."""
        bounds = {"after": self.after, "upto": self.upto}
        return {"key": self.key, "rows": self.rows} | {
            name: [_stored(value) for value in bound]
            for name, bound in bounds.items()
            if bound is not None
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Chunk":
        after, upto = (
            tuple(map(_restored, stored[name])) if name in stored else None
            for name in ("after", "upto")
        )
        return cls(tuple(stored["key"]), after, upto, stored["rows"])


def chunks(session: UpstreamSession, table: Table, rows: int) -> Iterator[Chunk]:
    """Yields the whole table in chunks of `rows` rows, fewer in the last, in the order of their
    key. TiDB finds each end among the keys after the last: it reads every key once, and sends one
    per chunk; the keys of the last chunk, which it counts, it reads twice."""
    key = key_of(table)
    if not key:
        yield Chunk(rows=_counted(session, table, Chunk()))
        return
    columns = ", ".join(map(quoted, key))
    chunk = Chunk(key)
    while True:
        where, parameters = chunk.where(table)
        ends = session.query(
            f"SELECT {columns} FROM {source(table)} WHERE {where} "  # noqa: S608
            f"ORDER BY {columns} LIMIT 1 OFFSET {rows - 1}",
            *parameters,
        )
        if not ends:
            yield replace(chunk, rows=_counted(session, table, chunk))
            return
        yield Chunk(key, chunk.after, ends[0], rows)
        chunk = Chunk(key, ends[0])


def _counted(session: UpstreamSession, table: Table, chunk: Chunk) -> int:
    where, parameters = chunk.where(table)
    query = f"SELECT count(*) FROM {source(table)} WHERE {where}"  # noqa: S608
    ((number,),) = session.query(query, *parameters)
    assert number is not None
    return int(number)


def key_of(table: Table) -> tuple[str, ...]:
    """The columns whose ranges are the chunks: the leading columns of a clustered primary key, as
    far as they are whole and ordered, else `_tidb_rowid`. Empty if a clustered key begins
    otherwise."""
    clustered = next((index for index in table.indexes if index.clustered), None)
    if clustered is None:
        return (ROWID,)
    usable: list[str] = []
    lengths = clustered.lengths or (None,) * len(clustered.columns)
    for name, length in zip(clustered.columns, lengths, strict=True):
        if length is not None or table.column(name).type.name not in _ORDERED:
            break
        usable.append(name)
    return tuple(usable)


def source(table: Table) -> str:
    """The table in FROM, written such that TiDB reads ranges of `key_of` in order, whatever its
    statistics."""
    clustered = any(index.clustered for index in table.indexes)
    return f"{relation(table)} USE INDEX ({'PRIMARY' if clustered else ''})"


def _beside(
    table: Table, key: tuple[str, ...], operator: str, bound: Record
) -> tuple[str, list[object]]:
    """The comparison of the key with a bound, column by column: TiDB makes no range of a comparison
    of rows. The first condition is the widest range that the key's first column leaves."""
    columns = {column.name: column for column in table.columns}
    values = [_parameter(columns.get(name), value) for name, value in zip(key, bound, strict=True)]
    names = [quoted(name) for name in key]
    strict = operator[0]
    parts, parameters = list[str](), list[object]()
    for position in range(len(names)):
        last = position == len(names) - 1
        equal = [f"{name} = %s" for name in names[:position]]
        ordered = f"{names[position]} {operator if last else strict} %s"
        parts.append(" AND ".join([*equal, ordered]))
        parameters += values[: position + 1]
    if len(parts) == 1:
        return parts[0], parameters
    alternatives = " OR ".join(f"({part})" for part in parts)
    return f"{names[0]} {strict}= %s AND ({alternatives})", [values[0], *parameters]


def _parameter(column: Column | None, value: str | bytes | None) -> object:
    """The printed value as a parameter of its type: TiDB compares a number in quotes as a
    double."""
    assert value is not None  # no key holds NULL
    type_ = column.type.name if column is not None else "bigint"
    if type_ in INTEGERS or type_ == "year":
        return int(value)
    return Decimal(str(value)) if type_ == "decimal" else value


def _stored(value: str | bytes | None) -> object:
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _restored(value: Any) -> str | bytes | None:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
