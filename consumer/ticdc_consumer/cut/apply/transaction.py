"""A net change and its checkpoint -> one transaction of the target."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

import pyarrow as pa

from ticdc_consumer import failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.before_commit import UncommittedCut, call, require_intact
from ticdc_consumer.cut.apply.counts import Applied, Counts
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.reconcile.net_change import NetChange, NoChange
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.errors import LOAD_ANEW, KeyTaken, StagedRowsLost, Stop, about
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.not_held import holdable
from ticdc_consumer.targets.staging import STAGING_TABLE
from ticdc_consumer.targets.target import Target


def apply(
    context: DdlContext, store: Store, step: Step, change: NetChange, options: Settings
) -> Applied:
    """Moves the tables and the checkpoint one step, both or neither.

    Transactional DDL runs here, too; DDL that cannot, and all DDL elsewhere, is pending afterwards:
    see `ddl.run.run_pending`. Raises `ddl.run.Unshared`. A repair that the target refuses is left
    out and postponed.
    """
    try:
        return _apply(context, store, step, change, options)
    except Stop as refusal:
        if step.repair is None or step.repair.put_off:
            raise
        step = replace(step, repair=step.repair.refused(str(refusal)))
        return _apply(context, store, step, change, options)


def _apply(
    context: DdlContext, store: Store, step: Step, change: NetChange, options: Settings
) -> Applied:
    applied = Applied()
    target = context.target
    store.monitor.loads(applied.rows)

    def attempt() -> None:
        applied.tables.clear()
        _complete(target, change)
        with target.transaction():
            failpoints.hit("begin")
            store.lock(step.old)
            failpoints.hit("fenced")
            if step.repair is not None:
                step.repair.delete(target)
            _write(target, change, options, applied, step)
            if step.repair is not None:
                step.repair.write(target, store.repairs, step.new.resolved_ts)
            step.record_tables(context.ledger)
            store.quarantine.count(step.waiting)
            failpoints.hit("run-ddl")
            ddl.run_in_cut(context, step.entries)
            failpoints.hit("write-checkpoint")
            store.write(step.old, step.new)
            _call(step, applied, store, target)
            failpoints.hit("commit")
        failpoints.hit("committed")

    until_known(
        store,
        options.retries,
        attempt,
        happened=lambda: store.resolve_unknown(step.old, step.new) == "new",
    )
    return applied


def _call(step: Step, applied: Applied, store: Store, target: Target) -> None:
    """Calls the program after our own writes: whatever it does, rows and checkpoint stay
    together."""
    if step.before_commit is None:
        return
    cut = UncommittedCut(step.old.resolved_ts, step.new.resolved_ts, dict(applied.tables), target)
    call(step.before_commit, cut, target)
    require_intact(store, step.new)


def _write(
    target: Target, change: NetChange, options: Settings, applied: Applied, step: Step
) -> None:
    """Deletes over all tables first, then writes all rows: the final rows satisfy every unique key
    among themselves, so only a stale row of the same cut can be in their way. Copies get the same
    but are not counted: they hold only a part of the upstream's rows."""
    for table, keys in change.deletes():
        failpoints.hit("delete-rows")
        layout, *copies = step.with_copy(change.layouts[table])
        with _writing(target, layout):
            counts = applied.of(layout)
            for copy in copies:
                target.delete(copy, keys)
            if layout.key:
                counts.add(deleted=target.delete(layout, keys))
            else:
                _delete_rows(target, layout, keys, options, counts)
    for table, rows in change.rows():
        failpoints.hit("write-rows")
        layout, *copies = step.with_copy(change.layouts[table])
        with _writing(target, layout):
            counts = applied.of(layout)
            for copy in copies:
                target.insert(copy, rows, "stop")
            cleared = target.insert(layout, rows, options.on_drift)
            counts.add(upserted=len(rows), cleared=cleared)
    for staged in change.staged:
        failpoints.hit("stage-publish")
        layout, *copies = step.with_copy(change.layouts[staged.table])
        with _writing(target, layout):
            counts = applied.of(layout)
            for copy in copies:
                target.publish(copy, staged.name, "stop")
            cleared = target.publish(layout, staged.name, options.on_drift)
            counts.add(upserted=staged.count, cleared=cleared)


