"""EDGE: the Kafka of a run, a mock in this process or one that exists."""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import groupby

from confluent_kafka.admin import AdminClient
from ticdc_consumer.testing.mock_kafka import MockKafka
from ticdc_encoder.kafka.produce import Delivery, ensure_topics
from ticdc_encoder.message import Message

from ticdc_torture.history import Step, Topic

PATIENCE = 30.0


class Kafka(AbstractContextManager["Kafka"]):
    """Takes a history's log. A mock's broker can go down for a while."""

    def __init__(self, bootstrap: str, mock: MockKafka | None = None) -> None:
        self.bootstrap = bootstrap
        self._mock = mock
        self._config = {"bootstrap.servers": bootstrap, "log_level": "2"}
        self._delivery = Delivery(self._config)
        self._created: list[str] = []

    def __exit__(self, *exc: object) -> None:
        self._delivery.__exit__(*exc)
        if self._mock is None and self._created:
            admin = AdminClient({**self._config})
            for deleted in admin.delete_topics(self._created).values():
                deleted.result(PATIENCE)

    def take(self, steps: Sequence[Step]) -> None:
        """Returns when all messages are acknowledged. Raises ProduceError."""
        for kind, some in groupby(steps, type):
            if kind is Topic:
                for topic in some:
                    self._create(topic)
            else:
                self._delivery.deliver(message for message in some if isinstance(message, Message))

    def _create(self, topic: Step) -> None:
        assert isinstance(topic, Topic)
        if self._mock is not None:
            self._mock.create_topic(topic.name, topic.partitions)
        else:
            ensure_topics(self._config, {topic.name: topic.partitions})
        self._created.append(topic.name)

    def away(self, seconds: float) -> None:
        """Takes the broker down for some seconds, with all connections; only the mock's."""
        assert self._mock is not None
        self._mock.down()
        time.sleep(seconds)
        self._mock.up()


@contextmanager
def brokers(bootstrap: str | None) -> Iterator[Kafka]:
    """Brokers at an address, whose topics are deleted at the end; or the mock."""
    if bootstrap is not None:
        with Kafka(bootstrap) as real:
            yield real
        return
    with MockKafka() as mock, Kafka(mock.bootstrap, mock) as mocked:
        yield mocked
