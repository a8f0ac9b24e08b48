import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Variant, scenario
from support.golden_changes import table_at
from support.golden_replay import replayed, sent_changes
from support.wire_values import COLUMNS, rows
from support.wire_vectors import vectors
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.column import Column
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table, Transaction, Value
from ticdc_encoder.formats import MessageTooLarge
from ticdc_encoder.formats.debezium_avro import Encoder, Options, decode
from ticdc_encoder.formats.defaults import stored_default
from ticdc_encoder.formats.registry import MemoryRegistry, SchemaId, frame
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

SAMPLE: dict[str, Any] = vectors("debezium_avro")
FOO = parse_create_table(SAMPLE["ddl"], "test")
MASTER: Any = {"version": "9.0.0", "new_architecture": True}


def opened(schemas: Mapping[SchemaId, str] | None = None, **options: Any) -> Options:
    return Options(registry=MemoryRegistry(schemas), topic="default", **options)


def one(events: list[Event]) -> RowChange:
    (event,) = events
    assert isinstance(event, RowChange)
    return event


def test_the_documents_row_is_read_and_written() -> None:
    options = opened(
        {1: SAMPLE["key_schema"], 2: SAMPLE["value_schema"]},
        cluster_id="dbserver1",
        enable_tidb_extension=False,
        avro_bigint_unsigned_handling_mode="string",
    )
    options = replace(options, topic=SAMPLE["topic"])
    key, value = bytes.fromhex(SAMPLE["key_hex"]), bytes.fromhex(SAMPLE["value_hex"])
    change = one(decode(key, value, options))
    row: dict[str, Value] = {
        "id": 1,
        "name": "alice",
        "bin": bytes.fromhex("010203"),
        "price": Decimal("12.3400"),
        "ubig": (1 << 64) - 1,
        "v": None,
    }
    # Without the extension, nothing tells that these digits are a number's.
    assert change.after == row | {"ubig": str(row["ubig"])}
    assert (change.before, change.commit_ts) == (None, SAMPLE["expected"]["commit_ts"])
    assert (change.table.schema, change.table.name) == ("test", "foo")
    assert change.table.handle_key == ("id",)
    clock = 1701326309000
    end = value[-6:]
    encoder = Encoder(options, lambda: clock)
    ((key_, value_),) = encoder.row(RowChange(FOO, 1, None, row))
    assert (key_, (value_ or b"")[:-6] + end) == (key, value)
    registry = options.registry
    assert isinstance(registry, MemoryRegistry)
    assert registry.subjects == {SAMPLE["key_subject"]: [1], SAMPLE["value_subject"]: [2]}


# TiCDC's own messages.

GOLDEN = [
    variant
    for name in ("keys", "types", "workload", "ddl")
    for variant in scenario(name).variants.values()
    if variant.name.startswith("debezium-avro")
]


def named(variant: Variant) -> str:
    return f"{variant.scenario}-{variant.name}"


def registry_of(variant: Variant) -> MemoryRegistry:
    return MemoryRegistry({schema["id"]: schema["schema"] for schema in variant.schemas})


def sendable(variant: Variant, change: RowChange) -> bool:
    """Whether TiCDC could send the change: not of a table with a virtual column, nor, as a long, a
    BIGINT UNSIGNED beyond 2^63."""
    if any(column.generated == "virtual" for column in change.table.columns):
        return False
    if "handling-mode=string" in variant.sink_uri:
        return True
    unsigned = {c.name for c in change.table.columns if c.type.unsigned and c.type.name == "bigint"}
    rows_ = [row for row in (change.before, change.after) if row]
    return not any(int(str(row[n] or 0)) >= 1 << 63 for row in rows_ for n in unsigned if n in row)


def lossy(column: Column, value: Value) -> Value:
    """What is left of a value. Lost are: NULL where there is a DEFAULT, dates that are none, years
    before 100, the zero TIMESTAMP's digits, those of a DATETIME or TIME that are zeros, and an
    ENUM's invalid value beside a member ''."""
    type_ = column.type
    if type_.name == "enum" and value == 0 and "" in type_.elements:
        return type_.elements.index("") + 1
    stored = stored_default(column)
    if value is None:
        if stored is None or (stored == "CURRENT_TIMESTAMP" and type_.name == "timestamp"):
            return None
        value = _default(column, stored)
    if type_.name in ("date", "datetime") and isinstance(value, str):
        value = _real_date(value, column.nullable)
    if type_.name == "timestamp" and isinstance(value, str) and value.startswith("0000"):
        return "0000-00-00 00:00:00"
    if type_.name in ("datetime", "time") and isinstance(value, str):
        whole, _, digits = value.partition(".")
        width = 3 if type_.name == "datetime" and (type_.decimals or 0) <= 3 else 6
        return f"{whole}.{digits.ljust(width, '0')}" if digits.strip("0") else whole
    if type_.name == "float" and isinstance(value, float):
        return f"{value:.6g}"
    return value


