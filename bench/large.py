"""One transaction of millions of rows, in one partition: applied atomically, in bounded memory.

    python bench/large.py [--rows 5000000] [--target sqlite|postgresql|mariadb|mysql]
                          [--plot docs/pictures/large.png]

Needs KAFKA_BOOTSTRAP and the URL of the target's server. Prints the peak memory of the JVM, of the
largest Python worker and of the driver, and draws them over time. A second connection counts the
table's rows all the while: it must see none of them or all.
"""

import argparse
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress

import sqlalchemy as sa
from servers import kafka, target_url
from throughput import Processes, options, place
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.cut.spark.session import session, warm_up
from ticdc_consumer.targets import open_target
from ticdc_encoder.kafka.produce import produce
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table
from workload import SCHEMA, START_TS

TABLE = parse_create_table(
    "CREATE TABLE big (id bigint NOT NULL PRIMARY KEY, a char(120) NOT NULL, "
    "b varchar(200) NOT NULL, n decimal(20,4) NOT NULL)",
    SCHEMA,
)


def messages(topic: str, rows: int, commit_ts: int) -> Iterator[Message]:
    """Canal-JSON as TiCDC writes it; the rows differ in every column and hold 300 bytes."""
    head = (
        '{"id":0,"database":"bench","table":"big","pkNames":["id"],"isDdl":false,"type":"INSERT",'
        f'"es":{commit_ts >> 18},"ts":1795274359505,"sql":"","sqlType":{{"id":-5,"a":1,"b":12,'
        '"n":3},"mysqlType":{"id":"bigint","a":"char","b":"varchar","n":"decimal"},"old":null,'
        '"data":[{"id":"'
    )
    tail = f'"}}],"_tidb":{{"commitTs":{commit_ts}}}}}'
    for n in range(rows):
        text = f"{zlib.crc32(b'%d' % n):010d}"
        value = f'{head}{n}","a":"{text * 11}","b":"{text * 18}","n":"{n}.{n % 10000:04d}{tail}'
        yield Message(topic, 0, None, value.encode())
    for partition in range(2):
        mark = (
            '{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,'
            f'"type":"TIDB_WATERMARK","es":{commit_ts >> 18},"ts":1795274359505,"sql":"",'
            '"sqlType":null,"mysqlType":null,"data":null,"old":null,'
            f'"_tidb":{{"watermarkTs":{commit_ts + 1}}}}}'
        )
        yield Message(topic, partition, None, mark.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--target", default="postgresql")
    parser.add_argument("--plot", default="")
    parser.add_argument("--protocol", default="canal-json")
    parser.add_argument("--cut", type=int, default=400_000)
    arguments = parser.parse_args()
    processes = Processes()
    spark = session({"driver.memory": "2g"}, "large")
    warm_up(spark)
    with kafka() as broker, target_url(arguments.target) as url:
        topic = broker.create_topic("large", 2)
        started = time.monotonic()
        produce(messages(topic, arguments.rows, START_TS + 5), {**broker.config, "linger.ms": "20"})
        print(f"{arguments.rows} rows produced in {time.monotonic() - started:.0f} s", flush=True)
        target = open_target(url)
        where = place(target, "big", SCHEMA)
        for text in target.create_schema(SCHEMA) if target.dialect == "postgresql" else []:
            target.execute(text)
        for text in target.create_table(*where, TABLE):
            target.connection.exec_driver_sql(text)
        relation = target.quote(*where)
        target.close()
        curves: dict[str, list[tuple[float, int]]] = {"jvm": [], "worker": [], "driver": []}
        seen: set[int] = set()
        over = threading.Event()
        started = time.monotonic()

        def counted(engine: sa.Engine) -> int:
            with engine.connect() as reader:
                return int(reader.exec_driver_sql(f"SELECT count(*) FROM {relation}").scalar_one())

        def watch() -> None:
            engine = sa.create_engine(url)
            while not over.wait(0.5):
                for kind, size in processes.sizes().items():
                    curves[kind].append((time.monotonic() - started, size >> 20))
                with suppress(sa.exc.OperationalError):
                    seen.add(counted(engine))
            seen.add(counted(engine))

        watcher = threading.Thread(target=watch)
        watcher.start()
        with Consumer(options(url, topic, broker.config, arguments), spark) as consumer:
            for epoch in consumer.epochs(until="caught-up"):
                stages = {stage: round(s, 1) for stage, s in epoch.stages.items()}
                print(f"R {epoch.resolved_ts}: {epoch.rows} rows, seconds {stages}", flush=True)
        took = time.monotonic() - started
        over.set()
        watcher.join()
        peak = {kind: max(size for _, size in curve) for kind, curve in curves.items()}
        print(f"{arguments.rows / took:.0f} rows/s in {took:.0f} s, peak MiB {peak}")
        print(f"a concurrent reader counted {sorted(seen)}")
        assert arguments.rows in seen <= {0, arguments.rows}, "a part of it was visible"
        if arguments.plot:
            draw(curves, arguments.plot, f"{arguments.rows:,} rows in one transaction")


def draw(curves: dict[str, list[tuple[float, int]]], path: str, title: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4))
    names = {"jvm": "JVM (heap 2 GiB)", "worker": "largest Python worker", "driver": "driver"}
    for kind, curve in curves.items():
        axes.plot(*zip(*curve, strict=True), label=names[kind])
    axes.set(title=title, xlabel="seconds", ylabel="resident MiB", ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    main()
