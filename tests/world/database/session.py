"""The world's databases as targets of the consumer."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import sqlalchemy as sa
from ticdc_consumer.errors import Away, Retry, Unavailable
from ticdc_consumer.targets import Database
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
        if isinstance(driver, Refused | Lost):
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

    def locking_read(self, statement: sa.Select[Any]) -> sa.Select[Any]:
        return statement.prefix_with(LOCK)

    def one_at_a_time(self) -> None:
        self.execute("UPDATE world_lock SET held = 1").close()


TARGETS = {"worldfile": WorldFile, "worldserver": WorldServer}
DATABASES = {name: Database("world.database") for name in TARGETS}
"""What the consumer's own `DATABASES` gets."""


def open_session(url: sa.URL, to_look: bool = False) -> Target:
    return TARGETS[url.get_backend_name()].open(url)
