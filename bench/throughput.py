"""Changes per second from Kafka into each target, and where the time goes.

    python bench/throughput.py [--changes 500000] [--rows 200000] [--protocol canal-json]
                               [--rounds 3] [--target sqlite,postgresql,mariadb,mysql,tidb]

Needs KAFKA_BOOTSTRAP and the URLs of the servers among the targets (POSTGRES_URL, MARIADB_URL,
MYSQL_URL, TIDB_URL). Every round loads the tables, consumes the topic and compares both tables with
the truth. The limit is what the server needs for the same net change in one transaction when the
rows lie in a table of its own already.
"""

import argparse
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson
import psutil
import pyarrow as pa
import sqlalchemy as sa
from pyspark.sql import SparkSession
from servers import kafka, target_url, verdict
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.spark.session import session, warm_up
from ticdc_consumer.targets import encoders, open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import Row
from ticdc_encoder.kafka.produce import produce
from ticdc_encoder.message import Message
from workload import SCHEMA, START_TS, TABLES, Workload, arrays

GOALS = {"sqlite": 110_000, "postgresql": 110_000, "mariadb": 100_000, "mysql": 85_000}
"""Changes/s, with 500,000 changes on two idle cores."""
GOAL_CPU = 9.0
"""Microseconds a change, outside the database: not of SQLite, which is inside."""


def goals(target: str, speed: float, micro: float) -> str:
    """Beside what was reached."""
    parts = []
    if goal := GOALS.get(target):
        parts.append(f"{goal:,}/s: {verdict(speed >= goal)}")
    if target != "sqlite":
        parts.append(f"{GOAL_CPU:.0f} us: {verdict(micro <= GOAL_CPU)}")
    return ", ".join(parts)


@dataclass
class Processes:
    """CPU seconds and peak memory of the JVM, the Python workers and this driver, without what
    watching them takes, which on a machine with many processes is a lot."""

    driver: psutil.Process = field(default_factory=psutil.Process)
    peak: dict[str, int] = field(default_factory=lambda: {"jvm": 0, "worker": 0, "driver": 0})
    running: bool = True
    watching: float = 0.0

    def of(self) -> Iterator[tuple[str, psutil.Process]]:
        yield "driver", self.driver
        for child in self.driver.children(recursive=True):
            try:
                yield ("jvm" if "java" in child.name() else "worker"), child
            except psutil.Error:
                continue

    def cpu(self) -> dict[str, float]:
        spent = {"jvm": 0.0, "worker": 0.0, "driver": 0.0}
        for kind, process in self.of():
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            spent[kind] += times.user + times.system
        spent["driver"] -= self.watching
        return spent

    def sizes(self) -> dict[str, int]:
        """Resident bytes now: of the largest process of each kind."""
        sizes = {"jvm": 0, "worker": 0, "driver": 0}
        for kind, process in self.of():
            try:
                sizes[kind] = max(sizes[kind], process.memory_info().rss)
            except psutil.Error:
                continue
        return sizes

    def watch(self) -> None:
        while self.running:
            for kind, size in self.sizes().items():
                self.peak[kind] = max(self.peak[kind], size)
            self.watching = time.thread_time()
            time.sleep(0.1)


def options(
    url: str, topic: str, config: Mapping[str, str], arguments: argparse.Namespace
) -> Settings:
    route = {}
    if sa.make_url(url).get_backend_name() in ("mysql", "mariadb"):
        route = {"*.*": f"{sa.make_url(url).database}.{{table}}"}
    return Settings(
        changefeed="bench",
        protocol=arguments.protocol,
        topics=(topic,),
        kafka=config,
        target_url=url,
        route=route,
        from_ts=START_TS,
        future_limit=1e9,
        rows_per_epoch=arguments.cut,
    )


def place(target: Target, table: str, schema: str) -> tuple[str | None, str]:
    if target.dialect in ("mysql", "mariadb", "tidb"):
        return target.engine.url.database, table
    return target.locate(schema, table)


