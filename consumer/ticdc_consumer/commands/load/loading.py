"""The first copy of an upstream, from the missing tables to the checkpoint."""

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ticdc_encoder.counted import counted

from ticdc_consumer import failpoints
from ticdc_consumer.commands.load.copying import Copier, CopyJob
from ticdc_consumer.commands.load.creating import LoadTables, defined_of
from ticdc_consumer.commands.load.planning import planned, require_begun
from ticdc_consumer.commands.load.zero_dates import require_dates
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.opening import first_checkpoint
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.errors import (
    LOAD_ANEW,
    Problems,
    Retry,
    Stop,
    Unavailable,
    UnknownCommit,
    Usage,
)
from ticdc_consumer.source import Source, open_source
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.loading import LoadNotes, LoadProgress
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.origin import full_chunks, origin_of
from ticdc_consumer.upstream.session import reading, upstream_url
from ticdc_consumer.upstream.snapshot import NEWER, advising
from ticdc_consumer.upstream.strangers import warn_of_strangers
from ticdc_consumer.upstream.tables import Defined
from ticdc_consumer.waiting import backing_off, retried

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

LEAST_FOR_SPARK = 8
"""Full chunks from which Spark's tasks load them: fewer are done before Spark would have
started."""
LOOK = 1.0
"""Seconds between two checks of the progress of Spark's tasks."""
_LOAD_NEWER = f"SET GLOBAL tidb_gc_life_time there to longer than reading takes, and {LOAD_ANEW}"

Report = Callable[[LoadProgress], None]


def load(
    options: Settings,
    at: int | None = None,
    *,
    replace_rows: bool = False,
    report: Report = lambda progress: None,
    stopped: Callable[[], bool] = lambda: False,
    spark: "SparkSession | None" = None,
) -> int | None:
    """Copies all tables that the filter takes as of `at`, by default as of now, and sets R after
    it; continues an interrupted load. Returns R; None if `stopped` ended it before.

    Raises `Stop`, before anything is done, for a table that cannot be loaded exactly, or that has
    rows, unless these are to be replaced; and for a changefeed that has already applied something.
    A `spark` that is passed is not stopped at the end.
    """
    if options.from_ts is not None:
        raise Usage("from_ts is set, which is for a target that holds a snapshot: leave it out")
    opening = open_target(
        options.target_url, write_source=options.write_source, changefeed=options.changefeed
    )
    with (
        closing(opening) as target,
        closing(open_source(options)) as source,
        closing(
            SparkStarter(options.spark, f"ticdc load {options.changefeed}", spark, stopped)
        ) as starter,
    ):
        loader = _Loader(options, target, source, starter, report, stopped)
        try:
            return loader.load(at, replace_rows)
        except (Retry, UnknownCommit) as error:
            raise Unavailable(f"{error}; continue with: ticdc-consumer load CONFIG") from error


