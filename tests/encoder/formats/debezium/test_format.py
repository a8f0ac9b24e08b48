import base64
import json
import re
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Variant, scenario
from support.golden_changes import happened
from support.variant_settings import common, sink, uri
from support.wire_golden import facts, true_table, upstream, variants
from support.wire_values import COLUMNS, rows
from support.wire_vectors import described, name_of, sample, vectors
from ticdc_encoder.column import Column, ColumnType, Index
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table, Value
from ticdc_encoder.formats import FORMATS, MissingCommitTs
from ticdc_encoder.formats.debezium import Encoder, Options, decode
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.version import Version, version_number

VECTORS: list[dict[str, Any]] = vectors("debezium")
PLAIN = Options(new_architecture=True)


def debezium_options(variant: Variant) -> Options:
    settings = uri(variant)
    of_all = common(variant)
    return Options(
        enable_tidb_extension=settings.get("enable-tidb-extension") == "true",
        debezium_disable_schema=settings.get("debezium-disable-schema") == "true",
        output_old_value=sink(variant).get("debezium", {}).get("output-old-value", True),
        time_zone=of_all["time_zone"],
        compression=of_all["compression"],
        new_architecture=of_all["new_architecture"],
    )


# The samples.


def _encoded(vector: dict[str, Any]) -> tuple[bytes | None, bytes]:
    return vector["key"] and vector["key"].encode(), vector["value"].encode()


@pytest.mark.parametrize("vector", [v for v in VECTORS if "expected" in v], ids=name_of)
def test_reads_the_samples_of_the_documents_and_of_ticdcs_tests(vector: dict[str, Any]) -> None:
    events = decode(*_encoded(vector), PLAIN)
    assert [described(event) for event in events] == vector["expected"]
    if isinstance(events[0], RowChange):
        assert len(events[0].table.handle_key) == 1


def _tiny(*, nullable: bool) -> Table:
    column = Column("tiny", ColumnType("tinyint"), nullable=nullable)
    return Table("test", "table1", (column,), handle_key=("tiny",))


def _of_test(**more: Any) -> Options:
    more = {"new_architecture": True} | more
    return Options(enable_tidb_extension=False, cluster_id="test_cluster", **more)


_BARE = {"debezium_disable_schema": True}
_INT_10 = Table.define(
    "test",
    "table1",
    (Column("id", ColumnType("int", length=10), nullable=False),),
    (Index("PRIMARY", ("id",), unique=True, primary=True),),
)
_NOT_NULL, _NULLABLE = _tiny(nullable=False), _tiny(nullable=True)
_NEW_ROW, _OLD_ROW = {"tiny": 1}, {"tiny": 2}


def _sides(table: Table) -> tuple[RowChange, RowChange, RowChange]:
    return (
        RowChange(table, 1, None, _NEW_ROW),
        RowChange(table, 1, _OLD_ROW, _NEW_ROW),
        RowChange(table, 1, _OLD_ROW, None),
    )


def _three(of: str, table: Table, options: Options) -> Iterator[tuple[str, Event, Options]]:
    for name, change in zip(("insert", "update", "delete"), _sides(table), strict=True):
        yield f"{of}_{name}", change, options


_INSERT, _UPDATE, _DELETE = _sides(_NOT_NULL)
# Of the old architecture's DDL, the test's fixtures have names swapped, and no character set.
SAMPLES: list[tuple[str, Event, Options]] = [
    ("both_insert_noschema", _INSERT, _of_test(**_BARE)),
    ("both_update_noschema", _UPDATE, _of_test(**_BARE)),
    ("both_update_noschema_noold", _UPDATE, _of_test(output_old_value=False, **_BARE)),
    ("both_delete_noschema", _DELETE, _of_test(**_BARE)),
    *_three("newarch", _NOT_NULL, _of_test()),
    *_three("classic", _NULLABLE, _of_test(new_architecture=False)),
    (
        "newarch_ddl_rename",
        Ddl(
            "test",
            "table2",
            "RENAME TABLE test.table1 to test.table2",
            1,
            14,
            replace(_INT_10, name="table2"),
        ),
        _of_test(),
    ),
    (
        "newarch_ddl_create_noschema",
        Ddl("test", "table1", "CREATE TABLE test.table1(id int(10) primary key)", 1, 3, _INT_10),
        _of_test(**_BARE),
    ),
    (
        "both_ddl_drop_noschema",
        Ddl("test", "table2", "DROP TABLE test.table2", 1, 4),
        _of_test(**_BARE),
    ),
]


