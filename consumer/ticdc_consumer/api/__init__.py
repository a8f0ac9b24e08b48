"""What the commands of `ticdc-consumer` do, as functions: each gives what its command prints.

    from ticdc_consumer import Settings, api

    settings = Settings.read("orders.toml")
    print(api.status(settings).lag_seconds)
    for report in api.verify(settings):
        print(report.name, report.equal)

`run` is `Consumer`. What a function needs is imported when it is called.
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


def check(settings: "Settings") -> Iterator["Finding"]:
    """Every precondition of a run, each as soon as it is known; nothing is written."""
    from ticdc_consumer.commands.check import checks

    return checks.check(settings)


def plan(
    settings: "Settings",
    until: "Goal" = "caught-up",
    *,
    sql: bool = False,
    spark: "SparkSession | None" = None,
) -> Iterator["PlannedCut"]:
    """What the next cuts would do; also beside a consumer that runs. Nothing is taken over, nothing
    is written. With `sql`, small cuts have the statements for their rows.

    Raises what would end the run, after what would come before it.
    """
    from ticdc_consumer.commands import plan as dry_run

    return dry_run.plan(settings, until, sql=sql, spark=spark)


def status(settings: "Settings") -> "Status":
    """Where the changefeed is, by the target alone. Raises `Stop` if there is no checkpoint."""
    from ticdc_consumer.status import reading
    from ticdc_consumer.targets import open_target

    opening = open_target(settings.target_url, to_look=True, changefeed=settings.changefeed)
    with closing(opening) as target:
        return reading.read(target, settings)


def why(settings: "Settings", config: str = "CONFIG") -> "Diagnosis":
    """What explains the present state best, in 5 seconds at most: asks the target and the source,
    and needs no consumer that runs. `config` is the file of settings, for the commands in the
    advice."""
    from ticdc_consumer.status import diagnosis

    return diagnosis.why(settings, config)


def changefeeds(settings: "Settings") -> Sequence["ChangefeedStatus"]:
    """All changefeeds of the target, as `list` shows them."""
    from ticdc_consumer.commands.changefeeds import list_all
    from ticdc_consumer.targets import open_target

    opening = open_target(settings.target_url, to_look=True, changefeed=settings.changefeed)
    with closing(opening) as target:
        return list_all(target)


def forget(settings: "Settings") -> "Ended":
    """Removes what the target's `ticdc_*` tables hold of the changefeed; its tables stay."""
    from ticdc_consumer.commands.changefeeds import end
    from ticdc_consumer.targets import open_target

    with closing(open_target(settings.target_url, changefeed=settings.changefeed)) as target:
        return end(target, settings)


@dataclass(frozen=True, slots=True)
class Loaded:
    """`resolved_ts` is R, None if the load was stopped before its end: another one goes on with it.
    `progress` is how far it came, None if nothing was to be loaded."""

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
    """Copies all tables that the filter takes as of `at`, by default as of now, and sets R behind
    it; or loads `tables`, each `schema.table`, again beside those in use. Goes on with a load that
    was interrupted. `report` gets how far it is, `stopped` may end it.

    Raises `Stop` before anything is done for a table that cannot be loaded exactly, or that has
    rows, unless these are to be replaced; and, without `tables`, for a changefeed that has applied
    something already.
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
    """Raises `Usage` for what a load of tables beside those in use does not take."""
    if at is not None or replace_rows:
        raise Usage("--table loads what the upstream holds at R: leave --at and --replace out")


def verify(
    settings: "Settings", tables: Sequence[str] = (), *, most: int = 1_000, sessions: int = 2
) -> Iterator["TableReport"]:
    """A report of each table, compared with `[source] upstream` at one R, as soon as it is known.
    `tables` are filter rules; `most` rows that differ are looked for in a table, with so many
    `sessions` on each side. Raises `Usage` without an upstream, `Stop` where R is not set or the
    upstream no longer has R - 1, `Unavailable`."""
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
    """A report of each table, compared with another target of the same upstream at one R. `other`
    is that one's settings, or its URL, with the name of its `changefeed` if it has another. Raises
    `Stop` where the two do not come to one R, `Unavailable`."""
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
    """A report of each table, compared with what the topics give when they are replayed into a
    SQLite file: from where they begin, or from the upstream's snapshot `at`, or from the dump. No
    report comes once `stopped` says so. `report` gets how far the snapshot is loaded, then each cut
    of the replay; `watching` is entered while it goes on, with what tells what it is at.

    Raises `Stop` where the topics do not give the target's tables, `Unavailable`."""
    from ticdc_consumer.commands.verify import topics
    from ticdc_consumer.commands.verify.verification import Request

    replaying = _Replay(report, watching, stopped)
    request = Request(most, tables=tables)
    by_topics = topics.verify_topics(
        settings, request, topics.Replaying(replaying.load, replaying.replay, at)
    )
    return replaying.until_stopped(by_topics)


