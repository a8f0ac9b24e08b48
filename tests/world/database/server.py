"""The target: a database server whose storage is SQLite; sessions, locks and failures are modelled.

As a file it has SQLite's one lock; as a server it does what PostgreSQL does: a transaction reads
what is committed, and takes its lock with its first locking statement."""

import re
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from ticdc_consumer.targets.schema.create import create_table
from ticdc_consumer.targets.sqlite.create import WORDS
from ticdc_consumer.targets.sqlite.quoting import quote_name
from ticdc_encoder.event import Table
from world.schedule import BEGIN, Fault, Killed, Process, Scheduler

LOCK = "/* locks */"
"""What a locking read begins with: SQLite has no such statement."""
ONLY_READS = re.compile(r"\s*(SELECT(?! /\* locks)|PRAGMA|WITH)", re.IGNORECASE)
WRITES = re.compile(r'(?:INSERT OR ABORT INTO|CREATE TABLE) "(\w+)"')
ALWAYS = 1e9


class Lost(sqlite3.OperationalError):
    """The session is gone."""


class Refused(sqlite3.OperationalError):
    """The server refused a statement for a passing reason; the transaction may go on or be gone."""


class Server:
    """One database in a file, with its sessions. `committed` is called after each COMMIT that wrote
    something, before its session goes on."""

    def __init__(self, scheduler: Scheduler, file: Path, is_file: bool) -> None:
        self.scheduler = scheduler
        self.file, self.is_file = file, is_file
        self.committed: Callable[[], None] = lambda: None
        self.sessions: dict[str, Session] = {}
        self.holder: Session | None = None
        self.away_until = BEGIN
        self.busy_until = BEGIN
        """Until then somebody else holds locks of all tables."""
        self.refused: set[str] = set()
        """Tables that take no rows, and may not be created."""
        self.stages: dict[str, list[bytes]] = {}
        """The rows of staging tables, which are no part of any transaction."""
        self._saved: sqlite3.Connection | None = None
        self._numbers = 0
        self._all: list[Session] = []
        scheduler.handlers["server away"] = self._go_away

    def connect(self) -> "Session":
        self.scheduler.door("connect")
        if self.scheduler.now < self.away_until:
            raise Lost("the server does not answer")
        self._numbers += 1
        session = sqlite3.connect(
            self.file, isolation_level=None, check_same_thread=False, factory=Session, timeout=0
        )
        session.begin_at(self, f"session-{self._numbers}")
        self.sessions[session.id] = session
        self._all.append(session)
        return session

    def end(self, session: "Session") -> None:
        """Its transaction is rolled back; it learns so with its next statement."""
        if self.sessions.pop(session.id, None) is not None:
            session.gone = True
            session.undo()

    def close(self) -> None:
        for session in [*self._all, *([self._saved] if self._saved else [])]:
            sqlite3.Connection.close(session)

    def create(self, tables: Iterable[Table]) -> None:
        """Before all else, without rows."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as session:
            for table in tables:
                name = quote_name(table.name)
                for statement in create_table(name, table.name, table, WORDS):
                    session.execute(statement)

    def drop_own(self) -> None:
        """No consumer was here before."""
        with closing(sqlite3.connect(self.file, isolation_level=None)) as session:
            for name in own_tables(session):
                session.execute(f"DROP TABLE {quote_name(name)}")

    def save(self) -> None:
        """As a backup does, at what is committed now."""
        if self._saved is None and not self.is_file:
            self._saved = sqlite3.connect(":memory:", check_same_thread=False)
            with closing(sqlite3.connect(self.file)) as reader:
                reader.backup(self._saved)

    def saved_offsets(self) -> dict[tuple[str, int], int]:
        """Where the checkpoint that was saved has each partition read on."""
        if self._saved is None or not own_tables(self._saved):
            return {}
        rows = self._saved.execute("SELECT topic, partition, restart_offset FROM ticdc_offset")
        return {(topic, int(number)): int(offset) for topic, number, offset in rows}

    def restore(self) -> bool:
        """All is as it was saved, and all sessions end. Whether something was saved."""
        if self._saved is None:
            return False
        self.stages.clear()
        for session in list(self.sessions.values()):
            self.end(session)
        with closing(sqlite3.connect(self.file)) as writer:
            self._saved.backup(writer)
        return True

    def require_allowed(self, session: "Session", statement: str) -> None:
        """Raises what a trigger, or a missing privilege, does."""
        written = WRITES.match(statement) if self.refused else None
        if written is not None and written[1] in self.refused:
            session.broken = session.inside
            raise sqlite3.IntegrityError("it may not be")

    def _go_away(self, fault: Fault) -> None:
        if self.is_file:
            return
        self.away_until = self.scheduler.now + fault.size % 20
        for session in list(self.sessions.values()):
            self.end(session)
        if fault.size % 2:  # it went down, and what is unlogged is empty
            self.stages = {name: [] for name in self.stages}


def own_tables(session: sqlite3.Connection) -> list[str]:
    """The consumer's."""
    names = session.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return [name for (name,) in names if name.startswith("ticdc_")]


