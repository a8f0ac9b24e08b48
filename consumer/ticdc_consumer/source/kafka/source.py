"""Kafka as a source: the brokers' listings, and the scout's reading of partition 0."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from functools import cached_property

from confluent_kafka import KafkaError, KafkaException
from ticdc_encoder.event import Table

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Unavailable
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source import PATIENCE, RunSurvey, TaskSource
from ticdc_consumer.source.kafka.brokers import Cluster
from ticdc_consumer.source.kafka.client import records_from
from ticdc_consumer.source.kafka.follower import Follower
from ticdc_consumer.source.kafka.scout import Scout
from ticdc_consumer.source.kafka.tasks import KafkaTasks
from ticdc_consumer.source.listing import Listing, LogRecord
from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition


class KafkaSource:
    """Topics of a cluster. The scout is created on first use: listing needs none."""

    rows_per_offset = 1.0
    listing_may_lag = True

    def __init__(self, options: Settings, cluster: Cluster) -> None:
        self._options = options
        self._cluster = cluster
        self._surveys: Callable[[], RunSurvey | None] = lambda: None
        self.schemas = Schemas(options)

    @classmethod
    def connect(cls, options: Settings) -> "KafkaSource":
        return cls(options, Cluster(options.kafka, options.topics))

    @cached_property
    def _scout(self) -> Scout:
        return Scout(self._options, self.schemas, lambda: self._surveys())

    @cached_property
    def _follower(self) -> Follower:
        return Follower(self._options.kafka, self._scout.recent)

    def close(self) -> None:
        if "_follower" in self.__dict__:
            self._follower.close()
        if "_scout" in self.__dict__:
            self._scout.close()
        self._cluster.close()

    # --- listing ------------------------------------------------------------------------------

    def list(self) -> Listing:
        return self._cluster.list()

    def list_patiently(self, known: Iterable[TopicPartition], patience: float) -> Listing:
        return self._cluster.list_patiently(known, patience)

    def expected(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        return set(known)

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._cluster.begins(partitions)

    def record_at(
        self, topic_partition: TopicPartition, offset: int, patience: float
    ) -> LogRecord | None:
        start = {topic_partition: offset}
        try:
            with closing(records_from(self._options.kafka, start, 1, patience)) as records:
                for _, message in records:
                    if message is not None:
                        crc = zlib.crc32((message.key() or b"") + (message.value() or b""))
                        return LogRecord(message.offset() or 0, message.timestamp()[1], crc)
        except (Stop, Unavailable) as error:
            topic, partition = topic_partition
            raise Unavailable(
                f"offset {offset} of {topic}[{partition}] cannot be read: {error}"
            ) from error
        raise AssertionError("records_from has no end")

    # --- marks and DDL --------------------------------------------------------------------------

    @property
    def marks(self) -> Sequence[Mark]:
        return self._scout.marks

    @property
    def top(self) -> Mapping[str, Mark]:
        return self._scout.top

    @property
    def newest(self) -> float | None:
        return self._scout.newest

    @property
    def trouble(self) -> Unavailable | None:
        return self._scout.trouble

    def follow(self, starts: Mapping[str, int]) -> None:
        self._scout.follow(starts)

    def position(self, topic: str) -> int:
        return self._scout.position(topic)

    def survey_by(self, surveys: Callable[[], RunSurvey | None]) -> None:
        self._surveys = surveys

    def poll(self, wait: float) -> int:
        return self._scout.poll(wait)

    def read_to(self, reach: int, ends: Mapping[str, int], patience: float) -> None:
        self._scout.read_to(reach, ends, patience)

    def require_marks(self, silence: float) -> None:
        self._scout.require_marks(silence, lambda: self.list_patiently((), PATIENCE))

    def ddls(self) -> Sequence[SeenDdl]:
        return self._scout.ddls()

    def forget(self, applied: int) -> None:
        if "_scout" in self.__dict__:
            self._scout.forget(applied)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Writes the group's offsets, without waiting. Errors are ignored, but a client that cannot
        continue raises `Unavailable`."""
        try:
            self._scout.commit(offsets)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._FATAL:
                raise Unavailable(f"Kafka: {error.args[0].str()}") from error

    # --- rows -----------------------------------------------------------------------------------

    def tasks(
        self,
        end: int,
        ddls: Iterable[int],
        definitions: Mapping[tuple[str, str], Table],
        *,
        here: bool = False,
    ) -> TaskSource:
        if here:
            return self._follower
        if "_follower" in self.__dict__:
            self._follower.release()
        return KafkaTasks(self._options.kafka)
