"""Open Protocol: several rows in a message, their kind in its key."""

from ticdc_encoder.formats import FORMATS, open_protocol

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.protocols.protocol import WireProtocol


def _options(options: ReadSettings) -> open_protocol.Options:
    return open_protocol.Options(
        time_zone=options.time_zone,
        compression=options.compression,
        message_limit=options.message_limit,
    )


def _may_be_control(key: bytes | None, value: bytes | None) -> bool:
    return key is None or b'"t":1' not in key or b'"t":2' in key or b'"t":3' in key


PROTOCOL = WireProtocol(
    format=FORMATS["open-protocol"],
    format_options=_options,
    may_be_control=_may_be_control,
    test_inflates=False,  # The test reads keys, which are never compressed.
    needs_for_old_rows="output-old-value = true in [sink.open]",
    updates_may_look_like_inserts=True,
    fast_reader="ticdc_consumer.cut.read.fast.open_protocol:FastOpen",
    demo={},
)
