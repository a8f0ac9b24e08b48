"""Random DDL and rows, as SQL in TiDB's words: TiDB decides which of it is valid."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from ddl.random_columns import CHANGES, TYPES, named, values
from ticdc_encoder.column import Column, Index
from ticdc_encoder.event import Table

NAMES = ("a", "b", "c")
ROOM = "d"
"""A name that no CREATE TABLE takes, so that a rename may."""
SEQUENCE = "seq"
VIEW = "v"


@dataclass
class Statement:
    """`sent` is what TiCDC sends of it: the name of a table, and a query. `touched` are all the
    tables that it may change."""

    text: str
    sent: tuple[tuple[str, str], ...]
    touched: frozenset[str]

    @classmethod
    def of(cls, text: str, table: str, *others: str) -> "Statement":
        return cls(text, ((table, text),), frozenset({table, *others}))


class Histories:
    """What might come next, of tables as TiDB shows them."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._number = 0
        self._planned: list[Statement] = []

    def ddl(self, tables: dict[str, Table]) -> Statement:
        rng = self.rng
        if self._planned:
            return self._planned.pop(0)
        free = [name for name in NAMES if name not in tables]
        if not tables or (free and rng.random() < 0.15):
            return self._create(rng.choice(free), tables)
        name = rng.choice(sorted(tables))
        if rng.random() < 0.14:
            return self._of_table(name, free, tables)
        if rng.random() < 0.03:
            return self._sequence()
        if rng.random() < 0.04:
            return self._view(tables[name])
        clauses = list(self._clauses(tables[name], tables))
        return Statement.of(f"ALTER TABLE `{name}` {', '.join(clauses)}", name)

    def rows(self, table: Table) -> Iterator[str]:
        rng, name = self.rng, table.name
        for _ in range(rng.randint(0, 4)):
            columns = [
                column
                for column in table.columns
                if not column.generated
                and (column.name == "id" or column.default is None or rng.random() < 0.8)
            ]
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

    def _new(self, letter: str) -> str:
        self._number += 1
        return f"{letter}{self._number}"

    # --- tables ---------------------------------------------------------------------------------

    def _create(self, name: str, tables: dict[str, Table]) -> Statement:
        rng = self.rng
        if tables and rng.random() < 0.15:
            like = rng.choice(sorted(tables))
            if tables[like].partitioned and rng.random() < 0.7:
                # The table that a partition is exchanged with.
                self._planned += [
                    Statement.of(f"ALTER TABLE `{name}` REMOVE PARTITIONING", name),
                    Statement.of(
                        f"ALTER TABLE `{like}` EXCHANGE PARTITION `p0` WITH TABLE `{name}`",
                        like,
                        name,
                    ),
                ]
            return Statement.of(f"CREATE TABLE `{name}` LIKE `{like}`", name)
        columns = [self._column() for _ in range(rng.randint(1, 4))]
        if rng.random() < 0.1:
            kind = rng.choice(["STORED", "VIRTUAL"])
            columns.append(f"`{self._new('g')}` BIGINT AS (`id` + 1) {kind}")
        parts = rng.choice(_PARTITIONS) if rng.random() < 0.2 else ""
        columns += self._keys(bool(parts))
        if parts and rng.random() < 0.2:
            columns.append(f"INDEX `{self._new('i')}` (`id`)")
        options = rng.choice(_OPTIONS) if rng.random() < 0.2 else ""
        return Statement.of(f"CREATE TABLE `{name}` ({', '.join(columns)}){options}{parts}", name)

    def _keys(self, partitioned: bool) -> list[str]:
        """The column `id`, perhaps a second one of the key, and the key."""
        rng = self.rng
        way = rng.random()
        type_ = rng.choice(["INT", "BIGINT", "SMALLINT UNSIGNED"])
        if way < 0.1:
            return [f"`id` {type_} NOT NULL AUTO_INCREMENT PRIMARY KEY"]
        if way < 0.15 and not partitioned:
            return ["`id` BIGINT AUTO_RANDOM PRIMARY KEY CLUSTERED"]
        id_ = f"`id` {type_} NOT NULL"
        if way < 0.3:
            second = self._new("k")
            of = rng.choice([t for t in TYPES if t not in ("TEXT", "BLOB", "JSON")])
            clustered = rng.choice(["", " NONCLUSTERED"])
            return [id_, f"`{second}` {of} NOT NULL", f"PRIMARY KEY (`id`, `{second}`){clustered}"]
        if way < 0.45:
            return [id_, "UNIQUE KEY `k` (`id`)"]
        if way < 0.55:
            return [id_, "PRIMARY KEY (`id`) NONCLUSTERED", "UNIQUE KEY `k` (`id`)"]
        return [id_, f"PRIMARY KEY (`id`){rng.choice(['', '', ' NONCLUSTERED', ' CLUSTERED'])}"]

    def _of_table(self, name: str, free: list[str], tables: dict[str, Table]) -> Statement:
        rng = self.rng
        new = rng.choice([other for other in (*free, ROOM) if other not in tables] or [name])
        others = sorted(set(tables) - {name})
        ways = [
            Statement.of(f"TRUNCATE TABLE `{name}`", name),
            Statement.of(f"DROP TABLE `{name}`", name),
            Statement.of(f"RENAME TABLE `{name}` TO `{new}`", new, name),
            Statement.of(f"ALTER TABLE `{name}` RENAME TO `{new}`", new, name),
        ]
        if others and new != name:
            ways.append(_renames((name, new), (rng.choice(others), name)))
        return rng.choice(ways)

    def _sequence(self) -> Statement:
        text = self.rng.choice(
            [
                f"CREATE SEQUENCE IF NOT EXISTS `{SEQUENCE}`",
                f"ALTER SEQUENCE `{SEQUENCE}` INCREMENT BY 2",
                f"DROP SEQUENCE IF EXISTS `{SEQUENCE}`",
            ]
        )
        return Statement(text, ((SEQUENCE, text),), frozenset())

    def _view(self, table: Table) -> Statement:
        rng = self.rng
        chosen = ", ".join(rng.choice([["`id`"], [f"`{self._own(table).name}`", "`id`"]]))
        replaced = rng.choice(["", "OR REPLACE "])
        condition = rng.choice(["", " WHERE `id` > 9"])
        query = f"SELECT {chosen} FROM `{table.name}`{condition}"  # noqa: S608
        text = rng.choice([f"CREATE {replaced}VIEW `{VIEW}` AS {query}", f"DROP VIEW `{VIEW}`"])
        return Statement(text, ((VIEW, text),), frozenset())

    # --- clauses --------------------------------------------------------------------------------

    def _clauses(self, table: Table, tables: dict[str, Table]) -> Iterator[str]:
        rng = self.rng
        ways: list[Callable[[Table], str]] = [*[self._add] * 6, *[self._modify] * 7]
        ways += [self._drop, self._rename, self._default, self._index, self._index, self._other]
        if rng.random() < 0.05:
            yield self._foreign_key(table, tables)
        elif rng.random() < 0.05:
            # Another column takes the name.
            own = self._own(table)
            yield f"DROP COLUMN `{own.name}`"
            yield f"ADD COLUMN {self._column(own.name)}{self._place(table)}"
        else:
            yield rng.choice(ways)(table)
        while rng.random() < 0.2:
            yield rng.choice([self._add, self._add, *ways])(table)

    def _column(self, name: str = "", type_: str = "") -> str:
        rng = self.rng
        name = name or self._new("c")
        type_ = type_ or rng.choice(TYPES)
        null = rng.choice(["", "", " NULL", " NOT NULL"])
        default = ""
        if rng.random() < 0.5:
            default = f" DEFAULT {rng.choice(values(type_))}"
            if type_.startswith(("DATETIME", "TIMESTAMP")) and rng.random() < 0.3:
                digits = type_.partition("(")[2]
                default = " DEFAULT CURRENT_TIMESTAMP" + (f"({digits}" if digits else "")
            if type_ == "BIGINT" and rng.random() < 0.2:
                default = f" DEFAULT NEXT VALUE FOR `{SEQUENCE}`"
        return f"`{name}` {type_}{null}{default}"

    def _place(self, table: Table) -> str:
        others = [f" AFTER `{column.name}`" for column in table.columns]
        return self.rng.choice(["", "", "", " FIRST", *others])

    def _add(self, table: Table) -> str:
        rng = self.rng
        if rng.random() < 0.05:
            return f"ADD COLUMN `{self._new('g')}` BIGINT AS (`id` * 2) VIRTUAL"
        if rng.random() < 0.1:
            return f"ADD COLUMN ({self._column()}, {self._column()})"
        return f"ADD COLUMN {self._column()}{self._place(table)}"

    def _own(self, table: Table) -> Column:
        """A column that is not the key."""
        own = [column for column in table.columns if column.name not in ("id",)]
        return self.rng.choice(own or list(table.columns))

    def _modify(self, table: Table) -> str:
        rng, old = self.rng, self._own(table)
        type_ = named(old)
        new_types = CHANGES.get(type_ or "", ()) + ((type_,) if type_ else ())
        new = rng.choice(new_types) if new_types and rng.random() < 0.97 else rng.choice(TYPES)
        if old.name == "id":
            new = rng.choice(["BIGINT", "INT"])
        if rng.random() < 0.7:
            return f"MODIFY COLUMN {self._column(old.name, new)}{self._place(table)}"
        changed = self._column(self._new("c"), new)
        return f"CHANGE COLUMN `{old.name}` {changed}{self._place(table)}"

    def _drop(self, table: Table) -> str:
        return f"DROP COLUMN `{self._own(table).name}`"

    def _rename(self, table: Table) -> str:
        return f"RENAME COLUMN `{self._own(table).name}` TO `{self._new('c')}`"

    def _default(self, table: Table) -> str:
        column = self._own(table)
        changed = self.rng.choice(["DROP DEFAULT", f"SET DEFAULT {self._value(column)}"])
        return f"ALTER COLUMN `{column.name}` {changed}"

    def _index(self, table: Table) -> str:
        rng = self.rng
        primary = next((index for index in table.indexes if index.primary), None)
        if rng.random() < 0.15 and (primary is None or not primary.clustered):
            return "ADD PRIMARY KEY (`id`)" if primary is None else "DROP PRIMARY KEY"
        droppable = [index.name for index in table.indexes if not index.primary]
        if droppable and rng.random() < 0.5:
            name = rng.choice(droppable)
            return rng.choice(
                [
                    f"DROP INDEX `{name}`",
                    f"DROP INDEX `{name}`",
                    f"RENAME INDEX `{name}` TO `{name}x`",
                    f"ALTER INDEX `{name}` INVISIBLE",
                    f"DROP INDEX `{name}`, ADD {self._new_index(table, name)}",
                ]
            )
        return f"ADD {self._new_index(table, self._new('i'))}"

    def _new_index(self, table: Table, name: str) -> str:
        rng = self.rng
        columns = rng.sample(table.columns, min(len(table.columns), rng.randint(1, 2)))
        parts = [
            f"`{column.name}`" + ("(3)" if column.type.name in ("text", "blob") else "")
            for column in columns
        ]
        if rng.random() < 0.05:
            parts = ["(`id` + 1)"]
        kind = rng.choice(["INDEX", "INDEX", "UNIQUE INDEX"])
        return f"{kind} `{name}` ({', '.join(parts)})"

    def _foreign_key(self, table: Table, tables: dict[str, Table]) -> str:
        rng = self.rng
        if table.foreign_keys and rng.random() < 0.5:
            return f"DROP FOREIGN KEY `{rng.choice(table.foreign_keys).name}`"
        parents = [other for other in sorted(tables) if _first(tables[other]) is not None]
        parent = rng.choice(parents or sorted(tables))
        action = rng.choice(["", " ON DELETE CASCADE", " ON DELETE SET NULL ON UPDATE CASCADE"])
        column = rng.choice(table.columns).name
        name = self._new("f")
        return (
            f"ADD CONSTRAINT `{name}` FOREIGN KEY (`{column}`) REFERENCES `{parent}` (`id`){action}"
        )

    def _other(self, table: Table) -> str:
        choices = ["COMMENT = 'x'", "AUTO_INCREMENT = 100", "CONVERT TO CHARACTER SET utf8mb4"]
        choices += [
            "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            "DEFAULT CHARACTER SET latin1",
            f"ADD CONSTRAINT `{self._new('x')}` CHECK (`id` > 0)",
        ]
        if table.partitioned:
            choices += ["TRUNCATE PARTITION `p0`", "DROP PARTITION `p0`", "REMOVE PARTITIONING"] * 2
            choices += [
                "ADD PARTITION PARTITIONS 2",
                "COALESCE PARTITION 1",
                "ADD PARTITION (PARTITION `p9` VALUES LESS THAN (1000))",
                "ADD PARTITION (PARTITION `p9` VALUES IN (40, 41))",
                "REORGANIZE PARTITION `p0` INTO (PARTITION `p7` VALUES LESS THAN (5), "
                "PARTITION `p0` VALUES LESS THAN (10))",
            ]
        else:
            choices.append(self.rng.choice(_PARTITIONS).strip())
        return self.rng.choice(choices)


