"""The commands of `ticdc-consumer` as functions: each returns what its command prints.

    from ticdc_consumer import Settings, api

    settings = Settings.read("orders.toml")
    print(api.status(settings).lag_seconds)
    for report in api.verify(settings):
        print(report.name, report.equal)

`run` is `Consumer`. A function imports what it needs when it is called.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ticdc_consumer.errors import Usage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ticdc_consumer.commands.changefeeds import ChangefeedStatus, Ended
    from ticdc_consumer.commands.check.finding import Finding
    from ticdc_consumer.commands.inspect import Inspection
    from ticdc_consumer.commands.plan import PlannedCut
    from ticdc_consumer.commands.repair.verified import RepairStep
    from ticdc_consumer.commands.trace.tracing import RowHistory
    from ticdc_consumer.commands.verify.report import TableReport
    from ticdc_consumer.commands.verify.topics import Watching
    from ticdc_consumer.config.options import Settings
    from ticdc_consumer.cut.epoch import Epoch, Goal
    from ticdc_consumer.state.loading import LoadProgress
    from ticdc_consumer.state.repairs import RepairState
    from ticdc_consumer.status.causes.situation import Diagnosis
    from ticdc_consumer.status.reading import Status

__all__ = [
    "Exported",
    "Imported",
    "Loaded",
    "RepairSql",
    "Repaired",
    "changefeeds",
    "check",
    "export_checkpoint",
    "forget",
    "import_checkpoint",
    "inspect",
    "load",
    "plan",
    "release",
    "release_by_load",
    "repair",
    "repair_sql",
    "require_at_r",
    "status",
    "trace",
    "verify",
    "verify_against",
    "verify_topics",
    "why",
]


def check(settings: "Settings") -> Iterator["Finding"]:
    """Yields the finding about each precondition of a run as soon as it is known; writes
    nothing."""
    from ticdc_consumer.commands.check import checks

    return checks.check(settings)


def plan(
    settings: "Settings",
    until: "Goal" = "caught-up",
    *,
    sql: bool = False,
    spark: "SparkSession | None" = None,
) -> Iterator["PlannedCut"]:
    """Yields what the next cuts would do, with or without a running consumer. Takes over nothing
    and writes nothing. With `sql`, small cuts have the statements for their rows.

    Raises the error that would end the run, after the cuts that would precede it.
    """
    from ticdc_consumer.commands import plan as dry_run

    return dry_run.plan(settings, until, sql=sql, spark=spark)


def status(settings: "Settings") -> "Status":
    """Returns the changefeed's state as the target stores it. Raises `Stop` without a
    checkpoint."""
    from ticdc_consumer.status import reading
    from ticdc_consumer.targets import open_target

    opening = open_target(settings.target_url, to_look=True, changefeed=settings.changefeed)
    with closing(opening) as target:
        return reading.read(target, settings)


def why(settings: "Settings", config: str = "CONFIG") -> "Diagnosis":
    """Returns the best explanation of the present state, in 5 seconds at most: asks the target and
    the source, and works without a running consumer. `config` is the settings file that the advised
    commands name."""
    from ticdc_consumer.status import diagnosis

    return diagnosis.why(settings, config)


def changefeeds(settings: "Settings") -> Sequence["ChangefeedStatus"]:
    """Returns all changefeeds of the target, as `list` shows them."""
    from ticdc_consumer.commands.changefeeds import list_all
    from ticdc_consumer.targets import open_target

    opening = open_target(settings.target_url, to_look=True, changefeed=settings.changefeed)
    with closing(opening) as target:
        return list_all(target)


def forget(settings: "Settings") -> "Ended":
    """Removes the changefeed from the target's `ticdc_*` tables, and keeps its tables."""
    from ticdc_consumer.commands.changefeeds import end
    from ticdc_consumer.targets import open_target

    with closing(open_target(settings.target_url, changefeed=settings.changefeed)) as target:
        return end(target, settings)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The result of a load: `resolved_ts` is R, or None if the load was stopped before its end and
    another call must continue it; `progress` is None if there was nothing to load."""

    resolved_ts: int | None
    progress: "LoadProgress | None" = None


def load(
    settings: "Settings",
    tables: Sequence[str] = (),
    *,
    at: int | None = None,
    replace_rows: bool = False,
    report: Callable[["LoadProgress"], None] = lambda progress: None,
    stopped: Callable[[], bool] = lambda: False,
    spark: "SparkSession | None" = None,
) -> Loaded:
    """Copies all tables that the filter matches as of `at`, by default as of now, and sets R to
    `at` + 1; or loads `tables`, each `schema.table`, again while those in use are kept up to date.
    Continues an interrupted load. `report` receives the progress; the load ends early once
    `stopped` returns True.

    Raises `Stop` before it writes anything if a table cannot be loaded exactly, or has rows and
    `replace_rows` is false; and, without `tables`, if the changefeed has already applied changes.
    """
    from ticdc_consumer.commands.load.again import load_again
    from ticdc_consumer.commands.load.loading import load as load_all
    from ticdc_consumer.commands.run import Consumer

    last: LoadProgress | None = None

    def seen(progress: "LoadProgress") -> None:
        nonlocal last
        last = progress
        report(progress)

    if not tables:
        resolved_ts = load_all(
            settings, at, replace_rows=replace_rows, report=seen, stopped=stopped, spark=spark
        )
    else:
        require_at_r(at, replace_rows)
        resolved_ts = load_again(settings, tables, Consumer, report=seen, stopped=stopped)
    return Loaded(resolved_ts, last)


def require_at_r(at: int | None, replace_rows: bool) -> None:
    """Raises `Usage` for arguments that a load of single tables does not take."""
    if at is not None or replace_rows:
        raise Usage("--table loads what the upstream holds at R: leave --at and --replace out")


def verify(
    settings: "Settings", tables: Sequence[str] = (), *, most: int = 1_000, sessions: int = 2
) -> Iterator["TableReport"]:
    """Compares each table with `[source] upstream` at one R, and yields its report as soon as it is
    known. `tables` are filter rules; at most `most` differing rows of a table are listed;
    `sessions` is the number of sessions on each side. Raises `Usage` without an upstream, `Stop` if
    R is not set or the upstream no longer has R - 1, and `Unavailable`."""
    from ticdc_consumer.commands.verify import verification

    request = verification.Request(most, sessions, tables=tables)
    return verification.verify(settings, request)


def verify_against(
    settings: "Settings",
    other: "Settings | str",
    tables: Sequence[str] = (),
    *,
    changefeed: str = "",
    most: int = 1_000,
) -> Iterator["TableReport"]:
    """Compares each table with another target of the same upstream at one R, and yields its report.
    `other` is the settings of that target, or its URL; `changefeed` names its changefeed if it has
    another name. Raises `Stop` if the two do not reach the same R, and `Unavailable`."""
    from ticdc_consumer.commands.verify import against
    from ticdc_consumer.commands.verify.same_state import Side
    from ticdc_consumer.commands.verify.verification import Request

    if isinstance(other, str):
        theirs = against.other_side(settings, other, changefeed or settings.changefeed)
    else:
        theirs = Side(other)
    return against.verify_against(settings, theirs, Request(most, tables=tables))


def verify_topics(
    settings: "Settings",
    tables: Sequence[str] = (),
    *,
    at: int | None = None,
    most: int = 1_000,
    report: Callable[["LoadProgress | Epoch"], None] = lambda progress: None,
    watching: "Watching" = lambda activity: nullcontext(),
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator["TableReport"]:
    """Compares each table with a replay of the topics into a SQLite file, and yields its report.
    The replay starts from the beginning of the topics, the upstream's snapshot `at`, or the dump.
    No report comes once `stopped` returns True. `report` receives the progress of the load, then
    each cut of the replay; `watching` is entered during the replay, with a function that returns
    its activity.

    Raises `Stop` if the topics do not yield the target's tables, and `Unavailable`."""
    from ticdc_consumer.commands.verify import topics
    from ticdc_consumer.commands.verify.verification import Request

    replaying = _Replay(report, watching, stopped)
    request = Request(most, tables=tables)
    by_topics = topics.verify_topics(
        settings, request, topics.Replaying(replaying.load, replaying.replay, at)
    )
    return replaying.until_stopped(by_topics)


