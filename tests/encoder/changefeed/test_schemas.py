"""Changefeeds of the protocols whose messages tell a table's schema: Simple and Debezium."""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.golden import Variant, scenario
from support.golden_changes import happened
from support.variant_settings import protocol_of
from support.wire_simple import as_told, simple_events, simple_options
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange, Table, Transaction, Value
from ticdc_encoder.formats import simple
from ticdc_encoder.formats.compression import inflate
from ticdc_encoder.formats.simple.avro import ENCODING as AVRO
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

# The same code as wrote the golden data, by its promises: the new architecture's head.
NEW: Any = {"version": "8.5.7", "new_architecture": True}
CLASSIC: Any = {"version": "8.5.3"}
NOW = 1795274370650


def _variants(protocol: str, *scenarios: str) -> list[tuple[str, str]]:
    return [
        (name, variant.name)
        for name in scenarios
        for variant in scenario(name).variants.values()
        if variant.sink_uri.startswith("kafka:") and protocol_of(variant) == protocol
    ]


def replayed(variant: Variant, described: "Told | None") -> Iterator[Message]:
    """The scenario through a changefeed of ours; of Simple with the numbers that the golden
    messages tell, which the upstream's data lacks."""
    config = tomllib.loads(variant.config_toml)
    config.pop("integrity", None)  # which the golden data's maker did not hand to the codec
    changefeed = Changefeed(
        variant.sink_uri,
        config,
        time_zone=variant.server_tz,
        clock=lambda: NOW,
        **(CLASSIC if variant.name.startswith("classic.") else NEW),
    )
    for event in happened(variant.scenario):
        match event:
            case Transaction():
                yield from changefeed.encode(
                    event if described is None else described.transaction(event)
                )
            case Ddl():
                yield from changefeed.ddl(event if described is None else described.ddl(event))
            case Resolved():
                yield from changefeed.resolve(event.resolved_ts)
    yield from changefeed.flush()


class Told:
    """Ids and versions of tables, by what the messages of a variant tell."""

    def __init__(self, variant: Variant) -> None:
        self._rows: dict[tuple[int, str, str], Table] = {}
        self._ddl: dict[tuple[int, str], Ddl] = {}
        for record in simple_events(variant.scenario, variant.name):
            for event in record:
                if isinstance(event, RowChange):
                    table = event.table
                    self._rows[event.commit_ts, table.schema, table.name] = table
                elif isinstance(event, Ddl):
                    self._ddl[event.commit_ts, event.query] = event
        self._tables: dict[tuple[int, int], Table] = {}

    def _as_described(self, true: Table, described: Table | None) -> Table:
        """One table for each version, as the changefeed is to see it."""
        if described is None:
            return true
        key = id(true), id(described)
        if key not in self._tables:
            self._tables[key] = as_told(true, described)
        return self._tables[key]

    def transaction(self, transaction: Transaction) -> Transaction:
        numbered = []
        for change in transaction.changes:
            table = change.table
            described = self._rows.get((change.commit_ts, table.schema, table.name))
            numbered.append(replace(change, table=self._as_described(table, described)))
        return replace(transaction, changes=tuple(numbered))

    def ddl(self, ddl: Ddl) -> Ddl:
        described = self._ddl.get((ddl.commit_ts, ddl.query))
        if described is None or described.definition is None or ddl.definition is None:
            return ddl
        return replace(ddl, definition=self._as_described(ddl.definition, described.definition))


def _comparable(variant: Variant, message: Message) -> Any:
    """The message without what TiCDC makes at random: the wall clock, the order of Avro's maps."""
    if protocol_of(variant) == "debezium":
        without = re.sub(
            rb'"ts_ms":[0-9]+,"(transaction|databaseName)"', rb'"\1"', message.value or b"", count=1
        )
        return message.key, without
    options = simple_options(variant)
    plain = inflate(message.value or b"", options.compression, 1 << 30)
    if options.encoding_format == "avro":
        members = {**AVRO.parse(plain), "buildTs": 0, "length": len(plain)}
        for name in ("data", "old"):
            if members.get(name) is not None:
                members[name] = dict(sorted(members[name].items()))
        return members
    return re.sub(rb'"buildTs":[0-9]+', b"", plain, count=1)


def _by_partition(
    variant: Variant, messages: Iterable[Message]
) -> Mapping[tuple[str, int], list[Any]]:
    result: dict[tuple[str, int], list[Any]] = {}
    for message in messages:
        of = result.setdefault((message.topic, message.partition), [])
        of.append(_comparable(variant, message))
    return result


SIMPLE = _variants("simple", "keys", "types", "splits", "workload")