def _written(
    event: Event, options: Options, now: int = 1701326309000
) -> tuple[bytes | None, bytes]:
    encoder = Encoder(options, lambda: now)
    match event:
        case RowChange():
            ((key, value),) = encoder.row(event)
        case Ddl():
            key, value = encoder.ddl(event)
        case Resolved():
            key, value = encoder.resolved(event)
    assert value is not None
    return key, value


@pytest.mark.parametrize(("name", "event", "options"), SAMPLES, ids=[s[0] for s in SAMPLES])
def test_writes_the_samples_of_ticdcs_tests(name: str, event: Event, options: Options) -> None:
    key, value = _written(event, options)
    vector = sample(VECTORS, name)
    assert json.loads(key or b"null") == json.loads(vector["key"] or "null")
    assert json.loads(value) == json.loads(vector["value"])


def test_writes_a_resolved_ts_as_ticdcs_tests_have_it() -> None:
    options = replace(_of_test(), enable_tidb_extension=True, new_architecture=False)
    key, value = _written(Resolved(3), options)
    vector = sample(VECTORS, "both_watermark")
    assert json.loads(key or b"") == json.loads(vector["key"])
    assert json.loads(value) == json.loads(vector["value"])


def test_writes_the_sample_with_the_extension_byte_for_byte() -> None:
    vector = sample(VECTORS, "derived_update_extension")
    table = parse_create_table(vector["create"], "test")
    before: dict[str, Value] = {
        "id": 1 << 63,
        "vb": b"\0\xff\1",
        "d": Decimal("2.25"),
        "b": 65,
        "ts": "2024-03-11 00:51:01.46127",
    }
    after = {**dict.fromkeys(before), "id": 1 << 63}
    change = RowChange(table, 446266400629063682, before, after)
    assert _written(change, PLAIN, 1702371219000) == _encoded(vector)


# What the INSERT of the sample leaves in TiDB.
_MOMENT = "2023-11-30 12:34:56"
FOO: dict[str, Value] = {
    "pk": 1,
    "col_d_2023": "2023-11-30",
    "col_d_1000": "1000-01-01",
    "col_d_9999": "9999-12-31",
    "col_d_0000": "0000-00-00",
    "col_dt": _MOMENT,
    "col_dt_fsp_0": _MOMENT,
    "col_dt_fsp_1": f"{_MOMENT}.1",
    "col_dt_fsp_4": f"{_MOMENT}.1235",
    "col_dt_fsp_6": f"{_MOMENT}.123456",
    "col_dt_0000": "0000-00-00 00:00:00.000000",
    "col_t": "12:34:56",
    "col_t_fsp_0": "12:34:56",
    "col_t_fsp_1": "12:34:56.1",
    "col_t_fsp_4": "12:34:56.1235",
    "col_t_fsp_6": "12:34:56.123456",
    "col_t_neg": "-12:34:56.123456",
    "col_ts": _MOMENT,
    "col_ts_fsp_0": _MOMENT,
    "col_ts_fsp_1": f"{_MOMENT}.1",
    "col_ts_fsp_5": f"{_MOMENT}.12346",
    "col_ts_fsp_6": f"{_MOMENT}.123456",
    "col_y": 2023,
    "col_bit_1": 1,
    "col_bit_5": 16,
    "col_bit_6": 16,
    "col_bit_60": 16,
    "col_varchar": "foo",
    "col_char": "foo",
    "col_varbinary": b"foo",
    "col_binary": b"foo".ljust(100, b"\0"),
    "col_blob": b"foo",
    "col_decimal": Decimal("12345.12345"),
    "col_numeric": Decimal("12345.12345"),
    "col_float": 12345.123,
    "col_double": 12345.12345,
    "col_int": -2147483648,
    "col_int_unsigned": 4294967295,
    "col_tinyint": -128,
    "col_tinyint_unsigned": 255,
    "col_smallint": -32768,
    "col_smallint_unsigned": 65535,
    "col_mediumint": -8388608,
    "col_mediumint_unsigned": 16777215,
    "col_bigint": -9223372036854775808,
    "col_bigint_unsigned": 18446744073709551615,
    "col_enum": 1,
    "col_enum_invalid": 0,
    "col_set": 3,
    "col_set_invalid": 0,
    "col_json": '["foo"]',
}