class _Stopped(Exception):
    """Ends a replay early."""


@dataclass(frozen=True, slots=True)
class _Replay:
    report: Callable[["LoadProgress | Epoch"], None]
    watching: "Watching"
    stopped: Callable[[], bool]

    def load(self, scratch: "Settings", at: int) -> None:
        from ticdc_consumer.commands.load.loading import load

        load(scratch, at, report=self.report, stopped=self.stopped)
        self._go_on()

    def replay(self, scratch: "Settings", until: int) -> None:
        from ticdc_consumer.commands.run import Consumer
        from ticdc_consumer.errors import Stop

        consumer = Consumer(scratch, also_stops=self.stopped, publishes=False)
        with self.watching(lambda: consumer.activity), consumer:
            if not consumer.reaches(until):
                raise Stop(
                    "the topics have no resolved ts at or above the target's R yet: try again"
                )
            for epoch in consumer.epochs(until):
                self.report(epoch)
        self._go_on()

    def until_stopped(self, reports: Iterator["TableReport"]) -> Iterator["TableReport"]:
        try:
            for each in reports:
                yield each
                self._go_on()
        except _Stopped:
            return

    def _go_on(self) -> None:
        if self.stopped():
            raise _Stopped


@dataclass(frozen=True, slots=True)
class RepairSql:
    """The result of `repair_sql`: `reports` describe the tables as they are, `statements` is the
    SQL that makes the target equal at this R, with a comment for each table whose rows it cannot
    write, or "" if nothing differs."""

    reports: Sequence["TableReport"]
    statements: str

    @property
    def equal(self) -> bool:
        return all(report.equal for report in self.reports)


