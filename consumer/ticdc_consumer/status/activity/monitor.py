"""The reports of a consumer's steps while they work: attribute writes, and nothing per row.

The applying thread and the thread that reads ahead write to it; any thread may call `look`.
"""

import logging
import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock

from ticdc_encoder.errors import TicdcError

from ticdc_consumer.config.redact import redact
from ticdc_consumer.errors import Stop, WaitingDdl
from ticdc_consumer.state.checkpoint import Position
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.repairs import RepairState
from ticdc_consumer.state.reports import Cause, Stage
from ticdc_consumer.status.activity.activity import (
    Activity,
    CutActivity,
    ExecutorActivity,
    LastDdl,
    Pace,
    PartitionActivity,
    SetAsideTable,
    StageSeconds,
    Takeover,
    Trouble,
    VerifiedShare,
)
from ticdc_consumer.targets.blockers import Blocker
from ticdc_consumer.targets.layout import TableName

logger = logging.getLogger(__name__)

FOR_MARK = "for a resolved ts above R"
"""Waiting reason of a healthy consumer."""
FOR_LOAD = "for a table's load, because its DDL comes next"
FOR_SCHEMA = "for version"
"""Prefix of the waiting reason when a schema of the Simple protocol is missing."""
MOST = 1_000
"""Most tables that are counted by name, and most partitions that are listed."""

PACE_WINDOW = 300.0
"""Seconds back to the progress with which the pace is compared."""
PACE_STEP = 5.0
"""Least seconds between two samples of the pace."""

_RANK: Mapping[Stage, int] = {"applying": 1, "running DDL": 1, "retrying": 2}
"""Rank of simultaneous stages; the highest is shown: the next cut is read while one is applied."""

_BEFORE: frozenset[Stage] = frozenset(("planning", "starting Spark", "reading"))
"""Stages of a cut that is not yet applied."""


@dataclass(slots=True, eq=False)  # threads leave stages at the same time: compared by identity
class _Entered:
    stage: Stage
    detail: str
    since: float


