"""Messages to and from Kafka; the only package that needs its client."""
