"""The source of changes, as the driver sees it: `Source`, and an entry per kind in `SOURCES`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from ticdc_encoder.event import RowChange, Table

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Unavailable
from ticdc_consumer.source.facts import PartitionFacts, SourceFacts
from ticdc_consumer.source.listing import Listing, LogRecord
from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition
from ticdc_consumer.source.records import Records

if TYPE_CHECKING:
    import pyarrow as pa

    from ticdc_consumer.protocols.schemas import Schemas

PATIENCE = 30.0
"""Seconds that a source may take to list all partitions, or to return what it listed."""


class Survey(Protocol):
    """Search for marks and DDL far ahead; pickled to Spark's tasks."""

    @property
    def columns(self) -> "pa.Schema":
        """Columns of the search's results."""

    def parts(self, tasks: int) -> Sequence["Survey"]:
        """Splits the search into the parts of `tasks` tasks."""

    def find(self) -> Iterator["pa.RecordBatch"]:
        """Yields the results of one task."""


RunSurvey = Callable[[Survey], "pa.Table"]
"""Runs a survey in tasks. Raises `Retry` if they could not."""


class Source(Protocol):
    """Topics with partitions, whose logs hold rows, and whose marks and DDL the driver follows.

    Calls raise `Unavailable` if the source does not answer, `Stop` for what an operator must
    decide. One thread at a time.
    """

    @property
    def rows_per_offset(self) -> float:
        """Approximate rows of one offset, as long as nothing has been read."""

    @property
    def listing_may_lag(self) -> bool:
        """Returns whether a listing may lack a partition that already has rows: rows of a partition
        that joins are then judged by their time."""

    @property
    def schemas(self) -> "Schemas":
        """The Simple schemas of the checkpoint, and those that came since."""

    @property
    def marks(self) -> Sequence[Mark]:
        """The marks seen above the applied R."""

    @property
    def top(self) -> Mapping[str, Mark]:
        """The greatest mark of each topic."""

    @property
    def newest(self) -> float | None:
        """Production time of the newest message that the driver followed, in seconds since 1970;
        None before the first, or if it is unknown."""

    @property
    def trouble(self) -> Unavailable | None:
        """The error, if the source does not answer; the driver waits for it."""

    def close(self) -> None: ...

    # Listing.

    def list(self) -> Listing:
        """The source's present listing, by one attempt."""

    def list_patiently(self, known: Iterable[TopicPartition], patience: float) -> Listing:
        """A listing that has what is `expected` of `known`; retried for `patience` seconds, then
        raises `Stop`."""

    def expected(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        """The partitions of `known` that a listing must have."""

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset of each that is still in the log."""

    def record_at(
        self, topic_partition: TopicPartition, offset: int, patience: float
    ) -> LogRecord | None:
        """The first record at or after an offset; None if none exists, or if records cannot
        be distinguished. Raises `Unavailable` after `patience` seconds."""

    # Marks and DDL.

    def follow(self, starts: Mapping[str, int]) -> None:
        """Adds topics, each from an offset of its partition 0."""

    def position(self, topic: str) -> int:
        """The offset after the last record read of the topic's partition 0."""

    def survey_by(self, surveys: Callable[[], RunSurvey | None]) -> None:
        """Allows `poll` and `read_to` to search far ahead in tasks from now on, whenever `surveys`
        returns a way."""

    def poll(self, wait: float) -> int:
        """Reads new records, waiting up to `wait` seconds for the first. Returns their number."""

    def read_to(self, reach: int, ends: Mapping[str, int], patience: float) -> None:
        """Reads all marks and DDL of each topic up to a mark >= `reach` or the topic's end. Raises
        `Unavailable` if the source sends nothing for `patience` seconds."""

    def require_marks(self, silence: float) -> None:
        """Raises `Stop` if the source has rows and no mark, and sent nothing for `silence`
        seconds."""

    def ddls(self) -> Sequence[SeenDdl]:
        """The DDL seen at or above the applied R."""

    def forget(self, applied: int) -> None:
        """Drops everything below `applied`, from which the next cut begins."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Publishes the applied offsets for lag monitors; nothing reads them back."""

    # Rows.

    def tasks(
        self,
        end: int,
        ddls: Iterable[int],
        definitions: Mapping[tuple[str, str], Table],
        *,
        here: bool = False,
    ) -> "TaskSource":
        """The reader with which tasks read the rows of the cut that ends at `end`. `ddls` are the
        commit_ts of the DDL seen, `definitions` the tables whose CREATE TABLE came through the
        stream. With `here` it is for one task in this process, and may use what the source has
        open; else it is pickled to Spark's tasks."""


class ReadProgress(Protocol):
    """Progress of a task in a partition."""

    position: int
    end: int
    done: bool

    def keep(self, offset: int) -> None:
        """Notes that the next cut needs the record at this offset."""


ProgressT = TypeVar("ProgressT", bound=ReadProgress)


class Receiver(Protocol[ProgressT]):
    """The part of a task that receives what its source reads."""

    @property
    def progress(self) -> Mapping[TopicPartition, ProgressT]: ...

    def wants(self, name: tuple[str, str]) -> bool:
        """Returns whether the filter lets the table pass."""

    def reads(self, name: tuple[str, str]) -> bool:
        """Returns whether the receiver takes the table's rows; those of a quarantined table are
        read later."""

    def feed(
        self, progress: ProgressT, key: bytes | None, value: bytes | None, offset: int, time: int
    ) -> None:
        """Takes a message of the protocol."""

    def feed_records(self, progress: ProgressT, records: Records) -> None:
        """Takes messages of one partition, up to the mark that ends the cut; the partition is then
        done."""

    def feed_file(
        self, progress: ProgressT, content: bytes, offset: int, changes: Iterable[RowChange]
    ) -> Iterator[None]:
        """Takes a file of changes, some at a time."""

    def complete(self) -> Iterator[None]:
        """Completes rows that were sent in part."""


class TaskSource(Protocol):
    """The part of a source that tasks read with."""

    @property
    def gives_messages(self) -> bool:
        """Returns whether it feeds messages of the protocol."""

    def read(self, receiver: Receiver[ProgressT], size: int) -> Iterator[None]:
        """Feeds the receiver until all of its partitions are read, at most `size` messages a step.
        Yields after each step."""


def _no_facts(_: Settings, patience: float) -> SourceFacts:
    return SourceFacts({})


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source. `chosen` decides by the settings whether a source is of this kind, `scope`
    is what it adds to the settings that give R its meaning. `rows_need_definitions`: a table's rows
    are read by its CREATE TABLE, once that is done. `look` shows its log, see `facts_of`."""

    chosen: Callable[[Settings], bool]
    open: Callable[[Settings], Source]
    scope: Mapping[str, object] = field(default_factory=dict)
    rows_need_definitions: bool = False
    look: Callable[[Settings, float], SourceFacts] = _no_facts


def _kafka(options: Settings) -> Source:
    from ticdc_consumer.source.kafka.source import KafkaSource

    return KafkaSource.connect(options)


def _storage(options: Settings) -> Source:
    from ticdc_consumer.source.storage.source import StorageSource

    return StorageSource(options)


def _kafka_facts(options: Settings, patience: float) -> SourceFacts:
    from ticdc_consumer.source.kafka.tails import look

    return look(options, patience)


def _storage_facts(options: Settings, patience: float) -> SourceFacts:
    listing = _storage(options).list_patiently((), patience)
    return SourceFacts({name: PartitionFacts(0, end) for name, end in listing.ends.items()})


# A kind is opened by a function, which imports the modules that only this kind needs.
SOURCES: dict[str, SourceKind] = {
    "kafka": SourceKind(lambda options: True, _kafka, look=_kafka_facts),
    "storage": SourceKind(
        lambda options: options.storage_url is not None,
        _storage,
        {"storage": True},
        rows_need_definitions=True,
        look=_storage_facts,
    ),
}
"""The kinds, tried from the last to the first: Kafka is the default."""


def source_kind(options: Settings) -> str:
    """The name in `SOURCES` of the source that the options choose."""
    return next(name for name, kind in reversed(SOURCES.items()) if kind.chosen(options))


def open_source(options: Settings) -> Source:
    """Opens the source of the changes."""
    return SOURCES[source_kind(options)].open(options)


def facts_of(options: Settings, patience: float) -> SourceFacts:
    """Present facts of the source, even while a consumer runs; each request may take `patience`
    seconds. Raises `Unavailable`, `Stop`."""
    return SOURCES[source_kind(options)].look(options, patience)


def scope_of(options: Settings) -> Mapping[str, object]:
    """Additions of the source to the settings that give R its meaning."""
    return SOURCES[source_kind(options)].scope


def rows_need_definitions(options: Settings) -> bool:
    """Returns whether a table's rows are read by its CREATE TABLE, once that is done."""
    return SOURCES[source_kind(options)].rows_need_definitions
