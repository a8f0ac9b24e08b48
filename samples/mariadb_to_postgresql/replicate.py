"""PostgreSQL kept equal to a MariaDB at work, over TiCDC's protocol: see README.md.

    python samples/mariadb_to_postgresql/replicate.py MARIADB_URL KAFKA POSTGRESQL_URL

It shows both halves of this project. `feed` is what TiCDC does: MariaDB's binlog becomes
transactions, the encoder makes them a changefeed's messages, and after all that has been read a
resolved ts says so. The `Consumer` applies those.
"""

import argparse
import random
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any

import sqlalchemy as sa
from binlog import Binlog
from confluent_kafka import Producer
from ticdc_consumer import Consumer, Settings, TicdcError
from ticdc_encoder import Changefeed, Ddl
from ticdc_encoder.kafka.produce import ensure_topics
from ticdc_encoder.message import Message

PARTITIONS = 4
ACCOUNTS, BALANCE = 50, 1_000
TABLES = (
    "CREATE TABLE accounts (id INT PRIMARY KEY, owner VARCHAR(40) UNIQUE NOT NULL, "
    "balance BIGINT NOT NULL)",
    "CREATE TABLE orders (id INT PRIMARY KEY, account INT NOT NULL, price DECIMAL(10,2) NOT NULL, "
    "state ENUM('new','paid','sent') NOT NULL, placed DATETIME(3) NOT NULL)",
)
ALTER = "ALTER TABLE orders ADD COLUMN note VARCHAR(100) NOT NULL DEFAULT 'none'"


def main() -> None:
    given = arguments()
    mariadb = sa.create_engine(given.mariadb, isolation_level="READ COMMITTED")
    postgresql = sa.create_engine(given.postgresql)
    ensure_topics({"bootstrap.servers": given.kafka}, {given.name: PARTITIONS})
    options = Settings(
        changefeed=given.name,
        protocol="canal-json",
        topics=(given.name,),
        kafka={"bootstrap.servers": given.kafka},
        target_url=given.postgresql,
    )
    position = end_of_binlog(mariadb)
    stopping, worked = Event(), Event()
    with ThreadPoolExecutor(2) as threads, Consumer(options) as consumer:
        try:
            work = threads.submit(sell, mariadb, given.name, given.seconds, stopping, worked)
            fed = threads.submit(feed, mariadb, given.name, given.kafka, position, worked)
            follow(consumer, postgresql, given.name, fed)
            work.result()
        finally:
            stopping.set()
            worked.set()
    compare(mariadb, postgresql, given.name)


def sell(engine: sa.Engine, database: str, seconds: float, stopping: Event, worked: Event) -> None:
    """The workload: money moves between accounts, orders come, change and go."""
    chance = random.Random(1)
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {database}")
            connection.exec_driver_sql(f"USE {database}")
            for table in TABLES:
                connection.exec_driver_sql(table)
            opened = [(id, f"owner {id}", BALANCE) for id in range(ACCOUNTS)]
            connection.exec_driver_sql("INSERT INTO accounts VALUES (%s, %s, %s)", opened)
            connection.commit()
            began, number, altered = time.monotonic(), 0, False
            while time.monotonic() < began + seconds and not stopping.is_set():
                number += 1
                one, two = chance.sample(range(ACCOUNTS), 2)
                amount = chance.randint(1, 50)
                for statement, values in (
                    ("UPDATE accounts SET balance = balance - %s WHERE id = %s", (amount, one)),
                    ("UPDATE accounts SET balance = balance + %s WHERE id = %s", (amount, two)),
                    (
                        "INSERT INTO orders (id, account, price, state, placed) "
                        "VALUES (%s, %s, %s, 'new', NOW(3))",
                        (number, one, amount / 4),
                    ),
                    ("UPDATE orders SET state = 'sent' WHERE id = %s", (number - 20,)),
                    ("UPDATE orders SET id = -id WHERE id = %s", (number - 40,)),
                    ("DELETE FROM orders WHERE id = %s", (100 - number,)),
                ):
                    connection.exec_driver_sql(statement, values)
                if chance.random() < 0.1:
                    connection.rollback()
                connection.commit()
                if not altered and time.monotonic() > began + seconds / 2:
                    altered = bool(connection.exec_driver_sql(ALTER))
    finally:
        worked.set()


