"""What TiCDC's newer settings do to messages, and what the consumer makes of it: names that
`target-schema` and `target-table` routed, and rows with their start_ts."""

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.world import Record, World
from support.world_run import Run
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Ddl, RowChange, Transaction
from ticdc_encoder.sql.parser import parse_create_table

CREATE = "CREATE TABLE `orders` (`id` INT PRIMARY KEY,`v` INT)"
ORDERS = parse_create_table(CREATE, "sales")
WIDER = parse_create_table("CREATE TABLE orders (id INT PRIMARY KEY, v INT, w INT)", "sales")
SOLD = parse_create_table("CREATE TABLE sold (id INT PRIMARY KEY, v INT, w INT)", "sales")
EVENTS: list[Ddl | RowChange] = [
    Ddl("sales", "orders", CREATE, 11, 3),
    RowChange(ORDERS, 12, None, {"id": 1, "v": 1}, 10),
    RowChange(ORDERS, 13, None, {"id": 2, "v": 1}, 10),
    Ddl("sales", "orders", "ALTER TABLE `orders` ADD COLUMN `w` INT", 14, 5, WIDER),
    RowChange(WIDER, 15, {"id": 1, "v": 1, "w": None}, {"id": 1, "v": 1, "w": 7}, 14),
    Ddl("sales", "sold", "RENAME TABLE `sales`.`orders` TO `sales`.`sold`", 16, 14, SOLD),
    RowChange(SOLD, 17, {"id": 2, "v": 1, "w": None}, None, 16),
    RowChange(SOLD, 18, None, {"id": 3, "v": 3, "w": 3}, 16),
]
HELD = [(1, 1, 7), (3, 3, 3)]
ROUTE: dict[str, Any] = {
    "sink": {
        "dispatchers": [
            {"matcher": ["sales.*"], "target-schema": "archive", "target-table": "{schema}_{table}"}
        ]
    }
}
START_TS: dict[str, Any] = {"sink": {"debezium": {"include-start-ts": True}}}
CASES = [
    ("canal-json", ROUTE, "8.5.7", "sales_sold"),
    ("open-protocol", ROUTE, "8.5.7", "sales_sold"),
    ("simple", ROUTE, "8.5.7", "sales_sold"),
    ("debezium", ROUTE, "8.5.7", "sales_sold"),
    ("debezium", START_TS, "9.0.0", "sold"),
    ("debezium", {"sink": {**ROUTE["sink"], **START_TS["sink"]}}, "9.0.0", "sales_sold"),
]


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize(("protocol", "config", "version", "table"), CASES)
def test_the_target_has_the_tables_as_the_messages_name_them(
    protocol: str, config: dict[str, Any], version: str, table: str, way: str, tmp_path: Path
) -> None:
    changefeed = Changefeed(
        f"kafka://h/t?protocol={protocol}&partition-num=1&enable-tidb-extension=true",
        config,
        version,
        new_architecture=True,
        clock=lambda: 0,
    )
    sent = []
    for event in EVENTS:
        if isinstance(event, Ddl):
            sent += changefeed.ddl(event)
        else:
            sent += changefeed.encode(Transaction(event.commit_ts, (event,), event.start_ts))
    sent += changefeed.resolve(19)
    world = World(Random(0), partitions=1, marks=[19])
    world.log = [Record(m.partition, m.key, m.value, born) for born, m in enumerate(sent)]
    path = tmp_path / "target.db"
    reached: list[int] = []
    Run(world, protocol, way, f"sqlite:///{path}", reached.append).go()
    assert reached[-1] == 19
    with closing(sqlite3.connect(path)) as target:
        names = "SELECT name FROM sqlite_master WHERE name NOT LIKE 'ticdc%' AND type = 'table'"
        assert target.execute(names).fetchall() == [(table,)]
        assert sorted(target.execute(f"SELECT * FROM {table}")) == HELD  # noqa: S608
