"""An example of a consumer that is wrong: Canal-JSON, row by row, as it comes.

    python -m ticdc_torture.naive BOOTSTRAP TOPICS TARGET

It commits offsets before the rows, knows no commit_ts and no resolved ts, leaves DDL out, and skips
what the database refuses. docs/how-to/torture.md shows what the kit says of it.
"""

import json
import sys
from typing import Any

import sqlalchemy as sa
from confluent_kafka import Consumer


def apply(connection: sa.Connection, change: dict[str, Any]) -> None:
    """One message: INSERT, UPDATE or DELETE."""
    schema = None if connection.dialect.name == "sqlite" else change["database"]
    for number, row in enumerate(change["data"] or ()):
        columns: list[sa.ColumnClause[Any]] = [sa.column(name) for name in row]
        table = sa.table(change["table"], *columns, schema=schema)
        before = {**row, **change["old"][number]} if change.get("old") else row
        same_key = sa.and_(
            sa.true(), *(table.c[name] == before[name] for name in change["pkNames"])
        )
        statement: sa.Executable = {
            "INSERT": sa.insert(table).values(row),
            "UPDATE": sa.update(table).values(row).where(same_key),
            "DELETE": sa.delete(table).where(same_key),
        }[change["type"]]
        try:
            connection.execute(statement)
        except sa.exc.IntegrityError as error:
            print(f"skipped: {error.orig}", file=sys.stderr)


def main() -> None:
    bootstrap, topics, target = sys.argv[1:]
    settings = {"group.id": "naive", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": bootstrap, "log_level": 2, **settings})
    consumer.subscribe(topics.split(","))
    engine = sa.create_engine(target, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        while True:
            records = consumer.consume(20, 0.2)
            changes = [json.loads(record.value() or b"{}") for record in records]
            if records:
                consumer.commit(asynchronous=False)
            for change in changes:
                if change["type"] in ("INSERT", "UPDATE", "DELETE"):
                    apply(connection, change)


if __name__ == "__main__":
    main()
