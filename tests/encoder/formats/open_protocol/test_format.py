import base64
import json
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import scenario
from support.wire_golden import facts, options_of, upstream, variants
from support.wire_values import COLUMNS, rows
from support.wire_vectors import json_row, name_of, sample, vectors
from ticdc_encoder.column import Column, ColumnType, Index
from ticdc_encoder.errors import DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table, Value
from ticdc_encoder.formats import FORMATS, MessageTooLarge, Record
from ticdc_encoder.formats.compression import deflate, inflate
from ticdc_encoder.formats.open_protocol import Encoder, Options, decode
from ticdc_encoder.formats.open_protocol.types import column_flags, column_type

VECTORS: list[dict[str, Any]] = vectors("open_protocol")
PLAIN = Options(new_architecture=True)
VERSION = (1).to_bytes(8, "big")


def _items(data: bytes) -> list[bytes]:
    items = []
    while data:
        size = int.from_bytes(data[:8], "big")
        items.append(data[8 : 8 + size])
        data = data[8 + size :]
    return items


def _framed(*items: bytes) -> bytes:
    return b"".join(len(item).to_bytes(8, "big") + item for item in items)


def _expected_row(event: dict[str, Any], side: str) -> dict[str, Any] | None:
    columns = event[side]
    return None if columns is None else {n: column["value"] for n, column in columns.items()}


@pytest.mark.parametrize("vector", VECTORS, ids=name_of)
def test_reads_the_samples_of_the_documents_and_of_ticdcs_tests(vector: dict[str, Any]) -> None:
    options = Options(compression=vector.get("compression", "none"))
    events = decode(bytes.fromhex(vector["key"]), bytes.fromhex(vector["value"]), options)
    assert len(events) == len(vector["expected"])
    for event, expected in zip(events, vector["expected"], strict=True):
        match event:
            case Resolved(ts):
                assert expected == {"event": "resolved", "ts": ts}
            case Ddl():
                assert expected == {
                    "event": "ddl",
                    "schema": event.schema,
                    "table": event.table,
                    "query": event.query,
                    "commit_ts": event.commit_ts,
                    "ddl_type": event.kind,
                }
            case RowChange():
                _is_row(event, expected)


def _is_row(change: RowChange, expected: dict[str, Any]) -> None:
    old, new = _expected_row(expected, "old"), _expected_row(expected, "new")
    assert (json_row(change.before), json_row(change.after)) == (old, new)
    described = expected["new"] or expected["old"]
    table = change.table
    assert (table.schema, table.name) == (expected["schema"], expected["table"])
    assert change.commit_ts == expected["commit_ts"]
    assert change.partition_id == expected.get("physical_table_id")
    assert change.claim_check == expected.get("claim_check")
    assert change.incomplete == (
        expected.get("only_handle_key", False) or change.claim_check is not None
    )
    assert set(table.handle_key) == {n for n, column in described.items() if column["handle"]}
    for column in table.columns:
        of = described[column.name]
        assert column.type == column_type(of["type"], of["flags"])


def _changes(name: str, variant: str) -> list[RowChange]:
    sent = scenario(name).variants[variant]
    options = options_of(sent)
    events = [e for m in sent.records for e in decode(m.key, m.value, options)]
    return [event for event in events if isinstance(event, RowChange)]


VARIANTS = variants("open-protocol", "keys", "types", "splits", "workload")


