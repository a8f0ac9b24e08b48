"""An audit table that is exact: see README.md.

    python samples/audit/audit.py orders.toml

It shows the rest of the API: a hook in the transaction of each cut, a DDL that the program answers,
and a comparison with the upstream in the end.
"""

import sys

import sqlalchemy as sa
from ticdc_consumer import Consumer, Settings, Stop, TicdcError, UncommittedCut, api

CREATE = "CREATE TABLE IF NOT EXISTS audit (r BIGINT, name VARCHAR(200), written BIGINT)"
INSERT = "INSERT INTO audit (r, name, written) VALUES (:r, :name, :written)"


def audit(cut: UncommittedCut) -> None:
    """Committed with the cut's rows, or not at all."""
    for name, counts in cut.tables.items():
        written = {"r": cut.resolved_ts, "name": name, "written": counts.upserted}
        cut.execute(INSERT, written)


def follow(settings: Settings) -> None:
    """Applies what the topics hold."""
    with Consumer(settings, before_commit=audit) as consumer:
        for epoch in consumer.epochs("caught-up"):
            print(f"R {epoch.resolved_ts}: {epoch.rows} rows in {epoch.seconds:.2f} s")


def answer(settings: Settings, stop: Stop) -> None:
    """Does a DDL that stopped by the SQL that is suggested, if the target has tried that."""
    if stop.ddl is None or not stop.ddl.suggestion or not stop.ddl.tried:
        raise stop
    with Consumer(settings) as consumer:
        entry = consumer.ddl_run(stop.ddl.id, "; ".join(stop.ddl.suggestion))
    print(f"{entry.query}: done by {entry.instead}")


def main() -> None:
    settings = Settings.read(sys.argv[1])
    with sa.create_engine(settings.target_url).begin() as connection:
        connection.exec_driver_sql(CREATE)
    try:
        follow(settings)
    except Stop as stop:
        answer(settings, stop)
        follow(settings)
    if settings.upstream_url is not None:
        for report in api.verify(settings):
            print(f"{report.name}: {'equal' if report.equal else 'not equal'}")


if __name__ == "__main__":
    try:
        main()
    except TicdcError as error:
        print(f"audit: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
