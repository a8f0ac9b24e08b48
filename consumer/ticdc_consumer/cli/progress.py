"""Log lines of a run: at most one every ten seconds, and a sum at the end."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread

from ticdc_encoder.counted import counted
from ticdc_encoder.tso import duration, lag, with_time

from ticdc_consumer.cli.output import record_of
from ticdc_consumer.cut.epoch import Epoch
from ticdc_consumer.ddl.known_views import is_create, warning_of
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.status.activity.activity import Activity

logger = logging.getLogger(__name__)

SECONDS_PER_LINE = 10.0
SECONDS_OF_SILENCE = 30.0
"""Silence after which a run that commits nothing prints its activity, repeatedly."""
SECONDS_TO_FIRST_WORD = 10.0
"""The same before the first line: a user who has just started the run waits for a sign."""
SECONDS_TO_PASS = 60.0
"""Time after which a run warns that its filter has let nothing pass; it always warns at its end."""
NAMED = 5
"""Number of filtered-out tables to name."""


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

    def fields(self) -> dict[str, object]:
        """The sums for a log record."""
        return {
            "messages": self.messages,
            "changes": self.changes,
            "duplicates": self.duplicates,
            "replays": self.replays,
            "rows_deleted": self.deleted,
            "rows_written": self.written,
            "rows_cleared": self.cleared,
            "rows_missing": self.missing,
            "rows_left_out": self.left_out.total(),
        }

    def __str__(self) -> str:
        text = f"{counted(self.messages, 'message')}, {counted(self.changes, 'change')}"
        left_out = self.left_out.total()
        for count, part in (
            (self.duplicates, f"{self.duplicates:,} repeated"),
            (self.replays, counted(self.replays, "replay")),
            (self.deleted, f"{counted(self.deleted, 'row')} deleted"),
            (self.written, f"{counted(self.written, 'row')} written"),
            (self.cleared, f"{counted(self.cleared, 'drifted row')} cleared"),
            (self.missing, f"{counted(self.missing, 'row')} to delete that did not exist"),
            (left_out, f"{left_out:,} left out by the filter"),
        ):
            text += f", {part}" if count else ""
        return text


def nothing_passes(left_out: Counter[str]) -> str:
    """The warning that the filter let no row pass, with the tables of most rows."""
    named = [(name, rows) for name, rows in left_out.most_common() if name][:NAMED]
    tables = ", ".join(f"{name} ({rows:,})" for name, rows in named)
    if len(named) < len(left_out):
        tables += " and others"
    return (
        f"warning: no row has passed the filter; it left out "
        f"{counted(left_out.total(), 'row')}: {tables}; see [tables] filter"
    )


class RunProgress:
    """Logs the epochs since the last line, the first at once; `sum_up` logs all of them together.
    Inside `watching`, a run that commits nothing logs its activity."""

    def __init__(self) -> None:
        self._next_silence = min(SECONDS_OF_SILENCE, SECONDS_TO_FIRST_WORD)
        self._all = RunTotals()
        self._recent = RunTotals()
        self._began = self._printed_at = self._next_line = self._spoke_at = time.monotonic()
        self._resolved_ts: int | None = None
        self._applying_since: float | None = None
        self._warned = False

    def report(self, epoch: Epoch) -> None:
        self._resolved_ts = epoch.resolved_ts
        self._all.add(epoch)
        self._recent.add(epoch)
        for entry in epoch.ddls:
            self._report_ddl(entry)
        for row in epoch.corrupted_rows:
            self._log("corrupted_row", f"warning: {row}", record_of(row), logging.WARNING)
        if more := epoch.corrupted - len(epoch.corrupted_rows):
            text = f"warning: {counted(more, 'more row')} with a wrong checksum"
            self._log("corrupted_rows", text, {"rows": more}, logging.WARNING)
        now = time.monotonic()
        if epoch.changes and self._applying_since is None:
            self._applying_since = max(self._began, now - epoch.seconds)
        if now - self._began >= SECONDS_TO_PASS and not self._warned:
            self._warned = True
            self._warn()
        if now >= self._next_line:
            self._report_progress(epoch.resolved_ts, now)

    def _report_ddl(self, entry: LedgerEntry) -> None:
        text = f"DDL {entry.id} in {entry.schema or '-'}: {entry.short_query}"
        skipped = entry.state == "skipped"
        fields: dict[str, object] = {
            "commit_ts": entry.commit_ts,
            "number": entry.seq,
            "table": f"{entry.schema}.{entry.table}",
            "state": entry.state,
            "query": entry.short_query,
            "reason": entry.reason if skipped else None,
        }
        if skipped and is_create(entry):
            self._log("view_left_out", warning_of(entry), fields, logging.WARNING)
            return
        self._log("ddl", f"{text}; skipped: {entry.reason}" if skipped else text, fields)

    def _report_progress(self, resolved_ts: int, now: float) -> None:
        seconds, behind = now - self._printed_at, lag(resolved_ts)
        rate = self._recent.changes / max(1e-9, seconds)
        fields = {
            "resolved_ts": resolved_ts,
            "lag_seconds": behind,
            "seconds": seconds,
            "changes_per_second": rate,
            **self._recent.fields(),
        }
        text = f"R {with_time(resolved_ts)}, lag {duration(behind)}, {rate:,.0f} changes/s"
        self._log("progress", f"{text}: {self._recent}", fields)
        self._recent = RunTotals()
        self._printed_at, self._next_line = now, now + SECONDS_PER_LINE

    @contextmanager
    def watching(self, activity: Callable[[], Activity]) -> Iterator[None]:
        """Logs the consumer's activity, inside the block, whenever nothing was logged for a
        while.
        """
        ends = Event()

        def watch() -> None:
            while not ends.wait(max(0.0, self._spoke_at + self._next_silence - time.monotonic())):
                if time.monotonic() - self._spoke_at >= self._next_silence:
                    self._report_activity(activity())

        thread = Thread(target=watch, name="ticdc-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ends.set()
            thread.join()

    def _report_activity(self, now: Activity) -> None:
        fields = {
            "resolved_ts": now.resolved_ts or None,
            "stage": now.stage,
            "detail": now.detail,
            "seconds": now.at - now.since,
        }
        behind = f"R {with_time(now.resolved_ts)}, " if now.resolved_ts else ""
        self._log("activity", f"{behind}{now.sentence}", fields)

    def sum_up(self, why: str) -> None:
        seconds = max(1e-9, time.monotonic() - self._began)
        if self._resolved_ts is None:
            nothing = "there was nothing to apply" if why == "done" else "nothing was applied"
            self._log("ended", f"{why}: {nothing}", {"reason": why, "seconds": seconds})
            return
        since = self._began if self._applying_since is None else self._applying_since
        rate = self._all.changes / max(1e-9, time.monotonic() - since)
        fields = {
            "reason": why,
            "resolved_ts": self._resolved_ts,
            "seconds": seconds,
            "changes_per_second": rate,
            "cuts": self._all.epochs,
            **self._all.fields(),
        }
        text = f"{why}: R {with_time(self._resolved_ts)} after {counted(self._all.epochs, 'cut')} "
        text += f"in {duration(seconds)}, {rate:,.0f} changes/s: {self._all}"
        self._log("ended", text, fields)
        self._warn()

    def _warn(self) -> None:
        if self._all.left_out and not self._all.changes:
            fields = {"rows_left_out": self._all.left_out.total()}
            text = nothing_passes(self._all.left_out)
            self._log("nothing_passes_the_filter", text, fields, logging.WARNING)

    def _log(
        self, event: str, text: str, fields: Mapping[str, object], level: int = logging.INFO
    ) -> None:
        self._spoke_at, self._next_silence = time.monotonic(), SECONDS_OF_SILENCE
        logger.log(level, "%s", text, extra={"event": event, **fields})
