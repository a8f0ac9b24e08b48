"""Causes in the target: it is unreachable, a session holds a lock, its disk is full, it is slow."""

from ticdc_encoder.tso import duration

from ticdc_consumer.errors import NoAnswer, Retry, Unavailable, UserRefused
from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.status.causes.pace import share_of, shares, speed
from ticdc_consumer.status.causes.situation import (
    Explanation,
    KnownCause,
    Situation,
    at_stage_for,
    has_kind,
)
from ticdc_consumer.targets.blockers import Blocker

_UNANSWERED = (
    "try again when this machine, the network and the server are less busy; if that does not "
    "help, check what the server's sessions wait for; a running consumer waits, and continues by "
    "itself",
)


def _target_away(situation: Situation) -> Explanation | None:
    error = situation.unreadable
    if isinstance(error, NoAnswer):
        return Explanation(f"the target {error}", situation.seen, _UNANSWERED)
    if isinstance(error, Unavailable | Retry) and not isinstance(error, UserRefused):
        return Explanation(f"the target cannot be reached: {error}")
    if has_kind(situation.trouble, "Away") and situation.trouble and situation.target is None:
        return Explanation(f"the target cannot be reached: {situation.trouble.text}")
    return None


def _lock(situation: Situation) -> Explanation | None:
    activity, trouble = situation.activity, situation.trouble
    if activity is None:
        return None
    is_locked = has_kind(trouble, "Locked")
    blockers = _blockers(situation, activity, is_locked)
    if not (blockers or is_locked):
        return None
    who = "the consumer waits for" if situation.alive else "the last run gave up waiting for"
    if blockers:
        sentence = f"{who} {blockers[0].text}"
    else:
        sentence = f"{who} a lock: {trouble.text if trouble else ''}"
    unknown = ("the database does not show this user who holds it",)
    evidence = [line for blocker in blockers for line in blocker.details]
    if situation.silent:
        evidence += [f"so it has given no sign for {duration(situation.age)}"]
    elif situation.running:
        evidence += [activity.sentence, *(() if blockers else unknown)]
    ends = " or ".join(blocker.end for blocker in blockers if blocker.end)
    advice = (f"let that session finish, or end it: {ends}",) if ends else ()
    return Explanation(sentence, tuple(evidence), advice)


def _blockers(situation: Situation, activity: Activity, is_locked: bool) -> tuple[Blocker, ...]:
    """Sessions that block now; between two attempts at a lock, the last that the consumer saw."""
    if not situation.alive:
        return ()
    now = situation.target.blockers if situation.target else ()
    return now or (activity.blockers if situation.target is None or is_locked else ())


def _disk_full(situation: Situation) -> Explanation | None:
    trouble = situation.trouble
    if trouble is None or not has_kind(trouble, "Full"):
        return None
    return Explanation(f"the target's disk is full: {trouble.text}")


def _read_only(situation: Situation) -> Explanation | None:
    """Explains a read-only target, but no earlier error if it takes writes by now."""
    trouble = situation.trouble
    if situation.target is not None:
        if not situation.target.read_only:
            return None
        seen = (trouble.text,) if has_kind(trouble, "ReadOnly") and trouble else ()
        return Explanation(
            f"the target takes no writes: {situation.target.read_only}",
            (*seen, situation.position),
        )
    if trouble is None or not has_kind(trouble, "ReadOnly"):
        return None
    return Explanation(f"the target takes no writes: {trouble.text}")


def _ddl_runs(situation: Situation) -> Explanation | None:
    activity = situation.at_work
    if activity is None or activity.stage != "running DDL":
        return None
    took = at_stage_for(activity)
    if took < thresholds.LONG:
        return None
    return Explanation(
        f"a DDL has been running in the target for {duration(took)}: {activity.detail}"
    )


