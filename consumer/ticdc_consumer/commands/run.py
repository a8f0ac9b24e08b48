"""The loop, and the interface for embedding."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.tso import with_time

from ticdc_consumer import failpoints
from ticdc_consumer.commands.release import released, require_releasable
from ticdc_consumer.commands.repair.beside_run import repair_beside_run
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.redact import secrets_of
from ticdc_consumer.cut.apply.before_commit import BeforeCommit, as_raised
from ticdc_consumer.cut.apply.to_target import ToTarget
from ticdc_consumer.cut.cut_reader import Definitions
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.epoch import CAUGHT_UP, IDLE, Epoch, Epochs, Goal
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.opening import patiently_read, take_over
from ticdc_consumer.cut.read_ahead import Preparer
from ticdc_consumer.cut.shared_cuts import Together
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.ddl.by_operator.manual import done_by_operator, run_by_operator
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.errors import Away, Unavailable, Usage
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.quarantine import named
from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.activity.recorder import ActivityRecorder
from ticdc_consumer.status.metrics.exposing import exposed
from ticdc_consumer.status.standby import wait_for_leader_to_go
from ticdc_consumer.targets.staging import StagingJob, Unneeded
from ticdc_consumer.targets.watch import watched

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)


class Consumer:
    """Keeps a target equal to an upstream TiDB, cut by cut.

        with Consumer(options) as consumer:
            for epoch in consumer:
                print(epoch.resolved_ts, epoch.rows)

    The loop ends after `stop`, or at the goal given to `epochs`. Entering connects to the target
    and the source, takes the changefeed over from an older consumer, writes the first checkpoint
    if there is none, and raises errors of these steps at once. Spark starts with the first cut
    that needs it; with `[spark] start = "at-once"`, an endless loop starts it together with its
    first cuts. A session passed as `spark` is not stopped at the end.
    Every error is a `TicdcError`, or the exception that `before_commit` raised; the target is then
    at a committed cut.
    """

    def __init__(
        self,
        options: Settings,
        spark: "SparkSession | None" = None,
        registry: "CollectorRegistry | None" = None,
        before_commit: BeforeCommit | None = None,
        *,
        joining: tuple[str, ...] = (),
        also_stops: Callable[[], bool] = lambda: False,
        publishes: bool = True,
    ) -> None:
        """`registry` of `prometheus_client` gets the metrics, whether or not `[metrics] listen` has
        a port for them (docs/reference/metrics.md).

        `before_commit` is called in the transaction of each cut, after its rows and before its
        COMMIT: what it executes is committed with them, or not at all. An error that it raises
        rolls the cut back, and ends the loop. It is called again if a cut is retried, and not by
        `release`.

        `joining` are rules of a wider filter, under which the changefeed will continue after this
        consumer: it leaves in the log what their tables need from R on. `also_stops` ends the loop,
        as `stop` does; it is called at least once a second. Lag monitors see the consumer's
        progress if it `publishes`.
        """
        self._before_commit = before_commit
        self.options = options
        self._registry = registry
        self._exit = ExitStack()
        self._monitor = Monitor(options.changefeed, _release(), secrets_of(options))
        self._spark = SparkStarter(
            options.spark,
            f"ticdc {options.changefeed}",
            spark,
            gives_up=lambda: self._stopping,
            report=self._monitor.has_executors,
        )
        self._recorder = ActivityRecorder(self._monitor, options)
        self._stopping = False
        self._joining = joining
        self._also_stops = also_stops
        self._publishes = publishes

    def stand_by(self) -> bool:
        """Waits, before the consumer is entered, until no other consumer of the changefeed is
        alive. Returns False if `stop` was called before."""
        with exposed(self.options, self._registry, self._monitor.look):
            return wait_for_leader_to_go(self.options, self._monitor, lambda: self._stopping)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(exposed(self.options, self._registry, self._monitor.look))
            self._recorder.begin()
            stack.push(self._record_the_end)
            opening = take_over(self.options, lambda: self._stopping, self._monitor)
            self._opened = stack.enter_context(opening)
            self.target, self.store = self._opened.target, self._opened.store
            stack.enter_context(watched(self.target))
            self._monitor.watches(lambda: self.target.asked_at)
            self._tables = TableLayouts(self.options, self.target)
            with self.store.lease.explaining():
                learn = partial(self._tables.learn, self.store.ledger)
                patiently_read(self.store, self.options, learn)
                patiently_read(self.store, self.options, self._learn_set_aside)
            stack.callback(self._spark.close)
            self._exit = stack.pop_all()
        self._log_start()
        return self

    def _learn_set_aside(self) -> None:
        self._set_aside = self.store.quarantine.tables()
        self._monitor.begins_without(self._set_aside)

    def _learn_again(self) -> None:
        """Learns the target's state after a release."""
        self._tables.learn(self.store.ledger)
        self._learn_set_aside()
        state = replace(self._opened.state, schemas=self.store.schemas())
        self._opened = replace(self._opened, state=state)

    def _log_start(self) -> None:
        state, changefeed = self._opened.state, self.options.changefeed
        begins = (
            "begins"
            if not state.resolved_ts
            else f"continues from R {with_time(state.resolved_ts)}"
        )
        logger.debug(
            "changefeed %s %s, as generation %d",
            changefeed,
            begins,
            self.store.lease.generation,
            extra={
                "event": "started",
                "changefeed": changefeed,
                "resolved_ts": state.resolved_ts,
                "generation": self.store.lease.generation,
            },
        )

    @cached_property
    def _epochs(self) -> Epochs:
        together = Together.of(self.options, self.target)
        staging, unneeded = None, Unneeded()
        if self.options.publish == "staging":
            staging = StagingJob(self.options.target_url, self.options.changefeed)
        preparer = Preparer.of(
            self.options, self._spark, self._opened, self._definitions, together, staging, unneeded
        )
        applier = ToTarget(
            self.options,
            self.target,
            self.store,
            self._tables,
            unneeded,
            self._before_commit,
            repair_beside_run,
        )
        set_aside = frozenset(table.name for table in self._set_aside)
        scope = CutScope(set_aside, joining=self._joining)
        epochs = Epochs(self.options, preparer, applier, self._tables, self._opened.state, scope)
        self._exit.callback(epochs.close)
        return epochs

    def _definitions(self) -> Definitions:
        return self._tables.for_reading()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stopping = True  # the reader ahead may wait for an executor
        self._exit.__exit__(kind, error, traceback)

    def _record_the_end(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._monitor.stopped(error if isinstance(error, Exception) else None)
        self._recorder.end()

    @property
    def activity(self) -> Activity:
        """The consumer's current activity: its stage and since when, R, the cut, the partitions,
        the last error. Any thread may call it, at any time; it costs some microseconds, and no
        query."""
        return self._monitor.look()

    @property
    def resolved_ts(self) -> int:
        """R of the target's present state."""
        started = "_epochs" in self.__dict__
        return (self._epochs if started else self._opened).state.resolved_ts

    def reaches(self, resolved_ts: int) -> bool:
        """Returns whether the target or the topics have reached `resolved_ts`, so that the loop
        need not wait."""
        return self.resolved_ts >= resolved_ts or self._epochs.greatest_mark() >= resolved_ts

    def stop(self) -> None:
        """Ends the loop after the current epoch; from any thread or signal handler."""
        self._stopping = True

    def __iter__(self) -> Iterator[Epoch]:
        return self.epochs()

    def epochs(self, until: Goal | None = None) -> Iterator[Epoch]:
        """Applies cuts and yields an epoch for each: for ever; until R is what the topics held at
        the start ("caught-up"); or until R is exactly `until`."""
        try:
            yield from self._applied(until)
        except TicdcError as error:
            self._monitor.failed(error)
            raise

    def _applied(self, until: Goal | None) -> Iterator[Epoch]:
        if isinstance(until, int) and until < self.resolved_ts:
            raise Usage(f"the target is at {self.resolved_ts} already, after {until}")
        if self._stopping:
            return
        goal = self._epochs.greatest_mark() if until == CAUGHT_UP else until
        if goal is None and self.options.spark_start == "at-once":
            self._spark.begin("beside the first cuts ([spark] start)")
        with self._verifying(goal) as require_no_drift:
            while not self._stopping and (goal is None or self.resolved_ts < goal):
                self._spark.require()
                if self._also_stops():
                    return
                require_no_drift()
                try:
                    with as_raised(), self.store.lease.explaining():
                        epoch = self._epochs.next(goal, IDLE)
                except Unavailable as error:
                    if self._stopping and (isinstance(error, Away) or self._spark.gave_up):
                        return
                    raise
                if epoch is not None:
                    yield epoch
                    failpoints.hit("publish-offsets")
                    self._commit_to_source()
        # DDL that the last cut left pending still belong to this run.
        if not self._stopping:
            with self.store.lease.explaining():
                self._epochs.finish()

    @contextmanager
    def _verifying(self, goal: int | None) -> Iterator[Callable[[], None]]:
        """Compares rows with the upstream while an endless loop runs; yields a function that raises
        once rows differ."""
        if goal is not None or self.options.verify_every is None:
            yield lambda: None
            return
        from ticdc_consumer.commands.verify.continuous import ContinuousVerification

        verification = ContinuousVerification(self.options, self._monitor)
        verification.begin()
        try:
            yield verification.require_none
        finally:
            verification.end()

    def locate(self, schema: str, table: str) -> tuple[str | None, str]:
        """Destination of an upstream table: the target's schema, None where it has none, and the
        name there."""
        return self.target.locate(*self._tables.route(schema, table))

    def ddl_done(self, entry_id: str) -> LedgerEntry:
        """Marks a pending DDL as done by an operator; `entry_id` is TS or TS:SEQ."""
        with self.store.lease.explaining():
            entry = done_by_operator(self._ddl_context, entry_id)
            self._tables.learn(self.store.ledger)
        return entry

    @property
    def _ddl_context(self) -> DdlContext:
        return DdlContext.of(self.options, self.target, self.store.ledger, self._tables.route)

    def ddl_run(self, entry_id: str, sql: str) -> LedgerEntry:
        """Runs an operator's SQL in place of a pending DDL, and marks that as done."""
        retries = self.options.retries
        with self.store.lease.explaining():
            entry = run_by_operator(self._ddl_context, self.store, entry_id, sql, retries)
            self._tables.learn(self.store.ledger)
        return entry

    def release(self, table: str) -> Iterator[Epoch]:
        """Brings a quarantined table, given by its upstream name, to R: reads its log again from
        the table's own R, and applies it cut by cut. Call it before the loop begins. After an
        interruption, call it again to continue from the last cut.

        Raises `Stop` if the table is not quarantined or its log is lost, and the errors of a run.
        """
        if "_epochs" in self.__dict__:
            raise Usage("release() must be called before the loop over epochs begins")
        with self.store.lease.explaining():
            yield from released(self.options, self._opened, table, self._spark)
            patiently_read(self.store, self.options, self._learn_again)

    def release_by_load(self, table: str) -> int:
        """Releases a table whose changes are no longer in the log, or cannot be read: copies the
        upstream's rows as of R - 1 instead, in one transaction. Returns the number of rows.

        Raises `Stop` for a table that cannot be loaded exactly, before anything is done.
        """
        from ticdc_consumer.commands.load.set_aside import load_set_aside

        waiting = named(self.store.quarantine.tables(), table)
        with self.store.lease.explaining():
            rows = load_set_aside(self.options, self.store, self._opened.state, waiting)
            patiently_read(self.store, self.options, self._learn_again)
        return rows

    def _commit_to_source(self) -> None:
        """Publishes the positions for lag monitors."""
        if not self._publishes:
            return
        positions = self._epochs.state.positions
        self._opened.source.commit(
            {partition: position.restart_offset for partition, position in positions.items()}
        )


def release(options: Settings, table: str) -> Iterator[Epoch]:
    """Calls `Consumer.release` where no consumer runs."""
    require_releasable(options, table)
    with Consumer(options) as consumer:
        yield from consumer.release(table)


def release_by_load(options: Settings, table: str) -> int:
    """Calls `Consumer.release_by_load` where no consumer runs."""
    require_releasable(options, table)
    with Consumer(options) as consumer:
        return consumer.release_by_load(table)


def _release() -> str:
    try:
        return version("ticdc-consumer")
    except PackageNotFoundError:  # run from a folder or an archive
        return "unknown"
