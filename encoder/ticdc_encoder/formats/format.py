"""Parts of a wire format, and code that the formats' encoders share."""

from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass
from time import time_ns
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar, runtime_checkable

from ticdc_encoder.errors import DefinitionError, TicdcError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table, Value

Record = tuple[bytes | None, bytes | None]
"""A Kafka record's key and value."""

Clock = Callable[[], int]
"""Milliseconds since the epoch, for the members that say when a message was made."""

LargeMessageHandle = Literal["none", "handle-key-only", "claim-check"]
"""Handling of large rows. A plain encoder takes `claim-check` for `none`: see
`ClaimCheckEncoder`.
"""

RECORD_OVERHEAD = 36
"""Bytes that TiCDC counts for a Kafka record in addition to its key and value."""


class MessageTooLarge(TicdcError):
    """A row beyond max-message-bytes, which would stop a changefeed."""


class MissingCommitTs(WireError):
    """A message without a commit_ts, which has no position in time."""


def wall_clock() -> int:
    return time_ns() // 1_000_000


def timestamp(value: Any, name: str) -> int:
    """The value of the member `name`, if it is a TSO. Raises WireError."""
    if value.__class__ is not int or not 0 < value < 1 << 64:
        raise WireError(f"{name} is not a timestamp of 1 to 2^64 - 1")
    return value


class Encoder(Protocol):
    """Writes the events of one (topic, partition), in their order."""

    def row(self, change: RowChange) -> list[Record]:
        """The records that this row completes. TIMESTAMP values of the row are in UTC."""

    def flush(self) -> list[Record]:
        """The open records: due before every `ddl` and `resolved`, and at the end."""

    def ddl(self, ddl: Ddl) -> Record: ...

    def resolved(self, resolved: Resolved) -> Record:
        """Raises ConfigError if the protocol, with these options, has no such message."""


@runtime_checkable
class SchemaEncoder(Encoder, Protocol):
    """An encoder of a protocol that sends tables' schemas apart from their rows."""

    def bootstrap(self, table: Table) -> Record:
        """The table's schema, which consumers need before its rows."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row whose table's schema of `version` has not arrived. `at` is the decoder's argument with
    its record."""

    at: int
    commit_ts: int
    schema: str
    table: str
    version: int


class StatefulDecoder(Protocol):
    """Reads records with the schemas of earlier ones. Rows wait until theirs arrives."""

    waits: int
    """The number of rows that are `waiting`."""

    def decode(
        self, key: bytes | None, value: bytes | None, at: int = 0
    ) -> list[tuple[int, Event]]:
        """The events that this record completes, each with the `at` of its own record."""

    @property
    def waiting(self) -> tuple[Waiting, ...]: ...


class FormatOptions(Protocol):
    """A frozen dataclass of keywords, named as TiCDC's settings are."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


OptionsT = TypeVar("OptionsT", bound=FormatOptions)
_OptionsT_contra = TypeVar("_OptionsT_contra", bound=FormatOptions, contravariant=True)


class EncoderFactory(Protocol[_OptionsT_contra]):
    def __call__(self, options: _OptionsT_contra, clock: Clock = wall_clock) -> Encoder: ...


@dataclass(frozen=True, slots=True)
class Format(Generic[OptionsT]):
    """A protocol. `decode(key, value, options)` is pure and raises `WireError` for anything that
    the protocol does not allow. A protocol whose rows are read by earlier records has a `Decoder`,
    too."""

    decode: Callable[[bytes | None, bytes | None, OptionsT], list[Event]]
    Encoder: EncoderFactory[OptionsT]
    Options: type[OptionsT]
    Decoder: Callable[[OptionsT], StatefulDecoder] | None = None


# What encoders share.

PlanT = TypeVar("PlanT")


def per_table(make: Callable[[Table], PlanT]) -> Callable[[Table], PlanT]:
    """`make`, but called once for each table and then remembered. Tables are distinguished by their
    identity: comparing their columns for every row would take longer than writing it."""
    plans: dict[int, tuple[Table, PlanT]] = {}  # a table that is kept keeps its identity

    def plan(table: Table) -> PlanT:
        known = plans.get(id(table))
        if known is None:
            known = plans[id(table)] = table, make(table)
        return known[1]

    return plan


class WritableColumn(Protocol):
    """A column in a plan. `write` takes values that are not NULL and raises TypeError or
    ValueError for one that the column cannot hold."""

    @property
    def name(self) -> str: ...

    @property
    def handle(self) -> bool: ...

    @property
    def write(self) -> Callable[[Value], Any]: ...


ColumnT = TypeVar("ColumnT", bound=WritableColumn)
_ColumnT_co = TypeVar("_ColumnT_co", bound=WritableColumn, covariant=True)


class RowPlan(Protocol[_ColumnT_co]):
    """Plan for a table's rows: `columns` are those that the wire has, in its order, `names` all
    that a row may have."""

    @property
    def table(self) -> Table: ...

    @property
    def columns(self) -> Sequence[_ColumnT_co]: ...

    @property
    def names(self) -> frozenset[str]: ...


def written(plan: RowPlan[ColumnT], row: Row, *, handle_only: bool) -> list[tuple[ColumnT, Any]]:
    """The plan's columns that the row has, each with its value as `write` gives it, None for NULL;
    with `handle_only` those of the handle key. Raises DefinitionError for a column that the table
    does not have, and for a value that its column cannot hold."""
    table = plan.table
    if not row.keys() <= plan.names:
        strange = next(name for name in row if name not in plan.names)
        raise DefinitionError(f"{table.schema}.{table.name} has no column `{strange}`")
    pairs: list[tuple[ColumnT, Any]] = []
    for column in plan.columns:
        if column.name not in row or (handle_only and not column.handle):
            continue
        value = row[column.name]
        try:
            pairs.append((column, None if value is None else column.write(value)))
        except (TypeError, ValueError) as error:
            type_ = table.column(column.name).type
            raise DefinitionError(
                f"column `{column.name}` of {table.schema}.{table.name}, {type_.name}: {error}"
            ) from error
    return pairs


def no_row(table: Table) -> DefinitionError:
    """The error for a change that has neither a row before nor one after."""
    return DefinitionError(f"a change of {table.schema}.{table.name} without a row")


def record_size(record: Record) -> int:
    """The size that TiCDC counts for a record, in bytes."""
    key, value = record
    return len(key or b"") + len(value or b"") + RECORD_OVERHEAD


RecordT = TypeVar("RecordT", bound=Record)


def fitting(
    write: Callable[[RowChange, bool], RecordT],
    change: RowChange,
    limit: int,
    large: LargeMessageHandle = "none",
    framing: int = 0,
) -> RecordT:
    """The change's record from `write(change, reduced)`, in at most `limit` bytes, of which
    `framing` are added to key and value. A larger one is reduced to its handle key if `large` says
    so. Raises `MessageTooLarge` if TiCDC's changefeed would stop."""
    record = write(change, change.incomplete)
    size = record_size(record) + framing
    if size > limit and large == "handle-key-only":
        record = write(change, True)
        size = record_size(record) + framing
    if size > limit:
        raise MessageTooLarge(
            f"a row of {change.table.schema}.{change.table.name} takes {size} bytes, "
            f"max-message-bytes is {limit}"
        )
    return record
