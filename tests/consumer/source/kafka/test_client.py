"""The one loop that consumes."""

import time

import pytest
from confluent_kafka import Message
from ticdc_consumer.errors import Unavailable
from ticdc_consumer.source.kafka import client
from ticdc_consumer.source.kafka.client import batches, consume


class Silent:
    """A topic whose first message comes at the `at`-th look."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.waits: list[float] = []

    def consume(self, num_messages: int, timeout: float) -> list[Message]:
        self.waits.append(timeout)
        return [Message()] if len(self.waits) == self.at else []


def test_librdkafka_is_never_told_to_wait_by_the_wall_clock() -> None:
    topic = Silent(at=4)
    assert len(consume(topic, 10, wait=60)) == 1
    assert topic.waits == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("wait", "most_looks"),
    [pytest.param(0.0, 2, id="no wait"), pytest.param(0.05, 15, id="50 ms")],
)
def test_a_silent_topic_is_given_up_when_the_wait_is_over(wait: float, most_looks: int) -> None:
    topic, start = Silent(at=0), time.monotonic()
    assert consume(topic, 10, wait) == []
    assert time.monotonic() - start >= wait
    assert 1 <= len(topic.waits) <= most_looks


def test_brokers_that_stay_silent_are_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "POLL_WAIT", 0.01)
    with pytest.raises(Unavailable, match="the brokers sent nothing for 0 s"):
        for _ in batches(Silent(at=0), 10, patience=0.02):
            pass
