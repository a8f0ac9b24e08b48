"""Everything in one process: a shop, a Kafka, the consumer, and a reader who watches the tables.

Only the brokers are not real: they are librdkafka's mock.
"""

import math
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TextIO

import sqlalchemy as sa
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.testing.disturbance import Disturbance
from ticdc_encoder.testing.shop import SCHEMA, TABLES, Key, Shop

from ticdc_consumer import config
from ticdc_consumer.cli.progress import RunTotals
from ticdc_consumer.cli.signals import end_by, stopping
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.protocols import PROTOCOLS
from ticdc_consumer.state.schema import OWN_TABLES
from ticdc_consumer.targets import open_target
from ticdc_consumer.testing.audit import Audit, ShopTables
from ticdc_consumer.testing.mock_kafka import MockKafka
from ticdc_consumer.testing.upstream import PARTITIONS, TOPIC, Upstream

CUTS = 12
"""Approximate number of cuts of the demo, whatever the number of rows."""

PAUSE = 0.5
"""Seconds between two resolved ts of a demo without end."""
PAGE_HOST = "127.0.0.1"

DISPATCHERS = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}


def demo(
    rows: int,
    protocol: str,
    target_url: str | None,
    seed: int = 1,
    page: int | None = None,
    out: TextIO = sys.stdout,
) -> None:
    """Runs the demo. With `page`, it serves the consumer's page at that port of this machine and
    ends only on a signal. Raises `Stop` unless every table equals the upstream's at the end and the
    reader never saw a torn transaction."""
    screen = _Screen(out)
    with ExitStack() as stack:
        is_temporary = target_url is None
        if target_url is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ticdc-demo-"))
            target_url = f"sqlite:///{Path(folder, 'shop.db')}"
        else:
            _require_empty(target_url)
        kafka = stack.enter_context(MockKafka())
        kafka.create_topic(TOPIC, PARTITIONS)
        options = _options(kafka.bootstrap, protocol, target_url, rows, page)
        shop = Shop(seed, clock=lambda: time.time_ns() // 1_000_000)
        upstream = _upstream(shop, protocol, kafka.bootstrap, rows, seed, page)
        database = sa.make_url(target_url).render_as_string()
        until = ", which is removed at the end" if is_temporary else ""
        screen.line(
            f"a shop's changes, as {protocol}, go through Kafka and Spark into {database}{until}"
        )
        screen.line("starting Spark ...")
        consumer = Consumer(options)
        ends = consumer.stop if page is None else upstream.finish
        signals = stack.enter_context(stopping(ends))
        stack.enter_context(consumer)
        if page is not None:
            screen.line(f"the page is http://{PAGE_HOST}:{page}/; Ctrl-C ends the demo")
        tables = ShopTables.of(options, consumer.target)
        stack.callback(tables.engine.dispose)
        audit = Audit(options.changefeed, tables, shop.total)
        totals, seconds = _consume(consumer, upstream, audit, screen)
        if signals and page is None:
            end_by(signals[0])
        differing = {name: tables.compare(shop, name) for name in TABLES}
        _report(screen, shop, differing)
        for name, value in _figures(totals, seconds, upstream, audit):
            screen.line(f"{name:<36}{value:>12,}")
        if audit.torn or any(differing.values()):
            raise Stop(
                "the target does not equal the upstream now, or did not at an earlier commit"
            )
        screen.line(f"every table equals the upstream at R = {upstream.final}")


def _upstream(
    shop: Shop, protocol: str, bootstrap: str, rows: int, seed: int, page: int | None
) -> Upstream:
    changefeed = Changefeed(
        f"kafka://{bootstrap}/{TOPIC}?protocol={protocol}"
        f"&partition-num={PARTITIONS}&enable-tidb-extension=true",
        DISPATCHERS,
        new_architecture=True,
    )
    disturbance = Disturbance(seed)
    if page is None:
        return Upstream(shop, changefeed, disturbance, bootstrap, rows)
    return Upstream(shop, changefeed, disturbance, bootstrap, math.inf, PAUSE)


def _report(screen: "_Screen", shop: Shop, differing: Mapping[str, Sequence[Key]]) -> None:
    for name, keys in differing.items():
        verdict = f"{len(keys):,} keys differ, one is {keys[0]}" if keys else "equal to upstream"
        screen.line(f"{name:<36}{len(shop.rows[name]):>12,} rows, {verdict}")


def _require_empty(target_url: str) -> None:
    """Raises `Usage` if the database has a consumer's position, such as an earlier demo's."""
    with closing(open_target(target_url)) as target:
        existing = {name.lower() for name in sa.inspect(target.connection).get_table_names()}
    if existing & OWN_TABLES:
        raise Usage(
            "the demo needs an empty database; a consumer or an earlier demo has used this one"
        )


def _options(
    bootstrap: str, protocol: str, target_url: str, rows: int, page: int | None
) -> Settings:
    settings: dict[str, object] = {
        "changefeed": "demo",
        "protocol": protocol,
        "kafka.topics": [TOPIC],
        "kafka.bootstrap.servers": bootstrap,
        # The cluster ends before its last client, which would log its end.
        "kafka.log_level": 2,
        "target.url": target_url,
        "limits.rows_per_epoch": max(1, rows // CUTS),
        "spark.start": "at-once",
    }
    settings |= PROTOCOLS[protocol].demo or {}
    if page is not None:
        settings["metrics.listen"] = f"{PAGE_HOST}:{page}"
    if target_url.startswith(("mysql", "mariadb")):
        # Only into the database of the URL.
        database = (sa.make_url(target_url).database or "").replace("`", "``")
        settings["tables.route"] = {f"{SCHEMA}.*": f"`{database}`.{{table}}"}
    return config.Settings.of(settings)


def _consume(
    consumer: Consumer, upstream: Upstream, audit: Audit, screen: "_Screen"
) -> tuple[RunTotals, float]:
    """Applies all that the upstream sends; returns the sums and the seconds taken."""
    totals, began = RunTotals(), time.monotonic()
    with ThreadPoolExecutor(2) as threads:
        try:
            running = [threads.submit(upstream.run), threads.submit(audit.run)]
            for thread in running:
                thread.add_done_callback(lambda done: consumer.stop() if done.exception() else None)
            for epoch in consumer.epochs():
                totals.add(epoch)
                upstream.applied(epoch.resolved_ts)
                applied = totals.changes - totals.duplicates
                rate = applied / (time.monotonic() - began)
                screen.progress(
                    f"R {epoch.resolved_ts}: {applied:,} changes applied, {rate:,.0f}/s; "
                    f"{totals.duplicates + totals.replays:,} repeats dropped; "
                    f"{audit.looks:,} checks"
                )
                if upstream.final is not None and epoch.resolved_ts >= upstream.final:
                    break
            seconds = time.monotonic() - began
        finally:
            upstream.stop()
            audit.stop()
    for thread in running:
        thread.result()
    screen.end()
    return totals, seconds


def _figures(
    totals: RunTotals, seconds: float, upstream: Upstream, audit: Audit
) -> Iterator[tuple[str, int]]:
    yield "upstream: transactions", upstream.transactions
    yield "upstream: rows changed", upstream.changes
    yield "Kafka: messages", upstream.disturbance.messages
    yield "Kafka: messages sent again", upstream.disturbance.repeated
    yield "read: changes (a moved key is two)", totals.changes
    yield "read: dropped, duplicates", totals.duplicates
    yield "read: dropped, already applied", totals.replays
    yield "target: transactions", totals.epochs
    yield "target: rows deleted", totals.deleted
    yield "target: rows written", totals.written
    yield "rows changed upstream, per second", round(upstream.changes / seconds)
    yield "checks by a second reader", audit.looks
    yield "torn transactions that it saw", audit.torn


class _Screen:
    """Prints lines; on a terminal, the progress is one line that is overwritten."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = out.isatty()
        self._printed_at = 0.0

    def line(self, text: str) -> None:
        print(text, file=self._out, flush=True)

    def progress(self, text: str) -> None:
        if self._live:
            columns = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{text[:columns]}", end="", file=self._out, flush=True)
        elif time.monotonic() - self._printed_at >= 1.0:
            self._printed_at = time.monotonic()
            self.line(text)

    def end(self) -> None:
        if self._live:
            self.line("")
