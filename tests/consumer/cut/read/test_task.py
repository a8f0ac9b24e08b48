"""What one task reads, literally."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from support.both_paths import (
    PLACE,
    WHOLE,
    decoded,
    given,
    job_of,
    learning_at_once,
    options_for,
    same,
    tables_in,
)
from ticdc_consumer.cut.read import task
from ticdc_consumer.cut.read.facts import FastRows
from ticdc_consumer.cut.read.fast.json import FastRun
from ticdc_consumer.cut.read.fast.reader import NoFastReader
from ticdc_consumer.cut.read.report import Report, unpack
from ticdc_consumer.cut.read.task import MOST_CORRUPTED, Reading, read
from ticdc_consumer.cut.reconcile.gathered import gather_here
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.source import ProgressT, Receiver
from ticdc_consumer.source.marks import Span
from ticdc_consumer.source.records import Records
from ticdc_consumer.targets.layout import TableName
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Ddl, RowChange
from ticdc_encoder.formats.simple import Waiting

OPTIONS = options_for("canal-json")
NOW = 1 << 50
"""Milliseconds, after all else."""


def row(number: int, extension: str = "", commit_ts: int = 0) -> bytes:
    return (
        '{"id":0,"database":"d","table":"t","pkNames":["id"],"isDdl":false,"type":"INSERT","es":1,'
        '"ts":1,"sql":"","sqlType":{"id":4},"mysqlType":{"id":"int"},"old":null,'
        f'"data":[{{"id":"{number}"}}],"_tidb":{{"commitTs":{commit_ts or number}{extension}}}}}'
    ).encode()


def mark(resolved_ts: int) -> bytes:
    return (
        '{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,"type":"TIDB_WATERMARK",'
        '"es":1,"ts":1,"sql":"","sqlType":null,"mysqlType":null,"data":null,"old":null,'
        f'"_tidb":{{"watermarkTs":{resolved_ts}}}}}'
    ).encode()


WIDE = (
    row(1)
    .replace(b'"id":"1"', b'"id":"%d","n":"%d"')
    .replace(b'"int"', b'"int","n":"int"')
    .replace(b'"id":4', b'"id":4,"n":4')
)
WITHOUT_KEY = row(1).replace(b'["id"]', b"null")
NULL_KEY = WITHOUT_KEY.replace(b'"id":"1"', b'"id":null')


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


@dataclass(frozen=True)
class Looking(OneByOne):
    """Notes the share that is read after each step."""

    shares: list[Callable[[], float]] = field(default_factory=list)
    seen: list[float] = field(default_factory=list)

    def read(self, receiver: Receiver[ProgressT], size: int) -> Iterator[None]:
        for _ in super().read(receiver, size):
            self.seen.extend(share() for share in self.shares)
            yield


@pytest.mark.parametrize(
    ("values", "seen"),
    [
        ([row(1), row(2), row(3), row(4)], [0.25, 0.5, 0.75, 1.0]),
        ([row(1), mark(1 << 62)], [0.25, 1.0]),
    ],
    ids=["up to the listed end", "up to a mark before it"],
)
def test_whoever_looks_sees_the_share_that_is_read(
    values: Sequence[bytes], seen: Sequence[float]
) -> None:
    source = Looking(values)
    job = replace(job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))]))), source=source)
    list(read(job, [Span(0, 0, 4)], source.shares.append))
    assert source.seen == seen


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


def test_what_a_task_has_sent_counts_against_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "FLUSH", 0)
    records = [(None, row(number)) for number in range(1, 6)]
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, records)))
    job = replace(job, source=OneByOne([value for _, value in records]))
    size = sum(batch.nbytes for batch in list(read(job, [WHOLE]))[:-1])
    for budget, too_large in ((size, False), (size - 1, True)):
        *_, report = read(replace(job, most_bytes=budget), [WHOLE])
        assert unpack(report.to_pylist()[0]["row"]).too_large == too_large


@pytest.mark.parametrize(
    ("most_bytes", "knows_the_table", "whole"),
    [(0, True, True), (1, True, False), (0, False, False)],
    ids=["whole", "too large", "without a table"],
)
def test_a_cut_has_a_change_only_if_all_of_it_was_read(
    most_bytes: int, knows_the_table: bool, whole: bool
) -> None:
    tables = tables_in(decoded(OPTIONS, [(None, row(1))])) if knows_the_table else {}
    job = replace(job_of(OPTIONS, tables), source=OneByOne([row(1)]), most_bytes=most_bytes)
    assert (gather_here(job, [WHOLE]).change is not None) == whole


def test_a_row_of_which_only_the_key_was_sent_is_not_passed_over() -> None:
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))])))
    reading = Reading(job, [WHOLE])
    with pytest.raises(Stop, match="only the handle key of a large row was sent"):
        reading.feed(reading.progress[PLACE], None, row(2, ',"onlyHandleKey":true'), 0, 0)


def test_a_row_without_a_value_of_the_targets_key_stops() -> None:
    tables = tables_in(decoded(OPTIONS, [(None, WITHOUT_KEY)]))
    reading = Reading(job_of(OPTIONS, tables, keys={("d", "t"): ("id",)}), [WHOLE])
    with pytest.raises(Stop, match=r"d\.t: no value for key column id"):
        reading.feed(reading.progress[PLACE], None, NULL_KEY, 0, 0)


@pytest.mark.parametrize(
    ("value", "kind", "table", "commit_ts"),
    [
        (NULL_KEY, "Stop", ("d", "t"), 1),
        (b"{", "WireError", None, 0),
    ],
    ids=["a row", "no row at all"],
)
def test_an_error_is_reported_with_the_table_that_it_is_about(
    value: bytes, kind: str, table: tuple[str, str] | None, commit_ts: int
) -> None:
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, WITHOUT_KEY)])), {("d", "t"): ("id",)})
    (report,) = read(replace(job, source=OneByOne([value])), [WHOLE])
    found = unpack(report.to_pylist()[0]["row"])
    assert found.error is not None
    assert (found.error[0], found.error_table, found.error_ts) == (kind, table, commit_ts)


def test_a_file_is_one_message_with_as_many_bytes_for_each_row() -> None:
    records = [(None, row(number)) for number in range(1, 4)]
    reading = Reading(job_of(OPTIONS, tables_in(decoded(OPTIONS, records))), [WHOLE])
    changes = [change for change in decoded(OPTIONS, records) if isinstance(change, RowChange)]
    assert [
        *reading.feed_file(reading.progress[PLACE], b"first\nsecond\nthird\n", 5, changes)
    ] == []
    assert (reading.report.messages, reading.report.bytes, reading.fold.bytes) == (1, 19, 3 * 4)
    assert reading.progress[PLACE].position == 6


def corrupted(number: int) -> RowChange:
    (change,) = decoded(OPTIONS, [(None, row(number))])
    assert isinstance(change, RowChange)
    return replace(change, corrupted=True)


def test_wrong_checksums_are_counted_and_the_first_is_told() -> None:
    options = options_for("canal-json", on_corruption="warn")
    job = job_of(options, tables_in(decoded(options, [(None, row(1))])))
    reading = Reading(job, [WHOLE])
    for number in range(1, MOST_CORRUPTED + 3):
        list(reading.feed_file(reading.progress[PLACE], b"", number, [corrupted(number)]))
    report = reading.report
    assert (report.corrupted, len(report.corrupted_rows)) == (12, 10)
    assert report.corrupted_rows[6] == (
        "d.t: the row with key id=7 of commit_ts 7 differs from its checksum; "
        f"at {PLACE[0]}[{PLACE[1]}] offset 7"
    )
    assert sum(batch.num_rows for batch in reading.fold.flush()) == 12


def test_a_row_that_differs_from_its_checksum_stops() -> None:
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))])))
    reading = Reading(job, [WHOLE])
    with pytest.raises(Stop, match="the row with key id=3 of commit_ts 3 differs"):
        list(reading.feed_file(reading.progress[PLACE], b"", 0, [corrupted(3)]))


def test_what_was_flushed_is_not_held_any_more() -> None:
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))])))
    reading = Reading(job, [WHOLE])
    reading.feed(reading.progress[PLACE], None, row(1), 0, 0)
    assert reading.fold.bytes > 0
    assert [batch.num_rows for batch in reading.fold.flush()] == [1]
    assert (reading.fold.bytes, [*reading.fold.flush()]) == (0, [])


def test_rows_of_quarantined_or_left_out_tables_are_only_counted() -> None:
    tables = tables_in(decoded(OPTIONS, [(None, row(1))]))
    aside = replace(job_of(OPTIONS, tables), set_aside=frozenset({("d", "t")}))
    out = job_of(options_for("canal-json", filter=("*.*", "!d.*")), tables)
    for job in (aside, out):
        reading = Reading(job, [WHOLE])
        reading.feed(reading.progress[PLACE], None, row(1), 0, 0)
        report = reading.report
        assert (report.waiting, report.left_out) == (
            ({("d", "t"): 1}, {}) if job is aside else ({}, {("d", "t"): 1})
        )
        assert [*reading.fold.flush()] == []


LACKING = [
    ("of the cut", "d", 7, {}, {("d", "t", 2): (*PLACE, 3)}, None),
    ("of a later cut", "d", 9, {}, {}, 3),
    ("of a table that is quarantined", "aside", 7, {("aside", "t"): 1}, {}, None),
    ("of a table that is left out", "out", 9, {}, {}, None),
    ("of one that joins, of the cut", "joins", 7, {}, {}, None),
    ("of one that joins, of a later cut", "joins", 9, {}, {}, 3),
]


@pytest.mark.parametrize(
    ("schema", "commit_ts", "waiting", "unread", "kept"),
    [each[1:] for each in LACKING],
    ids=[each[0] for each in LACKING],
)
def test_a_row_that_lacks_its_schema_is(
    schema: str,
    commit_ts: int,
    waiting: dict[TableName, int],
    unread: dict[SchemaKey, tuple[str, int, int]],
    kept: int | None,
) -> None:
    options = options_for("simple", filter=("d.*", "aside.*"))
    job = job_of(options, {}, begin=5, end=9)
    job = replace(job, joining=("joins.*",), set_aside=frozenset({("aside", "t")}))
    reading = Reading(job, [WHOLE])
    progress = reading.progress[PLACE]
    reading.read_waiting(progress, Waiting(0, commit_ts, schema, "t", 2), 3, NOW)
    report = reading.report
    assert (report.waiting, report.unread, progress.least_later) == (waiting, unread, kept)


@pytest.mark.parametrize(
    ("commit_ts", "facts", "restart", "replays"),
    [
        ((6, 4, 7, 9, 8, 3), 3, 3, 2),
        ((6, 7, 9), 2, 2, 0),
        ((6, 4, 7), 2, WHOLE.end, 1),
        ((6, 5, 8), 3, WHOLE.end, 0),
        ((6, 9, 10), 1, 1, 0),
        ((6, 4, 3), 1, WHOLE.end, 2),
    ],
)
def test_a_fast_reader_counts_and_keeps_what_is_outside_the_cut(
    commit_ts: Sequence[int], facts: int, restart: int, replays: int
) -> None:
    records = [(None, row(number)) for number in commit_ts]
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, records)), begin=5, end=9)
    with learning_at_once():
        found = same(job, records)
    assert (found.read_fast, len(found.facts)) == (len(records) - 1, facts)
    progress, *_, report = found.report
    assert progress.restart == restart
    assert unpack(report.to_pylist()[0]["row"]).tables[0].replays == replays


class Recognising(NoFastReader):
    """A fast reader of records that are a row which it recognises, r, one that it does not, ?, or a
    mark, m."""

    def __init__(self, recognised: str) -> None:
        self.recognised = recognised
        self.asked: list[tuple[int, int]] = []

    def take(self, records: Records, start: int, end: int) -> FastRun:
        self.asked.append((start, end))
        end = min([end, *[at for at in range(start, end) if self.recognised[at] == "m"]])
        if "?" in self.recognised[start:end] or start == end:
            return FastRun(end)
        taken = range(start, end)
        keys = [b"%d" % at for at in taken]
        rows = FastRows(0, [at + 5 for at in taken], keys, [b""] * len(keys), None)
        return FastRun(end, [(taken, rows)])


@pytest.mark.parametrize(
    ("records", "asked"),
    [
        ("rrrrrrrrrr", [(0, 4), (4, 8), (8, 10)]),
        ("rmrrrrr", [(0, 4), (1, 5), (2, 6), (6, 7)]),
        ("m", [(0, 1)]),
        ("?", [(0, 1)]),
        ("r??r", [(0, 4), (0, 1), (1, 3), (1, 2), (2, 3), (3, 4)]),
        ("rrr?rrrr", [(0, 4), (0, 1), (1, 3), (3, 7), (3, 4), (4, 5), (5, 7), (7, 8)]),
    ],
)
def test_records_are_read_together_as_far_as_they_are_recognised(
    monkeypatch: pytest.MonkeyPatch, records: str, asked: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr(task, "BATCH", 4)
    reader = Recognising(records)
    monkeypatch.setattr(task, "fast_reader", lambda *_: reader)
    sent = [(None, mark(4) if kind == "m" else row(at + 5)) for at, kind in enumerate(records)]
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))])))
    reading = Reading(job, [WHOLE])
    progress = reading.progress[PLACE]
    reading.feed_records(progress, given(sent))
    assert reader.asked == asked
    assert reading.fold.counts.facts[0] == len(records) - records.count("m")
    assert progress.position == reading.report.messages == len(records)
    assert reading.report.bytes == sum(len(value) for _, value in sent)


def test_what_follows_the_mark_that_ends_the_cut_is_not_read() -> None:
    sent = [(None, value) for value in (row(5), mark(9), row(6), mark(9))]
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))])), end=9)
    reading = Reading(job, [WHOLE])
    progress = reading.progress[PLACE]
    reading.feed_records(progress, given(sent))
    assert (progress.stopped_at, progress.position, reading.report.messages) == (1, 2, 2)


def test_a_conflict_names_both_records(monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, WIDE % (1, 1))])))
    reading = Reading(job, [WHOLE])
    with learning_at_once(), pytest.raises(Stop, match="columns n differ") as stop:
        sent = [(None, WIDE % each) for each in ((1, 1), (2, 2), (3, 3), (2, 4), (4, 4))]
        reading.feed_records(reading.progress[PLACE], given(sent, 70))
    assert stop.value.__notes__ == ["at topic[0] offset 71", "at topic[0] offset 73"]


def test_facts_of_a_merged_table_name_its_shard() -> None:
    job = job_of(OPTIONS, tables_in(decoded(OPTIONS, [(None, row(1))])))
    (layout,) = job.layouts
    merged = replace(
        layout,
        source=(*layout.source, Column("shard", ColumnType("varchar"))),
        columns=("id", "shard"),
        codecs=("text", "text"),
        key=("id", "shard"),
        shard="a",
    )
    reading = Reading(replace(job, layouts=(merged,)), [WHOLE])
    reading.feed(reading.progress[PLACE], None, row(1), 0, 0)
    (batch,) = reading.fold.flush()
    assert [json.loads(fact["row"]) for fact in batch.to_pylist()] == [["1", "a"]]


@pytest.mark.parametrize(("resolved_ts", "done"), [(8, False), (9, True), (10, True)])
def test_a_partition_is_read_to_a_mark_at_the_end_of_the_cut(resolved_ts: int, done: bool) -> None:
    reading = Reading(job_of(OPTIONS, {}, end=9), [WHOLE])
    reading.feed(reading.progress[PLACE], None, mark(resolved_ts), 3, 0)
    assert reading.progress[PLACE].done == done


STALE = [
    ("below R in a partition that joins", 4, True, [4]),
    ("below R in another: a replay", 4, False, []),
    ("of the cut", 7, True, []),
]


@pytest.mark.parametrize(
    ("commit_ts", "joins", "stale"), [each[1:] for each in STALE], ids=[each[0] for each in STALE]
)
def test_a_ddl_is_stale(commit_ts: int, joins: bool, stale: list[int]) -> None:
    job = replace(job_of(OPTIONS, {}, begin=5, end=9), joined=frozenset({PLACE} if joins else ()))
    reading = Reading(job, [WHOLE])
    reading.read_ddl(reading.progress[PLACE], Ddl("d", "t", "DROP TABLE t", commit_ts), 0, NOW)
    assert [ddl.commit_ts for ddl in reading.report.stale_ddls] == stale


@pytest.mark.parametrize(("way", "facts"), [("net", 1), ("transactions", 2)])
def test_each_commit_of_a_row_is_kept_if_apply_is_transactions(way: str, facts: int) -> None:
    options = options_for("canal-json", apply=way)
    records = [(None, row(1, commit_ts=7)), (None, row(1, commit_ts=8))]
    job = job_of(options, tables_in(decoded(options, records)))
    job = replace(job, source=OneByOne([value for _, value in records]))
    gathered = gather_here(job, [WHOLE])
    assert gathered.facts is not None
    assert gathered.facts.num_rows == facts
