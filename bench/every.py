"""What `[verify] every` costs a run: CPU of the consumer, of TiDB and of the target, with it and
without it.

    python bench/every.py [--rows 250000] [--target postgresql] [--turns 24] [--every 2]

One table of 7 columns waits to be compared, while money moves between the rows of another one. A
day is as short as all turns take, so that each run compares every row once, as a day does: what
the run with `every` takes more is what a day costs. Needs TIDB_URL, and the target's URL.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from load import options_of
from servers import cpu_of, target_url, verdict
from support import brokers
from support.moved_money import Workload
from support.torture_topics import Feed
from ticdc_consumer.commands.load.loading import load
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.commands.verify import share
from ticdc_consumer.config.options import Settings
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.snapshot import current_ts
from verify import fill

GOAL = 0.05
"""Of the CPU of a core."""
ROWS = 25_000_000
"""Rows of the upstream that the goal is of."""


@dataclass
class Ran:
    cpu: tuple[float, float, float]
    """Seconds: the consumer with the workload, TiDB, the target."""
    changes: int
    compared: dict[float, int]
    """Rows, by the time of the turn."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--target", default="postgresql")
    parser.add_argument("--turns", type=int, default=24)
    parser.add_argument("--every", type=float, default=2.0)
    arguments = parser.parse_args()
    share.DAY = arguments.turns * arguments.every
    with (
        brokers.mock() as kafka,
        target_url("tidb") as upstream,
        target_url(arguments.target) as target,
    ):
        fill(upstream, arguments.rows)
        feed = Feed(kafka)
        with reading(upstream) as now:
            feed.resolve(current_ts(now))
        options = options_of(upstream, target, feed)
        load(options)

        def cpu() -> tuple[float, float, float]:
            return time.process_time(), cpu_of(upstream), cpu_of(target)

        workload = Workload(upstream, feed)
        workload.begin()
        try:
            run(options, cpu, share.DAY / 4)  # what happens but once
            without = run(options, cpu, share.DAY)
            beside = run(replace(options, verify_every=arguments.every), cpu, share.DAY)
        finally:
            workload.end()
    report(arguments.target, without, beside)


def run(options: Settings, cpu: Callable[[], tuple[float, float, float]], seconds: float) -> Ran:
    before, changes, compared = cpu(), 0, dict[float, int]()
    until = time.monotonic() + seconds
    with Consumer(options) as consumer:
        for epoch in consumer:
            changes += epoch.rows
            verified = consumer.activity.verified
            if verified is not None:
                assert not verified.failed and not verified.differing, verified
                compared[verified.at] = verified.rows
            if time.monotonic() > until:
                consumer.stop()
    first, second, third = (b - a for a, b in zip(before, cpu(), strict=True))
    return Ran((first, second, third), changes, compared)


def report(target: str, without: Ran, beside: Ran) -> None:
    rows = sum(beside.compared.values())
    print(
        f"{target}: CPU seconds of {share.DAY:.0f} s: consumer and workload, TiDB, target; changes"
    )
    for name, ran in (("without", without), ("with", beside)):
        print(f"{name:8}", *(f"{seconds:6.1f}" for seconds in ran.cpu), f"{ran.changes:8}")
    more = sum(beside.cpu) - sum(without.cpu)
    of_core = more / max(1, rows) * ROWS / 86_400
    print(
        f"{rows} rows compared in {len(beside.compared)} turns: {more:.1f} s, "
        f"{more / max(1, rows) * 1e6:.1f} us a row; {ROWS} rows a day: {of_core:.2%} of a core "
        f"(goal: {GOAL:.0%}) {verdict(of_core < GOAL)}; load average {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
