"""CSV, in the files of a cloud storage."""

from ticdc_encoder.errors import ConfigError
from ticdc_encoder.storage.layout import FILE_FORMATS

from ticdc_consumer.config.csv import csv_options
from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Usage
from ticdc_consumer.protocols.protocol import StoredFiles, WireProtocol


def _check_settings(options: Options) -> None:
    if not options.storage_csv.get("include-commit-ts"):
        raise Usage(
            "storage.csv has no include-commit-ts = true: without its commit_ts no row can be "
            "placed in time; set it in [sink.csv] of the changefeed, and here"
        )
    try:
        csv_options(options)
    except ConfigError as error:
        raise Usage(f"storage.csv: {error}") from error


PROTOCOL = WireProtocol(
    files=StoredFiles(
        format=FILE_FORMATS["csv"], format_options=csv_options, describe_columns=False
    ),
    needs_for_old_rows="output-old-value = true in [sink.csv]",
    check_settings=_check_settings,
)
