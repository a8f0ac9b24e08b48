from decimal import Decimal
from typing import Any

import pytest
from ticdc_encoder.changefeed.route import Dispatcher, Router
from ticdc_encoder.changefeed.versions import default_goes_by_index
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import RowChange, Table, Value
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.version import version_number

T1 = "create table test.t1 (a int primary key, b int)"
T2 = "create table test.t2 (a int, b int, primary key (a, b))"
MIXED = "create table test.t1 (COL2 int, Col1 int, x int, primary key (Col1, COL2))"
LOWER = "create table test.t1 (col2 int not null, col1 int not null, unique index1 (col2, col1))"


def router(rule: str, partitions: int = 16, **more: Any) -> Router:
    entry = {"matcher": ["*.*"], "partition": rule, **more}
    return Router([Dispatcher.parse(entry)], "topic", partitions, new_architecture=True)


def inserted(sql: str, **row: Value) -> RowChange:
    return RowChange(parse_create_table(sql, "test"), 1000, None, row)


# Asserted by TiCDC's own unit tests: 16 partitions.
HASHES = [
    ("table", {}, inserted(T1, a=1), 15),
    ("default", {}, inserted(T1.replace("t1", "t2"), a=1), 5),
    ("no such rule", {}, inserted(T1.replace("t1", "t3"), a=1), 3),
    ("index-value", {}, inserted(T1, a=11, b=0), 2),
    ("rowid", {}, inserted(T1, a=22, b=0), 11),
    ("INDEX-VALUE", {}, inserted(T2, a=11, b=22), 5),
    ("index-value", {}, inserted(T2, a=11, b=0), 14),
    ("index-value", {}, inserted(T2, a=11, b=33), 2),
    ("index-value", {}, inserted(MIXED, COL2=22, Col1=11, x=5), 5),
    ("columns", {"columns": ["col1", "Col2"]}, inserted(MIXED, COL2=22, Col1=11, x=5), 5),
    ("index-value", {"index": "INDEX1"}, inserted(LOWER, col2=11, col1=22), 15),
    ("ts", {}, inserted(T1, a=1), 1000 % 16),
]


@pytest.mark.parametrize(("rule", "more", "change", "partition"), HASHES)
def test_the_hash_is_that_of_ticdc(
    rule: str, more: dict[str, Any], change: RowChange, partition: int
) -> None:
    assert router(rule, **more).partition(change) == partition


TWO_KEYS = T1.replace("b int", "b int, unique (b)")


@pytest.mark.parametrize(
    ("sql", "rule", "as_rule"),
    [
        (T1, "default", "index-value"),
        (T1, "no such rule", "index-value"),
        (T1, "table", "table"),
        (TWO_KEYS, "default", "table"),
    ],
)
def test_the_default_uses_the_only_key_where_old_values_are_off(
    sql: str, rule: str, as_rule: str
) -> None:
    entry = Dispatcher.parse({"matcher": ["*.*"], "partition": rule})
    off = Router([entry], "topic", 16, default_by_index=True)
    row = inserted(sql, a=11, b=0)
    assert off.partition(row) == router(as_rule).partition(row)
    assert router("default").partition(row) == router("table").partition(row)


VERSIONS = [
    ("6.5.2", False),
    ("6.5.3", True),
    ("6.5.12", True),
    ("7.1.0", False),
    ("7.1.3", True),
    ("7.1.4", False),
    ("7.3.0", True),
    ("7.4.0", False),
]


@pytest.mark.parametrize(("version", "goes"), VERSIONS)
def test_old_values_are_off_for_avro_in_some_releases(version: str, goes: bool) -> None:
    assert default_goes_by_index(version_number(version), "avro") is goes
    assert not default_goes_by_index(version_number(version), "canal-json")


VIRTUAL = "create table test.t1 (id int primary key, v int as (id + 1), a int, b int, unique b (b))"