class Monitor:
    """The current activity of one consumer."""

    def __init__(
        self, changefeed: str = "", release: str = "", secrets: frozenset[str] = frozenset()
    ) -> None:
        """`secrets` are masked in every error and reason."""
        self._changefeed, self._release = changefeed, release
        self._started = time.time()
        self._base = _Entered("starting", "", self._started)
        self._entered: list[_Entered] = []
        self._counting = Lock()
        self._totals: dict[str, int] = {}
        self._retries: dict[str, int] = {}
        self._seconds: dict[str, StageSeconds] = {}
        self._tables: dict[str, list[int]] = {}
        self._positions: Mapping[tuple[str, int], Position] = {}
        self._ends: Mapping[tuple[str, int], int] = {}
        self._marks: Mapping[str, int] = {}
        self._committed: float | None = None
        self._read: CutActivity | None = None
        self._applied: CutActivity | None = None
        self._ddls: tuple[WaitingDdl, ...] = ()
        self._retry: Trouble | None = None
        self._error: Trouble | None = None
        self._newest_message: float | None = None
        self._share_read: Callable[[], float] = lambda: 0.0
        self._source: Trouble | None = None
        self._paces: deque[Pace] = deque()
        self._executors: ExecutorActivity | None = None
        self._takeover: Takeover | None = None
        self._last_ddl: LastDdl | None = None
        self._verified: VerifiedShare | None = None
        self._unequal: dict[int, VerifiedShare] = {}
        self._set_aside: dict[TableName, SetAsideTable] = {}
        self.blockers: tuple[Blocker, ...] = ()
        """The sessions of the target that hold what this consumer's session waits for."""
        self.asked_at: Callable[[], float | None] = lambda: None
        """Time of the target's unanswered request, by `time.monotonic`."""
        self._loaded: Callable[[], int] = lambda: 0
        self.repair_waits = True
        """True if differing rows may wait for a repair; a start has to check."""
        self.generation = 0
        self.session = ""
        self.writer = ""
        self.resolved_ts = 0
        self.unwritten = ""
        self._secrets = secrets

    # --- what steps report ---------------------------------------------------------------------

    @contextmanager
    def at(self, stage: Stage, detail: str = "") -> Iterator[None]:
        """Context in which the consumer is at this stage."""
        entered = _Entered(stage, detail, time.time())
        self._entered.append(entered)
        try:
            yield
        finally:
            self._entered.remove(entered)

    def follows(self, last: Activity) -> None:
        """Takes over the open problems from the activity that the last consumer wrote."""
        self._committed, self._error, self._ddls = last.committed, last.error, last.ddls

    def overtook(self, who: str) -> None:
        """Reports that another consumer was at work when this one began."""
        self._takeover = Takeover(who, time.time())

    def watches(self, asked_at: Callable[[], float | None]) -> None:
        """Sets `asked_at`, which returns the time of the target's unanswered request."""
        self.asked_at = asked_at

    def has_repair(self, *, waits: bool) -> None:
        """Reports whether differing rows may wait for a repair."""
        self.repair_waits = waits

    def writes_by(self, session: str) -> None:
        """Sets the recorder's session of the target."""
        self.writer = session

    def blocked_by(self, blockers: tuple[Blocker, ...]) -> None:
        """Sets the sessions of the target that hold what this consumer's session waits for."""
        self.blockers = blockers

    def wrote(self, unwritten: str = "") -> None:
        """Reports that the target has the activity, or why it has not."""
        self.unwritten = unwritten

    def waiting(
        self,
        newest_message: float | None,
        marks: Mapping[str, int],
        lacking: str = FOR_MARK,
        trouble: TicdcError | None = None,
    ) -> None:
        """Reports that no cut is ready because `lacking` has not come. `trouble` is why nothing
        comes, if the source does not answer."""
        self._newest_message, self._marks, self._read = newest_message, marks, None
        self._source = None if trouble is None else self._again(self._source, trouble)
        if (self._base.stage, self._base.detail) != ("waiting", lacking):
            self._base = _Entered("waiting", lacking, time.time())

    def planned(
        self, cut: CutActivity, ends: Mapping[tuple[str, int], int], marks: Mapping[str, int]
    ) -> None:
        """Reports a cut that can be read, and its listed offsets."""
        self._ends, self._marks, self._read = ends, marks, cut
        self.reads(0.0)
        self._base = _Entered("planning", "", time.time())

    def reads(self, share: float) -> None:
        """Reports the share of the cut that has been read, 0 to 1."""
        self._share_read = lambda: share

    def reads_by(self, share: Callable[[], float]) -> None:
        """Sets a function for that share, called on each look until `reads`."""
        self._share_read = share

    def applies(self, cut: CutActivity) -> None:
        """Reports that this cut was read, and is applied from here on."""
        self.loads(lambda: 0)
        self._applied = cut

    def loads(self, rows: Callable[[], int]) -> None:
        """Sets `rows`, which returns at any time how many rows of the cut are in the
        transaction."""
        self._loaded = rows

    def took_over(self, generation: int) -> None:
        """Reports that the consumer holds the lease, as this generation."""
        self.generation = generation

    def has_session(self, session: str) -> None:
        """Reports the session of the target that the consumer uses from here on."""
        self.session = session

    def reached(self, resolved_ts: int, positions: Mapping[tuple[str, int], Position]) -> None:
        """Reports the state of the target at a start."""
        self.resolved_ts, self._positions = resolved_ts, positions
        self._paced()

    def _paced(self) -> None:
        """Notes the progress: few samples, and none from before the window."""
        now, paces = time.time(), self._paces
        read = sum(position.restart_offset for position in self._positions.values())
        listed = sum(self._ends.values())
        sums = {stage: seconds.sum for stage, seconds in self._seconds.items()}
        if len(paces) > 1 and now - paces[-2].at < PACE_STEP:
            paces.pop()
        paces.append(Pace(now, self.resolved_ts, read, listed, sums))
        while len(paces) > 2 and now - paces[1].at >= PACE_WINDOW:
            paces.popleft()

    def committed(
        self,
        resolved_ts: int,
        positions: Mapping[tuple[str, int], Position],
        totals: Mapping[str, int],
        tables: Mapping[str, tuple[int, int]],
        seconds: Mapping[str, float],
    ) -> None:
        """Reports a committed cut: `totals` to add, rows deleted and written by table, seconds by
        stage."""
        self._committed = time.time()
        self._applied, self._retry, self._error = None, None, None
        self.blockers = ()
        if self._read is not None and self._read.end_ts <= resolved_ts:
            self._read = None
        for name, more in totals.items():
            self._totals[name] = self._totals.get(name, 0) + more
        for stage, each in seconds.items():
            self._took(stage, each)
        for name, (deleted, written) in tables.items():
            known = name in self._tables or len(self._tables) < MOST
            sums = self._tables.setdefault(name if known else "", [0, 0])
            sums[0] += deleted
            sums[1] += written
        self.reached(resolved_ts, positions)

    def ran_ddls(self, states: Sequence[str], seconds: float, last: LastDdl | None = None) -> None:
        """Reports the ledger states that DDL reached; `last` is the last of them."""
        if last is not None:
            self._last_ddl = replace(last, reason=self._masked(last.reason))
        for state in states:
            self._totals[f"ddl_{state}"] = self._totals.get(f"ddl_{state}", 0) + 1
        self._took("ddl", seconds)

    def _took(self, stage: str, seconds: float) -> None:
        self._seconds[stage] = self._seconds.get(stage, StageSeconds()).plus(seconds)

    def waits_for_operator(self, ddls: Sequence[WaitingDdl]) -> None:
        """Reports the pending DDL that the consumer cannot do; none once they are done."""
        self._ddls = tuple(replace(ddl, reason=self._masked(ddl.reason)) for ddl in ddls)

    def begins_without(self, tables: Iterable[SetAside]) -> None:
        """Reports the tables that are already quarantined."""
        self._set_aside = {
            each.name: SetAsideTable(
                ".".join(each.name),
                each.resolved_ts,
                self._masked(each.cause),
                each.since,
                each.waiting,
            )
            for each in tables
        }

    def sets_aside(self, name: TableName, resolved_ts: int, cause: str) -> None:
        """Reports that the run continues without this table."""
        table = SetAsideTable(".".join(name), resolved_ts, self._masked(cause), time.time())
        self._set_aside = {**self._set_aside, name: table}

    def keeps_waiting(self, rows: Mapping[TableName, int]) -> None:
        """Reports a cut's row changes of quarantined tables."""
        for name, more in rows.items():
            table = self._set_aside[name]
            waiting = replace(table, waiting=table.waiting + more)
            self._set_aside = {**self._set_aside, name: waiting}

    def retries(self, error: BaseException, cause: Cause) -> None:
        """Reports a passing failure, which is being retried."""
        with self._counting:  # the thread that reads ahead has retries of its own
            self._retries[cause] = self._retries.get(cause, 0) + 1
        trouble = self._retry = self._again(self._retry, error)
        logger.debug(
            "%s, tried again (%d): %s",
            cause,
            trouble.times,
            trouble.text,
            extra={
                "event": "retry",
                "cause": cause,
                "times": trouble.times,
                "reason": trouble.text,
                "resolved_ts": self.resolved_ts or None,
            },
        )

    def _again(self, before: Trouble | None, error: BaseException) -> Trouble:
        """Returns the error, counted with its preceding repetitions."""
        trouble = self._trouble(error)
        if before is not None and before.text == trouble.text:
            trouble = replace(trouble, at=before.at, times=before.times + 1)
        return trouble

    def recovered(self) -> None:
        """Reports that the retry has succeeded."""
        self._retry, self.blockers = None, ()

    def repaired(self, state: RepairState | None) -> None:
        """Reports the last cut's outcome of a request for a repair. A request that still waits is
        considered again once the recorder sees it."""
        self.repair_waits = False
        if state is None:
            return
        fields = {"event": "repair", **state.to_json()}
        if state.state == "done":
            self._verified, self._unequal = None, {}
            logger.info("repair: %s", state, extra=fields)
        else:
            logger.warning("repair: %s", state, extra=fields)

    def verified(self, share: VerifiedShare) -> None:
        """Reports a compared share of the rows, or a failed comparison."""
        share = replace(share, failed=self._masked(share.failed))
        if not share.failed:
            self._unequal.pop(share.number, None)
        if share.differs:
            self._unequal[share.number] = share
        self._verified = replace(
            share,
            differing=sum(each.differing for each in self._unequal.values()),
            differs="; ".join(each.differs for each in list(self._unequal.values())[:5]),
        )
        with self._counting:
            for name, more in (
                ("verified_rows", share.rows),
                ("verify_failed", int(bool(share.failed))),
            ):
                self._totals[name] = self._totals.get(name, 0) + more
        level = logging.WARNING if share.differs or share.failed else logging.INFO
        fields = {name: getattr(share, name) for name in ("resolved_ts", "rows", "differing")}
        logger.log(level, "verified: %s", share, extra={"event": "verified", **fields})

    def has_executors(self, count: int, lost: int, waits: bool) -> None:
        """Reports Spark's executors: their number, how many more were lost, and whether jobs wait
        for the first one."""
        before, now = self._executors or ExecutorActivity(), time.time()
        self._executors = ExecutorActivity(
            count,
            (before.lacking_since or now) if waits else None,
            before.lost + lost,
            now if lost else before.last_lost,
        )

    def failed(self, error: BaseException) -> None:
        """Reports that the loop has ended by an error, which the program that embeds it may
        catch."""
        self._error = self._trouble(error)

    def stopped(self, error: BaseException | None = None) -> None:
        """Reports that the run has ended, by an error or as planned."""
        self._base = _Entered("stopped", "" if error is None else "by an error", time.time())
        if error is not None:
            self.failed(error)

    def _read_of(self, cut: CutActivity) -> int:
        share = self._share_read() if cut is self._read else 1.0
        return round(share * cut.messages)

    # --- looking at it -------------------------------------------------------------------------

    def look(self) -> Activity:
        """Returns the current activity."""
        entered = self._base
        if entered.stage != "stopped":
            entered = max(list(self._entered), key=_rank, default=entered)
        cut = self._read if entered.stage in _BEFORE else self._applied
        return Activity(
            changefeed=self._changefeed,
            generation=self.generation,
            stage=entered.stage,
            detail=entered.detail,
            since=entered.since,
            at=time.time(),
            started=self._started,
            host=platform.node(),
            pid=os.getpid(),
            release=self._release,
            session=self.session,
            writer=self.writer,
            resolved_ts=self.resolved_ts,
            committed=self._committed,
            newest_ts=max(dict(self._marks).values(), default=0),
            newest_message=self._newest_message,
            cut=cut and replace(cut, rows_loaded=self._loaded(), messages_read=self._read_of(cut)),
            partitions=self._partitions(),
            ddls=self._ddls,
            retry=self._retry,
            error=self._error,
            totals=dict(self._totals),
            retries=dict(self._retries),
            seconds=dict(self._seconds),
            tables={name: (a, b) for name, (a, b) in list(self._tables.items())},
            unwritten=self.unwritten and self._masked(self.unwritten),
            source=self._source,
            blockers=self.blockers,
            pace=self._pace(),
            executors=self._executors,
            takeover=self._takeover,
            last_ddl=self._last_ddl,
            verified=self._verified,
            set_aside=tuple(self._set_aside.values())[:MOST],
        )

    @property
    def retry(self) -> Trouble | None:
        """The error that is being retried."""
        return self._retry

    @property
    def is_away(self) -> bool:
        """Returns whether the run ended because the target could not be reached."""
        return self._error is not None and self._error.kinds[0] == "Away"

    def _pace(self) -> tuple[Pace, ...]:
        paces = list(self._paces)
        return (paces[0], paces[-1]) if len(paces) > 1 else tuple(paces)

    def waited_for_target(self) -> float:
        """Seconds for which the target has not answered."""
        asked_at = self.asked_at()
        return 0.0 if asked_at is None else time.monotonic() - asked_at

    def _partitions(self) -> tuple[PartitionActivity, ...]:
        """The thousand partitions that are furthest behind."""
        ends, marks = self._ends, self._marks
        parts = [
            PartitionActivity(
                *name,
                position.restart_offset,
                ends.get(name),
                marks.get(name[0], 0) if name[1] == 0 else 0,
            )
            for name, position in self._positions.items()
        ]
        parts.sort(key=lambda p: (p.restart_offset - (p.end_offset or 0), p.topic, p.partition))
        return tuple(parts[:MOST])

    def _trouble(self, error: BaseException) -> Trouble:
        # The text of a foreign error may quote a row.
        text = str(error) if isinstance(error, TicdcError) else type(error).__name__
        code = error.exit_code if isinstance(error, TicdcError) else Stop.exit_code
        return Trouble(_kinds(error), self._masked(text), time.time(), code)

    def _masked(self, text: str) -> str:
        return redact(text, self._secrets)


def _rank(entered: _Entered) -> int:
    return _RANK.get(entered.stage, 0)


def _kinds(error: BaseException | None) -> tuple[str, ...]:
    kinds: list[str] = []
    while error is not None and len(kinds) < 8:
        kinds.append(type(error).__name__)
        error = error.__cause__
    return tuple(kinds)