@contextmanager
def _writing(target: Target, layout: Layout) -> Iterator[None]:
    """Ties errors raised inside to this table, with advice."""
    with about((layout.schema, layout.table)):
        try:
            with target.errors(layout):
                yield
        except KeyTaken as refusal:
            way = _ALTER if layout.exact else _REPAIR
            raise KeyTaken(f"{refusal}: {way.format(name=layout.name)}") from refusal


_REPAIR = (
    "if the upstream has no such unique key, drop it in the target, then start again; else the "
    "target's rows differed from the upstream's before this cut: repair them by: ticdc-consumer "
    "verify CONFIG --repair --table {name}, then start again"
)
_ALTER = (
    "the rule same-collations assumes that this cannot happen. Give the key's columns a "
    "collation that compares bytes (utf8mb4_bin), leave the rule out, and repair the rows by: "
    "ticdc-consumer verify CONFIG --repair --table {name}, then start again"
)


def _complete(target: Target, change: NetChange) -> None:
    """Removes superseded rows from the staging tables, and raises `StagedRowsLost` unless they hold
    all of the net change. A server that restarts may lose their rows, but only with this session:
    rows present now are present in the transaction that follows."""
    if not change.staged:
        return
    failpoints.hit("stages-complete")
    names = [staged.name for staged in change.staged]
    missing = set(names) - set(target.staging_tables(STAGING_TABLE))
    for staged in change.staged:
        layout = change.layouts[staged.table]
        if staged.name in missing or (
            target.trim(layout, staged.name, staged.superseded) != staged.count
        ):
            raise StagedRowsLost(f"{layout.name}: the target lost rows that tasks had staged")


def _delete_rows(
    target: Target, layout: Layout, rows: pa.BinaryArray, options: Settings, counts: Counts
) -> None:
    rows = holdable(rows)
    deleted = target.delete_rows(layout, rows) if len(rows) else 0
    missing = len(rows) - deleted
    if missing and options.on_drift == "stop":
        raise Stop(
            f"{layout.name}: {missing} of {len(rows)} rows to be deleted do not exist: the table "
            "has drifted, or a DELETE was sent twice, which cannot be recognised in a table "
            f"without a key; {LOAD_ANEW}"
        )
    counts.add(deleted=deleted, missing=missing)


def apply_groups(
    context: DdlContext,
    store: Store,
    step: Step,
    groups: Iterable[tuple[int, NetChange]],
    options: Settings,
) -> Applied:
    """Applies the same step in one transaction per commit_ts, `groups` in ascending order.

    Each but the last ends at its commit_ts + 1, with the offsets from which the cut started; the
    last, also without groups, writes `new` and the DDL. A group is applied after the next one is
    taken from the iterator.
    """
    applied = Applied()
    old, new = step.old, step.new
    started = _started(old, new)
    before, change = old, cast(NetChange, NoChange())
    end = old.resolved_ts
    for commit_ts, following in groups:
        if not end <= commit_ts < new.resolved_ts:
            raise ValueError(f"the group of commit_ts {commit_ts} is not in the rest of its cut")
        if end > old.resolved_ts:
            after = replace(started, resolved_ts=end)
            part = replace(step, old=before, new=after, entries=(), repair=None)
            applied.add(apply(context, store, part, change, options))
            before, step = (
                after,
                replace(
                    step, seen=(), declared=(), newcomers=(), waiting=dict.fromkeys(step.waiting, 0)
                ),
            )
        end, change = commit_ts + 1, following
    applied.add(apply(context, store, replace(step, old=before), change, options))
    return applied


def _started(old: Checkpoint, new: Checkpoint) -> Checkpoint:
    """Returns the start of the cut, proven by its own mark: partitions that joined it begin at
    0."""
    positions = {
        topic_partition: old.positions.get(
            topic_partition, replace(position, restart_offset=0, mark_offset=None, mark_crc=None)
        )
        for topic_partition, position in new.positions.items()
    }
    return replace(old, mark_time=new.mark_time, positions=positions)
