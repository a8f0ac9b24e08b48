"""Damaged messages: what a fast reader takes, the plain decoder reads, and reads the same."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.both_paths import changes_of, learning_at_once, same, taken
from support.fast_messages import LINES, PEOPLE, PERSON, PROTOCOLS, encoded, message, primed
from ticdc_consumer.cut.read.columns import Columns
from ticdc_consumer.cut.read.fast.reader import FastReader
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.protocols import decoder
from ticdc_consumer.protocols.shape import shape
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Row, RowChange, Table
from ticdc_encoder.formats import Record

UTC = Zone("UTC")

LINE: dict[str, Any] = {"line": 1, "order": "x", "price": None, "at": "2024-01-01 00:00:00.001"}
OTHER = PERSON | {"id": 2, "name": 'Bo "b" \u00fc\n', "age": None, "token": b"", "weight": -2.25}
CHANGES: list[tuple[Table, Row | None, Row | None]] = [
    (PEOPLE, None, PERSON),
    (PEOPLE, PERSON, OTHER),
    (PEOPLE, OTHER, None),
    (LINES, None, LINE),
    (LINES, LINE, LINE | {"order": "y"}),
    (LINES, LINE, None),
]
BYTES = b"\x00\n \"',-.0:1\\[]eu{}\x80\xc3\xed\xff"


def prepared(protocol: str) -> tuple[ReadJob, FastReader, list[Record]]:
    """A cut, a reader that knows these records of it, and the records."""
    records = [message(protocol, *change) for change in CHANGES]
    return *primed(protocol, records), records


def agree(job: ReadJob, reader: FastReader, record: Record) -> bool:
    """Whether it was taken; if so, the plain path must take it, and find the same."""
    run = taken(reader, record)
    if not run.changes:
        return False
    events = decoder(job.options)(*record)
    for event, change in zip(events, changes_of(run), strict=True):
        number, commit_ts, present, piece, absent = change
        assert isinstance(event, RowChange)
        of, expected = job.shapes[event.table.schema, event.table.name]
        layout, columns = job.layouts[of], Columns(job.layouts[of], UTC)
        before, after = columns.keys(event)
        assert (of, event.commit_ts, after) == (number, commit_ts, present)
        assert (before if before != after else None) == (absent if absent != present else None)
        row = event.after
        assert (row is None) == (piece is None)
        if row is not None and piece is not None:
            assert shape(event.table) == expected.columns
            decoded = arrays(partial(columns.arrays, [row]))
            assert arrays(partial(reader.parse, layout, [piece])) == decoded
    return True


def arrays(make: Callable[[], Sequence[Any]]) -> list[list[Any]] | str:
    try:
        return [array.to_pylist() for array in make()]
    except WireError as error:
        return str(error)


@pytest.mark.parametrize(
    ("protocol", "part"),
    [("canal-json", "value"), ("open-protocol", "key"), ("open-protocol", "value")],
)
@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_no_byte_can_be_changed_lost_or_added_unseen(protocol: str, number: int, part: str) -> None:
    job, reader, records = prepared(protocol)
    key, value = records[number]
    whole = (key if part == "key" else value) or b""
    assert agree(job, reader, (key, value))
    for at in range(len(whole)):
        flipped = bytes([whole[at] ^ 1, whole[at] ^ 0x20])
        damages = [whole[:at] + bytes([byte]) + whole[at + 1 :] for byte in BYTES + flipped]
        damages += [whole[:at] + bytes([byte]) + whole[at:] for byte in b'"0,}\\ ']
        damages += [whole[:at] + whole[at + 1 :], whole[:at]]
        for damaged in damages:
            record = (damaged, value) if part == "key" else (key, damaged)
            agree(job, reader, record)


@st.composite
def damaged(draw: st.DrawFn, wholes: list[bytes]) -> bytes:
    """A record of which some spans are cut out, doubled, swapped, or another record's."""
    whole = draw(st.sampled_from(wholes))
    for _ in range(draw(st.integers(1, 2))):
        commas = [i for i, byte in enumerate(whole) if byte in b',:{}"']
        if len(commas) < 4:
            break
        a, b, c, d = sorted(draw(st.lists(st.sampled_from(commas), min_size=4, max_size=4)))
        other = draw(st.sampled_from(wholes))
        whole = draw(
            st.sampled_from(
                [
                    whole[:a] + whole[b:],
                    whole[:b] + whole[a:b] + whole[b:],
                    whole[:a] + whole[c:d] + whole[b:c] + whole[a:b] + whole[d:],
                    whole[:a] + other[a:],
                    whole[:a] + other[b:c] + whole[d:],
                ]
            )
        )
    return whole


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_damaged_segments_are_refused_or_read_as_plainly(
    protocol: str,
) -> None:
    job, _, records = prepared(protocol)
    values = [value or b"" for _, value in records]

    @settings(max_examples=600, deadline=None)
    @given(whole=damaged(values), number=st.integers(0, len(records) - 1), mend=st.booleans())
    def check(whole: bytes, number: int, mend: bool) -> None:
        reader = primed(protocol, records)[1]
        if mend and protocol == "open-protocol":
            # The frame tells the length of what is in it now.
            whole = (len(whole) - 8).to_bytes(8, "big") + whole[8:] if len(whole) > 8 else whole
        record = (records[number][0], whole)
        agree(job, reader, record)
        same(job, [*records, record, *records, record], reader)

    check()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"mysqlType":{"id":"int"', b'"mysqlType":{"id":"set"'),
        (b'"sqlType":{"id":4', b'"sqlType":{"id":"4"'),
        (b'"es":', b'"es":0'),
        (b'"sql":""', b'"sql":null'),
        (b'"type":"INSERT"', b'"type":"insert"'),
        (b'"old":null', b'"old":[{}]'),
        (b'"data":[{"id":"1"', b'"data":[{"id":"1","id":"2"'),
        (b'"data":[{"id":"1"', b'"data":[{"id":"01"'),
        (b'"data":[{"id":"1"', b'"data":[{"id":"+1"'),
        (b'"data":[{"id":"1"', b'"data":[{"id":1'),
        (b'"data":[{"id":"1"', b'"data":[{"id":null'),
        (b'"data":[{"id":"1",', b'"data":[{'),
        (b'"name":"Ann"', b'"name":"\\ud83e"'),
        (b'"name":"Ann"', b'"name":"\xff"'),
        (b'"name":"Ann"', b'"name":"\x01"'),
        (b'"name":"Ann"', b'"name":"\xed\xa0\x80"'),
        (b'"age":"30"', b'"age":"3_0"'),
        (b'"weight":"1.5"', b'"weight":"nan"'),
        (b'"weight":"1.5"', b'"weight":"1e999"'),
        (b'"weight":"1.5"', b'"weight":".5"'),
        (b'"photo":"', b'"photo":"\\u0100'),
        (b'"photo":"', b'"photo":"\xe8\x8c\xb6'),
        (b'"commitTs":', b'"commitTs":0'),
        (b'"commitTs":', b'"commitTs":-'),
        (b'"commitTs":', b'"onlyHandleKey":true,"commitTs":'),
        (b'"commitTs":470620402195890176', b'"commitTs":1e18'),
        (b'"commitTs":470620402195890176', b'"commitTs":18446744073709551616'),
        (b'"_tidb":{', b'"_tidb":{},"_tidb":{'),
        (b'"_tidb":{', b'"data":null,"_tidb":{'),
        (b"}}", b'},"isDdl":true}'),
        (b"}}", b'},"table":"other"}'),
        (b"}}", b"}}}"),
        (b"}}", b"}} "),
    ],
)
def test_what_differs_in_canal_json_goes_to_the_plain_decoder(old: bytes, new: bytes) -> None:
    job, reader, records = prepared("canal-json")
    key, value = records[0]
    assert value and old in value
    assert not taken(reader, (key, value.replace(old, new))).changes
    same(job, [(key, value.replace(old, new))], reader)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"d":{"id":{"t":3', b'"d":{"id":{"t":8'),
        (b'"f":11,"v":1}', b'"f":139,"v":1}'),
        (b'"f":11,"v":1}', b'"f":11,"v":01}'),
        (b'"f":11,"v":1}', b'"f":11,"v":1.0}'),
        (b'"f":11,"v":1}', b'"f":11,"v":"1"}'),
        (b'"f":11,"v":1}', b'"f":11,"v":null}'),
        (b'"f":11,"v":1}', b'"f":11,"v":99999999999999999999}'),
        (b'"v":30}', b'"v":30,"v":31}'),
        (b'"v":"Ann"}', b'"v":"Ann"},"name":{"t":15,"f":64,"v":"Bob"}'),
        (b'"v":"Ann"', b'"v":"\xff"'),
        (b'"v":1.5', b'"v":1e999'),
        (b'"v":1.5', b'"v":-0'),
        (b'"v":1.5', b'"v":NaN'),
        (b'"v":"\\\\x89P\\\\n"', b'"v":"\\\\x8"'),
        (b'"v":"\\\\x89P\\\\n"', b'"v":"\\\\q"'),
        (b'"v":"\\\\x89P\\\\n"', b'"v":"\\\\ud800"'),
        (b'"v":"\\\\x89P\\\\n"', b'"v":"\\u005cn"'),
        (b'"v":"AP8n"', b'"v":"AP8"'),
        (b'"v":"AP8n"', b'"v":"AP8n===="'),
        (b'"v":"AP8n"', b'"v":"AP-n"'),
        (b'{"u":{', b'{"d":{},"u":{'),
        (b'{"u":{', b'{ "u":{'),
        (b"}}}", b'}},"p":null}'),
        (b"}}}", b'}},"d":{"id":{"t":3,"h":true,"f":11,"v":1}}}'),
    ],
)
def test_what_differs_in_open_protocol_goes_to_the_plain_decoder(old: bytes, new: bytes) -> None:
    job, reader, records = prepared("open-protocol")
    key, value = records[2 if b'"d":{"id"' in old else 0]
    assert value and old in value
    changed = value[8:].replace(old, new)
    changed = len(changed).to_bytes(8, "big") + changed
    assert not taken(reader, (key, changed)).changes
    same(job, [(key, changed)], reader)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"t":1}', b'"t":3}'),
        (b'"t":1}', b'"t":1,"ohk":true}'),
        (b'"t":1}', b'"t":1,"ccl":"s3://x"}'),
        (b'"t":1}', b'"t":1,"t":2}'),
        (b'"t":1}', b'"t":1,"ts":7}'),
        (b'{"ts":4', b'{"ts":04'),
        (b'{"ts":4', b'{"ts":-4'),
        (b'{"ts":470', b'{"ts":4_0'),
        (b'{"ts":4', b'{"ts": 4'),
        (b'"tbl":"people"', b'"tbl":"nobody"'),
    ],
)
def test_a_differing_open_protocol_key_goes_to_the_plain_decoder(old: bytes, new: bytes) -> None:
    job, reader, records = prepared("open-protocol")
    key, value = records[0]
    assert key and old in key
    changed = key[16:].replace(old, new)
    changed = key[:8] + len(changed).to_bytes(8, "big") + changed
    assert not taken(reader, (changed, value)).changes
    same(job, [(changed, value)], reader)


