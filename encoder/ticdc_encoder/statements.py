"""What a DDL statement says, as data. `definition.parse_ddl` reads them."""

from dataclasses import dataclass

from ticdc_encoder.column import Column, Index
from ticdc_encoder.event import Table

# --- what an ALTER TABLE does -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddColumn:
    """`column` has the character set that was written, None where it is the table's. `keys` are
    the keys that its definition asks for; `after` is the column before it, "" for FIRST, None for
    the end. `computed`: its default is an expression, which `column.default` does not tell."""

    column: Column
    keys: tuple[Index, ...] = ()
    after: str | None = None
    computed: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class ModifyColumn:
    """MODIFY and CHANGE; as `AddColumn`, but None for `after` leaves it where it is."""

    name: str
    column: Column
    keys: tuple[Index, ...] = ()
    after: str | None = None
    computed: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class SetDefault:
    """SET DEFAULT and DROP DEFAULT (None, not computed)."""

    name: str
    default: str | None
    computed: bool = False


@dataclass(frozen=True, slots=True)
class AddIndex:
    """Of a primary key, too."""

    index: Index
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropIndex:
    """`PRIMARY` is the primary key."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameIndex:
    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class SetCharset:
    """The table's default, and with `convert` that of its columns, too."""

    charset: str | None
    collation: str | None
    convert: bool = False


@dataclass(frozen=True, slots=True)
class Repartition:
    """Moves rows between partitions, or adds one; no row comes or goes."""

    partitioned: bool


@dataclass(frozen=True, slots=True)
class ChangePartition:
    """TRUNCATE, DROP or EXCHANGE PARTITION: rows go, or come, without being sent."""

    what: str


@dataclass(frozen=True, slots=True)
class NoEffect:
    """What concerns neither columns, nor keys, nor rows: comments, foreign keys, TTL and so on."""

    what: str


@dataclass(frozen=True, slots=True)
class OtherAction:
    what: str


Action = (
    AddColumn
    | ModifyColumn
    | DropColumn
    | RenameColumn
    | SetDefault
    | AddIndex
    | DropIndex
    | RenameIndex
    | SetCharset
    | Repartition
    | ChangePartition
    | NoEffect
    | OtherAction
)

# --- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateSchema:
    schema: str
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterSchema:
    """Its default character set, which the stream's CREATE TABLE do not depend on."""

    schema: str


@dataclass(frozen=True, slots=True)
class DropSchema:
    schema: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable:
    table: Table
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    schema: str
    table: str
    like: tuple[str, str]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropTable:
    schema: str
    table: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class AlterTable:
    """CREATE INDEX and DROP INDEX, too."""

    schema: str
    table: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class RenameTable:
    """RENAME TABLE of one table, and ALTER TABLE ... RENAME."""

    old: tuple[str, str]
    new: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Other:
    """A statement that is none of the above; `what` is its first two words, lower case."""

    query: str
    what: str


Statement = (
    CreateSchema
    | AlterSchema
    | DropSchema
    | CreateTable
    | CreateTableLike
    | DropTable
    | TruncateTable
    | AlterTable
    | RenameTable
    | Other
)
