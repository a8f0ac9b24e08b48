"""Releases a quarantined table, so that it joins the others again."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.to_target import ToTarget
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.epoch import IDLE, Epoch, Epochs
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.opening import Opened, gaps, patiently_read
from ticdc_consumer.cut.read_ahead import Preparer
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.ddl.quarantined import literal_rule
from ticdc_consumer.errors import Stop
from ticdc_consumer.source import PATIENCE
from ticdc_consumer.source.log import survey
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.quarantine import SetAside, named
from ticdc_consumer.state.releasing import TableStore
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity.stored import read as activity_of
from ticdc_consumer.targets import open_target


def require_releasable(options: Settings, table: str) -> None:
    """Raises `Stop` if a consumer runs, or if the table is not quarantined: a release that cannot
    begin ends no consumer."""
    opening = open_target(options.target_url, to_look=True, changefeed=options.changefeed)
    with closing(opening) as target:
        named(Store(target, options.changefeed).quarantine.tables(), table)
        stored = activity_of(target, options.changefeed)
    if stored is not None and stored.running:
        raise Stop(
            f"a consumer of changefeed {options.changefeed} runs, as {stored.activity.who}: stop "
            "it, release the table, and start it again"
        )


def released(options: Settings, opened: Opened, table: str, spark: SparkStarter) -> Iterator[Epoch]:
    """Yields the cuts of a release, under the lease that was taken."""
    store, state = opened.store, opened.state
    tables = TableLayouts(options, opened.target)
    patiently_read(store, options, partial(tables.learn, store.ledger))
    aside: list[SetAside] = []
    patiently_read(store, options, lambda: aside.extend(store.quarantine.tables()))
    waiting = named(aside, table)
    begin = waiting.state(state)
    own_store = TableStore.of(store, waiting, state)
    if begin.resolved_ts == state.resolved_ts:
        own_store.rejoin(options.retries)
        return
    opened.source.forget(begin.resolved_ts)
    _require_log(options, opened, waiting, begin)
    firm = replace(options, quarantine=False)
    alone = replace(firm, filter=(literal_rule(*waiting.name),))
    preparer = Preparer.of(alone, spark, opened, tables.for_reading)
    scope = CutScope(released=waiting.name)
    applier = ToTarget(firm, opened.target, own_store, tables)
    with closing(Epochs(alone, preparer, applier, tables, begin, scope)) as epochs:
        while epochs.state.resolved_ts < state.resolved_ts:
            epoch = epochs.next(state.resolved_ts, IDLE)
            if epoch is not None:
                yield replace(epoch, left_out={})  # the others are left out on purpose


def _require_log(options: Settings, opened: Opened, table: SetAside, begin: Checkpoint) -> None:
    log = survey(opened.source, begin.positions, PATIENCE)
    for gap in gaps(options, opened.source, begin, log):
        raise Stop(
            f"{table.schema}.{table.table} cannot be released, because its log is lost: "
            f"{gap.subject} {gap.text}; load it: ticdc-consumer release CONFIG "
            f"{table.schema}.{table.table} --load"
        )
