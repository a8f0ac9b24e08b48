"""Canal-JSON, in Kafka's topics or in the files of a cloud storage."""

from ticdc_encoder.formats import FORMATS, canal_json
from ticdc_encoder.storage.layout import FILE_FORMATS

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.protocols.protocol import StoredFiles, WireProtocol


def _options(options: ReadSettings) -> canal_json.Options:
    return canal_json.Options(
        time_zone=options.time_zone,
        compression=options.compression,
        message_limit=options.message_limit,
    )


def _file_options(options: ReadSettings) -> canal_json.Options:
    return canal_json.Options(time_zone=options.time_zone)


_NO_DDL = b'"isDdl":false,'
_KINDS_OF_ROWS = (b'"type":"INSERT"', b'"type":"UPDATE"', b'"type":"DELETE"')


def _may_be_control(key: bytes | None, value: bytes | None) -> bool:
    """Passes all but rows, which say at their beginning that they are rows. Quotes inside a text
    are escaped, so these bytes are members, which only a row has together."""
    at = -1 if value is None else value.find(_NO_DDL)
    return value is None or at < 0 or not value.startswith(_KINDS_OF_ROWS, at + len(_NO_DDL))


PROTOCOL = WireProtocol(
    format=FORMATS["canal-json"],
    format_options=_options,
    files=StoredFiles(
        format=FILE_FORMATS["canal-json"], format_options=_file_options, describe_columns=True
    ),
    may_be_control=_may_be_control,
    needs_for_marks="enable-tidb-extension=true",
    omits_unchanged=True,
    fast_reader="ticdc_consumer.cut.read.fast.canal_json:FastCanal",
    demo={},
)
