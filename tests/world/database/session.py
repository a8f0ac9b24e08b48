"""The world's databases as targets of the consumer."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import orjson
import pyarrow as pa
import sqlalchemy as sa
from ticdc_consumer.errors import Away, Retry, Unavailable
from ticdc_consumer.targets import Database
from ticdc_consumer.targets.bulk import OnDrift
from ticdc_consumer.targets.column_mapping import SKIP
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.postgresql.fence import past_the_row_lock
from ticdc_consumer.targets.sqlite.session import SQLite
from ticdc_consumer.targets.target import Target, original
from world.database.server import LOCK, SERVER, Lost, Refused, Session

T = TypeVar("T")


def _session() -> sqlite3.Connection:
    return SERVER[-1].connect() if SERVER else sqlite3.connect(":memory:", isolation_level=None)


ENGINE = sa.create_engine(
    "sqlite+pysqlite://",
    isolation_level="AUTOCOMMIT",
    poolclass=sa.NullPool,
    hide_parameters=True,
    creator=_session,
)
"""For all sessions of all histories: what SQLAlchemy asks a new engine's database, and what it
compiles, would else take most of the time."""
ENGINE.connect().close()


def _rows_of(stage: str) -> list[bytes]:
    """A consumer that took over may have dropped it."""
    rows = SERVER[-1].stages.get(stage)
    if rows is None:
        raise sqlite3.OperationalError(f"no such table: {stage}")
    return rows


class WorldFile(SQLite):
    """The real target for SQLite, on the model."""

    dialect: ClassVar[str] = "worldfile"

    @classmethod
    def open(cls, url: sa.URL) -> "WorldFile":
        return cls(ENGINE)

    def _write_ahead(self, connection: sa.Connection) -> None:
        """The server has done so."""

    def translate(self, error: Exception, layout: Layout | None = None) -> Exception:
        driver = original(error)
        closed = sa.exc.PendingRollbackError | sa.exc.ResourceClosedError
        if isinstance(driver, Refused | Lost | closed):
            return Retry(str(driver))
        return super().translate(error, layout)


@dataclass(frozen=True)
class _Driver:
    """The session below SQLAlchemy's connection."""

    connection: sa.Connection

    @property
    def session(self) -> Session:
        driver = self.connection.connection.dbapi_connection
        assert isinstance(driver, Session)
        return driver


class WorldServer(WorldFile):
    """As PostgreSQL: sessions that can be ended, and its way past an older consumer."""

    dialect: ClassVar[str] = "worldserver"
    begin_statement: ClassVar[str] = "BEGIN"
    clock: ClassVar[str] = ""
    has_staging: ClassVar[bool] = True

    def _connect(self) -> sa.Connection:
        try:
            return super()._connect()
        except Unavailable as error:
            raise Away(str(error)) from error

    def _rollback(self) -> None:
        Target._rollback(self)

    def lost(self, error: Exception) -> bool:
        return isinstance(original(error), Lost)

    def session_id(self) -> str:
        return _Driver(self.connection).session.id

    def end_session(self, session_id: str) -> None:
        session = SERVER[-1].sessions.get(session_id)
        if session is not None:
            SERVER[-1].scheduler.say(f"{session_id} is ended by a newer consumer")
            SERVER[-1].end(session)

    def overtake(
        self, changefeed: str, patience: float, owner: Callable[[], str], work: Callable[[], T]
    ) -> T:
        return past_the_row_lock(self, changefeed, patience, owner, work)

    # Staging tables have storage of their own, so that no lock of the file is in their way.

    def stage(self, layout: Layout, name: str, rows: pa.BinaryArray) -> None:
        with self.errors(layout):
            self._pass("a staging table")
            SERVER[-1].stages[name] = rows.to_pylist()

    def trim(self, layout: Layout, name: str, keys: pa.BinaryArray) -> int:
        with self.errors(layout):
            self._pass("to trim")
            gone = {tuple(orjson.loads(key)) for key in keys.to_pylist()}
            written = [n for n, codec in enumerate(layout.codecs) if codec != SKIP]
            key = [written.index(position) for position in layout.key_positions()]
            rows = [
                row
                for row in _rows_of(name)
                if tuple(orjson.loads(row)[n] for n in key) not in gone
            ]
            SERVER[-1].stages[name] = rows
            return len(rows)

    def publish(self, layout: Layout, name: str, on_drift: OnDrift) -> int:
        rows = pa.array(_rows_of(name), pa.binary())
        return self.insert(layout, rows, on_drift)

    def staging_tables(self, prefix: str) -> list[str]:
        with self.errors():
            self._pass("the staging tables")
            return [name for name in SERVER[-1].stages if name.startswith(prefix)]

    def drop_staging(self, names: Sequence[str]) -> None:
        for name in names:
            with self.errors():
                self._pass("to drop a staging table")
                SERVER[-1].stages.pop(name, None)

    def _pass(self, what: str) -> None:
        """The door of a statement that SQLite does not run."""
        _Driver(self.connection).session.before(f"SELECT '{what}'")

    def locking_read(self, statement: sa.Select[Any]) -> sa.Select[Any]:
        return statement.prefix_with(LOCK)

    def one_at_a_time(self) -> None:
        self.execute("UPDATE world_lock SET held = 1").close()


TARGETS = {"worldfile": WorldFile, "worldserver": WorldServer}
DATABASES = {name: Database("world.database") for name in TARGETS}
"""What the consumer's own `DATABASES` gets."""


def open_session(url: sa.URL, to_look: bool = False) -> Target:
    return TARGETS[url.get_backend_name()].open(url)
