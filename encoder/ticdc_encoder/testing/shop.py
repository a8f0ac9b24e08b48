"""A shop that keeps changing: an upstream in memory, for the demo, the samples and the tests.

Accounts transfer money among each other, so that their total never changes; orders come with their
lines and leave with them; users swap e-mail addresses and primary keys, leave, and come back under
keys that others had. One seed gives one history.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

from ticdc_encoder.event import Ddl, RowChange, Transaction
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.tso import compose, physical

SCHEMA = "shop"

DEFINITIONS = {
    "accounts": """CREATE TABLE `accounts` (
  `id` BIGINT NOT NULL,
  `owner` VARCHAR(40) NOT NULL,
  `balance` BIGINT NOT NULL,
  PRIMARY KEY (`id`))""",
    "orders": """CREATE TABLE `orders` (
  `id` BIGINT NOT NULL,
  `account` BIGINT NOT NULL,
  `state` ENUM('new','paid','sent') NOT NULL,
  `lines` INT NOT NULL,
  `placed` DATETIME(3) NOT NULL,
  `note` VARCHAR(100) DEFAULT NULL,
  PRIMARY KEY (`id`))""",
    "order_lines": """CREATE TABLE `order_lines` (
  `order` BIGINT NOT NULL,
  `line` INT NOT NULL,
  `item` VARCHAR(40) NOT NULL,
  `quantity` INT NOT NULL,
  `price` DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (`order`, `line`))""",
    "users": """CREATE TABLE `users` (
  `id` BIGINT NOT NULL,
  `email` VARCHAR(80) NOT NULL,
  `name` VARCHAR(40) DEFAULT NULL,
  PRIMARY KEY (`id`) /*T![clustered_index] NONCLUSTERED */,
  UNIQUE KEY `email` (`email`))""",
}

TABLES = {name: parse_create_table(sql, SCHEMA) for name, sql in DEFINITIONS.items()}
BALANCE = 100_000
"""Opening balance of each account."""

_ITEMS = ("kettle", "lamp", "chair", "Gießkanne", "茶杯", "tab\there", "it's", 'say "hi"', "a\\b")
_NOTES = (None, "", "please ring", "Straße 5\n2nd floor", "速く", "100 % {json}", "\\N")

Key = tuple[Any, ...]
ShopRow = dict[str, Any]
Step = tuple[str, ShopRow | None, ShopRow | None]
"""Table, row before and row after."""


class Shop:
    """`rows` is the truth: table -> key -> row, as of the last transaction."""

    def __init__(
        self,
        seed: int = 0,
        *,
        accounts: int = 100,
        users: int = 100,
        clock: Callable[[], int] | None = None,
    ) -> None:
        """`clock` gives milliseconds since 1970; without one, time goes by a few milliseconds per
        transaction from a fixed day on."""
        self.rows: dict[str, dict[Key, ShopRow]] = {name: {} for name in TABLES}
        self.total = accounts * BALANCE
        self._random = Random(seed)
        self._clock = clock
        self._commit_ts = compose(1_700_000_000_000)
        self._reserved: int | None = None
        self._sharing: set[tuple[str, Key]] = set()
        self._orders = 0
        self._open_orders: list[int] = []
        self._users = users
        self._opening = accounts
        self._free_emails: list[str] = []
        self._free_ids: list[int] = []

    # For the changefeed.

    def definitions(self) -> list[Ddl]:
        """CREATE DATABASE and the CREATE TABLE statements."""
        create = Ddl(SCHEMA, "", f"CREATE DATABASE `{SCHEMA}`", self._next_ts(), kind=1)
        return [
            create,
            *(
                Ddl(SCHEMA, name, sql, self._next_ts(), kind=3, definition=TABLES[name])
                for name, sql in DEFINITIONS.items()
            ),
        ]

    def open(self) -> Transaction:
        """The first transaction, with the first accounts and users."""
        accounts = (_account(id, BALANCE) for id in range(self._opening))
        users = (_user(id, f"user{id}@shop") for id in range(self._users))
        steps: list[Step] = [("accounts", None, row) for row in accounts]
        steps += [("users", None, row) for row in users]
        return self._commit(steps)

    def trade(self) -> Transaction:
        """The next transaction."""
        (act,) = self._random.choices(list(_ACTS), list(_ACTS.values()))
        steps = act(self)
        return self._commit(steps, shared=act is Shop._transfer)

    def resolve(self) -> int:
        """A ts above all transactions so far. Now and then the next one commits at exactly it: a
        resolved ts R does not cover commit_ts R."""
        self._sharing.clear()
        resolved_ts = self._next_ts()
        if self._random.random() < 0.25:
            self._reserved = resolved_ts
        return resolved_ts

    # Commit.

    def _next_ts(self) -> int:
        if self._reserved is not None:
            self._commit_ts, self._reserved = self._reserved, None
        else:
            last = physical(self._commit_ts)
            now = self._clock() if self._clock else last + self._random.randrange(4)
            self._commit_ts = max(self._commit_ts + 1, compose(now))
        return self._commit_ts

    def _commit(self, steps: list[Step], *, shared: bool = False) -> Transaction:
        """`shared` transactions may take the commit_ts of the one before, as TiDB's one-phase
        commits of different rows may."""
        touched = {(name, _key(name, row)) for name, *images in steps for row in images if row}
        meets = shared and self._sharing and not touched & self._sharing
        if meets and self._random.random() < 0.2:
            self._sharing |= touched
        else:
            self._next_ts()
            self._sharing = touched if shared else set()
        for name, before, _ in steps:
            if before:
                del self.rows[name][_key(name, before)]
        for name, _, after in steps:
            if after:
                self.rows[name][_key(name, after)] = after
        commit_ts = self._commit_ts
        changes = (
            RowChange(TABLES[name], commit_ts, before, after) for name, before, after in steps
        )
        return Transaction(commit_ts, tuple(changes), start_ts=commit_ts - 1)

    # The acts of the shop. Each returns the steps of one transaction.

    def _transfer(self) -> list[Step]:
        """Two to four accounts: some lose what the others gain."""
        accounts = self.rows["accounts"]
        parties = self._random.sample(list(accounts), self._random.randint(2, 4))
        gains = [self._random.randint(-500, 500) for _ in parties[1:]]
        return [
            _changed("accounts", accounts[key], balance=accounts[key]["balance"] + gain)
            for key, gain in zip(parties, [-sum(gains), *gains], strict=True)
        ]

    def _order(self) -> list[Step]:
        self._orders += 1
        self._open_orders.append(self._orders)
        lines = self._random.randint(1, 4)
        order: ShopRow = {
            "id": self._orders,
            "account": self._random.randrange(self._opening),
            "state": 1,
            "lines": lines,
            "placed": _datetime(physical(self._commit_ts)),
            "note": self._random.choice(_NOTES),
        }
        return [
            ("orders", None, order),
            *(("order_lines", None, self._line(self._orders, n)) for n in range(1, lines + 1)),
        ]

    def _line(self, order: int, line: int) -> ShopRow:
        return {
            "order": order,
            "line": line,
            "item": self._random.choice(_ITEMS),
            "quantity": self._random.randint(1, 9),
            "price": Decimal(self._random.randint(1, 99_999)).scaleb(-2),
        }

    def _advance(self) -> list[Step]:
        """An order is paid, then sent; one that was sent loses a line, with the count in it."""
        if not self._open_orders:
            return self._order()
        order = self.rows["orders"][(self._random.choice(self._open_orders),)]
        if order["state"] < 3:
            return [_changed("orders", order, state=order["state"] + 1)]
        last = self.rows["order_lines"][(order["id"], order["lines"])]
        if order["lines"] == 1:
            return [_changed("order_lines", last, quantity=last["quantity"] + 1)]
        return [
            _changed("orders", order, lines=order["lines"] - 1),
            ("order_lines", last, None),
        ]

    def _cancel(self) -> list[Step]:
        if not self._open_orders:
            return self._order()
        position = self._random.randrange(len(self._open_orders))
        self._open_orders[position], self._open_orders[-1] = (
            self._open_orders[-1],
            self._open_orders[position],
        )
        order = self.rows["orders"][(self._open_orders.pop(),)]
        lines = [self.rows["order_lines"][(order["id"], n + 1)] for n in range(order["lines"])]
        return [("orders", order, None), *(("order_lines", line, None) for line in lines)]

    def _rotate_emails(self) -> list[Step]:
        """Two users swap addresses, or up to five hand them round."""
        users = self._some_users(self._random.randint(2, 5))
        emails = [user["email"] for user in users]
        return [
            _changed("users", user, email=email)
            for user, email in zip(users, emails[1:] + emails[:1], strict=True)
        ]

    def _swap_ids(self) -> list[Step]:
        first, second = self._some_users(2)
        return [
            _changed("users", first, id=second["id"]),
            _changed("users", second, id=first["id"]),
        ]

    def _move_id(self) -> list[Step]:
        (user,) = self._some_users(1)
        moved = _changed("users", user, id=self._new_id())
        self._free_ids.append(user["id"])
        return [moved]

    def _leave(self) -> list[Step]:
        if len(self.rows["users"]) < 10:
            return self._join()
        (user,) = self._some_users(1)
        self._free_ids.append(user["id"])
        self._free_emails.append(user["email"])
        return [("users", user, None)]

    def _join(self) -> list[Step]:
        """A new user, now and then under an id and an address that others had."""
        id = self._new_id()
        email = self._free_emails.pop() if self._free_emails else f"user{id}.{self._commit_ts}@shop"
        return [("users", None, _user(id, email))]

    def _return(self) -> list[Step]:
        """DELETE and INSERT of one key, with the address unchanged."""
        (user,) = self._some_users(1)
        return [("users", user, None), ("users", None, {**user, "name": None})]

    def _some_users(self, count: int) -> list[ShopRow]:
        return self._random.sample(list(self.rows["users"].values()), count)

    def _new_id(self) -> int:
        if self._free_ids and self._random.random() < 0.8:
            return self._free_ids.pop(self._random.randrange(len(self._free_ids)))
        self._users += 1
        return self._users - 1


def _key(table: str, row: ShopRow) -> Key:
    return tuple(row[name] for name in TABLES[table].handle_key)


def _changed(table: str, row: ShopRow, **values: Any) -> Step:
    return table, row, {**row, **values}


def _account(id: int, balance: int) -> ShopRow:
    return {"id": id, "owner": f"owner {id}", "balance": balance}


def _user(id: int, email: str) -> ShopRow:
    return {"id": id, "email": email, "name": f"user {id}"}


def _datetime(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03}"


_ACTS: dict[Callable[[Shop], list[Step]], int] = {
    Shop._transfer: 40,
    Shop._order: 20,
    Shop._advance: 15,
    Shop._cancel: 5,
    Shop._rotate_emails: 6,
    Shop._swap_ids: 4,
    Shop._move_id: 3,
    Shop._leave: 2,
    Shop._join: 2,
    Shop._return: 3,
}
"""Frequency of each act, in percent."""
