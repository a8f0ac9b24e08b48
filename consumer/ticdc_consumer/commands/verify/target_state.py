"""One state of the target, with its R, as several sessions see it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from ticdc_consumer.config.options import Settings
from ticdc_consumer.ddl.touched import keys_alone
from ticdc_consumer.errors import Retry, Stop
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.known_tables import KnownTables
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target, read_back
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import Deadline, sleep

PATIENCE = 60.0
"""Seconds to wait for a pending DDL, and for a moment without a commit in which all sessions
begin."""
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class TargetState:
    """A state in which every session of `targets` sees the tables as they were at `resolved_ts`,
    until it is closed. `known` are the tables that rows went to; those `set_aside` have their own
    R. With `shared`, the first session reads no table but holds the state, in which the others
    begin again after each table: a DDL waits for the end of a transaction that has read its
    table."""

    targets: Sequence[Target]
    resolved_ts: int
    known: KnownTables
    set_aside: Sequence[SetAside] = ()
    shared: str | None = None

    def set_aside_at(self, name: TableName) -> str:
        """The reason why a table cannot be compared at R; "" if it can."""
        own = (table.resolved_ts for table in self.set_aside if table.name == name)
        resolved_ts = next(own, None)
        if not resolved_ts:
            return ""
        label = ".".join(name)
        return (
            f"it is quarantined at R {resolved_ts}: release it first by: ticdc-consumer release "
            f"CONFIG {label}; or, if rows that it has are wrong, by: ticdc-consumer release "
            f"CONFIG {label} --load"
        )

    @property
    def snapshot_ts(self) -> int:
        """The upstream's `tidb_snapshot` with the same contents."""
        return self.resolved_ts - 1

    @property
    def readers(self) -> Sequence[Target]:
        return self.targets[1:] if self.shared else self.targets

    def begin_again(self, target: Target) -> None:
        """Lets one of the `readers` see the same state in a new transaction."""
        if self.shared:
            with target.errors():
                target.execute("COMMIT").close()
                read_back(target.dialect).begin(target, self.shared)


@contextmanager
def one_state(
    options: Settings, sessions: int, *, same_scope: bool = True
) -> Iterator[TargetState]:
    """Opens the state. Without `same_scope` the changefeed may have been reached with other
    settings. Raises `Stop` if R is not set, or a DDL stays pending: the tables are then not at
    R."""
    deadline = Deadline(PATIENCE)
    while True:
        with ExitStack() as stack:
            state = _begin(options, stack, sessions, deadline, same_scope)
            if state is not None:
                yield state
                return
        sleep(_PAUSE)


def _begin(
    options: Settings, stack: ExitStack, sessions: int, deadline: Deadline, same_scope: bool
) -> TargetState | None:
    """The state; None if the sessions do not see one state, or not one at R, and there is time
    left."""

    # All open before the first begins: those that cannot share a state must begin at once.
    opened = [stack.enter_context(closing(_open(options))) for _ in range(sessions + 1)]
    first, *others = opened
    shared = _begin_one(first, None)
    if not shared:
        others = [] if shared is None else others[1:]
    for target in others:
        _begin_one(target, shared)
    targets = [first, *others]
    seen = {resolved_ts_of(options, target, same_scope) for target in targets}
    store = Store(first, options.changefeed, where=InTarget.by(options, first))
    pending = [entry for entry in store.ledger.pending() if not keys_alone(entry)]
    if len(seen) == 1 and not pending:
        set_aside = store.quarantine.tables()
        return TargetState(targets, seen.pop(), store.ledger.known(), set_aside, shared)
    if deadline.passed:
        raise _unsettled(pending)
    return None


def _open(options: Settings) -> Target:
    return open_target(options.target_url, to_look=True, changefeed=options.changefeed)


def _begin_one(target: Target, state: str | None) -> str | None:
    with target.errors():
        return read_back(target.dialect).begin(target, state)


def resolved_ts_of(options: Settings, target: Target, same_scope: bool) -> int:
    """R of the changefeed. Raises `Stop` if it is not set, or was reached with other settings."""
    store = Store(target, options.changefeed, where=InTarget.by(options, target))
    checkpoint = store.read()
    if checkpoint is None:
        raise store.unknown()
    if not checkpoint.resolved_ts:
        raise Stop(
            f"changefeed {options.changefeed} has no R yet: its tables are not loaded; `status` "
            "shows what the consumer is doing"
        )
    if same_scope:
        checkpoint.check_scope(options)
    return checkpoint.resolved_ts


def _unsettled(pending: Sequence[LedgerEntry]) -> Exception:
    if pending:
        return Stop(
            f"DDL {pending[0].id} is pending: the tables are as they were before it, not at R; "
            "`why` shows what it waits for"
        )
    return Retry(
        "the target's sessions do not see the same state, because it is written to too often"
    )


def ddl_since(options: Settings, resolved_ts: int) -> str:
    """The first DDL, if any, that the target has entered since `resolved_ts`: a table that such a
    DDL changes no longer reads as before."""
    with closing(
        open_target(options.target_url, to_look=True, changefeed=options.changefeed)
    ) as target:
        store = Store(target, options.changefeed, where=InTarget.by(options, target))
        since = [each.id for each in store.ledger.entries() if each.commit_ts >= resolved_ts]
    return since[0] if since else ""
