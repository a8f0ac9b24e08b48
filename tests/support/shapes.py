"""A target's catalog compared with TiDB's, through SQLAlchemy: nothing of the product's own
reading takes part."""

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import sqlalchemy as sa

from support.golden import TableVersion
from support.golden_run import Place


@dataclass(frozen=True)
class Key:
    """`kind` is primary, unique or index; `whole`: over no prefix and no expression."""

    kind: str
    columns: tuple[str, ...]
    name: str
    whole: bool

    @property
    def shape(self) -> tuple[str, tuple[str, ...]]:
        return self.kind, self.columns

    @classmethod
    def shown(cls, lines: Sequence[tuple[Any, ...]]) -> "frozenset[Key]":
        """Of TiDB's SHOW INDEX."""
        parts: dict[tuple[str, str], list[tuple[str, bool]]] = {}
        for _, non_unique, name, _, column, _, _, sub_part, *_ in lines:
            kind = "primary" if name == "PRIMARY" else "index" if int(non_unique) else "unique"
            parts.setdefault((kind, name), []).append((column, not (column is None or sub_part)))
        return frozenset(
            cls(kind, tuple(column for column, _ in of), name, all(whole for _, whole in of))
            for (kind, name), of in parts.items()
        )


class Catalog:
    """A target's, at one moment."""

    def __init__(self, place: Place, connection: sa.Connection) -> None:
        self._place, self._connection = place, connection
        self._catalog = sa.inspect(connection)

    def _at(self, schema: str) -> dict[str, str]:
        return {} if self._place.dialect == "sqlite" else {"schema": self._place.named(schema)}

    def views_left_out(self, told: Sequence[TableVersion]) -> set[str]:
        """The upstream's views that the target does not have."""
        return {
            f"{view.schema}.{view.table}"
            for view in told
            if view.create is None
            and view.table not in self._catalog.get_view_names(**self._at(view.schema))
        }

    def differences(
        self, told: TableVersion, keys: frozenset[Key], left_out: Collection[str] = ()
    ) -> Iterator[str]:
        """Where a table's columns, their nullability, their defaults or its keys are not TiDB's.
        Virtual columns may be missing, and defaults; in PostgreSQL and SQLite prefixes are
        expressions, which are not looked at. Indexes that are `left_out` are not there."""
        at = self._at(told.schema)
        there = {column["name"]: column for column in self._catalog.get_columns(told.table, **at)}
        upstream = {
            column["column_name"]: column
            for column in told.columns
            if "VIRTUAL" not in column["extra"] or column["column_name"] in there
        }
        nullable = {name: bool(column["nullable"]) for name, column in there.items()}
        wanted = {name: column["is_nullable"] == "YES" for name, column in upstream.items()}
        label = f"{told.schema}.{told.table}"
        if nullable != wanted:
            yield f"{label}: columns {sorted(set(nullable.items()) ^ set(wanted.items()))}"
        for name in there.keys() & upstream.keys():
            default = self._value(there[name]["default"])
            if default is not None and not _same(default, upstream[name]["column_default"]):
                yield f"{label}.{name}: default {default} for {upstream[name]['column_default']}"
        prefixes = self._place.dialect not in ("sqlite", "postgresql")
        found = set(self._keys(told.table, at))
        shapes = {key.shape for key in keys if (key.whole or prefixes) and key.name not in left_out}
        if found != shapes:
            yield f"{label}: keys {sorted(found ^ shapes)}"

    def _value(self, default: str | None) -> str | None:
        """What an expression of the catalog gives, unless it depends on the time."""
        if default is None or "CURRENT_TIMESTAMP" in default.upper():
            return None
        text = f"SELECT {default}"
        value = self._connection.execution_options(no_parameters=True).exec_driver_sql(text)
        scalar = value.scalar()
        return None if scalar is None else str(scalar)

    def _keys(self, table: str, at: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Skipped unsupported reflection")
            indexes = self._catalog.get_indexes(table, **at)
            uniques = self._catalog.get_unique_constraints(table, **at)
        for index in indexes:
            columns = tuple(column for column in index["column_names"] if column is not None)
            if len(columns) == len(index["column_names"]):
                yield "unique" if index["unique"] else "index", columns
        if primary := self._catalog.get_pk_constraint(table, **at)["constrained_columns"]:
            yield "primary", tuple(primary)
        for unique in uniques:
            yield "unique", tuple(unique["column_names"])


@contextmanager
def catalog(place: Place) -> Iterator[Catalog]:
    engine = sa.create_engine(place.url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield Catalog(place, connection)


def _same(here: str, upstream: str | None) -> bool:
    if upstream is None or here == upstream:
        return here == upstream
    if upstream.startswith("b'"):
        upstream = str(int(upstream[2:-1], 2))
    try:
        return Decimal(here) == Decimal(upstream)
    except InvalidOperation:
        return False
