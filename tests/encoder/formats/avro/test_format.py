import json
import pickle
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.wire_values import COLUMNS, rows
from support.wire_vectors import vectors
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.column import Column
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table, Transaction, Value
from ticdc_encoder.formats import FORMATS, MessageTooLarge, MissingCommitTs
from ticdc_encoder.formats.avro import Encoder, Options, decode
from ticdc_encoder.formats.avro import names as avro_names
from ticdc_encoder.formats.checksum import ChecksumMismatch
from ticdc_encoder.formats.names import sanitize
from ticdc_encoder.formats.registry import (
    ConfluentRegistry,
    MemoryRegistry,
    RegistryError,
    SchemaId,
    frame,
)
from ticdc_encoder.sql.parser import parse_create_table

VECTORS: dict[str, Any] = vectors("avro")
PERSON = parse_create_table("create table person(id int primary key, age int)", "test")


def opened(schemas: Mapping[SchemaId, str] | None = None, **options: Any) -> Options:
    options = {"new_architecture": True} | options
    return Options(registry=MemoryRegistry(schemas), topic="default", **options)


def encoded(change: RowChange, options: Options) -> tuple[bytes | None, bytes | None]:
    (record,) = Encoder(options).row(change)
    return record


# The documents' and TiCDC's own samples.


@pytest.mark.parametrize("registry", ["confluent", "glue"])
def test_both_registries_frames_are_read(registry: str) -> None:
    sample = VECTORS["01_envelope"]
    message = bytes.fromhex(sample[registry]["message_hex"])
    schema_id = sample["confluent"]["schema_id"]
    if registry == "glue":
        schema_id = UUID(sample["glue"]["schema_version_id"])
    assert frame(schema_id) + b"\x0e" == message
    # The sample's schema has no tidb_type, which TiCDC always tells.
    schema = json.dumps(sample["schema"]).replace(
        '"int"', '{"type": "int", "connect.parameters": {"tidb_type": "INT"}}'
    )
    options = opened({schema_id: schema}, require_commit_ts=False)
    (event,) = decode(message, message, options)
    assert isinstance(event, RowChange)
    assert event.after == sample["expected"]
    assert event.table.handle_key == ("id",)


def test_names_are_those_that_ticdc_makes() -> None:
    sample = VECTORS["02_names"]
    for name, clean in sample["sanitize_name"]:
        assert sanitize(name) == clean
    for case in sample["namespace"]:
        namespace = avro_names.namespace(case["namespace"], case["schema"])
        assert namespace == case["avro_namespace"]
    for namespace, schema in sample["schema_name_from_namespace"]:
        assert avro_names.schema_name(namespace) == schema
    for case in sample["subject"]:
        part = case["suffix"].removeprefix("-")
        assert avro_names.subject(case["topic"], part) == case["subject"]


def test_watermark_mode_has_ddl_marks_and_a_deletes_commit_ts() -> None:
    mark, ddl, marker = VECTORS["03_watermark_ddl_delete_marker"]["messages"]
    options = opened(avro_enable_watermark=True)
    encoder = Encoder(options)
    resolved = Resolved(mark["expected"]["commit_ts"])
    expected = ddl["expected"]
    change = Ddl(
        expected["schema"],
        expected["table"],
        expected["query"],
        expected["commitTs"],
        expected["type"],
    )
    delete = RowChange(PERSON, marker["expected"]["commit_ts"], {"id": 1, "age": 18}, None)
    assert encoder.resolved(resolved) == (None, bytes.fromhex(mark["value_hex"]))
    assert encoder.ddl(change) == (None, bytes.fromhex(ddl["value_hex"]))
    ((key, value),) = encoder.row(delete)
    assert value == bytes.fromhex(marker["value_hex"])
    assert decode(*encoder.resolved(resolved), options) == [resolved]
    assert decode(*encoder.ddl(change), options) == [change]
    (event,) = decode(key, value, options)
    assert isinstance(event, RowChange)
    assert (event.commit_ts, event.before, event.after) == (delete.commit_ts, {"id": 1}, None)
    # The old architecture has no such mark.
    assert encoded(delete, replace(options, new_architecture=False))[1] is None


PERSON_SCHEMAS: dict[SchemaId, str] = {
    int(schema_id): about["schema"] for schema_id, about in VECTORS["04_person"]["schemas"].items()
}


