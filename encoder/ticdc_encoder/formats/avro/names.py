"""The names of a changefeed's Avro schemas: subjects and namespaces."""

from typing import Literal

from ticdc_encoder.formats.names import sanitize


def subject(topic: str, part: Literal["key", "value"]) -> str:
    """The subject under which the registry keeps a topic's schemas."""
    return f"{topic.replace('.', '_')}-{part}"


def namespace(changefeed: str, schema: str) -> str:
    """The namespace of a schema's tables. `changefeed` is its namespace, or keyspace."""
    return sanitize(changefeed) + (f".{sanitize(schema)}" if schema else "")


def schema_name(namespace: str) -> str:
    """The schema that a namespace names, sanitized."""
    parts = namespace.split(".")
    return parts[1] if len(parts) > 1 else ""
