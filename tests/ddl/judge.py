"""TiDB as the judge of DDL: a history runs there, its messages go through the consumer's own parts
into a target, and after each DDL the target's columns, keys and rows are those of TiDB.

A target's rows are compared with those of a new table that the target makes of TiDB's SHOW CREATE
TABLE, and into which TiDB's rows are loaded as they are.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import sqlalchemy as sa
from ddl.random_ddl import NAMES, ROOM, SEQUENCE, VIEW, Histories, Statement
from support.canonical_rows import load
from support.world import World, lay_out
from support.world_run import Run
from ticdc_consumer.cut.read import upstream
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import TargetTable
from ticdc_consumer.targets.target import Target
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Ddl, Row, RowChange, Table
from ticdc_encoder.sql.evolution import evolve
from ticdc_encoder.sql.parser import parse_create_table, parse_ddl
from ticdc_encoder.sql.statements import AlterTable
from ticdc_encoder.sql.words import restored
from ticdc_encoder.values import canonical

SCHEMA = "w"
BEGIN = 1714885505
"""Seconds, on 2024-05-05."""
REFERENCE = "as_in_tidb"
"""The new table with which a target's own is compared."""

NAMED = {
    "an expression": r"its default is an expression",
    "no date": r"PostgreSQL has no date",
    "a TIMESTAMP of some time zone": r"in the time zone of the upstream's session",
    "the upstream's clock": r"the time at which the upstream began the statement",
    "an uncertain default": r"the value that its default gives existing rows is not certain",
    "a change of type": r"cannot convert existing values from",
    "a value that does not fit": r"it has values that its new definition cannot hold",
    "a BLOB's default": r"\(error 1101\)",
    "a view of what is not sent": r"CREATE VIEW is not translated: column .* is virtual",
    "a scheme of partitions": r"not computed here|it is not certain which rows of",
}
"""The stops that docs/reference/ddl.md names."""


@dataclass(frozen=True)
class State:
    """All tables after a commit_ts, each with its rows."""

    commit_ts: int
    tables: Mapping[str, tuple[Table, tuple[Row, ...]]]
    view: "View | None" = None
    """None also where TiDB has it, and its table or columns are gone."""


@dataclass(frozen=True)
class View:
    columns: tuple[str, ...]
    ids: tuple[int, ...]


@dataclass
class History:
    """What TiDB did: `changes` as TiCDC would send them, and its tables after each commit_ts."""

    changes: list[RowChange | Ddl] = field(default_factory=list)
    states: list[State] = field(default_factory=list)

    def at(self, end: int) -> State:
        before = [state for state in self.states if state.commit_ts < end]
        return before[-1] if before else State(0, {})

    @property
    def ddls(self) -> list[Ddl]:
        return [change for change in self.changes if isinstance(change, Ddl)]


Held = tuple[Table, tuple[Row, ...]]
"""A table as TiDB has it, with its rows."""


def held(run: Callable[[str], Sequence[Sequence[Any]]], at: str, schema: str) -> Held:
    """`run` gives the rows of a query, `at` is the table's quoted name, in whatever schema."""
    ((_, definition),) = run(f"SHOW CREATE TABLE {at}")
    table = parse_create_table(restored(definition), schema)
    columns = [column for column in table.columns if column.generated != "virtual"]
    listed = ", ".join(upstream._selected(column) for column in columns)
    rows = run(f"SELECT {listed} FROM {at}")  # noqa: S608
    return table, tuple(
        {c.name: upstream._value(c, value) for c, value in zip(columns, row, strict=True)}
        for row in rows
    )


def changes(
    before: Mapping[Any, Held], after: Mapping[Any, Held], commit_ts: int
) -> Iterator[RowChange]:
    """What a transaction changed in the rows of tables that have a key."""
    for name, (table, rows) in before.items():
        if not (key := table.handle_key):
            continue
        old = {tuple(row[c] for c in key): row for row in rows}
        new = {tuple(row[c] for c in key): row for row in after[name][1]}
        for at in {**old, **new}:
            if old.get(at) != new.get(at):
                yield RowChange(table, commit_ts, before=old.get(at), after=new.get(at))


