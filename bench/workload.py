"""The benchmark's upstream: two tables, loaded, then changed; as a TiCDC topic and as a truth.

`t` is sysbench's table, `o` lines of orders. Half of the changes are updates, 30 % inserts, 20 %
deletes, in transactions of 5 rows, with a resolved ts every 1,000 transactions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random

from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Row, RowChange, Table, Transaction
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.values import canonicaliser

SCHEMA = "bench"
Key = tuple[int, ...]
T = parse_create_table(
    "CREATE TABLE t (id bigint NOT NULL PRIMARY KEY, k int NOT NULL, c char(120) NOT NULL, "
    "pad char(60) NOT NULL)",
    SCHEMA,
)
O = parse_create_table(  # noqa: E741 - the table's name
    "CREATE TABLE o (id bigint NOT NULL, line int NOT NULL, sku varchar(24) NOT NULL, "
    "qty int NOT NULL, price decimal(12,4) NOT NULL, placed datetime(6) NOT NULL, "
    "memo varchar(120), state varchar(8) NOT NULL, PRIMARY KEY (id, line))",
    SCHEMA,
)
TABLES = (T, O)
START_TS = 470_000_000_000_000_000


@dataclass
class Workload:
    """`loaded` and `final` are the tables' rows by key before and after."""

    rows: int
    changes: int
    seed: int = 1
    loaded: dict[str, dict[Key, Row]] = field(default_factory=dict)
    final: dict[str, dict[Key, Row]] = field(default_factory=dict)
    end: int = 0

    def __post_init__(self) -> None:
        self._rng = Random(self.seed)
        self.loaded["t"] = {(n,): self._t(n) for n in range(self.rows)}
        self.loaded["o"] = {(n // 4, n % 4): self._o(n // 4, n % 4) for n in range(self.rows)}

    def messages(self, topic: str, protocol: str, partitions: int) -> Iterator[Message]:
        """The topic's records in the order that TiCDC would send them."""
        feed = Changefeed(
            f"kafka://127.0.0.1/{topic}?protocol={protocol}&partition-num={partitions}"
            "&enable-tidb-extension=true",
            {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}},
            new_architecture=True,
        )
        for number, transaction in enumerate(self._transactions()):
            yield from feed.encode(transaction)
            if number % 1000 == 999:
                yield from feed.resolve(transaction.commit_ts + 1)
        self.end = START_TS + self.changes
        yield from feed.resolve(self.end)

    def _transactions(self) -> Iterator[Transaction]:
        rng = self._rng
        self.final = {name: dict(rows) for name, rows in self.loaded.items()}
        keys = {name: list(rows) for name, rows in self.final.items()}
        following = {"t": self.rows, "o": self.rows}
        for number in range(self.changes // 5):
            commit_ts = START_TS + number + 1
            changes: list[RowChange] = []
            touched: set[tuple[str, Key]] = set()
            while len(changes) < 5:
                table = TABLES[rng.random() < 0.5]
                name, rows, chance = table.name, self.final[table.name], rng.random()
                if chance < 0.3:
                    following[name] += 1
                    n = following[name]
                    key: Key = (n,) if name == "t" else (n // 4, n % 4)
                    if key in rows:
                        continue
                    rows[key] = self._t(n) if name == "t" else self._o(*key)
                    keys[name].append(key)
                    changes.append(RowChange(table, commit_ts, after=rows[key]))
                    touched.add((name, key))
                    continue
                at = rng.randrange(len(keys[name]))
                key = keys[name][at]
                if (name, key) in touched:
                    continue
                touched.add((name, key))
                before = rows[key]
                if chance < 0.5:
                    keys[name][at] = keys[name][-1]
                    keys[name].pop()
                    del rows[key]
                    changes.append(RowChange(table, commit_ts, before=before))
                else:
                    rows[key] = self._changed(name, before)
                    changes.append(RowChange(table, commit_ts, before=before, after=rows[key]))
            yield Transaction(commit_ts, tuple(changes))

    def _changed(self, name: str, row: Row) -> Row:
        if name == "t":
            return {**row, "k": self._rng.randrange(1 << 30), "c": self._digits(119)}
        return {**row, "qty": self._rng.randrange(100), "state": self._rng.choice(STATES)}

    def _digits(self, count: int) -> str:
        return f"{self._rng.getrandbits(400):0{count}d}"[:count]

    def _t(self, n: int) -> Row:
        rng = self._rng
        return {
            "id": n,
            "k": rng.randrange(1 << 30),
            "c": self._digits(119),
            "pad": self._digits(59),
        }

    def _o(self, n: int, line: int) -> Row:
        rng = self._rng
        return {
            "id": n,
            "line": line,
            "sku": f"SKU-{rng.randrange(1 << 20):07d}",
            "qty": rng.randrange(100),
            "price": Decimal(rng.randrange(10**9)).scaleb(-4),
            "placed": f"2026-11-21 10:{rng.randrange(60):02d}:00.{rng.randrange(10**6):06d}",
            "memo": None if rng.random() < 0.3 else 'say "it\'s" here, ' + "x" * rng.randrange(60),
            "state": rng.choice(STATES),
        }


STATES = ("new", "paid", "sent", "void")


def arrays(table: Table, rows: list[Row]) -> list[list[str | bytes | None]]:
    """The rows' values by column, in canonical text."""
    texts = [(column.name, canonicaliser(column.type)) for column in table.columns]
    return [[text(row[name]) for row in rows] for name, text in texts]
