"""The formats of a storage's files: `[storage.csv]`, which repeats the changefeed's settings."""

from typing import Any

from ticdc_encoder.formats import canal_json, csv
from ticdc_encoder.formats.csv.options import require_legible

from ticdc_consumer.config.options import Options


def format_options(options: Options) -> Any:
    """The options of the protocol's format. Raises ConfigError for settings that TiCDC refuses, and
    for those under which a file can be read in two ways."""
    if options.protocol == "csv":
        chosen: dict[str, Any] = {n.replace("-", "_"): v for n, v in options.storage_csv.items()}
        csv_options = csv.Options(
            terminator=options.storage_terminator, time_zone=options.time_zone, **chosen
        )
        require_legible(csv_options)
        return csv_options
    return canal_json.Options(time_zone=options.time_zone)
