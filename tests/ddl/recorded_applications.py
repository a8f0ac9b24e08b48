"""The migrations of an application, run in the real TiDB and sent as TiCDC sends them.

`tests/ddl/applications` has them, `tests/ddl/README.md` says in which form.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pymysql  # type: ignore[import-untyped]
import sqlalchemy as sa
from ddl.judge import Held, changes, held
from support.golden import Contents, Scenario, State, TableVersion
from support.shapes import Key
from support.torture_topics import Feed
from support.upstream_tidb import Upstream
from ticdc_encoder.event import Ddl

FOLDER = Path(__file__).resolve().parent.parent / "ddl" / "applications"
NAMES = tuple(sorted(file.stem for file in FOLDER.glob("*.sql")))
LOOK = "-- look"
PREFIX = "app_"
"""That of every schema's name, and of nothing else."""


@dataclass(frozen=True)
class Sent:
    """A DDL message: the table that it names, and its text."""

    schema: str
    table: str
    query: str


@dataclass(frozen=True)
class Statement:
    """`sent` is what TiCDC sends of it, if it is DDL."""

    text: str
    sent: tuple[Sent, ...]


@dataclass(frozen=True)
class Point:
    """What the upstream holds at R, tables and views."""

    resolved_ts: int
    told: Scenario
    state: State
    keys: Mapping[str, frozenset[Key]]
    """Of each table, by `schema.table`."""

    @property
    def tables(self) -> Iterator[tuple[TableVersion, frozenset[Key]]]:
        """Without views."""
        for version in self.told.tables:
            if version.create is not None:
                yield version, self.keys[f"{version.schema}.{version.table}"]


def statements(application: str) -> Iterator[Statement | None]:
    """None stands where TiDB and the targets are compared."""
    written = (FOLDER / f"{application}.sql").read_bytes()
    checksum, *told = (FOLDER / f"{application}.sent").read_text().split("\n")[:-1]
    assert checksum == sha256(written).hexdigest(), "run tests/ddl/applications/sent.sh"
    sent: dict[int, list[Sent]] = {}
    for line in told:
        statement, *words = line.split("\t", 3)
        sent.setdefault(int(statement), []).append(Sent(*words))
    number, lines = 1, list[str]()
    for line in written.decode().split("\n"):
        if line == LOOK:
            yield None
        elif not line.startswith("--"):
            lines.append(line)
            if line.endswith(";"):
                yield Statement("\n".join(lines)[:-1], tuple(sent.pop(number, ())))
                number, lines = number + 1, []
    assert not sent