class _Stopped(Exception):
    """A replay ends before its end."""


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

        consumer = Consumer(scratch)
        consumer.publishes, consumer.also_stops = False, self.stopped
        with self.watching(lambda: consumer.activity), consumer:
            if not consumer.reaches(until):
                raise Stop("they have no resolved ts at or above the target's R yet: try again")
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
    """`reports` have the tables as they are, `statements` the SQL that makes the target equal at
    this R, with a comment for a table whose rows it cannot write. "" if nothing differs."""

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
    """Verifies, and gives the SQL that puts right what differs; nothing is changed. `report` gets
    each table as soon as it is compared. Raises what `verify` does."""
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
    """`reports` have the tables as they are after the repair; `outcome` is what was done, None if
    nothing was to be, or could be."""

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
    """Verifies, has the rows that differ put right in a cut of the consumer that runs, or does it
    where none runs, and verifies their tables again. `report` gets each table when it is compared,
    those that cannot be put right, what is asked for, what was done, and each table compared again.
    Raises what `verify` does, and `Unavailable` if the consumer takes the request not up."""
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
    """What `import_checkpoint` goes on from, in another target to which the tables were moved
    without the `ticdc_*` tables. Raises `Stop` if there is no checkpoint, `Unavailable`."""
    from ticdc_consumer.commands.export import exported
    from ticdc_consumer.targets import open_target

    opening = open_target(settings.target_url, to_look=True, changefeed=settings.changefeed)
    with closing(opening) as target:
        document = exported(target, settings)
    return Exported(settings.changefeed, int(document["resolved_ts"]), document)


@dataclass(frozen=True, slots=True)
class Imported:
    """The changefeed goes on from R, `resolved_ts`."""

    changefeed: str
    resolved_ts: int


def import_checkpoint(settings: "Settings", document: Mapping[str, Any]) -> Imported:
    """Writes an exported document into the target, whose tables hold the rows of its R. That they
    do is not checked: `verify` tells. Raises `Usage` for a document that is not this changefeed's,
    `Stop` where the target has a checkpoint already or lacks a table, and for other settings;
    nothing is written then."""
    from ticdc_consumer.commands.export import imported
    from ticdc_consumer.targets import open_target

    with closing(open_target(settings.target_url, changefeed=settings.changefeed)) as target:
        state = imported(target, settings, document)
    return Imported(state.changefeed, state.resolved_ts)


def inspect(settings: "Settings", topic: str, partition: int, offset: int) -> "Inspection":
    """One message of a topic, decoded as a run does, and the error that a run would report. Raises
    `Usage` for a message that is not there, `Stop` for such a topic, `Unavailable`."""
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
    """What the log and the target hold of one row, by its upstream table and its key, in messages
    of `first_ts` to `last_ts`; nothing is written. `follow` reads the other halves of UPDATEs that
    were split, `report` gets the share of the log that is read. Raises `Usage` for a table that is
    left out and for a key that is not the table's, `Unavailable`, `Stop`."""
    from ticdc_consumer.commands.trace.tracing import EVERYTHING, TraceRequest, trace_row
    from ticdc_consumer.cut.read.row_key import RowKey

    end = EVERYTHING if last_ts is None else last_ts + 1
    request = TraceRequest(table, RowKey.of(key), first_ts, end, follow, with_values)
    return trace_row(settings, request, report, spark)


def release(settings: "Settings", table: str) -> Iterator["Epoch"]:
    """Brings a table that was set aside to R again, where no consumer runs: `Consumer.release`."""
    from ticdc_consumer.commands import run

    return run.release(settings, table)


def release_by_load(settings: "Settings", table: str) -> int:
    """The same by the upstream's rows as of R - 1, where the log is gone; gives how many there
    are."""
    from ticdc_consumer.commands import run

    return run.release_by_load(settings, table)
