"""Debezium's events in Avro with a schema registry, as TiCDC's new architecture writes them.

It loses what Debezium's JSON loses (`debezium.py`), but no digits of a DECIMAL. In addition, no
message shows whether a column may be NULL, or has a DEFAULT, which is sent for its NULL: only a
definition does, and one of ours has no DEFAULT that is an expression (the rule `literal-defaults`
trusts that upstream has none). A table with a virtual column is not sent at all. Source: TiCDC
`pkg/sink/codec/debezium/avro.go` (`debeziumAvroFieldValue`) at v26.3.4 and b813e76.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.formats import FORMATS, debezium_avro
from ticdc_encoder.formats.registry import ConfluentRegistry

from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.protocols.debezium import (
    DEFAULT_FOR_NULL,
    restore_times,
    with_digits,
    without_losses,
)
from ticdc_consumer.protocols.exactness import Exactness, complete_columns, with_elements
from ticdc_consumer.protocols.protocol import WireProtocol, require_registry
from ticdc_consumer.targets.rules import LITERAL_DEFAULTS

if TYPE_CHECKING:
    from ticdc_consumer.targets.layout import TargetTable


def _options(options: ReadSettings) -> debezium_avro.Options:
    return debezium_avro.Options(registry=ConfluentRegistry(options.registry))


def _check_settings(options: Settings) -> None:
    require_registry(options)
    if LITERAL_DEFAULTS not in options.rules:
        raise Usage(
            "target.rules lacks literal-defaults: debezium-avro sends a column's DEFAULT for its "
            "NULL, and nothing shows a DEFAULT that is an expression, such as (UUID()); if no "
            "nullable column upstream has one, confirm that by [target] rules = "
            f'["{LITERAL_DEFAULTS}"], else use canal-json'
        )


def _complete(source: Table, definition: Table | None, described: "TargetTable") -> Table:
    return complete_columns(source, definition, _complete_column)


def _complete_column(column: Column, declared: Column | None) -> Column:
    type_ = column.type
    known = None
    if declared is not None and (declared.type.name, declared.type.unsigned) == (
        type_.name,
        type_.unsigned,
    ):
        known = declared
    if column.nullable:  # every column except those of the key is nullable
        if known is None:
            raise Stop(
                "debezium-avro sends a column's DEFAULT for its NULL, and this table's CREATE "
                "TABLE, which shows the DEFAULT, was not in the stream: leave the table out by "
                "[tables] filter, or set [source] upstream to the TiDB, from which a run then "
                "reads it"
            )
        if known.nullable and known.default is not None:
            raise Stop(f"debezium-avro {DEFAULT_FOR_NULL}")
        column = replace(column, nullable=known.nullable)
    if type_.name == "decimal" and known is not None:
        return replace(column, type=known.type)
    return with_digits(column, known) or with_elements(
        column, None if known is None else known.type
    )


PROTOCOL = WireProtocol(
    format=FORMATS["debezium-avro"],
    format_options=_options,
    asks_registry=True,
    test_inflates=False,  # Its messages are never compressed.
    rows_in_utc=True,
    needs_for_marks="avro-enable-watermark=true and enable-tidb-extension=true",
    needs_for_old_rows="output-old-value = true in [sink.debezium]",
    exactness=Exactness(
        refuse=without_losses("debezium-avro"), complete=_complete, restore=restore_times
    ),
    check_settings=_check_settings,
)
