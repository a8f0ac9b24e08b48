"""Which changes, DDL and columns a changefeed's filters leave out."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.storage import StorageChangefeed
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Ddl, Resolved, RowChange, Transaction
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.formats.registry import MemoryRegistry
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

NEW: Any = {"version": "8.5.7", "new_architecture": True}
NEWER: Any = {"version": "8.5.8", "new_architecture": True}
CLASSIC: Any = {"version": "8.5.3"}
URI = "kafka://h/orders?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
# Nonclustered: a change of its primary key is one UPDATE.
ORDERS = parse_create_table(
    "create table orders (id int primary key nonclustered, n int, name varchar(9))", "shop"
)
ROWS: dict[str, tuple[Any, Any]] = {
    "insert": (None, (1, 10, "a")),
    "update": ((2, 20, "b"), (2, 21, "b")),
    "delete": ((3, 30, "c"), None),
    "move": ((4, 40, "d"), (5, 41, "d")),
}


def change(name: str) -> RowChange:
    columns = [column.name for column in ORDERS.columns]
    before, after = (image and dict(zip(columns, image, strict=True)) for image in ROWS[name])
    return RowChange(ORDERS, 5, before, after)


def summary(messages: Sequence[Message]) -> list[str]:
    options = FORMATS["canal-json"].Options()
    lines = []
    for message in messages:
        for event in FORMATS["canal-json"].decode(message.key, message.value, options):
            match event:
                case RowChange(before=None, after=row) if row is not None:
                    lines.append(f"insert {row['id']!r}")
                case RowChange(before=row, after=None) if row is not None:
                    lines.append(f"delete {row['id']!r}")
                case RowChange(after=row) if row is not None:
                    lines.append(f"update {row['id']!r}")
                case Ddl():
                    lines.append(event.query)
                case Resolved():
                    lines.append("resolved")
    return lines


ALL = ["delete 3", "delete 4", "update 2", "insert 1", "insert 5"]
# The settings, what the new architecture of 8.5.7 sends of ROWS, and the old one.
FILTERS: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({}, ALL, ALL),
    (
        {"ignore-event": ["insert"]},
        ["delete 3", "delete 4", "update 2"],
        ["delete 3", "delete 4", "update 2", "insert 5"],
    ),
    (
        {"ignore-event": ["UPDATE"]},
        ["delete 3", "delete 4", "insert 1", "insert 5"],
        ["delete 3", "insert 1"],
    ),
    (
        {"ignore-event": ["delete"]},
        ["update 2", "insert 1", "insert 5"],
        ["delete 4", "update 2", "insert 1", "insert 5"],
    ),
    ({"ignore-event": ["all dml"]}, [], []),
    ({"ignore-event": ["all ddl", "create table"]}, ALL, ALL),
    ({"ignore-sql": [".*"]}, ALL, ALL),
    ({"ignore-event": ["all dml"], "matcher": ["other.*"]}, ALL, ALL),
    ({"ignore-event": ["all dml"], "matcher": ["shop.*", "!shop.orders"]}, ALL, ALL),
    ({"ignore-event": ["all dml"], "matcher": ["SHOP.*"]}, [], ALL),  # the old one heeds case
    (
        {"ignore-insert-value-expr": "id >= 1"},
        ["delete 3", "delete 4", "update 2"],
        ["delete 3", "delete 4", "update 2", "insert 5"],
    ),
    (
        {"ignore-update-old-value-expr": "n = 40"},
        ALL,
        ["delete 3", "update 2", "insert 1"],
    ),
    (
        {"ignore-update-new-value-expr": "n = 21", "ignore-update-old-value-expr": "n = 21"},
        ["delete 3", "delete 4", "insert 1", "insert 5"],
        ["delete 3", "delete 4", "insert 1", "insert 5"],
    ),
    (
        {"ignore-delete-value-expr": "name in ('c', 'd')"},
        ["update 2", "insert 1", "insert 5"],
        ["delete 4", "update 2", "insert 1", "insert 5"],
    ),
]


def filtered(settings: dict[str, Any]) -> dict[str, Any]:
    return {"filter": {"event-filters": [{"matcher": ["shop.orders"], **settings}]}}


@pytest.mark.parametrize(("settings", "new", "old"), FILTERS)
def test_each_filter_leaves_out_its_changes(
    settings: dict[str, Any], new: list[str], old: list[str]
) -> None:
    transaction = Transaction(5, tuple(change(name) for name in ROWS))
    for made, expected in ((NEW, new), (CLASSIC, old)):
        changefeed = Changefeed(URI, filtered(settings), **made)
        assert sorted(summary(changefeed.encode(transaction))) == sorted(expected), made
        assert summary(changefeed.resolve(6)) == ["resolved"]


# From 8.5.8 on, the kind of an UPDATE counts before it is split.
WHOLE: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"ignore-event": ["update"]}, "8.5.7", ["delete 3", "delete 4", "insert 1", "insert 5"]),
    ({"ignore-event": ["update"]}, "26.3.4", ["delete 3", "delete 4", "insert 1", "insert 5"]),
    ({"ignore-event": ["update"]}, "8.5.8", ["delete 3", "insert 1"]),
    ({"ignore-event": ["update"]}, "9.0.0", ["delete 3", "insert 1"]),
    ({"ignore-event": ["all dml"]}, "8.5.8", []),
    ({"ignore-event": ["delete"]}, "8.5.8", ["insert 1", "insert 5", "update 2"]),
    ({"ignore-event": ["insert"]}, "8.5.8", ["delete 3", "delete 4", "update 2"]),
    ({"ignore-event": ["update"], "matcher": ["shop.other"]}, "8.5.8", sorted(ALL)),
    ({"ignore-update-old-value-expr": "n = 40"}, "8.5.8", sorted(ALL)),
    ({"ignore-delete-value-expr": "n = 40"}, "8.5.8", sorted({*ALL} - {"delete 4"})),
]


@pytest.mark.parametrize(("settings", "version", "sent"), WHOLE)
def test_an_ignored_update_leaves_no_halves_from_8_5_8(
    settings: dict[str, Any], version: str, sent: list[str]
) -> None:
    changefeed = Changefeed(URI, filtered(settings), version, new_architecture=True)
    transaction = Transaction(5, tuple(change(name) for name in ROWS))
    assert sorted(summary(changefeed.encode(transaction))) == sent


def test_cloud_storage_leaves_no_halves_either() -> None:
    uri = "file:///sink?protocol=canal-json&enable-tidb-extension=true"
    transaction = Transaction(5, (change("move"),))
    sent = []
    for made in (NEW, NEWER):
        changefeed = StorageChangefeed(uri, filtered({"ignore-event": ["update"]}), **made)
        changefeed.encode(transaction)
        sent.append(sum(file.content.count(b'"isDdl"') for file in changefeed.flush()))
    assert sent == [2, 0]


def test_two_filters_each_leave_something_out() -> None:
    matcher = {"matcher": ["*.*"]}
    filters = [{**matcher, "ignore-event": ["insert"]}, {**matcher, "ignore-event": ["delete"]}]
    changefeed = Changefeed(URI, {"filter": {"event-filters": filters}}, **CLASSIC)
    transaction = Transaction(5, tuple(change(name) for name in ("insert", "update", "delete")))
    assert summary(changefeed.encode(transaction)) == ["update 2"]


def test_a_transaction_of_an_ignored_start_ts_is_not_sent() -> None:
    changefeed = Changefeed(URI, "[filter]\nignore-txn-start-ts = [3, 4]")
    assert summary(changefeed.encode(Transaction(5, (change("insert"),), start_ts=4))) == []
    sent = changefeed.encode(Transaction(5, (change("insert"),), start_ts=2))
    assert summary(sent) == ["insert 1"]


CREATE = "CREATE TABLE `orders` (`id` INT PRIMARY KEY)"
ADD = "ALTER TABLE `orders` ADD COLUMN `x` INT"
# The settings, DDL as (table, query, TiDB's code), and whether it is sent.
DDLS: list[tuple[dict[str, Any], tuple[str, str, int], bool]] = [
    ({"ignore-event": ["all ddl"]}, ("orders", CREATE, 3), False),
    ({"ignore-event": ["all dml"]}, ("orders", CREATE, 3), True),
    ({"ignore-event": ["create table"]}, ("orders", CREATE, 0), False),
    ({"ignore-event": ["drop table"]}, ("orders", CREATE, 3), True),
    ({"ignore-event": ["add column"]}, ("orders", ADD, 5), False),
    ({"ignore-event": ["alter table"]}, ("orders", ADD, 5), False),
    ({"ignore-event": ["alter table"]}, ("orders", ADD, 0), False),
    ({"ignore-event": ["drop column"]}, ("orders", ADD, 5), True),
    ({"ignore-event": ["all ddl"]}, ("orders", "ALTER TABLE orders CACHE", 57), True),
    ({"ignore-sql": ["^drop", "add COLUMN"]}, ("orders", ADD, 5), False),
    ({"ignore-sql": ["^add column"]}, ("orders", ADD, 5), True),
    (
        {"ignore-event": ["rename table"]},
        ("items", "RENAME TABLE `shop`.`orders` TO `shop`.`items`", 14),
        False,
    ),
    (
        {"ignore-event": ["rename table"], "matcher": ["shop.items"]},
        ("items", "RENAME TABLE `shop`.`orders` TO `shop`.`items`", 14),
        True,
    ),
    (
        {"ignore-event": ["create schema"], "matcher": ["shop.*"]},
        ("", "CREATE DATABASE `shop`", 1),
        False,
    ),
]


@pytest.mark.parametrize(("settings", "ddl", "sent"), DDLS)
def test_each_filter_leaves_out_its_ddl(
    settings: dict[str, Any], ddl: tuple[str, str, int], sent: bool
) -> None:
    table, query, kind = ddl
    changefeed = Changefeed(URI, filtered(settings))
    changefeed.encode(Transaction(4, (change("insert"),)))
    assert summary(changefeed.ddl(Ddl("shop", table, query, 5, kind))) == [query] * sent


def test_rows_of_a_table_whose_ddl_is_left_out_are_sent() -> None:
    changefeed = Changefeed(URI, filtered({"ignore-event": ["all ddl"]}))
    assert changefeed.ddl(Ddl("shop", "orders", CREATE, 5)) == []
    assert summary(changefeed.encode(Transaction(6, (change("insert"),)))) == ["insert 1"]


def test_files_in_cloud_storage_leave_out_the_same() -> None:
    settings = filtered({"ignore-event": ["insert", "add column"]})
    settings["filter"]["ignore-txn-start-ts"] = [9]
    changefeed = StorageChangefeed("file:///sink?protocol=csv&date-separator=none", settings, **NEW)
    assert changefeed.encode(Transaction(4, (change("update"),), start_ts=9)) == []
    changefeed.encode(Transaction(5, tuple(change(name) for name in ROWS)))
    data, *_ = changefeed.flush()
    assert data.content == (
        b'"D","orders","shop",3,30,"c"\r\n"U","orders","shop",2,21,"b"\r\n'
        b'"D","orders","shop",4,40,"d"\r\n'
    )
    (schema,) = changefeed.ddl(Ddl("shop", "orders", ADD, 6, 5))
    assert b'"Query": ""' in schema.content


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"ignore-events": []}, "unknown key of an event filter: ignore-events"),
    (
        {"ignore-event": ["select"]},
        "ignore-event has unknown events: select; in filter.event-filters[0]",
    ),
    ({"ignore-event": "insert"}, "ignore-event must be a list of str"),
    ({"ignore-sql": ["["]}, "not a regular expression"),
    ({"ignore-insert-value-expr": "id ="}, "not an SQL expression: 'id ='"),
    ({"ignore-insert-value-expr": 1}, "ignore-insert-value-expr must be of type str"),
    ({"matcher": ["x"]}, "in the filter rule 'x'"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_a_wrong_filter_is_refused_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Changefeed(URI, filtered(settings))
    assert message in str(raised.value)


def test_an_expression_over_a_missing_column_stops_the_feed() -> None:
    changefeed = Changefeed(URI, filtered({"ignore-insert-value-expr": "gone = 1"}))
    with pytest.raises(ConfigError, match=r"shop\.orders has no column gone"):
        changefeed.encode(Transaction(5, (change("insert"),)))


# Column selectors.


def selecting(*columns: str, matcher: str = "shop.*") -> dict[str, Any]:
    return {"sink": {"column-selectors": [{"matcher": [matcher], "columns": [*columns]}]}}


SELECTED = [
    (["*"], ["id", "n", "name"]),
    (["id", "N"], ["id", "n"]),
    (["*", "!n*"], ["id"]),
    (["!n*", "*"], ["id", "n", "name"]),
    (["*", "!n?me"], ["id", "n"]),
    (["/^(id|name)$/"], ["id", "name"]),
]
FORMATTED = ["canal-json", "open-protocol", "simple", "debezium", "avro", "debezium-avro"]


@pytest.mark.parametrize("protocol", FORMATTED)
@pytest.mark.parametrize(("columns", "expected"), SELECTED)
def test_the_columns_that_are_selected_are_sent(
    protocol: str, columns: list[str], expected: list[str]
) -> None:
    registry = MemoryRegistry()
    uri = URI.replace("canal-json", protocol)
    changefeed = Changefeed(
        uri, selecting(*columns), "9.0.0", new_architecture=True, registry=registry
    )
    messages = changefeed.encode(Transaction(5, tuple(change(n) for n in ("insert", "delete"))))
    messages += changefeed.flush()
    wire = FORMATS[protocol]
    avro = {"registry": registry} if protocol.endswith("avro") else {}
    options = wire.Options(**avro, **{"require_commit_ts": False} if protocol == "avro" else {})
    events: list[Any]
    if wire.Decoder is not None:
        decoder = wire.Decoder(options)
        events = [e for m in messages for _, e in decoder.decode(m.key, m.value)]
    else:
        events = [e for m in messages for e in wire.decode(m.key, m.value, options)]
    # Avro tells of a DELETE no more than its key.
    rows = [row for e in events for row in (e.after, e.before) if row is not None]
    assert [sorted(row) for row in rows if len(row) > 1 or expected == ["id"]][:1] == [expected]
    assert {column for row in rows for column in row} == set(expected)


def test_the_first_selector_that_matches_decides() -> None:
    selectors = [
        {"matcher": ["SHOP.orders"], "columns": ["id"]},
        {"matcher": ["*.*"], "columns": ["id", "n"]},
    ]
    for case_sensitive, expected in ((False, {"id"}), (True, {"id", "n"})):
        config = {"case-sensitive": case_sensitive, "sink": {"column-selectors": selectors}}
        (message,) = Changefeed(URI, config).encode(Transaction(5, (change("insert"),)))
        (event,) = FORMATS["canal-json"].decode(
            message.key, message.value, FORMATS["canal-json"].Options()
        )
        assert isinstance(event, RowChange) and event.after is not None
        assert set(event.after) == expected


def test_partitions_and_splits_go_by_whole_rows() -> None:
    table = parse_create_table(
        "create table orders (id int primary key, n int, u int unique)", "shop"
    )
    config = selecting("id", "n")
    config["sink"]["dispatchers"] = [{"matcher": ["*.*"], "partition": "index-value", "index": "u"}]
    plain = {"sink": {"dispatchers": config["sink"]["dispatchers"]}}
    update = RowChange(table, 5, {"id": 1, "n": 1, "u": 7}, {"id": 1, "n": 1, "u": 8})
    uri = URI.replace("partition-num=1", "partition-num=16")
    whole = Changefeed(uri, plain).encode(Transaction(5, (update,)))
    cut = Changefeed(uri, config).encode(Transaction(5, (update,)))
    assert summary(cut) == ["delete 1", "insert 1"]
    assert [m.partition for m in cut] == [m.partition for m in whole]


def test_a_selector_leaves_the_flags_of_open_protocol() -> None:
    table = parse_create_table(
        "create table t (id int primary key, a int, b int, unique ab (a, b))", "shop"
    )
    uri = "kafka://b/t?protocol=open-protocol&partition-num=1&max-batch-size=1"
    for made, config in itertools.product((CLASSIC, NEW), (None, selecting("*", "!b"))):
        changefeed = Changefeed(uri, config, **made)
        row = RowChange(table, 5, None, {"id": 1, "a": 2, "b": 3})
        (message,) = [*changefeed.encode(Transaction(5, (row,))), *changefeed.flush()]
        columns = json.loads((message.value or b"")[8:])["u"]
        assert {name: column["f"] for name, column in columns.items() if name != "b"} == {
            "id": 11,
            "a": 113,
        }


def test_a_selectors_and_a_dispatchers_names_have_no_case() -> None:
    config = selecting("id", "n")
    config["sink"]["dispatchers"] = [{"matcher": ["*.*"], "partition": "columns", "columns": ["N"]}]
    assert len(Changefeed(URI, config).encode(Transaction(5, (change("insert"),)))) == 1


def test_a_selector_cannot_take_a_key_or_a_dispatchers_column() -> None:
    changefeed = Changefeed(URI, selecting("n"))
    with pytest.raises(ConfigError, match="excludes id, which its handle key needs"):
        changefeed.encode(Transaction(5, (change("insert"),)))
    config = selecting("id")
    config["sink"]["dispatchers"] = [{"matcher": ["*.*"], "partition": "columns", "columns": ["n"]}]
    changefeed = Changefeed(URI, config)
    with pytest.raises(ConfigError, match="excludes n, which its dispatcher needs"):
        changefeed.encode(Transaction(5, (change("insert"),)))


def test_a_wrong_selector_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"stray '\.b' after the column.*column pattern 'a\.b'"):
        Changefeed(URI, selecting("a.b"))
    with pytest.raises(ConfigError, match="unknown key of a column selector: column"):
        Changefeed(URI, {"sink": {"column-selectors": [{"matcher": ["*.*"], "column": ["a"]}]}})
