import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import scenario
from support.wire_simple import SIMPLE, simple_events, simple_options
from support.wire_values import COLUMNS, rows
from ticdc_encoder.column import Index
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Event, RowChange, Table, Value
from ticdc_encoder.formats import simple
from ticdc_encoder.formats.compression import inflate
from ticdc_encoder.formats.simple import Decoder, Encoder, Options
from ticdc_encoder.formats.simple.json import ENCODING
from ticdc_encoder.formats.simple.rows import row_reader, timestamp_reader
from ticdc_encoder.formats.simple.structs import row_parser
from ticdc_encoder.sql.parser import parse_create_table

KEY = (Index("PRIMARY", ("bigint",), unique=True, primary=True),)
TABLE = replace(Table.define("d<中>", "t&", COLUMNS, KEY), version=3, table_id=9)
T = replace(
    parse_create_table(
        "CREATE TABLE t (a int primary key, b varchar(9), c bigint, d decimal(9,2), e timestamp)",
        "d",
    ),
    version=470620402195890176,
    table_id=7,
)
ROW: dict[str, Value] = {"a": 1, "b": "x", "c": None, "d": None, "e": None}
UPDATE = RowChange(T, 5, ROW, {**ROW, "b": "y", "c": -2})
JSON_VARIANTS = [(name, v) for name, v in SIMPLE if "avro" not in v]


def _parser(table: Table, names: Iterable[str] | None = None) -> Any:
    reader = row_reader(table, ENCODING, timestamp_reader("UTC"))
    names = [column.name for column in table.columns] if names is None else names
    parser = row_parser(reader, names, "stop")
    assert parser is not None
    return parser


def _message(change: RowChange) -> bytes:
    ((_, value),) = Encoder(Options(), lambda: 1).row(change)
    assert value is not None
    return value


def _the_long_way(table: Table, message: bytes) -> Event | str:
    try:
        ((_, event),) = Decoder(Options(), [table]).decode(None, message)
    except WireError as error:
        return str(error)
    return event


@pytest.mark.parametrize(("name", "variant"), JSON_VARIANTS)
def test_whole_golden_rows_are_parsed_as_they_are_read(name: str, variant: str) -> None:
    sent = scenario(name).variants[variant]
    options = simple_options(sent)
    parsed = 0
    for record, events in zip(sent.records, simple_events(name, variant), strict=True):
        for event in events:
            if not isinstance(event, RowChange):
                continue
            value = record.value or b""
            plain = inflate(value, options.compression, 1 << 20)
            if options.compression == "none":
                plain = value
            names = list(event.after or event.before or ())
            if any(not name.isprintable() or '"' in name or "\\" in name for name in names):
                continue  # see below
            assert _parser(event.table, names)(plain) == (None if event.incomplete else event)
            parsed += not event.incomplete
    assert parsed > 0


@given(rows(), rows())
def test_every_value_of_every_type_is_parsed(
    before: dict[str, Value], after: dict[str, Value]
) -> None:
    parse = _parser(TABLE)
    for change in (
        RowChange(TABLE, 7, None, after, partition_id=3),
        RowChange(TABLE, 8, before, after),
        RowChange(TABLE, 8, after, after),
        RowChange(TABLE, 9, before, None),
    ):
        parsed = parse(_message(change))
        # Not by ==, to which -0.0 is 0.0.
        assert repr((parsed.before, parsed.after)) == repr(
            tuple(
                image and {column.name: image[column.name] for column in COLUMNS}
                for image in (change.before, change.after)
            )
        )
        assert (parsed.table, parsed.commit_ts) == (TABLE, change.commit_ts)
        assert parsed.partition_id == change.partition_id


LEFT: list[tuple[str, Any]] = [
    ("an integer with an exponent", {"c": "1e2"}),
    ("an integer with a fraction", {"c": "1.0"}),
    ("an integer with zeros before it", {"c": "007"}),
    ("an integer with a blank", {"c": " 7"}),
    ("an integer with an underscore", {"c": "1_0"}),
    ("an integer with a plus", {"c": "+1"}),
    ("minus zero", {"c": "-0"}),
    ("an integer of 65 bits", {"c": "18446744073709551616"}),
    ("a number that is no text", {"c": 1}),
    ("digits of another script", {"c": "\u0661"}),
    ("no number", {"d": "NaN"}),
    ("infinity", {"d": "Infinity"}),
    ("a decimal number with an exponent", {"d": "1E+5"}),
    ("a decimal number with a blank", {"d": "1.5 "}),
    ("text that is a number", {"b": 1}),
    ("text that is a list", {"b": ["x"]}),
    ("a null key", {"a": None}),
    ("a timestamp that is text", {"e": "2024-01-01 00:00:00"}),
    ("a timestamp without a zone", {"e": {"value": "2024-01-01 00:00:00"}}),
    ("a column of nowhere", {"z": "1"}),
]


