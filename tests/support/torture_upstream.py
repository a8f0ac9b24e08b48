"""A shop as an upstream of its own, and what a target must then have seen of it.

Run as a script it is a process that sends transactions for ever, as TiCDC would with all that
at-least-once delivery allows, until its input ends. What it sends follows from its arguments, so
that the test can tell every row and every step afterwards.
"""

import argparse
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Transaction
from ticdc_encoder.testing.disturbance import Disturbance
from ticdc_encoder.testing.shop import TABLES, Shop

from support.brokers import Kafka, Real

PARTITIONS = 4
EVERY = 20
"""Transactions per resolved ts."""
DISPATCHERS = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}

Step = tuple[str, str, str]
"""Table, key, and I, U or D."""


class Upstream:
    """The process. After `begin` the topic holds the shop's definitions and a mark."""

    def __init__(self, kafka: Kafka, topic: str, protocol: str, seed: int, pause: float) -> None:
        """`pause` in seconds after each resolved ts."""
        self._seed = seed
        words = [kafka.bootstrap, topic, protocol, str(seed), str(pause)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.torture_upstream", *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.first = self._told()

    def go_on(self) -> None:
        """Lets it send transactions from here on."""
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def stop(self) -> "History":
        """Ends it; what it has sent."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        waves = self._told()
        return history(self._seed, waves)

    def close(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def _told(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@dataclass(frozen=True)
class History:
    """The shop after its last transaction, the last resolved ts, and what must have been done at
    each commit_ts: all deletes before the first row."""

    shop: Shop
    final: int
    steps: dict[int, list[Step]]


def waves(shop: Shop) -> Iterator[tuple[list[Transaction], int]]:
    """For ever: the transactions below a resolved ts, and that."""
    yield [shop.open(), *(shop.trade() for _ in range(EVERY))], shop.resolve()
    while True:
        yield [shop.trade() for _ in range(EVERY)], shop.resolve()


def history(seed: int, count: int) -> History:
    """What the process with this seed sent in so many waves."""
    shop = Shop(seed)
    shop.definitions()
    final = shop.resolve()
    there: dict[str, set[str]] = {name: set() for name in TABLES}
    groups: dict[int, list[Transaction]] = {}
    sent = waves(shop)
    for _ in range(count):
        transactions, final = next(sent)
        for transaction in transactions:
            groups.setdefault(transaction.commit_ts, []).append(transaction)
    steps = {commit_ts: _steps(groups[commit_ts], there) for commit_ts in sorted(groups)}
    return History(shop, final, steps)


def _steps(group: list[Transaction], there: dict[str, set[str]]) -> list[Step]:
    absent: set[tuple[str, str]] = set()
    present: set[tuple[str, str]] = set()
    for transaction in group:
        for change in transaction.changes:
            name = change.table.name
            for row, keys in ((change.before, absent), (change.after, present)):
                if row is not None:
                    keys.add((name, "/".join(str(row[c]) for c in change.table.handle_key)))
    deletes, rows = [], []
    for name, key in sorted(absent | present):
        # A table with more unique keys is never upserted: its present rows are deleted, too.
        replaced = (name, key) in present and name == "users"
        was_there = key in there[name]
        if was_there and ((name, key) not in present or replaced):
            deletes.append((name, key, "D"))
            there[name].discard(key)
        if (name, key) in present:
            rows.append((name, key, "U" if key in there[name] else "I"))
            there[name].add(key)
    return deletes + rows


def main() -> None:
    """Sends until the input ends; says the first resolved ts, and at the end how many waves."""
    parser = argparse.ArgumentParser()
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("protocol")
    parser.add_argument("seed", type=int)
    parser.add_argument("pause", type=float)
    given = parser.parse_args()
    kafka, shop = Real(given.bootstrap), Shop(given.seed)
    disturbance = Disturbance(given.seed)
    changefeed = Changefeed(
        f"kafka://{given.bootstrap}/{given.topic}?protocol={given.protocol}"
        f"&partition-num={PARTITIONS}&enable-tidb-extension=true",
        DISPATCHERS,
        new_architecture=True,
    )
    for ddl in shop.definitions():
        kafka.produce(changefeed.ddl(ddl))
    first = shop.resolve()
    kafka.produce(changefeed.resolve(first))
    print(first, flush=True)
    sys.stdin.readline()
    count = 0
    for transactions, resolved_ts in waves(shop):
        rows = [message for one in transactions for message in changefeed.encode(one)]
        rows += changefeed.flush()
        for batch in disturbance.wave(rows, changefeed.resolve(resolved_ts)):
            kafka.produce(batch)
        count += 1
        if select.select([sys.stdin], [], [], given.pause)[0]:
            break
    print(count, flush=True)


if __name__ == "__main__":
    main()