@pytest.mark.parametrize(
    "sample", VECTORS["04_person"]["messages"], ids=lambda sample: str(sample["name"])
)
def test_the_documents_person_is_read_and_written(sample: dict[str, Any]) -> None:
    expected = sample["expected"]
    key = bytes.fromhex(sample["key_hex"])
    value = sample["value_hex"] and bytes.fromhex(sample["value_hex"])
    options = opened(
        PERSON_SCHEMAS,
        enable_tidb_extension="off" not in sample["name"],
        avro_include_before_value="before" in sample["name"] and "except" not in sample["name"],
        require_commit_ts=False,
    )
    (event,) = decode(key, value, options)
    assert isinstance(event, RowChange)
    assert (event.table.schema, event.table.name) == ("test", "person")
    assert event.table.handle_key == ("id",)
    assert event.commit_ts == (expected.get("commit_ts") or 0)
    row, before = expected["row"], expected.get("before")
    if expected["op"] == "d":
        assert (event.before, event.after) == (before or {"id": 1}, None)
    else:
        assert (event.before, event.after) == (
            {} if expected["op"] == "u" and not before else before,
            row,
        )
    if before is None and expected["op"] == "u":
        before = row
    change = RowChange(
        PERSON,
        event.commit_ts,
        (before or {"id": 1, "age": 1}) if expected["op"] == "d" else before,
        None if expected["op"] == "d" else row,
    )
    assert encoded(change, options) == (key, value)


def test_null_and_defaults_decide_the_order_of_a_union() -> None:
    sample = VECTORS["05_nullability_defaults"]
    table = parse_create_table(sample["ddl"], "test")
    options = opened(enable_tidb_extension=False, new_architecture=False, require_commit_ts=False)
    table = replace(table, handle_key=("nn",))
    for case in sample["rows"]:
        row = dict(case["expected"])
        row["bit_def"] = row.pop("bit_def_int")
        row |= {n: v and Decimal(v) for n, v in row.items() if n.startswith("dec")}
        key, value = encoded(RowChange(table, 5, None, row), options)
        assert value is not None
        assert value[5:].hex() == case["avro_hex"]
        (event,) = decode(key, value, options)
        assert isinstance(event, RowChange)
        assert event.after == row
    registry = options.registry
    assert isinstance(registry, MemoryRegistry)
    assert registry.schemas[2] == sample["schema"]


ALL_TYPES = VECTORS["06_all_types"]
ALL_TYPES_ROW: dict[str, Value] = {
    **ALL_TYPES["expected"],
    "biu": 1 << 63,
    "f": 3.14,
    "dec": Decimal("2333.654321"),
    "vb": bytes.fromhex("00ff01"),
    "ts": "2024-03-11 08:51:01.461270",
    "e": 1,
    "s": 5,
}


@pytest.mark.parametrize("new", [True, False])
def test_every_type_has_the_bytes_of_the_documents(new: bool) -> None:
    table = parse_create_table(ALL_TYPES["ddl"], "test")
    options = opened(enable_tidb_extension=False, new_architecture=new, require_commit_ts=False)
    key, value = encoded(RowChange(table, 5, None, ALL_TYPES_ROW), options)
    assert value is not None
    assert value[5:].hex() == ALL_TYPES[f"{'new_arch' if new else 'classic'}_avro_hex"]
    (event,) = decode(key, value, options)
    assert isinstance(event, RowChange)
    assert event.after == ALL_TYPES_ROW
    registry = options.registry
    assert isinstance(registry, MemoryRegistry)
    assert registry.schemas[2] == ALL_TYPES["schema"]


def test_the_string_modes_have_a_schema_of_their_own() -> None:
    table = parse_create_table(ALL_TYPES["ddl"], "test")
    options = opened(
        enable_tidb_extension=False,
        require_commit_ts=False,
        avro_decimal_handling_mode="string",
        avro_bigint_unsigned_handling_mode="string",
    )
    (event,) = decode(*encoded(RowChange(table, 5, None, ALL_TYPES_ROW), options), options)
    assert isinstance(event, RowChange)
    assert event.after == ALL_TYPES_ROW
    registry = options.registry
    assert isinstance(registry, MemoryRegistry)
    assert registry.schemas[2] == ALL_TYPES["schema_in_string_modes"]


CHECKED = VECTORS["08_checksum_message"]
CHECKED_KEY = '{"type":"record","name":"chk","namespace":"default.test","fields":[' + (
    '{"name":"id","type":{"type":"int","connect.parameters":{"tidb_type":"INT"}}}]}'
)
CHECKED_OPTIONS = opened(
    {4: CHECKED_KEY, 5: CHECKED["schema"]},
    integrity_check=True,
    avro_decimal_handling_mode="string",
    avro_bigint_unsigned_handling_mode="string",
)
CHECKED_MESSAGE = frame(4) + b"\2", bytes.fromhex(CHECKED["value_hex"])