def repair_sql(
    settings: "Settings",
    tables: Sequence[str] = (),
    *,
    most: int = 1_000,
    sessions: int = 2,
    report: Callable[["TableReport"], None] = lambda report: None,
) -> RepairSql:
    """Verifies, and returns the SQL that repairs the rows that differ; changes nothing. `report`
    receives each table as soon as it is compared. Raises the errors of `verify`."""
    from ticdc_consumer.commands.verify import verification
    from ticdc_consumer.commands.verify.repair import RepairScript

    script = RepairScript()
    request = verification.Request(most, sessions, [script], tables)
    reports = {}
    for each in verification.verify(settings, request):
        reports[each.subject] = each
        report(each)
    unequal = {each.table for each in reports.values() if each.differences}
    return RepairSql([*reports.values()], script.text(unequal))


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of a repair: `reports` describe the tables after it; `outcome` is None if there
    was nothing to repair, or nothing that could be repaired."""

    reports: Sequence["TableReport"]
    outcome: "RepairState | None"

    @property
    def equal(self) -> bool:
        return all(report.equal for report in self.reports)


def repair(
    settings: "Settings",
    tables: Sequence[str] = (),
    *,
    most: int = 1_000,
    sessions: int = 2,
    report: Callable[["RepairStep"], None] = lambda step: None,
) -> Repaired:
    """Verifies, repairs the differing rows in a cut of the running consumer, or itself if none
    runs, and verifies their tables again. `report` receives each table when it is compared, the
    tables that cannot be repaired, the request, its outcome, and each table compared again. Raises
    the errors of `verify`, and `Unavailable` if the consumer does not take up the request."""
    from ticdc_consumer.commands.repair.differing_keys import DifferingKeys
    from ticdc_consumer.commands.repair.verified import put_right
    from ticdc_consumer.commands.verify import verification

    differing = DifferingKeys()
    request = verification.Request(most, sessions, [differing], tables)
    reports = {}
    for each in verification.verify(settings, request):
        reports[each.subject] = each
        report(each)
    outcome = put_right(settings, request, reports, differing, report)
    return Repaired([*reports.values()], outcome)


@dataclass(frozen=True, slots=True)
class Exported:
    """The checkpoint of a changefeed at R, `resolved_ts`. `document` is for JSON."""

    changefeed: str
    resolved_ts: int
    document: Mapping[str, Any]


def export_checkpoint(settings: "Settings") -> Exported:
    """Exports the checkpoint for `import_checkpoint` into another target, to which the tables were
    moved without the `ticdc_*` tables. Raises `Stop` if there is no checkpoint, `Unavailable`."""
    from ticdc_consumer.commands.export import exported
    from ticdc_consumer.targets import open_target

    opening = open_target(settings.target_url, to_look=True, changefeed=settings.changefeed)
    with closing(opening) as target:
        document = exported(target, settings)
    return Exported(settings.changefeed, int(document["resolved_ts"]), document)


@dataclass(frozen=True, slots=True)
class Imported:
    """An import: the changefeed continues from R, `resolved_ts`."""

    changefeed: str
    resolved_ts: int


def import_checkpoint(settings: "Settings", document: Mapping[str, Any]) -> Imported:
    """Writes an exported document into the target, whose tables must hold the rows of its R. This
    is not checked: use `verify`. Raises, without writing anything, `Usage` for a document that is
    not this changefeed's, and `Stop` if the target already has a checkpoint or lacks a table, or if
    the settings differ."""
    from ticdc_consumer.commands.export import imported
    from ticdc_consumer.targets import open_target

    with closing(open_target(settings.target_url, changefeed=settings.changefeed)) as target:
        state = imported(target, settings, document)
    return Imported(state.changefeed, state.resolved_ts)


def inspect(settings: "Settings", topic: str, partition: int, offset: int) -> "Inspection":
    """Returns one message of a topic, decoded as a run does, and the error that a run would report.
    Raises `Usage` for a message that does not exist, `Stop` for such a topic, `Unavailable`."""
    from ticdc_consumer.commands import inspect as one_message

    return one_message.inspect(settings, topic, partition, offset)


def trace(
    settings: "Settings",
    table: tuple[str, str],
    key: Mapping[str, str],
    *,
    first_ts: int = 0,
    last_ts: int | None = None,
    follow: bool = False,
    with_values: bool = False,
    report: Callable[[float], None] = lambda share: None,
    spark: "SparkSession | None" = None,
) -> "RowHistory":
    """Returns what the log and the target hold of one row, given by its upstream table and key, in
    messages from `first_ts` to `last_ts`; writes nothing. `follow` also reads the other halves of
    split UPDATEs; `report` receives the share of the log that is read. Raises `Usage` for a table
    that the filter leaves out or a key that is not the table's, `Unavailable`, and `Stop`."""
    from ticdc_consumer.commands.trace.tracing import EVERYTHING, TraceRequest, trace_row
    from ticdc_consumer.cut.read.row_key import RowKey

    end = EVERYTHING if last_ts is None else last_ts + 1
    request = TraceRequest(table, RowKey.of(key), first_ts, end, follow, with_values)
    return trace_row(settings, request, report, spark)


def release(settings: "Settings", table: str) -> Iterator["Epoch"]:
    """Brings a quarantined table to R while no consumer runs, as `Consumer.release` does."""
    from ticdc_consumer.commands import run

    return run.release(settings, table)


def release_by_load(settings: "Settings", table: str) -> int:
    """Loads a quarantined table, whose log is lost, from the upstream as of R - 1. Returns the
    number of its rows."""
    from ticdc_consumer.commands import run

    return run.release_by_load(settings, table)
