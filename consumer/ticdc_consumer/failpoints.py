"""Named steps at which a test lets a run die: `TICDC_FAILPOINT=STEP:ACTION[:N]`.

`STEPS` names them, in the order in which a run meets them; those of a cut are the steps that
`cut.epoch` describes.
"""

import os
import signal
import time
from collections import Counter

STEPS = {
    # the start
    "take-lease": "before older consumers are refused",
    "lease-taken": "before the source is compared with the checkpoint",
    # a cut, in the driver; "decode" in a task
    "plan": "before marks and DDL are read",
    "end-chosen": "after the end of the cut was chosen",
    "read": "before its rows are read",
    "decode": "before a task decodes its messages",
    "apply": "before the net change is applied",
    "begin": "after BEGIN",
    "fenced": "after the checkpoint was locked and found to be this consumer's",
    "delete-rows": "before the deletes of each table",
    "write-rows": "before the rows of each table",
    "run-ddl": "after all rows, before the DDL of the cut",
    "write-checkpoint": "after its DDL, before the checkpoint",
    "commit": "before COMMIT",
    "committed": "after COMMIT",
    "cut-ended": "after its pending DDL are done and what is unneeded was dropped",
    "publish-offsets": "before the offsets are committed to Kafka, for lag monitors",
    # rows that tasks stage in the target
    "stage-create": "before a task creates a staging table",
    "stage-filled": "after the staging table has its rows",
    "stages-complete": "before the transaction of the cut, which needs all staging tables",
    "stage-publish": "in the transaction, before the rows of each staging table",
    "stages-dropped": "after the staging tables that no cut needs were dropped",
    # a DDL
    "ddl-begun": "after the ledger holds that it is begun, if it commits by itself",
    "ddl-statement": "before each of its statements",
    "ddl-statement-ran": "after each of its statements",
    "ddl-mark-done": "before a pending one is marked as done",
    "ddl-commit": "before that is committed",
    "ddl-committed": "after that was committed",
    "refill-commit": "before the COMMIT of a chunk of a table that is filled anew after a DDL",
    # a table that is quarantined, and its release
    "quarantine-commit": "before the COMMIT that quarantines the table",
    "quarantined": "after that COMMIT",
    "release-commit": "before the COMMIT of a release that has no cut, or loads the table",
    "released": "after that COMMIT",
    # a repair
    "repair-deleted": "in the transaction of a cut, after the deletes of the repair",
    "repair-written": "in the transaction of a cut, after the rows of the repair",
    "repair-noted": "in the transaction of a cut, after the repair was noted",
    "repair-committed": "after the COMMIT of a repair without a run",
    # a load
    "load-statement-ran": "after each statement that creates or completes a table",
    "chunk-rows-written": "after some rows of a chunk",
    "chunk-commit": "before the COMMIT of a chunk",
    "chunk-committed": "after the COMMIT of a chunk",
    "load-set-r": "before R is set",
    "load-ended": "after R was set and the notes of the load were removed",
    # a load of some tables during a run; "copies" in the process that holds the lease
    "reload-begun": "after its plan is committed",
    "reload-created": "after the copy of a table was created",
    "copies-joined": "after the stream writes to the copies, too",
    "reload-filled": "after the copies are asked to take the tables' places",
    "copies-swap": "before each statement that puts a copy in a table's place",
    "copies-swap-ran": "after each such statement",
    "copies-swap-commit": "before the COMMIT that ends the load",
    "copies-swapped": "after that COMMIT",
    # a load for a wider filter
    "growth-at-r": "after the consumer of the old filter has reached R",
    "growth-commit": "before the COMMIT that widens the filter",
    "growth-begun": "after that COMMIT is known to have happened",
}
"""Steps by name, with the moment at which each is hit."""

_hits: Counter[str] = Counter()


class FailpointReached(Exception):
    """The `raise` action. Not an error of the product, so that nothing handles it."""


def hit(step: str) -> None:
    """Does nothing, unless TICDC_FAILPOINT names this step and this is its N-th hit (default: the
    first).

    ACTION is `kill`, `raise`, `stop` (SIGSTOP) or `sleep=SECONDS`. Raises `KeyError` for a
    TICDC_FAILPOINT whose step is none of `STEPS`.
    """
    failpoint = os.environ.get("TICDC_FAILPOINT")
    if failpoint is None:
        return
    named_step, action, *rest = failpoint.split(":")
    STEPS[named_step]  # no test may wait for a step that never comes
    if step != named_step:
        return
    _hits[failpoint] += 1
    if _hits[failpoint] != int(rest[0] if rest else 1):
        return
    match action.partition("="):
        case "kill", _, _:
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop", _, _:
            os.kill(os.getpid(), signal.SIGSTOP)
        case "sleep", _, seconds:
            time.sleep(float(seconds))
        case _:
            raise FailpointReached(failpoint)
