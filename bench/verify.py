"""How long `verify` takes, and what it holds, beside a plain read of the same rows.

    python bench/verify.py [--rows 250000] [--target postgresql,mariadb,sqlite] [--digests]

One table of 7 columns, equal on both sides: compared by the databases' digests where they have
them, then row by row; then both sides are counted, and read by `SELECT *`. With `--digests` only
the first. Servers make the rows themselves. Needs TIDB_URL, and the URLs of the servers among the
targets.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa
from servers import cpu_of, target_url, verdict
from support.databases import own_schema
from support.verified import Verified
from ticdc_consumer.commands.verify.pairs import Pair
from ticdc_consumer.commands.verify.verification import Request, verify
from ticdc_consumer.targets import open_target, read_back
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.tables import defined

CREATE = (
    "CREATE TABLE sales (id BIGINT PRIMARY KEY, customer INT, amount DECIMAL(12,2), "
    "name VARCHAR(40), note VARCHAR(80), sold_at DATETIME(3), weight DOUBLE)"
)
FIRST = (
    "INSERT INTO sales VALUES (0, 7, 12.50, 'a customer', 'delivered to a neighbour, in the rain', "
    "'2024-02-29 10:11:12.123', 0.1)"
)
GOAL, MOST_MEMORY = 25 / 60, 1024
"""Millions of rows per second by digests; MiB."""
MOST = 100_000
"""Rows of one statement."""
AT_ONCE = 2
"""Statements that fill a table at the same time."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--target", default="postgresql,mariadb,sqlite")
    parser.add_argument("--digests", action="store_true")
    arguments = parser.parse_args()
    print(
        f"{arguments.rows} rows; seconds, our CPU, millions of rows per second; where both servers "
        "are asked, their CPU, microseconds a row: TiDB, target"
    )
    with target_url("tidb") as upstream, tempfile.TemporaryDirectory() as folder:
        timed("TiDB: makes the rows", arguments.rows, lambda: fill(upstream, arguments.rows))
        for name in arguments.target.split(","):
            with target_url(name) as target:
                verified = Verified.of(upstream, target, Path(folder), None)
                resolved_ts = loaded(verified, name, arguments.rows)
                measure(name, verified, arguments.rows, resolved_ts - 1, arguments.digests)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"peak memory: {peak:.0f} MiB (goal: {MOST_MEMORY}) {verdict(peak < MOST_MEMORY)}; "
        f"load average {os.getloadavg()[0]:.0f}"
    )


def loaded(verified: Verified, name: str, rows: int) -> int:
    """R of a target that has the rows: a server makes them itself, faster than they are copied."""
    if name == "sqlite":
        return verified.load()
    with (
        reading(verified.upstream_url) as session,
        closing(open_target(verified.target_url)) as target,
    ):
        table = defined(session, str(sa.make_url(verified.upstream_url).database), "sales").table
        for statement in target.create_table(own_schema(verified.target_url), "sales", table):
            target.execute(statement).close()
    timed(f"{name}: makes the rows", rows, lambda: fill(verified.target_url, rows, create=()))
    return verified.load(fill=False)


def measure(name: str, verified: Verified, rows: int, snapshot_ts: int, digests: bool) -> None:
    def compared() -> None:
        (report,) = verify(verified.options, Request())
        assert report.equal and report.target_rows == rows

    urls = [verified.upstream_url, *([] if name == "sqlite" else [verified.target_url])]
    target = open_target(verified.target_url)
    if read_back(target.dialect).DIGEST is not None:
        seconds = timed(f"{name}: verify by digests", rows, compared, *urls)
        met = verdict(rows / seconds / 1e6 >= GOAL)
        print(f"goal: 25 million rows in 60 s: {met}", flush=True)
    if not digests:
        has_digests = Pair.has_digests
        Pair.has_digests = lambda *_: False  # type: ignore[method-assign]
        timed(f"{name}: verify row by row", rows, compared, *urls)
        Pair.has_digests = has_digests  # type: ignore[method-assign]
        read_plainly(name, verified, target, rows, snapshot_ts)
    target.close()


def read_plainly(
    name: str, verified: Verified, target: Target, rows: int, snapshot_ts: int
) -> None:
    with reading(verified.upstream_url, snapshot_ts) as session:
        timed("TiDB: SELECT COUNT(*)", rows, lambda: session.query("SELECT COUNT(*) FROM sales"))
        timed(
            "TiDB: SELECT *", rows, lambda: _read(session.stream("SELECT * FROM sales", (), 4096))
        )
    timed(f"{name}: SELECT COUNT(*)", rows, lambda: target.query("SELECT COUNT(*) FROM sales"))
    statement = "SELECT * FROM sales"
    timed(
        f"{name}: SELECT *", rows, lambda: _read(read_back(target.dialect).rows(target, statement))
    )


def timed(what: str, rows: int, work: Callable[[], object], *servers: str) -> float:
    """Seconds. Prints a line; at its end the CPU of these servers, microseconds a row."""
    before = [cpu_of(url) for url in servers]
    began, cpu = time.monotonic(), time.process_time()
    work()
    seconds, own = time.monotonic() - began, time.process_time() - cpu
    spent = (cpu_of(url) - first for url, first in zip(servers, before, strict=True))
    of_servers = "".join(f" {each / rows * 1e6:7.2f}" for each in spent)
    print(
        f"{what:36} {seconds:7.2f} {own:7.2f} {rows / seconds / 1e6:7.3f}{of_servers}", flush=True
    )
    return seconds


def _read(rows: object) -> None:
    for _ in rows:  # type: ignore[attr-defined]
        pass


def fill(url: str, rows: int, create: Iterable[str] = (CREATE,)) -> None:
    """The table `sales`. Equal in all databases that take the words of one of these."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    second = "INTERVAL '1 second'" if engine.name == "postgresql" else "INTERVAL 1 SECOND"
    following = (
        "INSERT INTO sales SELECT id + {0}, customer + 1, amount + 0.01, CONCAT('customer ', id), "
        f"note, sold_at + {second}, weight * 1.1 FROM sales WHERE id < {{1}}"
    )

    def copied(first: int) -> None:
        execute(engine, following.format(first, min(MOST, rows - first)))

    execute(engine, *create, FIRST)
    count = 1
    while count < min(rows, MOST):
        execute(engine, following.format(count, min(count, rows - count, MOST - count)))
        count += min(count, rows - count, MOST - count)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(copied, range(MOST, rows, MOST)))


def execute(engine: sa.Engine, *statements: str) -> None:
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


if __name__ == "__main__":
    main()