def test_a_row_is_verified_by_its_checksum() -> None:
    (event,) = decode(*CHECKED_MESSAGE, CHECKED_OPTIONS)
    assert isinstance(event, RowChange)
    expected = CHECKED["expected"]
    assert event.after == expected["row"] | {"price": Decimal("12.3400")}
    assert (event.commit_ts, event.corrupted) == (expected["commit_ts"], False)
    table = parse_create_table(CHECKED["ddl"], "test")
    assert encoded(replace(event, table=table), CHECKED_OPTIONS) == CHECKED_MESSAGE


def test_a_row_unlike_its_checksum_stops_or_is_marked() -> None:
    key, value = CHECKED_MESSAGE
    value = value.replace(b"alice", b"alicE")
    with pytest.raises(ChecksumMismatch, match=r"a row of test\.chk does not match its checksum"):
        decode(key, value, CHECKED_OPTIONS)
    (event,) = decode(key, value, replace(CHECKED_OPTIONS, on_corruption="warn"))
    assert isinstance(event, RowChange)
    assert event.corrupted


@pytest.mark.parametrize(
    "text", [b"\x02x", b"\x144294967296", b"\x90\x4e" + b"9" * 5000], ids=["x", "2^32", "long"]
)
def test_a_checksum_is_a_number_of_32_bits(text: bytes) -> None:
    key, value = CHECKED_MESSAGE
    with pytest.raises(WireError, match="_tidb_row_level_checksum is not a number of 32 bits"):
        decode(key, value.replace(b"\x12870442977", text), CHECKED_OPTIONS)


def test_a_checksum_is_of_timestamps_in_utc() -> None:
    table = parse_create_table("create table t(id int primary key, ts timestamp(6) null)", "test")
    options = replace(CHECKED_OPTIONS, registry=MemoryRegistry(), time_zone="Asia/Shanghai")
    change = RowChange(table, 5, None, {"id": 1, "ts": "2024-03-11 08:51:01.461270"})
    (event,) = decode(*encoded(change, options), options)
    assert isinstance(event, RowChange)
    assert event.after == {"id": 1, "ts": "2024-03-11 16:51:01.461270"}
    with pytest.raises(ChecksumMismatch):
        decode(*encoded(change, options), replace(options, time_zone="UTC"))


def test_the_upstream_tests_large_table_comes_back() -> None:
    sample = VECTORS["09_large_table"]
    table = parse_create_table(sample["ddl"], "test")
    row = {
        name: _typed(value, table.column(name)) for name, value in sample["expected_row"].items()
    }
    for options in (
        opened(),
        opened(avro_decimal_handling_mode="string", avro_bigint_unsigned_handling_mode="string"),
        opened(new_architecture=False),
    ):
        (event,) = decode(*encoded(RowChange(table, 5, None, row), options), options)
        assert isinstance(event, RowChange)
        assert event.after == row


def _typed(value: Any, column: Column) -> Value:
    elements = column.type.elements
    match value:
        case {"decimal": digits}:
            return Decimal(digits)
        case {"float32": digits} | {"float64": digits}:
            return float(digits)
        case {"bytes_utf8": characters}:
            return bytes(characters.encode())
        case {"bytes_utf8_then_zero_padded_to": length, "text": characters}:
            return bytes(characters.encode().ljust(length, b"\0"))
    if elements:
        number = elements.index(value)
        return 1 << number if column.type.name == "set" else number + 1
    return value  # type: ignore[no-any-return]


# Our own round trips.

# A SET's members hold no comma and are not empty; names are such as Avro allows.
MEMBERS = ("a", "b", "d'e", "中", "x y")
WIDE = tuple(
    replace(
        column,
        name=column.name.replace(" ", "_"),
        type=replace(
            column.type,
            length={"bit": 64, "decimal": 30}.get(column.type.name),
            elements=MEMBERS if column.type.name == "set" else column.type.elements,
        ),
    )
    for column in COLUMNS
)
TABLE = Table("s", "t", WIDE, handle_key=("bigint",))


def written_rows() -> st.SearchStrategy[dict[str, Value]]:
    """Rows that Avro can hold: ENUM has no invalid value."""
    return rows().map(
        lambda row: {n.replace(" ", "_"): v for n, v in row.items()} | {"enum": row["enum"] or 1}
    )


