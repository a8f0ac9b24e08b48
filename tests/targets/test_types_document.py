"""`docs/reference/types.md` says what the code does."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.mysql import types as mysql
from ticdc_consumer.targets.mysql.collations import NO_COARSER
from ticdc_consumer.targets.mysql.create import create_table
from ticdc_consumer.targets.mysql.dialects import MARIADB, MYSQL, TIDB
from ticdc_consumer.targets.mysql.generated import writer_of
from ticdc_consumer.targets.postgresql import create as in_postgresql
from ticdc_consumer.targets.postgresql import types as postgresql
from ticdc_consumer.targets.rules import LOSSY_RULES
from ticdc_consumer.targets.schema import create
from ticdc_consumer.targets.schema.generated import WriterOf, virtual_columns
from ticdc_consumer.targets.sqlite import create as in_sqlite
from ticdc_consumer.targets.sqlite import types as sqlite
from ticdc_encoder import Column, ColumnType
from ticdc_encoder.column import INTEGERS, TYPE_NAMES
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = (ROOT / "docs" / "reference" / "types.md").read_text()

CODE: dict[str, Callable[[Column], str]] = {
    "SQLite": sqlite.column_type,
    "PostgreSQL": postgresql.column_type,
    "MySQL": lambda column: mysql.column_type(column, MYSQL),
    "MariaDB": lambda column: mysql.column_type(column, MARIADB),
    "TiDB as a target": lambda column: mysql.column_type(column, TIDB),
}
WRITERS: dict[str, WriterOf | None] = {
    "SQLite": in_sqlite.WORDS.writer_of,
    "PostgreSQL": in_postgresql.WORDS.writer_of,
    "MySQL": writer_of(MYSQL),
    "MariaDB": writer_of(MARIADB),
}


def table(*header: str) -> list[dict[str, str]]:
    """The rows of the table with that header."""
    lines = DOCUMENT.splitlines()
    start = lines.index(f"| {' | '.join(header)} |") + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        cells = [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
        rows.append(dict(zip(header, cells, strict=True)))
    return rows


NEW = table("TiDB", "SQLite", "PostgreSQL", "MySQL", "MariaDB", "Exactness")
OF_TIDB = table("TiDB", "TiDB as a target")
CHARACTER_SETS = table("TiDB", "MySQL, MariaDB", "TiDB as a target", "Why")
COLLATIONS = table("Upstream", "MySQL", "MariaDB")
RULES = table("Rule", "Target", "What it does")


def defined(type_: str) -> Table:
    return parse_create_table(f"CREATE TABLE t (id INT, c {type_})", "shop")


def in_code(target: str, column: Column) -> str:
    try:
        new_type = CODE[target](column)
    except Stop:
        return "refused"
    return re.sub(r" character set \w+ collate \w+$", "", new_type)


@pytest.mark.parametrize("target", ["SQLite", "PostgreSQL", "MySQL", "MariaDB"])
@pytest.mark.parametrize("row", NEW, ids=[row["TiDB"] for row in NEW])
def test_a_new_column_has_the_type_of_the_document(row: dict[str, str], target: str) -> None:
    column = defined(row["TiDB"]).column("c")
    if column.generated != "virtual":
        assert in_code(target, column) == row[target]
    else:
        table = replace(defined(row["TiDB"]), columns=(column,))
        kept = bool(virtual_columns(table, WRITERS[target]).expressions)
        assert row[target] == (in_code(target, column) if kept else "left out")


@pytest.mark.parametrize("row", OF_TIDB, ids=[row["TiDB"] for row in OF_TIDB])
def test_tidb_has_the_types_of_the_document(row: dict[str, str]) -> None:
    column = defined(row["TiDB"]).column("c")
    assert in_code("TiDB as a target", column) == row["TiDB as a target"]


def test_tidb_differs_from_mysql_in_nothing_else() -> None:
    columns = {row["TiDB"]: defined(row["TiDB"]).column("c") for row in NEW}
    different = {
        type_
        for type_, column in columns.items()
        if in_code("MySQL", column) != in_code("TiDB as a target", column)
    }
    assert different == {row["TiDB"] for row in OF_TIDB}


@pytest.mark.parametrize("kind", ["stored", "virtual"])
def test_a_generated_column_is_plain_or_left_out(kind: str) -> None:
    upstream = defined(f"INT AS (RAND() + 1) {kind}")
    words = create.DdlWords(
        quote=str,
        column_type=sqlite.column_type,
        key_type=sqlite.column_type,
        prefix=lambda column, _: column,
        now=lambda _: None,
    )
    for statement in (
        "".join(create.create_table("t", "t", upstream, words)),
        create_table(MYSQL, "t", upstream),
    ):
        assert bool(re.search(r"\bc\b", statement)) == (kind == "stored")
        assert "+ 1" not in statement


def test_every_type_is_in_the_document() -> None:
    columns = [defined(row["TiDB"]).column("c") for row in NEW]
    assert {column.type.name for column in columns} == TYPE_NAMES
    assert {c.type.name for c in columns if c.type.unsigned} >= INTEGERS | {"decimal", "double"}
    assert {c.type.length for c in columns if c.type.name == "bit"} >= {1, 64}
    assert {c.generated for c in columns} == {None, "stored", "virtual"}


@pytest.mark.parametrize("row", COLLATIONS, ids=[row["Upstream"] for row in COLLATIONS])
def test_a_new_column_has_the_collation_of_the_document(row: dict[str, str]) -> None:
    collation = "utf8mb4_turkish_ci" if row["Upstream"] == "any other" else row["Upstream"]
    charset = collation.partition("_")[0]
    column = Column("c", ColumnType("varchar", length=9, charset=charset, collation=collation))
    for target in ("MySQL", "MariaDB"):
        assert CODE[target](column).rpartition(" ")[2] == row[target]


@pytest.mark.parametrize("row", CHARACTER_SETS, ids=[row["TiDB"] for row in CHARACTER_SETS])
def test_a_new_column_has_the_character_set_of_the_document(row: dict[str, str]) -> None:
    column = defined(f"TEXT CHARACTER SET {row['TiDB']}").column("c")
    for target in ("MySQL", "MariaDB", "TiDB as a target"):
        words = CODE[target](column).split(" ")
        kept = words[words.index("set") + 1] if "set" in words else words[0]
        assert kept == row["TiDB as a target" if target == "TiDB as a target" else "MySQL, MariaDB"]


def test_every_character_set_of_the_servers_is_in_the_document() -> None:
    of_servers = {name for dialect in (MYSQL, MARIADB, TIDB) for name, _ in dialect.charsets}
    assert of_servers <= {row["TiDB"] for row in CHARACTER_SETS}


def test_every_collation_that_is_known_is_in_the_document() -> None:
    assert {row["Upstream"] for row in COLLATIONS} == {*NO_COARSER, "any other"}


def test_the_rules_are_those_of_the_code() -> None:
    assert {row["Rule"] for row in RULES} == LOSSY_RULES
