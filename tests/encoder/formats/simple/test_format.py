import base64
import json
import re
import sys
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import scenario
from support.wire_golden import facts, upstream
from support.wire_simple import (
    SIMPLE,
    as_told,
    changes,
    simple_events,
    simple_options,
    true_definition,
    true_version,
)
from support.wire_values import COLUMNS, rows
from support.wire_vectors import described, name_of, value_of, vectors
from ticdc_encoder.column import Column, Index
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table, Value
from ticdc_encoder.formats import FORMATS, MessageTooLarge, Record
from ticdc_encoder.formats.checksum import ChecksumMismatch, row_checksum
from ticdc_encoder.formats.compression import inflate
from ticdc_encoder.formats.simple import Decoder, Encoder, Options, Waiting, decode
from ticdc_encoder.formats.simple.avro import ENCODING as AVRO
from ticdc_encoder.formats.simple.schema import parse_schema, schema_members
from ticdc_encoder.sql.parser import from_json, parse_create_table, to_json

VECTORS: list[dict[str, Any]] = vectors("simple")
PLAIN = Options(new_architecture=True)


MESSAGES = [vector for vector in VECTORS if "expected" in vector]


def _value(vector: dict[str, Any]) -> bytes:
    value = value_of(vector)
    return base64.b64decode(json.loads(value)["value"]) if vector.get("file") else value


@pytest.mark.parametrize("vector", MESSAGES, ids=name_of)
def test_reads_the_samples_of_the_documents_and_of_ticdcs_tests(vector: dict[str, Any]) -> None:
    options = Options(
        encoding_format=vector.get("encoding", "json"),
        compression=vector.get("compression", "none"),
        on_corruption=vector.get("on_corruption", "stop"),
    )
    decoder = Decoder(options)
    if known := vector.get("known"):
        table = parse_create_table(known["create"], known["schema"])
        decoder = Decoder(options, [replace(table, version=known["version"])])
    events = [event for _, event in decoder.decode(None, _value(vector))]
    assert [described(event) for event in events] == vector["expected"]
    if "tables" in vector:
        learned = [
            [t.schema, t.name, t.version, [c.name for c in t.columns], list(t.handle_key)]
            for t in decoder.tables
        ]
        assert sorted(learned) == sorted(vector["tables"])


@pytest.mark.parametrize("vector", [v for v in VECTORS if "create" in v], ids=name_of)
def test_a_tables_schema_is_that_of_its_create_statement(vector: dict[str, Any]) -> None:
    table = parse_create_table(vector["create"], "test")
    assert _without_empty(schema_members(table)) == vector["tableSchema"]


def _without_empty(members: Any) -> Any:
    if isinstance(members, dict):
        optional = ("length", "decimal", "elements", "unsigned", "zerofill")
        return {n: _without_empty(v) for n, v in members.items() if v or n not in optional}
    return [_without_empty(m) for m in members] if isinstance(members, list) else members


# The script has the DDL texts of the new architecture.
WHOLE = [(name, v) for name, v in SIMPLE if name != "large" and (name, v[:7]) != ("ddl", "classic")]


@pytest.mark.parametrize(("name", "variant"), WHOLE)
def test_the_golden_messages_say_what_happened_upstream(name: str, variant: str) -> None:
    happened = [
        change
        for change in upstream(name).changes
        if change.table.handle_key or variant.endswith("force-replicate")
    ]
    decoded = changes(name, variant)
    assert facts(name, decoded) == facts(name, happened)
    if ".raw." in variant:
        kinds = [(c.commit_ts, c.before is None, c.after is None) for c in decoded]
        assert sorted(kinds) == sorted(
            (c.commit_ts, c.before is None, c.after is None) for c in happened
        )


def test_the_golden_ddl_is_the_upstreams() -> None:
    ddls = {
        (event.commit_ts, event.schema, event.table, event.query)
        for record in simple_events("ddl", "simple.json")
        for event in record
        if isinstance(event, Ddl)
    }
    happened = set(upstream("ddl").kinds)
    # Of a table without a valid key nothing is sent; EXCHANGE PARTITION is the partitioned table's.
    assert {ddl[3][:34] for ddl in ddls - happened} == {"ALTER TABLE `shop`.`part` EXCHANGE"}
    assert len(ddls & happened) > 90
    assert {ddl[1] for ddl in ddls if not ddl[2]} == {"shop", "shop2", "dbname-数据 库"}