@given(row=written_rows(), before=st.none() | written_rows(), strings=st.booleans())
def test_what_is_written_is_read(
    row: dict[str, Value], before: dict[str, Value] | None, strings: bool
) -> None:
    modes = ("string", "string") if strings else ("precise", "long")
    options = opened(
        avro_include_before_value=True,
        avro_decimal_handling_mode=modes[0],
        avro_bigint_unsigned_handling_mode=modes[1],
    )
    for change in (
        RowChange(TABLE, 5, before, row),
        RowChange(TABLE, 6, row, None),
    ):
        (event,) = decode(*encoded(change, options), options)
        assert isinstance(event, RowChange)
        assert (event.commit_ts, event.before, event.after) == (
            change.commit_ts,
            change.before,
            change.after,
        )
        assert event.table.handle_key == ("bigint",)


@given(row=written_rows(), new=st.booleans())
def test_a_rows_checksum_fits_it(row: dict[str, Value], new: bool) -> None:
    options = opened(
        avro_decimal_handling_mode="string",
        avro_bigint_unsigned_handling_mode="string",
        integrity_check=True,
        new_architecture=new,
    )
    (event,) = decode(*encoded(RowChange(TABLE, 5, None, row), options), options)
    assert isinstance(event, RowChange)
    assert (event.after, event.corrupted) == (row, False)


def test_members_with_commas_and_quotes_are_told_apart() -> None:
    table = parse_create_table(
        r"create table t(id int primary key, e enum('a,b','it''s','q''''q','\\,'), "
        "s set('x','y z'))",
        "test",
    )
    options = opened()
    for number in range(1, 5):
        change = RowChange(table, 5, None, {"id": 1, "e": number, "s": number % 4})
        (event,) = decode(*encoded(change, options), options)
        assert isinstance(event, RowChange)
        assert event.after == change.after


def test_an_update_without_its_old_row_says_that_it_is_one() -> None:
    options = opened()
    change = RowChange(PERSON, 5, {"id": 1, "age": 2}, {"id": 1, "age": 3})
    (event,) = decode(*encoded(change, options), options)
    assert isinstance(event, RowChange)
    assert (event.before, event.after) == ({}, {"id": 1, "age": 3})


# What cannot be.

KEY = frame(1) + b"\x02"
VALUE = bytes.fromhex("00000000030202240263848080cba9bbbab10cd8ccdad38b63")


def schema_with(**field: Any) -> str:
    record = {"type": "record", "name": "t", "namespace": "default.s"}
    return json.dumps({**record, "fields": [{"name": "c", **field}]})


def tidb(kind: str, avro: str, **more: str) -> dict[str, Any]:
    return {"type": avro, "connect.parameters": {"tidb_type": kind, **more}}


BAD_SCHEMAS: dict[SchemaId, str] = {
    10: "{",
    11: '"string"',
    12: schema_with(type="int"),
    13: schema_with(type=tidb("WIBBLE", "int")),
    14: schema_with(type=tidb("INT", "string")),
    15: schema_with(type=["null", tidb("INT", "int"), "string"]),
    16: schema_with(type=tidb("ENUM", "string", allowed="a,b")),
    17: schema_with(type=tidb("DECIMAL", "string")),
    18: schema_with(type=tidb("BIT", "bytes", length="1")),
    19: schema_with(type=tidb("BIGINT UNSIGNED", "string")),
    20: json.dumps(
        {"type": "record", "name": "t", "fields": [{"name": "_tidb_op", "type": "int"}]}
    ),
    21: schema_with(type=tidb("DOUBLE", "double")),
}

