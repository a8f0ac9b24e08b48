"""How fast `load` is beside the database's own loader, with as many connections.

    python bench/load.py [--rows 20000000] [--target postgresql,mariadb] [--connections 2]

Four tables of 7 columns in TiDB are loaded by Spark's tasks. Then the same rows, out of files, are
loaded into the same tables by COPY or LOAD DATA, with as many connections. Then rows of one table
are read alone, by one connection. Needs TIDB_URL, and the URLs of the targets' servers.
"""

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pyspark.sql import SparkSession
from servers import cpu_of, target_url, verdict
from support import brokers
from support.databases import own_schema
from support.torture_topics import Feed
from throughput import Processes
from ticdc_consumer.commands.load.loading import load
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.spark.session import session, warm_up
from ticdc_consumer.upstream.chunks import Chunk
from ticdc_consumer.upstream.rows import batches
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.snapshot import current_ts
from ticdc_consumer.upstream.tables import defined
from verify import AT_ONCE, execute, fill
from verify import MOST as MOST_ROWS

TABLES = ("sales", "sales1", "sales2", "sales3")
GOAL, MOST = 0.8, 500
"""Of the loader's speed; MiB of the driver."""
MOST_READ = 1_000_000
"""Rows that are read alone."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--target", default="postgresql,mariadb")
    parser.add_argument("--connections", type=int, default=2)
    arguments = parser.parse_args()
    spark = session({"spark.master": f"local[{arguments.connections}]"}, "bench")
    warm_up(spark)
    with target_url("tidb") as upstream, tempfile.TemporaryDirectory() as folder:
        of_table = arguments.rows // len(TABLES)
        files = list[Path]()
        timed(
            "TiDB: makes the rows",
            arguments.rows,
            lambda: files.extend(filled(upstream, of_table, Path(folder))),
        )
        for name in arguments.target.split(","):
            measure(name, upstream, files, arguments.connections, arguments.rows, spark)
        read_one(upstream, min(of_table, MOST_READ))


def measure(
    name: str, upstream: str, files: list[Path], connections: int, rows: int, spark: SparkSession
) -> None:
    with brokers.mock() as kafka, target_url(name) as target:
        feed = Feed(kafka)
        with reading(upstream) as now:
            feed.resolve(current_ts(now))
        options, processes = options_of(upstream, target, feed), Processes()

        def cpu() -> list[float]:
            return [sum(processes.cpu().values()), cpu_of(upstream), cpu_of(target)]

        before = cpu()
        threading.Thread(target=processes.watch, daemon=True).start()
        ours = timed(f"{name}: load", rows, partial(load, options, spark=spark))
        processes.running = False
        own, of_tidb, of_target = ((b - a) / rows * 1e6 for a, b in zip(before, cpu(), strict=True))
        loader = partial(load_files, target, files, connections)
        theirs = timed(f"{name}: its own loader", rows, loader)
        share, driver = theirs / ours, processes.peak["driver"] >> 20
        print(
            f"{name}: {share:.0%} of its own loader's speed (goal: {GOAL:.0%}) "
            f"{verdict(share >= GOAL)}; "
            f"driver {driver} MiB (goal: {MOST}) {verdict(driver < MOST)}; "
            f"CPU a row: ours {own:.1f} us, TiDB {of_tidb:.1f}, target {of_target:.1f}; "
            f"load average {os.getloadavg()[0]:.0f}",
            flush=True,
        )


def filled(upstream: str, rows: int, folder: Path) -> list[Path]:
    """The tables in TiDB, and a file of each in the form of COPY and LOAD DATA."""
    fill(upstream, rows)
    files = [folder / name for name in TABLES]
    with reading(upstream) as now, files[0].open("wb") as file:
        for records in now.stream("SELECT * FROM sales", (), 5_000):
            file.writelines(b"\t".join(map(_bytes, record)) + b"\n" for record in records)
    for name, path in zip(TABLES[1:], files[1:], strict=True):
        path.hardlink_to(files[0])
        execute(engine_of(upstream), f"CREATE TABLE {name} LIKE sales")
    copies = [
        f"INSERT INTO {name} SELECT * FROM sales WHERE id >= {start} AND id < {start + MOST_ROWS}"
        for start in range(0, rows, MOST_ROWS)
        for name in TABLES[1:]
    ]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        list(threads.map(partial(execute, engine_of(upstream)), copies))
    return files


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)


def _bytes(value: str | bytes | None) -> bytes:
    assert value is not None  # no column has NULL
    return value if isinstance(value, bytes) else value.encode()


def options_of(upstream: str, target: str, feed: Feed) -> Settings:
    return Settings.of(
        {
            "changefeed": "bench",
            "protocol": "canal-json",
            "kafka.topics": feed.topic,
            "kafka.bootstrap.servers": feed.kafka.bootstrap,
            "source.upstream": upstream,
            "target.url": target,
            "tables.filter": [f"{sa.make_url(upstream).database}.*"],
            "tables.route": {"*.*": f"{own_schema(target)}.{{table}}"},
        }
    )


def load_files(target: str, files: list[Path], connections: int) -> None:
    """Loads each file into its table, which is emptied before."""
    is_postgresql = target.startswith("postgresql")
    own = {} if is_postgresql else {"connect_args": {"local_infile": True}}
    engine = sa.create_engine(target, poolclass=sa.NullPool, **own)
    with engine.begin() as connection:
        for path in files:
            connection.exec_driver_sql(f"TRUNCATE TABLE {path.name}")
    one = partial(_copy if is_postgresql else _load_data, engine)
    with ThreadPoolExecutor(connections) as threads:
        list(threads.map(one, files))


def _copy(engine: sa.Engine, path: Path) -> None:
    with engine.begin() as connection, path.open("rb") as file:
        cursor: Any = connection.connection.cursor()
        with cursor.copy(f"COPY {path.name} FROM STDIN") as copy:
            while block := file.read(1 << 20):
                copy.write(block)


def _load_data(engine: sa.Engine, path: Path) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {path.name}")


def read_one(upstream: str, rows: int) -> None:
    """Reads of one table as many rows, with values as TiDB sends them and as they are written."""
    with reading(upstream) as now:
        table = defined(now, str(sa.make_url(upstream).database), "sales").table
        statement = f"SELECT * FROM sales WHERE id < {rows}"
        chunk = Chunk(("id",), None, (str(rows - 1),), rows)
        timed("TiDB: SELECT *", rows, lambda: _end(now.stream(statement, (), 5_000)))
        timed("TiDB: rows as arrays", rows, lambda: _end(batches(now, table, chunk)))


def _end(rows: Iterator[object]) -> None:
    for _ in rows:
        pass


def timed(what: str, rows: int, work: Callable[[], object]) -> float:
    """Seconds; prints the line."""
    began, cpu = time.monotonic(), time.process_time()
    work()
    seconds, own = time.monotonic() - began, time.process_time() - cpu
    print(f"{what:28} {seconds:7.1f} s, {own:6.1f} of our CPU, {rows / seconds:9,.0f} rows/s")
    return seconds


if __name__ == "__main__":
    main()