def load(target: Target, workload: Workload, schema: str) -> None:
    """Creates the tables and puts the loaded rows there."""
    for text in target.create_schema(schema) if target.dialect == "postgresql" else []:
        target.execute(text)
    for table in TABLES:
        where = place(target, table.name, schema)
        for text in [*target.drop_table(*where), *target.create_table(*where, table)]:
            target.connection.exec_driver_sql(text)
        fill(target, table.name, where, list(workload.loaded[table.name].values()))


def fill(target: Target, name: str, where: tuple[str | None, str], rows: list[Row]) -> None:
    table = next(t for t in TABLES if t.name == name)
    described = target.describe(*where)
    assert described is not None
    layout = target.layout(table, table.handle_key, described, table, frozenset())
    encode_rows, _ = encoders(layout.dialect)
    with target.transaction():
        for start in range(0, len(rows), 20_000):
            texts = arrays(table, rows[start : start + 20_000])
            payloads = encode_rows(layout, [pa.array(column, pa.string()) for column in texts])
            target.insert(layout, payloads, "stop")


def check(target: Target, workload: Workload, schema: str) -> bool:
    """Whether both tables equal the truth, row by row."""
    for table in TABLES:
        where = place(target, table.name, schema)
        quote = target.engine.dialect.identifier_preparer.quote
        names = ", ".join(quote(column.name) for column in table.columns)
        found = target.execute(f"SELECT {names} FROM {target.quote(*where)}")
        rows = sorted(tuple(_text(v) for v in row) for row in found)
        truth = arrays(table, list(workload.final[table.name].values()))
        if rows != sorted(zip(*truth, strict=True)):
            return False
    return True


def _text(value: object) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text + ".000000" if len(text) == 19 and text[4] == "-" == text[7] else text


def limit(target: Target, workload: Workload, schema: str) -> float:
    """Seconds that the server needs for the same net change from a table of its own."""
    load(target, workload, schema)
    staged = []
    for table in TABLES:
        before, after = workload.loaded[table.name], workload.final[table.name]
        name = f"staged_{table.name}"
        where = place(target, name, schema)
        for text in [*target.drop_table(*where), *target.create_table(*where, table)]:
            target.connection.exec_driver_sql(text)
        rows = [row for key, row in after.items() if before.get(key) is not row]
        fill(target, table.name, where, rows)
        gone_at = place(target, f"gone_{table.name}", schema)
        for text in [*target.drop_table(*gone_at), *target.create_table(*gone_at, table)]:
            target.connection.exec_driver_sql(text)
        fill(target, table.name, gone_at, [r for key, r in before.items() if key not in after])
        staged.append((table, target.quote(*where), target.quote(*gone_at)))
    started = time.monotonic()
    with target.transaction():
        for table, rows_at, keys_at in staged:
            into = target.quote(*place(target, table.name, schema))
            keys = " AND ".join(f"{into}.{c} = s.{c}" for c in table.handle_key)
            if target.dialect == "postgresql":
                target.execute(f"DELETE FROM {into} USING {keys_at} s WHERE {keys}")
            elif target.dialect == "sqlite":
                target.execute(
                    f"DELETE FROM {into} WHERE EXISTS (SELECT 1 FROM {keys_at} s WHERE {keys})"
                )
            else:
                target.execute(f"DELETE {into} FROM {into} JOIN {keys_at} s ON {keys}")
            rest = [c.name for c in table.columns if c.name not in table.handle_key]
            if target.dialect in ("postgresql", "sqlite"):
                update = ", ".join(f"{c} = excluded.{c}" for c in rest)
                on = ", ".join(table.handle_key)
                target.execute(
                    f"INSERT INTO {into} SELECT * FROM {rows_at} WHERE true "
                    f"ON CONFLICT ({on}) DO UPDATE SET {update}"
                )
            else:
                update = ", ".join(f"{c} = VALUES({c})" for c in rest)
                target.execute(
                    f"INSERT INTO {into} SELECT * FROM {rows_at} ON DUPLICATE KEY UPDATE {update}"
                )
    return time.monotonic() - started


