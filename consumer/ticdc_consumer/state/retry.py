"""Repeats a transaction until its outcome is known.

`targets/*/errors.py` decide which errors are a `Retry`. `cut/epoch.py` repeats a whole cut.
"""

from collections.abc import Callable

from ticdc_consumer.errors import Retry, Unavailable, UnknownCommit
from ticdc_consumer.state.store import Store
from ticdc_consumer.waiting import back_off


def until_known(
    store: Store, retries: int, attempt: Callable[[], None], happened: Callable[[], bool]
) -> None:
    """Runs `attempt`, one transaction, until it succeeds: once, and up to `retries` times more.

    `Retry` is raised by an attempt that the target refused for a passing reason. If a COMMIT was
    lost, `happened` asks in a new session whether it took place: an attempt is never repeated
    blind. Raises `Unavailable` with the last cause.
    """
    unknown = False
    cause: Retry | UnknownCommit
    for attempts in range(retries + 1):
        try:
            if attempts and not unknown:
                store.recover()
            if unknown and happened():
                return
            unknown = False
            attempt()
            if attempts:
                store.monitor.recovered()
            return
        except UnknownCommit as error:
            unknown, cause = True, error
        except Retry as error:
            cause = error
        store.monitor.retries(cause, "commit unknown" if unknown else "target refused")
        if attempts < retries:
            back_off(attempts)
    doubt = (
        "; whether the last was committed shows when the consumer starts again" if unknown else ""
    )
    raise Unavailable(f"the target refused {retries + 1} times, last: {cause}{doubt}") from cause