@pytest.mark.parametrize(
    ("entry", "column"),
    [
        ({"partition": "columns", "columns": ["a"]}, "b"),
        ({"partition": "columns", "columns": ["id"]}, "id"),
        ({"partition": "index-value"}, "id"),
    ],
)
def test_the_old_architecture_is_one_off_after_a_virtual_column(
    entry: dict[str, Any], column: str
) -> None:
    change = inserted(VIRTUAL, id=1, a=20, b=30)
    whole = {"matcher": ["*.*"], "partition": "columns", "columns": [column]}
    old = Router([Dispatcher.parse({"matcher": ["*.*"], **entry})], "t", 1 << 32)
    assert old.partition(change) == router(**without_matcher(whole)).partition(change)


def without_matcher(entry: dict[str, Any]) -> dict[str, Any]:
    return {"rule": entry["partition"], "columns": entry["columns"], "partitions": 1 << 32}


@pytest.mark.parametrize(
    "entry",
    [
        {"partition": "columns", "columns": ["b"]},
        {"partition": "index-value", "index": "b"},
    ],
)
def test_a_virtual_column_that_stops_the_changefeed_is_refused(
    entry: dict[str, Any],
) -> None:
    old = Router([Dispatcher.parse({"matcher": ["*.*"], **entry})], "t", 16)
    with pytest.raises(ConfigError, match="has virtual columns before those of its dispatcher"):
        old.partition(inserted(VIRTUAL, id=1, a=20, b=30))


def test_an_update_goes_by_its_new_row_and_a_delete_by_its_old() -> None:
    table = parse_create_table(T1, "test")
    old, new = {"a": 11, "b": 1}, {"a": 22, "b": 1}
    routed = router("index-value")
    assert routed.partition(RowChange(table, 1, old, None)) == 2
    assert routed.partition(RowChange(table, 1, old, new)) == 11


def partition(rule: str, sql: str, row: dict[str, Value], **more: Any) -> int:
    return router(rule, 1 << 32, **more).partition(inserted(sql, **row))


def test_null_is_left_out_and_was_the_word_before() -> None:
    sql = "create table t (id int primary key, v int)"
    change = inserted(sql, id=1, v=None)
    of_table = partition("table", sql, {"id": 1})
    by_v = {"matcher": ["*.*"], "partition": "columns", "columns": ["v"]}
    dispatchers = [Dispatcher.parse(by_v)]
    new = Router(dispatchers, "t", 1 << 32, new_architecture=True)
    assert new.partition(change) == of_table
    text = "create table t (id int primary key, v varchar(9))"
    old = Router(dispatchers, "t", 1 << 32)
    assert old.partition(change) == old.partition(inserted(text, id=1, v="null"))


SAME_TEXT = [
    ("double", 1e22, "1" + "0" * 22),
    ("double", 1.0, "1"),
    ("float", 0.1, "0.1"),
    ("decimal(9,3)", Decimal("-1.500"), "-1.500"),
    ("bit(9)", 257, "257"),
    ("enum('a','b')", 2, "2"),
    ("bigint unsigned", (1 << 64) - 1, "18446744073709551615"),
    ("varbinary(9)", b"ab", "ab"),
    ("datetime(3)", "2024-01-01 00:00:00.500", "2024-01-01 00:00:00.500"),
]


@pytest.mark.parametrize(("type_", "value", "text"), SAME_TEXT)
def test_values_are_hashed_as_their_text(type_: str, value: Value, text: str) -> None:
    typed = f"create table t (id int primary key, v {type_})"
    plain = "create table t (id int primary key, v varchar(99))"
    assert partition("columns", typed, {"id": 1, "v": value}, columns=["v"]) == partition(
        "columns", plain, {"id": 1, "v": text}, columns=["v"]
    )


def test_bytes_are_hashed_as_they_are() -> None:
    sql = "create table t (id varbinary(9) primary key)"
    assert len({partition("index-value", sql, {"id": raw}) for raw in (b"\xff", b"\xfe", b"")}) == 3


