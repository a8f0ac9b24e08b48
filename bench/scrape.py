"""What metrics cost: CPU of a commit that is counted, and of a scrape, by tables and partitions.

    python bench/scrape.py [--every 15]

Needs no server. Fails if scrapes that often, and commits of a second each, take 1 % of a core.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from ticdc_consumer.state.checkpoint import Position
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.metrics.collector import register

SIZES = ((10, 8), (1_000, 64), (1_000, 1_000))
GOAL = 0.01
R = 1 << 58
TIMES = 50


def milliseconds(work: Callable[[], object]) -> float:
    """Of CPU, each time."""
    started = time.process_time()
    for _ in range(TIMES):
        work()
    return (time.process_time() - started) / TIMES * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=float, default=15.0, help="seconds between two scrapes")
    every = parser.parse_args().every
    for tables, partitions in SIZES:
        monitor, registry = Monitor(), CollectorRegistry()
        register(registry, "bench", monitor.look)
        positions = {("t", n): Position("t", "", n, n) for n in range(partitions)}
        rows = {f"shop.t{n}": (1, 1) for n in range(tables)}
        seconds = {"plan": 0.1, "read": 0.4, "load": 0.5}
        totals = {"cuts": 1, "changes": 90_000}
        monitor.reached(R, positions)
        counted = milliseconds(partial(monitor.committed, R, positions, totals, rows, seconds))
        scraped = milliseconds(partial(generate_latest, registry))
        share = (counted + scraped / every) / 1000
        print(
            f"{tables:,} tables, {partitions:,} partitions: {counted:.2f} ms per commit, "
            f"{scraped:.1f} ms per scrape: {share:.2%} of a core"
        )
        assert share < GOAL


if __name__ == "__main__":
    main()
