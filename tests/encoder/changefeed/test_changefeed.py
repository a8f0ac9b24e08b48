import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from support import golden_replay
from support.golden import Variant, scenario
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.split import mysql_split_mode
from ticdc_encoder.errors import ConfigError, DefinitionError
from ticdc_encoder.event import Ddl, RowChange, Table, Transaction, Value
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.formats.registry import MemoryRegistry
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

# The same code as wrote the golden data, by its promises: the new architecture's head.
NEW: Any = {"version": "8.5.7", "new_architecture": True}
CLASSIC: Any = {"version": "8.5.3"}


def variants(*scenarios: str) -> list[Variant]:
    return [
        variant
        for name in scenarios
        for variant in scenario(name).variants.values()
        if re.match(r"(classic\.)?(canal-json|open)\.", variant.name)
    ]


def replayed(variant: Variant) -> list[Message]:
    made = CLASSIC if variant.name.startswith("classic.") else NEW
    messages, refused = golden_replay.replayed(variant, made=made)
    assert refused == []
    return messages


def comparable(message: Message) -> tuple[bytes | None, bytes | None]:
    """Canal-JSON without what differs from run to run: `ts` and the order in `mysqlType`."""
    value = message.value
    if value is None or not value.startswith(b'{"id":0,'):
        return message.key, value
    value = re.sub(rb'"ts":\d+', b'"ts":0', value, count=1)
    start = value.find(b'"mysqlType":{')
    if start < 0:
        return message.key, value
    start += len(b'"mysqlType":')
    types, length = json.JSONDecoder().raw_decode(value[start:].decode())
    end = start + len(value[start:].decode()[:length].encode())
    text = json.dumps(types, sort_keys=True, ensure_ascii=False).encode()
    return message.key, value[:start] + text + value[end:]


def by_partition(messages: Iterable[Message]) -> dict[tuple[str, int], list[object]]:
    result: dict[tuple[str, int], list[object]] = {}
    for message in messages:
        result.setdefault((message.topic, message.partition), []).append(comparable(message))
    return result


# TiKV's row keys (output-row-key, and `rid` of the old architecture's Open Protocol) and physical
# partition ids are not in the data that we replay.
NOT_THE_SAME_BYTES = {"canal-json.row-key"}


@pytest.mark.parametrize(
    "variant",
    [
        variant
        for variant in variants("keys", "splits", "types", "workload")
        if not variant.name.startswith("classic.") and variant.name not in NOT_THE_SAME_BYTES
    ],
    ids=lambda variant: f"{variant.scenario}-{variant.name}",
)
def test_every_partition_gets_the_bytes_that_ticdc_sent(variant: Variant) -> None:
    assert by_partition(replayed(variant)) == by_partition(variant.records)


LARGE = ["handle-key-only", "batch1", "batch2", "batch16", "batch1000", "batch1000-limit100000"]


@pytest.mark.parametrize("name", ["canal-json.handle-key-only", *(f"open.{n}" for n in LARGE)])
def test_large_rows_and_batches_are_cut_where_ticdc_cuts_them(name: str) -> None:
    variant = scenario("large").variants[name]
    assert by_partition(replayed(variant)) == by_partition(variant.records)


@pytest.mark.parametrize("name", ["canal-json.ext", "canal-json.plain", "canal-json.topic-expr"])
def test_ddl_of_all_kinds_goes_where_ticdc_sends_it(name: str) -> None:
    variant = scenario("ddl").variants[name]
    assert by_partition(replayed(variant)) == by_partition(variant.records)


@pytest.mark.parametrize(
    "variant",
    [v for v in variants("keys", "types", "workload") if v.name.startswith("classic.canal")],
    ids=lambda variant: f"{variant.scenario}-{variant.name}",
)
def test_the_old_architecture_sends_the_same_canal_json(variant: Variant) -> None:
    assert by_partition(replayed(variant)) == by_partition(variant.records)


