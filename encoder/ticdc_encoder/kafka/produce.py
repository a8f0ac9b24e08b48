"""EDGE: messages to Kafka."""

from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Delivered
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from ticdc_encoder.errors import ProduceError
from ticdc_encoder.message import Message

__all__ = ["Delivery", "ProduceError", "ensure_topics", "produce"]

_PATIENCE = 30.0
"""Longest wait, in seconds."""
_MAX_MESSAGE_BYTES = (
    "10485760"  # TiCDC's default of max-message-bytes; librdkafka's is a tenth of it
)


def produce(
    messages: Iterable[Message],
    config: Mapping[str, str],
    progress: Callable[[int], None] | None = None,
) -> int:
    """Writes all messages, in their order within each partition; returns how many.

    `config` are librdkafka's settings; idempotence and acks=all override them, and
    `message.max.bytes` is 10 MiB by default. Messages are consumed as fast as the broker
    acknowledges them, and `progress` is called with the number acknowledged. Raises ProduceError
    for the first that fails; some of those after it may have been written. If `messages` itself
    raises, those before are written.
    """
    with Delivery(config, progress) as delivery:
        delivery.deliver(messages)
        return delivery.acknowledged


class Delivery:
    """A producer for several calls of `deliver`: see `produce`, which makes one call."""

    def __init__(
        self, config: Mapping[str, str], progress: Callable[[int], None] | None = None
    ) -> None:
        self.acknowledged = 0
        self._reported = 0
        self._progress = progress
        self._failed: ProduceError | None = None
        try:
            self._producer = Producer(
                {
                    "message.max.bytes": _MAX_MESSAGE_BYTES,
                    **config,
                    "enable.idempotence": True,
                    "acks": "all",
                    "error_cb": self._on_error,
                }
            )
        except KafkaException as exc:
            raise ProduceError(f"librdkafka refuses these settings: {_reason(exc)}") from exc

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        # The producer refers to this object, which would keep both alive.
        del self._producer

    def deliver(self, messages: Iterable[Message]) -> None:
        """Returns when the brokers have acknowledged all of them. Raises like `produce`."""
        try:
            for message in messages:
                self._send(message)
        except ProduceError:
            raise
        except BaseException:
            self._finish()
            raise
        self._finish()

    def _send(self, message: Message) -> None:
        while True:
            try:
                self._producer.produce(
                    message.topic,
                    message.value,
                    message.key,
                    message.partition,
                    on_delivery=self._on_delivery,
                )
                break
            except BufferError:
                self._poll(0.1)
            except KafkaException as exc:
                where = f"{message.topic}[{message.partition}]"
                raise ProduceError(f"a message for {where} was refused: {_reason(exc)}") from exc
        self._poll(0)

    def _finish(self) -> None:
        while len(self._producer):
            self._poll(0.1)
        self._poll(0)

    def _poll(self, seconds: float) -> None:
        self._producer.poll(seconds)
        if self._failed is not None:
            # Messages that still wait must not be sent after the error.
            self._producer.purge()
            self._producer.poll(0)
            raise self._failed
        if self._progress is not None and self.acknowledged > self._reported:
            self._reported = self.acknowledged
            self._progress(self._reported)

    def _on_delivery(self, error: KafkaError | None, message: Delivered) -> None:
        if error is None:
            self.acknowledged += 1
        elif self._failed is None:
            where = f"{message.topic()}[{message.partition()}]"
            self._failed = ProduceError(f"a message for {where} was refused: {error.str()}")

    def _on_error(self, error: KafkaError) -> None:
        # Others pass: librdkafka tries again until message.timeout.ms.
        if error.fatal() and self._failed is None:
            self._failed = ProduceError(f"the producer cannot continue: {error.str()}")


def ensure_topics(
    config: Mapping[str, str], topics: Mapping[str, int], replication_factor: int = 1
) -> None:
    """Creates the topics that are missing, with so many partitions, and returns once every
    partition has a leader. Raises ProduceError if a topic has fewer."""
    try:
        admin = AdminClient({"log_level": "5", **config})  # without librdkafka's own messages
        known = admin.list_topics(timeout=_PATIENCE).topics
        missing = [
            NewTopic(name, num_partitions=partitions, replication_factor=replication_factor)
            for name, partitions in topics.items()
            if name not in known
        ]
        for created in admin.create_topics(missing).values() if missing else ():
            try:
                created.result(_PATIENCE)
            except KafkaException as exc:
                if exc.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
        deadline = monotonic() + _PATIENCE
        for name, partitions in topics.items():
            while (led := _led(admin, name)) is None or led < partitions:
                if led is not None and name in known:
                    raise ProduceError(f"topic {name} has {led} partitions, not {partitions}")
                if monotonic() > deadline:
                    raise ProduceError(f"topic {name} has no leaders")
                admin.poll(0.05)
    except KafkaException as exc:
        raise ProduceError(f"the topics cannot be created: {_reason(exc)}") from exc


def _led(admin: AdminClient, topic: str) -> int | None:
    """The number of partitions, None while the topic or a leader is missing."""
    metadata = admin.list_topics(timeout=_PATIENCE).topics.get(topic)
    if (
        metadata is None
        or metadata.error
        or any(p.leader < 0 for p in metadata.partitions.values())
    ):
        return None
    return len(metadata.partitions)


def _reason(exc: KafkaException) -> str:
    error = exc.args[0]
    return str(error.str()) if isinstance(error, KafkaError) else str(error)
