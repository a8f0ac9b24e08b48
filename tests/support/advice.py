"""Advice that is followed: a real TiDB, its topic, a target, and an operator's commands.

A case is data: what happened, what the product then says, what is done about it word for word, and
how that ends.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal
from unittest.mock import patch

import pytest
import sqlalchemy as sa
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import TopicPartition
from ticdc_consumer import failpoints
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.status.activity.stored import read
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import until
from ticdc_encoder.column import ColumnType
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, Row, RowChange, Table, Value
from ticdc_encoder.formats.elements import enum_reader
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.values import FAMILIES

from support.databases import own_schema
from support.torture_cli import CHANGEFEED, Command, Outcome
from support.torture_topics import Feed
from support.upstream_tidb import Upstream

CONFIG = "CONFIG"
START = f"run {CONFIG}"
"""What may be typed at any time."""

Rows = dict[tuple[Any, ...], Row]


class Scene:
    """An upstream, its changefeed, and one consumer of it."""

    def __init__(self, tidb: Upstream, feed: Feed, command: Command) -> None:
        self.tidb = tidb
        self.feed = feed
        self.command = command
        self.settings: dict[str, Any] = {}
        """What an operator adds to the configuration."""
        self.code = 0
        self.said = ""
        self.heard = ""
        """All that was said so far."""
        self.follows = False
        """Whether only what was said is typed."""
        self.snapshot = 0
        """A timestamp of the upstream, which `TS` stands for."""
        self.leaves: list[str] = []
        """SQL of the target that removes what goes beyond the test's own database."""
        self.until_end = ExitStack()
        """What holds until the case ends."""
        self._sends = False
        self._running = ExitStack()
        self._versions: dict[tuple[str, str], int] = {}
        self._tables: dict[str, Table] = {}
        self._rows: dict[str, Rows] = {}

    def begin_changefeed(self) -> None:
        """TiCDC sends what is committed from now on."""
        self._sends = True
        self._look()
        self.feed.resolve(self.tidb.ts())

    def upstream(self, *statements: str) -> None:
        """Runs each in TiDB; the changefeed sends what it changed, and a resolved ts after it."""
        for statement in statements:
            words = statement.split()
            if words[0].upper() in {"INSERT", "UPDATE", "DELETE", "REPLACE"}:
                self._transact(statement)
            else:
                self._define(statement)

    def _define(self, statement: str) -> None:
        known = self._tables
        commit_ts = self.tidb.ddl(statement)
        self._look()
        if self._sends:
            table = _named(statement, {*known, *self._tables})
            definition = self._tables.get(table)
            ddl = Ddl(self.tidb.schema, table, statement, commit_ts, 0, definition)
            self.feed.send_ddl(ddl)
            self.feed.resolve(commit_ts + 1)

    def _transact(self, statement: str) -> None:
        before = self._rows
        self.tidb.execute(statement)
        commit_ts = self._committed()
        self._look()
        if not self._sends:
            return
        for name, table in self._tables.items():
            old, new = before.get(name, {}), self._rows[name]
            for key in dict.fromkeys((*old, *new)):
                if old.get(key) != new.get(key):
                    self.send(RowChange(table, commit_ts, old.get(key), new.get(key)))
        self.feed.resolve(commit_ts + 1)

    def send(self, change: RowChange) -> None:
        self.feed.send(1, change)

    def _committed(self) -> int:
        ((found,),) = self.tidb.execute("SELECT @@tidb_last_txn_info")
        return int(found.partition('"commit_ts":')[2].split(",")[0])

    def _look(self) -> None:
        """The tables and rows as they are now."""
        self._tables, self._rows = {}, {}
        for name, kind in self.tidb.execute("SHOW FULL TABLES"):
            if kind == "BASE TABLE":
                ((_, text),) = self.tidb.execute(f"SHOW CREATE TABLE `{name}`")
                version = self._versions.setdefault((name, text), len(self._versions) + 1)
                table = parse_create_table(text, self.tidb.schema)
                table = self._tables[name] = replace(table, table_id=1, version=version)
                self._rows[name] = self._read(table)

    def _read(self, table: Table) -> Rows:
        rows: Rows = {}
        for values in self.tidb.execute(f"SELECT * FROM `{table.name}`"):  # noqa: S608
            row: Row = {
                column.name: value if value is None else _value(column.type, value)
                for column, value in zip(table.columns, map(_text, values), strict=True)
            }
            rows[tuple(row[column] for column in table.handle_key or row)] = row
        return rows

    # --- what operators do ------------------------------------------------------------------------

    def set(self, **settings: Any) -> None:
        """In the configuration; `{schema}` is TiDB's, `{target}` the target's, `{folder}` that of
        the configuration."""
        names = {
            "{schema}": self.tidb.schema,
            "{target}": own_schema(self.command.target_url),
            "{folder}": str(self.folder),
        }
        pattern = "|".join(map(re.escape, names))
        texts = {n: re.sub(pattern, lambda m: names[m[0]], str(v)) for n, v in settings.items()}
        self.command.set(**texts)

    def target(self, *statements: str) -> None:
        """An operator's SQL in the target."""
        engine = sa.create_engine(self.command.target_url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def types(self, line: str) -> None:
        """A command line. Who follows an advice types `run CONFIG`, or what was said, with `t` for
        TABLE: `…` stands for one word there."""
        line = line.replace("{schema}", self.tidb.schema)
        option = line.removeprefix(f"{START} ")
        if "…" in line or (self.follows and line != START and option not in self.heard):
            pattern = r"\S*?".join(map(re.escape, line.split("…")))
            found = re.findall(rf"{pattern}(?=[;,:.`)]*(?:\s|$))", self.heard)
            assert found, f"nothing says {line!r}, but: {self.heard}"
            line = str(found[-1])
        line = re.sub(r"\bTABLE\b", f"{self.tidb.schema}.t", line)
        name, *words = shlex.split(re.sub(r"\bTS\b", str(self.snapshot), line))
        words.remove(CONFIG)
        words += ["--yes"] if name == "forget" else []  # the answer to its question
        with chdir(self.folder):
            if name == "run":
                outcome = self.command(*words, **self.settings)
            else:
                outcome = self.command.command(name, *words, **self.settings)
        self.hears_of(outcome)

    def hears_of(self, outcome: Outcome) -> None:
        """Takes note of what a command said."""
        self.code, self.said = outcome.code, self._said(outcome)
        self.heard += self.said

    def types_in_place(self, sql: str) -> None:
        """Has this SQL run in the place of the DDL that waits, as was said."""
        found = re.findall(r"--ddl-run (\S+) FILE", self.heard)
        assert found, self.heard
        Path(self.folder, "FILE").write_text(sql)
        self.types(f"{START} --ddl-run {found[-1]} FILE")

    def begins_run(self, **settings: Any) -> None:
        """A consumer that goes on until it stops, or until `ends_run`; the target shows it."""
        self._running.enter_context(going_on(self.command.consumer(**self.settings, **settings)))
        with closing(open_target(self.command.target_url, to_look=True)) as target:
            assert until(lambda: is_shown(target), 60)

    def ends_run(self) -> None:
        """Ends that consumer, if there is one."""
        self._running.close()

    @property
    def folder(self) -> Path:
        """That of the configuration, in which commands are typed."""
        return Path(self.command.file).parent

    def _said(self, outcome: Outcome) -> str:
        """With CONFIG for the name of the file, which some messages have."""
        return f"{outcome.said}{outcome.printed}".replace(self.command.file, CONFIG)

    def hears(self, message: str) -> None:
        """The last command said it, where `…` stands for whatever varies."""
        assert self._is_in(message, self.said), self.said

    def heard_before(self, message: str) -> None:
        """The same, of all commands."""
        assert self._is_in(message, self.heard), self.heard

    def _is_in(self, message: str, text: str) -> bool:
        """`{config}` and the like are as in the code."""
        message = message.replace("{schema}", self.tidb.schema).replace("{config}", CONFIG)
        message = re.sub(r"\{\w+\}", "…", message)
        pattern = ".*".join(map(re.escape, message.split("…")))
        return re.search(pattern, text, re.DOTALL) is not None

    # --- how it ends -----------------------------------------------------------------------------

    def is_equal(self) -> None:
        """The target has the tables and rows that TiDB has, and no others, also after the next
        change."""
        assert self.code == 0, self.said
        self.types(START)
        assert self.code == 0, self.said
        self._look()
        engine = sa.create_engine(self.command.target_url, poolclass=sa.NullPool)
        names = sa.inspect(engine).get_table_names()
        assert {n for n in names if not n.startswith("ticdc_")} == {*self._tables}
        for name, table in self._tables.items():
            columns = ", ".join(column.name for column in table.columns)
            order = ", ".join(table.handle_key) or columns
            query = f"SELECT {columns} FROM {name} ORDER BY {order}"  # noqa: S608
            assert _texts(self.command.rows(query)) == _texts(self.tidb.execute(query)), name

    def is_verified(self) -> None:
        """The same, wherever the target has its tables: `verify` finds no difference."""
        assert self.code == 0, self.said
        outcome = self.command.command("verify", **self.settings)
        assert outcome.code == 0, outcome.printed


@contextmanager
def going_on(consumer: Consumer) -> Iterator[None]:
    """A consumer that applies what comes, in a thread of its own, and is closed when it stops."""

    def apply() -> None:
        with suppress(TicdcError), consumer:  # the target shows it
            list(consumer)

    thread = Thread(target=apply)
    thread.start()
    try:
        yield
    finally:
        consumer.stop()
        thread.join()


def is_shown(target: Target) -> bool:
    """Whether a consumer runs, as the target knows."""
    stored = read(target, CHANGEFEED)
    return stored is not None and stored.running


def _value(type_: ColumnType, text: str) -> Value:
    if type_.name == "enum":
        return enum_reader(type_.elements)(text)
    return FAMILIES[type_.name].from_text(text)


def _texts(rows: Sequence[tuple[Any, ...]]) -> list[list[str | None]]:
    """A target may hold a value as its text."""
    return [[*map(_text, row)] for row in rows]


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _named(statement: str, tables: set[str]) -> str:
    """The view of a CREATE or DROP VIEW; else the last word of the statement that is a table's
    name, as for the new name of a RENAME."""
    if view := re.match(r"(?:CREATE|DROP) VIEW (\w+)", statement):
        return view[1]
    words = re.findall(r"\w+", statement)
    return next((word for word in reversed(words) if word in tables), "")


# --- cases ---------------------------------------------------------------------------------------

Step = Callable[[Scene], None]


def upstream(*statements: str) -> Step:
    """Statements of the upstream, one transaction each."""
    return lambda scene: scene.upstream(*statements)


def sent(send: Callable[[Scene, RowChange], None], *statements: str) -> Step:
    """Statements of the upstream, whose rows are sent in another way."""

    def step(scene: Scene) -> None:
        with patch.object(scene, "send", partial(send, scene)):
            scene.upstream(*statements)

    return step


def target(*statements: str) -> Step:
    """Statements of an operator in the target."""
    return lambda scene: scene.target(*statements)


def changefeed_begins(scene: Scene) -> None:
    """TiCDC sends what is committed from now on."""
    scene.begin_changefeed()


def retention(scene: Scene) -> None:
    """The brokers delete all that was sent."""
    kafka, topic = scene.feed.kafka, scene.feed.topic
    client = KafkaConsumer({**kafka.config, "group.id": "ends"})
    for partition in range(scene.feed.partitions):
        _, end = client.get_watermark_offsets(TopicPartition(topic, partition))
        kafka.delete_records(topic, partition, end)
    client.close()


def copied(table: str) -> Step:
    """The target gets a copy of the table's rows, as of a timestamp."""

    def step(scene: Scene) -> None:
        scene.snapshot = scene.tidb.ts()
        for row in scene.tidb.execute(f"SELECT * FROM {table}"):  # noqa: S608
            scene.target(f"INSERT INTO {table} VALUES {row}")  # noqa: S608

    return step


def killed(line: str, failpoint: str) -> Step:
    """A command that ends in its middle."""

    def step(scene: Scene) -> None:
        failpoints._hits.clear()
        with pytest.MonkeyPatch.context() as patch, pytest.raises(failpoints.FailpointReached):
            patch.setenv("TICDC_FAILPOINT", f"{failpoint}:raise:1")
            scene.types(line)

    return step


def types(*lines: str) -> Step:
    """Commands, without `ticdc-consumer`."""

    def step(scene: Scene) -> None:
        for line in lines:
            scene.types(line)

    return step


def in_place(sql: str) -> Step:
    """SQL that is run in the place of the DDL that waits."""
    return lambda scene: scene.types_in_place(sql)


def run_begins(**settings: Any) -> Step:
    """A consumer that goes on beside what follows."""
    return lambda scene: scene.begins_run(**settings)


def run_ends(scene: Scene) -> None:
    """Somebody ends it."""
    scene.ends_run()


def as_ticdc_sends(step: Step, first: Step = lambda scene: None) -> Step:
    """The step, while TiCDC sends what the `first` one changes, then a resolved ts each half
    second."""

    def meanwhile(scene: Scene) -> None:
        done = Event()

        def sends() -> None:
            first(scene)
            while not done.wait(0.5):
                scene.feed.resolve(scene.tidb.ts())

        thread = Thread(target=sends)
        thread.start()
        try:
            step(scene)
        finally:
            done.set()
            thread.join()

    return meanwhile


def types_again(line: str) -> Step:
    """The command that was typed before, without an option or with one that was said to add."""

    def step(scene: Scene) -> None:
        follows, scene.follows = scene.follows, False
        scene.types(line)
        scene.follows = follows

    return step


def runs_what_is_said(before: str, after: str = "\n") -> Step:
    """The SQL that the last message has between two texts, in the target."""

    def step(scene: Scene) -> None:
        _, _, rest = scene.said.partition(before)
        statement, found, _ = rest.partition(after)
        assert found, scene.said
        scene.target(statement)

    return step


def sets(**settings: Any) -> Step:
    """What an operator changes in the configuration."""

    return lambda scene: scene.set(**settings)


def snapshot(scene: Scene) -> None:
    """A timestamp of now."""
    scene.snapshot = scene.tidb.ts()


def sets_upstream(scene: Scene) -> None:
    """`[source] upstream`, in the configuration."""
    scene.settings["source__upstream"] = scene.tidb.url


def hears(message: str) -> Step:
    """What the last of them says in between."""
    return lambda scene: scene.hears(message)


@dataclass(frozen=True)
class Case:
    """One advice: `given` what happened, the product `says` it, and `then` it is followed."""

    name: str
    given: Sequence[Step]
    says: str
    """Part of the message as it is in the code, with `…` for what varies."""
    then: Sequence[Step]
    also: tuple[str, ...] = ()
    """Parts of other messages that are followed on the way."""
    ends: Literal["equal", "verified", "stopped"] = "equal"
    settings: dict[str, Any] = field(default_factory=dict)
    """With None one is left out."""
    on: tuple[str, ...] = ("sqlite", "mariadb")
    protocol: str = "canal-json"
    format: dict[str, Any] = field(default_factory=dict)
    """Options of the protocol's encoder."""
    kafka: Literal["mock", "real"] = "mock"

    def __str__(self) -> str:
        return self.name


def follow(case: Case, scene: Scene) -> None:
    for step in case.given:
        step(scene)
    scene.hears(case.says)
    scene.follows = True
    for step in case.then:
        step(scene)
    for message in case.also:
        scene.heard_before(message)
    if case.ends == "equal":
        scene.is_equal()
    elif case.ends == "verified":
        scene.is_verified()
    else:
        assert scene.code == 3, scene.said
