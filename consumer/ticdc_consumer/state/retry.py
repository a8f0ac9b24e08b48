"""Repeats a transaction until its outcome is known.

`targets/*/errors.py` decide which errors are a `Retry`. `cut/epoch.py` repeats a whole cut.
"""

from collections.abc import Callable

from ticdc_consumer.errors import Retry, Unavailable, UnknownCommit
from ticdc_consumer.state.store import Store
from ticdc_consumer.waiting import backing_off, retried


def until_known(
    store: Store, retries: int, attempt: Callable[[], None], happened: Callable[[], bool]
) -> None:
    """Runs `attempt`, one transaction, until it succeeds: once, then up to `retries` times more.

    `attempt` raises `Retry` if the target refused it for a passing reason. After a lost COMMIT,
    `happened` asks in a new session whether it took place: an attempt is never repeated blindly.
    Raises `Unavailable` with the last cause.
    """
    unknown = False

    def once() -> None:
        nonlocal unknown
        if unknown and happened():
            return
        unknown = False
        attempt()

    def recover() -> None:
        if not unknown:
            store.recover()

    def failed(error: Exception) -> None:
        nonlocal unknown
        unknown = unknown or isinstance(error, UnknownCommit)
        store.monitor.retries(error, "commit unknown" if unknown else "target refused")

    try:
        retried(
            once,
            backing_off(retries),
            on=(Retry, UnknownCommit),
            recover=recover,
            failed=failed,
            recovered=store.monitor.recovered,
        )
    except (Retry, UnknownCommit) as cause:
        doubt = (
            "; whether the last was committed shows when the consumer starts again"
            if unknown
            else ""
        )
        raise Unavailable(
            f"the target refused {retries + 1} times, last: {cause}{doubt}"
        ) from cause
