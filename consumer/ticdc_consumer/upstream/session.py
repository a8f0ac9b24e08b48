"""Reads the upstream TiDB as of one timestamp. Nothing is written there.

Values come as TiDB prints them, only text and bytes: the driver converts none.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pymysql  # type: ignore[import-untyped]
import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Retry, Sendable, Stop, Unavailable, Usage
from ticdc_consumer.targets import mysql_protocol
from ticdc_consumer.targets.mysql_protocol import connect, engine_of
from ticdc_consumer.upstream.packets import RowPackets

Record = tuple[str | bytes | None, ...]
"""A row as TiDB prints it."""

REMOVED = frozenset({8055, 9006})
"""TiDB's errors for a snapshot that its garbage collection has passed."""

_ABSENT = {1049: "database", 1146: "table"}
"""The missing object, by the error."""

_PASSING = frozenset({8027, 8028, 9001, 9002, 9003, 9004, 9005, 9011, 9012, 9013})
"""Passing errors: PD, TiKV or TiFlash are busy or unreachable; the schema cannot be loaded now."""

_SETTINGS = (
    "SET SESSION time_zone = '+00:00', max_execution_time = 0, wait_timeout = 2147483, "
    # Zero, partial and impossible dates are read, and compared, unchanged.
    "sql_mode = 'ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION', "
    "sql_select_limit = 18446744073709551615"
)


def upstream_url(options: Settings, otherwise: str = "for load, dump: Dumpling's files") -> str:
    """`[source] upstream`. Raises `Usage`, naming also `otherwise`, if it is not set."""
    if options.upstream_url is None:
        raise Usage(
            "[source] upstream is not set: the TiDB that the tables are read from, "
            f"such as mysql+pymysql://user@host:4000; or, {otherwise}"
        )
    return options.upstream_url


@contextmanager
def reading(url: str, snapshot_ts: int | None = None) -> Iterator["UpstreamSession"]:
    """Yields a session, and closes it at the end. Raises the errors of `UpstreamSession.open`."""
    session = UpstreamSession.open(url, snapshot_ts)
    try:
        yield session
    finally:
        session.close()


class SnapshotRemoved(Stop, Sendable):
    """The upstream's garbage collection has passed the snapshot: a newer one must be read."""


class UpstreamSession:
    """A session that reads everything committed at or before `snapshot_ts`, or, without it, the
    present state.

    Raises `Retry` if the connection is lost or a store is busy, `Unavailable` for what its user may
    not do or if it does not answer, `Stop` for a snapshot that no longer exists and all else that
    TiDB refuses. No message shows the URL.
    """

    def __init__(self, connection: sa.Connection, snapshot_ts: int | None) -> None:
        self.snapshot_ts = snapshot_ts
        self._connection = connection

    @classmethod
    def open(cls, url: str, snapshot_ts: int | None = None) -> "UpstreamSession":
        session = cls(
            connect(engine_of(sa.make_url(url)), "[source] upstream"),
            snapshot_ts,
        )
        try:
            session._driver().decoders = {}
            session.query(_SETTINGS)
            if snapshot_ts is not None:
                session.look_at(snapshot_ts)
        except BaseException:
            session.close()
            raise
        return session

    def look_at(self, snapshot_ts: int) -> None:
        """Reads as of this timestamp from here on."""
        self.snapshot_ts = snapshot_ts
        self.query("SET @@tidb_snapshot = %s", str(snapshot_ts))

    def close(self) -> None:
        self._connection.invalidate()  # does not wait for unread rows
        self._connection.close()

    def query(self, statement: str, *parameters: object) -> list[Record]:
        """Returns all rows of a statement. A % in it is doubled."""
        with self._errors(), self._driver().cursor() as cursor:
            cursor.execute(statement, parameters)
            return list(cursor.fetchall())

    def stream(
        self, statement: str, parameters: Sequence[object], rows: int
    ) -> Iterator[list[Record]]:
        """Yields the rows of a statement, at most `rows` at a time, as the server sends them."""
        with self._errors():
            cursor = self._driver().cursor(pymysql.cursors.SSCursor)
            cursor.execute(statement, tuple(parameters))
            while batch := cursor.fetchmany(rows):
                yield batch
            cursor.close()

    def columns(
        self, statement: str, parameters: Sequence[object], rows: int
    ) -> Iterator[list[pa.Array]]:
        """Yields the same as arrays of bytes, one for each column: a fifth of the CPU."""
        with self._errors():
            driver = self._driver()
            with driver.cursor() as cursor:
                text = cursor.mogrify(statement, tuple(parameters))
            driver.query(text, unbuffered=True)
            yield from RowPackets(driver).batches(rows)

    def _driver(self) -> Any:
        return self._connection.connection.dbapi_connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except pymysql.err.MySQLError as error:
            raise _translated(error, self.snapshot_ts) from None
        except UnicodeDecodeError:
            raise Stop("the upstream holds text that is not UTF-8") from None


def _translated(error: pymysql.err.MySQLError, snapshot_ts: int | None) -> TicdcError:
    code = mysql_protocol.number(error)
    if code in REMOVED:
        return SnapshotRemoved(
            f"the upstream no longer has the snapshot of {snapshot_ts} (error {code}): its garbage "
            "collection has passed it"
        )
    if code in _ABSENT:
        as_of = f" as of {snapshot_ts}" if snapshot_ts else ""
        return Stop(f"the upstream has no such {_ABSENT[code]}{as_of}")
    if mysql_protocol.lost(error):
        return Retry("the connection to the upstream was lost")
    if code in _PASSING:
        return Retry(f"the upstream cannot answer now (error {code})")
    refused = mysql_protocol.translate(error)
    kind = Unavailable if isinstance(refused, Unavailable) else Stop
    reason = str(refused).removeprefix("the target refuses: ")
    return kind(f"the upstream refuses: {reason}")
