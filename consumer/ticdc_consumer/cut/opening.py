"""Opens what `run` and `plan` start with: target, store, source and checkpoint."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Retry, Stop, Unavailable, UnknownCommit
from ticdc_consumer.source import PATIENCE, Source, open_source
from ticdc_consumer.source.listing import LogRecord
from ticdc_consumer.source.log import (
    Gap,
    Log,
    gaps_before_snapshot,
    gaps_of_whole,
    gaps_since,
    require,
    survey,
)
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.loading import require_loaded
from ticdc_consumer.state.other_changefeeds import OtherChangefeeds
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.scope import scope_hash
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.activity.recorder import follow
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target

ASKING = "by asking the source what its log holds"
"""The activity of a start while it waits for the source."""


@dataclass(frozen=True, slots=True)
class Opened:
    """`state` is where the next cut begins; `stored` tells whether the target holds a checkpoint;
    `monitor` takes the reports of all steps."""

    target: Target
    store: Store
    source: Source
    state: Checkpoint
    stored: bool = True
    monitor: Monitor = field(default_factory=Monitor)


@contextmanager
def take_over(
    options: Settings,
    gives_up: Callable[[], bool] = lambda: False,
    monitor: Monitor | None = None,
) -> Iterator[Opened]:
    """Takes the changefeed over from an older consumer, and writes the first checkpoint if there is
    none. Raises errors that end a run at its start. `gives_up` is the lease's."""
    with (
        closing(
            open_target(
                options.target_url,
                write_source=options.write_source,
                changefeed=options.changefeed,
                publish=options.publish,
            )
        ) as target,
        closing(open_source(options)) as source,
    ):
        where = InTarget.by(options, target)
        monitor = monitor or Monitor(options.changefeed)
        store = Store(
            target, options.changefeed, options.ddl_keep_dropped, where, monitor, gives_up
        )
        with _beginning(options.changefeed):
            follow(target, monitor, options.changefeed)
            # Before the start, which would end a load in progress.
            require_loaded(target, options.changefeed)
            failpoints.hit("take-lease")
            state = store.start(options.takeover_after)
            # Visible at once: slow brokers may take minutes from here on.
            monitor.took_over(store.lease.generation)
            failpoints.hit("lease-taken")
            with store.lease.explaining():
                require_loaded(target, options.changefeed)
            if state is None:
                state = _first(options, source, store)
                store.begin_first(state)
            elif starts_afresh(options, state):
                state = store.begin_again(state, _first(options, source, store))
            else:
                with store.monitor.at("starting", ASKING):
                    _go_on(options, source, state)
                with store.lease.explaining():
                    patiently_read(store, options, lambda: _check_tables(store))
            monitor.took_over(store.lease.generation)
            monitor.has_session(target.session_id())
        yield Opened(target, store, source, state, monitor=monitor)


@contextmanager
def _beginning(changefeed: str) -> Iterator[None]:
    """Lets passing errors end a start: the run's supervisor starts it again."""
    try:
        yield
    except (Retry, UnknownCommit) as error:
        raise Unavailable(
            f"changefeed {changefeed}: it could not begin, nothing was applied; start again "
            f"({error})"
        ) from error


@contextmanager
def look(options: Settings) -> Iterator[Opened]:
    """Opens everything without taking over and without writing, even while a consumer runs. Raises
    errors that would end a run at its start."""
    with (
        closing(
            open_target(
                options.target_url,
                to_look=True,
                write_source=options.write_source,
                changefeed=options.changefeed,
                publish=options.publish,
            )
        ) as target,
        closing(open_source(options)) as source,
    ):
        store = Store(target, options.changefeed, where=InTarget.by(options, target))
        require_loaded(target, options.changefeed)
        stored = state = store.read()
        if state is None or starts_afresh(options, state):
            state = first_checkpoint(options, source)
        else:
            _go_on(options, source, state)
            _check_tables(store)
        yield Opened(target, store, source, state, stored is not None)


def starts_afresh(options: Settings, state: Checkpoint | None) -> bool:
    """Returns whether a run would write its first checkpoint: the target has none, or nothing was
    applied yet and the options differ from those of the first start."""
    if state is None:
        return True
    differs = state.scope != scope_hash(options) or options.from_ts is not None
    return state.resolved_ts == 0 and differs


def gaps(options: Settings, source: Source, state: Checkpoint | None, log: Log) -> Iterator[Gap]:
    """Yields the parts that a run would need from its start on and that the log has lost."""

    def record_at(topic_partition: TopicPartition, offset: int) -> LogRecord | None:
        return source.record_at(topic_partition, offset, PATIENCE)

    if state is not None and not starts_afresh(options, state):
        expected = source.expected(state.positions)
        yield from gaps_since(state.positions, state.resolved_ts, log, expected, record_at)
    elif options.from_ts is not None:
        yield from gaps_before_snapshot(log, options.from_ts, options.clock_skew, record_at)
    else:
        yield from gaps_of_whole(log)


def _first(options: Settings, source: Source, store: Store) -> Checkpoint:
    with store.monitor.at("starting", ASKING):
        return first_checkpoint(options, source)


def first_checkpoint(options: Settings, source: Source) -> Checkpoint:
    """Returns the checkpoint of a first start with these options. Raises `Stop` if the log does not
    reach back."""
    log = survey(source, (), PATIENCE)
    require(gaps(options, source, None, log))
    positions = {
        (topic, number): Position(topic, log.listing.topic_ids[topic], number, begin)
        for (topic, number), begin in log.begins.items()
    }
    from_ts = options.from_ts
    return Checkpoint.first(options, 0 if from_ts is None else from_ts + 1, positions)


def _check_tables(store: Store) -> None:
    """Raises `Stop` if a table that received rows may lose them, or belongs to another changefeed,
    even if no more rows come."""
    known = store.ledger.known()
    destinations = known.destinations.values()
    store.target.require_lasting([name for name in destinations if name is not None])
    OtherChangefeeds(store.target, store.changefeed, known.where).require_none_has(
        known.destinations
    )


def patiently_read(store: Store, options: Settings, read: Callable[[], None]) -> None:
    """Runs `read`, which only reads, until the target answers; in a new session if the old one was
    lost. Raises `Unavailable`, and `Fenced` if another consumer took over."""
    until_known(store, options.retries, read, happened=lambda: False)


def _go_on(options: Settings, source: Source, state: Checkpoint) -> None:
    """Raises `Stop` if the settings are not those of the checkpoint, or the log does not reach back
    to it."""
    check_settings(options, state)
    source.forget(state.resolved_ts)
    require(gaps(options, source, state, survey(source, state.positions, PATIENCE)))


def check_settings(options: Settings, state: Checkpoint) -> None:
    """Raises `Stop` for settings that differ from those that reached the checkpoint."""
    state.check_scope(options)
    from_ts = options.from_ts
    if from_ts is not None and from_ts >= state.resolved_ts:
        raise Stop(
            f"changefeed {options.changefeed} is at R = {state.resolved_ts}, before the snapshot "
            f"{from_ts}: leave from_ts out to continue from R; or, if the tables hold the rows "
            "of that snapshot, end the changefeed first by: ticdc-consumer forget CONFIG"
        )
