"""Causes in the run itself: it waits for an operator, it has ended, it was replaced, it works."""

import re

from ticdc_encoder.tso import duration, seconds, with_time

from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.state.activity.activity import WaitingDdl
from ticdc_consumer.state.activity.monitor import FOR_LOAD
from ticdc_consumer.state.causes import thresholds
from ticdc_consumer.state.causes.situation import Explanation, KnownCause, Situation, has_kind

DDL_DONE = "ticdc-consumer run {config} --ddl-done {id}"
RELEASE = "ticdc-consumer release {config} {table}"
_OFFSET = re.compile(r"(\S+)\[(\d+)\] offset (\d+)$")
"""How an error ends that one message raised."""


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
        names = ", ".join(".".join(table.name) for table in progress.tables)
        return Explanation(f"a DDL of {names} comes next, and waits for the load: {progress}")
    return Explanation(f"the first load, as of {progress.snapshot_ts}, is not finished: {progress}")


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
        *(f"perhaps by: {statement}" for statement in ddl.suggestion),
        f"do its work in the target, then: {command}",
    )


def _bad_message(situation: Situation) -> Explanation | None:
    ended = _ended(situation)
    error = situation.trouble
    named = _OFFSET.search(error.text) if error else None
    if ended is None or error is None or named is None:
        return None
    return Explanation(
        f"a message cannot be applied, which ended the last run: {error.text}",
        ended.evidence,
        (f"look at it: ticdc-consumer inspect {situation.config} {' '.join(named.groups())}",),
    )


def _drift(situation: Situation) -> Explanation | None:
    share = situation.activity.verified if situation.activity else None
    if share is None or not share.differs:
        return None
    ago = duration(max(0.0, situation.now - share.at))
    return Explanation(
        f"the target is not as the upstream: {share.differs}",
        (f"found {ago} ago, at R = {with_time(share.resolved_ts)}",),
    )


def _fenced(situation: Situation) -> Explanation | None:
    error, activity = situation.trouble, situation.at_work
    if not situation.running and has_kind(error, "Fenced"):
        return Explanation(f"a newer consumer took over: {error.text if error else ''}")
    takeover = activity.takeover if activity else None
    if activity is None or takeover is None or activity.at - takeover.at >= thresholds.TAKEOVER:
        return None
    return Explanation(
        f"{activity.who} took the changefeed over from {takeover.who}, "
        f"{duration(max(0.0, activity.at - takeover.at))} ago, which had not reported its end: it "
        "was killed, or ends with exit code 4 now",
        (activity.sentence,),
    )


def _ended(situation: Situation) -> Explanation | None:
    activity, error = situation.activity, situation.trouble
    if situation.running or activity is None or error is None or has_kind(error, "Fenced"):
        return None
    ago = duration(max(0.0, situation.now - error.at))
    return Explanation(
        f"no consumer runs, and an error ended the last run: {error.text}",
        (f"{activity.who} ended with exit code {error.exit_code}, {ago} ago",),
    )


def _not_running(situation: Situation) -> Explanation | None:
    if situation.running or has_kind(situation.trouble, "Fenced"):
        return None
    activity = situation.activity
    seen = f"{activity.who} was there {duration(situation.age)} ago" if activity else ""
    return Explanation("no consumer runs", (seen,) if seen else ())


def _retries(situation: Situation) -> Explanation | None:
    activity, retry = situation.at_work, situation.trouble
    if activity is None or retry is None:
        return None
    return Explanation(
        f"the consumer tries again what failed {retry.times} times: {retry.text}",
        (
            f"it first failed {duration(max(0.0, activity.at - retry.at))} ago",
            activity.sentence,
        ),
    )


def _table_quarantined(situation: Situation) -> Explanation | None:
    """The first of them; by what the consumer itself knows if the target was not asked."""
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
    others = f", and so are {len(waiting) - 1} more tables" if len(waiting) > 1 else ""
    return Explanation(
        f"the table {name} is set aside at R {with_time(resolved_ts)}{others}: {cause}",
        (
            f"about {rows:,} of its changes wait in the log",
            f"of the other tables, {situation.position}",
        ),
        (
            "mend the cause, stop the consumer, then: "
            f"{RELEASE.format(config=situation.config, table=name)}",
        ),
    )


