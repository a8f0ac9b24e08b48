import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import scenario
from support.wire_golden import facts, options_of, upstream, variants
from support.wire_values import COLUMNS, rows
from support.wire_vectors import described, json_value, name_of, value_of, vectors
from ticdc_encoder.column import ColumnType, Index
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table, Value
from ticdc_encoder.formats import FORMATS, MessageTooLarge, MissingCommitTs, canal_json
from ticdc_encoder.formats.canal_json import Encoder, Options, decode
from ticdc_encoder.formats.canal_json import rows as canal_rows
from ticdc_encoder.formats.canal_json.types import mysql_type, parse_mysql_type
from ticdc_encoder.formats.compression import inflate

VECTORS: list[dict[str, Any]] = vectors("canal_json")
PLAIN = Options()
_BUILT_AT = re.compile(rb'"ts":[0-9]+,"sql"')
_MYSQL_TYPE = re.compile(rb'"mysqlType":\{.*?\},"old"', re.DOTALL)


def _text(value: Value) -> Any:
    if isinstance(value, float):
        return f"{value:.16g}"
    return json_value(value) if value is None or isinstance(value, bytes) else str(value)


def _described(event: Event) -> dict[str, Any]:
    """An event as Canal-JSON's samples have it, values as text."""
    members = described(event, _text)
    match event:
        case Resolved():
            members["event"] = "watermark"
        case RowChange():
            members["pk_names"] = list(event.table.handle_key)
            if event.row_key is not None:
                members["row_key"] = json_value(event.row_key)
            if members.pop("incomplete", False) and event.claim_check is None:
                members["only_handle_key"] = True
    return members


@pytest.mark.parametrize("vector", VECTORS, ids=name_of)
def test_reads_the_samples_of_the_documents_and_of_ticdcs_tests(vector: dict[str, Any]) -> None:
    value = value_of(vector)
    options = Options(compression=vector.get("compression", "none"))
    expected = []
    for event in vector["expected"]:
        not_here = ("es_ms", "old_is_partial") + ("type",) * (event["event"] == "ddl")
        expected.append({name: v for name, v in event.items() if name not in not_here})
    if expected[0].get("commit_ts", 0) is None:
        with pytest.raises(MissingCommitTs, match="enable-tidb-extension"):
            decode(None, value, options)
        value = value[:-1] + b',"_tidb":{"commitTs":5}}'
        expected[0]["commit_ts"] = 5
    assert [_described(event) for event in decode(None, value, options)] == expected


def _changes(name: str, variant: str) -> list[RowChange]:
    sent = scenario(name).variants[variant]
    options = options_of(sent)
    events = [e for m in sent.records for e in decode(m.key, m.value, options)]
    return [event for event in events if isinstance(event, RowChange)]


WITH_EXTENSION = [
    (name, variant)
    for name, variant in variants("canal-json", "keys", "types", "splits", "workload", "ddl")
    # The script has the DDL texts of the new architecture.
    if not variant.endswith("plain") and (name, variant[:7]) != ("ddl", "classic")
]


@pytest.mark.parametrize(("name", "variant"), WITH_EXTENSION)
def test_the_golden_messages_say_what_happened_upstream(name: str, variant: str) -> None:
    decoded = _changes(name, variant)
    happened = [
        change
        for change in upstream(name).changes
        if change.table.handle_key or variant.endswith("force-replicate")
    ]
    if variant.endswith(".tz"):
        decoded = [_eight_hours_back(change) for change in decoded]
    if variant.endswith("delete-only-handle"):
        assert sum(change.after is None for change in decoded) > 0
        decoded = [upstream(name).whole(name, change) for change in decoded]
    assert facts(name, decoded) == facts(name, happened)
    if variant.startswith(("canal-json.raw", "classic.canal-json.raw")):
        kinds = [(c.commit_ts, c.before is None, c.after is None) for c in decoded]
        assert sorted(kinds) == sorted(
            (c.commit_ts, c.before is None, c.after is None) for c in happened
        )


