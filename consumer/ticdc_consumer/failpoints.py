"""Named steps at which a test lets a run die: `TICDC_FAILPOINT=STEP:ACTION[:N]`.

The steps of one epoch: S0 lease, S1 read the checkpoint, S2 plan, S3 fetch, S4 decode, S5 fold, S6
choose R, S7 BEGIN, S8 fenced, S9 deletes, S10 rows, S11 DDL, S12 checkpoint, S13 before COMMIT, S14
after it, S15 courtesy commit to Kafka, S16 free the buffers. The steps of a DDL: D0 once the ledger
holds that it is begun, if it commits by itself; D1 before each of its statements, D2 after it; if
it is pending, D3 before it is marked as done, D4 before that is committed, D5 after. The steps of a
load: L1 after some rows of a chunk, L2 before the chunk's COMMIT, L3 after it; L4 before R is set,
L5 after; L6 after each statement that creates or completes a table. Of a repair, in the transaction
of a cut: R1 after its deletes, R2 after its rows, R3 after it was noted; R4 after the COMMIT of one
without a run. Those of staging: P1 before a task creates a staging table, P2 after it has its rows;
P3 before the transaction, P4 in it before the rows of each are published, P5 after they are
dropped. When a table is quarantined: Q1 before that is committed, Q2 after; a release has the steps
of its cuts, or, if it loads the table or has no cut to read, Q3 before its COMMIT and Q4 after. F1:
before the COMMIT of a chunk of a table that is filled anew after a DDL."""

import os
import signal
import time
from collections import Counter

_hits: Counter[str] = Counter()


class FailpointReached(Exception):
    """The `raise` action. It is not an error of the product, so that nothing handles it."""


def hit(step: str) -> None:
    """Does nothing, unless TICDC_FAILPOINT names this step and this is its N-th hit (default: the
    first).

    ACTION is `kill`, `raise`, `stop` (SIGSTOP) or `sleep=SECONDS`.
    """
    failpoint = os.environ.get("TICDC_FAILPOINT")
    if failpoint is None:
        return
    named_step, action, *rest = failpoint.split(":")
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