@pytest.mark.parametrize(
    "variant",
    [v for v in variants("keys", "types", "workload", "splits") if v.name.startswith("classic.")],
    ids=lambda variant: f"{variant.scenario}-{variant.name}",
)
def test_the_old_architecture_sends_the_same_rows_by_kind(
    variant: Variant,
) -> None:
    """Its sort is not stable above 12 rows, and its row ids are not known: the rows of one kind,
    commit_ts and table are compared as a set, and decoded."""
    assert decoded(variant, replayed(variant)) == decoded(variant, variant.records)


def decoded(variant: Variant, messages: Sequence[Message]) -> dict[object, list[object]]:
    protocol = "canal-json" if ".canal-json." in variant.name else "open-protocol"
    format_ = FORMATS[protocol]
    result: dict[object, list[object]] = {}
    for message in messages:
        for event in format_.decode(message.key, message.value, format_.Options()):
            of = result.setdefault((message.topic, message.partition), [])
            if not isinstance(event, RowChange):
                of.append(event)
                continue
            kind = event.before is not None, event.after is not None
            group = (event.commit_ts, event.table.name, kind)
            row = repr((event.before, event.after))
            last = of[-1] if of else None
            if isinstance(last, tuple) and last[0] == group:
                last[1][row] += 1
            else:
                of.append((group, Counter([row])))
    return result


URI = "kafka://127.0.0.1:9092/orders?protocol=canal-json&enable-tidb-extension=true"
ORDERS = parse_create_table("create table orders (id int primary key, v int)", "shop")
NOTES = parse_create_table("create table notes (v int)", "shop")


def inserted(table: Table, **row: Value) -> Transaction:
    return Transaction(9, (RowChange(table, 9, None, row),))


def summary(messages: Iterable[Message]) -> list[tuple[str, int, str, int]]:
    """Topic, partition, type and commit_ts or resolved ts."""
    result = []
    for message in messages:
        assert message.value is not None
        value = json.loads(message.value)
        ts = value["_tidb"].get("commitTs") or value["_tidb"]["watermarkTs"]
        result.append((message.topic, message.partition, value["type"], ts))
    return result


def test_tables_without_a_valid_key_are_skipped_unless_forced() -> None:
    assert Changefeed(URI).encode(inserted(NOTES, v=1)) == []
    assert len(Changefeed(URI, "force-replicate = true").encode(inserted(NOTES, v=1))) == 1
    assert Changefeed(URI).ddl(Ddl("shop", "notes", "CREATE TABLE notes (v INT)", 5)) == []


def test_the_filter_holds_for_rows_and_ddl() -> None:
    changefeed = Changefeed(URI, "[filter]\nrules = ['shop.*', '!shop.orders']")
    assert changefeed.encode(inserted(ORDERS, id=1, v=1)) == []
    assert changefeed.ddl(Ddl("shop", "orders", "DROP TABLE orders", 5)) == []
    assert changefeed.ddl(Ddl("bank", "", "CREATE DATABASE bank", 5)) == []
    assert len(changefeed.ddl(Ddl("shop", "", "CREATE DATABASE shop", 5))) == 1


def test_a_resolved_ts_goes_to_every_partition_of_every_topic() -> None:
    config = {
        "sink": {"dispatchers": [{"matcher": ["shop.*"], "topic": "t_{table}"}]},
    }
    changefeed = Changefeed(URI + "&partition-num=2", config)
    assert changefeed.topics == {"orders": 2}
    create = Ddl("shop", "orders", "CREATE TABLE `orders` (`id` INT PRIMARY KEY,`v` INT)", 5)
    assert summary(changefeed.ddl(create)) == [("t_orders", 0, "CREATE", 5)]
    changefeed.encode(inserted(ORDERS, id=1, v=1))
    assert summary(changefeed.resolve(10)) == [
        (topic, partition, "TIDB_WATERMARK", 10)
        for topic in ("t_orders", "orders")
        for partition in (0, 1)
    ]
    rename = Ddl("shop", "sales", "RENAME TABLE `shop`.`orders` TO `shop`.`sales`", 12)
    assert summary(changefeed.ddl(rename)) == [("t_orders", 0, "RENAME", 12)]
    assert changefeed.topics == {"t_sales": 2, "orders": 2}
    assert summary(changefeed.ddl(Ddl("shop", "sales", "DROP TABLE `shop`.`sales`", 13))) == [
        ("t_sales", 0, "ERASE", 13)
    ]
    assert changefeed.topics == {"orders": 2}