def test_a_row_of_every_type_is_what_the_mysql_connector_makes() -> None:
    vector = sample(VECTORS, "datatype")
    foo = parse_create_table(vector["create"], "test")
    options = Options(enable_tidb_extension=False, cluster_id="dbserver1")
    key, value = _written(RowChange(foo, 5, None, FOO), options)
    theirs, ours = json.loads(vector["value"]), json.loads(value)
    assert json.loads(key or b"") == json.loads(vector["key"])
    for payload in (theirs["payload"], ours["payload"]):
        assert payload.pop("source")["db"] == "test"
        payload.pop("ts_ms")
    assert ours == theirs
    with pytest.raises(MissingCommitTs, match="not from TiCDC"):
        decode(*_encoded(vector), PLAIN)


# Golden.

VARIANTS = variants("debezium", "keys", "types", "splits", "workload", "ddl")
_EPOCH = "1970-01-01"


def _as_sent(column: Column, value: Value) -> Value:
    """The upstream's value without what the protocol loses."""
    if value is None:
        return None if column.default is None else _instead_of_null(column, column.default)
    match column.type.name, value:
        case "decimal", Decimal():
            return Decimal(repr(float(value))).normalize()
        case (("date" | "datetime"), str()):
            return _date(column, value)
        case "time", str():
            return _without_zeros(value)
        case "timestamp", str() if value.startswith("0000"):
            return value[:19]
        case "enum", 0 if "" in column.type.elements:
            return column.type.elements.index("") + 1
    return value


def _without_zeros(moment: str) -> str:
    return re.sub(r"\.?0*$", "", moment) if "." in moment else moment


def _date(column: Column, moment: str) -> str | None:
    day, blank, clock = moment.partition(" ")
    year, month, number = map(int, day.split("-"))
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    if month == 0 or not 1 <= number <= monthrange(year, month)[1]:
        return None if column.nullable else _EPOCH + (" 00:00:00" if blank else "")
    return f"{year:04}-{day[5:]}{blank}{_without_zeros(clock)}"


def _instead_of_null(column: Column, default: str) -> Value:
    if default.startswith("CURRENT_TIMESTAMP"):
        return f"{_EPOCH} 00:00:00" if column.type.name == "datetime" else None
    match column.type.name:
        case "bit":
            return int(default[2:-1], 2)
        case "decimal":
            return Decimal(repr(float(default))).normalize()
        case "enum":
            return column.type.elements.index(default) + 1
        case "int" | "bigint" | "year" | "tinyint":
            return int(default)
        case "datetime":
            return _without_zeros(default)
    return default.encode() if column.type.binary else default


def _losing(
    table: Table, row: Row | None, lose: Callable[[Column, Value], Value]
) -> dict[str, Value] | None:
    return None if row is None else {n: lose(table.column(n), value) for n, value in row.items()}


def _digits(column: Column, value: Value) -> Value:
    """A decoded value, without the digits that it may have by chance."""
    if isinstance(value, Decimal):
        return value.normalize()
    if column.type.name in ("datetime", "time") and isinstance(value, str):
        return _without_zeros(value)
    return value


@cache
def _events(name: str, variant: str) -> tuple[Event, ...]:
    sent = scenario(name).variants[variant]
    options = debezium_options(sent)
    return tuple(e for m in sent.records for e in decode(m.key, m.value, options))


def _rows(name: str, variant: str) -> list[RowChange]:
    return [event for event in _events(name, variant) if isinstance(event, RowChange)]


def _sent(name: str, *, forced: bool = False) -> list[RowChange]:
    """What happened upstream, as far as the protocol tells it."""
    return [
        replace(
            change,
            before=_losing(change.table, change.before, _as_sent),
            after=_losing(change.table, change.after, _as_sent),
        )
        for change in upstream(name).changes
        if change.table.handle_key or forced
    ]


