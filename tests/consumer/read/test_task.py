"""What one task reads, literally."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from support.both_paths import PLACE, WHOLE, decoded, job_of, options_for, tables_in
from ticdc_consumer.errors import Stop
from ticdc_consumer.read import task
from ticdc_consumer.read.report import Report, unpack
from ticdc_consumer.read.task import Reading, read
from ticdc_consumer.source import ProgressT, Receiver

OPTIONS = options_for("canal-json")


def row(number: int, extension: str = "") -> bytes:
    return (
        '{"id":0,"database":"d","table":"t","pkNames":["id"],"isDdl":false,"type":"INSERT","es":1,'
        '"ts":1,"sql":"","sqlType":{"id":4},"mysqlType":{"id":"int"},"old":null,'
        f'"data":[{{"id":"{number}"}}],"_tidb":{{"commitTs":{number}{extension}}}}}'
    ).encode()


@dataclass(frozen=True)
class OneByOne:
    """A source of these messages, a step for each."""

    values: Sequence[bytes]
    gives_messages: bool = True

    def read(self, receiver: Receiver[ProgressT], size: int) -> Iterator[None]:
        (progress,) = receiver.progress.values()
        for offset, value in enumerate(self.values):
            receiver.feed(progress, None, value, offset, 0)
            yield


def what_is_read(knows_the_table: bool) -> tuple[int, Report]:
    """Rows and report of a task of five messages."""
    records = [(None, row(number)) for number in range(1, 6)]
    tables = tables_in(decoded(OPTIONS, records)) if knows_the_table else {}
    source = OneByOne([value for _, value in records])
    *facts, report = read(replace(job_of(OPTIONS, tables), source=source), [WHOLE])
    return sum(batch.num_rows for batch in facts), unpack(report.to_pylist()[0]["row"])


def test_a_task_that_lacks_nothing_reads_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "LOOK_AHEAD", 2)
    rows, report = what_is_read(knows_the_table=True)
    assert (rows, report.messages, report.facts_sent) == (5, 5, 5)


def test_a_task_that_lacks_a_table_looks_ahead_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "LOOK_AHEAD", 2)
    rows, report = what_is_read(knows_the_table=False)
    assert (rows, report.messages, [*report.missing]) == (0, 3, [("d", "t")])


def test_a_row_of_which_only_the_key_was_sent_is_not_passed_over() -> None:
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))])))
    reading = Reading(job, [WHOLE])
    with pytest.raises(Stop, match="only the handle key of a large row was sent"):
        reading.feed(reading.progress[PLACE], None, row(2, ',"onlyHandleKey":true'), 0, 0)


def test_what_was_flushed_is_not_held_any_more() -> None:
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))])))
    reading = Reading(job, [WHOLE])
    reading.feed(reading.progress[PLACE], None, row(1), 0, 0)
    assert reading.fold.bytes > 0
    assert [batch.num_rows for batch in reading.fold.flush()] == [1]
    assert (reading.fold.bytes, [*reading.fold.flush()]) == (0, [])