class _Loader:
    def __init__(
        self,
        options: Settings,
        target: Target,
        source: Source,
        spark: SparkStarter,
        report: Report,
        stopped: Callable[[], bool],
    ) -> None:
        self._options, self._target, self._source, self._spark = options, target, source, spark
        where = InTarget.by(options, target)
        self._store = Store(target, options.changefeed, options.ddl_keep_dropped, where)
        self._notes = LoadNotes(target, options.changefeed)
        self._origin = origin_of(options)
        self._report, self._stopped = report, stopped

    def load(self, at: int | None, replace_rows: bool) -> int | None:
        # This check precedes the start, which would end a running consumer.
        self._refuse_applied(self._store.read())
        state = self._store.start(self._options.takeover_after)
        progress = self._notes.progress()
        with self._store.lease.explaining(), ExitStack() as pins:
            if progress is None:
                self._refuse_applied(state)
                with advising(NEWER):
                    snapshot_ts = self._snapshot(at)
                    pins.enter_context(self._origin.keeping(snapshot_ts))
                    state = self._begin(state, snapshot_ts, replace_rows)
            else:
                assert state is not None  # written with the load
                snapshot_ts = progress.snapshot_ts
                if at not in (None, snapshot_ts):
                    raise Stop(
                        f"a load as of {snapshot_ts} is not finished: leave --at out to continue "
                        "it, or give it up by: ticdc-consumer forget CONFIG"
                    )
                pins.enter_context(self._origin.keeping(snapshot_ts))
            with advising(_LOAD_NEWER):
                if not self._copy_all(snapshot_ts):
                    return None
            return self._finish(state, snapshot_ts)

    # --- the beginning -------------------------------------------------------------------------

    def _refuse_applied(self, state: Checkpoint | None) -> None:
        if state is not None and state.resolved_ts:
            raise Stop(
                f"changefeed {self._options.changefeed} is at R = {state.resolved_ts} already: "
                "continue with: ticdc-consumer run CONFIG; to load it again, first end it by: "
                "ticdc-consumer forget CONFIG, and load with --replace"
            )

    def _snapshot(self, at: int | None) -> int:
        """The timestamp to load, which the topics reach."""
        required = self._origin.require(at)
        require_begun(self._options, self._source, required)
        return self._origin.snapshot(required)

    def _begin(self, state: Checkpoint | None, snapshot_ts: int, replace_rows: bool) -> Checkpoint:
        """Checks for everything that forbids the load; writes the plan with a checkpoint without
        R."""
        first_checkpoint(replace(self._options, from_ts=snapshot_ts), self._source)
        contents = self._origin.contents(self._options, snapshot_ts)
        defined = {each.name: each for each in contents.tables}
        views = ", ".join(map(".".join, contents.views))
        if not defined:
            raise Stop(
                f"the upstream has no table that [tables] filter matches as of {snapshot_ts}"
            )
        if views:
            logger.warning(
                "views are not loaded: %s: create them yourself",
                views,
                extra={"event": "views_not_loaded", "views": views},
            )
        states = self._tables(defined).states(replace_rows)
        self._require_dates(snapshot_ts, defined)
        where = InTarget.by(self._options, self._target)
        warn_of_strangers(self._target, self._options.changefeed, where, defined)
        plan = planned(contents.cut, self._options.load_chunk, defined, states)
        whole = first_checkpoint(replace(self._options, from_ts=snapshot_ts), self._source)
        begun = Checkpoint.first(self._options, 0, whole.positions)
        begin = partial(self._notes.begin, snapshot_ts, plan)
        if state is not None:
            return self._store.begin_again(state, begun, begin)
        self._store.begin_first(begun, begin)
        return begun

    def _require_dates(self, snapshot_ts: int, defined: Mapping[TableName, Defined]) -> None:
        """Raises `Stop` for all columns with zero dates that would stop the load at a row."""
        if self._target.has_zero_dates or self._options.dump_url is not None:
            return
        problems, route = Problems(), self._tables(defined).context.locate
        with reading(upstream_url(self._options), snapshot_ts) as session:
            for name, each in defined.items():
                existing = self._target.describe(*route(name))
                with problems:
                    require_dates(session, each, self._target, existing, self._options.rules)
        problems.require_none()

    def _tables(self, defined: Mapping[TableName, Defined]) -> LoadTables:
        layouts = TableLayouts(self._options, self._target)
        layouts.learn(self._store.ledger)
        context = DdlContext.of(self._options, self._target, self._store.ledger, layouts.route)
        return LoadTables(self._options, context, layouts, defined)

    # --- the copy ------------------------------------------------------------------------------

    def _copy_all(self, snapshot_ts: int) -> bool:
        """Loads everything. Returns False if `stopped`."""
        loads = self._notes.tables()
        defined = {each.name: defined_of(each) for each in loads}
        of_target = self._tables(defined)
        self._try(partial(of_target.create_schemas, snapshot_ts))
        for table in loads:
            if table.state in ("create", "empty", "use"):
                entry = of_target.entry(snapshot_ts, table.name)
                self._try(partial(of_target.begin, self._notes, table, entry))
        self._copy_rows(snapshot_ts, of_target)
        if self._stopped():
            return False
        for table in self._notes.tables():
            if table.state == "rows":
                self._try(partial(of_target.complete, self._notes, table))
        self._try(partial(of_target.add_references, loads))
        return True

    def _copy_rows(self, snapshot_ts: int, of_target: LoadTables) -> None:
        """Loads all chunks, including those left by a failure of Spark, unless `stopped`."""
        if not self._notes.pending() or self._stopped():
            return
        job = self._job(snapshot_ts, of_target)

        def copy_pending() -> None:
            pending = self._notes.pending()
            if not pending or self._stopped():
                return
            if self._target.several_writers and self._is_large(pending):
                self._copy_on_spark(job, pending)
            else:
                self._copy_here(job, pending)

        try:
            retried(copy_pending, backing_off(self._options.retries), on=Retry)
        except Retry as cause:
            raise Unavailable(f"{cause}; continue with: ticdc-consumer load CONFIG") from cause

    def _is_large(self, pending: list[tuple[TableName, int]]) -> bool:
        """Returns whether Spark is worth its start. Many chunks of small tables are little work."""
        if len(pending) < LEAST_FOR_SPARK:
            return False
        full = full_chunks(self._notes.pending_sizes(), self._options.load_chunk)
        return full >= LEAST_FOR_SPARK

    def _job(self, snapshot_ts: int, of_target: LoadTables) -> CopyJob:
        return CopyJob(
            self._options.changefeed,
            snapshot_ts,
            of_target.layouts_of_rows(),
            self._options.retries,
            self._options.write_source,
            self._origin,
            self._options.target_url,
        )

    def _copy_here(self, job: CopyJob, pending: list[tuple[TableName, int]]) -> None:
        next_report = 0.0
        with closing(Copier(job)) as copier:
            for name, number in pending:
                if self._stopped():
                    return
                copier.copy(name, number)
                if time.monotonic() >= next_report:
                    self._look()
                    next_report = time.monotonic() + LOOK
        self._look()

    def _copy_on_spark(self, job: CopyJob, pending: list[tuple[TableName, int]]) -> None:
        spark = self._spark.session(f"to copy {counted(len(pending), 'chunk')} of rows")
        from ticdc_consumer.commands.load.on_spark import copy_on_spark

        with ThreadPoolExecutor(1, "ticdc-load") as threads:
            copied = threads.submit(copy_on_spark, spark, job, pending)
            try:
                while not wait([copied], LOOK).done:
                    self._look()
                    if self._stopped():
                        break
            finally:
                if not copied.done():
                    spark.sparkContext.cancelAllJobs()
            if not self._stopped():
                copied.result()
        self._look()

    def _look(self) -> None:
        """Reports the load's progress. Raises `Fenced` if another `load` continues it."""

        def look() -> None:
            with self._target.transaction():
                self._store.check_generation()
            progress = self._notes.progress()
            if progress is not None:
                self._report(progress)

        self._try(look)

    def _try(self, attempt: Callable[[], None]) -> None:
        """Retries `attempt`; finished work shows, and is not repeated."""
        until_known(self._store, self._options.retries, attempt, happened=lambda: False)

    # --- the end -------------------------------------------------------------------------------

    def _finish(self, state: Checkpoint, snapshot_ts: int) -> int:
        """Sets R, and removes the notes of the load."""
        failpoints.hit("load-set-r")
        loaded = first_checkpoint(replace(self._options, from_ts=snapshot_ts), self._source)
        loaded = replace(loaded, counters=state.counters)
        self._store.begin_again(state, loaded, self._notes.end)
        failpoints.hit("load-ended")
        return loaded.resolved_ts
