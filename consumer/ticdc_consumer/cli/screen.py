"""Coloured, aligned output for terminals; pipes, `NO_COLOR` and `--json` get plain text."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text
from ticdc_encoder.cli.output import standard_output
from ticdc_encoder.errors import visible
from ticdc_encoder.tso import duration, lag, moment

from ticdc_consumer.cli.logs import handler
from ticdc_consumer.cli.masking import masked
from ticdc_consumer.cli.planned import beside_tables
from ticdc_consumer.cli.run_speed import RunSpeed
from ticdc_consumer.commands.check.finding import Finding
from ticdc_consumer.commands.plan import PlannedCut
from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.reading import Status
from ticdc_consumer.status.text import rows_of

LEVELS = {"ok": "green", "warn": "yellow", "fail": "bold red"}
BAD = ("DDL pending", "last error", "because")
REFRESHES = 4.0
"""Updates of the live line per second."""
BY_LINE = frozenset({"progress", "activity"})
"""Events that the live line replaces."""


def console_of(stream: TextIO) -> Console:
    return Console(file=stream, highlight=False, markup=False, emoji=False)


def _text(text: str, style: str = "") -> Text:
    return Text(visible(masked(text)), style)


def _print(shape: Table | Text) -> None:
    with standard_output():
        console_of(sys.stdout).print(shape)


def _grid(*widths: int) -> Table:
    """Columns of fixed width, and one that takes the rest of the line."""
    grid = Table.grid(padding=(0, 1), expand=True)
    for width in widths:
        grid.add_column(width=width)
    grid.add_column(ratio=1, overflow="fold")
    return grid


def print_finding(finding: Finding) -> None:
    """Prints a finding of `check` as soon as it is known."""
    grid = _grid(4, 24)
    level = _text(finding.level, LEVELS[finding.level])
    grid.add_row(level, _text(finding.subject, "bold"), _text(finding.text))
    _print(grid)


def print_cut(cut: PlannedCut) -> None:
    """Prints a cut of `plan`: its tables with their counts, then the other lines."""
    if cut.resolved_ts > cut.begin:
        heading = f"cut to R {cut.resolved_ts} ({moment(cut.resolved_ts):%Y-%m-%d %H:%M:%S} UTC)"
        _print(_text(heading, "bold"))
        table = Table(box=None, header_style="dim")
        table.add_column("table")
        for name in ("inserted", "updated", "deleted"):
            table.add_column(name, justify="right")
        for name, rows in sorted(cut.tables.items()):
            updated = f"{rows.updated:,}" if rows.compared else "?"
            counts = (f"{rows.inserted:,}", updated, f"{rows.deleted:,}")
            table.add_row(_text(name), *map(_text, counts))
        _print(table)
    for line in beside_tables(cut):
        grid = _grid()
        stops = "would stop: " in line
        grid.add_row(_text(line, LEVELS["fail"] if stops else ""))
        _print(grid)


def print_status(status: Status, config: str) -> None:
    """Prints `status`: names and values, the tables, then the partitions."""
    grid = _grid(15)
    for name, value in rows_of(status, config):
        grid.add_row(_text(name, "bold"), _text(value, _style(status, name.strip())))
    _print(grid)
    if status.tables:
        tables = Table(box=None, header_style="dim")
        tables.add_column("table")
        tables.add_column("in the target", overflow="fold")
        for name in ("deleted", "written"):
            tables.add_column(name, justify="right")
        for each in status.tables:
            counts = ("" if n is None else f"{n:,}" for n in (each.deleted, each.written))
            tables.add_row(_text(each.name), _text(each.relation), *map(_text, counts))
        _print(tables)
    partitions = Table(box=None, header_style="dim")
    partitions.add_column("topic")
    for name in ("partition", "restart offset"):
        partitions.add_column(name, justify="right")
    for position in status.positions:
        numbers = (str(position.partition), str(position.restart_offset))
        partitions.add_row(_text(position.topic), *map(_text, numbers))
    _print(partitions)


def _style(status: Status, name: str) -> str:
    if name == "lag":
        return lag_style(status.lag_seconds)
    return LEVELS["fail"] if name in BAD else ""


def lag_style(seconds: float) -> str:
    if seconds < 10:
        return LEVELS["ok"]
    return LEVELS["warn"] if seconds < 60 else LEVELS["fail"]


def live_text(now: Activity, pace: RunSpeed, goal: int | None) -> Text:
    """The live line of a run."""
    if not now.resolved_ts:
        return _text(now.sentence)
    behind = lag(now.resolved_ts)
    line = Text.assemble(
        (f"R {moment(now.resolved_ts):%Y-%m-%d %H:%M:%S}", "bold"),
        "  lag ",
        (duration(behind), lag_style(behind)),
        f"  {pace.rate:,.0f} changes/s",
    )
    left = pace.seconds_left(behind, goal)
    if left is not None:
        line.append(f"  {'done' if goal else 'caught up'} in about {duration(left)}", "cyan")
    return line.append("  ").append_text(_text(now.sentence, "dim"))


@contextmanager
def live_line(activity: Callable[[], Activity], goal: int | None = None) -> Iterator[None]:
    """Shows the run's activity in the terminal's last line, inside the block; log lines go above
    it."""
    console, pace = console_of(sys.stderr), RunSpeed()

    def line() -> Text:
        now = activity()
        pace.add(time.monotonic(), now.resolved_ts, now.totals.get("changes", 0))
        text = live_text(now, pace, goal)
        text.truncate(max(1, console.width - 1), overflow="ellipsis")
        return text

    live = Live(
        get_renderable=line,
        console=console,
        refresh_per_second=REFRESHES,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with handler.through(lambda text: console.print(text, soft_wrap=True), BY_LINE), live:
        yield