@pytest.mark.parametrize("data", [case[1] for case in LEFT], ids=[case[0] for case in LEFT])
def test_texts_that_ticdc_never_writes_are_left_to_the_long_way(data: Any) -> None:
    parse, message = _parser(T), json.loads(_message(UPDATE))
    for image in ("data", "old"):
        changed = {**message, image: {**message[image], **data}}
        assert parse(json.dumps(changed).encode()) is None
        assert isinstance(_the_long_way(T, json.dumps(changed).encode()), str)


def test_unusual_numbers_are_parsed_as_they_are_read() -> None:
    parse, message = _parser(T), json.loads(_message(UPDATE))
    for data in (
        {"c": "18446744073709551615", "d": "-0.00"},
        {"c": "-9223372036854775808", "d": "00000000000000000000.000000000000000000000000000001"},
        {"c": "9" * 18, "d": "0.0000000"},
    ):
        changed = json.dumps({**message, "data": {**message["data"], **data}}).encode()
        assert repr(parse(changed)) == repr(_the_long_way(T, changed))


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
    | st.sampled_from(["1", "-1", "d", "t", "INSERT", "DELETE", "UPDATE", "0", "1.5"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abcdez"), inner, max_size=5)
    ),
    max_leaves=6,
)
_MEMBERS = [*json.loads(_message(UPDATE)), "checksum", "handleKeyOnly", "claimCheckLocation"]


@given(st.lists(st.tuples(st.sampled_from(_MEMBERS), st.just(...) | _JSON), max_size=3))
def test_what_is_parsed_is_what_is_read(edits: list[tuple[str, Any]]) -> None:
    message = json.loads(_message(UPDATE))
    for name, value in edits:
        message[name] = value
    edited = json.dumps({n: v for n, v in message.items() if v != ...}).encode()
    try:
        parsed = _parser(T)(edited)
    except WireError as error:
        parsed = str(error)
    if parsed is not None:
        assert parsed == _the_long_way(T, edited)


@given(st.binary(max_size=8), st.integers(0, 250), st.integers(0, 8))
def test_any_bytes_are_parsed_as_they_are_read(noise: bytes, at: int, over: int) -> None:
    message = _message(UPDATE)
    broken = message[:at] + noise + message[at + over :]
    parsed = _parser(T)(broken)
    if parsed is not None:
        assert parsed == _the_long_way(T, broken)


def test_what_msgspec_does_not_take_is_read_the_long_way() -> None:
    quoted = parse_create_table('CREATE TABLE t (a int primary key, `b"c` int)', "d")
    quoted = replace(quoted, version=1)
    later = replace(T, version=1 << 63)
    for table in (quoted, later):
        reader = row_reader(table, ENCODING, timestamp_reader("UTC"))
        assert row_parser(reader, [column.name for column in table.columns], "stop") is None
    decoder = Decoder(Options(), [quoted])
    change = RowChange(quoted, 5, None, {"a": 1, 'b"c': 2})
    for _ in range(300):
        assert decoder.decode(None, _message(change)) == [(0, change)]


def test_rows_of_a_table_that_has_many_are_read_the_short_way() -> None:
    decoder = Decoder(Options(), [T])
    # A DELETE may be the handle key alone, which tells nothing about other rows.
    delete = RowChange(T, 4, {"a": 1})
    for change in (*[delete] * 150, UPDATE, delete):
        assert decoder.decode(None, _message(change)) == [(0, change)]
    with mock.patch.object(simple.format, "read_row") as long_way:
        assert decoder.decode(None, _message(UPDATE), 7) == [(7, UPDATE)]
    long_way.assert_not_called()


@pytest.mark.parametrize("compression", ["none", "lz4"])
def test_a_table_of_many_rows_may_change_at_any_time(compression: Any) -> None:
    options = Options(compression=compression)
    encoder, decoder = Encoder(options, lambda: 1), Decoder(options)
    later = parse_create_table("CREATE TABLE t (a int primary key, b int)", "d")
    truncated = replace(T, table_id=8)
    turns: list[tuple[Table, dict[str, Value]]] = [
        (T, ROW),
        (replace(later, version=T.version + 1 if T.version else 1, table_id=7), {"a": 1, "b": 2}),
        (truncated, {**ROW, "e": "2024-01-01 00:00:00"}),
        (replace(T, name="u"), ROW),
    ]
    for table, row in turns:
        decoder.decode(*encoder.bootstrap(table))
        for n in range(1, 250):
            for change in (
                RowChange(table, n, None, row),
                RowChange(table, n, row, {**row, "b": row["b"]}, partition_id=1000 + n),
                RowChange(table, n, row, None),
            ):
                ((_, event),) = decoder.decode(*encoder.row(change)[0])
                assert event == change
                assert isinstance(event, RowChange)
                assert event.table.table_id == table.table_id


def test_two_versions_of_a_table_may_come_in_turns() -> None:
    newer = replace(
        parse_create_table("CREATE TABLE t (a int primary key, b int)", "d"), version=5, table_id=7
    )
    decoder = Decoder(Options(), [T, newer])
    for n in range(1, 400):
        for change in (RowChange(newer, n, None, {"a": n, "b": n}), RowChange(T, n, None, ROW)):
            assert decoder.decode(None, _message(change)) == [(0, change)]
