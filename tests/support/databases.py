"""A database for one test, on a server that others use too."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa


@contextmanager
def fresh_database(server: str) -> Iterator[str]:
    """The URL of a new, empty database on the server of that URL. Dropped at the end, whatever
    uses it still, and with it every database whose name begins with its name and `_`."""
    url = sa.make_url(server)
    name = f"t{uuid.uuid4().hex[:8]}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        yield url.set(database=name).render_as_string(hide_password=False)
    finally:
        drop = _drop_postgresql if url.get_backend_name() == "postgresql" else _drop_mysql
        with engine.connect() as connection:
            drop(connection, name)


def own_schema(url: str) -> str:
    """The schema of a test's database that is there already."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return "main"
    return "public" if parsed.get_backend_name() == "postgresql" else str(parsed.database)


def _drop_postgresql(connection: sa.Connection, name: str) -> None:
    connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")


def _drop_mysql(connection: sa.Connection, name: str) -> None:
    # A session that a test left in a transaction would hold the DROP up.
    mine = {"mine": f"{name}%"}
    sessions = connection.execute(
        sa.text("SELECT id FROM information_schema.processlist WHERE db LIKE :mine"), mine
    )
    for session in sessions.scalars().all():
        try:
            connection.exec_driver_sql(f"KILL {session}")
        except sa.exc.DBAPIError as error:
            if error.orig is None or error.orig.args[0] != NO_SUCH_THREAD:
                raise
    schemata = connection.execute(
        sa.text(
            "SELECT schema_name AS name FROM information_schema.schemata "
            "WHERE schema_name = :name OR schema_name LIKE :below"
        ),
        {"name": name, "below": f"{name}\\_%"},
    )
    # A % in a name is no parameter's.
    plain = connection.execution_options(no_parameters=True)
    for schema in schemata.scalars().all():
        plain.exec_driver_sql(f"DROP DATABASE `{schema.replace('`', '``')}`")


NO_SUCH_THREAD = 1094
