"""Messages to Kafka: the public name of `ticdc_encoder.kafka.produce`."""

from ticdc_encoder.kafka.produce import ProduceError, ensure_topics, produce

__all__ = ["ProduceError", "ensure_topics", "produce"]
