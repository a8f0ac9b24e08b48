"""Causes in the run itself: it waits for an operator, has ended, was replaced, or works."""

import re

from ticdc_encoder.counted import counted
from ticdc_encoder.formats.likeness import LIKENESS
from ticdc_encoder.tso import duration, seconds, with_time

from ticdc_consumer.errors import (
    DDL_DONE,
    LOAD_ANEW,
    RESTORED,
    Retry,
    Unavailable,
    WaitingDdl,
)
from ticdc_consumer.status.activity.monitor import FOR_LOAD
from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.status.causes.situation import Explanation, KnownCause, Situation, has_kind

RELEASE = "ticdc-consumer release {config} {table}"
LOAD_INSTEAD = "ticdc-consumer release {config} {table} --load"
"""Advice for a table whose log is gone or unreadable, or whose rows differ from the upstream's."""
_RESUME = "let the load finish; if none is running, resume it: {load}"
_OFFSET = re.compile(r"(\S+)\[(\d+)\] offset (\d+)$")
"""End of an error that one message raised."""


def _no_status(situation: Situation) -> Explanation | None:
    error = situation.unreadable
    if error is None or isinstance(error, Unavailable | Retry):
        return None
    return Explanation(str(error))


def _loading(situation: Situation) -> Explanation | None:
    progress = situation.loading
    if progress is None:
        return None
    if progress.beside:
        activity = situation.at_work
        if activity is None or activity.detail != FOR_LOAD:
            return None
        tables = [".".join(table.name) for table in progress.tables]
        again = " ".join(f"--table {table}" for table in tables)
        return Explanation(
            f"the next DDL changes {', '.join(tables)}, whose load has to finish first: {progress}",
            (),
            (_RESUME.format(load=f"ticdc-consumer load {situation.config} {again}"),),
        )
    return Explanation(
        f"the first load, as of {progress.snapshot_ts}, is not finished: {progress}",
        (),
        (_RESUME.format(load=f"ticdc-consumer load {situation.config}"),),
    )


def _ddl_waits(situation: Situation) -> Explanation | None:
    waiting = {ddl.id: ddl for ddl in situation.activity.ddls} if situation.activity else {}
    entry = next((entry for entry in situation.pending if entry.id in waiting), None)
    if entry is None:
        if not waiting or situation.target is not None:
            return None
        id, ddl = next(iter(waiting.items()))
        sentence = f"the DDL {id} waits for an operator: {ddl.reason}"
        return Explanation(sentence, (), _ways_on(situation, ddl))
    ddl = waiting[entry.id]
    return Explanation(
        f"the DDL {entry.id} of {entry.schema}.{entry.table} waits for an operator: {ddl.reason}",
        (f"its statement: {' '.join(entry.query.split())}",),
        _ways_on(situation, ddl),
    )


def _ways_on(situation: Situation, ddl: WaitingDdl) -> tuple[str, ...]:
    command = DDL_DONE.format(config=situation.config, id=ddl.id)
    return (
        *(f"in the target, perhaps: {statement}" for statement in ddl.suggestion),
        *ddl.caveats(situation.config),
        f"make the change in the target yourself, then continue: {command}",
    )


def _bad_message(situation: Situation) -> Explanation | None:
    ended = _ended(situation)
    error = situation.trouble
    named = _OFFSET.search(error.text) if error else None
    if ended is None or error is None or named is None:
        return None
    of_message = {"topic": named[1], "partition": named[2], "next": int(named[3]) + 1}
    return Explanation(
        f"a message cannot be applied, and the consumer stopped there: {error.text}",
        ended.evidence,
        (
            f"look at it: ticdc-consumer inspect {situation.config} {' '.join(named.groups())}",
            *(step.format(config=situation.config, **of_message) for step in _UNREADABLE),
        ),
    )


