"""Whether a pooler between this client and PostgreSQL gives its transactions to several sessions.

PgBouncer does with pool_mode = transaction. Settings and locks of a session would then be left with
other clients, and be missing where they are needed.
"""

from collections.abc import Callable

import sqlalchemy as sa

from ticdc_consumer.errors import Usage

ATTEMPTS = 5
"""Another client may take the session that was given back."""


def require_own_session(connection: sa.Connection, connect: Callable[[], sa.Connection]) -> None:
    """Raises `Usage` if the connection has no session of its own. Sets nothing in any session."""
    pid = _pid(connection)
    driver = connection.connection.dbapi_connection
    assert driver is not None
    if driver.info.backend_pid == pid:
        return  # nothing between knows of sessions
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
