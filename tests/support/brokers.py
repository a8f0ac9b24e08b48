"""A Kafka for one test: librdkafka's mock, or the real one at KAFKA_BOOTSTRAP."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka import Message as Delivered
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)
from ticdc_consumer.source.kafka import tasks as poll
from ticdc_consumer.testing.mock_kafka import MockKafka
from ticdc_encoder.message import Message

PATIENCE = 120.0


class Kafka(ABC):
    """What a test may do to a cluster. Topic names begin with `prefix`, which no other test has.

    `create_topic("orders", 3)` returns the topic's name; `config` are librdkafka's settings.
    """

    real: bool

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.config: dict[str, str] = {"bootstrap.servers": bootstrap}
        self.prefix = f"t{uuid.uuid4().hex[:8]}-"

    def create_topic(self, name: str, partitions: int = 1, **config: str) -> str:
        """`config` is the topic's, as `**{"retention.bytes": "1"}`; the mock knows none."""
        topic = self.prefix + name
        self._create(topic, partitions, config)
        return topic

    @abstractmethod
    def _create(self, topic: str, partitions: int, config: dict[str, str]) -> None: ...

    @abstractmethod
    def delete_topic(self, topic: str) -> None: ...

    @abstractmethod
    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Drops what lies below an offset, as retention does."""

    def produce(self, messages: Iterable[Message]) -> None:
        """Writes records as they are, in their order, into their topics and partitions."""
        refused: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Delivered) -> None:
            if error is not None:
                refused.append(error)

        # Compressed, since the mock keeps 5 MiB a partition, as stored. One request at a time keeps
        # the order; an idempotent producer would, too, but takes half a second to begin.
        producer = Producer(
            self.config
            | {"max.in.flight": 1, "compression.type": "lz4", "linger.ms": 5}
            | {"message.max.bytes": 100_000_000}
        )
        for message in messages:
            while True:
                try:
                    producer.produce(
                        message.topic,
                        message.value,
                        message.key,
                        message.partition,
                        on_delivery=delivered,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(PATIENCE) == 0, "the broker takes no records"
        if refused:
            raise KafkaException(refused[0])

    def partitions(self, topic: str) -> int:
        """As the cluster tells it, 0 for a topic that it does not know."""
        found = AdminClient({**self.config}).list_topics(timeout=PATIENCE).topics.get(topic)
        return len(found.partitions) if found else 0


class Mock(Kafka):
    real = False

    def __init__(self, cluster: MockKafka) -> None:
        super().__init__(cluster.bootstrap)
        # The cluster may go before its last client, which would remark on it.
        self.config["log_level"] = "2"
        self._cluster = cluster

    def close(self) -> None:
        """The brokers are gone."""
        self._cluster.close()

    def _create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        assert not config, "the mock broker knows no topic configuration: use real_kafka"
        self._cluster.create_topic(topic, partitions)

    def delete_topic(self, topic: str) -> None:
        self._cluster.delete_topic(topic)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        self._cluster.delete_records(topic, partition, before)


class Real(Kafka):
    real = True

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self._admin = AdminClient({**self.config})

    def _create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=config)
        self._admin.create_topics([wanted])[topic].result(PATIENCE)
        self._await(topic, partitions)

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(PATIENCE)
        self._await(topic, 0)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        at = TopicPartition(topic, partition, before)
        self._admin.delete_records([at])[at].result(PATIENCE)

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, total)])[topic].result(PATIENCE)
        self._await(topic, total)

    @contextmanager
    def denied(self, topic: str, user: str, but_for: AclOperation) -> Iterator[None]:
        """Everything with the topic is denied to the user, but for one operation."""
        acl = AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            but_for,
            AclPermissionType.ALLOW,
        )
        self._admin.create_acls([acl])[acl].result(PATIENCE)
        try:
            yield
        finally:
            every = AclBindingFilter(
                acl.restype,
                topic,
                acl.resource_pattern_type,
                acl.principal,
                acl.host,
                but_for,
                acl.permission_type,
            )
            self._admin.delete_acls([every])[every].result(PATIENCE)

    def clean(self) -> None:
        """Deletes this test's topics, also those that the consumer or a client made."""
        topics = [t for t in self._admin.list_topics().topics if t.startswith(self.prefix)]
        if topics:
            for deleted in self._admin.delete_topics(topics).values():
                deleted.result(PATIENCE)

    def _await(self, topic: str, partitions: int) -> None:
        """Returns once the cluster tells that number of partitions, each with a leader."""
        for attempt in count():
            found = self._admin.list_topics().topics.get(topic)
            led = [p for p in found.partitions.values() if p.leader >= 0] if found else []
            if len(led) == partitions:
                return
            assert attempt < 100 * PATIENCE, f"{topic}: {len(led)} partitions, not {partitions}"
            self._admin.poll(0.01)


@contextmanager
def mock() -> Iterator[Mock]:
    with MockKafka() as cluster:
        try:
            yield Mock(cluster)
        finally:
            # What read in this process would go on asking for the cluster, loudly.
            while poll._consumers:
                poll._consumers.popitem()[1].close()


@contextmanager
def real(bootstrap: str) -> Iterator[Real]:
    kafka = Real(bootstrap)
    try:
        yield kafka
    finally:
        kafka.clean()
