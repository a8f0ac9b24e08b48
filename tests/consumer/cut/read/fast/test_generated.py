"""Rows with hostile contents, of every type, through both paths."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.both_paths import (
    LATEST,
    decoded,
    job_of,
    learning_at_once,
    options_for,
    same,
    tables_in,
    taken,
)
from support.fast_messages import (
    HOSTILE,
    LINES,
    PEOPLE,
    PERSON,
    PROTOCOLS,
    TS,
    encoded,
    message,
    primed,
)
from support.wire_values import COLUMNS, rows
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Row, RowChange, Table, Value

ALL_TYPES = Table("shop", "types", COLUMNS, handle_key=("bigint",))

texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=3).map("".join)
valid_texts = texts.map(lambda text: text.encode("utf-8", "replace").decode())
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "canal-json": [
        {},
        {"new_architecture": False},
        {"content_compatible": True},
        {"only_output_updated_columns": True},
        {"delete_only_output_handle_key_columns": True},
    ],
    "open-protocol": [
        {"max_batch_size": 1},
        {"new_architecture": False, "max_batch_size": 2},
        {"only_output_updated_columns": True, "max_batch_size": 3},
        {"delete_only_output_handle_key_columns": True},
        {"output_old_value": False},
    ],
}
ENCODINGS = [(protocol, chosen) for protocol in PROTOCOLS for chosen in SETTINGS[protocol]]


@st.composite
def histories(draw: st.DrawFn, table: Table, of_rows: st.SearchStrategy[Row]) -> list[RowChange]:
    """Changes of few keys in any order, which no database made."""
    changes = []
    for _ in range(draw(st.integers(1, 8))):
        before = draw(st.none() | of_rows)
        after = draw(of_rows) if before is None else draw(st.none() | of_rows)
        changes.append(RowChange(table, TS + draw(st.integers(0, 3)), before, after))
    return changes


def hostile_people() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        {
            "id": st.integers(0, 3),
            "name": st.none() | valid_texts,
            "age": st.none() | st.integers(0, 255),
            "photo": st.none() | st.binary(max_size=9) | valid_texts.map(str.encode),
            "token": st.none() | st.binary(max_size=9) | valid_texts.map(str.encode),
            "weight": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "story": st.none() | valid_texts,
        }
    )


def hostile_lines() -> st.SearchStrategy[Row]:
    return st.fixed_dictionaries(
        {
            "line": st.integers(0, 1),
            "order": st.sampled_from(["a", "b", 'a"', "\\"]) | valid_texts,
            "price": st.none() | st.decimals(-999, 999, places=2),
            "at": st.sampled_from(["2024-01-01 00:00:00.001", "0000-00-00 00:00:00.000", None]),
        }
    )


def hold_the_same(
    protocol: str, chosen: dict[str, Any], changes: list[RowChange], **options: Any
) -> None:
    records = encoded(protocol, changes, **chosen)
    configured = options_for(protocol, **options)
    with learning_at_once():
        job = job_of(configured, tables_in(decoded(configured, records)))
        same(job, [*records, *records])


@pytest.mark.parametrize(("protocol", "chosen"), ENCODINGS)
@settings(max_examples=25, deadline=None)
@given(changes=histories(PEOPLE, hostile_people()) | histories(LINES, hostile_lines()))
def test_hostile_texts_stay_what_they_are(
    protocol: str, chosen: dict[str, Any], changes: list[RowChange]
) -> None:
    hold_the_same(protocol, chosen, changes)


@pytest.mark.parametrize(("protocol", "chosen"), ENCODINGS)
@settings(max_examples=15, deadline=None)
@given(changes=histories(ALL_TYPES, rows()))
def test_every_type_comes_out_as_the_plain_decoder_has_it(
    protocol: str, chosen: dict[str, Any], changes: list[RowChange]
) -> None:
    hold_the_same(protocol, chosen, changes)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=25, deadline=None)
@given(changes=histories(LINES, hostile_lines()))
def test_steps_and_time_zones_are_the_plain_decoders(
    protocol: str, changes: list[RowChange]
) -> None:
    hold_the_same(protocol, {}, changes, apply="transactions", time_zone="Asia/Shanghai")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_read_fast(protocol: str, text: str) -> None:
    job, reader = primed(protocol, [message(protocol, PEOPLE, None, PERSON)])
    raw = text.encode()
    row = PERSON | {"name": text, "story": text, "photo": raw, "token": raw}
    result = same(job, [message(protocol, PEOPLE, None, row)], reader)
    assert not result.error
    assert result.read_fast == 1


def keyed(name: str, unsigned: bool) -> Table:
    column = Column("k", ColumnType(name, unsigned=unsigned), nullable=False)
    return Table("shop", "keyed", (column,), handle_key=("k",))


KEYS: list[tuple[str, Value, bool]] = [
    ("int", 5, True),
    ("int", 0, True),
    ("int", -7, True),
    ("bigint", (1 << 63) - 1, False),
    ("bigint", 899999999999999999, True),
    ("bigint", -8999999999999999999, True),
    ("bigint", -(1 << 63), False),
    ("bigint unsigned", (1 << 64) - 1, False),
    ("bigint unsigned", 17999999999999999999, True),
    ("year", 1999, True),
    ("bit", 3, True),
    ("enum", 1, True),
    ("set", 3, True),
    ("varchar", "plain 茶", True),
    ("varchar", "", True),
    ("char", 'a "quote"', False),
    ("date", "0000-00-00", True),
    ("datetime", "2024-01-01 00:00:00", True),
    ("timestamp", "2024-01-01 00:00:00", True),
    ("time", "-838:59:59", True),
    ("binary", b"abc", False),
    ("varbinary", b"abc", False),
    ("double", 1.5, False),
    ("float", 1.5, False),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("type_", "value", "fast"), KEYS)
def test_a_key_is_read_fast_if_its_text_is_its_canonical_form(
    protocol: str, type_: str, value: Value, fast: bool
) -> None:
    name, _, sign = type_.partition(" ")
    record = message(protocol, keyed(name, bool(sign)), None, {"k": value})
    job, reader = primed(protocol, [record])
    result = same(job, [record], reader)
    assert not result.error
    assert result.read_fast == fast


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_unbelievable_commit_ts_is_left_to_the_plain_path(protocol: str) -> None:
    record = message(protocol, PEOPLE, None, PERSON)
    far = encoded(protocol, [RowChange(PEOPLE, LATEST + 1, None, PERSON)])
    job, reader = primed(protocol, [record])
    assert taken(reader, record).changes
    result = same(job, far, reader)
    assert result.error[0] == "Stop"
    assert result.read_fast == 0
