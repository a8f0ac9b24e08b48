"""What a run tells while it goes on: one line a second at most, and a sum that adds up."""

import time
from collections.abc import Iterator
from typing import TextIO

from ticdc_encoder.tso import duration, lag, with_time

from ticdc_consumer.dry_run import PlannedCut
from ticdc_consumer.epoch import Epoch

EVERY = 1.0
LONGEST_QUERY = 120


class Tally:
    """Sums over epochs."""

    def __init__(self) -> None:
        self.epochs = self.messages = self.changes = self.duplicates = self.replays = 0
        self.deleted = self.written = self.cleared = self.missing = 0

    def add(self, epoch: Epoch) -> None:
        self.epochs += 1
        self.messages += epoch.messages
        self.changes += epoch.changes
        self.duplicates += epoch.duplicates
        self.replays += epoch.replays
        for counts in epoch.tables.values():
            self.deleted += counts.deleted
            self.written += counts.upserted
            self.cleared += counts.cleared
            self.missing += counts.missing

    def __str__(self) -> str:
        cleared = f", {self.cleared:,} drifted rows cleared" if self.cleared else ""
        missing = f", {self.missing:,} rows to delete not there" if self.missing else ""
        return (
            f"{self.messages:,} messages, {self.changes:,} changes ({self.duplicates:,} of them "
            f"repeated), {self.replays:,} replays, {self.deleted:,} rows deleted, "
            f"{self.written:,} written{cleared}{missing}"
        )


class Progress:
    """Lines about the epochs since the last line; `sum_up` tells all of them together."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._all = Tally()
        self._recent = Tally()
        self._began = self._told = time.monotonic()
        self._resolved_ts: int | None = None

    def tell(self, epoch: Epoch) -> None:
        self._resolved_ts = epoch.resolved_ts
        self._all.add(epoch)
        self._recent.add(epoch)
        for entry in epoch.ddls:
            query = " ".join(entry.query.split())[:LONGEST_QUERY]
            what = f"DDL {entry.id} in {entry.schema or '-'}: {query}"
            self._line(f"{what}; skipped: {entry.reason}" if entry.reason else what)
        for row in epoch.corrupted_rows:
            self._line(f"warning: {row}")
        if more := epoch.corrupted - len(epoch.corrupted_rows):
            self._line(f"warning: {more:,} rows more are not what their checksums say")
        now = time.monotonic()
        if now - self._told >= EVERY:
            rate = self._recent.changes / (now - self._told)
            self._line(
                f"R {with_time(epoch.resolved_ts)}, lag {duration(lag(epoch.resolved_ts))}, "
                f"{rate:,.0f} changes/s: {self._recent}"
            )
            self._recent = Tally()
            self._told = now

    def sum_up(self, why: str) -> None:
        seconds = max(1e-9, time.monotonic() - self._began)
        if self._resolved_ts is None:
            was = "there to apply" if why == "done" else "applied"
            self._line(f"{why}: nothing was {was}")
            return
        self._line(
            f"{why}: R {with_time(self._resolved_ts)} after {self._all.epochs:,} cuts in "
            f"{duration(seconds)}, {self._all.changes / seconds:,.0f} changes/s: {self._all}"
        )

    def _line(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def planned(cut: PlannedCut) -> Iterator[str]:
    """What a cut would do, for people."""
    if cut.resolved_ts > cut.begin:
        yield f"cut to R {with_time(cut.resolved_ts)}: {cut.rows:,} rows"
    for name, rows in sorted(cut.tables.items()):
        what = f"{rows.inserted:,} inserted, {rows.updated:,} updated"
        if not rows.compared:
            what = f"{rows.inserted:,} written"
        yield f"  {name}: {what}, {rows.deleted:,} deleted"
    for pattern in cut.left_out:
        yield f"  {pattern}: not counted, since its rows wait for a DDL before them"
    yield from (f"  {statement};" for statement in cut.statements)
    for ddl in cut.ddls:
        entry = ddl.entry
        yield f"  DDL {entry.id} in {entry.schema or '-'}: {' '.join(entry.query.split())}"
        yield from (f"    {statement};" for statement in ddl.statements)
        if not ddl.statements:
            yield f"    {ddl.note or 'nothing to do in this target'}"
