"""How the files are written: the changefeed's own settings, which no file tells."""

from dataclasses import fields
from typing import Any

from ticdc_encoder.formats import csv
from ticdc_encoder.formats.csv.options import require_legible

from ticdc_consumer.config.options import Options

CSV_SETTINGS = {
    field.name.replace("_", "-"): type(field.default)
    for field in fields(csv.Options)
    if field.name not in ("terminator", "require_commit_ts", "time_zone")
}
"""Those of `[sink.csv]`, with the types of their values."""


def csv_options(options: Options) -> csv.Options:
    """The format's own options. Raises ConfigError for what TiCDC refuses, and for what can be read
    in two ways."""
    chosen: dict[str, Any] = {n.replace("-", "_"): v for n, v in options.storage_csv.items()}
    result = csv.Options(
        terminator=options.storage_terminator, time_zone=options.time_zone, **chosen
    )
    require_legible(result)
    return result
