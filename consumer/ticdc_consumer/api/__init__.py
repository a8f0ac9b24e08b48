"""What the commands of `ticdc-consumer` do, as functions: each gives what its command prints.

    from ticdc_consumer import Settings, api

    settings = Settings.read("orders.toml")
    print(api.status(settings).lag_seconds)
    for report in api.verify(settings):
        print(report.name, report.equal)

`run` is `Consumer`. What a function needs is imported when it is called.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ticdc_consumer.errors import Usage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ticdc_consumer.commands.changefeeds import ChangefeedStatus, Ended
    from ticdc_consumer.commands.check.finding import Finding
    from ticdc_consumer.commands.plan import PlannedCut
    from ticdc_consumer.commands.trace.tracing import RowHistory
    from ticdc_consumer.commands.verify.report import TableReport
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
    settings: "Settings", tables: Sequence[str] = (), *, most: int = 1_000, sessions: int = 2
) -> Repaired:
    """Verifies, has the rows that differ put right in a cut of the consumer that runs, or does it
    where none runs, and verifies their tables again. Raises what `verify` does, and `Unavailable`
    if the consumer takes the request not up."""
    from ticdc_consumer.commands.repair.differing_keys import DifferingKeys
    from ticdc_consumer.commands.repair.verified import put_right
    from ticdc_consumer.commands.verify import verification

    differing = DifferingKeys()
    request = verification.Request(most, sessions, [differing], tables)
    reports = {report.subject: report for report in verification.verify(settings, request)}
    outcome = put_right(settings, request, reports, differing)
    return Repaired([*reports.values()], outcome)


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