@pytest.mark.parametrize(
    ("name", "variant"),
    [case for case in VARIANTS if not case[1].endswith(".tz")]
    + [case for case in variants("open-protocol", "ddl") if not case[1].startswith("classic")],
)
def test_the_golden_messages_say_what_happened_upstream(name: str, variant: str) -> None:
    decoded = _changes(name, variant)
    happened = [
        change
        for change in upstream(name).changes
        if change.table.handle_key or variant.endswith("force-replicate")
    ]
    with_old = True
    if variant.endswith("delete-only-handle"):
        decoded = [upstream(name).whole(name, change) for change in decoded]
    elif variant.endswith(("no-old-value", "updated-columns-only")):
        # An UPDATE that was not split is an INSERT, or says nothing of a column that became NULL.
        with_old = False
        removed = {change.commit_ts for change in decoded if change.after is None}
        assert removed <= {change.commit_ts for change in happened if change.before is not None}
        decoded = [change for change in decoded if change.after is not None]
        happened = [replace(c, before=None) for c in happened if c.after is not None]
    assert facts(name, decoded, with_old=with_old) == facts(name, happened, with_old=with_old)
    if variant.startswith(("open.raw", "classic.open.raw")):
        kinds = [(c.commit_ts, c.before is None, c.after is None) for c in decoded]
        assert sorted(kinds) == sorted(
            (c.commit_ts, c.before is None, c.after is None) for c in happened
        )


def _plain(record: Record, options: Options, *, row_ids: bool) -> tuple[list[bytes], list[bytes]]:
    """Keys and values apart, the values inflated."""
    key, value = record
    assert key is not None
    assert value is not None
    assert key.startswith(VERSION)
    keys = _items(key[8:])
    if not row_ids:
        keys = [re.sub(rb',"rid":[0-9]+', b"", key) for key in keys]
    values = _items(value)
    return keys, [inflate(v, options.compression, 1 << 30) if v else v for v in values]


