"""What a real TiDB makes of rows that a DDL changes: tables of cases, and their answers.

`tests/ddl/added_columns.tsv` and `changed_columns.tsv` hold them. To write the answers anew, or
those of lines that were added without one, in the folder of the repository:

    TIDB_URL=... PYTHONPATH=tests:encoder:consumer python -m support.tidb_answers
"""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from ticdc_encoder.column import TEMPORALS, Column
from ticdc_encoder.sql.parser import parse_create_table

from support.databases import fresh_database

HERE = Path(__file__).resolve().parent.parent / "ddl"
ADDED, CHANGED = HERE / "added_columns.tsv", HERE / "changed_columns.tsv"
LAX = "ALLOW_INVALID_DATES"
"""A session's sql_mode that accepts zero dates."""
DEPENDS = "depends on sql_mode"
REFUSED = "refused"
NOT_STRICT = "not in strict mode"
"""After an answer: TiDB refuses the DDL in its default sql_mode. A DDL that was sent was not."""


@dataclass(frozen=True)
class Answer:
    """`question` is the new column; or the old column, a value of it and the new column."""

    question: tuple[str, ...]
    answer: str

    def __str__(self) -> str:
        return " -> ".join(self.question)


def answers(file: Path) -> list[Answer]:
    lines = [line.split("\t") for line in file.read_text().splitlines() if line[:1] != "#"]
    size = 1 if file == ADDED else 3
    return [Answer(tuple(line[:size]), "".join(line[size : size + 1])) for line in lines]


def column(definition: str) -> Column:
    return parse_create_table(f"CREATE TABLE t (id INT PRIMARY KEY, a {definition})", "s").column(
        "a"
    )


class Tidb:
    """A session in a database of its own."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self.run("SET time_zone = '+00:00'")

    def run(self, text: str) -> sa.CursorResult[Any]:
        return self._connection.exec_driver_sql(text, None, {"no_parameters": True})

    def added(self, definition: str) -> str:
        """What a row gets in a new column."""
        return self._told("INT", "NULL", f"ADD COLUMN b {definition}", definition, "b")

    def changed(self, old: str, value: str, new: str) -> str:
        """What a value becomes."""
        return self._told(old, value, f"MODIFY COLUMN a {new}", new, "a")

    def _told(self, old: str, value: str, change: str, new: str, name: str) -> str:
        found = []
        for mode in ("DEFAULT", f"'{LAX}'"):
            self.run(f"SET sql_mode = '{LAX}'")
            self.run("DROP TABLE IF EXISTS t")
            self.run(f"CREATE TABLE t (id INT PRIMARY KEY, a {old})")
            self.run(f"INSERT INTO t VALUES (1, {value})")  # noqa: S608
            self.run(f"SET sql_mode = {mode}")
            try:
                self.run(f"ALTER TABLE t {change}")
            except sa.exc.DBAPIError:
                found.append(REFUSED)
            else:
                found.append(self.value(column(new), name))
        strict, lax = found
        if strict == REFUSED != lax:
            return f"{lax}\t{NOT_STRICT}"
        return lax if strict == lax else DEPENDS

    def value(self, of: Column, name: str) -> str:
        """As `shown` writes it."""
        type_ = of.type
        if type_.name in ("bit", "year"):
            selected = f"{name} + 0"
        elif type_.name in ("float", "double"):
            selected = f"{name} + 0E0"
        elif type_.name in TEMPORALS | {"enum", "set", "json", "vector"}:
            selected = f"CAST({name} AS CHAR)"
        else:
            selected = name
        value: Any = self.run(f"SELECT {selected} FROM t").scalar()  # noqa: S608
        if type_.name == "float" and value is not None:
            value = str(np.float32(value))
        if type_.binary and isinstance(value, str):
            value = value.encode()
        return shown(value)


def shown(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return repr(str(value)) if isinstance(value, str) else str(value)


def sessions(url: str) -> Iterator[Tidb]:
    with fresh_database(url) as own:
        engine = sa.create_engine(own, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with closing(engine.connect()) as connection:
            yield Tidb(connection)


def main() -> None:
    for tidb in sessions(os.environ["TIDB_URL"]):
        version = str(tidb.run("SELECT VERSION()").scalar())
        for file in (ADDED, CHANGED):
            ask = tidb.added if file == ADDED else tidb.changed
            lines = [f"# TiDB {version}; written by support/tidb_answers.py"]
            lines += ["\t".join((*of.question, ask(*of.question))) for of in answers(file)]
            file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
