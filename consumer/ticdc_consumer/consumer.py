"""The loop, and the face for embedding."""

import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Literal, Self

from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka import Message as KafkaMessage
from pyspark.sql import SparkSession
from ticdc_encoder.tso import physical

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Options
from ticdc_consumer.ddl.manual import done_by_operator, run_by_operator
from ticdc_consumer.dry_run import DryRun, PlannedCut
from ticdc_consumer.epoch import Epoch, Epochs, ToTarget
from ticdc_consumer.errors import Stop, Unavailable, Usage
from ticdc_consumer.layouts import TableLayouts
from ticdc_consumer.plan import Place
from ticdc_consumer.reader import PATIENCE, Reader
from ticdc_consumer.source.kafka.brokers import Cluster, Listing, consumer_settings
from ticdc_consumer.source.storage.source import StorageSource
from ticdc_consumer.spark.session import session, stop, warm_up
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.ledger import LedgerEntry, LedgerInMemory
from ticdc_consumer.state.scope import scope_hash
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target

IDLE = 1.0
"""Seconds that a quiet topic is waited for before the loop looks up."""

CAUGHT_UP: Literal["caught-up"] = "caught-up"


class Consumer:
    """Keeps a target equal to an upstream TiDB, cut by cut.

        with Consumer(options) as consumer:
            for epoch in consumer:
                print(epoch.resolved_ts, epoch.rows)

    The loop ends by `stop`, or where `epochs` was told to. Entering connects to the target, the
    brokers and Spark (a `spark` that is given is not stopped at the end), takes the changefeed over
    from an older consumer, and writes the first checkpoint if there is none. Whatever is raised is
    a `TicdcError`; the target then stands at a committed cut.
    """

    def __init__(self, options: Options, spark: SparkSession | None = None) -> None:
        self.options = options
        self._given = spark
        self._exit = ExitStack()
        self._stopping = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.target = open_target(self.options.target_url)
            stack.callback(self.target.close)
            self.store = Store(self.target, self.options.changefeed, self.options.ddl_keep_dropped)
            self._cluster = _open(self.options)
            stack.callback(self._cluster.close)
            failpoints.hit("S0")
            state = self.store.start(self.options.takeover_after)
            failpoints.hit("S1")
            if state is None:
                state = self._begin()
            elif self._begins_otherwise(state):
                state = self.store.begin_again(state, self._first())
            else:
                self._check_settings(state)
                if isinstance(self._cluster, StorageSource):
                    self._cluster.forget(state.resolved_ts)
                self._check_log(state)
            if self._given is None:
                self.spark = session(self.options.spark, f"ticdc {self.options.changefeed}")
                stack.callback(stop, self.spark)
                if not self._stopping:
                    warm_up(self.spark)
            else:
                self.spark = self._given
            tables = TableLayouts(self.options, self.target)
            tables.learn(self.store.ledger)
            reader = Reader(
                self.options,
                self.spark,
                self._cluster,
                lambda: tables.definitions,
                state.schemas.values(),
            )
            stack.callback(reader.close)
            self._tables = tables
            self._reader = reader
            applier = ToTarget(self.options, self.target, self.store, tables)
            self._epochs = Epochs(self.options, reader, applier, tables, state)
            stack.callback(self._epochs.close)
            self._exit = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._exit.close()

    @property
    def resolved_ts(self) -> int:
        """R: what the target holds now."""
        return self._epochs.state.resolved_ts

    def stop(self) -> None:
        """Ends the loop after the epoch that is under way; from any thread or signal handler."""
        self._stopping = True

    def __iter__(self) -> Iterator[Epoch]:
        return self.epochs()

    def epochs(self, until: Literal["caught-up"] | int | None = None) -> Iterator[Epoch]:
        """Applies cuts and tells each: for ever; until R is what the topics held at the start
        ("caught-up"); or until R is exactly `until`."""
        self._epochs.wait_for_reading()
        goal = self._held() if until == CAUGHT_UP else until
        if isinstance(until, int) and until <= self.resolved_ts and until != self.resolved_ts:
            raise Usage(f"the target stands at {self.resolved_ts} already, after {until}")
        while not self._stopping and (goal is None or self.resolved_ts < goal):
            epoch = self._epochs.next(goal, IDLE)
            if epoch is not None:
                yield epoch
                failpoints.hit("S15")
                self._tell_kafka()
        # What the last cut left pending is still this run's to do.
        if not self._stopping:
            self._epochs.run_pending()

    def plan(
        self, until: Literal["caught-up"] | int = CAUGHT_UP, *, sql: bool = False
    ) -> Iterator[PlannedCut]:
        """What the next cuts would do; of a consumer that is *not* entered, also beside one that
        runs. Raises what would end the run, after what would come before it. With `sql`, small
        cuts tell the statements for their rows."""
        with ExitStack() as stack:
            target = open_target(self.options.target_url, to_look=True)
            stack.callback(target.close)
            store = Store(target, self.options.changefeed)
            self._cluster = _open(self.options)
            stack.callback(self._cluster.close)
            stored = store.read()
            if stored is None or self._begins_otherwise(stored):
                state = self._first()
            else:
                state = stored
                self._check_settings(state)
                if isinstance(self._cluster, StorageSource):
                    self._cluster.forget(state.resolved_ts)
                self._check_log(state)
            self.spark = self._given or session(self.options.spark, "ticdc plan")
            if self._given is None:
                stack.callback(stop, self.spark)
            options = replace(self.options, apply="net")
            tables = TableLayouts(self.options, target)
            reader = Reader(
                options,
                self.spark,
                self._cluster,
                lambda: tables.definitions,
                state.schemas.values(),
            )
            stack.callback(reader.close)
            ledger = LedgerInMemory(self.options.changefeed, self.options.ddl_keep_dropped)
            if stored is not None:
                ledger.copy_from(store.ledger)
            self._reader = reader
            dry = DryRun(options, reader, target, ledger, tables, state, sql=sql)
            self._epochs = dry.epochs
            stack.callback(dry.close)
            held = self._held()
            yield from _planned(dry, held if until == CAUGHT_UP else min(until, held))

    def ddl_done(self, entry_id: str) -> LedgerEntry:
        """Marks a pending DDL as done by an operator; `entry_id` is TS or TS:SEQ."""
        return self._noted(done_by_operator(self.target, self.store.ledger, entry_id))

    def ddl_run(self, entry_id: str, sql: str) -> LedgerEntry:
        """Runs an operator's SQL in place of a pending DDL, and marks that done."""
        retries = self.options.retries
        entry = run_by_operator(self.target, self.store, entry_id, sql, retries)
        self.store.reconnect()  # what the SQL set for its session ends with it
        return self._noted(entry)

    def _noted(self, entry: LedgerEntry) -> LedgerEntry:
        self._tables.learn(self.store.ledger)
        return entry

    def _held(self) -> int:
        """The greatest resolved ts that the topics hold now."""
        listing = self._cluster.list_patiently((), PATIENCE)
        state = self._epochs.state
        scout = self._reader.scout
        scout.follow(
            {
                topic: state.positions[topic, 0].restart_offset
                if (topic, 0) in state.positions
                else 0
                for topic in listing.topics
            }
        )
        heads = {topic: listing.ends[topic, 0] for topic in listing.topics}
        scout.read_to(1 << 64, heads, PATIENCE)
        if not state.mark_time:
            scout.require_marks(0.0, lambda: listing)
        marks = [mark.resolved_ts for mark in scout.marks]
        return max([state.resolved_ts, *marks])

    def _begin(self) -> Checkpoint:
        first = self._first()
        self.store.begin_first(first)
        return first

    def _begins_otherwise(self, state: Checkpoint) -> bool:
        """Whether nothing was applied yet, and the first start was told something else."""
        told = state.scope != scope_hash(self.options) or self.options.from_ts is not None
        return state.resolved_ts == 0 and told

    def _check_settings(self, state: Checkpoint) -> None:
        """Raises `Stop` for settings that the checkpoint was not reached with."""
        state.check_scope(self.options)
        from_ts = self.options.from_ts
        if from_ts is not None and from_ts >= state.resolved_ts:
            raise Stop(
                f"changefeed {self.options.changefeed} stands at R = {state.resolved_ts}, before "
                f"the snapshot {from_ts}: leave from_ts out to go on from R; or, if the tables "
                "were loaded anew, start under another `changefeed` name"
            )

    def _first(self) -> Checkpoint:
        """The first checkpoint of a changefeed. Raises `Stop` where the log cannot be complete."""
        listing = self._cluster.list_patiently((), PATIENCE)
        begins = self._cluster.begins(listing.ends)
        from_ts = self.options.from_ts
        if from_ts is None:
            for (topic, number), begin in sorted(begins.items()):
                if begin > 0:
                    raise Stop(
                        f"{topic}[{number}] begins at offset {begin}: the log is not whole; load a "
                        "snapshot and start with --from-ts TS"
                    )
        else:
            self._check_reaches_back(begins, listing, from_ts)
        positions = {
            place: Position(place[0], listing.topic_ids[place[0]], place[1], begin)
            for place, begin in begins.items()
        }
        return Checkpoint.first(self.options, 0 if from_ts is None else from_ts + 1, positions)

    def _check_reaches_back(
        self, begins: Mapping[Place, int], listing: Listing, from_ts: int
    ) -> None:
        """Each partition's log must begin before the snapshot, by the clock of Kafka."""
        bound = physical(from_ts) - self.options.clock_skew * 1000
        for (topic, number), begin in sorted(begins.items()):
            if begin == 0:
                continue
            place = f"{topic}[{number}]"
            if begin >= listing.ends[topic, number]:
                raise Stop(f"{place} retains nothing: what was cut off may be later than {from_ts}")
            record = self._record(topic, number, begin)
            if record.timestamp()[1] >= bound:
                raise Stop(
                    f"{place} begins at offset {begin}, whose record is not older than the "
                    f"snapshot {from_ts} by limits.clock_skew: rows may be lost; load a newer one"
                )

    def _check_log(self, state: Checkpoint) -> None:
        """The log must still hold what the checkpoint goes on from. Raises `Stop`."""
        listing = self._cluster.list_patiently(state.positions, PATIENCE)
        begins = self._cluster.begins(state.positions)
        for place, position in sorted(state.positions.items()):
            if place not in listing.ends:
                continue  # of a storage, and settled
            topic, number = place
            begin, end = begins[place], listing.ends[place]
            if position.topic_id and listing.topic_ids[topic] not in ("", position.topic_id):
                raise Stop(
                    f"topic {topic} was deleted and created again: its offsets mean nothing any "
                    "more; load a new snapshot and start another changefeed from it"
                )
            if begin > position.restart_offset:
                raise Stop(
                    f"{topic}[{number}]: the next cut begins at offset {position.restart_offset}, "
                    f"but the log begins at {begin}: retention has cut off what was not applied; "
                    f"R is {state.resolved_ts}; load a new snapshot and start from it"
                )
            if end < position.restart_offset:
                raise Stop(
                    f"{topic}[{number}] ends at offset {end}, before {position.restart_offset}, "
                    "where the next cut begins: its log was truncated, or the topic created again"
                )
            if not (position.topic_id and listing.topic_ids[topic]):
                self._check_mark(position, begin, end)

    def _check_mark(self, position: Position, begin: int, end: int) -> None:
        """Where brokers give no topic ids, the last mark read tells a topic that was re-created."""
        offset = position.mark_offset
        if offset is None or offset < begin:
            return
        record = self._record(position.topic, position.partition, offset) if offset < end else None
        if record is None or record.offset() != offset or _crc(record) != position.mark_crc:
            raise Stop(
                f"{position.topic}[{position.partition}] offset {offset} is not the resolved "
                "message that was read there: the topic was deleted and created again"
            )

    def _record(self, topic: str, number: int, offset: int) -> KafkaMessage:
        """The first record at or after an offset."""
        consumer = KafkaConsumer(consumer_settings(self.options.kafka))
        deadline = time.monotonic() + PATIENCE
        try:
            consumer.assign([TopicPartition(topic, number, offset)])
            while time.monotonic() < deadline:
                record = consumer.poll(0.2)
                if record is not None and record.error() is None:
                    return record
            raise Unavailable(f"{topic}[{number}] does not give offset {offset}")
        finally:
            consumer.close()

    def _tell_kafka(self) -> None:
        """The group's offsets, for lag monitors; nothing reads them, so nothing fails by them."""
        try:
            self._reader.scout.commit(
                {place: p.restart_offset for place, p in self._epochs.state.positions.items()}
            )
        except KafkaException as error:
            if error.args[0].code() == KafkaError._FATAL:
                raise Unavailable(f"Kafka: {error.args[0].str()}") from error


def _planned(dry: DryRun, goal: int) -> Iterator[PlannedCut]:
    begin = dry.resolved_ts
    ddls, stopped = dry.pending()
    if ddls:
        yield PlannedCut(begin, begin, {}, ddls)
    while stopped is None and dry.resolved_ts < goal:
        cut, stopped = dry.plan(goal)
        if cut is None:
            return
        yield cut
    if stopped is not None:
        raise stopped


def _open(options: Options) -> Cluster | StorageSource:
    """What lists the places that the changes come from."""
    if options.storage_url is not None:
        return StorageSource(options)
    return Cluster(options.kafka, options.topics)


def _crc(record: KafkaMessage) -> int:
    return zlib.crc32((record.key() or b"") + (record.value() or b""))