def feed(
    engine: sa.Engine, database: str, kafka: str, position: tuple[str, int], worked: Event
) -> int:
    """TiCDC's part; ends with the work, and returns the last resolved ts."""
    changefeed = Changefeed(
        f"kafka://{kafka}/{database}?protocol=canal-json&enable-tidb-extension=true"
        f"&partition-num={PARTITIONS}",
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}},
    )
    producer = Producer({"bootstrap.servers": kafka, "enable.idempotence": True})
    binlog = Binlog(engine.url, database, position)
    while True:
        end = end_of_binlog(engine) if worked.is_set() else None
        messages: list[Message] = []
        for event in binlog.read():
            messages += (
                changefeed.ddl(event) if isinstance(event, Ddl) else changefeed.encode(event)
            )
        send(producer, messages)
        # Whatever commits from now on gets a greater timestamp.
        resolved_ts = binlog.next_ts()
        send(producer, changefeed.resolve(resolved_ts))
        if end is not None and binlog.position >= end:
            return resolved_ts
        time.sleep(0.1)


def send(producer: Producer, messages: Iterable[Message]) -> None:
    """Waits for the brokers: a resolved ts must not overtake the rows that it covers."""
    for message in messages:
        producer.produce(message.topic, message.value, message.key, message.partition)
    if producer.flush(30):
        raise SystemExit("the brokers take nothing")


def follow(consumer: Consumer, postgresql: sa.Engine, schema: str, fed: Future[int]) -> None:
    """Applies what comes, until the last resolved ts; the accounts' total never changes."""
    for epoch in consumer:
        with postgresql.connect() as connection:
            if epoch.tables:
                total = connection.exec_driver_sql(
                    f"SELECT sum(balance) FROM {schema}.accounts"  # noqa: S608
                ).scalar_one()
                print(f"R {epoch.resolved_ts}: {epoch.rows:,} rows, total {total}")
        for entry in epoch.ddls:
            print(f"R {epoch.resolved_ts}: {entry.query}")
        if fed.done() and epoch.resolved_ts >= fed.result():
            return


def compare(mariadb: sa.Engine, postgresql: sa.Engine, name: str) -> None:
    """Raises SystemExit where the two differ in any table, column or row."""
    for table in ("accounts", "orders"):
        theirs, ours = contents(mariadb, name, table), contents(postgresql, name, table)
        if theirs != ours:
            raise SystemExit(f"{table} differs: {len(theirs)} rows in MariaDB, {len(ours)} here")
        print(f"{table}: {len(ours):,} rows, equal")


def contents(engine: sa.Engine, schema: str, table: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        rows: Sequence[sa.Row[Any]] = connection.exec_driver_sql(
            f"SELECT * FROM {schema}.{table} ORDER BY id"  # noqa: S608
        ).all()
    return [dict(row._mapping) for row in rows]


def end_of_binlog(engine: sa.Engine) -> tuple[str, int]:
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SHOW MASTER STATUS").first()
    if found is None:
        raise SystemExit("MariaDB keeps no binlog: start it with --log-bin --binlog-format=ROW")
    return str(found[0]), int(found[1])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("mariadb", help="mariadb+pymysql://user@host/")
    parser.add_argument("kafka", help="Kafka's bootstrap.servers")
    parser.add_argument("postgresql", help="postgresql+psycopg://user@host/database")
    parser.add_argument("--seconds", type=float, default=20, help="how long MariaDB works")
    parser.add_argument(
        "--name",
        default=f"sample_{time.time():.0f}",
        help="MariaDB's new database, which is the topic's and the schema's name, too",
    )
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except (TicdcError, sa.exc.SQLAlchemyError) as error:
        # What a driver says has several lines; its first names the server.
        raise SystemExit(f"replicate: {str(error).partition(chr(10))[0]}") from None