@pytest.mark.parametrize(("name", "variant"), SIMPLE)
def test_every_partition_gets_ticdcs_simple_messages(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    ours = _by_partition(sent, replayed(sent, Told(sent)))
    theirs = _by_partition(sent, sent.records)
    if (name, variant[:7]) == ("splits", "classic"):
        # The old architecture's sort of a transaction's rows is not stable.
        ours, theirs = ({p: sorted(m, key=repr) for p, m in s.items()} for s in (ours, theirs))
    assert ours == theirs


DEBEZIUM = [
    (name, variant)
    for name, variant in _variants("debezium", "keys", "types", "splits", "workload")
    if not variant.startswith("classic.")
]


@pytest.mark.parametrize(("name", "variant"), DEBEZIUM)
def test_every_partition_gets_ticdcs_debezium_messages(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    assert _by_partition(sent, replayed(sent, None)) == _by_partition(sent, sent.records)


# A view's columns and the hidden one of an index over an expression are not in SHOW CREATE TABLE.
_NOT_KNOWN = re.compile(rb"VIEW `|exprix|goods")


@pytest.mark.parametrize("variant", ["debezium.schema", "debezium.noschema", "debezium.ext"])
def test_ddl_of_all_kinds_goes_where_ticdc_sends_it_in_debezium(variant: str) -> None:
    sent = scenario("ddl").variants[variant]
    selected = [
        [m for m in messages if _NOT_KNOWN.search(m.value or b"") is None]
        for messages in (list(replayed(sent, None)), sent.records)
    ]
    assert len(selected[1]) > 0.9 * len(sent.records)
    ours, theirs = (_by_partition(sent, messages) for messages in selected)
    assert ours == theirs


def _schema_less(message: Message) -> Any:
    """A Simple message by what it is: the schemas are compared elsewhere."""
    members = json.loads(message.value or b"")
    about = members.get("tableSchema") or {}
    names = ("type", "sql", "commitTs", "database", "table", "data", "old")
    return about.get("schema"), about.get("table"), *(members.get(name) for name in names)


def test_ddl_of_all_kinds_goes_where_ticdc_sends_it_in_simple() -> None:
    sent = scenario("ddl").variants["simple.json"]
    sides = []
    for messages in (list(replayed(sent, Told(sent))), sent.records):
        result: dict[int, list[Any]] = {}
        for message in messages:
            result.setdefault(message.partition, []).append(_schema_less(message))
        sides.append(result)
    assert sides[0] == sides[1]


URI = "kafka://b/t?protocol=simple&partition-num=2"
ORDERS = parse_create_table("CREATE TABLE orders (id int primary key, v int)", "shop")
_ALTER = "ALTER TABLE `orders` ADD COLUMN `w` INT"


def _inserted(table: Table, ts: int, **row: Value) -> Transaction:
    return Transaction(ts, (RowChange(table, ts, None, row),))


def _types(messages: Iterable[Message]) -> list[tuple[int, str]]:
    return [(m.partition, json.loads(m.value or b"")["type"]) for m in messages]


def test_a_tables_schema_precedes_its_rows_in_every_partition() -> None:
    changefeed = Changefeed(URI)
    created = Ddl("shop", "orders", "CREATE TABLE `orders` (`id` INT PRIMARY KEY,`v` INT)", 5)
    assert _types(changefeed.ddl(created)) == [(0, "CREATE"), (1, "CREATE")]
    first = changefeed.encode(_inserted(ORDERS, 6, id=1, v=1))
    assert _types(first)[:2] == [(0, "BOOTSTRAP"), (1, "BOOTSTRAP")]
    assert [type_ for _, type_ in _types(first)[2:]] == ["INSERT"]
    assert len(changefeed.encode(_inserted(ORDERS, 7, id=2, v=1))) == 1


def test_bootstraps_go_to_all_or_the_first_or_no_partition() -> None:
    sink = {"send-bootstrap-to-all-partition": False}
    messages = Changefeed(URI, {"sink": sink}).encode(_inserted(ORDERS, 6, id=1, v=1))
    assert [type_ for _, type_ in _types(messages)] == ["BOOTSTRAP", "INSERT"]
    for off in ("send-bootstrap-in-msg-count", "send-bootstrap-interval-in-sec"):
        changefeed = Changefeed(URI, {"sink": {off: 0}})
        assert len(changefeed.encode(_inserted(ORDERS, 6, id=1, v=1))) == 1


def test_a_schema_is_due_again_after_so_many_rows_or_seconds() -> None:
    now = [0]
    changefeed = Changefeed(
        URI,
        {"sink": {"send-bootstrap-in-msg-count": 3, "send-bootstrap-interval-in-sec": 10}},
        clock=lambda: now[0],
    )
    sizes = []
    for at in (0, 0, 0, 0, 0, 9999, 10000, 10000):
        now[0] = at
        sizes.append(len(changefeed.encode(_inserted(ORDERS, 6 + at, id=1, v=1))))
    assert sizes == [3, 1, 1, 3, 1, 1, 3, 1]


def _decoded(messages: Iterable[Message], decoder: simple.Decoder) -> list[Event]:
    return [event for m in messages for _, event in decoder.decode(m.key, m.value)]


@pytest.mark.parametrize("encoding", ["json", "avro"])
@pytest.mark.parametrize("made", [NEW, CLASSIC])
def test_schemas_are_numbered_and_follow_the_ddl(encoding: Any, made: Any) -> None:
    changefeed = Changefeed(f"{URI}&encoding-format={encoding}", **made)
    decoder = simple.Decoder(simple.Options(encoding_format=encoding))
    created = Ddl("shop", "orders", "CREATE TABLE `orders` (`id` INT PRIMARY KEY,`v` INT)", 5)
    wider = parse_create_table("CREATE TABLE orders (id int primary key, v int, w int)", "shop")
    described = _decoded(
        [
            *changefeed.ddl(created),
            *changefeed.encode(_inserted(ORDERS, 6, id=1, v=1)),
            *changefeed.ddl(Ddl("shop", "orders", _ALTER, 7, 5)),
            *changefeed.encode(_inserted(wider, 8, id=2, v=1, w=3)),
            *changefeed.ddl(Ddl("shop", "orders", "DROP TABLE `orders`", 9)),
            *changefeed.resolve(10),
        ],
        decoder,
    )
    rows = [event for event in described if isinstance(event, RowChange)]
    assert [row.after for row in rows] == [{"id": 1, "v": 1}, {"id": 2, "v": 1, "w": 3}]
    assert [(row.table.table_id, row.table.version) for row in rows] == [(1, 5), (1, 7)]
    assert decoder.waiting == ()
    alter = next(event for event in described if isinstance(event, Ddl) and event.query == _ALTER)
    assert alter.definition == rows[1].table
    assert alter.previous == (rows[0].table if made == CLASSIC else None)


def test_a_schema_that_no_ddl_described_goes_before_its_rows() -> None:
    changefeed = Changefeed(URI)
    changefeed.encode(_inserted(ORDERS, 6, id=1, v=1))
    other = parse_create_table("CREATE TABLE orders (id int primary key, x text)", "shop")
    decoder = simple.Decoder(simple.Options())
    (row,) = _decoded(changefeed.encode(_inserted(other, 8, id=2, x="y")), decoder)
    assert isinstance(row, RowChange)
    assert (row.after, row.table.version) == ({"id": 2, "x": "y"}, 8)


DEBEZIUM_URI = "kafka://b/t?protocol=debezium&partition-num=2&enable-tidb-extension=true"


def test_debezium_has_ddl_and_marks_in_the_new_one_and_in_9_0() -> None:
    dropped = Ddl("shop", "orders", "DROP TABLE `orders`", 9)
    for version, new, messages in (
        ("8.5.3", False, 0),
        ("8.5.4", False, 0),
        ("8.5.4", True, 2),
        ("8.5.7", False, 0),
        ("8.5.7", True, 2),
        ("9.0.0-beta.1", False, 2),
        ("9.0.0", False, 2),
    ):
        changefeed = Changefeed(DEBEZIUM_URI, version=version, new_architecture=new)
        changefeed.encode(_inserted(ORDERS, 6, id=1, v=1))
        assert len(changefeed.resolve(7)) == messages
        assert len(changefeed.ddl(dropped)) == messages
    plain = Changefeed(DEBEZIUM_URI.replace("&enable-tidb-extension=true", ""), **NEW)
    assert plain.resolve(7) == []
    assert len(plain.ddl(dropped)) == 2


def test_debezium_has_no_message_for_some_ddl() -> None:
    changefeed = Changefeed(DEBEZIUM_URI, **NEW)
    changefeed.encode(_inserted(ORDERS, 6, id=1, v=1))
    query = "ALTER TABLE `orders` ADD CONSTRAINT `f` FOREIGN KEY (`v`) REFERENCES `p`(`id`)"
    assert changefeed.ddl(Ddl("shop", "orders", query, 9, 9)) == []


def test_debezium_heeds_its_own_settings() -> None:
    update = Transaction(6, (RowChange(ORDERS, 6, {"id": 1, "v": 1}, {"id": 1, "v": 2}),))
    config = "[sink]\ndebezium-disable-schema = true\n[sink.debezium]\noutput-old-value = false"
    changefeed = Changefeed(DEBEZIUM_URI, config, cluster_id="east", **NEW)
    (message,) = changefeed.encode(update)
    value = json.loads(message.value or b"")
    assert list(value) == ["payload"]
    assert "before" not in value["payload"]
    assert value["payload"]["source"]["cluster_id"] == "east"
    of_open = "[sink.open]\noutput-old-value = false"
    (message,) = Changefeed(DEBEZIUM_URI, of_open, **NEW).encode(update)
    assert "before" in json.loads(message.value or b"")["payload"]


@pytest.mark.parametrize("protocol", ["simple", "debezium"])
def test_protocols_begin_with_8_0(protocol: str) -> None:
    uri = f"kafka://b/t?protocol={protocol}"
    Changefeed(uri, version="8.0.0")
    with pytest.raises(ConfigError, match=rf"TiCDC 7\.5\.3 has no protocol {protocol}"):
        Changefeed(uri, version="7.5.3")


def test_an_encoding_must_be_one_that_there_is() -> None:
    with pytest.raises(ConfigError, match="encoding-format is 'xml', not one of json, avro"):
        Changefeed(URI + "&encoding-format=xml")