@pytest.mark.parametrize(("name", "variant"), [*VARIANTS, *variants("open-protocol", "large")])
def test_writes_the_golden_messages(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    options = options_of(sent)
    truth = upstream(name)
    # A row id that is no column of the table is not known to the encoder.
    row_ids = options.new_architecture
    encoder = Encoder(options)
    for message in sent.records:
        records: list[Record] = []
        for event in decode(message.key, message.value, options):
            match event:
                case RowChange():
                    records += encoder.row(truth.whole(name, event))
                case Ddl():
                    records.append(encoder.ddl(event))
                case Resolved():
                    records.append(encoder.resolved(event))
        (record,) = records + encoder.flush()
        golden = (message.key, message.value)
        assert _plain(record, options, row_ids=row_ids) == _plain(golden, options, row_ids=row_ids)
        if options.compression == "none" and row_ids:
            assert record == golden


def test_the_old_architectures_row_id_is_the_integer_key() -> None:
    sent = scenario("keys").variants["classic.open.batch16"]
    options = options_of(sent)
    seen = 0
    for message in sent.records:
        keys = _items((message.key or b"")[8:])
        for event, key in zip(decode(message.key, message.value, options), keys, strict=True):
            if isinstance(event, RowChange) and event.table.name == "clu":
                encoder = Encoder(options)
                ((written, _),) = (
                    encoder.row(upstream("keys").whole("keys", event)) + encoder.flush()
                )
                assert written == VERSION + _framed(key)
                assert b'"rid":' in key
                seen += 1
    assert seen > 0


def test_rows_beyond_the_limit_stop_the_feed_at_ticdcs_sizes() -> None:
    sent = scenario("large").variants["open.no-handling"]
    encoder = Encoder(options_of(sent))
    sizes = []
    for change in _changes("large", "open.batch1"):
        try:
            encoder.row(upstream("large").whole("large", change))
        except MessageTooLarge as error:
            sizes += re.findall(r"takes ([0-9]+) bytes", str(error))
    expected = [re.findall(r"length:([0-9]+)", error)[0] for error in sent.encode_errors]
    assert sorted(sizes) == sorted(expected)


def test_a_claim_check_file_holds_a_whole_record() -> None:
    sent = scenario("large").variants["open.claim-check"]
    reduced = [c for c in _changes("large", sent.name) if c.claim_check is not None]
    assert reduced
    for change in reduced:
        assert change.incomplete
        inside = json.loads(sent.claim_checks[(change.claim_check or "").removeprefix("file:///")])
        key, value = (base64.b64decode(inside[name]) for name in ("key", "value"))
        (whole,) = decode(key, value, options_of(sent))
        assert isinstance(whole, RowChange)
        assert facts("large", [whole]) == facts("large", [upstream("large").whole("large", change)])


A_B = Table.define(
    "test",
    "t",
    (Column("a", ColumnType("tinyint"), nullable=False), Column("b", ColumnType("int"))),
    (Index("PRIMARY", ("a",), unique=True, primary=True),),
)


def _vector(name: str) -> tuple[bytes, bytes]:
    vector = sample(VECTORS, name)
    return bytes.fromhex(vector["key"]), bytes.fromhex(vector["value"])


def test_a_batch_ends_where_the_next_row_would_pass_the_limit() -> None:
    encoder = Encoder(Options(max_message_bytes=400))
    changes = [
        RowChange(A_B, 1, None, {"a": a, "b": a * 100 + b}) for a, b in ((1, 23), (2, 23), (3, 33))
    ]
    completed = [encoder.row(change) for change in changes]
    assert completed == [[], [], [_vector("ut-batch-2-rows")]]
    assert encoder.flush() == [_vector("ut-batch-tail")]
    assert encoder.flush() == []


def test_a_batch_ends_with_its_last_row() -> None:
    encoder = Encoder(Options(max_batch_size=2))
    change = RowChange(A_B, 1, None, {"a": 1, "b": 123})
    completed = [len(encoder.row(change)) for _ in range(5)]
    assert (completed, len(encoder.flush())) == ([0, 1, 0, 1, 0], 1)


def test_a_row_beyond_the_limit_is_reduced_to_its_handle_key() -> None:
    change = RowChange(A_B, 1, None, {"a": 1, "b": 123})
    encoder = Encoder(Options(max_message_bytes=150, large_message_handle_option="handle-key-only"))
    assert encoder.row(change) + encoder.flush() == [_vector("ut-handle-key-only")]
    with pytest.raises(MessageTooLarge) as raised:
        Encoder(Options(max_message_bytes=150)).row(change)
    assert str(raised.value) == "a row of test.t takes 165 bytes, max-message-bytes is 150"


def test_an_update_without_old_value_looks_like_an_insert() -> None:
    change = RowChange(A_B, 2, {"a": 1, "b": 123}, {"a": 1, "b": 456})
    encoder = Encoder(Options(output_old_value=False))
    assert encoder.row(change) + encoder.flush() == [_vector("made-no-old-value")]


def test_the_row_of_a_partition_names_it() -> None:
    change = RowChange(A_B, 2, None, {"a": 1, "b": 123}, partition_id=104)
    for new, name in ((True, "made-partition-table-newarch"), (False, "made-partition-table")):
        encoder = Encoder(Options(new_architecture=new))
        change = replace(change, table=replace(A_B, name="tp"))
        assert encoder.row(change) + encoder.flush() == [_vector(name)]


def _columns(*definitions: tuple[str, str, bool]) -> tuple[Column, ...]:
    return tuple(Column(n, ColumnType(t), nullable=nullable) for n, t, nullable in definitions)


FLAGS = [
    ("a primary key", "int", Index("p", ("a",), unique=True, primary=True), False, 11),
    ("of two columns", "int", Index("p", ("a", "b"), unique=True, primary=True), False, 43),
    ("a unique key that is the handle", "int", Index("u", ("a",), unique=True), False, 19),
    ("a unique key that may be null", "int", Index("u", ("a",), unique=True), True, 81),
    ("a unique key of two columns", "int", Index("u", ("a", "b"), unique=True), True, 113),
    ("an index", "varchar", Index("i", ("a",)), True, 96),
    ("no index", "varbinary", Index("i", ("b",)), True, 65),
    ("a text", "text", Index("i", ("b",)), False, 0),
    ("bits", "bit", Index("i", ("b",)), True, 193),
    ("a year", "year", Index("i", ("b",)), False, 129),
    ("labels", "enum", Index("i", ("b",)), True, 64),
]


@pytest.mark.parametrize(
    ("type_", "index", "nullable", "flags"), [c[1:] for c in FLAGS], ids=[c[0] for c in FLAGS]
)
def test_flags_follow_from_the_indexes(
    type_: str, index: Index, nullable: bool, flags: int
) -> None:
    columns = _columns(("a", type_, nullable), ("b", "int", False))
    table = Table.define("d", "t", columns, (index,))
    assert column_flags(table, new_architecture=True)["a"] == flags


def test_the_new_architecture_forgets_generated_columns_indexes() -> None:
    column = Column("a", ColumnType("int"), generated="stored")
    table = Table.define("d", "t", (column,), (Index("i", ("a",)),))
    assert column_flags(table, new_architecture=True) == {"a": 69}
    assert column_flags(table, new_architecture=False) == {"a": 101}


KEY = b'{"ts":5,"scm":"d","tbl":"t","t":1}'
VALUE = b'{"u":{"a":{"t":3,"h":true,"f":11,"v":1},"b":{"t":15,"f":64,"v":"x"}}}'


def _record(key: bytes = KEY, value: bytes = VALUE) -> tuple[bytes, bytes]:
    return VERSION + _framed(key), _framed(value)


def _key(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    assert old in KEY
    return _record(key=KEY.replace(old, new))


def _value(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    assert old in VALUE
    return _record(value=VALUE.replace(old, new))


def _column(type_: int, flags: int, value: bytes) -> tuple[bytes, bytes]:
    return _value(b'{"t":15,"f":64,"v":"x"}', b'{"t":%d,"f":%d,"v":%s}' % (type_, flags, value))


def _size(size: int) -> bytes:
    return size.to_bytes(8, "big", signed=size < 0)


TS = "ts is not a timestamp of 1 to 2^64 - 1"
UNTYPED = "a column without t, or with a t, f or h of another type"


def _ddl(about: bytes, query: bytes) -> tuple[bytes, bytes]:
    key = b'{"ts":5,%s,"t":2}' % about
    return VERSION + _framed(key), _framed(b'{"q":"%s","t":4}' % query)


MALFORMED: list[tuple[str, tuple[bytes | None, bytes | None], str]] = [
    ("no key", (None, b""), "no key: not open-protocol of version 1"),
    (
        "canal-json",
        (None, b'{"isDdl":false,"mysqlType":null}'),
        "no key: not open-protocol of version 1 (it looks like canal-json)",
    ),
    (
        "another version",
        (_size(2) + _framed(KEY), _framed(VALUE)),
        "a key of another version: not open-protocol of version 1",
    ),
    (
        "half a version",
        (VERSION[:4], b""),
        "a key of another version: not open-protocol of version 1",
    ),
    ("no events", (VERSION, b""), "a record without events"),
    (
        "a key cut off",
        (VERSION + _framed(KEY)[:-1], _framed(VALUE)),
        "the key ends inside of item 1",
    ),
    (
        "a length cut off",
        (VERSION + _framed(KEY) + b"\0", _framed(VALUE)),
        "the key ends inside of item 2",
    ),
    ("a value cut off", (_record()[0], _framed(VALUE)[:-1]), "the value ends inside of item 1"),
    ("left-over bytes", (_record()[0], _framed(VALUE) + b"abc"), "the value ends inside of item 2"),
    (
        "a negative length",
        (VERSION + _size(-1) + KEY, _framed(VALUE)),
        "the key ends inside of item 1",
    ),
    (
        "an oversized length",
        (VERSION + _size(1 << 62) + KEY, _framed(VALUE)),
        "the key ends inside of item 1",
    ),
    (
        "lengths that overlap",
        (VERSION + _framed(KEY), _size(len(VALUE) + 8) + _framed(VALUE[:-8])),
        "the value ends inside of item 1",
    ),
    ("more keys", (VERSION + _framed(KEY, KEY), _framed(VALUE)), "2 keys but 1 values"),
    ("more values", (_record()[0], _framed(VALUE, VALUE)), "1 keys but 2 values"),
    ("no value", (_record()[0], None), "a row or DDL without a value"),
    ("a key that is no JSON", _record(key=b"{"), "the key: not JSON at character 1"),
    ("a key that is a list", _record(key=b"[]"), "the key is not a JSON object"),
    ("a value that is no JSON", _record(value=b"{} {}"), "the value: not JSON at character 3"),
    ("a value that is a list", _record(value=b"[]"), "the value is not a JSON object"),
    ("no ts", _key(b'"ts":5,', b""), TS),
    ("ts 0", _key(b'"ts":5', b'"ts":0'), TS),
    ("ts negative", _key(b'"ts":5', b'"ts":-1'), TS),
    ("ts a float", _key(b'"ts":5', b'"ts":5.0'), TS),
    ("ts of 65 bits", _key(b'"ts":5', b'"ts":18446744073709551616'), TS),
    ("ts a string", _key(b'"ts":5', b'"ts":"5"'), TS),
    ("no t", _key(b',"t":1', b""), "t is not 1, 2 or 3"),
    ("an unknown t", _key(b'"t":1', b'"t":4'), "t is not 1, 2 or 3"),
    ("no schema", _key(b'"scm":"d",', b""), "scm is missing or not a string"),
    ("no table", _key(b'"tbl":"t"', b'"tbl":""'), "a row without a table"),
    ("a partition that is text", _key(b'"t":1', b'"t":1,"ptn":"7"'), "ptn is not an integer"),
    ("a location that is a number", _key(b'"t":1', b'"t":1,"ccl":7'), "ccl is not a string"),
    ("a resolved ts with a value", _key(b'"t":1', b'"t":3'), "a resolved ts with a value"),
    ("a DDL without q", _key(b'"t":1', b'"t":2'), "q is missing or not a string"),
    (
        "a DDL without t",
        _record(key=KEY.replace(b'"t":1', b'"t":2'), value=b'{"q":"x"}'),
        "a DDL without a query or a type",
    ),
    (
        "a resolved ts in a batch",
        (VERSION + _framed(KEY, b'{"ts":5,"t":3}'), _framed(VALUE, b"")),
        "a DDL or a resolved ts that is not alone in its record",
    ),
    ("no image", _record(value=b"{}"), "neither u nor d has columns"),
    ("an empty image", _record(value=b'{"u":{}}'), "neither u nor d has columns"),
    ("an image that is a list", _record(value=b'{"u":[]}'), "u, p or d is not an object"),
    (
        "deleted and there",
        _record(value=VALUE[:-1] + b',"d"' + VALUE[4:]),
        "a row that is both deleted and present",
    ),
    ("a column that is a number", _value(b'{"t":15,"f":64,"v":"x"}', b"7"), UNTYPED),
    ("a column without t", _value(b'"t":15,', b""), UNTYPED),
    ("a t that is a list", _value(b'"t":15', b'"t":[15]'), UNTYPED),
    (
        "an unknown t of a column",
        _value(b'"t":15', b'"t":99'),
        "column `b` has the unknown type 99",
    ),
    ("f negative", _value(b'"f":64', b'"f":-64'), "column `b` has no valid f or h"),
    ("h a string", _value(b'"h":true', b'"h":"yes"'), "column `a` has no valid f or h"),
    ("no v", _value(b',"v":"x"', b""), "column `b` of d.t: no v"),
    ("a key of null", _value(b'"v":1', b'"v":null'), "key column `a` of d.t is null"),
    (
        "an integer that is a string",
        _value(b'"v":1', b'"v":"1"'),
        "column `a` of d.t: not an integer of at most 64 bits",
    ),
    (
        "an integer of 65 bits",
        _value(b'"v":1', b'"v":18446744073709551616'),
        "column `a` of d.t: not an integer of at most 64 bits",
    ),
    ("text that is a number", _column(15, 64, b"7"), "column `b` of d.t: not text"),
    ("a float that is text", _column(5, 65, b'"1.5"'), "column `b` of d.t: not a finite float"),
    (
        "a decimal that is a number",
        _column(246, 65, b"1.5"),
        "column `b` of d.t: not text",
    ),
    ("base64 with a blank", _column(252, 65, b'"AA =="'), "column `b` of d.t: not base64"),
    ("base64 without padding", _column(252, 64, b'"AA"'), "column `b` of d.t: not base64"),
    (
        "an octal escape",
        _column(15, 65, b'"\\\\101"'),
        "column `b` of d.t: an escape that Go does not write",
    ),
    (
        "an escape cut off",
        _column(15, 65, b'"\\\\x4"'),
        "column `b` of d.t: an escape that Go does not write",
    ),
    (
        "an escaped surrogate",
        _column(15, 65, b'"\\\\ud800"'),
        "column `b` of d.t: an escape that is not a character",
    ),
    (
        "a surrogate beside invalid UTF-8",
        _column(15, 64, b'"\\ud800\xff"'),
        "the value: an escaped surrogate beside bytes that are not UTF-8",
    ),
    (
        "a column's name that is not UTF-8",
        _column(15, 64, b'"x"},"\xff":{"t":5,"v":1'),
        "a column whose name is not UTF-8",
    ),
    (
        "a DDL of a schema that is a number",
        _ddl(b'"scm":1,"tbl":"t"', b"DROP TABLE t"),
        "scm is missing or not a string",
    ),
    (
        "a DDL that is not UTF-8",
        _ddl(b'"scm":"d","tbl":"t"', b"DROP TABLE `\xff`"),
        "q is not UTF-8",
    ),
    (
        "not a number beside invalid UTF-8",
        _column(15, 64, b'"\xff"},"c":{"t":5,"v":NaN'),
        "the value: not JSON: an invalid number",
    ),
]


@pytest.mark.parametrize(
    ("record", "message"), [c[1:] for c in MALFORMED], ids=[c[0] for c in MALFORMED]
)
def test_malformed_records_are_refused(
    record: tuple[bytes | None, bytes | None], message: str
) -> None:
    with pytest.raises(WireError) as raised:
        decode(*record, PLAIN)
    assert str(raised.value) == message


@given(st.binary(max_size=60), st.integers(0, 130), st.booleans())
def test_any_bytes_are_events_or_a_wire_error(noise: bytes, at: int, in_key: bool) -> None:
    key, value = _record()
    for first, second in ((noise, b""), (noise, value[at:])):
        broken = (
            (key[:at] + first + key[at:], value) if in_key else (key, value[:at] + first + second)
        )
        with suppress(WireError):
            decode(*broken, PLAIN)


def _only(record: tuple[bytes, bytes]) -> RowChange:
    (change,) = decode(*record, PLAIN)
    assert isinstance(change, RowChange)
    return change


def test_bytes_that_are_not_utf_8_come_as_they_are() -> None:
    change = _only(_column(15, 64, b'"\xffa"'))
    assert change.after == {"a": 1, "b": "\udcffa"}


def _updated(p: bytes) -> RowChange:
    return _only(_record(value=VALUE[:-1] + b',"p":' + p + b"}"))


def test_a_partial_old_row_takes_its_types_from_the_new_one() -> None:
    # v8.5.4 sends MySQL's own flags here, in which 1 is NOT NULL.
    change = _updated(b'{"b":{"t":15,"f":1,"v":"\\\\x"}}')
    assert change.before == {"b": "\\x"}


def test_an_old_row_of_no_columns_is_an_update_without_a_change() -> None:
    assert _updated(b"{}").before == {}
    assert _updated(b"null").before is None


def test_a_column_that_became_null_has_an_unknown_old_value() -> None:
    assert _updated(b'{"t":3,"f":65,"v":123,"a":{"t":3,"f":11,"v":9}}').before == {"a": 9}


def test_bare_members_named_as_a_key_column_are_refused() -> None:
    value = b'{"u":{"t":{"t":3,"h":true,"f":11,"v":1}},"p":{"t":3,"f":65,"v":123}}'
    with pytest.raises(WireError, match="bare members named like a key column"):
        decode(*_record(value=value), PLAIN)


def test_a_legacy_column_without_flags_has_none() -> None:
    change = _only(_value(b',"f":11', b""))
    assert change.table.handle_key == ("a",)


def test_flags_lost_by_a_stale_cache_allow_an_unsigned_value() -> None:
    change = _only(_column(8, 0, b"18446744073709551615"))
    assert change.after == {"a": 1, "b": 18446744073709551615}


def test_values_that_look_like_a_mark_stay_a_row() -> None:
    assert _only(_column(15, 64, json.dumps('{"ts":9,"t":3}').encode())).commit_ts == 5


@pytest.mark.parametrize("value", [None, b"", bytes(8)])
def test_a_resolved_ts_has_no_value(value: bytes | None) -> None:
    key = VERSION + _framed(b'{"ts":9,"t":3}')
    assert decode(key, value, PLAIN) == [Resolved(9)]


def test_a_schema_level_ddl_may_lack_its_table() -> None:
    record = _record(b'{"ts":9,"scm":"d","t":2}', b'{"q":"CREATE DATABASE `d`","t":1}')
    ddl = Ddl("d", "", "CREATE DATABASE `d`", 9, 1)
    assert decode(*record, PLAIN) == [ddl]
    assert Encoder(Options()).ddl(ddl) == record
    assert b'"tbl":""' in (Encoder(PLAIN).ddl(ddl)[0] or b"")


def test_a_compressed_value_is_inflated_within_its_limit() -> None:
    key, _ = _record()
    options = Options(compression="lz4", message_limit=len(VALUE))
    assert decode(key, _framed(deflate(VALUE, "lz4")), options)
    with pytest.raises(WireError, match="inflates to more than 68 bytes"):
        decode(key, _framed(deflate(VALUE, "lz4")), replace(options, message_limit=len(VALUE) - 1))
    with pytest.raises(WireError, match="not an LZ4 frame"):
        decode(key, _framed(VALUE), options)


TABLE = Table.define(
    'd`"b', "t<中>", COLUMNS, (Index("PRIMARY", ("bigint",), unique=True, primary=True),)
)


@given(
    st.lists(st.tuples(rows(), rows()), min_size=1, max_size=3),
    st.sampled_from(["none", "lz4", "snappy"]),
    st.booleans(),
)
def test_every_value_of_every_type_comes_back(
    images: list[tuple[dict[str, Value], dict[str, Value]]], codec: Any, new: bool
) -> None:
    changes = [
        change
        for before, after in images
        for change in (
            RowChange(TABLE, 7, None, after, partition_id=3),
            RowChange(TABLE, 8, before, after),
            RowChange(TABLE, 9, before, None),
        )
    ]
    options = Options(compression=codec, new_architecture=new)
    encoder = Encoder(options)
    records = [record for change in changes for record in encoder.row(change)] + encoder.flush()
    decoded: list[Event] = [e for k, v in records for e in decode(k, v, options)]
    assert len(decoded) == len(changes)
    for event, change in zip(decoded, changes, strict=True):
        assert isinstance(event, RowChange)
        assert (event.before, event.after) == (change.before, change.after)
        assert (event.commit_ts, event.partition_id) == (change.commit_ts, change.partition_id)
        assert event.table.handle_key == ("bigint",)
        if new:
            types = [
                (c.name, c.type.name, c.type.unsigned, c.nullable) for c in event.table.columns
            ]
            assert types == [(c.name, c.type.name, c.type.unsigned, c.nullable) for c in COLUMNS]


def test_rows_that_their_table_cannot_hold_are_refused() -> None:
    for row, message in (
        ({"a": 1.5}, "column `a` of test.t, tinyint: not an integer of at most 64 bits"),
        ({"a": 1, "c": 1}, "test.t has no column `c`"),
    ):
        with pytest.raises(DefinitionError) as raised:
            Encoder(PLAIN).row(RowChange(A_B, 7, None, row))
        assert str(raised.value) == message


def test_the_format_is_named_as_ticdc_names_it() -> None:
    assert FORMATS["open-protocol"].decode is decode
