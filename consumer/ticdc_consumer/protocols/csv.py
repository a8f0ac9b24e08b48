"""CSV, in the files of a cloud storage."""

from typing import TYPE_CHECKING

from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Table
from ticdc_encoder.storage.layout import FILE_FORMATS

from ticdc_consumer.config.csv import csv_options
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.protocols.exactness import Exactness
from ticdc_consumer.protocols.protocol import StoredFiles, WireProtocol

if TYPE_CHECKING:
    # Only a run has a target.
    from ticdc_consumer.targets.layout import TargetTable


def _check_settings(options: Settings) -> None:
    if not options.storage_csv.get("include-commit-ts"):
        raise Usage(
            "storage.csv has no include-commit-ts = true: without its commit_ts no row can be "
            "placed in time; set it in [sink.csv] of the changefeed, and here"
        )
    try:
        csv_options(options)
    except ConfigError as error:
        raise Usage(f"storage.csv: {error}") from error


def _complete(source: Table, definition: Table | None, _described: "TargetTable") -> Table:
    """Completes ENUM and SET. Raises `Stop` if their labels are unknown: without them the number of
    a label is uncertain."""
    declared = {c.name: c.type for c in (definition.columns if definition else ())}
    for column in source.columns:
        elements = declared.get(column.name, column.type).elements or column.type.elements
        if column.type.name in ("enum", "set") and not elements:
            raise Stop(
                f"{source.schema}.{source.name}.{column.name}: the labels of this "
                f"{column.type.name} are not known: neither its schema file nor a CREATE TABLE in "
                "the stream list them; set [source] upstream to the TiDB, from which a run then "
                "reads them"
            )
    return source


PROTOCOL = WireProtocol(
    files=StoredFiles(
        format=FILE_FORMATS["csv"], format_options=csv_options, describe_columns=False
    ),
    needs_for_old_rows="output-old-value = true in [sink.csv]",
    exactness=Exactness(complete=_complete),
    check_settings=_check_settings,
)