TOPICS_OF_DDL = [
    ([("b", "CREATE TABLE `b` LIKE `a`")], ["t_a", "t_b"]),
    ([("a", "DROP TABLE `shop`.`a`"), ("a", "RECOVER TABLE `a`")], ["t_a"]),
    ([("c", "RENAME TABLE `shop`.`b` TO `shop`.`c`")], ["t_a", "t_c"]),
    ([("b", "ALTER TABLE `b` ADD COLUMN `x` INT")], ["t_a", "t_b"]),
    ([("b", "TRUNCATE TABLE `b`")], ["t_a", "t_b"]),
    ([("b", "DROP TABLE `shop`.`b`")], ["t_a"]),
    ([("w", "CREATE VIEW `w` AS SELECT 1")], ["t_a"]),
]


@pytest.mark.parametrize(("ddls", "expected"), TOPICS_OF_DDL)
def test_a_topic_is_in_use_from_the_first_ddl_of_its_table_on(
    ddls: list[tuple[str, str]], expected: list[str]
) -> None:
    config = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "t_{table}"}]}}
    changefeed = Changefeed(URI, config)
    changefeed.ddl(Ddl("shop", "a", "CREATE TABLE `a` (`id` INT PRIMARY KEY)", 5))
    for ts, (table, query) in enumerate(ddls, 6):
        changefeed.ddl(Ddl("shop", table, query, ts))
    assert [*changefeed.topics] == [*expected, "orders"]


def test_the_kind_of_a_ddl_is_read_from_it_where_none_is_given() -> None:
    for query, kind, type_ in (
        ("CREATE TABLE orders LIKE sales", 0, "CREATE"),
        ("TRUNCATE TABLE orders", 0, "TRUNCATE"),
        ("DROP TABLE orders", 0, "ERASE"),
        ("ALTER TABLE orders ADD INDEX (v)", 7, "CINDEX"),
        ("CREATE VIEW orders AS SELECT 1", 0, "QUERY"),
    ):
        (message,) = Changefeed(URI).ddl(Ddl("shop", "orders", query, 5, kind))
        assert summary([message]) == [("orders", 0, type_, 5)]


def test_dropping_a_database_ends_its_topics() -> None:
    config = "[sink]\ndispatchers = [{matcher = ['*.*'], topic = '{schema}'}]"
    changefeed = Changefeed(URI, config)
    changefeed.encode(inserted(ORDERS, id=1, v=1))
    assert set(changefeed.topics) == {"shop", "orders"}
    changefeed.ddl(Ddl("shop", "", "DROP DATABASE shop", 10))
    assert set(changefeed.topics) == {"orders"}


def test_only_the_old_architecture_sends_a_last_valid_keys_drop() -> None:
    dropped = Ddl("shop", "orders", "ALTER TABLE orders DROP PRIMARY KEY", 10)
    bare = parse_create_table("create table orders (id int, v int)", "shop")
    ddl = Ddl(dropped.schema, dropped.table, dropped.query, 10, 33, bare)
    for made, sent in ((NEW, 0), (CLASSIC, 1)):
        changefeed = Changefeed(URI, **made)
        changefeed.encode(inserted(ORDERS, id=1, v=1))
        assert len(changefeed.ddl(ddl)) == sent
        assert changefeed.encode(inserted(bare, id=2, v=2)) == []


def test_open_protocol_rows_wait_for_their_batch() -> None:
    changefeed = Changefeed("kafka://b/t?protocol=open-protocol&partition-num=1&max-batch-size=2")
    assert changefeed.encode(inserted(ORDERS, id=1, v=1)) == []
    full = changefeed.encode(inserted(ORDERS, id=2, v=1))
    assert changefeed.encode(inserted(ORDERS, id=3, v=1)) == []
    rest = changefeed.flush()
    decode = FORMATS["open-protocol"].decode
    options = FORMATS["open-protocol"].Options()
    assert [len(decode(m.key, m.value, options)) for m in [*full, *rest]] == [2, 1]
    assert changefeed.flush() == []


