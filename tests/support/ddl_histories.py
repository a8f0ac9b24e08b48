"""Random DDL and rows, as SQL in TiDB's words: TiDB decides which of it is valid."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, Column
from ticdc_encoder.event import Table

NAMES = ("a", "b", "c")
TYPES = (
    "TINYINT", "SMALLINT UNSIGNED", "MEDIUMINT", "INT", "INT UNSIGNED", "BIGINT",
    "BIGINT UNSIGNED", "DECIMAL(6,2)", "DECIMAL(20,5)", "FLOAT", "DOUBLE", "DOUBLE(8,2)",
    "BIT(1)", "BIT(8)", "BIT(40)", "YEAR", "DATE", "DATETIME", "DATETIME(3)", "TIMESTAMP",
    "TIMESTAMP(6)", "TIME", "TIME(2)", "CHAR(4)", "VARCHAR(8)", "VARCHAR(40)", "TEXT",
    "VARCHAR(8) CHARACTER SET latin1", "BINARY(3)", "VARBINARY(8)", "BLOB",
    "ENUM('p','q','r')", "SET('p','q','r')", "JSON",
)  # fmt: skip
LARGER = {
    "TINYINT": ("SMALLINT", "INT", "DECIMAL(20,5)", "VARCHAR(40)"),
    "SMALLINT UNSIGNED": ("INT UNSIGNED", "INT", "BIGINT UNSIGNED"),
    "MEDIUMINT": ("INT", "BIGINT", "TEXT"),
    "INT": ("BIGINT", "DECIMAL(20,5)", "VARCHAR(40)"),
    "INT UNSIGNED": ("BIGINT UNSIGNED", "BIGINT"),
    "DECIMAL(6,2)": ("DECIMAL(20,5)", "DECIMAL(8,2)", "VARCHAR(40)"),
    "FLOAT": ("DOUBLE",),
    "BIT(1)": ("BIT(8)",),
    "BIT(8)": ("BIT(40)",),
    "DATE": ("DATETIME",),
    "DATETIME": ("DATETIME(3)",),
    "DATETIME(3)": ("DATETIME(6)",),
    "TIMESTAMP": ("TIMESTAMP(6)",),
    "TIME": ("TIME(2)",),
    "CHAR(4)": ("CHAR(9)", "VARCHAR(8)", "TEXT"),
    "VARCHAR(8)": ("VARCHAR(40)", "TEXT"),
    "VARCHAR(40)": ("VARCHAR(200)", "TEXT"),
    "VARCHAR(8) CHARACTER SET latin1": ("VARCHAR(40)",),
    "TEXT": ("MEDIUMTEXT", "LONGTEXT"),
    "BINARY(3)": ("BINARY(5)",),
    "VARBINARY(8)": ("VARBINARY(20)", "BLOB"),
    "BLOB": ("LONGBLOB",),
    "ENUM('p','q','r')": ("ENUM('p','q','r','s')", "VARCHAR(40)"),
    "SET('p','q','r')": ("SET('p','q','r','s')", "VARCHAR(40)"),
}
_DATES = ("'2024-02-29'", "'1969-12-31'", "'9999-12-31'", "'1000-01-01'", "20240101")
_MOMENTS = ("'2024-02-29 10:11:12.5'", "'1969-12-31 23:59:59.25'", "'9999-01-01'", "20240101101112")
_STAMPS = ("'2024-02-29 10:11:12.5'", "'1971-01-01 00:00:01'", "'2037-12-31 23:59:59'")


def values(type_: str) -> tuple[str, ...]:
    """Literals for a column of that type."""
    name = type_.split("(")[0].split(" ")[0].lower()
    if name in INTEGERS:
        return "0", "1", "7", "100", "'12'"
    match name:
        case "decimal" | "float" | "double":
            return "0", "1.5", "-2.25", "0.1", "1234.567", "'3.14'", "1e2"
        case "bit":
            return "0", "1", "b'1'"
        case "year":
            return "2024", "1901", "70", "'0000'"
        case "date":
            return _DATES
        case "datetime":
            return _MOMENTS
        case "timestamp":
            return _STAMPS
        case "time":
            return "'10:11:12.5'", "'-1:02:03'", "'838:59:59'", "101112"
        case "enum":
            return "'p'", "'q'", "2"
        case "set":
            return "'p'", "'q,p'", "3"
        case "json":
            return """'{"a": [1, "x"]}'""", "'null'", "'7'"
    if name in BINARIES:
        return "x'00ff'", "'ab'", "''", "x'616200'"
    assert name in TEXTS or name in ("mediumtext", "longtext"), type_
    return "''", "'ab'", "'é'", "'a b '", "'it''s'", "'x\\\\y'"


@dataclass
class Statement:
    """`table` is the name that TiCDC sends beside it; `old` the name before a rename."""

    text: str
    table: str
    old: str | None = None


class Histories:
    """What might come next, of tables as TiDB shows them."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._number = 0

    def ddl(self, tables: dict[str, Table]) -> Statement:
        rng = self.rng
        free = [name for name in NAMES if name not in tables]
        if not tables or (free and rng.random() < 0.15):
            return self._create(rng.choice(free), tables)
        name = rng.choice(sorted(tables))
        if rng.random() < 0.12:
            return self._of_table(name, free)
        ways: list[Callable[[Table], str]] = [*[self._add] * 6, *[self._modify] * 5]
        ways += [self._drop, self._rename, self._default, self._index, self._index, self._other]
        table = tables[name]
        clauses = [rng.choice(ways)(table)]
        if rng.random() < 0.15:
            clauses.append(self._add(table))
        return Statement(f"ALTER TABLE `{name}` {', '.join(clauses)}", name)

    def rows(self, table: Table) -> Iterator[str]:
        rng, name = self.rng, table.name
        for _ in range(rng.randint(0, 4)):
            columns = [column for column in table.columns if not column.generated]
            listed = ", ".join(f"`{column.name}`" for column in columns)
            given = ", ".join(self._value(column) for column in columns)
            yield f"REPLACE INTO `{name}` ({listed}) VALUES ({given})"  # noqa: S608
        if rng.random() < 0.3:
            column = rng.choice(table.columns)
            yield f"UPDATE `{name}` SET `{column.name}` = {self._value(column)} LIMIT 1"  # noqa: S608
        if rng.random() < 0.2:
            yield f"DELETE FROM `{name}` LIMIT 1"  # noqa: S608

    def _value(self, column: Column) -> str:
        if column.name == "id":
            return str(self.rng.randint(1, 30))
        if column.nullable and self.rng.random() < 0.2:
            return "NULL"
        return self.rng.choice(values(column.type.name))

    # --- statements -----------------------------------------------------------------------------

    def _create(self, name: str, tables: dict[str, Table]) -> Statement:
        rng = self.rng
        if tables and rng.random() < 0.15:
            return Statement(f"CREATE TABLE `{name}` LIKE `{rng.choice(sorted(tables))}`", name)
        columns = [f"`id` {rng.choice(['INT', 'BIGINT', 'SMALLINT UNSIGNED'])} NOT NULL"]
        columns += [self._column() for _ in range(rng.randint(1, 4))]
        key = rng.choice(["PRIMARY KEY (`id`)"] * 3 + ["PRIMARY KEY (`id`) NONCLUSTERED"])
        columns.append(rng.choice([key, key, key, "UNIQUE KEY `k` (`id`)"]))
        parts = ""
        if rng.random() < 0.15:
            parts = rng.choice(_PARTITIONS)
        return Statement(f"CREATE TABLE `{name}` ({', '.join(columns)}){parts}", name)

    def _of_table(self, name: str, free: list[str]) -> Statement:
        rng = self.rng
        new = rng.choice([*free, "d"])
        return rng.choice(
            [
                Statement(f"TRUNCATE TABLE `{name}`", name),
                Statement(f"DROP TABLE `{name}`", name),
                Statement(f"RENAME TABLE `{name}` TO `{new}`", new, name),
                Statement(f"ALTER TABLE `{name}` RENAME TO `{new}`", new, name),
            ]
        )

    def _column(self, name: str = "", type_: str = "") -> str:
        rng = self.rng
        if not name:
            self._number += 1
            name = f"c{self._number}"
        type_ = type_ or rng.choice(TYPES)
        null = rng.choice(["", "", " NULL", " NOT NULL"])
        default = ""
        if rng.random() < 0.5:
            default = f" DEFAULT {rng.choice(values(type_))}"
            if type_.startswith(("DATETIME", "TIMESTAMP")) and rng.random() < 0.3:
                digits = type_.partition("(")[2]
                default = " DEFAULT CURRENT_TIMESTAMP" + (f"({digits}" if digits else "")
        return f"`{name}` {type_}{null}{default}"

    def _place(self, table: Table) -> str:
        others = [f" AFTER `{column.name}`" for column in table.columns]
        return self.rng.choice(["", "", "", " FIRST", *others])

    def _add(self, table: Table) -> str:
        return f"ADD COLUMN {self._column()}{self._place(table)}"

    def _own(self, table: Table) -> Column:
        """A column that is not the key."""
        own = [column for column in table.columns if column.name not in ("id",)]
        return self.rng.choice(own or list(table.columns))

    def _modify(self, table: Table) -> str:
        rng, old = self.rng, self._own(table)
        type_ = next((of for of in TYPES if _is(of, old)), None)
        larger = LARGER.get(type_ or "", ()) + ((type_,) if type_ else ())
        new = rng.choice(larger) if larger and rng.random() < 0.97 else rng.choice(TYPES)
        if rng.random() < 0.7:
            return f"MODIFY COLUMN {self._column(old.name, new)}{self._place(table)}"
        self._number += 1
        return f"CHANGE COLUMN `{old.name}` {self._column(f'c{self._number}', new)}"

    def _drop(self, table: Table) -> str:
        return f"DROP COLUMN `{self._own(table).name}`"

    def _rename(self, table: Table) -> str:
        self._number += 1
        return f"RENAME COLUMN `{self._own(table).name}` TO `c{self._number}`"

    def _default(self, table: Table) -> str:
        column = self._own(table)
        changed = self.rng.choice(["DROP DEFAULT", f"SET DEFAULT {self._value(column)}"])
        return f"ALTER COLUMN `{column.name}` {changed}"

    def _index(self, table: Table) -> str:
        rng = self.rng
        droppable = [index.name for index in table.indexes if index.name not in ("PRIMARY", "k")]
        if droppable and rng.random() < 0.5:
            name = rng.choice(droppable)
            return rng.choice([f"DROP INDEX `{name}`", f"RENAME INDEX `{name}` TO `{name}x`"])
        columns = rng.sample(table.columns, min(len(table.columns), rng.randint(1, 2)))
        parts = ", ".join(
            f"`{column.name}`" + ("(3)" if column.type.name in ("text", "blob") else "")
            for column in columns
        )
        self._number += 1
        kind = rng.choice(["INDEX", "INDEX", "UNIQUE INDEX"])
        return f"ADD {kind} `i{self._number}` ({parts})"

    def _other(self, table: Table) -> str:
        choices = ["COMMENT = 'x'", "CONVERT TO CHARACTER SET utf8mb4", "AUTO_INCREMENT = 100"]
        if table.partitioned:
            choices += ["TRUNCATE PARTITION `p0`", "DROP PARTITION `p0`", "REMOVE PARTITIONING"]
        return self.rng.choice(choices)


def _is(type_: str, column: Column) -> bool:
    """Whether the column may be of that one of TYPES."""
    name, _, rest = type_.partition("(")
    digits = rest.partition(")")[0]
    of = column.type
    numbers = [str(n) for n in (of.length, of.decimals) if n is not None]
    if name.split(" ")[0].lower() != of.name or ("UNSIGNED" in type_) != of.unsigned:
        return False
    if of.name in INTEGERS or of.name in ("float", "double", "year", "text", "blob", "json"):
        return True
    if of.name in ("enum", "set"):
        return rest == ",".join(f"'{label}'" for label in of.elements) + ")"
    if of.name in ("datetime", "timestamp", "time"):
        return digits == str(of.decimals or "")
    return digits == ",".join(numbers) and ("latin1" in type_) == (of.charset == "latin1")


_PARTITIONS = (
    " PARTITION BY HASH (`id`) PARTITIONS 3",
    " PARTITION BY RANGE (`id`) (PARTITION `p0` VALUES LESS THAN (10), "
    "PARTITION `p1` VALUES LESS THAN (MAXVALUE))",
)
