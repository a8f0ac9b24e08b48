"""One transaction of millions of changes through the encoder: sorted on disk, in bounded memory.

    python bench/transaction.py [--changes 10000000] [--protocol canal-json] [--version 8.5.4]
        [--new-architecture]

Half are UPDATEs (a fifth of them changes a unique key), the others INSERT and DELETE in turn, in
two tables, one of them by its clustered key. Prints changes per second and the peak memory:
10,000,000 changes to canal-json take 162 MiB (commit 32bdeca; 1584 s, the machine being shared).
"""

import argparse
import resource
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Row, RowChange
from ticdc_encoder.sql.parser import parse_create_table

COMMIT_TS = 429918007904436226
TABLES = [
    parse_create_table(
        f"CREATE TABLE {name} (id bigint PRIMARY KEY {clustered}, u bigint NOT NULL UNIQUE,"
        " name varchar(40) NOT NULL, n decimal(20,4) NOT NULL, memo varchar(200))",
        "bench",
    )
    for name, clustered in (("orders", ""), ("items", "NONCLUSTERED"))
]


def changes(number: int) -> Iterator[RowChange]:
    for n in range(number):
        before: Row = {"id": n, "u": n, "name": f"name {n}", "n": Decimal(n), "memo": "old" * 12}
        after = {**before, "memo": "new" * 12}
        if n % 10 == 0:
            after["u"] = -n - 1
        table = TABLES[n & 1]
        match n % 4:
            case 0:
                yield RowChange(table, COMMIT_TS, None, after)
            case 1:
                yield RowChange(table, COMMIT_TS, before, None)
            case _:
                yield RowChange(table, COMMIT_TS, before, after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=10_000_000)
    parser.add_argument("--protocol", default="canal-json")
    parser.add_argument("--version", default="8.5.4")
    parser.add_argument("--new-architecture", action="store_true")
    arguments = parser.parse_args()
    changefeed = Changefeed(
        f"kafka://h/t?protocol={arguments.protocol}&enable-tidb-extension=true&partition-num=4",
        version=arguments.version,
        new_architecture=arguments.new_architecture,
    )
    sent: Counter[int] = Counter()
    began = time.monotonic()
    for message in changefeed.stream(changes(arguments.changes), COMMIT_TS):
        sent[message.partition] += 1
    took = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{arguments.changes} changes, {sent.total()} messages of {arguments.protocol} in "
        f"{took:.0f} s: {arguments.changes / took:,.0f} changes/s, peak {peak} MiB"
    )


if __name__ == "__main__":
    main()
