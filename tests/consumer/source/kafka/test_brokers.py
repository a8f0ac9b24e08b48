from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from support import brokers
from ticdc_consumer.errors import SourceAway
from ticdc_consumer.source.kafka.brokers import Cluster


def test_an_end_that_the_brokers_do_not_know_is_asked_for_again(
    mock_kafka: brokers.Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a broker that was fenced for a moment does: it is no log that ends there."""
    topic = mock_kafka.create_topic("orders", 1)
    cluster = Cluster({**mock_kafka.config, "log_level": "2"}, (topic,))
    asked = cluster._admin.list_offsets
    answers: list[int] = []

    def list_offsets(specs: Any, **settings: Any) -> Any:
        if len(answers) == 2:
            return asked(specs, **settings)
        answers.append(-1001)  # OFFSET_INVALID
        future: Future[Any] = Future()
        future.set_result(SimpleNamespace(offset=answers[-1]))
        return dict.fromkeys(specs, future)

    monkeypatch.setattr(cluster._admin, "list_offsets", list_offsets)
    with pytest.raises(SourceAway, match=rf"name no offset of {topic}\[0\]"):
        cluster.list()
    assert cluster.list_patiently([(topic, 0)], 30).ends == {(topic, 0): 0}
    assert len(answers) == 2
    cluster.close()
