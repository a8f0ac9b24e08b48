"""Repeats a transaction until its outcome is known."""

import random
import time
from collections.abc import Callable

from ticdc_consumer.errors import Retry, Unavailable, UnknownCommit
from ticdc_consumer.state.store import Store

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0


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
            return
        except UnknownCommit as error:
            unknown, cause = True, error
        except Retry as error:
            cause = error
        if attempts < retries:
            # Two consumers that disturbed each other must not try again at the same moment.
            time.sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempts) * random.uniform(0.5, 1))
    doubt = (
        "; whether the last was committed shows when the consumer starts again" if unknown else ""
    )
    raise Unavailable(f"the target refused {retries + 1} times, last: {cause}{doubt}") from cause