def test_timestamps_are_hashed_in_the_servers_time_zone() -> None:
    sql = "create table t (id {} primary key)"
    dispatchers = [Dispatcher.parse({"matcher": ["*.*"], "partition": "index-value"})]
    shanghai = Router(dispatchers, "t", 1 << 32, time_zone="Asia/Shanghai")
    utc = Router(dispatchers, "t", 1 << 32)
    assert shanghai.partition(
        inserted(sql.format("timestamp"), id="2024-01-01 00:00:00")
    ) == utc.partition(inserted(sql.format("datetime"), id="2024-01-01 08:00:00"))


def test_without_a_handle_key_index_value_is_the_table() -> None:
    sql = "create table t (a int)"
    assert partition("index-value", sql, {"a": 5}) == partition("table", sql, {"a": 5})


def test_the_first_dispatcher_that_matches_decides() -> None:
    routed = Router(
        [
            Dispatcher.parse({"matcher": ["shop.*", "!shop.log"], "topic": "x_{schema}"}),
            Dispatcher.parse({"matcher": ["Shop.Log"], "topic": "logs", "dispatcher": "ts"}),
        ],
        "rest",
        lambda topic: {"x_shop": 2, "logs": 3}.get(topic, 1),
    )
    assert routed.topic("shop", "orders") == "x_shop"
    assert routed.topic("SHOP", "LOG") == "logs"
    assert routed.topic("bank", "log") == "rest"
    assert routed.topic("shop", "") == "rest"
    log = parse_create_table("create table log (id int primary key)", "shop")
    assert routed.partition(RowChange(log, 8, None, {"id": 1})) == 8 % 3


def test_case_counts_where_asked() -> None:
    dispatchers = [Dispatcher.parse({"matcher": ["Shop.*"], "topic": "shop"})]
    assert Router(dispatchers, "rest", 1, case_sensitive=True).topic("shop", "t") == "rest"


TOPICS = [
    ("{schema}_{table}", "db", "t", "db_t"),
    ("x.{schema}-{table}.y", "数据 库", "t;", "x.__" + "_" + "_-t_.y"),
    ("pre{schema}", "db", "t", "predb"),
    ("a{table}", "db", "t", "at"),
    ("plain", "db", "t", "plain"),
    ("{schema}", ".", "t", "_"),
    ("{table}", "db", "..", "__"),
    ("{schema}_{table}", "d" * 200, "t" * 200, "d" * 200 + "_" + "t" * 48),
]


@pytest.mark.parametrize(("expression", "schema", "table", "topic"), TOPICS)
def test_a_topic_expression_makes_a_name_that_kafka_takes(
    expression: str, schema: str, table: str, topic: str
) -> None:
    dispatcher = Dispatcher.parse({"matcher": ["*.*"], "topic": expression})
    assert Router([dispatcher], "default", 1).topic(schema, table) == topic


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"topic": "{table}_{schema}"}, "not a topic expression"),
        ({"topic": "a b"}, "not a topic expression"),
        ({"topic": "{column}"}, "not a topic expression"),
        ({"partition": "columns"}, "needs a list of columns"),
        ({"partitions": 3}, "unknown key of a dispatcher: partitions"),
    ],
)
def test_a_malformed_dispatcher_is_refused(entry: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Dispatcher.parse({"matcher": ["*.*"], **entry})


@pytest.mark.parametrize(
    ("rule", "more", "message"),
    [
        ("index-value", {"index": "no"}, "s.t has no index no"),
        ("index-value", {"index": "plain"}, "index plain of s.t is not unique"),
        ("index-value", {"index": "uv"}, "column v of s.t is virtual"),
        ("columns", {"columns": ["id", "no"]}, "s.t has no column no"),
    ],
)
def test_a_table_lacks_what_the_dispatcher_names(
    rule: str, more: dict[str, Any], message: str
) -> None:
    table: Table = parse_create_table(
        "create table t (id int primary key, p int, v int as (p), unique uv (v), key plain (p))",
        "s",
    )
    with pytest.raises(ConfigError, match=message):
        router(rule, **more).partition(RowChange(table, 1, None, {"id": 1, "p": 1}))
