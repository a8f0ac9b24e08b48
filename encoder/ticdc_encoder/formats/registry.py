"""Schema registries, which hold the schemas of Avro messages, and the frame that names one.

The list of formats is `FORMATS`, in `ticdc_encoder.formats`.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol
from uuid import UUID

from ticdc_encoder.errors import ConfigError, TicdcError, WireError

SchemaId = int | UUID
"""Confluent's number, or the id of a schema version in AWS Glue."""


class RegistryError(TicdcError):
    """A schema registry that cannot be reached, or refuses."""


class Registry(Protocol):
    """A schema registry. Both calls raise `RegistryError`."""

    def __hash__(self) -> int:
        """The hash: schemas are cached per registry."""

    def schema(self, schema_id: SchemaId) -> str:
        """The schema's text."""

    def register(self, subject: str, schema: str) -> SchemaId:
        """The id of the schema, which is new under the subject or known."""


class MemoryRegistry:
    """A registry in this process: ids count from 1, equal texts share one, as Confluent has it."""

    def __init__(self, schemas: Mapping[SchemaId, str] | None = None) -> None:
        self.schemas: dict[SchemaId, str] = dict(schemas or {})
        self.subjects: dict[str, list[SchemaId]] = {}
        self._ids = {text: id for id, text in self.schemas.items()}

    def schema(self, schema_id: SchemaId) -> str:
        try:
            return self.schemas[schema_id]
        except KeyError:
            raise RegistryError(f"the schema registry has no schema {schema_id}") from None

    def register(self, subject: str, schema: str) -> SchemaId:
        schema_id = self._ids.setdefault(schema, len(self.schemas) + 1)
        self.schemas[schema_id] = schema
        versions = self.subjects.setdefault(subject, [])
        if schema_id not in versions:
            versions.append(schema_id)
        return schema_id


class ConfluentRegistry:
    """Confluent's registry through its own client, by that client's settings: `url`, and what
    TLS and authentication need. Registries of equal settings are equal; it may be pickled."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        if not settings.get("url"):
            raise ConfigError("the schema registry's settings have no url")
        self._settings = tuple(sorted(settings.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfluentRegistry) and self._settings == other._settings

    def __hash__(self) -> int:
        return hash(self._settings)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfluentRegistry, (dict(self._settings),)

    @cached_property
    def _client(self) -> Any:
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient
        except ImportError as error:
            raise ConfigError(
                "a schema registry needs `pip install ticdc-consumer[avro]`"
            ) from error
        try:
            return SchemaRegistryClient.new_client(dict(self._settings))
        except (TypeError, ValueError) as error:
            raise ConfigError("the schema registry's settings are not valid") from error

    def schema(self, schema_id: SchemaId) -> str:
        if isinstance(schema_id, UUID):
            raise RegistryError("a schema of AWS Glue is not in Confluent's registry")
        client = self._client
        try:
            text = client.get_schema(schema_id).schema_str
        except Exception as error:
            raise RegistryError(f"schema {schema_id} cannot be read: {_reason(error)}") from error
        return str(text)

    def register(self, subject: str, schema: str) -> SchemaId:
        from confluent_kafka.schema_registry import Schema

        client = self._client
        try:
            return int(client.register_schema(subject, Schema(schema, "AVRO")))
        except Exception as error:
            raise RegistryError(
                f"cannot register a schema for {subject}: {_reason(error)}"
            ) from error


def _reason(error: Exception) -> str:
    """The registry's answer; of a connection error only the type, as its text may hold the URL."""
    message = getattr(error, "error_message", None)
    return type(error).__name__ if message is None else str(message)


CONFLUENT, GLUE = b"\0", b"\3\0"
"""First bytes of a frame. Glue's second byte is its compression, which TiCDC never uses."""


def frame(schema_id: SchemaId) -> bytes:
    """The bytes before a datum of this schema."""
    if isinstance(schema_id, UUID):
        return GLUE + schema_id.bytes
    return CONFLUENT + schema_id.to_bytes(4, "big")


def unframe(data: bytes, what: str) -> tuple[SchemaId, int]:
    """The id of the datum's schema, and the position where the datum begins. Raises WireError."""
    if data[:1] == CONFLUENT and len(data) >= 5:
        return int.from_bytes(data[1:5], "big"), 5
    if data[:2] == GLUE and len(data) >= 18:
        return UUID(bytes=data[2:18]), 18
    raise WireError(f"the {what} does not begin with the id of a schema")
