"""How long `verify` takes, and what it holds, beside a plain read of the same rows.

    python bench/verify.py [--rows 250000] [--target postgresql,mariadb,sqlite]

One table of 7 columns, equal on both sides: compared by the databases' digests where they have
them, then row by row; then both sides are counted, and read by `SELECT *`. Needs TIDB_URL, and the
URLs of the servers among the targets.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from servers import target_url
from support.verified import Verified
from ticdc_consumer.targets import open_target, read_back
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.verify.pairs import Pair
from ticdc_consumer.upstream.verify.verification import Request, verify

CREATE = (
    "CREATE TABLE sales (id BIGINT PRIMARY KEY, customer INT, amount DECIMAL(12,2), "
    "name VARCHAR(40), note VARCHAR(80), sold_at DATETIME(3), weight DOUBLE)"
)
FIRST = (
    "INSERT INTO sales VALUES (0, 7, 12.50, 'a customer', 'delivered to a neighbour, in the rain', "
    "'2024-02-29 10:11:12.123', 0.1)"
)
MOST = 100_000
"""Rows of one statement."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=250_000)
    parser.add_argument("--target", default="postgresql,mariadb,sqlite")
    arguments = parser.parse_args()
    print(f"{arguments.rows} rows; seconds, our CPU, millions of rows per second")
    with target_url("tidb") as upstream, tempfile.TemporaryDirectory() as folder:
        fill(upstream, arguments.rows)
        for name in arguments.target.split(","):
            with target_url(name) as target:
                verified = Verified.of(upstream, target, Path(folder), None)
                resolved_ts = verified.load()
                measure(name, verified, arguments.rows, resolved_ts - 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory, the loading included: {peak:.0f} MiB")


def measure(name: str, verified: Verified, rows: int, snapshot_ts: int) -> None:
    def compared() -> None:
        (report,) = verify(verified.options, Request())
        assert report.equal and report.target_rows == rows

    target = open_target(verified.target_url)
    if read_back(target.dialect).DIGEST is not None:
        timed(f"{name}: verify by digests", rows, compared)
    has_digests = Pair.has_digests
    Pair.has_digests = lambda *_: False  # type: ignore[method-assign]
    timed(f"{name}: verify row by row", rows, compared)
    Pair.has_digests = has_digests  # type: ignore[method-assign]
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
    target.close()


def timed(what: str, rows: int, work: Callable[[], object]) -> None:
    began, cpu = time.monotonic(), time.process_time()
    work()
    seconds, own = time.monotonic() - began, time.process_time() - cpu
    print(f"{what:36} {seconds:7.2f} {own:7.2f} {rows / seconds / 1e6:7.3f}", flush=True)


def _read(rows: object) -> None:
    for _ in rows:  # type: ignore[attr-defined]
        pass


def fill(url: str, rows: int) -> None:
    """The table `sales` in the upstream."""
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        for statement in (CREATE, FIRST):
            connection.exec_driver_sql(statement)
        count = 1
        while count < rows:
            more = min(count, rows - count, MOST)
            connection.exec_driver_sql(
                f"INSERT INTO sales SELECT id + {count}, customer + 1, amount + 0.01, "
                "CONCAT('customer ', id), note, sold_at + INTERVAL 1 SECOND, weight * 1.1 "
                f"FROM sales WHERE id < {more}"
            )
            count += more


if __name__ == "__main__":
    main()
