"""What a process keeps of a cut for the next one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from support.both_paths import (
    LATEST,
    PLACE,
    WHOLE,
    given,
    job_of,
    learning_at_once,
    options_for,
    taken,
)
from support.fast_messages import LINES, PEOPLE, PERSON, PROTOCOLS, TS, encoded, message
from ticdc_consumer.cut.read.fast import json as fast_json
from ticdc_consumer.cut.read.fast import reader as fast_readers
from ticdc_consumer.cut.read.fast.reader import fast_reader
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.task import Reading
from ticdc_consumer.protocols import decoder
from ticdc_encoder.event import Row, RowChange

LINE: Row = {"line": 1, "order": "a", "price": None, "at": "2024-01-01 00:00:00.000"}


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    with mock.patch.dict(fast_readers._last_readers, clear=True), learning_at_once():
        yield


def job(protocol: str, **changed: Any) -> ReadJob:
    name = (PEOPLE.schema, PEOPLE.name)
    return replace(job_of(options_for(protocol), {name: PEOPLE}), **changed)


def read(made: ReadJob, *ages: int) -> Reading:
    """A task that reads a row of each age, one after the other."""
    changes = [RowChange(PEOPLE, TS, None, {**PERSON, "id": age, "age": age}) for age in ages]
    reading = Reading(made, [WHOLE])
    for record in encoded(made.options.protocol, changes):
        reading.feed_records(reading.progress[PLACE], given([record]))
    reading.close()
    return reading


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_next_cut_begins_with_what_the_last_one_has_learned(protocol: str) -> None:
    made = job(protocol)
    read(made, 30)
    following = Reading(made, [WHOLE])
    row = message(protocol, PEOPLE, None, PERSON)
    assert taken(following._fast, row).changes == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "changed",
    [
        {"layouts": ()},
        {"shapes": {}},
        {"options": options_for("canal-json", time_zone="Asia/Tokyo")},
        {"options": options_for("canal-json", filter=("*.*", "!a.b"))},
    ],
    ids=["layouts", "shapes", "time zone", "filter"],
)
def test_it_is_forgotten_once_anything_it_depends_on_changes(
    protocol: str, changed: dict[str, Any]
) -> None:
    made = job(protocol)
    read(made, 30)
    if "options" in changed:
        changed = {"options": replace(changed["options"], protocol=protocol)}
    following = Reading(replace(made, **changed), [WHOLE])
    assert not taken(following._fast, message(protocol, PEOPLE, None, PERSON)).changes


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_two_tasks_at_once_never_share_a_reader(protocol: str) -> None:
    made = job(protocol)
    read(made, 30)
    one, other = Reading(made, [WHOLE]), Reading(made, [WHOLE])
    assert one._fast is not other._fast


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_later_cut_believes_later_commit_ts(protocol: str) -> None:
    made = job(protocol, latest=TS)
    read(made, 30)
    later = encoded(protocol, [RowChange(PEOPLE, TS + 1, None, PERSON)])
    reader = fast_reader(made.options, made.layouts, made.shapes, TS)
    assert not taken(reader, *later).changes
    reader.begin(LATEST)
    assert taken(reader, *later).changes == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_reader_that_learned_too_much_is_not_kept(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_readers, "MOST_KEPT", 0)
    made = job(protocol)
    read(made, 30)
    assert not fast_readers._last_readers


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_of_too_many_forms_the_least_recently_used_goes(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_json, "MOST_FORMS", 2)
    line, order, price, at = LINES.columns
    orders = ((line, order, price, at), (price, line, order, at), (price, at, line, order))
    first, second, third = (
        message(protocol, replace(LINES, columns=columns), None, LINE) for columns in orders
    )
    made = job_of(options_for(protocol), {("shop", "lines"): LINES})
    reader = fast_reader(made.options, made.layouts, made.shapes, LATEST)
    decode = decoder(made.options)

    def known() -> list[int]:
        return [taken(reader, each).changes for each in (third, second, first)]

    for each in (first, second):
        reader.learn(*each, decode(*each))
    assert known() == [0, 1, 1]
    reader.begin(LATEST)  # it counts rows anew
    reader.learn(*third, decode(*third))
    assert known() == [1, 0, 1]
