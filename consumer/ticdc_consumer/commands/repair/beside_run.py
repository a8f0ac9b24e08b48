"""The rows of a repair that waits while a run applies cuts."""

from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.repair import Repair
from ticdc_consumer.errors import UPSTREAM_DRIVER
from ticdc_consumer.state.repairs import RepairRequest
from ticdc_consumer.state.store import Store


def repair_beside_run(options: Settings, store: Store, request: RepairRequest, end: int) -> Repair:
    """Calls `read_repair`, imported only once a request waits: few runs need the upstream's driver.
    Puts the request off if that is not installed."""
    try:
        from ticdc_consumer.commands.repair.reading import read_repair
    except ModuleNotFoundError as error:
        return Repair(request.number).refused(f"{error.name} is not installed: {UPSTREAM_DRIVER}")
    return read_repair(options, store, request, end)
