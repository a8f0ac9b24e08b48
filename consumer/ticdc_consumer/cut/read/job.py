"""The input of the tasks that read a cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticdc_encoder.event import Table

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.source import TaskSource
from ticdc_consumer.source.marks import DdlIdentity, TopicPartition
from ticdc_consumer.targets.layout import Layout, TableName
from ticdc_consumer.targets.staging import StagingJob


@dataclass(frozen=True, slots=True)
class ReadJob:
    """The input of all tasks of one cut, pickled for Spark's.

    The cut is [`begin`, `end`) of commit_ts; no commit_ts above `latest` is believed. Each of the
    `partitions` is read at most to its offset in `ends`. Those in `joined` are new since the last
    cut, which was proven at `proof_time`, Kafka's time in ms.
    """

    options: ReadSettings
    source: TaskSource
    begin: int
    end: int
    latest: int
    partitions: tuple[TopicPartition, ...]
    ends: Mapping[TopicPartition, int]
    joined: frozenset[TopicPartition]
    proof_time: int
    known_ddls: frozenset[DdlIdentity]
    layouts: Sequence[Layout]
    shapes: TableShapes
    most_bytes: int
    """Bytes of encoded facts that one task may send before it calls the cut too large; 0:
    unlimited. Each task has the whole budget: a hot partition needs it, and cuts are chosen to fit.
    Spark's `spark.driver.maxResultSize` bounds the sum over all tasks."""
    staging: StagingJob | None = None
    """The means of tasks to send rows to the target themselves; None if the driver does."""
    schemas: tuple[Table, ...] = ()
    """The schemas for reading Simple's rows."""
    joining: tuple[str, ...] = ()
    """Rules of a filter that lets more tables pass from the cut's end on: their rows belong to a
    later cut."""
    set_aside: frozenset[TableName] = frozenset()
    """Tables whose rows are counted but not read."""
