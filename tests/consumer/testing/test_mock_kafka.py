import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from ticdc_consumer.testing.mock_kafka import MockKafka


def partitions(kafka: MockKafka) -> dict[str, int]:
    topics = AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=10).topics
    return {name: len(topic.partitions) for name, topic in topics.items()}


def test_topics_have_the_partitions_asked_for() -> None:
    with MockKafka() as kafka:
        kafka.create_topic("orders", 3)
        kafka.create_topic("shop.users")
        assert partitions(kafka) == {"orders": 3, "shop.users": 1}


def test_a_topic_is_made_only_once() -> None:
    with MockKafka() as kafka:
        kafka.create_topic("orders")
        with pytest.raises(KafkaException) as refused:
            kafka.create_topic("orders")
        assert refused.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS


def topic_id(kafka: MockKafka, topic: str) -> str:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    (described,) = admin.describe_topics(TopicCollection([topic])).values()
    return str(described.result(10).topic_id)


def test_a_topic_that_is_made_again_has_another_id() -> None:
    with MockKafka() as kafka:
        kafka.create_topic("orders")
        first = topic_id(kafka, "orders")
        assert topic_id(kafka, "orders") == first
        kafka.delete_topic("orders")
        kafka.create_topic("orders")
        assert topic_id(kafka, "orders") != first


def test_two_clusters_know_nothing_of_each_other() -> None:
    with MockKafka() as one, MockKafka() as other:
        one.create_topic("orders")
        assert partitions(one) == {"orders": 1}
        assert partitions(other) == {}


def test_closing_twice_does_no_harm() -> None:
    with MockKafka() as kafka:
        kafka.close()