@pytest.mark.parametrize(("name", "variant"), WHOLE)
def test_the_golden_schemas_are_the_upstreams_tables(name: str, variant: str) -> None:
    checked = 0
    for record in simple_events(name, variant):
        for event in record:
            table = event.table if isinstance(event, RowChange) else None
            if isinstance(event, Ddl) and "RENAME" not in event.query:
                table = event.definition
            if table is None or isinstance(event, Resolved):
                continue
            true = true_definition(name, table, event.commit_ts)
            assert table.columns == tuple(map(_as_simple_tells, true.columns))
            assert table.handle_key == true.handle_key
            assert [i.columns for i in table.indexes] == [i.columns for i in true.indexes]
            checked += 1
    assert checked > 0


def _as_simple_tells(column: Column) -> Column:
    """Simple has no comments, expressions and auto increment, nor a FLOAT(10,2)'s second number."""
    default = column.default
    if column.type.name == "year" and default is None and not column.nullable:
        default = "0000"
    no_decimals = column.type.name in ("float", "double")
    type_ = replace(column.type, decimals=None) if no_decimals else column.type
    return Column(column.name, type_, column.nullable, default)


def _plain(value: bytes | None, options: Options) -> tuple[Any, int]:
    """A message without what TiCDC makes at random, the wall clock and the order of Avro's maps;
    and its length."""
    assert value is not None
    plain = inflate(value, options.compression, 1 << 30)
    if options.encoding_format == "avro":
        members = AVRO.parse(plain)
        members.pop("buildTs")
        return members, len(plain)
    return re.sub(rb'"buildTs":[0-9]+', b"", plain, count=1), len(plain)


# What SHOW CREATE TABLE does not tell of a view and of an index over an expression.
NOT_KNOWN = re.compile(r"VIEW `|exprix|`shop`.`goods`")


