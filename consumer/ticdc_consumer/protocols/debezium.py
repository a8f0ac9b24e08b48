"""Debezium, as TiCDC writes it.

It sends a column's DEFAULT for its NULL; a DECIMAL as a double, which is exact up to 15 digits if
their number is known; a TIME, DATETIME or TIMESTAMP without its digits after the second if they
are 0; dates that no calendar has as NULL or 1970-01-01, and years below 100 as years of this
century or the last (the rule `calendar-dates` trusts that neither occurs upstream). It lists the
elements of an ENUM such that quotes in them may be lost.
"""

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table, Value
from ticdc_encoder.formats import FORMATS, debezium
from ticdc_encoder.sql.renamed import quoted

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.exactness import (
    Exactness,
    Refuse,
    Restore,
    complete_columns,
    with_elements,
)
from ticdc_consumer.protocols.protocol import WireProtocol
from ticdc_consumer.targets.rules import CALENDAR_DATES

if TYPE_CHECKING:
    from ticdc_consumer.targets.layout import Layout, TargetTable

MOST_DIGITS = 15
"""Digits of a decimal that a double holds exactly: DBL_DIG."""
DEFAULT_FOR_NULL = "sends its DEFAULT for NULL: make it NOT NULL, or drop the DEFAULT"

_TIMES = frozenset({"datetime", "timestamp", "time"})


def _options(options: ReadSettings) -> debezium.Options:
    return debezium.Options(
        time_zone=options.time_zone,
        compression=options.compression,
        message_limit=options.message_limit,
        require_types=True,
    )


def _may_be_control(key: bytes | None, value: bytes | None) -> bool:
    """Passes all but rows, which have one of three `op`; a quote inside a string would be
    escaped.
    """
    return (
        value is None
        or b'"op":"m"' in value
        or not (b'"op":"c"' in value or b'"op":"u"' in value or b'"op":"d"' in value)
    )


def without_losses(protocol: str) -> Refuse:
    """Refuses the first column of which Debezium loses something, in any encoding."""

    def refuse(table: Table, rules: frozenset[str]) -> None:
        for column in table.columns:
            if reason := _loss(table, column, rules):
                raise Stop(f"{table.schema}.{table.name}.{column.name}: {protocol} {reason}")

    return refuse


def _loss(table: Table, column: Column, rules: frozenset[str]) -> str | None:
    kind = column.type.name
    if column.nullable and column.default is not None:
        return DEFAULT_FOR_NULL
    if kind in ("date", "datetime") and CALENDAR_DATES not in rules:
        return (
            "sends other dates for 0000-00-00 and the like, and for years below 100: use "
            "canal-json; or, if upstream's sql_mode refuses such dates (NO_ZERO_DATE, "
            "NO_ZERO_IN_DATE; years below 100 are never refused), and this finds no row there: "
            f"{_other_dates(table, column)}, confirm that by "
            f'[target] rules = ["{CALENDAR_DATES}"]'
        )
    if kind in ("enum", "set") and "" in column.type.elements:
        return f"sends the member '' of {kind.upper()} like its invalid, or empty, value"
    return None


def _other_dates(table: Table, column: Column) -> str:
    """A query for rows whose date Debezium sends as another. DATE_ADD gives NULL for a date that is
    in no calendar, in every sql_mode of TiDB."""
    name = quoted(column.name)
    return (
        f"SELECT * FROM {quoted(table.schema)}.{quoted(table.name)} WHERE "  # noqa: S608
        f"{name} < '0100-01-01' OR {name} IS NOT NULL AND DATE_ADD({name}, INTERVAL 0 DAY) IS NULL"
    )


def _complete(source: Table, definition: Table | None, described: "TargetTable") -> Table:
    return complete_columns(source, definition, _complete_column)


def _complete_column(column: Column, declared: Column | None) -> Column:
    # Debezium writes its DEFAULT in JSON.
    column = replace(column, default=None)
    type_ = column.type
    known = declared.type if declared is not None and declared.type.name == type_.name else None
    if type_.name == "decimal":
        if known is None:
            raise Stop(
                "debezium sends a DECIMAL as a double, and its CREATE TABLE was not in the stream: "
                "how many digits it has is not known"
            )
        if (known.length or 10) > MOST_DIGITS:
            raise Stop(
                f"debezium sends a DECIMAL as a double, which holds {MOST_DIGITS} digits, not "
                f"{known.length}"
            )
        return replace(column, type=known)
    return with_digits(column, declared) or with_elements(column, known)


def with_digits(column: Column, declared: Column | None) -> Column | None:
    """Returns a time column with as many fractional digits as declared; None for another column.
    Raises `Stop` if the number is unknown."""
    type_ = column.type
    if type_.name not in _TIMES:
        return None
    if declared is None or declared.type.name != type_.name:
        raise Stop(
            f"debezium does not show how many digits after the second a {type_.name} has, and its "
            "CREATE TABLE was not in the stream"
        )
    return replace(column, type=replace(type_, decimals=declared.type.decimals or 0))


def restore_times(layout: "Layout") -> dict[str, Restore]:
    return {
        column.name: _time(column.type.decimals)
        for column in layout.source
        if column.type.decimals is not None and column.type.name in _TIMES
    }


def _restore(layout: "Layout") -> dict[str, Restore]:
    restorers = restore_times(layout)
    for column in layout.source:
        if column.type.name == "decimal" and column.type.length is not None:
            restorers[column.name] = _decimal(column.type.decimals or 0)
    return restorers


def _time(digits: int) -> Restore:
    def restore(value: Value) -> Value:
        whole, _, fraction = str(value).partition(".")
        if fraction[digits:].strip("0"):
            raise ValueError("more digits")
        return f"{whole}.{fraction[:digits].ljust(digits, '0')}" if digits else whole

    return restore


def _decimal(digits: int) -> Restore:
    exponent = Decimal(1).scaleb(-digits)

    def restore(value: Value) -> Value:
        if not isinstance(value, Decimal):
            raise ValueError("not a decimal")  # noqa: TRY004
        whole = value.quantize(exponent)
        if whole != value:
            raise ValueError("more digits")
        return whole

    return restore


PROTOCOL = WireProtocol(
    format=FORMATS["debezium"],
    format_options=_options,
    may_be_control=_may_be_control,
    rows_in_utc=True,
    needs_for_marks="enable-tidb-extension=true (of TiCDC 8.5.4's new architecture, or 9.0)",
    needs_for_old_rows="output-old-value = true in [sink.debezium]",
    exactness=Exactness(refuse=without_losses("debezium"), complete=_complete, restore=_restore),
    demo={"target.rules": [CALENDAR_DATES]},
)
