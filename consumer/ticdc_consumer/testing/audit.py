"""Reads the shop's tables in the target: while they change, and when they must be equal."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from threading import Event
from typing import Any

import sqlalchemy as sa
from ticdc_encoder.event import Value
from ticdc_encoder.testing.shop import SCHEMA, TABLES, Key, Shop

from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.routing import Routes
from ticdc_consumer.state.schema import CHECKPOINT
from ticdc_consumer.targets.target import Target

PAUSE = 0.02
"""Seconds between two reads."""


@dataclass(frozen=True, slots=True)
class ShopTables:
    """The shop's tables under the names that they have in a target."""

    engine: sa.Engine
    tables: dict[str, sa.TableClause]

    @classmethod
    def of(cls, options: Settings, target: Target) -> "ShopTables":
        routes = Routes(options.route, options.case_sensitive)
        tables = {}
        for name, table in TABLES.items():
            schema, located = target.locate(*routes(SCHEMA, name))
            columns: list[sa.ColumnClause[Any]] = [sa.column(c.name) for c in table.columns]
            tables[name] = sa.table(located, *columns, schema=schema)
        engine = sa.create_engine(target.engine.url, isolation_level="AUTOCOMMIT")
        return cls(engine, tables)

    def compare(self, shop: Shop, name: str) -> list[Key]:
        """Returns the keys of rows that are missing, superfluous or different."""
        with self.engine.connect() as connection:
            stored = connection.execute(sa.select(self.tables[name])).mappings().all()
        columns = TABLES[name].columns
        rows = {_key(name, row): [_text(row[c.name]) for c in columns] for row in stored}
        truth = {
            key: [_expected(row[c.name], c.type.elements) for c in columns]
            for key, row in shop.rows[name].items()
        }
        return [key for key in rows.keys() | truth.keys() if rows.get(key) != truth.get(key)]


def _key(name: str, row: Any) -> Key:
    return tuple(row[column] for column in TABLES[name].handle_key)


def _expected(value: Value, elements: tuple[str, ...]) -> str | None:
    return elements[value - 1] if elements and isinstance(value, int) else _text(value)


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case datetime():
            return value.isoformat(" ", "milliseconds")
        case Decimal():
            return f"{value:f}"
        case _:
            return str(value)


class Audit:
    """A reader of the tables while the consumer writes, one statement at a time.

    A read is torn if the accounts' total is not the upstream's constant, if an order lacks lines,
    or if R went back.
    """

    def __init__(self, changefeed: str, tables: ShopTables, total: int) -> None:
        self.looks = 0
        self.torn = 0
        self.first_torn = ""
        """Findings of the first torn read, in words."""
        self._changefeed = changefeed
        self._tables = tables
        self._total = total
        self._stop = Event()
        self._resolved_ts = 0

    def run(self) -> None:
        """Reads until `stop`, in the calling thread."""
        statement, tables = self._statement(), self._tables.tables.values()
        with self._tables.engine.connect() as connection:
            created = False
            while not self._stop.wait(PAUSE):
                if created:
                    self._look(connection.execute(statement).one())
                else:
                    catalog = sa.inspect(connection)
                    created = all(catalog.has_table(t.name, schema=t.schema) for t in tables)

    def stop(self) -> None:
        self._stop.set()

    def _look(self, look: Any) -> None:
        has_accounts = look.accounts > 0
        whole = look.total == self._total if has_accounts else look.orders == 0
        self.looks += 1
        if not (whole and look.torn_orders == 0 and look.r >= self._resolved_ts):
            self.torn += 1
            self.first_torn = self.first_torn or (
                f"{look.accounts} accounts with {look.total} of {self._total}, "
                f"{look.torn_orders} of {look.orders} orders without all lines, "
                f"R {look.r} after {self._resolved_ts}"
            )
        self._resolved_ts = look.r

    def _statement(self) -> sa.Select[Any]:
        """A single statement, since each sees one state of the database."""
        accounts, orders = self._tables.tables["accounts"], self._tables.tables["orders"]
        lines = self._tables.tables["order_lines"]
        lines_of_order = (
            sa.select(sa.func.count())
            .where(lines.c.order == orders.c.id)
            .select_from(lines)
            .scalar_subquery()
        )
        count = sa.func.count
        return sa.select(
            sa.select(count()).select_from(accounts).scalar_subquery().label("accounts"),
            sa.select(sa.func.sum(accounts.c.balance)).scalar_subquery().label("total"),
            sa.select(count()).select_from(orders).scalar_subquery().label("orders"),
            sa.select(count())
            .select_from(orders)
            .where(orders.c.lines != lines_of_order)
            .scalar_subquery()
            .label("torn_orders"),
            sa.select(CHECKPOINT.c.resolved_ts)
            .where(CHECKPOINT.c.changefeed == self._changefeed)
            .scalar_subquery()
            .label("r"),
        )
