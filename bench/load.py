"""How fast `load` is beside the database's own loader, with as many connections.

    python bench/load.py [--rows 20000000] [--target postgresql,mariadb] [--connections 2]

Four tables of 7 columns in TiDB are loaded by Spark's tasks. Then the same rows, out of files, are
loaded into the same tables by COPY or LOAD DATA, with as many connections. Then one table is read
alone, by one connection. Needs TIDB_URL, and the URLs of the targets' servers.
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
from servers import target_url
from support import brokers
from support.databases import own_schema
from support.torture_topics import Feed
from throughput import Processes
from ticdc_consumer.config import parse
from ticdc_consumer.config.options import Options
from ticdc_consumer.spark.session import session, warm_up
from ticdc_consumer.upstream.chunks import Chunk
from ticdc_consumer.upstream.load.loading import load
from ticdc_consumer.upstream.rows import batches
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.snapshot import current_ts
from ticdc_consumer.upstream.tables import defined
from verify import fill

TABLES = ("sales", "sales1", "sales2", "sales3")
GOAL, MOST = 0.8, 500
"""Of the loader's speed; MiB of the driver."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--target", default="postgresql,mariadb")
    parser.add_argument("--connections", type=int, default=2)
    arguments = parser.parse_args()
    spark = session({"spark.master": f"local[{arguments.connections}]"}, "bench")
    warm_up(spark)
    with target_url("tidb") as upstream, tempfile.TemporaryDirectory() as folder:
        files = filled(upstream, arguments.rows // len(TABLES), Path(folder))
        for name in arguments.target.split(","):
            with brokers.mock() as kafka, target_url(name) as target:
                feed = Feed(kafka)
                with reading(upstream) as now:
                    feed.resolve(current_ts(now))
                options = options_of(upstream, target, feed)
                processes = Processes()
                threading.Thread(target=processes.watch, daemon=True).start()
                ours = timed(f"{name}: load", arguments.rows, partial(load, options, spark=spark))
                processes.running = False
                theirs = timed(
                    f"{name}: its own loader",
                    arguments.rows,
                    partial(load_files, target, files, arguments.connections),
                )
                print(
                    f"{name}: {theirs / ours:.0%} of its own loader's speed (goal: {GOAL:.0%}), "
                    f"driver {processes.peak['driver'] >> 20} MiB (goal: {MOST}), "
                    f"load average {os.getloadavg()[0]:.0f}",
                    flush=True,
                )
        read_one(upstream, arguments.rows // len(TABLES))


def filled(upstream: str, rows: int, folder: Path) -> list[Path]:
    """The tables in TiDB, and a file of each in the form of COPY and LOAD DATA."""
    fill(upstream, rows)
    files = [folder / name for name in TABLES]
    with reading(upstream) as now, files[0].open("wb") as file:
        for records in now.stream("SELECT * FROM sales", (), 5_000):
            file.writelines(b"\t".join(map(_bytes, record)) + b"\n" for record in records)
    engine = sa.create_engine(upstream, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        for name, path in zip(TABLES[1:], files[1:], strict=True):
            path.hardlink_to(files[0])
            connection.exec_driver_sql(f"CREATE TABLE {name} LIKE sales")
            for start in range(0, rows, 100_000):
                connection.exec_driver_sql(
                    f"INSERT INTO {name} SELECT * FROM sales "
                    f"WHERE id >= {start} AND id < {start + 100_000}"
                )
    return files


def _bytes(value: str | bytes | None) -> bytes:
    assert value is not None  # no column has NULL
    return value if isinstance(value, bytes) else value.encode()


def options_of(upstream: str, target: str, feed: Feed) -> Options:
    return parse(
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
    """Reads one table, with values as TiDB sends them and as they are written."""
    with reading(upstream) as now:
        table = defined(now, str(sa.make_url(upstream).database), "sales").table
        statement = "SELECT * FROM sales"
        timed("TiDB: SELECT *", rows, lambda: _end(now.stream(statement, (), 5_000)))
        timed("TiDB: rows as arrays", rows, lambda: _end(batches(now, table, Chunk())))


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
