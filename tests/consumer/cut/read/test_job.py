"""What leaves the driver for Spark's tasks, as it is pickled."""

from typing import Any, cast

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from support import brokers
from support.local_spark import LocalFrame, LocalSpark
from support.torture_topics import Feed, inserted
from ticdc_consumer import config
from ticdc_consumer.cut.cut_reader import CutReader, Knowledge
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.planner import Planner
from ticdc_consumer.cut.sizes import Sizes
from ticdc_consumer.cut.spark.starter import SparkStarter
from ticdc_consumer.source.kafka.source import KafkaSource
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.status.activity.monitor import Monitor

SECRETS = {
    "target.url": "postgresql+psycopg://app@host/db",
    "target.password": "secret-of-the-target",
    "source.upstream": "mysql+pymysql://app@tidb:4000",
    "source.upstream_password": "secret-of-the-upstream",
    "source.claim_check": "s3://key:secret-of-the-claims@bucket/",
    "kafka.sasl.password": "secret-of-kafka",
    "registry.url": "http://app:secret-of-the-registry@registry:8081",
    "spark.hadoop.fs.s3a.secret.key": "secret-of-spark",
}
NEEDED = ("secret-of-kafka", "secret-of-the-claims")


class PicklingSpark(LocalSpark):
    """Keeps what it would send to its tasks."""

    sent = b""

    def range(self, start: int, end: int, step: int, parts: int) -> LocalFrame:
        frame = super().range(start, end, step, parts)
        run_here = frame.mapInArrow

        def pickled(run: Any, schema: Any) -> LocalFrame:
            self.sent += cloudpickle.dumps(run)
            return run_here(run, schema)

        frame.mapInArrow = pickled  # type: ignore[method-assign]
        return frame


@pytest.mark.parametrize(
    ("left_out", "needed"),
    [
        ((), (*NEEDED, "secret-of-the-upstream")),
        (("source.upstream", "source.upstream_password"), NEEDED),
    ],
)
def test_tasks_are_sent_no_secret_that_they_do_not_need(
    mock_kafka: brokers.Mock, left_out: tuple[str, ...], needed: tuple[str, ...]
) -> None:
    feed = Feed(mock_kafka, "canal-json")
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    feed.mark(100)
    settings = {name: value for name, value in SECRETS.items() if name not in left_out}
    options = config.Settings.of(
        {
            "changefeed": "private",
            "protocol": "canal-json",
            "kafka.topics": [feed.topic],
            "kafka.bootstrap.servers": mock_kafka.bootstrap,
            "kafka.log_level": 2,
            **settings,
            "spark.from_messages": 0,
        }
    )
    source, spark = KafkaSource.connect(options), PicklingSpark(2)
    starter = SparkStarter({}, "private", cast("SparkSession", spark))
    sizes, monitor = Sizes(options, source), Monitor()
    planner = Planner(options, starter, source, sizes, monitor)
    reader = CutReader(options, starter, source, sizes, monitor, planner.ddls)
    listing = source.list()
    base = Checkpoint.first(
        options,
        0,
        {(t, n): Position(t, listing.topic_ids[t], n, 0) for t, n in listing.ends},
    )
    cut = planner.plan(base, None, 10.0, CutScope(), 0)
    assert cut is not None
    report = reader.read(base, cut, Knowledge((), {}, CutScope(), 0)).report
    source.close()
    assert [*report.missing] == [("shop", "items")]
    secrets = {part for value in SECRETS.values() for part in value.replace("@", ":").split(":")}
    secrets = {part for part in secrets if part.startswith("secret-of")}
    assert len(secrets) == 6
    assert sorted(s for s in secrets if s.encode() in spark.sent) == sorted(needed)