MALFORMED: list[tuple[bytes | None, bytes | None, str]] = [
    (
        None,
        None,
        "a DELETE that names no row: its table has no primary key; it has no commit_ts either: set"
        " avro-enable-watermark=true and enable-tidb-extension=true (the new architecture of TiCDC"
        " 8.5.7 or later)",
    ),
    (None, b"\3" + bytes(8), "a DELETE that names no row: its table has no primary key"),
    (None, b"\2\0", "resolved ts is not a timestamp of 1 to 2^64 - 1"),
    (None, b"\2" + bytes(8), "resolved ts is not a timestamp of 1 to 2^64 - 1"),
    (None, b"\1{", "a DDL: not JSON at character 1"),
    (None, b"\1[]", "a DDL that is not a JSON object"),
    (None, b'\1{"query":"x","schema":"s"}', "a DDL without schema, table or query"),
    (None, b'\1{"query":"","schema":"s","table":"t","type":3}', "a DDL without a type or a query"),
    (
        None,
        b'\1{"query":"x","schema":"s","table":"t","type":3}',
        "commitTs is not a timestamp of 1 to 2^64 - 1",
    ),
    (
        None,
        b'{"isDdl":false,"mysqlType":null}',
        "the value does not begin with the id of a schema (it looks like canal-json)",
    ),
    (KEY, b"\0\0", "the value does not begin with the id of a schema"),
    (b"\7", VALUE, "the key does not begin with the id of a schema"),
    (b"\7", b"\3" + (5).to_bytes(8, "big"), "the key does not begin with the id of a schema"),
    (KEY, b"\3" + bytes(8), "commit_ts is not a timestamp of 1 to 2^64 - 1"),
    (KEY, VALUE[:-1], "the value ends early"),
    (KEY, VALUE + b"\0", "the value has bytes after its record"),
    (KEY, VALUE[:6] + b"\x08" + VALUE[7:], "the value is not of its schema"),
    (KEY, VALUE[:9] + b"x" + VALUE[10:], "_tidb_op is not c, u or d"),
    (frame(1), b"\3" + (5).to_bytes(8, "big"), "the key ends early"),
    (None, frame(10), "the schema is not JSON"),
    (None, frame(11), "the schema is not that of a record"),
    (None, frame(12), "field `c` has no known tidb_type"),
    (None, frame(13), "field `c` has no known tidb_type"),
    (None, frame(14), "field `c` has INT in the wrong Avro type"),
    (None, frame(15), "field `c` has no known tidb_type"),
    (None, frame(20), "the schema of the value has no columns, or has some after its extension"),
    (frame(12), frame(3), "field `c` has no known tidb_type"),
    (frame(21), frame(3), "the key of test.person has columns that its value lacks"),
    (None, frame(16) + b"\2c", "column `c` of s.t: not one of the members"),
    (None, frame(17) + b"\2c", "column `c` of s.t: not a decimal number"),
    (None, frame(18) + b"\0", "column `c` of s.t: not 1 to 8 bytes"),
    (None, frame(19) + b"\4-1", "column `c` of s.t: not the digits of an integer"),
    (None, frame(21) + b"\0\0\0\0\0\0\xf8\x7f", "column `c` of s.t: not a finite float"),
]


@pytest.mark.parametrize(("key", "value", "message"), MALFORMED)
def test_malformed_messages_are_named(key: bytes | None, value: bytes | None, message: str) -> None:
    options = opened({**PERSON_SCHEMAS, **BAD_SCHEMAS}, require_commit_ts=False)
    with pytest.raises(WireError) as caught:
        decode(key, value, options)
    assert str(caught.value) == message


@given(at=st.integers(0, len(VALUE) - 1), byte=st.integers(0, 255))
def test_a_damaged_message_is_read_or_refused(at: int, byte: int) -> None:
    options = opened(PERSON_SCHEMAS, require_commit_ts=False)
    with suppress(WireError, RegistryError):
        decode(KEY, VALUE[:at] + bytes([byte]) + VALUE[at + 1 :], options)


@pytest.mark.parametrize(
    ("key", "value", "setting"),
    [
        (
            KEY,
            bytes.fromhex("0000000002020224"),
            "a row of test.person has no commit_ts: set enable-tidb-extension=true",
        ),
        (KEY, None, "a DELETE of test.person has no commit_ts: set avro-enable-watermark=true"),
    ],
)
def test_a_change_without_commit_ts_names_the_setting(
    key: bytes, value: bytes | None, setting: str
) -> None:
    with pytest.raises(MissingCommitTs, match=setting):
        decode(key, value, opened(PERSON_SCHEMAS))


UNWRITABLE: list[tuple[dict[str, Value], str]] = [
    ({"id": 1}, "column `age` of test.person, int: not in the row"),
    ({"id": None, "age": 1}, "column `id` of test.person, int: not an integer of at most 64 bits"),
    ({"id": "1", "age": 1}, "column `id` of test.person, int: not an integer of at most 64 bits"),
]