def _decoded(name: str, changes: Iterable[RowChange]) -> list[RowChange]:
    decoded = []
    for change in changes:
        table = true_table(name, change)
        before, after = (_losing(table, row, _digits) for row in (change.before, change.after))
        decoded.append(replace(change, before=before, after=after))
    return decoded


# The script has the DDL texts of the new architecture.
WITH_TYPES = [
    (name, variant)
    for name, variant in VARIANTS
    if re.fullmatch(r"(classic\.)?debezium\.ext(\.force-replicate)?", variant)
    and (name, variant[:7]) != ("ddl", "classic")
]


@pytest.mark.parametrize(("name", "variant"), WITH_TYPES)
def test_the_golden_messages_say_what_happened_upstream(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    expected = Counter(facts(name, _sent(name, forced=variant.endswith("force-replicate"))))
    decoded = Counter(facts(name, _decoded(name, _rows(name, variant))))
    assert not decoded - expected
    # TiCDC's old architecture could not encode every row; one that changed is two facts.
    errors = len(sent.encode_errors)
    assert errors <= (expected - decoded).total() <= 2 * errors
    types = {
        (change.table.name, column.name, column.type.name, column.type.unsigned)
        for change in _rows(name, variant)
        for column in change.table.columns
    }
    true = {
        (change.table.name, c.name, c.type.name, c.type.unsigned and c.type.name != "decimal")
        for change in upstream(name).changes
        for c in change.table.columns
    }
    assert types <= true


def test_the_golden_ddl_is_the_upstreams() -> None:
    ddls = {
        (event.commit_ts, event.schema, event.table, event.query)
        for event in _events("ddl", "debezium.noschema")
        if isinstance(event, Ddl)
    }
    assert ddls <= set(upstream("ddl").kinds)
    assert len(ddls) > 90


@pytest.mark.parametrize(("name", "variant"), [v for v in VARIANTS if v[1] == "debezium.schema"])
def test_without_the_extension_text_is_not_distinct_from_bytes(name: str, variant: str) -> None:
    with_types = _rows(name, "debezium.ext")
    assert len(_rows(name, variant)) == len(with_types)
    for change, known in zip(_rows(name, variant), with_types, strict=True):
        for row, true in ((change.before, known.before), (change.after, known.after)):
            for column in change.table.columns if row is not None and true is not None else ():
                assert row is not None
                assert true is not None
                value, expected = row[column.name], true[column.name]
                if isinstance(expected, bytes):
                    expected = base64.b64encode(expected).decode()
                    assert column.type.name == "longtext"
                if isinstance(expected, Decimal):
                    expected = float(expected)
                    assert column.type.name == "double"
                if column.type.name == "bigint" and isinstance(expected, int):
                    expected -= (expected >= 1 << 63) << 64
                assert value == expected


NO_SCHEMA = [
    (name, variant)
    for name, variant in VARIANTS
    if debezium_options(scenario(name).variants[variant]).debezium_disable_schema
]


@pytest.mark.parametrize(("name", "variant"), NO_SCHEMA)
def test_without_a_schema_a_row_is_its_json(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    for message, event in zip(sent.records, _events(name, variant), strict=True):
        if isinstance(event, RowChange):
            payload = orjson.loads(message.value or b"")["payload"]
            before = payload.get("before", {} if payload["op"] == "u" else None)
            assert (event.before, event.after) == (before, payload["after"])
            assert event.table.handle_key == tuple(json.loads(message.key or b"")["payload"])


def test_timestamps_are_in_utc_whatever_the_servers_zone() -> None:
    decoded = []
    for variant in ("debezium.noschema", "debezium.ext.tz"):
        payloads = [
            json.loads(message.value or b"")["payload"]
            for message in scenario("types").variants[variant].records
        ]
        for payload in payloads:
            for row in (payload.get("before"), payload.get("after")):
                if row is not None:
                    # Which may stand for NULL, and then it moves with the zone.
                    row.pop("c_defts", None)
        decoded.append(
            [(p["op"], p.get("before"), p.get("after")) for p in payloads if "before" in p]
        )
    assert decoded[0] == decoded[1]
    assert len(decoded[0]) > 160


def _typed_events(name: str, variant: str) -> list[Event]:
    """The events; those without types or old rows by the same scenario's variant that has them,
    where there is one. Either may have resolved ts that the other has not."""
    sent = scenario(name).variants[variant]
    whole = scenario(name).variants.get("debezium.ext")
    own = list(_events(name, variant))
    options = debezium_options(sent)
    typed = options.enable_tidb_extension and not options.debezium_disable_schema
    if whole is None or typed:
        return own
    queues: dict[int, list[Event]] = {}
    for message, event in zip(whole.records, _events(name, whole.name), strict=True):
        if not isinstance(event, Resolved):
            queues.setdefault(message.partition, []).append(event)
    return [
        event if isinstance(event, Resolved) else queues[message.partition].pop(0)
        for message, event in zip(sent.records, own, strict=True)
    ]


Place = tuple[int, str, str, str, tuple[Value, ...]]


def _places(
    change: RowChange, lose: Callable[[Column, Value], Value]
) -> Iterator[tuple[Place, Row]]:
    """Where each row of a change is, by its key as the protocol tells it."""
    table = change.table
    for side, row in (("before", change.before), ("after", change.after)):
        if row is not None:
            key = tuple(lose(table.column(name), row[name]) for name in table.handle_key)
            yield (change.commit_ts, table.schema, table.name, side, key), row


@cache
def _upstream_rows(name: str) -> Mapping[Place, Row]:
    return {
        identity: row
        for change in upstream(name).changes
        for identity, row in _places(change, _as_sent)
        if change.table.handle_key
    }


def _whole(name: str, decoded: RowChange) -> RowChange:
    """The change as the encoder was given it. FLOAT is as decoded: the golden data cut it."""
    table = true_table(name, decoded)
    change = replace(decoded, table=table)
    if not table.handle_key:
        return change
    true = {
        identity[3]: {
            n: row[n] if table.column(n).type.name == "float" and n in row else value
            for n, value in _upstream_rows(name)[identity].items()
        }
        for identity, row in _places(change, _digits)
    }
    return replace(change, before=true.get("before"), after=true.get("after"))


def _comparable(value: bytes | None) -> bytes:
    """A message without what TiCDC makes at random, the wall clock."""
    return re.sub(rb'"ts_ms":[0-9]+,"(transaction|databaseName)"', rb'"\1"', value or b"", count=1)


@cache
def _true_ddls(name: str) -> Mapping[tuple[int, str], Ddl]:
    events = (event for event in happened(name) if isinstance(event, Ddl))
    return {(ddl.commit_ts, ddl.query): ddl for ddl in events}


def _not_known(event: Event) -> bool:
    """What SHOW CREATE TABLE does not tell: a view's columns, and the hidden one that TiDB makes
    for an index over an expression."""
    if isinstance(event, Ddl):
        return re.search("VIEW", event.query) is not None
    return isinstance(event, RowChange) and any(i.expression for i in event.table.indexes)


@pytest.mark.parametrize(
    ("name", "variant"), [v for v in VARIANTS if (v[0], v[1][:7]) != ("ddl", "classic")]
)
def test_writes_the_golden_messages(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    options = debezium_options(sent)
    written = 0
    for message, event in zip(sent.records, _typed_events(name, variant), strict=True):
        true: Event = event
        if isinstance(event, RowChange):
            true = _whole(name, event)
        elif isinstance(event, Ddl):
            true = _true_ddls(name)[event.commit_ts, event.query]
        if _not_known(true) and not (
            isinstance(event, RowChange) and options.debezium_disable_schema
        ):
            continue
        key, value = _written(true, options)
        assert key == message.key
        assert _comparable(value) == _comparable(message.value)
        written += 1
    assert written >= len(sent.records) - 8


def test_the_old_architectures_ddl_is_written_as_it_is_read() -> None:
    sent = scenario("ddl").variants["classic.debezium.ext"]
    options = debezium_options(sent)
    written = 0
    for message, event in zip(sent.records, _events("ddl", sent.name), strict=True):
        true: Event | None = event
        if isinstance(event, Ddl):
            true = _true_ddls("ddl").get((event.commit_ts, event.query))
            # An EXCHANGE PARTITION is told as the partitioned table's.
            true = true and replace(true, schema=event.schema, table=event.table)
        if true is None or isinstance(true, RowChange) or _not_known(true):
            continue  # RENAME is worded otherwise; rows go on under the old names
        key, value = _written(true, options)
        assert (key, _comparable(value)) == (message.key, _comparable(message.value))
        written += 1
    assert written > 220


# What a message may be.

T = parse_create_table(
    "CREATE TABLE t (a int primary key, b varchar(9) default 'x', c bigint)", "d"
)
ROW = RowChange(T, 5, None, {"a": 1, "b": "y", "c": None})
KEY, VALUE = _written(ROW, PLAIN)
assert KEY is not None


def _only(key: bytes | None, value: bytes, options: Options = PLAIN) -> RowChange:
    (change,) = decode(key, value, options)
    assert isinstance(change, RowChange)
    return change


def test_a_rows_key_is_that_of_the_record() -> None:
    assert _only(KEY, VALUE).table.handle_key == ("a",)
    assert _only(None, VALUE).table.handle_key == ()


def test_null_is_told_as_the_default() -> None:
    null = replace(ROW, after={"a": 1, "b": None, "c": None})
    assert _only(*_written(null, PLAIN)).after == {"a": 1, "b": "x", "c": None}
    old = Options(version=Version(8, 5, 1))
    assert _only(*_written(null, old)).after == {"a": 1, "b": None, "c": None}


def test_an_update_without_its_old_row_is_an_update() -> None:
    update = replace(ROW, before={"a": 1, "b": "z", "c": 2})
    assert _only(*_written(update, PLAIN)).before == update.before
    change = _only(*_written(update, Options(output_old_value=False)))
    assert (change.before, change.after) == ({}, update.after)


VERSIONS: list[tuple[str, bytes | None, bytes]] = [
    ("8.1.0", None, b'"name":"default.d-1.t.Envelope"'),
    ("8.5.0", b'"name":"default.d_1.t.Key"', b'"name":"default.d_1.t.Envelope"'),
    ("8.5.2", b'"name":"default.d_1.t.Key"', b'"b":"x"'),
]


@pytest.mark.parametrize(("version", "in_key", "in_value"), VERSIONS)
def test_older_versions_tell_less(version: str, in_key: bytes | None, in_value: bytes) -> None:
    options = Options(version=version_number(version))
    null = RowChange(replace(T, schema="d-1"), 5, None, {"a": 1, "b": None})
    key, value = _written(null, options)
    assert (key is None) == (in_key is None)
    assert in_key is None or in_key in (key or b"")
    assert in_value in value
    assert b"tidb_type" not in value
    for event in (Resolved(9), Ddl("d", "t", "DROP TABLE t", 9, 4)):
        with pytest.raises(ConfigError, match=r"debezium of TiCDC 8\.[0-9.]+ has no"):
            _written(event, options)


def test_a_resolved_ts_needs_the_extension() -> None:
    key, value = _written(Resolved(9), PLAIN)
    assert decode(key, value, PLAIN) == [Resolved(9)]
    with pytest.raises(ConfigError, match="only with enable-tidb-extension"):
        Encoder(Options(enable_tidb_extension=False)).resolved(Resolved(9))


def test_key_and_value_are_compressed_each_by_itself() -> None:
    options = replace(PLAIN, compression="lz4", message_limit=len(VALUE))
    key, value = _written(ROW, options)
    assert _only(key, value, options) == _only(KEY, VALUE)
    with pytest.raises(WireError, match="inflates to more than"):
        decode(key, value, replace(options, message_limit=len(VALUE) - 1))
    with pytest.raises(WireError, match="not an LZ4 frame"):
        decode(KEY, VALUE, options)


def test_values_that_look_like_a_schema_stay_values() -> None:
    text = ',"schema":{"type":"struct","optional":false,"name":"x"}}'
    change = replace(ROW, after={"a": 1, "b": text, "c": None})
    for options in (PLAIN, Options(debezium_disable_schema=True)):
        assert (_only(*_written(change, options)).after or {})["b"] == text


def _edit(old: str, new: str) -> bytes:
    assert old.encode() in VALUE
    return VALUE.replace(old.encode(), new.encode())


_TYPE_OF_C = '"tidb_type":"bigint","type":"int64","optional":true,"field":"c"'


def _typed(field: str, value: str) -> bytes:
    return _edit('"c":null', f'"c":{value}').replace(_TYPE_OF_C.encode(), field.encode())


def _c(type_: str, value: str, **parameters: str) -> bytes:
    more = f',"parameters":{json.dumps(parameters)}' if parameters else ""
    return _typed(f'"tidb_type":"{type_}","type":"string"{more},"field":"c"', value)


MALFORMED: list[tuple[str, bytes | None, str]] = [
    ("nothing", None, "an empty value is not debezium"),
    ("no JSON", b"{", "not JSON at character 1"),
    (
        "canal-json",
        b'{"isDdl":false,"mysqlType":null}',
        "not a debezium payload (it looks like canal-json)",
    ),
    ("no payload", b'{"payload":1}', "not a debezium payload (it looks like debezium)"),
    (
        "no source",
        b'{"payload":{"op":"c"}}',
        "not a debezium payload with a source (it looks like debezium)",
    ),
    (
        "another connector",
        _edit('"commit_ts":5,', ""),
        "debezium without commit_ts in its source (d.t): not from TiCDC",
    ),
    ("no time", _edit('"commit_ts":5', '"commit_ts":"5"'), "commit_ts is not a timestamp"),
    ("an op", _edit('"op":"c"', '"op":"r"'), "an unknown op: 'r'"),
    ("a c with before", _edit('"before":null', '"before":{"a":1}'), "op c with before"),
    ("a d without before", _edit('"op":"c"', '"op":"d"'), "op d with after"),
    (
        "a u without after",
        _edit('"op":"c"', '"op":"u"').replace(b'"after":{', b'"x":{'),
        "op u without after",
    ),
    (
        "a d of nothing",
        b'{"payload":{"source":{"commit_ts":5},"op":"d","before":null}}',
        "op d without before",
    ),
    (
        "a list",
        _edit('"after":{"a":1,"b":"y","c":null}', '"after":[1]'),
        "before or after is not an object with columns",
    ),
    ("no table", _edit('"table":"t"', '"table":1'), "table is missing or not a string"),
    ("a column without field", _edit('"c":null', '"z":null'), "column `z` of d.t has no field"),
    ("a null key", _edit('{"a":1,', '{"a":null,'), "key column `a` of d.t is null"),
    ("no key", _edit('{"a":1,', "{"), "key column `a` of d.t is null"),
    (
        "no fields",
        _edit('"field":"before","fields":[', '"field":"before","fields":[1,'),
        "a schema without the fields of a row",
    ),
    (
        "text for a number",
        _edit('"a":1,"b"', '"a":"1","b"'),
        "column `a` of d.t: not an integer of at most 64 bits",
    ),
    ("an unknown type", _c("geometry", "1"), "an unknown tidb_type: 'geometry'"),
    (
        "an unknown connect type",
        _typed('"type":"map","field":"c"', "1"),
        "a field of a schema without a name or a known type",
    ),
    (
        "a type that is an object",
        _typed('"type":{},"field":"c"', "1"),
        "a field of a schema without a name or a known type",
    ),
    (
        "a field whose name is an object",
        _typed('"type":"int32","name":{},"field":"c"', "1"),
        "a field of a schema without a name or a known type",
    ),
    ("a float for a text", _c("varchar", "1.5"), "column `c` of d.t: not text"),
    ("no base64", _c("blob", '"A"'), "column `c` of d.t: not base64"),
    (
        "a strange member",
        _c("enum", '"z"', allowed="a,b"),
        "column `c` of d.t: not one of the members",
    ),
    (
        "strange members",
        _c("set", '"a,z"', allowed="a,b"),
        "column `c` of d.t: a name that is not a member",
    ),
    ("an enum of what", _c("enum", '"a"'), "field `c` without its allowed members"),
    (
        "bits of what",
        _typed('"tidb_type":"bit","type":"bytes","field":"c"', '"AA=="'),
        "field `c` without a length",
    ),
    (
        "a number for a bit",
        _typed('"tidb_type":"bit","type":"boolean","field":"c"', "1"),
        "column `c` of d.t: not a boolean",
    ),
    ("a day too far", _c("date", "9999999999"), "column `c` of d.t: "),
    (
        "a zone",
        _c("timestamp", '"2024-01-01T00:00:00+01:00"'),
        "column `c` of d.t: not a moment in UTC",
    ),
    (
        "no moment",
        _c("timestamp", '"2024-01-32T00:00:00Z"'),
        "column `c` of d.t: not a moment in UTC",
    ),
    ("an empty DDL", b'{"payload":{"source":{"commit_ts":5},"ddl":""}}', "an empty ddl"),
    (
        "a DDL of nothing",
        b'{"payload":{"source":{"commit_ts":5},"ddl":"x"}}',
        "databaseName is missing or not a string",
    ),
]


@pytest.mark.parametrize(
    ("value", "message"), [c[1:] for c in MALFORMED], ids=[c[0] for c in MALFORMED]
)
def test_malformed_records_are_refused(value: bytes | None, message: str) -> None:
    with pytest.raises(WireError) as raised:
        decode(KEY, value, PLAIN)
    assert str(raised.value).startswith(message)


def test_a_key_without_a_payload_is_refused() -> None:
    for key in (b"[]", b"{}", b'{"payload":[]}'):
        with pytest.raises(WireError, match="a key without a payload"):
            decode(key, VALUE, PLAIN)


@given(st.binary(max_size=60), st.integers(0, len(VALUE)))
def test_any_bytes_are_events_or_a_wire_error(noise: bytes, at: int) -> None:
    for broken in (VALUE[:at] + noise + VALUE[at:], VALUE[:at] + noise + VALUE[at + 1 :], noise):
        with suppress(WireError):
            decode(KEY, broken, PLAIN)
    with suppress(WireError):
        decode(noise, VALUE, PLAIN)


# A DECIMAL comes back as the double that it was made; a SET's members hold no comma.
_SPECIAL = {
    "bit": ColumnType("bit", length=64),
    "set": ColumnType("set", elements=("a", "b", "d'e", "中", "e")),
}
TABLE = Table.define(
    'd`"b',
    "t<中>",
    tuple(replace(c, type=_SPECIAL.get(c.name, c.type)) for c in COLUMNS if c.name != "decimal"),
    (Index("PRIMARY", ("bigint",), unique=True, primary=True),),
)


@given(rows(), rows(), st.booleans(), st.sampled_from(["none", "lz4", "snappy"]))
def test_every_value_of_every_type_comes_back(
    before: dict[str, Value], after: dict[str, Value], is_new: bool, codec: Any
) -> None:
    options = Options(compression=codec, new_architecture=is_new)
    images = []
    for row in (before, after):
        whole = {c.name: row[c.name] for c in TABLE.columns}
        sent = {c.name: _as_sent(c, whole[c.name]) for c in TABLE.columns}
        images.append((whole, sent))
    (old, old_sent), (new, new_sent) = images
    for change, expected in (
        (RowChange(TABLE, 7, None, new), (None, new_sent)),
        (RowChange(TABLE, 8, old, new), (old_sent, new_sent)),
        (RowChange(TABLE, 9, old, None), (old_sent, None)),
    ):
        event = _only(*_written(change, options), options)
        decoded = tuple(_losing(TABLE, row, _digits) for row in (event.before, event.after))
        assert decoded == expected
        assert event.table.handle_key == ("bigint",)
        assert [
            (c.name, c.type.name, c.type.unsigned, c.nullable) for c in event.table.columns
        ] == [(c.name, c.type.name, c.type.unsigned, c.nullable) for c in TABLE.columns]


def test_rows_that_their_table_cannot_hold_are_refused() -> None:
    for row, message in (
        ({"a": 1.5}, "column `a` of d.t, int: not an integer of at most 64 bits"),
        ({"a": 1, "z": 1}, "d.t has no column `z`"),
    ):
        with pytest.raises(DefinitionError) as raised:
            Encoder(PLAIN).row(RowChange(T, 7, None, row))
        assert str(raised.value) == message
    with pytest.raises(DefinitionError, match="without a row"):
        Encoder(PLAIN).row(RowChange(T, 7))


def test_the_format_is_named_as_ticdc_names_it() -> None:
    assert FORMATS["debezium"].decode is decode