def test_the_new_architecture_heeds_output_old_value_from_8_5_6() -> None:
    uri = "kafka://b/t?protocol=open-protocol&partition-num=1&max-batch-size=1"
    update = Transaction(9, (RowChange(ORDERS, 9, {"id": 1, "v": 1}, {"id": 1, "v": 2}),))
    config = {"sink": {"open": {"output-old-value": False}}}
    for version, new, old in (
        ("8.5.3", False, False),
        ("8.5.5", False, False),
        ("8.5.5", True, True),
        ("8.5.6", True, False),
    ):
        changefeed = Changefeed(uri, config, version, new_architecture=new)
        (message,) = [*changefeed.encode(update), *changefeed.flush()]
        assert message.value is not None
        assert (b'"p":' in message.value) is old


@pytest.mark.parametrize(
    ("version", "new"), [("8.5.8", True), ("8.5.8", False), ("9.0.0-beta.2.pre", False)]
)
def test_no_release_sends_the_old_rows_of_avro(version: str, new: bool) -> None:
    uri = "kafka://h/t?protocol=avro&schema-registry=http://r&avro-include-before-value=true"
    message = r"avro-include-before-value needs TiCDC's new architecture, of 9\.0\.0 or later"
    with pytest.raises(ConfigError, match=message):
        Changefeed(uri, version=version, new_architecture=new)


def test_settings_without_effect_are_listed() -> None:
    changefeed = Changefeed(
        URI + "&compression=lz4&sasl-password=secret&max-retry=9",
        """
        memory-quota = 1073741824
        [mounter]
        worker-num = 16
        [sink]
        dispatchers = [{matcher = ['a.*'], partition = 'key'}]
        [sink.csv]
        delimiter = ','
        [sink.kafka-config]
        sasl-user = 'me'
        """,
    )
    assert changefeed.ignored == (
        "compression",
        "max-retry",
        "memory-quota",
        "mounter.worker-num",
        "sasl-password",
        "sink.csv.delimiter",
        "sink.dispatchers: partition = 'key'",
        "sink.kafka-config.sasl-user",
    )


TAKEN = [
    ("kafka://h/t?protocol=Canal-JSON", None),
    ("kafka://h/t?protocol=flat-avro", None),
    ("kafka://h/t?protocol=default", None),
    (
        "kafka://h/t?protocol=avro&schema-registry=http://r&transaction-atomicity=none",
        {
            "performance-mode": "high",
            "enable-active-active": False,
            "sink": {
                "iceberg-config": {"a": 1},
                "kafka-config": {
                    "codec-config": {"output-row-key": False},
                    "large-message-handle": {
                        "large-message-handle-option": "",
                        "large-message-handle-compression": "",
                    },
                },
            },
        },
    ),
    (URI, {"sink": {"kafka-config": {"glue-schema-registry-config": {"region": "x"}}}}),
]


@pytest.mark.parametrize(("uri", "config"), TAKEN)
def test_what_ticdc_takes_is_taken(uri: str, config: Any) -> None:
    assert Changefeed(uri, config).topics


def test_the_path_of_the_sink_uri_is_decoded() -> None:
    assert [*Changefeed("kafka://h/a%2Db?protocol=canal-json").topics] == ["a-b"]


CASES = {
    "6.5.5": True,
    "6.5.6": False,
    "6.6.0": True,
    "7.1.2": True,
    "7.1.3": False,
    "7.4.0": True,
    "7.5.0": False,
    "8.5.4": False,
}


@pytest.mark.parametrize(("version", "sensitive"), CASES.items())
def test_the_case_of_names_counts_by_default_in_old_versions(version: str, sensitive: bool) -> None:
    table = parse_create_table("create table T (id int primary key)", "Shop")
    rules = {"filter": {"rules": ["shop.*"]}}
    sent = Changefeed(URI, rules, version).encode(inserted(table, id=1))
    assert len(sent) == (not sensitive)
    config = rules | {"case-sensitive": not sensitive}
    assert len(Changefeed(URI, config, version).encode(inserted(table, id=1))) == sensitive


