"""Clients of librdkafka: their settings, the meaning of their errors, and one loop that
consumes."""

import logging
import time
from collections.abc import Generator, Iterator, Mapping
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import Message as KafkaMessage
from confluent_kafka import TopicPartition as KafkaTopicPartition
from ticdc_encoder.errors import TicdcError, visible

from ticdc_consumer.config.callbacks import with_functions
from ticdc_consumer.errors import LOAD_ANEW, SourceAway, Stop, Unavailable, UserRefused
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.waiting import Deadline, sleep

logger = logging.getLogger(__name__)

WARNING_INTERVAL = 30.0
"""Seconds between two warnings about the same brokers."""
POLL_WAIT = 0.2
"""Seconds that one empty poll takes."""
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.005
"""Seconds between two checks for an awaited message: short while it may come at once, and in the
long run 0.01 of a core."""
QUIET = {"log_level": "2"}
"""Setting without which librdkafka logs each attempt to connect, twenty times a second."""

_CONSUMER_ONLY = ("group.", "enable.auto", "auto.offset", "fetch.", "max.poll", "session.timeout")
_PASSING = (
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.REQUEST_TIMED_OUT,
)


_REFUSING = (
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
)
"""Errors of brokers that answer, but do not let this user in."""


def refuses(error: KafkaError) -> bool:
    """Returns whether the brokers answer, and refuse this user, or are not trusted."""
    return error.code() in _REFUSING


ALLOW_IT = ": allow it Read and Describe there (kafka-acls --add)"
"""Advice for a user to whom a topic is denied."""


def is_denied(error: BaseException | None) -> bool:
    """Returns whether the brokers deny this user a topic."""
    if not isinstance(error, KafkaException):
        return False
    return bool(error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED)


def admin_settings(kafka: Mapping[str, str]) -> dict[str, Any]:
    """The settings that are not only a consumer's (librdkafka warns of those)."""
    settings = with_functions(kafka)
    return {**QUIET, **{k: v for k, v in settings.items() if not k.startswith(_CONSUMER_ONLY)}}


def consumer_settings(kafka: Mapping[str, str]) -> dict[str, Any]:
    """The settings of a consumer that follows nobody's group, and never jumps over a gap in the
    log."""
    return {
        "group.id": "ticdc-consumer",
        "fetch.queue.backoff.ms": 2,  # 1000 by default: a drained queue would sleep
        "fetch.wait.max.ms": 20,  # a seek waits for the current fetch
        "queued.max.messages.kbytes": 8192,  # what is beyond a cut is fetched in vain
        **QUIET,
        **with_functions(kafka),
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "allow.auto.create.topics": False,
    }


class Failures:
    """A client's `error_cb`, called where the client is polled. Keeps the first failure: it names
    the cause, the last one only says that nothing is left to try. With `warns`, logs failures at
    once and every half minute. `refused`: the brokers refused this user."""

    def __init__(self, warns: bool = False) -> None:
        self._warns = warns
        self._warned = -WARNING_INTERVAL
        self.first = ""
        self.refused = False

    def __call__(self, error: KafkaError) -> None:
        self.first = self.first or error.str()
        self.refused = self.refused or refuses(error)
        now = time.monotonic()
        if self._warns and now - self._warned >= WARNING_INTERVAL:
            text = visible(error.str())
            logger.warning("Kafka: %s", text, extra={"event": "kafka_fails", "reason": text})
            self._warned = now

    @property
    def trouble(self) -> Unavailable | None:
        if not self.first:
            return None
        return (UserRefused if self.refused else SourceAway)(f"Kafka: {self.first}")

    def forget(self) -> None:
        self.first, self.refused = "", False


def consume_error(
    error: KafkaError, topic: str, partition: int, position: int
) -> TicdcError | None:
    """The meaning of a broker's refusal to return the record at `position`; None for errors that
    librdkafka retries."""
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
        return Stop(
            f"{topic}[{partition}] no longer holds offset {position}, which the next cut needs: "
            "the log was cut by retention or truncated, or the topic was deleted and recreated; "
            f"{LOAD_ANEW}"
        )
    if error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
        return Stop(f"{topic}[{partition}] no longer exists: was the topic deleted?")
    if error.code() in _PASSING or error.retriable():
        return None
    kind = UserRefused if refuses(error) else Unavailable
    way = ALLOW_IT if is_denied(KafkaException(error)) else ""
    return kind(f"{topic}[{partition}]: {error.str()}{way}")


class Polled(Protocol):
    """The part of librdkafka's consumer that `consume` uses."""

    def consume(self, num_messages: int, timeout: float) -> list[KafkaMessage]: ...


def consume(consumer: Polled, size: int, wait: float) -> list[KafkaMessage]:
    """Returns the messages that have come, at most `size`; waits up to `wait` seconds for the
    first.

    librdkafka itself never waits: it waits for a moment of the wall clock, so that a clock set back
    by an hour while a topic is silent would make any wait last an hour.
    """
    deadline, pause = Deadline(wait), FIRST_PAUSE
    while not (messages := consumer.consume(size, 0)) and not deadline.passed:
        sleep(min(pause, deadline.left))
        pause = min(LONGEST_PAUSE, 1.5 * pause)
    return messages


def batches(consumer: Polled, size: int, patience: float) -> Iterator[list[KafkaMessage]]:
    """Yields the brokers' messages without end, at most `size` at a time; an empty batch if nothing
    came for a moment. Ends of partitions and errors are messages, too.

    Raises `SourceAway` if the brokers send nothing for `patience` seconds.
    """
    silence = 0.0
    while True:
        batch = consume(consumer, size, POLL_WAIT)
        silence = 0.0 if batch else silence + POLL_WAIT
        if silence > patience:
            raise SourceAway(f"the brokers sent nothing for {patience:.0f} s")
        yield batch


def records_from(
    kafka: Mapping[str, str], starts: Mapping[TopicPartition, int], size: int, patience: float
) -> Generator[tuple[TopicPartition, KafkaMessage | None], None, None]:
    """Yields the records of some partitions without end, each from an offset, and None at the end
    of a partition. Raises as `consume_error` says and as `batches` does."""
    consumer = Consumer(consumer_settings(kafka))
    try:
        consumer.assign([KafkaTopicPartition(*start, offset) for start, offset in starts.items()])
        for batch in batches(consumer, size, patience):
            for message in batch:
                topic_partition = str(message.topic()), int(message.partition() or 0)
                error = message.error()
                if error is None:
                    yield topic_partition, message
                elif error.code() == KafkaError._PARTITION_EOF:
                    yield topic_partition, None
                elif problem := consume_error(error, *topic_partition, starts[topic_partition]):
                    raise problem
    finally:
        consumer.close()
