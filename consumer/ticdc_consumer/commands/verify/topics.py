"""`verify --topics`: the target compared with its own topics, replayed into a SQLite file.

The replay is a changefeed with another name and the same settings, from the beginning of the log,
or from a snapshot. By the promise both are the upstream at R, wherever they began. It reads up to
the target's R while the target continues; then the target's state is held, and the replay catches
up.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.verify.against import Both, Names
from ticdc_consumer.commands.verify.report import TableReport
from ticdc_consumer.commands.verify.target_state import one_state, resolved_ts_of
from ticdc_consumer.commands.verify.verification import Request
from ticdc_consumer.config.options import Settings
from ticdc_consumer.ddl.quarantined import literal_rule
from ticdc_consumer.errors import Stop
from ticdc_consumer.source import PATIENCE, open_source
from ticdc_consumer.source.log import gaps_of_whole, require, survey
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.targets import open_target
from ticdc_consumer.upstream.origin import origin_of

FREE_ROUNDS = 2
"""Times that the replay is brought to the target's R before that is held: each round leaves
less."""
SNAPSHOT = (
    "begin from a snapshot: --at TS, a timestamp below R that the upstream still has, or [source] "
    "dump"
)
NAMES = Names(
    "the target",
    "the replay",
    "the replay",
    lacks=f"does not have it, since the topics hold no CREATE TABLE of it: {SNAPSHOT}",
)


Watching = Callable[[Callable[[], Activity]], AbstractContextManager[object]]
"""Opens a context for the run of a consumer, given a function that returns its activity."""


@dataclass(frozen=True, slots=True)
class Replaying:
    """Functions of the replay: `load` copies a snapshot, `replay` brings a changefeed to R; only
    its target learns of either. `at`: the snapshot's timestamp."""

    load: Callable[[Settings, int], object]
    replay: Callable[[Settings, int], object]
    at: int | None = None


def verify_topics(
    options: Settings, request: Request, replaying: Replaying
) -> Iterator[TableReport]:
    """Yields a report of each table that the target or the replay has. Raises `Stop` if the topics
    do not give the target's tables, or SQLite cannot hold them."""
    with TemporaryDirectory(prefix="ticdc-verify-") as folder:
        resolved_ts, left_out = _now(options)
        scratch = _scratch(options, Path(folder, "replay.db"), left_out)
        _begin(scratch, resolved_ts, replaying)
        for _ in range(FREE_ROUNDS):
            _bring(scratch, resolved_ts, replaying)
            resolved_ts, _ = _now(options)
        with one_state(options, 1) as mine:
            _bring(scratch, mine.resolved_ts, replaying)
            with one_state(scratch, 1) as others:
                yield from Both(options, scratch, mine, others, NAMES).reports(request)


def _now(options: Settings) -> tuple[int, list[str]]:
    """The target's R, and the rules that leave out the tables that are not at R."""
    opening = open_target(options.target_url, to_look=True, changefeed=options.changefeed)
    with closing(opening) as target:
        resolved_ts = resolved_ts_of(options, target, same_scope=True)
        set_aside = Store(target, options.changefeed).quarantine.tables()
    return resolved_ts, [f"!{literal_rule(*table.name)}" for table in set_aside]


def _scratch(options: Settings, file: Path, left_out: list[str]) -> Settings:
    """The settings for the same changes, into a file in which each upstream table has its own."""
    return replace(
        options,
        changefeed=f"{options.changefeed}-replay",
        target_url=f"sqlite:///{file}",
        filter=(*options.filter, *left_out),
        route={"*.*": 'replay."{schema}.{table}"'},
        merge={},
        from_ts=None,
        apply="net",
        publish="driver",
        on_drift="stop",
        write_source=None,
        quarantine=False,
        verify_every=None,
        metrics_listen=None,
    )


def _begin(scratch: Settings, resolved_ts: int, replaying: Replaying) -> None:
    if replaying.at is None and scratch.dump_url is None:
        with closing(open_source(scratch)) as source:
            require(gaps_of_whole(survey(source, (), PATIENCE), SNAPSHOT))
        return
    snapshot_ts = origin_of(scratch).require(replaying.at)
    assert snapshot_ts is not None  # from a dump, or passed
    if snapshot_ts >= resolved_ts:
        raise Stop(
            f"the snapshot {with_time(snapshot_ts)} is not below the target's R, "
            f"{with_time(resolved_ts)}: give an older one by --at TS"
        )
    replaying.load(scratch, snapshot_ts)


def _bring(scratch: Settings, resolved_ts: int, replaying: Replaying) -> None:
    try:
        replaying.replay(scratch, resolved_ts)
    except Stop as refusal:
        raise Stop(
            f"the topics cannot be replayed into SQLite: {refusal}; if the missing changes are "
            f"older than the topics, {SNAPSHOT}; else verify without --topics"
        ) from refusal
