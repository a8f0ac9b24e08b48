"""Formats of a storage's files: `[storage.csv]`, which repeats the changefeed's settings."""

from typing import Any

from ticdc_encoder.formats import csv
from ticdc_encoder.formats.csv.options import require_legible

from ticdc_consumer.config.reading import ReadSettings


def csv_options(options: ReadSettings) -> csv.Options:
    """Returns the format's own options. Raises ConfigError for settings that TiCDC refuses, and for
    those that leave a file ambiguous."""
    chosen: dict[str, Any] = {n.replace("-", "_"): v for n, v in options.storage_csv.items()}
    result = csv.Options(
        terminator=options.storage_terminator, time_zone=options.time_zone, **chosen
    )
    require_legible(result)
    return result