def test_a_record_with_one_unknown_row_is_decoded_as_a_whole() -> None:
    job, reader, _ = prepared("open-protocol")
    known, unknown = RowChange(PEOPLE, 5, None, PERSON), RowChange(PEOPLE, 5, None, {"id": 3})
    (both,) = encoded("open-protocol", [known, known])
    assert taken(reader, both).changes == 2
    (mixed,) = encoded("open-protocol", [known, unknown])
    assert not taken(reader, mixed).changes
    assert same(job, [mixed], reader).error


def test_the_frame_is_checked() -> None:
    _, reader, records = prepared("open-protocol")
    key, value = records[0]
    assert key and value and taken(reader, (key, value)).changes
    for damaged in (
        (key + b"\0", value),
        (key, value + bytes(8)),
        (key, value + value),
        (key + key[8:], value),
        (key[:-1], value),
        (key, value[:-1]),
        (key[:12], value),
        (key[:8], b""),
        ((2).to_bytes(8, "big") + key[8:], value),
        (key[:8] + b"\xff" * 8 + key[16:], value),
        (None, value),
        (key, None),
    ):
        assert not taken(reader, damaged).changes


@pytest.mark.parametrize("nth", [0, 1, 2])
@pytest.mark.parametrize(
    ("damage", "read"),
    [
        (b"\x00", False),
        (b"\x1f", False),
        (b"\xff", False),
        (b"\xc3", False),
        (b'\\"', True),
        (b"\\", False),
        ("\u8336".encode(), True),
        (b"\x7f", True),
    ],
)
def test_one_message_of_a_batch_may_differ_from_the_others(
    nth: int, damage: bytes, read: bool
) -> None:
    plain = message("canal-json", PEOPLE, None, PERSON | {"photo": b"x", "token": b"y"})
    _, reader = primed("canal-json", [plain])
    batch = [plain[1] or b""] * 3
    assert batch[0].isascii() and b"\\" not in batch[0]
    batch[nth] = batch[nth].replace(b'"name":"Ann', b'"name":"Ann' + damage)
    records = [(None, value) for value in batch]
    assert taken(reader, *records).changes == 3 * read
    assert [taken(reader, record).changes for record in records] == [
        each != nth or read for each in range(3)
    ]


