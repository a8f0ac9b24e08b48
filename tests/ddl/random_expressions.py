"""Virtual generated columns: random expressions, a table of edge values that they read, and TiDB
as the judge of what they are there and in a target."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import sqlalchemy as sa
from support.canonical_rows import load
from ticdc_consumer.cut.read import upstream
from ticdc_consumer.targets.schema.generated import virtual_columns
from ticdc_consumer.targets.target import Target
from ticdc_encoder.column import Column
from ticdc_encoder.event import Row, Table
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.values import canonical

DOCUMENTS = (
    "null",
    "{}",
    "[]",
    "7",
    '"q"',
    '[{"x": 1}]',
    '{"x": null}',
    r'{"x": 1, "y": {"z": "é\\\\"}}',
    r'{"x": "a\\"b", "y": {"z": [1, 2]}}',
    '{"x": true, "y": {"z": {"k": 1, "aa": 2}}}',
    '{"x": 1.50, "y": {"z": -0.0}}',
    '{"x": 1e20, "y": 3}',
    r'{"x": "", "a b": "\\u0041\\n"}',
    '{"x": 12345678901234567890}',
)
"""JSON as MySQL's literals write it, with every backslash doubled."""
BASE = {
    "a": ("INT", "0", "1", "-1", "7", "-7", "2147483647", "-2147483648"),
    "b": ("TINYINT UNSIGNED", "0", "1", "255", "2"),
    "c": ("BIGINT", "0", "3", "-3", "9223372036854775807", "-9223372036854775808"),
    "d": ("BIGINT UNSIGNED", "0", "2", "18446744073709551615"),
    "e": ("DECIMAL(10,3)", "0", "0.005", "-0.005", "1.5", "-2.5", "9999999.999"),
    "f": ("SMALLINT", "0", "5", "-32768", "32767"),
    "s": ("VARCHAR(20)", "''", "'x'", "'a '", "'é😀'", "'it''s'", "'%_'", "'\\\\'", "'0'"),
    "t": ("TEXT", "''", "'long'", "' lead'", "'A\\nB'"),
    "u": ("CHAR(5)", "''", "'ab'", "'ß'"),
    "w": ("VARCHAR(10) COLLATE utf8mb4_general_ci", "'Aa'", "'ÄÖ'", "''"),
    "j": ("JSON", *(f"'{text}'" for text in DOCUMENTS)),
    "k": ("DATETIME", *["'2024-02-29 23:59:58'"] * 5, "'0000-00-00'", "'2024-00-10 01:02:03'"),
    "l": ("DATE", *["'1999-12-31'"] * 5, "'0000-00-00'", "'2024-02-00'"),
    "m": ("FLOAT", "1.5"),
    "p": ("ENUM('x','y')", "'x'"),
}  # fmt: skip
"""The columns that expressions read, and their values beside NULL."""
ROWS = 24
TYPES = {
    "number": (
        "INT", "INT", "BIGINT", "BIGINT UNSIGNED", "TINYINT", "SMALLINT UNSIGNED", "DECIMAL(12,2)",
        "DECIMAL(30,0)", "DOUBLE", "DECIMAL(5,1) UNSIGNED",
    ),
    "text": ("VARCHAR(200)", "VARCHAR(6)", "TEXT", "LONGTEXT"),
    "json": ("JSON",),
}  # fmt: skip