_UNREADABLE = (
    "if it concerns one table only, quarantine that table: ticdc-consumer run {config} --set "
    "on_error.quarantine=true, then stop the consumer, and load the table without the message: "
    "ticdc-consumer release {config} TABLE --load",
    "if the next run stops there again, delete the messages up to it (kafka-delete-records, "
    "partition {partition} of {topic}, before offset {next}), wait for limits.clock_skew, "
    "because the rest must be that much older than a load, and "
    + LOAD_ANEW.replace("CONFIG", "{config}"),
)


def _other_protocol(situation: Situation) -> Explanation | None:
    """Explains a wrong protocol of a first run, which has nothing to lose by a new start."""
    ended, error = _ended(situation), situation.trouble
    like = LIKENESS.search(error.text) if error else None
    if ended is None or error is None or like is None or situation.has_tables:
        return None
    return Explanation(
        f"the topic's messages look like {like[1]}, and `protocol` says another: {error.text}",
        ended.evidence,
    )


def _drift(situation: Situation) -> Explanation | None:
    share = situation.activity.verified if situation.activity else None
    if share is None or not share.differs:
        return None
    ago = duration(max(0.0, situation.now - share.at))
    return Explanation(
        f"the target differs from the upstream: {share.differs}",
        (f"found {ago} ago, at R = {with_time(share.resolved_ts)}",),
    )


_AFTER_A_RESTORE = (
    "if all tables were restored to one moment, the ticdc_* tables with them, the next run "
    "continues from there, as far as the topics reach back: ticdc-consumer run {config}"
)


def _fenced(situation: Situation) -> Explanation | None:
    error, activity = situation.trouble, situation.at_work
    if not situation.alive and has_kind(error, "Fenced"):
        text = error.text if error else ""
        if RESTORED in text:
            then = _AFTER_A_RESTORE.format(config=situation.config)
            return Explanation(f"the last consumer ended: {text}", (), (then,))
        return Explanation(f"a newer consumer took over: {text}")
    takeover = activity.takeover if activity else None
    if activity is None or takeover is None or activity.at - takeover.at >= thresholds.TAKEOVER:
        return None
    return Explanation(
        f"a second consumer was started: {activity.who} took over from {takeover.who} "
        f"{duration(max(0.0, activity.at - takeover.at))} ago, and the older one ends with exit "
        "code 4",
        (activity.sentence,),
    )


def _ended(situation: Situation) -> Explanation | None:
    activity, error = situation.activity, situation.trouble
    if situation.alive or activity is None or error is None or has_kind(error, "Fenced"):
        return None
    ago = duration(max(0.0, situation.now - error.at))
    return Explanation(
        f"no consumer is running; the last one stopped with an error: {error.text}",
        (f"{activity.who} ended with exit code {error.exit_code}, {ago} ago",),
    )


def _not_running(situation: Situation) -> Explanation | None:
    if situation.alive or has_kind(situation.trouble, "Fenced"):
        return None
    activity, seen = situation.activity, ""
    if activity is not None and activity.stage == "stopped":
        seen = f"{activity.who} ended by itself {duration(situation.age)} ago, exit code 0"
    elif activity is not None:
        seen = f"the last sign of {activity.who} is {duration(situation.age)} old"
    evidence = (seen,) if seen else ()
    if (aside := _table_quarantined(situation)) is None:
        return Explanation("no consumer is running", evidence)
    start = f"start the consumer afterwards: ticdc-consumer run {situation.config}"
    return Explanation(
        f"no consumer is running, and {aside.sentence}", evidence, (*aside.advice, start)
    )


