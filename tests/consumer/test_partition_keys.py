"""The table of pingcap/tiflow#11297: UPDATEs that change the column of their partition.

```sql
CREATE TABLE t (a INT PRIMARY KEY, b INT);
INSERT INTO t VALUES (1, 2);
UPDATE t SET a = 2 WHERE a = 1;
INSERT INTO t VALUES (1, 3);
UPDATE t SET a = 3 WHERE a = 1;
```

| seq | partition 1 | partition 2 | partition 3 |
|---|---|---|---|
| 1 | INSERT a = 1, b = 2 | UPDATE a = 2 WHERE a = 1 | UPDATE a = 3 WHERE a = 1 |
| 2 | INSERT a = 1, b = 3 | | |

"Since partitions are consumed in parallel, different consumption sequences will correspond to
different results, in which only one consumption sequence can guarantee the final consistency (p1-1,
p2-1, p1-2, p3-1)."
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import permutations
from pathlib import Path
from random import Random

import pytest
from support.world import Record, World
from support.world_run import Run
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

# TiKV itself would split the UPDATE of a clustered key.
SQL = "CREATE TABLE t (a INT PRIMARY KEY NONCLUSTERED, b INT)"
TABLE = parse_create_table(SQL, "w")
CHANGES = (
    RowChange(TABLE, 11, None, {"a": 1, "b": 2}),
    RowChange(TABLE, 12, {"a": 1, "b": 2}, {"a": 2, "b": 2}),
    RowChange(TABLE, 13, None, {"a": 1, "b": 3}),
    RowChange(TABLE, 14, {"a": 1, "b": 3}, {"a": 3, "b": 3}),
)
UPSTREAM = [(2, 2), (3, 3)]
PARTITIONS = 5
"""So many that the three values of `a` have partitions of their own."""
CONFIG = {
    "sink": {
        "dispatchers": [{"matcher": ["w.t"], "partition": "columns", "columns": ["a"]}],
        "kafka-config": {"output-raw-change-event": True},
    }
}
ORDERS = [order for order in permutations(range(4)) if order.index(0) < order.index(2)]


def sent(protocol: str) -> tuple[list[Message], list[Message]]:
    """The messages of the four changes, and those of the resolved ts behind them."""
    changefeed = Changefeed(
        f"kafka://h/t?protocol={protocol}&partition-num={PARTITIONS}&enable-tidb-extension=true",
        CONFIG,
        clock=lambda: 0,
    )
    rows = []
    for change in CHANGES:
        rows += changefeed.encode(Transaction(change.commit_ts, (change,)))
        rows += changefeed.flush()
    return rows, changefeed.resolve(15)


def naive(order: Sequence[int]) -> list[tuple[int, int]] | None:
    """What a consumer makes of it that executes each event when it comes; None if it fails."""
    with closing(sqlite3.connect(":memory:")) as target:
        target.execute("CREATE TABLE t (a INT PRIMARY KEY, b INT)")
        for number in order:
            old, new = CHANGES[number].before, CHANGES[number].after
            assert new is not None
            try:
                if old is None:
                    target.execute("INSERT INTO t VALUES (?, ?)", (new["a"], new["b"]))
                else:
                    target.execute("UPDATE t SET a = ? WHERE a = ?", (new["a"], old["a"]))
            except sqlite3.IntegrityError:
                return None
        return sorted(target.execute("SELECT a, b FROM t"))


def test_the_events_lie_in_partitions_as_in_the_issue() -> None:
    rows, marks = sent("canal-json")
    first, second, third, last = (message.partition for message in rows)
    assert first == third
    assert len({first, second, last}) == 3
    assert [mark.partition for mark in marks] == [*range(PARTITIONS)]
    options = FORMATS["canal-json"].Options()
    events = [
        event for m in rows for event in FORMATS["canal-json"].decode(m.key, m.value, options)
    ]
    assert [(e.before, e.after) for e in events if isinstance(e, RowChange)] == [
        (change.before, change.after) for change in CHANGES
    ]


def test_one_of_twelve_orders_is_right_for_a_naive_consumer() -> None:
    assert len(ORDERS) == 12
    assert [order for order in ORDERS if naive(order) == UPSTREAM] == [(0, 1, 2, 3)]


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_all_twelve_are_right_here(
    order: tuple[int, ...], protocol: str, way: str, tmp_path: Path
) -> None:
    rows, marks = sent(protocol)
    log = [rows[number] for number in order] + marks
    world = World(Random(0), PARTITIONS)
    world.log = [Record(m.partition, m.key, m.value, born) for born, m in enumerate(log)]
    world.marks = [15]
    path = tmp_path / "target.db"
    with closing(sqlite3.connect(path)) as target:
        target.execute("CREATE TABLE t (a INTEGER NOT NULL PRIMARY KEY, b INTEGER)")
    commits = []

    def compare(resolved_ts: int) -> None:
        with closing(sqlite3.connect(path)) as target:
            assert sorted(target.execute("SELECT a, b FROM t")) == UPSTREAM
        commits.append(resolved_ts)

    Run(world, protocol, way, f"sqlite:///{path}", compare).go()
    assert set(commits) == {15}