def _first(table: Table) -> Index | None:
    """A key that a foreign key may refer to by `id`."""
    return next((i for i in table.indexes if i.unique and i.columns[:1] == ("id",)), None)


def _renames(*pairs: tuple[str, str]) -> Statement:
    """TiCDC sends each for itself."""
    moves = [f"`{old}` TO `{new}`" for old, new in pairs]
    return Statement(
        f"RENAME TABLE {', '.join(moves)}",
        tuple((new, f"RENAME TABLE {move}") for (_, new), move in zip(pairs, moves, strict=True)),
        frozenset(name for pair in pairs for name in pair),
    )


_PARTITIONS = (
    " PARTITION BY HASH (`id`) PARTITIONS 3",
    " PARTITION BY RANGE (`id`) (PARTITION `p0` VALUES LESS THAN (10), "
    "PARTITION `p1` VALUES LESS THAN (MAXVALUE))",
    " PARTITION BY RANGE (`id`) (PARTITION `p0` VALUES LESS THAN (10), "
    "PARTITION `p1` VALUES LESS THAN (100))",
    " PARTITION BY LIST (`id`) (PARTITION `p0` VALUES IN (1, 2, 3, 4, 5, 6, 7, 8), "
    "PARTITION `p1` VALUES IN (9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20))",
    " PARTITION BY RANGE COLUMNS (`id`) (PARTITION `p0` VALUES LESS THAN (15), "
    "PARTITION `p1` VALUES LESS THAN (MAXVALUE))",
)
_OPTIONS = (
    " DEFAULT CHARACTER SET latin1",
    " COLLATE utf8mb4_general_ci",
    " COLLATE utf8mb4_0900_ai_ci",
    " CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
    " COMMENT = 'x'",
)
