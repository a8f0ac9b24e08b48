"""A shop in a TiDB at work, and its changes in Kafka as TiCDC writes them: see README.md.

    python samples/tidb_to_postgresql/shop.py TIDB_URL KAFKA

The tables are filled before the changefeed begins, as those of most users are. Then each
transaction's rows become messages, with the commit_ts that TiDB says it has.
"""

import argparse
import json
import random
import time
from decimal import Decimal

import sqlalchemy as sa
from confluent_kafka import Producer
from ticdc_encoder import Changefeed, Message, Row, RowChange, Table, TicdcError, Transaction
from ticdc_encoder.kafka.produce import ensure_topics
from ticdc_encoder.sql.parser import parse_create_table

PARTITIONS = 4
ACCOUNTS, BALANCE = 50, 1_000
CENT = Decimal("0.01")
TABLES = (
    "CREATE TABLE accounts (id INT PRIMARY KEY, owner VARCHAR(40), balance BIGINT NOT NULL)",
    "CREATE TABLE orders (id INT PRIMARY KEY, account INT NOT NULL, price DECIMAL(10,2) NOT NULL, "
    "KEY (account))",
)


def main() -> None:
    given = arguments()
    ensure_topics({"bootstrap.servers": given.kafka}, {given.name: PARTITIONS})
    changefeed = Changefeed(
        f"kafka://{given.kafka}/{given.name}?protocol=canal-json&enable-tidb-extension=true"
        f"&partition-num={PARTITIONS}",
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}},
    )
    producer = Producer({"bootstrap.servers": given.kafka, "enable.idempotence": True})
    engine = sa.create_engine(given.tidb, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        accounts, orders = create(connection, given.name)
        send(producer, changefeed.resolve(last_commit_ts(connection) + 1))
        print(f"{given.name}: {ACCOUNTS} accounts, whose total is {ACCOUNTS * BALANCE}", flush=True)
        sell(connection, accounts, orders, changefeed, producer, given.seconds)


def create(connection: sa.Connection, database: str) -> list[Table]:
    """The tables with their first rows, which no message shows."""
    connection.exec_driver_sql(f"CREATE DATABASE {database}")
    connection.exec_driver_sql(f"USE {database}")
    for statement in TABLES:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql(
        "INSERT INTO accounts VALUES (%s, %s, %s)",
        [(number, f"owner {number}", BALANCE) for number in range(ACCOUNTS)],
    )
    return [parse_create_table(statement, database) for statement in TABLES]


def sell(
    connection: sa.Connection,
    accounts: Table,
    orders: Table,
    changefeed: Changefeed,
    producer: Producer,
    seconds: float,
) -> None:
    """Money moves between accounts, and each time an order comes."""
    chance, balances = random.Random(1), [BALANCE] * ACCOUNTS
    began, number = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        number += 1
        payer, seller = chance.sample(range(ACCOUNTS), 2)
        amount = chance.randint(1, 50)
        changed = {payer: balances[payer] - amount, seller: balances[seller] + amount}
        order: Row = {"id": number, "account": payer, "price": Decimal(amount).quantize(CENT)}
        connection.exec_driver_sql("BEGIN")
        for key, balance in changed.items():
            connection.exec_driver_sql(
                "UPDATE accounts SET balance = %s WHERE id = %s", (balance, key)
            )
        connection.exec_driver_sql(
            "INSERT INTO orders VALUES (%(id)s, %(account)s, %(price)s)", order
        )
        connection.exec_driver_sql("COMMIT")
        commit_ts = last_commit_ts(connection)
        changes = [RowChange(orders, commit_ts, after=order)]
        for key, balance in changed.items():
            before: Row = {"id": key, "owner": f"owner {key}", "balance": balances[key]}
            after: Row = {**before, "balance": balance}
            changes.append(RowChange(accounts, commit_ts, before, after))
            balances[key] = balance
        send(producer, changefeed.encode(Transaction(commit_ts, tuple(changes))))
        send(producer, changefeed.resolve(commit_ts + 1))
        time.sleep(0.01)
    print(f"{number} transactions; R ends at {commit_ts + 1}", flush=True)


def last_commit_ts(connection: sa.Connection) -> int:
    """Of the session's last transaction."""
    told = connection.exec_driver_sql("SELECT @@tidb_last_txn_info").scalar_one()
    return int(json.loads(str(told))["commit_ts"])


def send(producer: Producer, messages: list[Message]) -> None:
    """Waits for the brokers: a resolved ts must not overtake the rows that it covers."""
    for message in messages:
        producer.produce(message.topic, message.value, message.key, message.partition)
    if producer.flush(30):
        raise SystemExit("the brokers take nothing")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tidb", help="mysql+pymysql://user@host:4000/")
    parser.add_argument("kafka", help="Kafka's bootstrap.servers")
    parser.add_argument("--seconds", type=float, default=600, help="how long the shop is open")
    parser.add_argument("--name", default="shop", help="of TiDB's new database and the topic")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        main()
    except (TicdcError, sa.exc.SQLAlchemyError) as error:
        # What a driver says has several lines; its first names the server.
        raise SystemExit(f"shop: {str(error).partition(chr(10))[0]}") from None
