"""Repairs rows where no consumer runs: in a separate transaction, from the upstream at R - 1."""

from contextlib import closing
from dataclasses import replace

from ticdc_consumer import failpoints
from ticdc_consumer.commands.repair.reading import read_repair
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.repair import Repair
from ticdc_consumer.ddl.touched import keys_alone
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.repairs import RepairRequest
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity import stored
from ticdc_consumer.targets import open_target


def repair_alone(options: Settings, request: RepairRequest) -> None:
    """Takes the changefeed over, as a run does, and repairs the rows at the R that the target
    holds. Raises `Stop`, without having written anything, if something prevents it."""
    with closing(
        open_target(
            options.target_url, write_source=options.write_source, changefeed=options.changefeed
        )
    ) as target:
        store = Store(target, options.changefeed, where=InTarget.by(options, target))
        last = stored.read(target, options.changefeed)
        state = store.start(options.takeover_after)
        if state is None:
            raise store.unknown()
        with store.lease.explaining():
            state.check_scope(options)
            if pending := [each for each in store.ledger.pending() if not keys_alone(each)]:
                raise Stop(f"DDL {pending[0].id} is pending: run it, and then repair")
            repair = read_repair(options, store, request, state.resolved_ts)
            if repair.put_off:
                raise Stop(f"nothing was repaired: {repair.reason}")
            _apply(options, store, state, repair, request)
        if last is not None and last.activity.stage == "stopped":
            # A standby run can then start without waiting for a sign that this one has gone.
            stored.write(target, replace(last.activity, generation=store.lease.generation))


def _apply(
    options: Settings, store: Store, state: Checkpoint, repair: Repair, request: RepairRequest
) -> None:
    def attempt() -> None:
        with store.target.transaction():
            store.lock(state)
            if store.repairs.state(request.number) is None:
                store.repairs.add(request)
            repair.write(store.target, store.repairs, state.resolved_ts)
        failpoints.hit("repair-committed")

    def happened() -> bool:
        store.reconnect()
        outcome = store.repairs.state(request.number)
        return outcome is not None and outcome.state == "done"

    until_known(store, options.retries, attempt, happened)
