"""Causes in the target: away, locked, slow, without an index."""

from ticdc_encoder.tso import duration

from ticdc_consumer.status.why.diagnosis import Diagnosis
from ticdc_consumer.status.why.evidence import Evidence
from ticdc_consumer.targets.waits import LockWait

SLOW = 0.7
"""Share of the time in the target above which it is what takes the time."""
BEHIND = 10.0
"""Seconds of lag below which nothing is slow."""
KEPT = 1 << 30
"""Bytes of a slot that nobody reads."""


def target_away(evidence: Evidence) -> Diagnosis | None:
    error = evidence.target.error
    if error is None:
        return None
    return Diagnosis(
        "target-away",
        f"the target cannot be reached, so nothing can be applied: {error}",
        (),
        ("start the target, or mend [target] url; a consumer that runs waits and goes on",),
    )


def locked(evidence: Evidence) -> Diagnosis | None:
    """Of those that wait, the consumer; without it, nobody is known to be ours."""
    activity = evidence.activity
    if activity is None or not evidence.running:
        return None
    mine = activity.session.partition("@")[0].partition(" ")[0]
    waits = [wait for wait in evidence.target.waits if wait.waiter == mine]
    if not waits:
        return _locked_file(evidence)
    wait = waits[0]
    where = f" on {wait.relation}" if wait.relation else ""
    return Diagnosis(
        "locked",
        f"the consumer waits for a lock{where} that session {wait.holder} holds in a transaction "
        f"of {duration(wait.seconds)}",
        (_holder(wait), *(_holder(other) for other in waits[1:])),
        ("end that transaction: COMMIT or ROLLBACK there, or end its session",),
    )


def _holder(wait: LockWait) -> str:
    query = " ".join(wait.query.split())[:200] or "is not known; it is idle in its transaction"
    who = f" ({wait.who})" if wait.who else ""
    return f"session {wait.holder}{who}; its last statement: {query}"


def _locked_file(evidence: Evidence) -> Diagnosis | None:
    """SQLite names nobody."""
    error = evidence.error
    if error is None or "holds the write lock of" not in error.text:
        return None
    return Diagnosis(
        "locked",
        f"the consumer waits for a lock: {error.text}",
        (f"tried {error.times} times",),
        ("find the process (fuser FILE) and have it end its transaction",),
    )


def missing_index(evidence: Evidence) -> Diagnosis | None:
    tables = evidence.target.unindexed
    if not tables or evidence.lag < BEHIND or _share_of_target(evidence) < SLOW:
        return None
    return Diagnosis(
        "missing-index",
        f"each DELETE from {', '.join(tables)} reads the whole table: it has no index",
        (_shares(evidence),),
        ("create an index over columns that differ most from row to row",),
    )


def _share_of_target(evidence: Evidence) -> float:
    activity = evidence.activity
    if activity is None or not evidence.running:
        return 0.0
    if activity.stage == "applying" and activity.at - activity.since > BEHIND:
        return 1.0
    spent = sum(activity.seconds.get(name, 0.0) for name in ("load", "ddl"))
    return min(1.0, spent / activity.span) if activity.span else 0.0


def _shares(evidence: Evidence) -> str:
    activity = evidence.activity
    assert activity is not None
    shares = ", ".join(f"{name} {value:.1f} s" for name, value in activity.seconds.items())
    return f"of the last {duration(activity.span)}: {shares or 'no cut yet'}"


def slow_target(evidence: Evidence) -> Diagnosis | None:
    share = _share_of_target(evidence)
    if evidence.lag < BEHIND or share < SLOW:
        return None
    return Diagnosis(
        "slow-target",
        f"the target takes {share:.0%} of the time, and R is {duration(evidence.lag)} behind",
        (_shares(evidence),),
        ("look at the target's load, disks and triggers; see long transactions and indexes there",),
    )


def long_work(evidence: Evidence) -> Diagnosis | None:
    works = [w for w in evidence.target.long_work if w.seconds or w.kept_bytes >= KEPT]
    if not works:
        return None
    return Diagnosis(
        "long-transactions",
        f"{works[0].what}, for {duration(works[0].seconds)}"
        if works[0].seconds
        else f"{works[0].what}: the server keeps {works[0].kept_bytes / (1 << 30):.1f} GiB for it",
        tuple(each.what for each in works[1:]),
        ("end it: the server can remove no old row, or no log, before",),
    )
