"""`[verify] every`: compares one share of the rows after another while the consumer runs."""

import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Event, Thread

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.verify.report import TableReport
from ticdc_consumer.commands.verify.share import Share
from ticdc_consumer.commands.verify.verification import Request, verify
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Drift
from ticdc_consumer.status.activity.activity import VerifiedShare
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.targets.layout import TableName

logger = logging.getLogger(__name__)

MOST = 100
"""Most differing rows that are searched for in a table."""
NAMED = 5
"""Most rows, and tables, that are named."""
_PAUSE = 0.5
_LAST_WORD = 5.0
"""Seconds given to a running comparison to end."""


class ContinuousVerification:
    """Compares in a separate thread and sessions. `monitor` learns the differences, and
    `require_none` raises them unless `target.on_drift` says to overwrite."""

    def __init__(self, options: Settings, monitor: Monitor) -> None:
        self._options = options
        self._monitor = monitor
        self._ends = Event()
        self._error: Exception | None = None
        self._thread = Thread(target=self._work, name="ticdc-verify", daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ends.set()
        self._thread.join(_LAST_WORD)

    def require_none(self) -> None:
        """Raises `Drift` once differing rows were found."""
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        every, last = self._options.verify_every, -1
        assert every is not None
        try:
            while self._error is None and not self._ends.wait(_PAUSE):
                turn = int(time.time() // every)
                if turn != last and self._monitor.resolved_ts:
                    self._compare(Share.at(time.time(), every))
                    last = turn
        except Exception as error:  # noqa: BLE001 - of any kind, a thread must not end unheard
            self._error = error  # the loop raises it

    def _reports(self, share: Share) -> Iterator[TableReport]:
        """Yields the reports. Differing tables are compared twice, at another R: one that `load
        --table` exchanged in the meantime is not wholly in the first state."""
        request = Request(MOST, sessions=1, share=share)
        unequal = set[TableName]()
        for report in verify(self._options, request):
            if report.differences:
                unequal.add(report.table)
            else:
                yield report
        if unequal:
            yield from verify(self._options, replace(request, only=frozenset(unequal)))

    def _compare(self, share: Share) -> None:
        reports, failed = list[TableReport](), ""
        try:
            reports += self._reports(share)
        except TicdcError as error:
            failed = str(error)
        # A table that cannot be compared does not count as different.
        unable = [each for each in reports if each.problem and not each.of_target]
        failed = failed or "; ".join(f"{each.name}: {each.problem}" for each in unable[:NAMED])
        unequal = [each for each in reports if each.differences or each.of_target]
        if self._ends.is_set() and failed:
            return
        verified = VerifiedShare(
            at=time.time(),
            number=share.number,
            shares=share.shares,
            resolved_ts=max((each.resolved_ts for each in reports), default=0),
            rows=sum(each.target_rows for each in reports),
            differing=sum(len(each.differences) or 1 for each in unequal),
            differs="; ".join(map(_named, unequal[:NAMED])),
            failed=failed,
        )
        self._monitor.verified(verified)
        if unequal and self._options.on_drift == "stop":
            self._error = _drift(verified)


def _named(report: TableReport) -> str:
    if report.of_target:
        return f"{report.name}: {report.problem}"
    keys = ", ".join(
        f"({', '.join(f'{name}={value}' for name, value in each.key)}) {each.kind}"
        for each in report.differences[:NAMED]
    )
    count = len(report.differences)
    rows = f"{'' if report.whole else 'at least '}{counted(count, 'row')}"
    return f"{report.name}: {rows}, {keys}{_more(count)}"


def _more(count: int) -> str:
    return ", ..." if count > NAMED else ""


def _drift(verified: VerifiedShare) -> Drift:
    return Drift(
        f"the target differs from the upstream at R = {with_time(verified.resolved_ts)}: "
        f"{verified.differs}. `ticdc-consumer verify CONFIG --repair` repairs it; with on_drift "
        '= "overwrite" a run continues and only reports it'
    )