def _silent(situation: Situation) -> Explanation | None:
    activity, silent = situation.activity, situation.silent
    if activity is None or silent is None:
        return None
    who, number = activity.who, activity.pid
    connected = f"its session {silent.session} is still there" if silent.session else "it lives"
    if silent.session not in (activity.session, activity.writer, ""):
        return Explanation(
            f"a consumer, session {silent.session} of the target, holds or waits for the lease, "
            "and has written nothing yet",
            (f"the one before it, {who}, gave its last sign {duration(situation.age)} ago",),
            (
                f"check its log and what session {silent.session} waits for; do not start "
                "another consumer",
            ),
        )
    if silent.stopped:
        return Explanation(
            f"the consumer hangs: {who} has been stopped, by SIGSTOP, Ctrl-Z or a debugger",
            (f"its last sign is {duration(situation.age)} old, and {connected}",),
            (f"let it continue: kill -CONT {number}",),
        )
    return Explanation(
        f"the consumer hangs, or cannot write: {who} has given no sign for "
        f"{duration(situation.age)}, and {connected}",
        (f"it was last seen {activity.sentence}",),
        (
            f"see its log, and whether the target takes writes; a process that hangs can be ended "
            f"on {activity.host} (kill -9 {number}), then start it: "
            f"ticdc-consumer run {situation.config}",
        ),
    )


def _retries(situation: Situation) -> Explanation | None:
    activity, retry = situation.at_work, situation.trouble
    if activity is None or retry is None:
        return None
    times = "once" if retry.times == 1 else f"{retry.times} times"
    return Explanation(
        f"the consumer keeps retrying after an error ({times} so far): {retry.text}",
        (
            f"it first failed {duration(max(0.0, activity.at - retry.at))} ago",
            activity.sentence,
        ),
    )


def _table_quarantined(situation: Situation) -> Explanation | None:
    """Explains the first quarantined table; by the consumer's knowledge if the target was not
    asked."""
    waiting = [
        (f"{table.schema}.{table.table}", table.resolved_ts, table.cause, table.waiting)
        for table in situation.set_aside
    ]
    if situation.activity is not None and situation.target is None:
        waiting = [
            (table.table, table.resolved_ts, table.cause, table.waiting)
            for table in situation.activity.set_aside
        ]
    if not waiting:
        return None
    name, resolved_ts, cause, rows = waiting[0]
    others = f", as well as {counted(len(waiting) - 1, 'more table')}" if len(waiting) > 1 else ""
    return Explanation(
        f"the table {name} is quarantined at R {with_time(resolved_ts)}{others}: {cause}",
        (
            f"about {rows:,} of its changes wait in the log",
            f"the other tables continue: {situation.position}",
        ),
        (
            "fix the cause, stop the consumer, then apply what waits: "
            f"{RELEASE.format(config=situation.config, table=name)}",
            "if the cause is in the rows or in a message, load the table instead: "
            f"{LOAD_INSTEAD.format(config=situation.config, table=name)}",
        ),
    )


def _nothing_to_do(situation: Situation) -> Explanation | None:
    activity = situation.waits
    if activity is None or activity.newest_ts > activity.resolved_ts:
        return None
    return Explanation(
        "all is well: everything that TiCDC has resolved is applied, and the consumer waits for "
        "more",
        (situation.position, activity.sentence),
    )


def _clock_skew(situation: Situation) -> Explanation | None:
    activity = situation.at_work
    if activity is None:
        return None
    newest = max(activity.newest_ts, activity.resolved_ts)
    early = seconds(newest) - situation.now if newest else 0.0
    if early >= thresholds.SKEW:
        return Explanation(
            f"the clocks differ: the resolved ts {with_time(newest)} is {duration(early)} in the "
            "future of this machine, so the lag that is shown is wrong"
        )
    if abs(situation.ahead) < thresholds.SKEW:
        return None
    way = "ahead of" if situation.ahead > 0 else "behind"
    return Explanation(
        f"the clocks differ: that of {activity.host} is {duration(abs(situation.ahead))} {way} the "
        "target's, so the lag that is shown is wrong"
    )


def _stands_by(situation: Situation) -> Explanation | None:
    activity = situation.at_work
    if activity is None or activity.stage != "standby":
        return None
    return Explanation(f"this process is a standby: {activity.sentence}")