def _is_target_bound(situation: Situation) -> bool:
    """Returns whether R falls behind and the target takes most of the time."""
    activity, pace = situation.busy, speed(situation)
    if activity is None or pace is None or situation.lag < thresholds.LAG:
        return False
    share = share_of(activity, "load", "ddl")
    return share >= thresholds.SLOW_SHARE and pace.growth > -thresholds.STEADY


def _missing_index(situation: Situation) -> Explanation | None:
    tables = situation.target.without_key if situation.target else ()
    if not tables or not _is_target_bound(situation):
        return None
    named = ", ".join(tables[:5])
    return Explanation(
        f"an index is missing in the target: {named} {'has' if len(tables) == 1 else 'have'} no "
        "unique key, so each DELETE reads the whole table",
        _slow_evidence(situation),
    )


def _held_up(situation: Situation) -> Explanation | None:
    burdens = situation.target.burdens if situation.target else ()
    if not burdens:
        return None
    return Explanation(
        f"the target cannot remove old row versions or WAL: {burdens[0]}", burdens[1:]
    )


def _slow_target(situation: Situation) -> Explanation | None:
    if not _is_target_bound(situation) or situation.activity is None:
        return None
    share = share_of(situation.activity, "load", "ddl")
    return Explanation(
        f"the target is too slow: {share:.0%} of the time is spent in it",
        _slow_evidence(situation),
    )


def _slow_evidence(situation: Situation) -> tuple[str, ...]:
    pace, activity = speed(situation), situation.activity
    if pace is None or activity is None:
        return ()
    by_stage = ", ".join(f"{stage} {part:.0%}" for stage, part in shares(activity).items())
    return (f"of the last {duration(pace.window)}: {by_stage}", *pace.lines)


TARGET_AWAY = KnownCause(
    "target-unreachable",
    "the target gives no answer within 4 s, or refuses connections",
    "check that the server runs and can be reached from here; a running consumer waits, and "
    "reconnects by itself",
    _target_away,
)
LOCK = KnownCause(
    "lock",
    "the database shows which session keeps the consumer's waiting (pg_blocking_pids; "
    "data_lock_waits, innodb_lock_waits; metadata_locks, metadata_lock_info, tidb_mdl_view), or a "
    "lock timeout was met; SQLite shows only that the file is locked",
    "end what holds the lock; a running consumer then continues by itself",
    _lock,
)
DISK_FULL = KnownCause(
    "disk-full",
    "the last run ended with the target's own error of a full disk",
    "free disk space there, then start the consumer: ticdc-consumer run {config}",
    _disk_full,
)
READ_ONLY = KnownCause(
    "target-read-only",
    "the target is a standby, or read-only for this user (default_transaction_read_only, "
    "read_only, super_read_only, tidb_restricted_read_only)",
    "ask who made it read-only; after a failover, set [target] url to the server that takes "
    "writes; a running consumer continues by itself once it can write",
    _read_only,
)
DDL_RUNS_LONG = KnownCause(
    "ddl-runs-long",
    "one DDL has been running for 30 s, and waits for no lock",
    "wait: most databases copy the table; the evidence shows the statement",
    _ddl_runs,
)
MISSING_INDEX = KnownCause(
    "missing-index",
    "as slow-target, and a table of the changefeed has no unique key",
    "create the upstream's key in the target; a table without a key upstream stays slow",
    _missing_index,
)
HELD_UP = KnownCause(
    "cleanup-held-up",
    "PostgreSQL: a transaction has been open for 10 min, or a replication slot keeps 1 GiB of WAL",
    "end the transaction (pg_terminate_backend); or restart the slot's reader, or drop the slot "
    "(pg_drop_replication_slot)",
    _held_up,
)
SLOW_TARGET = KnownCause(
    "slow-target",
    "R is a minute behind and does not catch up, and the target took 60 % of the last minutes "
    "(stages load and ddl)",
    "find what is slow there: disk, CPU, triggers, unused indexes, synchronous replicas",
    _slow_target,
)