class Expressions:
    """Random expressions, most of them in the grammar that targets share."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def column(self) -> str:
        """A definition: type and expression."""
        kind = self.rng.choice(["number", "number", "text", "json"])
        type_ = self.rng.choice(TYPES[kind])
        expression = {"number": self.number, "text": self.text, "json": self.json}[kind](3)
        return f"{type_} AS ({expression}) VIRTUAL"

    def number(self, depth: int) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(["a", "a", "b", "c", "d", "e", "f", "1", "-2", "10", "0", "2.5"])
        left, right = self.number(depth - 1), self.number(depth - 1)
        match rng.randrange(12):
            case 0:
                return f"-({left})"
            case 1:
                return f"LENGTH({self.text(depth - 1)})"
            case 2:
                return f"IF({self.truth(depth - 1)}, {left}, {right})"
            case 3:
                return f"IFNULL({left}, {right})"
            case 4:
                return f"COALESCE({left}, NULL, {right})"
            case 5:
                return f"CASE WHEN {self.truth(depth - 1)} THEN {left} ELSE {right} END"
            case 6:
                return f"CASE WHEN {self.truth(depth - 1)} THEN {left} END"
            case 7:
                return self.truth(depth - 1)
            case _:
                return f"({left} {rng.choice(['+', '-', '*', '*', 'DIV', '%', '+'])} {right})"

    def truth(self, depth: int) -> str:
        rng = self.rng
        match rng.randrange(6 if depth else 3):
            case 0:
                names = [*BASE]
                return f"({rng.choice(names)} IS {rng.choice(['', 'NOT '])}NULL)"
            case 1 | 2:
                operator = rng.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
                left, right = self.number(max(depth - 1, 0)), self.number(max(depth - 1, 0))
                return f"({left} {operator} {right})"
            case 3:
                within = f"{rng.choice(['', 'NOT '])}IN (1, -2, {self.number(0)})"
                return f"({self.number(depth - 1)} {within})"
            case 4:
                return f"(NOT {self.truth(depth - 1)})"
            case _:
                operator = rng.choice(["AND", "OR", "XOR"])
                return f"({self.truth(depth - 1)} {operator} {self.truth(depth - 1)})"

    def text(self, depth: int) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(["s", "s", "t", "u", "w", "'x'", "'it''s \\\\ é'", "''"])
        left, right = self.text(depth - 1), self.text(depth - 1)
        match rng.randrange(6):
            case 0:
                return f"IF({self.truth(depth - 1)}, {left}, {right})"
            case 1:
                return f"COALESCE({left}, {right})"
            case 2:
                return f"j->>{self.path()}"
            case 3:
                return f"CONCAT({left}, {rng.choice(['a', 'b', 'c', 'd', 'f', 'a + 1'])}, {right})"
            case _:
                return f"CONCAT({left}, {right})"

    def json(self, _: int) -> str:
        return f"j->{self.path()}"

    def path(self) -> str:
        return self.rng.choice(["'$.x'", "'$.y.z'", "'$.y'", "'$.\"a b\"'", "'$'", "'$[0]'"])


@dataclass(frozen=True)
class Judged:
    """A table with one virtual column as TiDB has it: rows that its strict mode takes, and those
    that it takes without."""

    table: Table
    strict: tuple[Row, ...]
    lax: tuple[Row, ...]


class ColumnJudge:
    """A session of TiDB in a database of its own."""

    def __init__(self, connection: sa.Connection, seed: int) -> None:
        self._connection, rng = connection, Random(seed)
        names = ", ".join(BASE)
        self._rows = [
            ", ".join(rng.choice(["NULL", *values, *values]) for _, *values in BASE.values())
            for _ in range(ROWS)
        ]
        self._run("SET time_zone = '+00:00'")
        self._names = names
        self._known: dict[str, Judged | None] = {}

    def _run(self, text: str) -> Any:
        return self._connection.exec_driver_sql(text, None, {"no_parameters": True})

    def judged(self, definition: str) -> Judged | None:
        """None if TiDB refuses the column."""
        if definition not in self._known:
            self._known[definition] = self._judged(definition)
        return self._known[definition]

    def _judged(self, definition: str) -> Judged | None:
        columns = ", ".join(f"{name} {type_}" for name, (type_, *_) in BASE.items())
        self._run("SET sql_mode = DEFAULT")
        self._run("DROP TABLE IF EXISTS t")
        try:
            self._run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}, v {definition})")
        except sa.exc.DBAPIError:
            return None
        strict = self._insert("'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'", 0)
        lax = self._insert("''", len(self._rows))
        table = parse_create_table(str(self._run("SHOW CREATE TABLE t").one()[1]), "w")
        rows = list(self._read(table))
        return Judged(
            table,
            tuple(row for row in rows if int(str(row["id"])) in strict),
            tuple(row for row in rows if int(str(row["id"])) in lax),
        )

    def _insert(self, mode: str, first: int) -> set[int]:
        self._run(f"SET sql_mode = {mode}")
        taken = set()
        lines = [f"({number}, {row})" for number, row in enumerate(self._rows, first)]
        into = f"INSERT INTO t (id, {self._names}) VALUES "  # noqa: S608
        with suppress(sa.exc.DBAPIError):
            self._run(into + ", ".join(lines))
            return set(range(first, first + len(lines)))
        for number, line in enumerate(lines, first):
            with suppress(sa.exc.DBAPIError):
                self._run(into + line)
                taken.add(number)
        return taken

    def _read(self, table: Table) -> Iterator[Row]:
        """Those that can be read: a BIGINT that overflows is an error."""
        listed = ", ".join(upstream._selected(column) for column in table.columns)
        numbers = [n for (n,) in self._run("SELECT id FROM t").all()]
        try:
            found = self._run(f"SELECT {listed} FROM t").all()  # noqa: S608
        except sa.exc.DBAPIError:
            found = []
            for number in numbers:
                with suppress(sa.exc.DBAPIError):
                    found += self._run(f"SELECT {listed} FROM t WHERE id = {number}").all()  # noqa: S608
        for row in found:
            yield {
                c.name: upstream._value(c, value)
                for c, value in zip(table.columns, row, strict=True)
            }


def plain(table: Table, kept: Sequence[str]) -> Table:
    """With these virtual columns as plain ones, and without the others: a target holds TiDB's
    values in it."""
    columns = tuple(
        replace(column, generated=None, expression=None, nullable=True)
        if column.virtual
        else column
        for column in table.columns
        if not column.virtual or column.name in kept
    )
    names = {column.name for column in columns}
    indexes = tuple(index for index in table.indexes if names.issuperset(index.columns))
    return replace(table, columns=columns, indexes=indexes)


def reason(target: Target, table: Table) -> str | None:
    """Why the target leaves the column out; None if it does not."""
    return virtual_columns(table, target.writer_of()).left_out.get("v")


def assert_computed(
    target: Target, schema: str | None, table: Table, rows: Sequence[Row], more: str = ""
) -> None:
    """The target computes, from rows without the virtual columns, the values that TiDB has."""
    _created(target, schema, replace(table, name="mine"), rows)
    described = target.describe(schema, "mine")
    assert described is not None
    kept = [c.name for c in table.columns if c.virtual and c.name in _names(described.columns)]
    _created(target, schema, replace(plain(table, kept), name="theirs"), rows)
    names = [c.name for c in table.columns if not c.virtual or c.name in kept]
    mine, theirs = (_contents(target, schema, name, names) for name in ("mine", "theirs"))
    shown = [each.expression for each in table.columns if each.virtual]
    differing = [pair for pair in zip(mine, theirs, strict=True) if pair[0] != pair[1]]
    assert not differing, f"{shown} {more}: {differing[:3]}"


def _names(columns: Sequence[Any]) -> set[str]:
    return {str(column.name) for column in columns}


def _created(target: Target, schema: str | None, table: Table, rows: Sequence[Row]) -> None:
    for text in (
        *target.drop_table(schema, table.name),
        *target.create_table(schema, table.name, table),
    ):
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})
    described = target.describe(schema, table.name)
    assert described is not None
    sent = replace(table, columns=tuple(column for column in table.columns if not column.virtual))
    layout = target.layout(sent, table.handle_key, described, table, frozenset())
    load(
        target,
        layout,
        [[_canonical(row[c.name], c) for c in layout.source] for row in rows],
    )


def _canonical(value: Any, column: Column) -> Any:
    return None if value is None else canonical(value, column.type)


def _contents(
    target: Target, schema: str | None, name: str, columns: Sequence[str]
) -> list[tuple[Any, ...]]:
    quoted = ", ".join(target.quote(None, column) for column in columns)
    text = f"SELECT {quoted} FROM {target.quote(schema, name)} ORDER BY {quoted.split(',')[0]}"  # noqa: S608
    rows = target.connection.exec_driver_sql(text, None, {"no_parameters": True}).all()
    return [tuple(row) for row in rows]