class Judge:
    """A session of TiDB in a database of its own."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._run("SET time_zone = '+00:00', sql_mode = ''")

    def _run(self, text: str) -> Any:
        return self._connection.exec_driver_sql(text, None, {"no_parameters": True})

    def history(self, seed: int, steps: int) -> History:
        self._tables: dict[str, tuple[Table, tuple[Row, ...]]] = {}
        self._run("SET foreign_key_checks = 0")
        self._run(f"DROP TABLE IF EXISTS {', '.join((*NAMES, ROOM))}")
        self._run(f"DROP VIEW IF EXISTS {VIEW}")
        self._run(f"DROP SEQUENCE IF EXISTS {SEQUENCE}")
        self._run("SET foreign_key_checks = 1")
        made, rng = History(), Random(seed)
        random = Histories(rng)
        second = BEGIN
        while len(made.ddls) < steps:
            second += 1
            milliseconds = second * 1000 + rng.randrange(1000)
            commit_ts = (milliseconds << 18) + rng.randrange(3)
            self._run(f"SET timestamp = {milliseconds / 1000:.3f}")
            if self._tables and rng.random() < 0.6:
                made.changes += self._rows(random, commit_ts)
            else:
                made.changes += self._ddl(random, commit_ts)
            made.states.append(State(commit_ts, dict(self._tables), self._view()))
        return made

    def _ddl(self, random: Histories, commit_ts: int) -> list[Ddl]:
        statement = random.ddl({name: table for name, (table, _) in self._tables.items()})
        if self._leaves_no_key(statement):
            return []
        try:
            self._run(statement.text)
        except sa.exc.DBAPIError:
            return []  # TiDB refused it, so that it did not happen
        # A foreign key names its parent by the name that it has now.
        for name in {*statement.touched, *self._tables}:
            self._look(name)
        return [Ddl(SCHEMA, table, query, commit_ts) for table, query in statement.sent]

    def _leaves_no_key(self, statement: Statement) -> bool:
        """TiCDC does not send the rows of such a table."""
        for name, query in statement.sent:
            parsed = parse_ddl(query, SCHEMA)
            if isinstance(parsed, AlterTable) and name in self._tables:
                try:
                    return not evolve(parsed, self._tables[name][0]).after.handle_key
                except DefinitionError:
                    return False  # TiDB refuses it, too
        return False

    def _rows(self, random: Histories, commit_ts: int) -> list[RowChange]:
        before = dict(self._tables)
        for text in random.rows(before[random.rng.choice(sorted(before))][0]):
            try:
                self._run(text)
            except sa.exc.DBAPIError:
                continue
        for name in before:  # a foreign key may have changed others
            self._look(name)
        return list(changes(before, self._tables, commit_ts))

    def _view(self) -> View | None:
        try:
            result = self._run(f"SELECT * FROM `{VIEW}`")  # noqa: S608
        except sa.exc.DBAPIError:
            return None
        return View(tuple(result.keys()), tuple(sorted(row.id for row in result)))

    def _look(self, name: str) -> None:
        """Reads the table as it is now."""
        try:
            self._tables[name] = held(lambda text: self._run(text).all(), f"`{name}`", SCHEMA)
        except sa.exc.DBAPIError:
            self._tables.pop(name, None)


@dataclass
class Verdict:
    """How far a target came, and why it stopped there."""

    ddls: int = 0
    stop: str | None = None

    @property
    def named(self) -> str | None:
        """The name of the stop in NAMED."""
        found = [name for name, reason in NAMED.items() if re.search(reason, self.stop or "")]
        return found[0] if found else None


def play(history: History, seed: int, url: str) -> Verdict:
    """Raises AssertionError where the target differs from TiDB."""
    rng, verdict = Random(seed), Verdict()
    world = World(rng, rng.choice([1, 2, 3]))
    lay_out(world, protocol := rng.choice(["canal-json", "open-protocol"]), history.changes)
    database = str(sa.make_url(url).database)
    with ExitStack() as stack:
        watching = open_target(url)
        stack.callback(watching.close)
        schema, _ = watching.locate(database, "")
        for text in watching.create_schema(database) if schema is not None else ():
            watching.execute(text)
        previous = [0]

        def compare(resolved_ts: int) -> None:
            before, now = history.at(previous[0]), history.at(resolved_ts)
            for name in {**before.tables, **now.tables}:
                if before.tables.get(name) != now.tables.get(name):
                    check(watching, schema, name, now.tables.get(name))
            if now.view is not None:
                assert shown(watching, schema) == now.view
            verdict.ddls += sum(previous[0] <= ddl.commit_ts < resolved_ts for ddl in history.ddls)
            previous[0] = resolved_ts

        run = Run(world, protocol, "net", url, compare)
        run.options = replace(run.options, ddl_kinds={"VIEW": "stop"})  # none is missed unnoticed
        if schema is not None:
            run.options = replace(run.options, route={f"{SCHEMA}.*": f"{schema}.{{table}}"})
        try:
            run.go()
        except Stop as stop:
            verdict.stop = str(stop)
            verdict.ddls += 1
    return verdict


def check(
    target: Target, schema: str | None, name: str, expected: tuple[Table, tuple[Row, ...]] | None
) -> None:
    """The target's table is what TiDB has."""
    described = target.describe(schema, name)
    if expected is None:
        assert described is None, f"{name} is still there"
        return
    table, rows = expected
    assert described is not None, f"{name} is missing"
    for text in target.drop_table(schema, REFERENCE):
        target.execute(text)
    for text in target.create_table(schema, REFERENCE, table):
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})
    new = target.describe(schema, REFERENCE)
    assert new is not None
    assert shape(described, target) == shape(new, target), name
    sent = replace(table, columns=tuple(c for c in table.columns if c.generated != "virtual"))
    layout = target.layout(sent, table.handle_key, new, sent, frozenset())
    types = {column.name: column.type for column in table.columns}
    names = [column.name for column in layout.source]
    load(
        target,
        layout,
        [[None if row[n] is None else canonical(row[n], types[n]) for n in names] for row in rows],
    )
    assert contents(target, schema, name, names) == contents(target, schema, REFERENCE, names), name


def shown(target: Target, schema: str | None) -> View:
    result = target.connection.exec_driver_sql(f"SELECT * FROM {target.quote(schema, VIEW)}")  # noqa: S608
    return View(tuple(result.keys()), tuple(sorted(row.id for row in result)))


def shape(table: TargetTable, target: Target) -> object:
    """Columns and keys; in order where the order is TiDB's."""
    columns: Sequence[Any] = [replace(column, has_default=False) for column in table.columns]
    if target.dialect in ("sqlite", "postgresql"):
        columns = sorted(columns, key=lambda column: str(column.name))
    return columns, {(key.columns, key.primary, key.plain) for key in table.unique_keys}


def contents(target: Target, schema: str | None, name: str, columns: Sequence[str]) -> list[Any]:
    quoted = ", ".join(target.quote(None, column) for column in columns)
    rows = target.connection.exec_driver_sql(
        f"SELECT {quoted} FROM {target.quote(schema, name)}",  # noqa: S608
        None,
        {"no_parameters": True},
    )
    return sorted((dict(zip(columns, row, strict=True)) for row in rows), key=repr)
