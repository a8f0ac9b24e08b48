"""Once more, until the outcome is known."""

import random
import time
from collections.abc import Callable

from ticdc_consumer.errors import Retry, Unavailable, UnknownCommit
from ticdc_consumer.state.store import Store

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0


def until_known(
    store: Store, retries: int, attempt: Callable[[], None], happened: Callable[[], bool]
) -> None:
    """Runs `attempt`, one transaction, again while the target refuses it for a passing reason.

    Where its COMMIT was lost, `happened` looks in a new session whether it took place: an attempt
    is never repeated blind. Raises `Unavailable` with the last cause after `retries` more.
    """
    unknown = False
    cause: Retry | UnknownCommit
    for tried in range(retries + 1):
        try:
            if tried and not unknown:
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
        if tried < retries:
            # Two that disturbed each other must not do so again in the same step.
            time.sleep(min(LONGEST_PAUSE, FIRST_PAUSE * 2**tried) * random.uniform(0.5, 1))
    doubt = "; whether it was committed shows when the consumer starts again" if unknown else ""
    raise Unavailable(f"the target refused {retries + 1} times, last: {cause}{doubt}") from cause