def _eight_hours_back(change: RowChange) -> RowChange:
    """The variant's server is in Asia/Shanghai."""
    columns = {c.name for c in change.table.columns if c.type.name == "timestamp"}

    def back(row: Mapping[str, Value] | None) -> Mapping[str, Value] | None:
        if row is None:
            return None
        moved = dict(row)
        for name in columns:
            server_text = row[name]
            if isinstance(server_text, str) and not server_text.startswith("0000"):
                seconds, point, fraction = server_text.partition(".")
                here = datetime.fromisoformat(seconds) - timedelta(hours=8)
                moved[name] = here.isoformat(" ") + point + fraction
        return moved

    return replace(change, before=back(change.before), after=back(change.after))


def _comparable(value: bytes | None, options: Options) -> tuple[bytes, Any]:
    """A message without what TiCDC makes at random: the wall clock, the order of mysqlType."""
    assert value is not None
    plain = inflate(value, options.compression, 1 << 30)
    without = _MYSQL_TYPE.sub(b'"old"', _BUILT_AT.sub(b'"sql"', plain, count=1), count=1)
    return without, json.loads(plain)["mysqlType"]


@pytest.mark.parametrize(
    ("name", "variant"), [*WITH_EXTENSION, *variants("canal-json", "large")], ids=str
)
def test_writes_the_golden_messages(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    options = options_of(sent)
    encoder = Encoder(options, lambda: 1)
    truth = upstream(name)
    for message in sent.records:
        (event,) = decode(message.key, message.value, options)
        match event:
            case RowChange():
                ((key, value),) = encoder.row(truth.whole(name, event))
            case Ddl():
                kind = truth.kinds[event.commit_ts, event.schema, event.table, event.query]
                key, value = encoder.ddl(replace(event, kind=kind))
            case Resolved():
                key, value = encoder.resolved(event)
        assert key is None
        assert _comparable(value, options) == _comparable(message.value, options)


@pytest.mark.parametrize("name", ["keys", "types", "workload"])
def test_writes_the_golden_messages_without_the_tidb_extension(name: str) -> None:
    sent = scenario(name).variants["canal-json.plain"]
    rows_sent = [r.value for r in sent.records if b'"isDdl":false' in (r.value or b"")]
    encoder = Encoder(options_of(sent), lambda: 1)
    records = [
        record
        for change in _changes(name, "canal-json.ext")
        for record in encoder.row(upstream(name).whole(name, change))
    ]
    written = [_comparable(value, PLAIN) for _, value in records]
    assert sorted(map(_ordered, written)) == sorted(
        _ordered(_comparable(value, PLAIN)) for value in rows_sent
    )


def _ordered(message: tuple[bytes, Any]) -> tuple[bytes, str]:
    return message[0], json.dumps(message[1], sort_keys=True)


def test_without_the_extension_ddl_has_no_ts_and_no_mark_exists() -> None:
    encoder = Encoder(Options(enable_tidb_extension=False), lambda: 1)
    assert encoder.ddl(Ddl("d", "t", "DROP TABLE `t`", 9 << 18, kind=4)) == (
        None,
        b'{"id":0,"database":"d","table":"t","pkNames":null,"isDdl":true,"type":"ERASE","es":9,'
        b'"ts":1,"sql":"DROP TABLE `t`","sqlType":null,"mysqlType":null,"data":null,"old":null}',
    )
    with pytest.raises(ConfigError, match="enable-tidb-extension"):
        encoder.resolved(Resolved(5))


def test_rows_beyond_the_limit_stop_the_feed_at_ticdcs_sizes() -> None:
    sent = scenario("large").variants["canal-json.no-handling"]
    encoder = Encoder(options_of(sent), lambda: 1795274370506)
    sizes = []
    for decoded in _changes("large", "canal-json.handle-key-only"):
        try:
            encoder.row(upstream("large").whole("large", decoded))
        except MessageTooLarge as error:
            sizes += re.findall(r"takes ([0-9]+) bytes", str(error))
    expected = [re.findall(r"length:([0-9]+)", error)[0] for error in sent.encode_errors]
    assert sorted(sizes) == sorted(expected)


@pytest.mark.parametrize("variant", ["canal-json.claim-check", "canal-json.claim-check-raw"])
def test_a_claim_check_file_holds_the_whole_message(variant: str) -> None:
    sent = scenario("large").variants[variant]
    reduced = [c for c in _changes("large", variant) if c.claim_check is not None]
    assert reduced
    for change in reduced:
        assert change.incomplete
        inside = sent.claim_checks[(change.claim_check or "").removeprefix("file:///")]
        if not variant.endswith("raw"):
            inside = base64.b64decode(json.loads(inside)["value"])
        (whole,) = decode(None, inside, options_of(sent))
        assert isinstance(whole, RowChange)
        assert facts("large", [whole]) == facts("large", [upstream("large").whole("large", change)])


ROW = (
    '{"id":0,"database":"d","table":"t","pkNames":["a"],"isDdl":false,"type":"INSERT","es":0,'
    '"ts":1,"sql":"","sqlType":{"a":4,"b":12},"mysqlType":{"a":"int","b":"varchar"},"old":null,'
    '"data":[{"a":"1","b":"x"}],"_tidb":{"commitTs":5}}'
)
OPEN_KEY = bytes(7) + b"\1"

MALFORMED: list[tuple[str, bytes | None, bytes | None, str]] = [
    ("no value", None, None, "an empty value is not canal-json"),
    ("an empty value", b"", b"", "an empty value is not canal-json"),
    ("truncated", None, ROW[:-3].encode(), "not JSON at character 225"),
    ("not UTF-8", None, ROW.replace("x", "\xff").encode("latin-1"), "not UTF-8 at byte 200"),
    ("a list", None, b"[]", "not a canal-json object"),
    ("a number", None, b"7", "not a canal-json object"),
    (
        "open-protocol",
        OPEN_KEY + bytes(8),
        bytes(8) + b"{}",
        "not JSON at character 0 (it looks like open-protocol)",
    ),
    (
        "simple",
        None,
        b'{"version":1,"type":"INSERT","commitTs":5}',
        "not a canal-json object (it looks like simple with encoding-format=json)",
    ),
    ("debezium", None, b'{"payload":{}}', "not a canal-json object (it looks like debezium)"),
    ("avro", None, b"\0\0\0\0\1abc", "not JSON at character 0 (it looks like avro)"),
    ("avro's DDL", None, b'\1{"Query":""}', "not JSON at character 0 (it looks like avro)"),
    ("avro's mark", None, b"\2\0\0\0\0\0\0\0\7", "not JSON at character 0 (it looks like avro)"),
    (
        "lz4",
        None,
        bytes.fromhex("04224d18ff"),
        "not UTF-8 at byte 4 (it looks like a value compressed with lz4)",
    ),
]


def _changed(*replacements: tuple[str, str]) -> bytes:
    text = ROW
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def _case(what: str, old: str, new: str, message: str) -> tuple[str, None, bytes, str]:
    return what, None, _changed((old, new)), message


COMMIT_TS = "commitTs is not a timestamp of 1 to 2^64 - 1"
MALFORMED += [
    _case("isDdl a number", '"isDdl":false', '"isDdl":0', "isDdl is not a boolean"),
    _case("commitTs 0", '"commitTs":5', '"commitTs":0', COMMIT_TS),
    _case("commitTs negative", '"commitTs":5', '"commitTs":-5', COMMIT_TS),
    _case("commitTs a float", '"commitTs":5', '"commitTs":5.0', COMMIT_TS),
    _case("commitTs a bool", '"commitTs":5', '"commitTs":true', COMMIT_TS),
    _case("commitTs a string", '"commitTs":5', '"commitTs":"5"', COMMIT_TS),
    _case("commitTs too great", '"commitTs":5', '"commitTs":18446744073709551616', COMMIT_TS),
    _case("commitTs missing", '"commitTs":5', '"watermarkTs":5', COMMIT_TS),
    _case("_tidb a list", '{"commitTs":5}', "[5]", "_tidb is not an object"),
    _case("an unknown type", '"INSERT"', '"UPSERT"', "an unknown type: 'UPSERT'"),
    _case("no table", '"table":"t"', '"table":""', "a row without a table"),
    _case("no database", '"database":"d",', "", "database is missing or not a string"),
    _case("data null", '[{"a":"1","b":"x"}]', "null", "data is not a list of objects"),
    _case("data empty", '[{"a":"1","b":"x"}]', "[]", "data is not a list of objects"),
    _case("data of lists", '[{"a":"1","b":"x"}]', "[[]]", "data is not a list of objects"),
    _case("an INSERT with old", '"old":null', '"old":[{}]', "an INSERT with old"),
    _case("an UPDATE without old", '"INSERT"', '"UPDATE"', "old is not a list of objects"),
    _case(
        "an UPDATE with two old",
        '"INSERT","es":0,"ts":1,"sql":"","sqlType":{"a":4,"b":12},"mysqlType":{"a":"int",'
        '"b":"varchar"},"old":null',
        '"UPDATE","mysqlType":{"a":"int","b":"varchar"},"old":[{},{}]',
        "data and old differ in length",
    ),
    _case("a type missing", '"b":"varchar"', '"c":"varchar"', "column `b` has no mysqlType"),
    _case("no types", '{"a":"int","b":"varchar"}', "null", "column `a` has no mysqlType"),
    _case(
        "types in a list",
        '{"a":"int","b":"varchar"}',
        "[1]",
        "mysqlType is not an object, or pkNames not a list",
    ),
    _case(
        "a type that is a number",
        '"b":"varchar"',
        '"b":7',
        "mysqlType or pkNames holds something that is not a string",
    ),
    _case(
        "pkNames of lists",
        '"pkNames":["a"]',
        '"pkNames":[["a"]]',
        "mysqlType or pkNames holds something that is not a string",
    ),
    _case("an unknown type name", '"b":"varchar"', '"b":"uuid"', "an unknown mysqlType: 'uuid'"),
    _case(
        "wild parameters", '"b":"varchar"', '"b":"varchar(x)"', "an unknown mysqlType: 'varchar(x)'"
    ),
    _case("a key of null", '"a":"1"', '"a":null', "key column `a` of d.t is null"),
    _case("a bare number", '"a":"1"', '"a":1', "column `a` of d.t: not text"),
    _case(
        "an integer with a plus",
        '"a":"1"',
        '"a":"+1"',
        "column `a` of d.t: not the digits of an integer",
    ),
    _case(
        "an integer of 65 bits",
        '"a":"1"',
        '"a":"18446744073709551616"',
        "column `a` of d.t: not an integer of at most 64 bits",
    ),
    _case(
        "a float that is none",
        '"varchar"},"old":null,"data":[{"a":"1","b":"x"}]',
        '"double"},"old":null,"data":[{"a":"1","b":"nan"}]',
        "column `b` of d.t: not a number",
    ),
    _case(
        "a decimal with an exponent",
        '"varchar"},"old":null,"data":[{"a":"1","b":"x"}]',
        '"decimal"},"old":null,"data":[{"a":"1","b":"1e5"}]',
        "column `b` of d.t: not a decimal number",
    ),
    _case(
        "bytes beyond U+00FF",
        '"varchar"},"old":null,"data":[{"a":"1","b":"x"}]',
        '"blob"},"old":null,"data":[{"a":"1","b":"\u0100"}]',
        "column `b` of d.t: bytes with a character above U+00FF",
    ),
    _case("text that is an object", '"b":"x"', '"b":{}', "column `b` of d.t: not text"),
    _case(
        "onlyHandleKey a number",
        '"commitTs":5',
        '"commitTs":5,"onlyHandleKey":1',
        "onlyHandleKey is not a boolean",
    ),
    _case(
        "an empty location",
        '"commitTs":5',
        '"commitTs":5,"claimCheckLocation":""',
        "claimCheckLocation is not a string",
    ),
    _case("a broken rowkey", '"commitTs":5', '"commitTs":5,"rowkey":"%"', "rowkey is not base64"),
    _case("a DDL with data", '"isDdl":false', '"isDdl":true', "a DDL with data"),
    _case("a watermark with data", '"INSERT"', '"TIDB_WATERMARK"', "a watermark with data"),
    (
        "a DDL without sql",
        None,
        b'{"isDdl":true,"database":"d","table":"","sql":"","_tidb":{"commitTs":5}}',
        "a DDL without sql",
    ),
    (
        "a watermark without its ts",
        None,
        b'{"isDdl":false,"type":"TIDB_WATERMARK","_tidb":{"commitTs":5}}',
        "watermarkTs is not a timestamp of 1 to 2^64 - 1",
    ),
]


@pytest.mark.parametrize(
    ("key", "value", "message"), [case[1:] for case in MALFORMED], ids=[c[0] for c in MALFORMED]
)
def test_malformed_messages_are_refused(
    key: bytes | None, value: bytes | None, message: str
) -> None:
    with pytest.raises(WireError) as raised:
        decode(key, value, PLAIN)
    assert str(raised.value) == message


def test_a_message_without_the_extension_names_the_setting() -> None:
    with pytest.raises(MissingCommitTs) as raised:
        decode(None, _changed((',"_tidb":{"commitTs":5}', "")), PLAIN)
    assert str(raised.value) == (
        "canal-json without `_tidb` has no commit_ts (d.t): set enable-tidb-extension=true in "
        "the changefeed's sink URI"
    )


@given(st.binary(max_size=60), st.integers(0, len(ROW)))
def test_any_bytes_are_an_event_or_a_wire_error(noise: bytes, at: int) -> None:
    for value in (noise, ROW.encode()[:at] + noise, ROW.encode()[:at] + noise + ROW.encode()[at:]):
        with suppress(WireError):
            decode(None, value, PLAIN)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
    | st.sampled_from(["1", "INSERT", "DELETE", "UPDATE", "TIDB_WATERMARK", "int", "commitTs"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "b", "commitTs", "rowkey"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_MEMBERS = [*json.loads(ROW), "old", "more"]


@given(st.lists(st.tuples(st.sampled_from(_MEMBERS), st.just(...) | _JSON), max_size=3))
def test_a_message_of_rows_is_read_as_one_that_may_be_anything(
    edits: list[tuple[str, Any]],
) -> None:
    assert canal_rows.parse(ROW.encode()) is not None
    message = json.loads(ROW) | dict(edits)
    edited = json.dumps({n: v for n, v in message.items() if v != ...}).encode()

    def read() -> list[Event] | str:
        try:
            return decode(None, edited, PLAIN)
        except WireError as error:
            return str(error)

    quickly = read()
    with mock.patch.object(canal_json.format, "parse", lambda _: None):
        assert quickly == read()


def test_a_partial_old_row_holds_the_columns_that_changed() -> None:
    value = _changed(('"INSERT"', '"UPDATE"'), ('"old":null', '"old":[{"b":null}]'))
    (change,) = decode(None, value, PLAIN)
    assert isinstance(change, RowChange)
    assert (change.before, change.after) == ({"b": None}, {"a": 1, "b": "x"})


def test_an_old_row_of_no_columns_is_an_update_without_a_change() -> None:
    value = _changed(('"INSERT"', '"UPDATE"'), ('"old":null', '"old":[{}]'))
    (change,) = decode(None, value, PLAIN)
    assert isinstance(change, RowChange)
    assert change.before == {}


def test_an_old_column_that_a_selector_removed_is_dropped() -> None:
    value = _changed(('"INSERT"', '"UPDATE"'), ('"old":null', '"old":[{"a":"1","gone":"?"}]'))
    (change,) = decode(None, value, PLAIN)
    assert isinstance(change, RowChange)
    assert change.before == {"a": 1}


def test_several_rows_of_one_message_are_several_changes() -> None:
    value = _changed(('[{"a":"1","b":"x"}]', '[{"a":"1","b":"x"},{"a":"2","b":"y"}]'))
    changes = decode(None, value, PLAIN)
    assert [c.after for c in changes if isinstance(c, RowChange)] == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": "y"},
    ]


AFTER_ANOTHER = [
    ("another order", [('{"a":"1","b":"x"}', '{"b":"x","a":"1"}')], "b varchar, a int / a"),
    ("another type", [('"b":"varchar"', '"b":"blob"')], "a int, b blob / a"),
    ("another key", [('"pkNames":["a"]', '"pkNames":["b"]')], "a int, b varchar / b"),
    ("no key", [('"pkNames":["a"]', '"pkNames":null')], "a int, b varchar / "),
    (
        "a column more",
        [('"b":"x"', '"b":"x","c":"1"'), ('"varchar"', '"varchar","c":"int"')],
        "a int, b varchar, c int / a",
    ),
    ("the key alone", [('{"a":"1","b":"x"}', '{"a":"1"}')], "a int / a"),
    (
        "types in another order",
        [('{"a":"int","b":"varchar"}', '{"b":"varchar","a":"int"}')],
        "a int, b varchar / a",
    ),
]


@pytest.mark.parametrize(
    ("changed", "expected"), [c[1:] for c in AFTER_ANOTHER], ids=[c[0] for c in AFTER_ANOTHER]
)
def test_a_message_shows_its_own_table_after_any_other(
    changed: list[tuple[str, str]], expected: str
) -> None:
    values = [_changed(), _changed(*changed), _changed()]
    tables = [
        change.table
        for v in values
        for change in decode(None, v, PLAIN)
        if isinstance(change, RowChange)
    ]
    assert [_columns(table) for table in tables] == [
        "a int, b varchar / a",
        expected,
        "a int, b varchar / a",
    ]


def _columns(table: Table) -> str:
    columns = ", ".join(f"{column.name} {column.type.name}" for column in table.columns)
    return f"{columns} / {','.join(table.handle_key)}"


def test_tables_of_one_name_in_two_schemas_stay_apart() -> None:
    values = [_changed(), _changed(('"database":"d"', '"database":"e"')), _changed()]
    changes = [change for value in values for change in decode(None, value, PLAIN)]
    assert [c.table.schema for c in changes if isinstance(c, RowChange)] == ["d", "e", "d"]


@pytest.mark.parametrize("empty", ["null", "{}"])
def test_a_row_of_no_columns_has_no_types(empty: str) -> None:
    value = _changed(
        ('{"a":4,"b":12}', "null"),
        ('{"a":"int","b":"varchar"}', empty),
        ('{"a":"1","b":"x"}', "{}"),
    )
    (change,) = decode(None, value, PLAIN)
    assert isinstance(change, RowChange)
    assert (change.after, change.table.columns) == ({}, ())


def test_of_two_members_of_one_name_the_last_counts() -> None:
    (change,) = decode(None, _changed(('"commitTs":5', '"commitTs":5,"commitTs":6')), PLAIN)
    assert isinstance(change, RowChange)
    assert change.commit_ts == 6


def test_values_that_look_like_a_mark_stay_a_row() -> None:
    text = json.dumps('"type":"TIDB_WATERMARK","isDdl":true,"_tidb":{"watermarkTs":9}')
    (change,) = decode(None, _changed(('"b":"x"', f'"b":{text}')), PLAIN)
    assert isinstance(change, RowChange)


TYPES = [
    ("int(11)", ColumnType("int", length=11)),
    ("bigint(20) unsigned", ColumnType("bigint", unsigned=True, length=20)),
    (
        "int(8) unsigned zerofill",
        ColumnType("int", unsigned=True, zerofill=True, length=8),
    ),
    ("decimal(10,4)", ColumnType("decimal", length=10, decimals=4)),
    ("timestamp(3)", ColumnType("timestamp", decimals=3)),
    ("datetime", ColumnType("datetime")),
    (
        "enum('a','b,c','d''e','\u4e2d','')",
        ColumnType("enum", elements=("a", "b,c", "d'e", "中", "")),
    ),
    ("set('x','it''s')", ColumnType("set", elements=("x", "it's"))),
    ("float(10,2)", ColumnType("float", length=10, decimals=2)),
    ("vector(3)", ColumnType("vector", length=3)),
    ("varbinary(300)", ColumnType("varbinary", length=300)),
    ("mediumblob", ColumnType("mediumblob")),
]


@pytest.mark.parametrize(("text", "type_"), TYPES)
def test_content_compatible_types_carry_their_parameters(text: str, type_: ColumnType) -> None:
    assert parse_mysql_type(text) == type_
    assert mysql_type(type_, content_compatible=True) == text


def test_the_documents_print_a_space_in_a_decimals_parameters() -> None:
    assert parse_mysql_type("decimal(10, 4)") == ColumnType("decimal", length=10, decimals=4)


TABLE = Table.define(
    'd`"b', "t<中>", COLUMNS, (Index("PRIMARY", ("bigint",), unique=True, primary=True),)
)


@given(rows(), rows(), st.sampled_from(["none", "lz4", "snappy"]))
def test_every_value_of_every_type_comes_back(
    before: dict[str, Value], after: dict[str, Value], codec: Any
) -> None:
    for change in (
        RowChange(TABLE, 7, None, after),
        RowChange(TABLE, 7, before, after, row_key=b"\0t\xff"),
        RowChange(TABLE, 7, before, None),
    ):
        options = Options(compression=codec, output_row_key=True)
        ((key, value),) = Encoder(options, lambda: 1).row(change)
        (decoded,) = decode(key, value, options)
        assert isinstance(decoded, RowChange)
        assert (decoded.before, decoded.after) == (change.before, change.after)
        assert (decoded.commit_ts, decoded.row_key) == (7, change.row_key)
        table = decoded.table
        assert (table.schema, table.name, table.handle_key) == (
            TABLE.schema,
            TABLE.name,
            ("bigint",),
        )
        assert [c.name for c in table.columns] == [c.name for c in COLUMNS]
        assert [c.type.name for c in table.columns] == [c.type.name for c in COLUMNS]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"bigint": "1"}, "column `bigint` of d.t, bigint: not an integer of at most 64 bits"),
        ({"bigint": True}, "column `bigint` of d.t, bigint: not an integer of at most 64 bits"),
        ({"bigint": 1, "nope": 1}, "d.t has no column `nope`"),
        ({"bigint": 1, "varchar": b"x"}, "column `varchar` of d.t, varchar: not text"),
        ({"bigint": 1, "varchar": "\ud800"}, "text with a lone surrogate"),
    ],
)
def test_rows_that_their_table_cannot_hold_are_refused(row: dict[str, Value], message: str) -> None:
    table = replace(TABLE, schema="d", name="t")
    with pytest.raises(DefinitionError) as raised:
        Encoder(PLAIN).row(RowChange(table, 7, None, row))
    assert str(raised.value) == message


def test_text_that_is_not_utf_8_is_lost_as_ticdc_loses_it() -> None:
    row: dict[str, Value] = {"bigint": 1, "varchar": "a\udcffb"}
    ((_, value),) = Encoder(PLAIN).row(RowChange(TABLE, 7, None, row))
    assert b'"varchar":"a\\ufffdb"' in (value or b"")


def test_the_format_is_named_as_ticdc_names_it() -> None:
    assert FORMATS["canal-json"].decode is decode