def _default(column: Column, stored: int | str) -> Value:
    name, elements = column.type.name, column.type.elements
    if isinstance(stored, int) or name in ("varchar", "timestamp", "datetime"):
        return "1970-01-01 00:00:00" if stored == "CURRENT_TIMESTAMP" else stored
    if name == "decimal":
        return Decimal(stored)
    if name == "enum":
        return elements.index(stored) + 1
    if name == "set":
        return sum(1 << elements.index(each) for each in stored.split(","))
    if name == "double":
        return float(stored)
    return stored.encode() if column.type.binary else int(stored)


def _real_date(value: str, nullable: bool) -> str | None:
    day, space, clock = value.partition(" ")
    year, month, number = map(int, day.split("-"))
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    try:
        real = date(year, month, number)
    except ValueError:
        return None if nullable else "1970-01-01" + (" 00:00:00" if space else "")
    return f"{real.isoformat()}{space}{clock}"


def fact(table: Table, change: RowChange) -> tuple[Any, ...]:
    images = []
    for row in (change.before, change.after):
        values = None
        if row is not None:
            values = tuple((n, lossy(table.column(n), v)) for n, v in sorted(row.items()))
        images.append(values)
    return table.schema, table.name, change.commit_ts, *images


def typed(table: Table, row: Row | None) -> Row | None:
    """A decoded row, digits that came as text without the extension as numbers."""
    if row is None:
        return None
    types = {column.name: column.type.name for column in table.columns}
    return {
        name: int(value) if types[name] == "bigint" and isinstance(value, str) else value
        for name, value in row.items()
    }


@pytest.mark.parametrize("variant", GOLDEN, ids=named)
def test_the_golden_messages_say_what_happened_upstream(variant: Variant) -> None:
    """But for what Debezium loses; true names are there."""
    options = Options(registry=registry_of(variant))
    decoded = []
    for record in variant.records:
        change = one(decode(record.key, record.value, options))
        table = table_at(variant.scenario, change.table.schema, change.table.name, change.commit_ts)
        assert {*change.table.handle_key} == {*table.handle_key}
        change = replace(
            change, before=typed(table, change.before), after=typed(table, change.after)
        )
        decoded.append(fact(table, change))
    happened = [fact(c.table, c) for c in sent_changes(variant) if sendable(variant, c)]
    assert sorted(decoded, key=repr) == sorted(happened, key=repr)


def without_ids(
    messages: Iterable[Message], schemas: Mapping[SchemaId, str]
) -> dict[tuple[str, int], list[Any]]:
    """Each partition's messages with their schemas' texts for ids, and without `ts_ms` at the end,
    which says when they were made."""
    records: dict[tuple[str, int], list[Any]] = {}
    for message in messages:
        parts = []
        for data in (message.key, message.value):
            assert data is not None
            parts.append((schemas[int.from_bytes(data[1:5], "big")], data[5:]))
        (key, value) = parts
        of = records.setdefault((message.topic, message.partition), [])
        of.append((key, value[0], value[1][:-6]))
    return records


@pytest.mark.parametrize("variant", GOLDEN, ids=named)
def test_every_partition_gets_the_bytes_that_ticdc_sent(variant: Variant) -> None:
    registry = MemoryRegistry()
    messages, refused = replayed(variant, registry)
    # The rows of TiCDC's errors; where a split UPDATE has two, ours stops at the first.
    assert (refused != []) is (variant.encode_errors != ())
    theirs = without_ids(variant.records, registry_of(variant).schemas)
    assert without_ids(messages, registry.schemas) == theirs


@pytest.mark.parametrize("variant", [v for v in GOLDEN if not v.encode_errors], ids=named)
def test_the_registry_gets_the_schemas_in_ticdcs_order_and_text(variant: Variant) -> None:
    registry = MemoryRegistry()
    replayed(variant, registry)
    assert registry.schemas == registry_of(variant).schemas
    subjects: dict[str, list[SchemaId]] = {}
    for schema in variant.schemas:
        subjects.setdefault(schema["subject"], []).append(schema["id"])
    assert registry.subjects == subjects


# Our own round trips.

MEMBERS = ("a", "b", "d'e", "中", "x y")
WIDE = tuple(
    replace(
        column,
        name=column.name.replace(" ", "-"),
        type=replace(
            column.type,
            length={"bit": 64, "decimal": 30}.get(column.type.name),
            decimals={"datetime": 3, "decimal": 4}.get(column.type.name),
            elements=MEMBERS if column.type.name == "set" else column.type.elements,
        ),
    )
    for column in COLUMNS
)
TABLE = Table("s", "t", WIDE, handle_key=("bigint",))


