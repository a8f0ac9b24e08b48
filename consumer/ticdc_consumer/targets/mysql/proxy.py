"""A test for proxies that do not give this client one session of a MySQL family server.

ProxySQL gives each statement outside a transaction any session of the server; MaxScale answers KILL
itself, and its readwritesplit sends reads to replicas. The settings and the lock of a session would
then reach other clients and be missing where they are needed.
"""

from collections.abc import Callable

import pymysql  # type: ignore[import-untyped]
import sqlalchemy as sa

from ticdc_consumer.errors import Usage

ATTEMPTS = 5
"""Another client may take the released session."""

_NO_SUCH_SESSION = 1094


def require_own_session(
    connection: sa.Connection, connect: Callable[[], sa.Connection], setting: str
) -> None:
    """Raises `Usage` if the connection, whose URL is `setting`, has no session of its own. Changes
    no session."""
    session, version = connection.exec_driver_sql(f"SELECT {_SESSION}, VERSION()").one()
    driver = connection.connection.dbapi_connection
    assert driver is not None
    if driver.thread_id() == session & 0xFFFFFFFF:
        return  # the server itself greeted; its greeting has the lower half of TiDB's numbers
    # ProxySQL recognizes exactly this text.
    name = connection.exec_driver_sql("select @@version_comment limit 1").scalar()
    if name == "(ProxySQL)":
        raise Usage(
            f"{setting} leads to ProxySQL, which gives the statements of one client to several "
            "sessions of the server: connect to the server itself, or set fast_forward = 1 for "
            "this user in its mysql_users"
        )
    if "TiDB" not in version and _is_kept(connection, "KILL QUERY 0"):
        raise Usage(
            f"{setting} leads to a proxy that keeps KILL from the server, as MaxScale does, so "
            "that no consumer could end the session of another: connect to the server itself"
        )
    if _is_shared(connection, connect, session):
        raise Usage(
            f"{setting} leads to a proxy that gives the statements of one client to several "
            "sessions of the server, as one does that splits reads from writes or shares "
            "sessions: connect to the server itself"
        )


_SESSION = "CONNECTION_ID() + 0"
"""A spelling that ProxySQL does not recognize; else it answers with a number of its own."""


def _is_kept(connection: sa.Connection, kill: str) -> bool:
    """Returns whether KILL does not reach the server, which has no session 0. A TiDB does not
    report that, either."""
    try:
        connection.exec_driver_sql(kill).close()
    except sa.exc.DBAPIError as error:
        assert isinstance(error.orig, pymysql.err.MySQLError)
        if error.orig.args[0] != _NO_SUCH_SESSION:
            raise
        return False
    return True


def _is_shared(
    connection: sa.Connection, connect: Callable[[], sa.Connection], session: int
) -> bool:
    """Returns whether another session runs a statement of the connection, either in a transaction
    or while another client is in one."""
    if _in_transaction(connection) != session:
        return True
    for _ in range(ATTEMPTS):
        with connect() as other:
            other.exec_driver_sql("START TRANSACTION").close()
            shared = _session(other) == session or _session(connection) != session
            other.exec_driver_sql("ROLLBACK").close()
        if shared:
            return True
    return False


def _in_transaction(connection: sa.Connection) -> int:
    connection.exec_driver_sql("START TRANSACTION").close()
    session = _session(connection)
    connection.exec_driver_sql("ROLLBACK").close()
    return session


def _session(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql(f"SELECT {_SESSION}").scalar_one())