def round_(
    spark: SparkSession, settings: Settings, processes: Processes
) -> tuple[float, dict[str, float], dict[str, float], int, int]:
    before = processes.cpu()
    started = time.monotonic()
    seconds: dict[str, float] = {}
    rows = cuts = 0
    with Consumer(settings, spark) as consumer:
        for epoch in consumer.epochs(until="caught-up"):
            rows += epoch.rows
            cuts += 1
            for stage, spent in epoch.stages.items():
                seconds[stage] = seconds.get(stage, 0.0) + spent
        wall = time.monotonic() - started
    after = processes.cpu()
    return wall, seconds, {kind: after[kind] - before[kind] for kind in after}, rows, cuts


def parsed(values: Sequence[bytes]) -> float:
    """Microseconds of CPU that `orjson.loads` takes of each."""
    started = time.process_time()
    for value in values:
        orjson.loads(value)
    return (time.process_time() - started) / len(values) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=500_000)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--cut", type=int, default=400_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--protocol", default="canal-json")
    parser.add_argument("--target", default="sqlite,postgresql,mariadb,mysql,tidb")
    parser.add_argument("--no-limit", action="store_true")
    arguments = parser.parse_args()
    processes = Processes()
    threading.Thread(target=processes.watch, daemon=True).start()
    workload = Workload(arguments.rows, arguments.changes)
    with kafka() as broker:
        topic = broker.create_topic("bench", 4)
        sample: list[bytes] = []

        def sampled() -> Iterator[Message]:
            for message in workload.messages(topic, arguments.protocol, 4):
                if len(sample) < 50_000 and message.value:
                    sample.append(message.value)
                yield message

        started = time.monotonic()
        count = produce(sampled(), {**broker.config, "linger.ms": "20", "compression.type": "lz4"})
        print(f"{count} messages produced in {time.monotonic() - started:.1f} s")
        if arguments.protocol == "canal-json":
            print(f"orjson.loads alone: {parsed(sample):.1f} us per change")
        spark = session({}, "bench")
        warm_up(spark)
        print(
            "target      round  wall s   changes/s  cuts  net rows | plan  read  load | "
            "CPU us/change: jvm workers driver all | equal | goals"
        )
        for name in arguments.target.split(","):
            for number in range(arguments.rounds):
                with target_url(name) as url:
                    target = open_target(url)
                    schema = SCHEMA
                    load(target, workload, schema)
                    settings = options(url, topic, broker.config, arguments)
                    wall, seconds, cpu, rows, cuts = round_(spark, settings, processes)
                    equal = check(target, workload, schema)
                    micro = {kind: s / arguments.changes * 1e6 for kind, s in cpu.items()}
                    print(
                        f"{name:11} {number + 1:5}  {wall:6.2f} {arguments.changes / wall:11.0f} "
                        f"{cuts:5} {rows:9} | {seconds.get('plan', 0):4.1f} "
                        f"{seconds.get('read', 0):5.1f} {seconds.get('load', 0):5.1f} | "
                        f"{micro['jvm']:17.1f} {micro['worker']:7.1f} {micro['driver']:6.1f} "
                        f"{sum(micro.values()):4.1f} | {equal} | "
                        f"{goals(name, arguments.changes / wall, sum(micro.values()))}",
                        flush=True,
                    )
                    target.close()
            if not arguments.no_limit:
                with target_url(name) as url:
                    target = open_target(url)
                    bound = limit(target, workload, SCHEMA)
                    print(f"{name:11} limit  {bound:6.2f} {arguments.changes / bound:11.0f}")
                    target.close()
        peak = {kind: f"{size >> 20} MiB" for kind, size in processes.peak.items()}
        print(f"peak memory: {peak}, load average {os.getloadavg()[0]:.1f}")
    processes.running = False


if __name__ == "__main__":
    main()