def written_rows() -> st.SearchStrategy[dict[str, Value]]:
    return rows().map(lambda row: {n.replace(" ", "-"): v for n, v in row.items()})


@given(
    row=written_rows(),
    before=st.none() | written_rows(),
    decimals=st.sampled_from(["precise", "string"]),
)
def test_what_is_written_is_read_but_for_what_is_lost(
    row: dict[str, Value], before: dict[str, Value] | None, decimals: str
) -> None:
    options = opened(
        avro_decimal_handling_mode=decimals, avro_bigint_unsigned_handling_mode="string"
    )
    for change in (RowChange(TABLE, 5, before, row), RowChange(TABLE, 6, row, None)):
        (record,) = Encoder(options).row(change)
        event = one(decode(*record, options))
        assert fact(TABLE, event) == fact(TABLE, change)
        assert event.table.handle_key == ("bigint",)
        assert {c.name: c.type.name for c in event.table.columns} == {
            c.name: c.type.name for c in WIDE
        }


def test_an_update_may_lack_its_old_row() -> None:
    options = opened(output_old_value=False)
    row: dict[str, Value] = {"id": 1, "name": "a", "bin": None, "price": None, "ubig": 1, "v": 2}
    (record,) = Encoder(options).row(RowChange(FOO, 5, {**row, "v": 1}, row))
    change = one(decode(*record, options))
    assert (change.before, change.after) == ({}, row)


def test_ddl_and_resolved_ts_come_back() -> None:
    options = opened(avro_enable_watermark=True)
    encoder = Encoder(options)
    ddl = Ddl("test", "foo", SAMPLE["ddl"], 7, 3, FOO)
    assert decode(*encoder.ddl(ddl), options) == [replace(ddl, kind=0)]
    schema = Ddl("test", "", "CREATE DATABASE test", 6, 1)
    assert decode(*encoder.ddl(schema), options) == [replace(schema, kind=0)]
    assert decode(*encoder.resolved(Resolved(9)), options) == [Resolved(9)]
    registry = options.registry
    assert isinstance(registry, MemoryRegistry)
    assert "default" not in {subject.split("-")[0] for subject in registry.subjects}
    assert encoder.flush() == []


def test_a_changefeed_sends_them_where_it_is_told_to() -> None:
    uri = "kafka://b/t?protocol=debezium-avro&partition-num=2&enable-tidb-extension=true"
    ddl = Ddl("test", "foo", SAMPLE["ddl"], 7, 3, FOO)
    for more, count in (("", 0), ("&avro-enable-watermark=true", 2)):
        changefeed = Changefeed(uri + more, registry=MemoryRegistry(), **MASTER)
        assert len(changefeed.ddl(ddl)) == len(changefeed.resolve(9)) == count
    row = dict.fromkeys(("name", "bin", "price", "ubig", "v"), None)
    change = RowChange(FOO, 8, None, {"id": 1, **row})
    assert len(changefeed.encode(Transaction(8, (change,)))) == 1
    assert changefeed.ddl(Ddl("test", "foo", "ALTER TABLE `foo` CACHE", 9, 57, FOO)) == []


@pytest.mark.parametrize(
    ("version", "new", "has"),
    [
        *[("8.5.8", True, False), ("9.0.0", True, True), ("9.0.0", False, False)],
        *[("26.3.2", True, False), ("26.3.3", True, True)],
    ],
)
def test_tidb_x_and_ticdcs_master_have_it(version: str, new: bool, has: bool) -> None:
    made: Any = {"version": version, "new_architecture": new, "registry": MemoryRegistry()}
    if has:
        Changefeed("kafka://b/t?protocol=debezium-avro", **made)
        return
    with pytest.raises(ConfigError, match="protocol debezium-avro needs the new architecture of"):
        Changefeed("kafka://b/t?protocol=debezium-avro", **made)


# What cannot be.


def test_a_row_by_the_schema_of_another_table_is_refused() -> None:
    options = opened()
    foo = replace(FOO, name="bar")
    row: dict[str, Value] = {"id": 1, "name": "a", "bin": None, "price": None, "ubig": 1, "v": 2}
    ((key, value),) = Encoder(options).row(RowChange(foo, 5, None, row))
    ((_, other),) = Encoder(options).row(RowChange(FOO, 5, None, row))
    assert key is not None and value is not None and other is not None
    with pytest.raises(
        WireError, match=r"a row of test\.foo by the schema of another table, \S+bar"
    ):
        decode(key, value[:5] + other[5:], options)


def test_a_table_with_a_virtual_column_cannot_be_sent() -> None:
    table = parse_create_table("create table t(id int primary key, v int as (id) virtual)", "s")
    with pytest.raises(DefinitionError, match=r"s\.t has the virtual column `v`: TiCDC cannot"):
        Encoder(opened()).row(RowChange(table, 5, None, {"id": 1}))


