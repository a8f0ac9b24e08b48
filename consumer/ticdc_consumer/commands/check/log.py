"""Checks that a run could continue from the checkpoint, or begin without one."""

from collections.abc import Iterator

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, fail, ok, warn
from ticdc_consumer.cut.opening import check_settings, gaps, starts_afresh
from ticdc_consumer.source.log import Log
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.store import Store
from ticdc_consumer.waiting import patiently

PATIENCE = 2.0
"""Seconds that the source may take: an operator waits."""


def log(premises: Premises) -> Iterator[Finding]:
    """Checks that the log reaches back to the start of a run."""
    source, options = premises.source, premises.options
    if source is None or premises.listing is None or premises.target is None:
        return
    # The checkpoint comes first: a running consumer moves both it and the ends of the log.
    state = premises.read_checkpoint()
    if state is not None:
        source.forget(state.resolved_ts)
    listing = patiently(source.list, PATIENCE, (TicdcError,))
    log = Log(listing, source.begins(listing.ends))
    wrong = set()
    for gap in gaps(options, source, state, log):
        wrong.add(gap.topic_partition)
        yield fail(gap.subject, gap.text, gap.exit_code)
    if state is not None and not starts_afresh(options, state):
        yield from _after_checkpoint(state, log, len(set(state.positions) - wrong))
        yield from _of_set_aside(premises, state, log)
        return
    if not wrong:
        yield (
            ok("log", "complete from offset 0: a first start without a snapshot is possible")
            if options.from_ts is None
            else ok("log", f"reaches back to the snapshot of {with_time(options.from_ts)}")
        )
    if options.from_ts is not None:
        yield warn(
            "log",
            "does not show whether the changefeed began at or before the snapshot: compare its "
            "start-ts, or the first resolved ts above, with the snapshot",
        )


def _after_checkpoint(state: Checkpoint, log: Log, good: int) -> Iterator[Finding]:
    if good:
        yield ok("log", f"reaches back to the checkpoint in {counted(good, 'partition')}")
    if joining := len(set(log.listing.ends) - set(state.positions)):
        yield ok("log", f"{counted(joining, 'new partition')} since the checkpoint")


def _of_set_aside(premises: Premises, state: Checkpoint, log: Log) -> Iterator[Finding]:
    """Checks the log of quarantined tables, from their own R on."""
    source, options, target = premises.source, premises.options, premises.target
    if source is None or target is None:
        return
    for table in Store(target, options.changefeed).quarantine.tables():
        for gap in gaps(options, source, table.state(state), log):
            yield warn(gap.subject, f"{'.'.join(table.name)} cannot be released: {gap.text}")


def scope(premises: Premises) -> Iterator[Finding]:
    """Checks the settings that give R its meaning: topics, filter, routes, protocol and time
    zone."""
    state = premises.checkpoint
    if state is None or starts_afresh(premises.options, state):
        return
    check_settings(premises.options, state)
    yield ok("scope", "topics, filter, routes, protocol and time zone match the checkpoint's")