class Session(sqlite3.Connection):
    """One connection. SQLite itself never waits: the server's lock is asked for before."""

    server: Server
    id: str
    process: Process | None

    def begin_at(self, server: Server, name: str) -> None:
        self.server, self.id, self.process = server, name, server.scheduler.current
        self.gone = False
        self.inside = False
        """Between BEGIN and COMMIT, with or without the lock."""
        self.broken = False
        """A statement of the transaction failed: its COMMIT undoes it."""
        self.lock_timeout = ALWAYS
        if self.process is not None:
            self.process.on_death.append(lambda: server.end(self))

    def cursor(self, *_: Any) -> "Cursor":  # type: ignore[override]
        return sqlite3.Connection.cursor(self, Cursor)

    def execute(self, statement: str, parameters: Any = ()) -> "Cursor":
        return self.cursor().execute(statement, parameters)

    def executemany(self, statement: str, rows: Any) -> "Cursor":
        return self.cursor().executemany(statement, rows)

    def rollback(self) -> None:
        self.undo()

    def commit(self) -> None:
        raise AssertionError("COMMIT is a statement")

    def close(self) -> None:
        self.server.end(self)

    def undo(self) -> None:
        """The transaction and its lock are no more."""
        if self.inside and sqlite3.Connection.in_transaction.__get__(self):
            sqlite3.Connection.execute(self, "ROLLBACK")
        self.inside, self.broken, self.lock_timeout = False, False, ALWAYS
        if self.server.holder is self:
            self.server.holder = None

    # --- statements ---------------------------------------------------------------------------

    def before(self, statement: str) -> str:
        """What is run for a statement, once the session may run it; "" for nothing."""
        scheduler = self.server.scheduler
        if scheduler.current is not self.process or self.process is None:
            # It is rolled back while another one runs, or nothing is modelled yet.
            return statement
        faults = scheduler.door("statement")
        if self.gone:
            raise Lost(f"{self.id} is gone")
        word = statement.split(None, 1)[0].upper() if statement else ""
        for fault in faults:
            self._fail(fault, word)
        if self.broken and word not in ("ROLLBACK", "COMMIT"):
            raise Refused("the transaction is aborted")
        match word:
            case "BEGIN":
                self.inside, self.broken = True, False
                if self.server.is_file:
                    self._lock(0.0)
                return ""
            case "COMMIT":
                return self._commit()
            case "ROLLBACK" if "TO" not in statement.upper():
                self.undo()
                return ""
            case "ROLLBACK":  # to a savepoint
                self.broken = False
            case "SET":
                self.lock_timeout = int(statement.rpartition("=")[2]) / 1000
                return ""
        if not ONLY_READS.match(statement):
            self._lock(self.lock_timeout)
        return statement

    def _lock(self, patience: float) -> None:
        server, scheduler = self.server, self.server.scheduler
        if server.holder is self:
            return
        patience = 5.0 if server.is_file else patience
        waited = scheduler.now + patience
        if scheduler.now < server.busy_until:
            scheduler.sleep(min(patience, 3.0))
            raise Refused("lock timeout")
        while server.holder is not None:
            if scheduler.now >= waited:
                scheduler.say(f"{self.id} waited too long for {server.holder.id}")
                raise Refused("lock timeout")
            scheduler.sleep(0.05)
            if self.gone:
                raise Lost(f"{self.id} is gone")
        if not self.inside:
            return  # a statement that commits by itself
        server.holder = self
        sqlite3.Connection.execute(self, "BEGIN IMMEDIATE")

    def _fail(self, fault: Fault, word: str) -> None:
        server = self.server
        if server.is_file:
            if word == "BEGIN":
                raise Refused("the file is locked")
        elif fault.kind == "session lost":
            server.end(self)
            raise Lost(f"{self.id} is gone")
        elif word not in ("COMMIT", "ROLLBACK"):
            self.broken = self.inside
            raise Refused(fault.kind)

    def _commit(self) -> str:
        server = self.server
        kinds = {fault.kind for fault in server.scheduler.passed("commit")}
        self._alive()
        if "commit lost, undone" in kinds and not server.is_file:
            server.end(self)
            raise Lost("the connection was lost at COMMIT")
        if "killed before COMMIT" in kinds:
            assert self.process is not None
            server.scheduler.kill(self.process)
            self._alive()
        if self.broken:
            self.undo()
        elif server.holder is self:
            sqlite3.Connection.execute(self, "COMMIT")
            self.inside, self.lock_timeout, server.holder = False, ALWAYS, None
            server.committed()
        self.inside = False
        if "commit lost, done" in kinds and not server.is_file:
            server.end(self)
            raise Lost("the connection was lost at COMMIT")
        if "killed after COMMIT" in kinds:
            assert self.process is not None
            server.scheduler.kill(self.process)
            self._alive()
        return ""

    def _alive(self) -> None:
        if self.process is not None and self.process.dead:
            raise Killed(self.process.name)


class Cursor(sqlite3.Cursor):
    connection: Session

    def execute(self, statement: str, parameters: Any = ()) -> "Cursor":
        text = self.connection.before(statement)
        if text:
            self.connection.server.require_allowed(self.connection, text)
            super().execute(text, parameters)
        return self

    def executemany(self, statement: str, rows: Any) -> "Cursor":
        text = self.connection.before(statement)
        self.connection.server.require_allowed(self.connection, text)
        super().executemany(text, rows)
        return self


SERVER: list[Server] = []
"""The one of the history that runs."""