def _works(situation: Situation) -> Explanation | None:
    activity = situation.at_work
    if activity is None:
        return None
    return Explanation(f"the consumer is working: {activity.sentence}", (situation.position,))


NO_STATUS = KnownCause(
    "no-status",
    "the target has no checkpoint of this changefeed, or refuses to show it",
    "if this changefeed has never run, start it: ticdc-consumer run {config}",
    _no_status,
)
DDL_WAITS = KnownCause(
    "ddl-waits",
    "a DDL is pending in the ledger, and a run has reported why it cannot do it",
    "make the change in the target yourself, then continue: "
    "ticdc-consumer run {config} --ddl-done ID",
    _ddl_waits,
)
BAD_MESSAGE = KnownCause(
    "bad-message",
    "the error that ended the last run names one offset",
    "look at it: ticdc-consumer inspect {config} TOPIC PARTITION OFFSET",
    _bad_message,
)
OTHER_PROTOCOL = KnownCause(
    "other-protocol",
    "the error that ended the first run names the protocol that the message looks like",
    "set protocol to the changefeed's; nothing has been applied, so start again: ticdc-consumer "
    "forget {config}, then run as before",
    _other_protocol,
)
DRIFT = KnownCause(
    "drift",
    "`[verify] every` found rows that differ, and they have not been equal since",
    "repair the rows: ticdc-consumer verify {config} --repair",
    _drift,
)
FENCED = KnownCause(
    "fenced",
    "a newer consumer took over: the last run ended with exit code 4, or a consumer started in the "
    "last two minutes while another one was running (one that was killed does not count)",
    "run one consumer per changefeed, and do not restart one that ended with exit code 4",
    _fenced,
)
FAILED = KnownCause(
    "failed",
    "no consumer is running, and another error stopped the last one",
    "do what the message says, then start the consumer: ticdc-consumer run {config}",
    _ended,
)
LOADING = KnownCause(
    "loading",
    "a first load is not finished (it is running or was interrupted), or a DDL waits until "
    "`load --table` has loaded its table",
    _RESUME.format(load="ticdc-consumer load {config}"),
    _loading,
)
NOT_RUNNING = KnownCause(
    "not-running",
    "the last consumer has stopped, or has given no sign for 20 s",
    "start it: ticdc-consumer run {config}",
    _not_running,
)
SILENT = KnownCause(
    "no-sign",
    "a consumer has written nothing for 20 s, but its session is still there (in SQLite, its "
    "process on this machine)",
    "see its log and its process before you start another one",
    _silent,
)
RETRIES = KnownCause(
    "retries",
    "the consumer retries after an error that has no name of its own here",
    "do what the message says; the consumer then continues by itself",
    _retries,
)
CLOCK_SKEW = KnownCause(
    "clock-skew",
    "the consumer's clock and the target's differ by 10 s, or a resolved ts is 10 s in the future",
    "synchronise the clocks (NTP) of TiDB, the consumer and the target; the rows are not affected",
    _clock_skew,
)
TABLE_QUARANTINED = KnownCause(
    "table-quarantined",
    "a table is quarantined (`[on_error] quarantine`), and no earlier cause in this list applies",
    "fix the cause, stop the consumer, then apply what waits: "
    "ticdc-consumer release {config} TABLE",
    _table_quarantined,
)
STANDBY = KnownCause(
    "standby",
    "`run --standby`, while another consumer is alive; only in the metrics of that process",
    "nothing: it takes over when the other one has ended",
    _stands_by,
)
NOTHING_TO_DO = KnownCause(
    "nothing-to-do",
    "the consumer has applied the newest resolved ts that it has read, and waits for the next",
    "nothing",
    _nothing_to_do,
)
WORKING = KnownCause(
    "working", "a consumer is running, and no other cause applies", "nothing", _works
)
