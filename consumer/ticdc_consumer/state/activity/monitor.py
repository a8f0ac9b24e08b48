"""What the steps of a consumer report while they work: attribute writes, and no lock.

One process has one `Monitor`. The steps write to it from the thread that applies and from the one
that reads ahead; others look at it by `look`, from any thread.
"""

import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ticdc_encoder.errors import TicdcError

from ticdc_consumer.config.redact import redact
from ticdc_consumer.state.activity.activity import (
    Activity,
    CutActivity,
    PartitionActivity,
    RateSample,
    Stage,
    Trouble,
    WaitingDdl,
)
from ticdc_consumer.state.checkpoint import Position

MOST = 1_000
"""Tables that are counted by their names, and partitions that are listed."""
RECENT = 50
"""Cuts whose seconds are summed."""
SAMPLES = 30
SAMPLE_EVERY = 10.0
"""Seconds between two samples."""

_RANK: Mapping[Stage, int] = {"applying": 1, "running DDL": 1, "retrying": 2}
"""Of stages that hold at once the highest is shown: the next cut is read while one is applied."""


@dataclass(slots=True)
class _Entered:
    stage: Stage
    detail: str
    since: float


class Monitor:
    """What one consumer is at."""

    def __init__(self, changefeed: str = "", release: str = "") -> None:
        self._changefeed, self._release = changefeed, release
        self._started = time.time()
        self._base = _Entered("starting", "", self._started)
        self._entered: list[_Entered] = []
        self._samples: deque[RateSample] = deque(maxlen=SAMPLES)
        self._recent: deque[tuple[float, Mapping[str, float]]] = deque(maxlen=RECENT)
        self._totals: dict[str, int] = {}
        self._tables: dict[str, list[int]] = {}
        self._positions: Mapping[tuple[str, int], Position] = {}
        self._ends: Mapping[tuple[str, int], int] = {}
        self._marks: Mapping[str, int] = {}
        self._committed: float | None = None
        self._cut: CutActivity | None = None
        self._ddls: tuple[WaitingDdl, ...] = ()
        self._retry: Trouble | None = None
        self._error: Trouble | None = None
        self._newest_message: float | None = None
        self.loaded: Callable[[], int] = lambda: 0
        """The rows of the cut that is applied which are in the transaction already."""
        self.generation = 0
        self.session = ""
        self.resolved_ts = 0
        self.displaced = ""
        self.unwritten = ""
        self.secrets: frozenset[str] = frozenset()
        """Masked in every error."""

    # --- what steps report ---------------------------------------------------------------------

    @contextmanager
    def at(self, stage: Stage, detail: str = "") -> Iterator[None]:
        """Inside, the consumer is at this stage."""
        entered = _Entered(stage, detail, time.time())
        self._entered.append(entered)
        try:
            yield
        finally:
            self._entered.remove(entered)

    def follows(self, last: Activity, running: bool) -> None:
        """The last consumer wrote this, and runs perhaps: this one takes over."""
        self._committed, self._error, self._ddls = last.committed, last.error, last.ddls
        same = (last.host, last.pid) == (platform.node(), os.getpid())
        self.displaced = last.who if running and not same else ""

    def waiting(
        self,
        newest_message: float | None,
        marks: Mapping[str, int],
        lacking: str = "for a resolved ts above R",
    ) -> None:
        """There is no cut: what is lacking has not come."""
        self._newest_message, self._marks = newest_message, marks
        if (self._base.stage, self._base.detail) != ("waiting", lacking):
            self._base = _Entered("waiting", lacking, time.time())
        self._sample()

    def planned(
        self, cut: CutActivity, ends: Mapping[tuple[str, int], int], marks: Mapping[str, int]
    ) -> None:
        """A cut is there, and what was listed for it."""
        self._ends, self._marks = ends, marks
        self._base = _Entered("planning", "", time.time())
        self._cut = cut

    def listed(self, ends: Mapping[tuple[str, int], int]) -> None:
        """Where the partitions end."""
        self._ends = ends

    def applies(self, changes: int) -> None:
        """The cut that was read is applied from here on."""
        self.loaded = lambda: 0
        if self._cut is not None:
            self._cut = replace(self._cut, changes=changes)

    def spilled(self) -> None:
        """The cut did not fit the memory that it may have."""
        self.count("spilled", 1)
        if self._cut is not None:
            self._cut = replace(self._cut, spilled=True)

    def reached(self, resolved_ts: int, positions: Mapping[tuple[str, int], Position]) -> None:
        """What the target holds, at a start."""
        self.resolved_ts, self._positions = resolved_ts, positions

    def committed(
        self,
        resolved_ts: int,
        positions: Mapping[tuple[str, int], Position],
        tables: Mapping[str, tuple[int, int]],
        seconds: Mapping[str, float],
    ) -> None:
        """A cut is in the target, and its DDL with it."""
        self.reached(resolved_ts, positions)
        self._committed = time.time()
        self._cut, self._retry, self._error = None, None, None
        self._recent.append((self._committed, dict(seconds)))
        for name, (deleted, written) in tables.items():
            known = name in self._tables or len(self._tables) < MOST
            sums = self._tables.setdefault(name if known else "", [0, 0])
            sums[0] += deleted
            sums[1] += written
        self._sample()

    def count(self, name: str, more: int) -> None:
        self._totals[name] = self._totals.get(name, 0) + more

    def waits_for_operator(self, ddls: Sequence[WaitingDdl]) -> None:
        """The pending DDL that the consumer cannot do; none once they are done."""
        self._ddls = tuple(ddls)

    def retries(self, error: BaseException) -> None:
        """Something failed for a passing reason, and is tried again."""
        self.count("retries", 1)
        trouble = self._trouble(error)
        before = self._retry
        same = before is not None and before.text == trouble.text
        if before is not None and same:
            trouble = replace(trouble, at=before.at, times=before.times + 1)
        self._retry = trouble

    def recovered(self) -> None:
        """What was tried again has worked."""
        self._retry = None

    def failed(self, error: BaseException) -> None:
        """The loop has ended by an error, which the program that embeds it may catch."""
        self._error = self._trouble(error)

    def stopped(self, error: BaseException | None = None) -> None:
        """The run has ended, by an error or as it was to."""
        self._entered.clear()
        self._base = _Entered("stopped", "" if error is None else "by an error", time.time())
        if error is not None:
            self.failed(error)

    # --- looking at it -------------------------------------------------------------------------

    def look(self) -> Activity:
        """What the consumer is at now."""
        now = time.time()
        entered = max(
            list(self._entered), key=lambda one: _RANK.get(one.stage, 0), default=self._base
        )
        cut = self._cut
        recent = list(self._recent)
        return Activity(
            changefeed=self._changefeed,
            generation=self.generation,
            stage=entered.stage,
            detail=entered.detail,
            since=entered.since,
            at=now,
            started=self._started,
            host=platform.node(),
            pid=os.getpid(),
            release=self._release,
            session=self.session,
            resolved_ts=self.resolved_ts,
            committed=self._committed,
            newest_ts=max(dict(self._marks).values(), default=0),
            newest_message=self._newest_message,
            cut=cut and replace(cut, rows_loaded=self.loaded()),
            partitions=self._partitions(),
            ddls=self._ddls,
            retry=self._retry,
            error=self._error,
            totals=dict(self._totals),
            tables={name: (a, b) for name, (a, b) in list(self._tables.items())},
            seconds=_summed([seconds for _, seconds in recent]),
            span=now - recent[0][0] + sum(recent[0][1].values()) if recent else 0.0,
            samples=tuple(self._samples),
            displaced=self.displaced,
            unwritten=self.unwritten,
        )

    @property
    def is_away(self) -> bool:
        """Whether the run ended because the target could not be reached."""
        return self._error is not None and self._error.kinds[0] == "Away"

    def _partitions(self) -> tuple[PartitionActivity, ...]:
        """The first thousand of those that are furthest behind."""
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

    def _sample(self) -> None:
        now = time.time()
        if self._samples and now - self._samples[-1].at < SAMPLE_EVERY:
            return
        newest = max(self._marks.values(), default=0)
        changes = self._totals.get("changes", 0)
        self._samples.append(RateSample(now, self.resolved_ts, newest, changes))

    def _trouble(self, error: BaseException) -> Trouble:
        # What is not ours may quote a row.
        text = str(error) if isinstance(error, TicdcError) else type(error).__name__
        text = redact(text, self.secrets)
        code = int(getattr(error, "exit_code", 3))
        return Trouble(_kinds(error), text, time.time(), code)


def _kinds(error: BaseException | None) -> tuple[str, ...]:
    kinds: list[str] = []
    while error is not None and len(kinds) < 8:
        kinds.append(type(error).__name__)
        error = error.__cause__
    return tuple(kinds)


def _summed(seconds: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for stages in seconds:
        for name, value in stages.items():
            sums[name] = sums.get(name, 0.0) + value
    return sums
