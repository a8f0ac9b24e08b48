import time

import pytest
from support import brokers
from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source.kafka import scout as scout_of_kafka
from ticdc_consumer.source.kafka.brokers import Cluster
from ticdc_consumer.source.kafka.scout import Scout
from ticdc_consumer.waiting import until
from ticdc_encoder.message import Message

ROW = (
    b'{"id":0,"database":"w","table":"t","pkNames":["id"],"isDdl":false,"type":"INSERT","es":1,'
    b'"ts":1,"sql":"","sqlType":{"id":4},"mysqlType":{"id":"int"},"old":null,"data":[{"id":"1"}],'
    b'"_tidb":{"commitTs":1}}'
)


def test_rows_without_a_mark_stop_only_once_the_brokers_have_given_all(
    mock_kafka: brokers.Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scout_of_kafka, "BATCH", 1)
    topic = mock_kafka.create_topic("orders", 1)
    mock_kafka.produce([Message(topic, 0, None, ROW)] * 3)
    options = Options(
        changefeed="c",
        protocol="canal-json",
        topics=(topic,),
        kafka={**mock_kafka.config, "log_level": "2"},
        target_url="sqlite://",
    )
    cluster, scout = Cluster(options.kafka, options.topics), Scout(options, Schemas(options))
    scout.follow({topic: 0})
    assert until(lambda: bool(scout.poll(0.1)) and scout.position(topic) == 1, 30, 0)
    time.sleep(0.01)
    scout.require_marks(0.001, cluster.list)  # they are silent, or slow
    assert until(lambda: bool(scout.poll(0.1)) and scout.position(topic) == 3, 30, 0)
    time.sleep(0.01)
    with pytest.raises(Stop, match="rows, and no resolved ts: set enable-tidb-extension=true"):
        scout.require_marks(0.001, cluster.list)
    scout.close()
    cluster.close()
