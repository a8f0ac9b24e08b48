"""DDL statements as data. `parser.parse_ddl` creates them."""

from dataclasses import dataclass

from ticdc_encoder.column import Column, ForeignKey, Index
from ticdc_encoder.event import Table
from ticdc_encoder.partitioning import Partition, Partitioning

# --- what an ALTER TABLE does -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddColumn:
    """`column` has the character set that was written, None if it is the table's. `keys` are the
    keys that its definition declares; `after` is the column before it, "" for FIRST, None for the
    end. `computed`: its default is an expression, which is not in `column.default`."""

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
    """ADD INDEX, also of a primary key."""

    index: Index
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropIndex:
    """DROP INDEX; `PRIMARY` is the primary key."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameIndex:
    name: str
    new_name: str


@dataclass(frozen=True, slots=True)
class AddForeignKey:
    """ADD FOREIGN KEY; TiDB numbers one without a name."""

    key: ForeignKey


@dataclass(frozen=True, slots=True)
class DropForeignKey:
    name: str


@dataclass(frozen=True, slots=True)
class SetCharset:
    """The table's default, and with `convert` that of its columns, too."""

    charset: str | None
    collation: str | None
    convert: bool = False


@dataclass(frozen=True, slots=True)
class Repartition:
    """PARTITION BY and REMOVE PARTITIONING, and any other change of partitions that is not
    understood. No row comes or goes."""

    partitioned: bool
    partitioning: Partitioning | None = None


@dataclass(frozen=True, slots=True)
class ReplacePartitions:
    """ADD (to no old ones) and REORGANIZE PARTITION. No row comes or goes."""

    old: tuple[str, ...]
    new: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class ResizePartitions:
    """ADD PARTITION PARTITIONS and COALESCE PARTITION. No row comes or goes."""

    by: int


@dataclass(frozen=True, slots=True)
class EmptyPartitions:
    """TRUNCATE and DROP PARTITION: rows disappear without being sent. No names mean all
    partitions.
    """

    names: tuple[str, ...]
    drop: bool


@dataclass(frozen=True, slots=True)
class ExchangePartition:
    """EXCHANGE PARTITION: rows come and go without being sent."""

    name: str
    table: tuple[str, str]
    validated: bool


@dataclass(frozen=True, slots=True)
class NoEffect:
    """Action that concerns no column, key or row: comments, checks, TTL and so on."""

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
    | AddForeignKey
    | DropForeignKey
    | SetCharset
    | Repartition
    | ReplacePartitions
    | ResizePartitions
    | EmptyPartitions
    | ExchangePartition
    | NoEffect
    | OtherAction
)

# --- statements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Charset:
    """A character set and its collation, as a database has them for tables that name neither."""

    name: str
    collation: str


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """`charset` is None if the statement names none."""

    schema: str
    if_not_exists: bool = False
    charset: Charset | None = None


@dataclass(frozen=True, slots=True)
class AlterSchema:
    """`charset` is None if the statement changes something else."""

    schema: str
    charset: Charset | None = None


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
class RecoverTable:
    """RECOVER TABLE and FLASHBACK TABLE ... TO: `dropped`, or emptied, comes back as `table`. Both
    are None if only a job's number is given."""

    dropped: tuple[str, str] | None
    table: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class CreateView:
    """`columns` are the names that it gives its own, if any; `select` is its query as written,
    whose unqualified tables are in `session_schema`, "" if that is not known."""

    schema: str
    view: str
    columns: tuple[str, ...]
    select: str
    session_schema: str
    or_replace: bool = False
    other_definer: bool = False


@dataclass(frozen=True, slots=True)
class DropView:
    schema: str
    view: str


@dataclass(frozen=True, slots=True)
class Other:
    """Any other statement; `what` is its first two words, lower case."""

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
    | RecoverTable
    | CreateView
    | DropView
    | Other
)
