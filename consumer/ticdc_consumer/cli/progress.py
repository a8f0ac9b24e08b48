"""What a run prints while it goes on: at most one line a second, and a sum at the end."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TextIO

from ticdc_encoder.errors import visible
from ticdc_encoder.tso import duration, lag, with_time

from ticdc_consumer.dry_run import PlannedCut
from ticdc_consumer.epoch import Epoch
from ticdc_consumer.state.activity.activity import Activity

SECONDS_PER_LINE = 1.0
SECONDS_OF_SILENCE = 30.0
"""After which a run that commits nothing prints what it is at, and again after each."""
SECONDS_TO_PASS = 60.0
"""After which a run that goes on warns that its filter has let nothing pass; at its end it always
does."""
NAMED = 5
"""Tables of those that a filter leaves out."""


class RunTotals:
    """Sums over epochs."""

    def __init__(self) -> None:
        self.epochs = self.messages = self.changes = self.duplicates = self.replays = 0
        self.deleted = self.written = self.cleared = self.missing = 0
        self.left_out: Counter[str] = Counter()

    def add(self, epoch: Epoch) -> None:
        self.epochs += 1
        self.messages += epoch.messages
        self.changes += epoch.changes
        self.duplicates += epoch.duplicates
        self.replays += epoch.replays
        self.left_out.update(epoch.left_out)
        for counts in epoch.tables.values():
            self.deleted += counts.deleted
            self.written += counts.upserted
            self.cleared += counts.cleared
            self.missing += counts.missing

    def __str__(self) -> str:
        cleared = f", {self.cleared:,} drifted rows cleared" if self.cleared else ""
        missing = f", {self.missing:,} rows to delete that did not exist" if self.missing else ""
        left_out = f", {self.left_out.total():,} left out by the filter" if self.left_out else ""
        return (
            f"{self.messages:,} messages, {self.changes:,} changes ({self.duplicates:,} of them "
            f"repeated), {self.replays:,} replays, {self.deleted:,} rows deleted, "
            f"{self.written:,} written{cleared}{missing}{left_out}"
        )


def nothing_passes(left_out: Counter[str]) -> str:
    """The warning that the filter let no row pass, with the tables of most rows."""
    named = [(name, rows) for name, rows in left_out.most_common() if name][:NAMED]
    tables = ", ".join(f"{name} ({rows:,})" for name, rows in named)
    if len(named) < len(left_out):
        tables += " and others"
    return (
        f"warning: the filter lets no table pass that rows came of; it left out "
        f"{left_out.total():,} rows: {tables}; see [tables] filter"
    )


class RunProgress:
    """Prints lines about the epochs since the last line, the first at once; `sum_up` prints all of
    them together. Inside `watching`, a run that commits nothing prints what it is at."""

    def __init__(self, out: TextIO, quiet_for: float = SECONDS_OF_SILENCE) -> None:
        self._out = out
        self._quiet_for = quiet_for
        self._all = RunTotals()
        self._recent = RunTotals()
        self._began = self._printed_at = self._next_line = self._spoke_at = time.monotonic()
        self._resolved_ts: int | None = None
        self._warned = False

    def report(self, epoch: Epoch) -> None:
        self._resolved_ts = epoch.resolved_ts
        self._all.add(epoch)
        self._recent.add(epoch)
        for entry in epoch.ddls:
            line = f"DDL {entry.id} in {entry.schema or '-'}: {entry.short_query}"
            skipped = entry.state == "skipped"
            self._line(f"{line}; skipped: {entry.reason}" if skipped else line)
        for row in epoch.corrupted_rows:
            self._line(f"warning: {row}")
        if more := epoch.corrupted - len(epoch.corrupted_rows):
            self._line(f"warning: {more:,} more rows do not match their checksums")
        now = time.monotonic()
        if now - self._began >= SECONDS_TO_PASS and not self._warned:
            self._warned = True
            self._warn()
        if now >= self._next_line:
            rate = self._recent.changes / max(1e-9, now - self._printed_at)
            self._line(
                f"R {with_time(epoch.resolved_ts)}, lag {duration(lag(epoch.resolved_ts))}, "
                f"{rate:,.0f} changes/s: {self._recent}"
            )
            self._recent = RunTotals()
            self._printed_at, self._next_line = now, now + SECONDS_PER_LINE

    @contextmanager
    def watching(self, activity: Callable[[], Activity]) -> Iterator[None]:
        """Inside, prints what the consumer is at whenever nothing was printed for a while."""
        ends = Event()

        def watch() -> None:
            while not ends.wait(max(0.0, self._spoke_at + self._quiet_for - time.monotonic())):
                if time.monotonic() - self._spoke_at >= self._quiet_for:
                    now = activity()
                    behind = f"R {with_time(now.resolved_ts)}, " if now.resolved_ts else ""
                    self._line(f"{behind}{now.sentence}")

        thread = Thread(target=watch, name="ticdc-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ends.set()
            thread.join()

    def sum_up(self, why: str) -> None:
        seconds = max(1e-9, time.monotonic() - self._began)
        if self._resolved_ts is None:
            nothing = "there was nothing to apply" if why == "done" else "nothing was applied"
            self._line(f"{why}: {nothing}")
            return
        self._line(
            f"{why}: R {with_time(self._resolved_ts)} after {self._all.epochs:,} cuts in "
            f"{duration(seconds)}, {self._all.changes / seconds:,.0f} changes/s: {self._all}"
        )
        self._warn()

    def _warn(self) -> None:
        if self._all.left_out and not self._all.changes:
            self._line(nothing_passes(self._all.left_out))

    def _line(self, text: str) -> None:
        self._spoke_at = time.monotonic()
        print(visible(text), file=self._out, flush=True)


def planned(cut: PlannedCut) -> Iterator[str]:
    """What a cut would do, in lines for an operator."""
    if cut.resolved_ts > cut.begin:
        yield f"cut to R {with_time(cut.resolved_ts)}: {cut.rows:,} rows"
    for name, rows in sorted(cut.tables.items()):
        what = f"{rows.inserted:,} inserted, {rows.updated:,} updated"
        if not rows.compared:
            what = f"{rows.inserted:,} written"
        yield f"  {name}: {what}, {rows.deleted:,} deleted"
    for pattern in cut.left_out:
        yield f"  {pattern}: not counted, since its rows wait for the DDL before them"
    yield from (f"  {statement};" for statement in cut.statements)
    for ddl in cut.ddls:
        entry = ddl.entry
        yield f"  DDL {entry.id} in {entry.schema or '-'}: {' '.join(entry.query.split())}"
        yield from (f"    {statement};" for statement in ddl.statements)
        if not ddl.statements:
            yield f"    {ddl.note or 'nothing to do in this target'}"