@pytest.mark.parametrize("sort", [sorted, lambda members: sorted(members, reverse=True)])
def test_the_members_of_mysql_type_may_come_in_any_order(
    sort: Callable[[list[bytes]], list[bytes]],
) -> None:
    job, reader, records = prepared("canal-json")
    value = records[0][1] or b""
    start, end = value.index(b'"mysqlType":{') + 13, value.index(b'},"old"')
    members = sort(value[start:end].split(b","))
    assert agree(job, reader, (None, value[:start] + b",".join(members) + value[end:]))
    twice = [members[0], *members[:-1]]
    damaged = value[:start] + b",".join(twice) + value[end:]
    assert not agree(job, reader, (None, damaged))


def test_what_is_not_utf_8_in_unread_places_is_not_learned() -> None:
    job, _, records = prepared("canal-json")
    key, value = (
        records[0][0],
        (records[0][1] or b"").replace(b'"sqlType":{', b'"sqlType":{"\xff":4,'),
    )
    with learning_at_once():
        result = same(job, [(key, value)] * 2)
    assert (result.error, result.rows, result.read_fast) == ((), 2, 0)


def test_a_row_key_changes_nothing() -> None:
    job, reader, records = prepared("canal-json")
    value = (records[0][1] or b"").replace(b"}}", b',"rowkey":"dIAA"}}')
    assert agree(job, reader, (None, value))
    assert not taken(reader, (None, value.replace(b"dIAA", b"dIA"))).changes


@pytest.mark.parametrize("more", [b',"rid":12', b',"rid":-1', b',"rid":0'])
def test_the_row_id_of_the_old_architecture_is_no_obstacle(more: bytes) -> None:
    job, reader, records = prepared("open-protocol")
    key, value = records[0][0] or b"", records[0][1]
    changed = key[16:].replace(b',"t":1', more + b',"t":1')
    record = key[:8] + len(changed).to_bytes(8, "big") + changed, value
    assert agree(job, reader, record)
    assert not agree(job, reader, (record[0].replace(more, b',"rid":+'[: len(more)]), value))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_table_without_a_shape_is_never_learned(protocol: str) -> None:
    job, _, records = prepared(protocol)
    job = replace(job, shapes={})
    result = same(job, records * 3)
    assert result.read_fast == 0
    assert result.rows == 0
