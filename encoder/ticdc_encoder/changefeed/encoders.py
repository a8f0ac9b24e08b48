"""The encoders of a changefeed, one per (topic, partition), each fed in order."""

from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from typing import Any

from ticdc_encoder.changefeed.config import ChangefeedConfig
from ticdc_encoder.changefeed.protocols import PROTOCOLS
from ticdc_encoder.formats import FORMATS, Clock, Encoder, Record
from ticdc_encoder.formats.claim_check import ClaimCheckEncoder, ClaimCheckStorage, without_limits
from ticdc_encoder.formats.registry import ConfluentRegistry, Registry
from ticdc_encoder.message import Message


class Encoders:
    """Creates an encoder with the first message of its partition.

    `more` are options of the format that no setting has: `time_zone`, `cluster_id` and `registry`,
    which is the configuration's if it is None.
    """

    def __init__(
        self, settings: ChangefeedConfig, clock: Clock, *, registry: Registry | None, **more: Any
    ) -> None:
        if registry is None and PROTOCOLS[settings.protocol].registry and settings.schema_registry:
            registry = ConfluentRegistry({"url": settings.schema_registry})
        self._format = FORMATS[settings.protocol]
        self._options = partial(_format_options, settings, registry=registry, **more)
        self._clock = clock
        self._claim_checks: ClaimCheckStorage | None = None
        if settings.large_message_handle_option == "claim-check":
            self._claim_checks = ClaimCheckStorage(
                settings.claim_check_storage_uri, raw_value=settings.claim_check_raw_value
            )
        self._encoders: dict[tuple[str, int], Encoder] = {}

    def of(self, topic: str, partition: int) -> Encoder:
        """The encoder of this partition."""
        encoder = self._encoders.get((topic, partition))
        if encoder is None:
            encoder = self._encoders[topic, partition] = self._new(topic)
        return encoder

    def flush(self) -> Iterator[Message]:
        """The messages that are still open for more rows."""
        for (topic, partition), encoder in self._encoders.items():
            yield from messages(topic, partition, encoder.flush())

    def _new(self, topic: str) -> Encoder:
        options = self._options(topic=topic)
        encoder: Encoder = self._format.Encoder(options, self._clock)
        if self._claim_checks is None:
            return encoder
        whole = self._format.Encoder(without_limits(options), self._clock)
        limit = options.max_message_bytes
        return ClaimCheckEncoder(encoder, whole, self._claim_checks, limit)


def messages(topic: str, partition: int, records: list[Record]) -> list[Message]:
    """The records, on their way to this partition."""
    return [Message(topic, partition, key, value) for key, value in records]


def _format_options(settings: ChangefeedConfig, **more: Any) -> Any:
    """The options of the protocol's format, named as the settings are."""
    options: Any = FORMATS[settings.protocol].Options
    named = {field.name: getattr(settings, field.name) for field in fields(settings)} | more
    return options(**{f.name: named[f.name] for f in fields(options) if f.name in named})