@pytest.mark.parametrize(("row", "message"), UNWRITABLE)
def test_a_row_that_cannot_be_written_names_its_column(row: dict[str, Value], message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        Encoder(opened()).row(RowChange(PERSON, 5, None, row))
    assert str(caught.value) == message


def test_columns_whose_names_become_one_are_refused() -> None:
    table = parse_create_table("create table t(`a b` int primary key, `a-b` int)", "test")
    with pytest.raises(DefinitionError, match="columns whose names are the same in Avro"):
        Encoder(opened()).row(RowChange(table, 5, None, {"a b": 1, "a-b": 2}))


def test_a_row_beyond_the_limit_stops_the_changefeed() -> None:
    change = RowChange(PERSON, 5, None, {"id": 1, "age": 2})
    key, value = encoded(change, opened())
    size = len(key or b"") + len(value or b"") + 36
    Encoder(opened(max_message_bytes=size)).row(change)
    with pytest.raises(MessageTooLarge, match=f"takes {size} bytes, max-message-bytes is"):
        Encoder(opened(max_message_bytes=size - 1)).row(change)


def test_messages_that_the_settings_do_not_have_are_refused() -> None:
    for options in (opened(), opened(avro_enable_watermark=True, enable_tidb_extension=False)):
        with pytest.raises(ConfigError, match="avro has a DDL only with avro-enable-watermark"):
            Encoder(options).ddl(Ddl("s", "t", "x", 5))
        with pytest.raises(
            ConfigError, match="avro has a resolved ts only with avro-enable-watermark"
        ):
            Encoder(options).resolved(Resolved(5))
    with pytest.raises(ConfigError, match="handling modes to be string"):
        Encoder(opened(integrity_check=True))
    strings: dict[str, Any] = {
        f"avro_{of}_handling_mode": "string" for of in ("decimal", "bigint_unsigned")
    }
    with pytest.raises(ConfigError, match="of avro needs enable-tidb-extension"):
        Encoder(opened(integrity_check=True, enable_tidb_extension=False, **strings))
    for use in (lambda: Encoder(Options()), lambda: decode(KEY, VALUE, Options())):
        with pytest.raises(ConfigError, match="avro needs a schema registry"):
            use()


# Registries.


def test_confluents_own_client_is_the_registry() -> None:
    registry = ConfluentRegistry({"url": "mock://avro-tests"})
    options = Options(registry=registry, topic="shop.person")
    change = RowChange(PERSON, 5, None, {"id": 1, "age": 2})
    record = encoded(change, options)
    events: list[Event] = decode(*record, options)
    assert isinstance(events[0], RowChange)
    assert events[0].after == change.after
    assert encoded(change, options) == record
    with pytest.raises(RegistryError, match="schema 99 cannot be read: Schema Not Found"):
        registry.schema(99)
    with pytest.raises(RegistryError, match="AWS Glue"):
        registry.schema(UUID(int=1))


def test_a_registry_travels_to_tasks_and_hides_its_password() -> None:
    url = "http://user:secret@127.0.0.1:1"
    registry = ConfluentRegistry({"url": url, "max.retries": 0, "timeout": 1})
    same = pickle.loads(pickle.dumps(registry))
    assert same == registry
    assert hash(same) == hash(registry)
    assert same != ConfluentRegistry({"url": "http://127.0.0.1:2"})
    with pytest.raises(RegistryError) as refused:
        registry.register("s", "{}")
    with pytest.raises(RegistryError) as caught:
        registry.schema(1)
    assert "secret" not in str(caught.value) + str(refused.value)
    assert "secret" not in repr(registry)
    with pytest.raises(ConfigError, match="no url"):
        ConfluentRegistry({})


def test_a_changefeed_takes_the_registry_from_its_configuration() -> None:
    config = {
        "sink": {
            "schema-registry": "mock://changefeed",
            "dispatchers": [{"matcher": ["*.*"], "topic": "{schema}.{table}"}],
        }
    }
    changefeed = Changefeed("kafka://b/t?protocol=avro&enable-tidb-extension=true", config)
    change = RowChange(PERSON, 5, None, {"id": 1, "age": 2})
    (message,) = changefeed.encode(Transaction(5, (change,)))
    assert message.topic == "test.person"
    format_ = FORMATS["avro"]
    registry = ConfluentRegistry({"url": "mock://changefeed"})
    assert message.value is not None
    # A mock is in its client alone: what the changefeed registered has the ids 1 and 2.
    for text in (PERSON_SCHEMAS[1], PERSON_SCHEMAS[3]):
        registry.register("test_person-value", text)
    (event,) = format_.decode(message.key, message.value, format_.Options(registry=registry))
    assert isinstance(event, RowChange)
    assert event.after == change.after
    assert changefeed.resolve(9) == changefeed.ddl(Ddl("test", "", "CREATE DATABASE x", 9)) == []