@pytest.mark.parametrize(
    ("name", "variant"), [*WHOLE, *((n, v) for n, v in SIMPLE if n == "large")]
)
def test_writes_the_golden_messages(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    options = simple_options(sent)
    truth = upstream(name)
    written = 0
    encoder = Encoder(options, lambda: 1795274370650)
    for message, record in zip(sent.records, simple_events(name, variant), strict=True):
        records: list[Record] = []
        for event in record:
            match event:
                case RowChange():
                    whole = truth.whole(name, event)
                    whole = replace(whole, table=as_told(whole.table, event.table))
                    records += encoder.row(whole)
                case Ddl():
                    if NOT_KNOWN.search(event.query):
                        continue
                    records.append(encoder.ddl(_true_ddl(name, event)))
                case Resolved():
                    records.append(encoder.resolved(event))
        if not record:
            told_table = _bootstrapped(message.value, options)
            records.append(encoder.bootstrap(true_version(name, told_table)))
        for key, value in records:
            assert key is None
            assert _plain(value, options) == _plain(message.value, options)
            written += 1
    assert written > len(sent.records) * 0.95


def _true_ddl(name: str, ddl: Ddl) -> Ddl:
    """The DDL as the upstream knows it: its kind, and the true tables."""
    kinds = upstream(name).kinds
    kind = next(
        kind for (ts, *_, query), kind in kinds.items() if (ts, query) == (ddl.commit_ts, ddl.query)
    )
    definition = ddl.definition
    if definition is not None and "RENAME" not in ddl.query:
        definition = true_definition(name, definition, ddl.commit_ts)
    return replace(ddl, kind=kind, definition=definition)


def _bootstrapped(value: bytes | None, options: Options) -> Table:
    decoder = Decoder(options)
    assert decoder.decode(None, value) == []
    (table,) = decoder.tables
    return table


@pytest.mark.parametrize("variant", ["classic.simple.json", "classic.simple.avro"])
def test_the_old_architectures_ddl_is_written_as_it_is_read(variant: str) -> None:
    sent = scenario("ddl").variants[variant]
    options = simple_options(sent)
    kinds = {ts: kind for (ts, *_), kind in upstream("ddl").kinds.items()}
    encoder = Encoder(options, lambda: 1795274370650)
    with_previous = 0
    for message, record in zip(sent.records, simple_events("ddl", variant), strict=True):
        for event in record:
            match event:
                case RowChange():
                    ((_, value),) = encoder.row(event)
                case Ddl():
                    with_previous += event.previous is not None
                    if NOT_KNOWN.search(event.query) or _hidden(event):
                        continue
                    _, value = encoder.ddl(replace(event, kind=kinds[event.commit_ts]))
                case Resolved():
                    _, value = encoder.resolved(event)
            assert _plain(value, options) == _plain(message.value, options)
    assert with_previous > 100


def _hidden(ddl: Ddl) -> bool:
    """Whether an index over an expression is in the table before or after."""
    tables = (ddl.definition, ddl.previous)
    return any(i.expression for table in tables if table is not None for i in table.indexes)


def test_large_rows_of_every_variant_are_whole_in_their_file() -> None:
    for variant in ("simple.json.claim-check-snappy", "simple.avro.claim-check-raw"):
        sent = scenario("large").variants[variant]
        options = simple_options(sent)
        reduced = [c for c in changes("large", variant) if c.claim_check is not None]
        assert reduced
        for change in reduced:
            assert change.incomplete
            inside = sent.claim_checks[(change.claim_check or "").removeprefix("file:///")]
            if not variant.endswith("raw"):
                inside = base64.b64decode(json.loads(inside)["value"])
            ((_, whole),) = Decoder(options, [change.table]).decode(None, inside)
            assert isinstance(whole, RowChange)
            assert not whole.incomplete
            happened = upstream("large").whole("large", change)
            assert facts("large", [whole]) == facts("large", [happened])


T = parse_create_table("CREATE TABLE t (a int primary key, b varchar(9), c bigint)", "d")
T1 = replace(T, version=1, table_id=7)
T2 = replace(parse_create_table("CREATE TABLE t (a int primary key, b int)", "d"), version=2)
ROW = RowChange(T1, 5, None, {"a": 1, "b": "x", "c": None})
FORMATS_OF_SIMPLE = [Options(), Options(encoding_format="avro")]


def _record(event: Event | Table, options: Options = PLAIN) -> bytes:
    encoder = Encoder(options, lambda: 1)
    match event:
        case RowChange():
            ((_, value),) = encoder.row(event)
        case Ddl():
            _, value = encoder.ddl(event)
        case Resolved():
            _, value = encoder.resolved(event)
        case Table():
            _, value = encoder.bootstrap(event)
    assert value is not None
    return value


@pytest.mark.parametrize("options", FORMATS_OF_SIMPLE)
def test_rows_wait_for_the_schema_of_their_version(options: Options) -> None:
    decoder = Decoder(options)
    second = RowChange(T2, 9, {"a": 1, "b": 2}, None)
    assert decoder.decode(None, _record(ROW, options), at=10) == []
    assert decoder.decode(None, _record(second, options), at=11) == []
    assert decoder.decode(None, _record(Resolved(20), options), at=12) == [(12, Resolved(20))]
    assert set(decoder.waiting) == {Waiting(10, 5, "d", "t", 1), Waiting(11, 9, "d", "t", 2)}
    # The schema before a DDL counts as well as that after it.
    ddl = Ddl("d", "t", "ALTER TABLE t MODIFY b int", 8, 0, T2, T1)
    assert decoder.decode(None, _record(ddl, options), at=13) == [
        (10, ROW),
        (11, second),
        (13, ddl),
    ]
    assert decoder.waiting == ()
    assert decoder.decode(None, _record(ROW, options), at=14) == [(14, ROW)]


def test_a_bootstrap_message_is_no_event_but_ends_the_wait() -> None:
    decoder = Decoder(PLAIN)
    decoder.decode(None, _record(ROW), at=3)
    assert decoder.decode(None, _record(T1), at=4) == [(3, ROW)]
    assert decoder.decode(None, _record(T1), at=5) == []


def test_schemas_outlive_a_decoder() -> None:
    decoder = Decoder(PLAIN)
    decoder.decode(None, _record(T1))
    stored = [json.loads(json.dumps(to_json(table))) for table in decoder.tables]
    again = Decoder(PLAIN, [from_json(table) for table in stored])
    assert again.decode(None, _record(ROW)) == [(0, ROW)]


def test_a_renamed_table_keeps_its_version_and_needs_its_schema() -> None:
    renamed = replace(T1, name="u")
    decoder = Decoder(PLAIN, [T1])
    assert decoder.decode(None, _record(replace(ROW, table=renamed))) == []
    assert [waiting.table for waiting in decoder.waiting] == ["u"]


def test_the_row_of_a_partition_names_it() -> None:
    for options in FORMATS_OF_SIMPLE:
        of_partition = replace(ROW, partition_id=8)
        ((_, event),) = Decoder(options, [T1]).decode(None, _record(of_partition, options))
        assert event == of_partition
        ((_, event),) = Decoder(options, [T1]).decode(None, _record(ROW, options))
        assert event == ROW


def test_a_row_without_its_schema_shows_what_it_has() -> None:
    (change,) = decode(None, _record(ROW), PLAIN)
    assert isinstance(change, RowChange)
    assert change.after == {"a": "1", "b": "x", "c": None}
    assert (change.table.schema, change.table.name, change.table.handle_key) == ("d", "t", ())
    (change,) = decode(None, _record(ROW, FORMATS_OF_SIMPLE[1]), FORMATS_OF_SIMPLE[1])
    assert isinstance(change, RowChange)
    assert change.after == {"a": 1, "b": "x", "c": None}


def test_a_primary_key_that_tidb_makes_up_is_not_the_handle_key() -> None:
    table = parse_create_table(
        "CREATE TABLE t (x int not null, y int not null, z int not null,"
        " unique big (x, y), unique small (z))",
        "d",
    )
    members = schema_members(table)
    assert [i["name"] for i in members["indexes"]] == ["big", "small", "primary"]
    assert members["indexes"][-1]["columns"] == ["x", "y"]
    read = parse_schema(members)
    assert read is not None
    assert (read.handle_key, len(read.indexes)) == (("z",), 2)


def test_a_timestamp_comes_in_utc_whatever_the_server() -> None:
    table = replace(parse_create_table("CREATE TABLE t (a timestamp)", "d"), version=1)
    row = RowChange(table, 5, None, {"a": "2024-07-01 12:00:00.5"})
    new_york = Options(time_zone="America/New_York")
    assert b'{"location":"America/New_York","value":"2024-07-01 08:00:00.5"}' in _record(
        row, new_york
    )
    assert Decoder(PLAIN, [table]).decode(None, _record(row, new_york)) == [(0, row)]
    local = _record(row, new_york).replace(b"America/New_York", b"Local")
    assert Decoder(new_york, [table]).decode(None, local) == [(0, row)]


def test_an_hour_that_a_zone_has_twice_is_refused() -> None:
    table = replace(parse_create_table("CREATE TABLE t (a timestamp)", "d"), version=1)
    row = RowChange(table, 5, None, {"a": "2024-11-03 05:30:00"})
    value = _record(row, Options(time_zone="America/New_York"))
    with pytest.raises(WireError) as raised:
        Decoder(PLAIN, [table]).decode(None, value)
    assert str(raised.value) == (
        "column `a` of d.t: a time that occurs twice or never in America/New_York (run TiCDC in "
        "UTC)"
    )


def _with_checksum(row: RowChange, **checksum: Any) -> bytes:
    members = {"version": 0, "corrupted": False, "current": 0, "previous": 0, **checksum}
    return _record(row).replace(b',"data"', b',"checksum":%s,"data"' % json.dumps(members).encode())


def test_a_checksum_is_verified() -> None:
    fits = row_checksum(T1.columns, ROW.after or {})
    assert fits != 0
    decoder = Decoder(PLAIN, [T1])
    assert decoder.decode(None, _with_checksum(ROW, current=fits)) == [(0, ROW)]
    assert decoder.decode(None, _with_checksum(ROW)) == [(0, ROW)]
    for wrong in ({"current": fits ^ 1}, {"current": fits, "corrupted": True}):
        with pytest.raises(ChecksumMismatch) as raised:
            decoder.decode(None, _with_checksum(ROW, **wrong))
        assert str(raised.value) == "a row of d.t does not match its checksum (commit_ts 5)"
        warn = Decoder(Options(on_corruption="warn"), [T1])
        assert warn.decode(None, _with_checksum(ROW, **wrong)) == [
            (0, replace(ROW, corrupted=True))
        ]


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_checksums_are_written_where_they_are_asked_for(encoding: Any) -> None:
    options = Options(encoding_format=encoding, integrity_check=True)
    update = replace(ROW, before={"a": 1, "b": "z", "c": 2})
    value = _record(update, options)
    assert Decoder(options, [T1]).decode(None, value) == [(0, update)]
    members = AVRO.parse(value) if encoding == "avro" else json.loads(value)
    assert members["checksum"] == {
        "version": 0,
        "corrupted": False,
        "current": row_checksum(T1.columns, update.after or {}),
        "previous": row_checksum(T1.columns, update.before or {}),
    }


def test_a_row_beyond_the_limit_is_reduced_to_its_handle_key() -> None:
    row = RowChange(T1, 5, {"a": 1, "b": "x" * 9, "c": 1}, {"a": 1, "b": "y" * 9, "c": 2})
    handle_only = Options(max_message_bytes=227, large_message_handle_option="handle-key-only")
    assert Decoder(PLAIN, [T1]).decode(None, _record(row, handle_only)) == [
        (0, replace(row, before={"a": 1}, after={"a": 1}, incomplete=True))
    ]
    with pytest.raises(MessageTooLarge) as raised:
        Encoder(Options(max_message_bytes=227), lambda: 1).row(row)
    assert str(raised.value) == "a row of d.t takes 228 bytes, max-message-bytes is 227"


MESSAGE = json.loads(_record(ROW))
SCHEMA = json.loads(_record(T1))


def _edited(message: Any = MESSAGE, /, **members: Any) -> bytes:
    edited = {name: value for name, value in {**message, **members}.items() if value != ...}
    return json.dumps(edited, separators=(",", ":")).encode()


def _column(**members: Any) -> bytes:
    column = {**SCHEMA["tableSchema"]["columns"][0], **members}
    return _schema(columns=[column])


def _schema(**members: Any) -> bytes:
    return _edited(SCHEMA, tableSchema={**SCHEMA["tableSchema"], **members})


MALFORMED: list[tuple[str, bytes | None, str]] = [
    ("nothing", None, "an empty value is not simple"),
    ("no JSON", b"{", "not JSON at character 1"),
    ("a list", b"[]", "a message that is not an object"),
    (
        "canal-json",
        b'{"isDdl":false,"mysqlType":null}',
        "not a simple message of version 1 (it looks like canal-json)",
    ),
    (
        "another version",
        _edited(version=2),
        "not a simple message of version 1",
    ),
    ("a strange type", _edited(type="MERGE"), "an unknown type: 'MERGE'"),
    ("no table", _edited(table=...), "a row without a database or a table"),
    ("a version that is text", _edited(schemaVersion="1"), "schemaVersion is not an integer"),
    ("no commit_ts", _edited(commitTs=...), "commitTs is not a timestamp of 1 to 2^64 - 1"),
    ("a negative commit_ts", _edited(commitTs=-1), "commitTs is not a timestamp of 1 to 2^64 - 1"),
    ("an INSERT without data", _edited(data=...), "INSERT without data"),
    ("an INSERT with old", _edited(old={"a": "1"}), "INSERT with old"),
    ("an UPDATE without old", _edited(type="UPDATE"), "UPDATE without old"),
    ("a DELETE with data", _edited(type="DELETE", old={"a": "1"}), "DELETE with data"),
    ("data that is a list", _edited(data=["1"]), "data or old is not an object with columns"),
    ("no columns", _edited(data={}), "data or old is not an object with columns"),
    ("a column too many", _edited(data={"z": "1"}), "column `z` is not in version 1 of d.t"),
    (
        "a column too many that is null",
        _edited(data={"a": "1", "b": "x", "z": None}),
        "column `z` is not in version 1 of d.t",
    ),
    (
        "no digits",
        _edited(data={"a": "x"}),
        "column `a` of d.t: not the digits of an integer",
    ),
    ("a number", _edited(data={"a": 1}), "column `a` of d.t: not text"),
    ("a null key", _edited(data={"a": None}), "key column `a` of d.t is null"),
    ("a flag", _edited(handleKeyOnly=1.5), "handleKeyOnly is not a boolean"),
    ("a place", _edited(claimCheckLocation=1), "claimCheckLocation is not a string"),
    ("a checksum", _edited(checksum=1), "checksum is not an object"),
    (
        "a large checksum",
        _edited(checksum={"current": 1 << 32}),
        "a checksum that is not an integer of 32 bits",
    ),
    ("a DDL without sql", _edited(SCHEMA, type="ALTER", commitTs=5), "a DDL without sql"),
    (
        "a DDL without time",
        _edited(SCHEMA, type="ALTER", sql="ALTER"),
        "commitTs is not a timestamp of 1 to 2^64 - 1",
    ),
    (
        "a DDL of nothing",
        _edited(type="QUERY", sql="CREATE DATABASE `x"),
        "a DDL without a tableSchema: unbalanced quotes in the statement",
    ),
    (
        "a BOOTSTRAP of nothing",
        _edited(SCHEMA, tableSchema=...),
        "a BOOTSTRAP without a tableSchema",
    ),
    (
        "a schema that is text",
        _edited(SCHEMA, tableSchema="x"),
        "a tableSchema that is not an object",
    ),
    ("columns", _schema(columns=1), "a tableSchema whose columns is not a list"),
    ("no name", _column(name=None), "a tableSchema whose name is missing or of another type"),
    (
        "no type",
        _column(dataType={}),
        "a tableSchema whose mysqlType is missing or of another type",
    ),
    (
        "a strange type",
        _column(dataType={"mysqlType": "geometry"}),
        "an unknown mysqlType: 'geometry'",
    ),
    ("a default", _column(default=[]), "column `a` has a default of another type"),
    (
        "columns of one name",
        _schema(columns=SCHEMA["tableSchema"]["columns"][:1] * 2, indexes=[]),
        "a tableSchema with two columns of one name",
    ),
    (
        "an index",
        _schema(indexes=[{**SCHEMA["tableSchema"]["indexes"][0], "columns": ["z"]}]),
        "index `primary` has a column that the table does not have",
    ),
    (
        "an index of numbers",
        _schema(indexes=[{**SCHEMA["tableSchema"]["indexes"][0], "columns": [1]}]),
        "index `primary` has a column that is not a string",
    ),
    (
        "elements",
        _column(dataType={"mysqlType": "enum", "elements": [1]}),
        "an element that is not a string",
    ),
]


@pytest.mark.parametrize(
    ("value", "message"), [c[1:] for c in MALFORMED], ids=[c[0] for c in MALFORMED]
)
def test_malformed_records_are_refused(value: bytes | None, message: str) -> None:
    with pytest.raises(WireError) as raised:
        Decoder(PLAIN, [T1]).decode(None, value)
    assert str(raised.value).startswith(message)
    # Where there have been many rows, the same is said.
    decoder = Decoder(PLAIN, [T1])
    for _ in range(200):
        decoder.decode(None, _record(ROW))
    with pytest.raises(WireError) as again:
        decoder.decode(None, value)
    assert str(again.value) == str(raised.value)


AVRO_ROW = _record(ROW, FORMATS_OF_SIMPLE[1])
MALFORMED_AVRO: list[tuple[str, bytes, str]] = [
    (
        "JSON",
        _record(ROW),
        "not an Avro message of simple (it looks like simple with encoding-format=json)",
    ),
    ("cut off", AVRO_ROW[:-1], "a broken Avro message of simple (EOFError)"),
    ("a byte too many", AVRO_ROW + b"\0", "bytes after an Avro message of simple"),
    ("two types", b"\x16\0\x02" + AVRO_ROW[3:], "not an Avro message of simple"),
    ("a strange branch", AVRO_ROW[:-1] + b"\x08", "a broken Avro message of simple (IndexError)"),
    (
        "a float for a number",
        AVRO_ROW.replace(b"\x02a\x02\x02", b"\x02a\x06" + bytes(8)),
        "column `a` of d.t: not an integer of at most 64 bits",
    ),
]


@pytest.mark.parametrize(
    ("value", "message"), [c[1:] for c in MALFORMED_AVRO], ids=[c[0] for c in MALFORMED_AVRO]
)
def test_malformed_avro_is_refused(value: bytes, message: str) -> None:
    with pytest.raises(WireError) as raised:
        Decoder(FORMATS_OF_SIMPLE[1], [T1]).decode(None, value)
    assert str(raised.value) == message


@given(st.binary(max_size=60), st.integers(0, 130), st.booleans())
def test_any_bytes_are_events_or_a_wire_error(noise: bytes, at: int, as_avro: bool) -> None:
    options = FORMATS_OF_SIMPLE[as_avro]
    for value in (_record(ROW, options), _record(T1, options)):
        for broken in (
            value[:at] + noise + value[at:],
            value[:at] + noise + value[at + 1 :],
            noise,
        ):
            with suppress(WireError):
                Decoder(options, [T1]).decode(None, broken)


def test_a_compressed_value_is_inflated_within_its_limit() -> None:
    value = _record(ROW, Options(compression="lz4"))
    inside = Options(compression="lz4", message_limit=200)
    assert Decoder(inside, [T1]).decode(None, value) == [(0, ROW)]
    with pytest.raises(WireError, match="inflates to more than 20 bytes"):
        Decoder(replace(inside, message_limit=20), [T1]).decode(None, value)


TABLE = replace(
    Table.define(
        'd`"b', "t<中>", COLUMNS, (Index("PRIMARY", ("bigint",), unique=True, primary=True),)
    ),
    version=3,
)


@given(
    rows(),
    rows(),
    st.sampled_from(["json", "avro"]),
    st.sampled_from(["none", "lz4", "snappy"]),
    st.booleans(),
)
def test_every_value_of_every_type_comes_back(
    before: dict[str, Value],
    after: dict[str, Value],
    encoding: Any,
    codec: Any,
    new: bool,
) -> None:
    options = Options(encoding_format=encoding, compression=codec, new_architecture=new)
    encoder = Encoder(options)
    decoder = Decoder(options)
    (value,) = {encoder.bootstrap(TABLE)[1]}
    assert decoder.decode(None, value) == []
    (table,) = decoder.tables
    assert [(c.name, c.type.name, c.nullable) for c in table.columns] == [
        (c.name, c.type.name, c.nullable) for c in COLUMNS
    ]
    for change in (
        RowChange(TABLE, 7, None, after, partition_id=3),
        RowChange(TABLE, 8, before, after),
        RowChange(TABLE, 9, before, None),
    ):
        ((_, value),) = encoder.row(change)
        ((_, event),) = decoder.decode(None, value)
        assert isinstance(event, RowChange)
        assert (event.before, event.after) == (change.before, change.after)
        assert (event.commit_ts, event.table.handle_key) == (change.commit_ts, ("bigint",))


def test_rows_that_their_table_cannot_hold_are_refused() -> None:
    for row, message in (
        ({"a": 1.5}, "column `a` of d.t, int: not an integer of at most 64 bits"),
        ({"a": 1, "z": 1}, "d.t has no column `z`"),
    ):
        for options in FORMATS_OF_SIMPLE:
            with pytest.raises(DefinitionError) as raised:
                Encoder(options).row(RowChange(T1, 7, None, row))
            assert str(raised.value) == message
    with pytest.raises(DefinitionError, match="text that is not UTF-8"):
        Encoder(FORMATS_OF_SIMPLE[1]).row(RowChange(T1, 7, None, {"a": 1, "b": "\udcff"}))


def test_avro_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ticdc_encoder.formats.simple.avro")
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(ConfigError, match=r"Avro needs `pip install ticdc-consumer\[avro\]`"):
        Decoder(FORMATS_OF_SIMPLE[1])
    Decoder(PLAIN)


def test_the_format_is_named_as_ticdc_names_it() -> None:
    assert FORMATS["simple"].decode is decode
    assert FORMATS["simple"].Decoder is Decoder
