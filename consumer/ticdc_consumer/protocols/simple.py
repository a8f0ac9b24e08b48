"""Simple, whose rows are read by schemas that other messages carry: see `schemas`."""

from ticdc_encoder.formats import FORMATS, simple

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.protocols.protocol import WireProtocol
from ticdc_consumer.protocols.schemas import SimpleReader


def _options(options: ReadSettings) -> simple.Options:
    return simple.Options(
        encoding_format=options.encoding_format,
        time_zone=options.time_zone,
        compression=options.compression,
        message_limit=options.message_limit,
        on_corruption="warn",  # the task that reads decides, because it knows the key
    )


def _may_be_control(key: bytes | None, value: bytes | None) -> bool:
    """A row has its database right behind the version, or its first bytes are those of a DML."""
    return value is None or not value.startswith((b'{"version":1,"database":"', b"\x16\x06\x06"))


PROTOCOL = WireProtocol(
    format=FORMATS["simple"],
    format_options=_options,
    decoder_with_schemas=SimpleReader,
    may_be_control=_may_be_control,
    rows_in_utc=True,
    demo={},
)