def test_columns_whose_names_become_one_are_refused() -> None:
    table = parse_create_table("create table t(`a b` int primary key, `a-b` int)", "s")
    with pytest.raises(DefinitionError, match=r"two fields of default\.s\.t are `a_b` in Avro"):
        Encoder(opened()).row(RowChange(table, 5, None, {"a b": 1, "a-b": 2}))


BIG: dict[str, Value] = {"id": 1, "name": "a", "bin": None, "price": None, "v": None}
UNWRITABLE: list[tuple[dict[str, Value], str]] = [
    ({**BIG, "ubig": 1 << 63}, "column `ubig` of test.foo, bigint: not an integer of 64 bits"),
    (BIG, "column `ubig` of test.foo, bigint: not in the row"),
    ({**BIG, "ubig": 1, "name": 5}, "column `name` of test.foo, varchar: not text"),
]


@pytest.mark.parametrize(("row", "message"), UNWRITABLE)
def test_a_row_that_cannot_be_written_names_its_column(row: dict[str, Value], message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Encoder(opened()).row(RowChange(FOO, 5, None, row))
    assert str(caught.value) == message


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="debezium-avro needs a schema registry"):
        Encoder(Options())
    for options in (opened(), opened(avro_enable_watermark=True, enable_tidb_extension=False)):
        with pytest.raises(
            ConfigError, match="debezium-avro has a DDL only with avro-enable-watermark"
        ):
            Encoder(options).ddl(Ddl("s", "t", "x", 5))
        with pytest.raises(ConfigError, match="debezium-avro has a resolved ts only with"):
            Encoder(options).resolved(Resolved(5))
    with pytest.raises(MessageTooLarge, match=r"a row of test\.foo takes \d+ bytes"):
        Encoder(opened(max_message_bytes=100)).row(RowChange(FOO, 5, None, {**BIG, "ubig": 1}))


KEY, VALUE = bytes.fromhex(SAMPLE["key_hex"]), bytes.fromhex(SAMPLE["value_hex"])


def field(**about: Any) -> str:
    row = {"type": "record", "name": "r", "fields": [{"name": "c", "default": None, **about}]}
    before = {"name": "before", "type": ["null", row], "default": None}
    return json.dumps({"type": "record", "name": "e", "fields": [before]})


BAD_SCHEMAS: dict[SchemaId, str] = {
    1: SAMPLE["key_schema"],
    2: SAMPLE["value_schema"],
    10: "{",
    11: field(type=["null", "int", "string"]),
    12: field(type=["null", "bytes"], tidb_type="varchar"),
    13: field(type=["null", "int"], tidb_type="wibble"),
    14: json.dumps({"type": "record", "name": "r", "fields": [{"type": "int"}]}),
}

MALFORMED: list[tuple[bytes | None, bytes | None, str]] = [
    (KEY, None, "a debezium-avro record without a key or a value"),
    (None, VALUE, "a debezium-avro record without a key or a value"),
    (b"x", VALUE, "the key does not begin with the id of a schema"),
    (
        KEY,
        b'{"payload":{}}',
        "the value does not begin with the id of a schema (it looks like debezium)",
    ),
    (KEY, VALUE[:-1], "the value ends early"),
    (KEY, VALUE + b"\0", "the value has bytes after its record"),
    (KEY, frame(10), "the schema is not JSON"),
    (KEY, frame(11), "field `c` has more than one type"),
    (KEY, frame(12), "field `c` has tidb_type varchar, but bytes"),
    (KEY, frame(13), "an unknown tidb_type: 'wibble'"),
    (frame(14), VALUE, "a field without a name"),
    (KEY, frame(1) + b"\2\2", "not a debezium record with a source"),
    (KEY, VALUE.replace(b"\2c", b"\2x"), "op is not c, u, d or m"),
    (KEY, VALUE.replace(b"\2c", b"\2d"), "op d with a row too many, or too few"),
]


@pytest.mark.parametrize(("key", "value", "message"), MALFORMED)
def test_malformed_messages_are_named(key: bytes | None, value: bytes | None, message: str) -> None:
    with pytest.raises(WireError) as caught:
        decode(key, value, opened(BAD_SCHEMAS))
    assert str(caught.value) == message


@given(at=st.integers(5, len(VALUE) - 1), byte=st.integers(0, 255))
def test_a_damaged_message_is_read_or_refused(at: int, byte: int) -> None:
    options = opened(BAD_SCHEMAS)
    try:
        decode(KEY, VALUE[:at] + bytes([byte]) + VALUE[at + 1 :], options)
    except WireError as error:
        assert str(error)
