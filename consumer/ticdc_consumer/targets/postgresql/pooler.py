"""A test for poolers that spread this client's transactions over several sessions of PostgreSQL.

PgBouncer does so with pool_mode = transaction. Settings and locks of a session would then reach
other clients and be missing where they are needed.
"""

from collections.abc import Callable

import sqlalchemy as sa

from ticdc_consumer.errors import Usage

ATTEMPTS = 5
"""Another client may take the released session."""


def require_own_session(connection: sa.Connection, connect: Callable[[], sa.Connection]) -> None:
    """Raises `Usage` if the connection has no session of its own. Changes no session."""
    pid = _pid(connection)
    driver = connection.connection.dbapi_connection
    assert driver is not None
    if driver.info.backend_pid == pid:
        return  # no intermediary knows of sessions
    for _ in range(ATTEMPTS):
        with connect() as other:
            other.exec_driver_sql("BEGIN").close()
            shared = _pid(other) == pid or _pid(connection) != pid
            other.exec_driver_sql("ROLLBACK").close()
        if shared:
            raise Usage(
                "[target] url leads to a pooler that gives each transaction any session of "
                "PostgreSQL, as PgBouncer does with pool_mode = transaction: connect to PostgreSQL "
                "itself, or set pool_mode = session for this database or user"
            )


def _pid(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