class Recorder:
    """A session of the TiDB in which an application's statements run, in schemas whose names begin
    with its own schema's."""

    def __init__(self, application: str, tidb: Upstream, feed: Feed) -> None:
        self._application, self._tidb, self._feed = application, tidb, feed
        self._own = f"{tidb.schema}_{PREFIX}{application}"
        self._tables: dict[tuple[str, str], Held] = {}
        self._job = self._reached = 0
        self.altered: dict[tuple[str, str, int], Held] = {}
        """Tables as of the DDL that made them so: schema, name, commit_ts."""

    def run(self) -> Iterator[Point]:
        self._feed.resolve(self._tidb.ts())
        for statement in statements(self._application):
            if statement is None:
                yield self._look()
                continue
            text = self._renamed(statement.text)
            if statement.sent:
                self._ddl(text, statement.sent)
            elif text.startswith(("USE ", "SET ")):
                self._tidb.execute(text)
            else:
                self._rows(text)

    def _renamed(self, text: str) -> str:
        return text.replace(PREFIX, f"{self._tidb.schema}_{PREFIX}")

    def _ddl(self, text: str, sent: Sequence[Sent]) -> None:
        before = self._tables
        self._tidb.execute(text)
        jobs = self._tidb.execute(
            "SELECT job_id, job_meta FROM mysql.tidb_ddl_history "  # noqa: S608
            f"WHERE job_id > {self._job} AND db_name LIKE '{self._own}%' ORDER BY job_id"
        )
        self._tables = self._held(text)
        if not jobs:
            return  # such as a CHECK, which TiDB ignores
        self._job = jobs[-1][0]
        if len(jobs) == 1:
            jobs = jobs * len(sent)
        for each, (_, meta) in zip(sent, jobs, strict=True):
            job = json.loads(meta)
            self._reached = job["binlog"]["FinishedTS"]
            name = self._renamed(each.schema), each.table
            table = self._tables.get(name, before.get(name))
            if name in self._tables:
                self.altered[*name, self._reached] = self._tables[name]
            # TiCDC leaves out a table without a key.
            if table is None or table[0].handle_key:
                query = self._renamed(each.query)
                self._feed.send(0, Ddl(*name, query, self._reached, job["type"]))

    def _rows(self, text: str) -> None:
        self._tidb.execute("BEGIN", text, "COMMIT")
        ((ts,),) = self._tidb.execute("SELECT json_extract(@@tidb_last_txn_info, '$.commit_ts')")
        before, self._tables = self._tables, self._held(text)
        for number, change in enumerate(changes(before, self._tables, int(ts))):
            self._reached = int(ts)
            self._feed.send(number % self._feed.partitions, change)

    def _held(self, text: str) -> dict[tuple[str, str], Held]:
        """All tables; those that a statement cannot have changed are not read again."""
        return {
            (schema, name): known
            if (known := self._tables.get((schema, name)))
            and not (name in text or known[0].foreign_keys)
            else held(self._tidb.execute, f"`{schema}`.`{name}`", schema)
            for schema, name, kind in self._names()
            if kind == "BASE TABLE"
        }

    def _names(self) -> list[tuple[Any, ...]]:
        return self._tidb.execute(
            "SELECT table_schema, table_name, table_type FROM information_schema.tables "  # noqa: S608
            f"WHERE table_schema LIKE '{self._own}%' ORDER BY 1, 2"
        )

    def _look(self) -> Point:
        resolved_ts = self._reached + 1
        self._feed.resolve(resolved_ts)
        versions, contents, keys = [], dict[str, Contents](), dict[str, frozenset[Key]]()
        with _printing(self._tidb.url) as read:
            for schema, name, kind in self._names():
                columns = read(
                    "SELECT column_name, column_type, extra, is_nullable, column_default "  # noqa: S608
                    f"FROM information_schema.columns WHERE table_schema = '{schema}' "
                    f"AND table_name = '{name}' ORDER BY ordinal_position"
                )
                created = None
                if kind == "BASE TABLE":
                    ((_, created),) = read(f"SHOW CREATE TABLE `{schema}`.`{name}`")
                    keys[f"{schema}.{name}"] = Key.shown(
                        read(f"SHOW INDEX FROM `{schema}`.`{name}`")
                    )
                described = tuple(dict(zip(_COLUMN, column, strict=True)) for column in columns)
                versions.append(TableVersion(schema, name, 0, created, described, dropped=False))
                rows = read(f"SELECT * FROM `{schema}`.`{name}`")  # noqa: S608
                names = tuple(column[0] for column in columns)
                contents[f"{schema}.{name}"] = Contents(schema, name, names, tuple(rows))
        told = Scenario(self._own, tuple(versions), {})
        return Point(resolved_ts, told, State(resolved_ts, contents), keys)


_COLUMN = ("column_name", "column_type", "extra", "is_nullable", "column_default")


@contextmanager
def _printing(url: str) -> Iterator[Any]:
    """Reads what TiDB's text protocol prints."""
    at = sa.make_url(url)
    connection = pymysql.connect(
        host=at.host,
        port=at.port or 3306,
        user=at.username,
        password=at.password or "",
        charset="utf8mb4",
        init_command="SET time_zone = '+00:00'",
        conv=pymysql.converters.encoders,
    )

    def read(text: str) -> list[tuple[Any, ...]]:
        cursor.execute(text)
        return list(cursor.fetchall())

    with closing(connection), connection.cursor() as cursor:
        yield read