def test_each_protocol_has_its_own_output_old_value() -> None:
    update = Transaction(9, (RowChange(ORDERS, 9, {"id": 1, "v": 1}, {"id": 1, "v": 2}),))
    for named, old in (("debezium", {}), ("open", {"id": 1, "v": 1})):
        registry = MemoryRegistry()
        changefeed = Changefeed(
            "kafka://b/t?protocol=debezium-avro&partition-num=1&enable-tidb-extension=true",
            {"sink": {named: {"output-old-value": False}}},
            "9.0.0",
            new_architecture=True,
            registry=registry,
        )
        (message,) = changefeed.encode(update)
        wire = FORMATS["debezium-avro"]
        (event,) = wire.decode(message.key, message.value, wire.Options(registry=registry))
        assert isinstance(event, RowChange)
        assert event.before == old


def test_the_sink_uri_rules_over_the_file() -> None:
    config = "[sink]\nprotocol = 'avro'\n[sink.kafka-config]\npartition-num = 7"
    assert Changefeed(URI, config).topics == {"orders": 7}
    assert Changefeed(URI + "&partition-num=2", config).topics == {"orders": 2}


def dispatching(**entry: Any) -> dict[str, Any]:
    return {"sink": {"dispatchers": [{"matcher": ["*.*"], **entry}]}}


LARGE_ROWS = {
    "sink": {
        "kafka-config": {"large-message-handle": {"large-message-handle-option": "handle-key-only"}}
    }
}
REFUSED: list[tuple[str, Any, str]] = [
    ("mysql://root:secret@h/db", None, "the sink URI's scheme is 'mysql', not kafka"),
    ("kafka://h:9092/?protocol=canal-json", None, "names no topic"),
    ("kafka://h/t", None, "protocol is '', not one of avro"),
    ("kafka://h/t?protocol=csv", None, "protocol is 'csv', not one of avro"),
    (URI + "&partition-num=0", None, "partition-num must be at least 1"),
    (URI + "&partition-num=two", None, "partition-num must be of type int"),
    (URI + "&content-compatible=yes", None, "content-compatible must be of type bool"),
    (URI + "&partitions=2", None, "unknown setting: partitions"),
    (URI, "[sink]\nprotocols = 1\n[wibble]\na = 1", "unknown setting: sink.protocols, wibble.a"),
    (URI, "[sink", "is not TOML"),
    (URI, {"case-sensitive": 1}, "case-sensitive must be of type bool"),
    (URI, {"filter": {"rules": "*.*"}}, "filter.rules must be a list of str"),
    (URI, {"filter": {"rules": ["x"]}}, "in the filter rule 'x'"),
    (URI, {"bdr-mode": True}, "bdr-mode is not supported"),
    (f"{'kafka://app:p'}\u2100ss-secret@b:9092/t?protocol=canal-json", None, "is not a URI"),
    ("kafka://[::1/t?protocol=canal-json", None, "is not a URI"),
    (URI + f"&partition-num={'9' * 5000}", None, "partition-num must be of type int"),
    (URI, f"[sink.kafka-config]\npartition-num = {'9' * 5000}", "is not TOML"),
    ("kafka://h/t?protocol=debezium", LARGE_ROWS, "handle-option is not for debezium"),
    ("kafka://h/t?protocol=avro", LARGE_ROWS, "handle-option is not for avro"),
    (
        "kafka://h/t?protocol=avro",
        {"sink": {"kafka-config": {"glue-schema-registry-config": {"region": "x"}}}},
        "glue-schema-registry-config is not supported",
    ),
    (
        URI,
        {
            "integrity": {"integrity-check-level": "correctness"},
            "sink": {"column-selectors": [{"matcher": ["*.*"], "columns": ["*"]}]},
        },
        "column-selectors exclude integrity-check-level",
    ),
    (URI, dispatching(columns="id"), "columns must be a list of str; in sink.dispatchers[0]"),
    (URI, dispatching(columns=[3]), "columns must be a list of str"),
    (URI, dispatching(matcher=5), "matcher must be a list of str"),
    (URI, dispatching(partition=3), "partition must be of type str"),
    (URI, dispatching(topic=3), "topic must be of type str"),
    (URI, dispatching(partition="ts", dispatcher="ts"), "given twice"),
    (URI, {"sink": {"dispatchers": [{"matcher": ["*.*"], "to": 1}]}}, "in sink.dispatchers[0]"),
    (
        URI,
        {"sink": {"kafka-config": {"large-message-handle": {"large-message-handle-option": "x"}}}},
        "is 'x', not one of none, handle-key-only",
    ),
    (
        "kafka://h/t?protocol=canal-json",
        {
            "sink": {
                "kafka-config": {
                    "large-message-handle": {"large-message-handle-option": "handle-key-only"}
                }
            }
        },
        "needs enable-tidb-extension",
    ),
]


