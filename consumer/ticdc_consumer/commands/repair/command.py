"""`verify --repair`: asks the running consumer to repair rows, or repairs them if none runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from ticdc_consumer.commands.repair.without_run import repair_alone
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.state.repairs import RepairRequest, RepairRequests, RepairState
from ticdc_consumer.state.schema import STATE_VERSION
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.standby import Watch, signs_of
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import Deadline, patiently, sleep

PATIENCE = 300.0
"""Seconds within which a running consumer must take up a request."""
WRITE_PATIENCE = 30.0
PAUSE = 1.0


def number_of_now() -> int:
    """The number of a new request: milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def repair(options: Settings, request: RepairRequest) -> RepairState:
    """Returns the outcome once it is committed. Raises `Stop` and `Unavailable` if it was not."""
    with closing(
        open_target(options.target_url, to_look=True, changefeed=options.changefeed)
    ) as target:
        requests = RepairRequests(target, options.changefeed)
        watch, deadline = Watch(options.standby_after), Deadline(PATIENCE)

        def ended() -> bool:
            return watch.is_gone(signs_of(target, options.changefeed), time.monotonic())

        if ended():
            repair_alone(options, request)
        else:
            _require_current(target, options)
            with _requested(target, requests, request):
                _wait(options, requests, request, ended, deadline)
        state = requests.state(request.number)
        assert state is not None
        return state


def _wait(
    options: Settings,
    requests: RepairRequests,
    request: RepairRequest,
    ended: Callable[[], bool],
    deadline: Deadline,
) -> None:
    while True:
        state = requests.state(request.number)
        if state is None:
            raise Stop(
                "the request for repair is no longer in the target: was the changefeed ended?"
            )
        if state.state == "done":
            return
        if ended():
            repair_alone(options, request)
            return
        if deadline.passed:
            raise Unavailable(
                f"the consumer repaired nothing within {PATIENCE:.0f} s, and the request is "
                f"withdrawn: {state.reason or 'no cut without DDL was committed; see `why`'}"
            )
        sleep(PAUSE)


@contextmanager
def _requested(target: Target, requests: RepairRequests, request: RepairRequest) -> Iterator[None]:
    """Shows the request to consumers inside; withdraws it at the end if it is not done."""
    _write(target, lambda: requests.add(request))
    try:
        yield
    finally:
        _write(target, lambda: requests.withdraw(request.number))


def _write(target: Target, work: Callable[[], None]) -> None:
    """Runs `work` in a transaction, for which the consumer's may be in the way."""

    def attempt() -> None:
        with target.transaction():
            work()

    patiently(attempt, WRITE_PATIENCE, on=Retry)


def _require_current(target: Target, options: Settings) -> None:
    version = Store(target, options.changefeed).tables.version()
    if version is None or version.version != STATE_VERSION:
        raise Stop(
            "the running consumer is of another release than this command, and cannot repair: "
            "stop it, and repair before it starts again"
        )
