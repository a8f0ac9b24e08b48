"""What librdkafka says of brokers that do not answer."""

import logging
import time

from confluent_kafka import KafkaError

logger = logging.getLogger(__name__)

EVERY = 30.0
QUIET = {"log_level": "2"}
"""Without it, librdkafka remarks on each of its tries to connect, twenty times a second."""


class Failures:
    """A client's `error_cb`, called where the client is polled. Keeps the first failure: it says
    what is the matter, the last only that nothing is left to try. With `tells`, failures are told
    at once and every half minute."""

    def __init__(self, tells: bool = False) -> None:
        self._tells = tells
        self._told = -EVERY
        self.first = ""

    def __call__(self, error: KafkaError) -> None:
        self.first = self.first or error.str()
        now = time.monotonic()
        if self._tells and now - self._told >= EVERY:
            logger.warning("Kafka: %s", error.str())
            self._told = now

    def forget(self) -> None:
        self.first = ""