@pytest.mark.parametrize(("uri", "config", "message"), REFUSED)
def test_a_wrong_setting_is_named_and_no_secret_shown(uri: str, config: Any, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Changefeed(uri, config)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_old_architecture_refuses_what_contradicts() -> None:
    config = {"force-replicate": True, "sink": {"delete-only-output-handle-key-columns": True}}
    with pytest.raises(ConfigError, match="force-replicate excludes delete-only"):
        Changefeed(URI, config, **CLASSIC)
    Changefeed(URI, config, **NEW)
    with pytest.raises(ConfigError, match="force-replicate excludes large-message-handle-option"):
        Changefeed(URI, {"force-replicate": True, **LARGE_ROWS}, **CLASSIC)


def test_old_values_cannot_be_left_out_where_that_moved_rows() -> None:
    with pytest.raises(ConfigError, match="enable-old-value = false is not supported"):
        Changefeed(URI, "enable-old-value = false", "7.3.0")
    assert Changefeed(URI, "enable-old-value = false", "7.4.0").ignored == ("enable-old-value",)


def test_a_topic_expression_of_avro_names_schema_and_table() -> None:
    uri = "kafka://127.0.0.1:9092/orders?protocol=avro"
    for topic, accepted in [("{schema}_{table}", True), ("all", True), ("{schema}", False)]:
        config = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": topic}]}}
        if accepted:
            Changefeed(uri, config, **NEW)
        else:
            with pytest.raises(ConfigError, match=f"unlike '{topic}'"):
                Changefeed(uri, config, **NEW)


def test_avro_refuses_tables_without_a_key_since_7_3() -> None:
    uri = "kafka://127.0.0.1:9092/orders?protocol=avro"
    Changefeed(uri, "force-replicate = true", "7.2.0")
    for made in ({"version": "7.3.0"}, CLASSIC, NEW):
        with pytest.raises(ConfigError, match="force-replicate is not for avro"):
            Changefeed(uri, "force-replicate = true", **made)


def test_a_ddl_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(DefinitionError):
        Changefeed(URI).ddl(Ddl("shop", "t", "CREATE TABLE t (a wibble)", 5))


# One transaction.

COLUMNS = {"matcher": ["*.*"], "partition": "columns", "columns": ["N"]}
BY_INDEX = {"matcher": ["*.*"], "partition": "index-value", "index": "u"}


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("dispatcher", [COLUMNS, BY_INDEX])
def test_an_update_across_partitions_is_split_where_asked_for(
    dispatcher: dict[str, Any], raw: bool
) -> None:
    table = parse_create_table(
        "create table t (id int primary key, n int not null, unique u (n))", "s"
    )
    old, new = {"id": 1, "n": 1}, {"id": 1, "n": 2}
    kafka = {"output-raw-change-event": raw, "split-update-partition-key": True}
    config = {"sink": {"dispatchers": [dispatcher], "kafka-config": kafka}}
    uri = "kafka://h/t?protocol=canal-json&enable-tidb-extension=true&partition-num=64"

    def sent(config: Any, *changes: RowChange) -> list[tuple[int, str]]:
        messages = Changefeed(uri, config).encode(Transaction(5, changes))
        return [(m.partition, json.loads(m.value or b"")["type"]) for m in messages]

    (at_old, _), (at_new, _) = sent(
        config, RowChange(table, 5, None, old), RowChange(table, 5, None, {**new, "id": 2})
    )
    assert at_old != at_new
    update = RowChange(table, 5, old, new)
    assert sent(config, update) == [(at_old, "DELETE"), (at_new, "INSERT")]
    kafka.pop("split-update-partition-key")
    # TiCDC has no such setting: what is not split for its key goes to the partition of the new row.
    expected = [(at_new, "UPDATE")] if raw else [(at_old, "DELETE"), (at_new, "INSERT")]
    assert sent(config, update) == expected


@pytest.mark.parametrize("dispatcher", [COLUMNS, BY_INDEX])
def test_a_split_delete_of_changed_columns_goes_by_the_whole_row(
    dispatcher: dict[str, Any],
) -> None:
    table = parse_create_table(
        "create table t (id int primary key nonclustered, n int not null, unique u (n))", "s"
    )
    config = {"sink": {"dispatchers": [dispatcher]}}
    old, new = {"id": 1, "n": 7}, {"id": 2, "n": 7}
    sent = []
    for before in (old, {"id": 1}):
        changefeed = Changefeed("kafka://h/t?protocol=canal-json&partition-num=64", config)
        messages = changefeed.encode(Transaction(5, (RowChange(table, 5, before, new),)))
        sent.append([(m.partition, json.loads(m.value or b"")["data"]) for m in messages])
    assert sent[0] == sent[1]
    assert [data for _, data in sent[0]] == [[{"id": "1", "n": "7"}], [{"id": "2", "n": "7"}]]
    changefeed = Changefeed("kafka://h/t?protocol=canal-json&partition-num=64", config)
    with pytest.raises(DefinitionError, match=r"a row of s\.t without `n`, which its partition"):
        changefeed.encode(Transaction(5, (RowChange(table, 5, {"id": 1}, None),)))


def test_rows_of_one_kind_follow_their_clustered_key() -> None:
    changes = [RowChange(ORDERS, 5, None, {"id": n, "v": 0}) for n in (3, -1, 2)]
    changes += [RowChange(ORDERS, 5, {"id": n, "v": 0}, None) for n in (9, 8)]
    messages = Changefeed(URI).encode(Transaction(5, tuple(changes)))
    ids = [json.loads(message.value or b"")["data"][0]["id"] for message in messages]
    assert ids == ["8", "9", "-1", "2", "3"]


def test_an_update_that_stays_in_its_partition_is_whole() -> None:
    table = parse_create_table("create table t (id int primary key, n int, v int)", "s")
    config = {
        "sink": {
            "dispatchers": [COLUMNS],
            "kafka-config": {"split-update-partition-key": True},
        }
    }
    update = RowChange(table, 5, {"id": 1, "n": 1, "v": 1}, {"id": 1, "n": 1, "v": 2})
    (message,) = Changefeed("kafka://h/t?protocol=canal-json", config).encode(
        Transaction(5, (update,))
    )
    assert json.loads(message.value or b"")["type"] == "UPDATE"


def test_a_transaction_is_streamed_as_it_is_encoded() -> None:
    table = parse_create_table("create table t (id int primary key, n int unique)", "s")
    changes = [RowChange(table, 5, {"id": n, "n": n}, {"id": n, "n": -n}) for n in range(1, 500)]
    uri = "kafka://h/t?protocol=open-protocol&partition-num=2"
    whole, streamed = Changefeed(uri), Changefeed(uri)
    expected = whole.encode(Transaction(5, tuple(changes))) + whole.flush()
    result = [*streamed.stream(iter(changes), 5), *streamed.flush()]
    assert result == expected
    assert len(expected) > 10


def test_another_rule_of_splitting_may_be_given_by_commit_ts() -> None:
    table = parse_create_table("create table t (id int primary key, n int)", "s")
    changefeed = Changefeed(
        "kafka://h/t?protocol=canal-json",
        split_mode=lambda ts: mysql_split_mode("8.5.3", ts, threshold_ts=7),
        **CLASSIC,
    )
    sent = []
    for ts in (6, 7):
        update = RowChange(table, ts, {"id": 1, "n": 1}, {"id": 1, "n": 2})
        for message in changefeed.encode(Transaction(ts, (update,))):
            sent.append(json.loads(message.value or b"")["type"])
    assert sent == ["DELETE", "INSERT", "UPDATE"]