def _nothing_to_do(situation: Situation) -> Explanation | None:
    activity = situation.waits
    if activity is None or activity.newest_ts > activity.resolved_ts:
        return None
    return Explanation(
        "there is nothing to do: all that is resolved is applied, and the next resolved ts has "
        "not come yet",
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
            "future of this machine, so that no lag is right"
        )
    if abs(situation.ahead) < thresholds.SKEW:
        return None
    way = "ahead of" if situation.ahead > 0 else "behind"
    return Explanation(
        f"the clocks differ: that of {activity.host} is {duration(abs(situation.ahead))} {way} the "
        "target's, so that no lag is right"
    )


def _stands_by(situation: Situation) -> Explanation | None:
    activity = situation.at_work
    if activity is None or activity.stage != "standby":
        return None
    return Explanation(f"this process stands by: {activity.sentence}")


def _works(situation: Situation) -> Explanation | None:
    activity = situation.at_work
    if activity is None:
        return None
    return Explanation(f"the consumer works: {activity.sentence}", (situation.position,))


NO_STATUS = KnownCause(
    "no-status",
    "the target has no checkpoint of this changefeed, or refuses to show it",
    "if it was never started: ticdc-consumer run {config}",
    _no_status,
)
DDL_WAITS = KnownCause(
    "ddl-waits",
    "a DDL is pending in the ledger, and a run has reported why it cannot do it",
    "do its work in the target, then: ticdc-consumer run {config} --ddl-done ID",
    _ddl_waits,
)
BAD_MESSAGE = KnownCause(
    "bad-message",
    "the error that ended the last run names one offset",
    "look at it: ticdc-consumer inspect {config} TOPIC PARTITION OFFSET",
    _bad_message,
)
DRIFT = KnownCause(
    "drift",
    "`[verify] every` found rows that differ, which were not equal since",
    "put right what still differs: ticdc-consumer verify {config} --repair; then start the "
    "consumer, if none runs",
    _drift,
)
FENCED = KnownCause(
    "fenced",
    "a newer consumer took over: the last run ended with exit code 4, or a consumer began in the "
    "last two minutes and the one before had not reported its end",
    "run one consumer of a changefeed, and do not restart one that ended with exit code 4",
    _fenced,
)
FAILED = KnownCause(
    "failed",
    "no consumer runs, and another error ended the last run",
    "do what the message says, then start it again: ticdc-consumer run {config}",
    _ended,
)
LOADING = KnownCause(
    "loading",
    "a first load is not finished, whether it is under way or was interrupted; or a DDL waits "
    "until its table is loaded by `load --table`",
    "let it end; if none is under way, go on with it: ticdc-consumer load {config} [--table TABLE]",
    _loading,
)
NOT_RUNNING = KnownCause(
    "not-running",
    "no consumer has written what it is at for 20 s, or the last one has stopped",
    "start it: ticdc-consumer run {config}",
    _not_running,
)
RETRIES = KnownCause(
    "retries",
    "the consumer tries something again, for a reason without a name of its own here",
    "do what the message says; the consumer then goes on by itself",
    _retries,
)
CLOCK_SKEW = KnownCause(
    "clock-skew",
    "the consumer's clock and the target's differ by 10 s, or a resolved ts is 10 s in the future",
    "synchronise the clocks (NTP) of TiDB, the consumer and the target; rows are right either way",
    _clock_skew,
)
TABLE_QUARANTINED = KnownCause(
    "table-quarantined",
    "a table is set aside (`[on_error] quarantine`), and nothing before this in the list holds",
    "mend the cause, stop the consumer, then: ticdc-consumer release {config} TABLE",
    _table_quarantined,
)
STANDBY = KnownCause(
    "standby",
    "`run --standby`, while another consumer is alive; in the metric of that process alone",
    "nothing: it begins when the other one has ended",
    _stands_by,
)
NOTHING_TO_DO = KnownCause(
    "nothing-to-do",
    "the consumer waits, and has applied the newest resolved ts that it read",
    "nothing",
    _nothing_to_do,
)
WORKING = KnownCause("working", "a consumer runs, and nothing else here holds", "nothing", _works)
