"""What a protocol cannot carry exactly: refused by table and column, before any effect.

`require_exact` knows what the messages tell; `completed` adds what only a CREATE TABLE of the
stream does, and refuses what then is still not told.

* Debezium sends a column's DEFAULT for its NULL; a DECIMAL as a double, which is exact up to 15
  digits if their number is known; a TIME, DATETIME or TIMESTAMP without its digits after the second
  where they are 0; dates that no calendar has as NULL or 1970-01-01, and years below 100 as others
  of this century or the last (`calendar-dates` trusts that there are none of either).
* Avro sends no name as it is, but with `_` for whatever is no letter or digit; types by their
  family alone; and no DELETE of a table without a primary key.
* Both list an ENUM's members such that quotes in them may be lost.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, Column, ColumnType
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats.names import sanitize

from ticdc_consumer.config.choices import CALENDAR_DATES
from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import Layout, TargetTable

MOST_DIGITS = 15
"""Of a decimal that a double holds exactly: DBL_DIG."""

_TIMES = frozenset({"datetime", "timestamp", "time"})


LOSSY = frozenset({"avro", "debezium"})
"""The protocols that this is about."""

OLD_ROWS: Mapping[str, str] = {
    "csv": "output-old-value = true in [sink.csv]",
    "debezium": "output-old-value = true in [sink.debezium]",
    "open-protocol": "output-old-value = true in [sink.open]",
}
"""The settings of a changefeed with which UPDATEs tell their old row."""


def require_exact(options: Options, table: Table) -> None:
    """Raises `Stop` for the first column that rows of this table do not carry exactly."""
    label = f"{table.schema}.{table.name}"
    match options.protocol:
        case "debezium":
            for column in table.columns:
                if reason := _debezium_loss(column, options.rules):
                    raise Stop(f"{label}.{column.name}: debezium {reason}")
        case "avro" if not table.handle_key:
            raise Stop(
                f"{label}: its messages have no key, so that avro's DELETE names no row: give it a "
                "primary key, or leave it out by [tables] filter"
            )


def _debezium_loss(column: Column, rules: frozenset[str]) -> str | None:
    kind = column.type.name
    if column.nullable and column.default is not None:
        return "sends its DEFAULT for NULL: make it NOT NULL, or drop the DEFAULT"
    if kind in ("date", "datetime") and CALENDAR_DATES not in rules:
        return (
            "sends other dates for 0000-00-00 and the like, and for years below 100: where "
            f'upstream has none of these, say so by [target] rules = ["{CALENDAR_DATES}"]'
        )
    if kind in ("enum", "set") and "" in column.type.elements:
        return f"sends the member '' of {kind.upper()} like its invalid, or empty, value"
    return None


def completed(
    options: Options, source: Table, definition: Table | None, described: TargetTable
) -> Table:
    """The table of a row with what only its CREATE TABLE tells. Raises `Stop`."""
    match options.protocol:
        case "debezium":
            complete: Callable[[Column, Column | None], Column] = _debezium_column
        case "avro":
            _require_plain_names(source, definition, described)
            complete = _avro_column
        case _:
            return source
    declared = {c.name: c for c in definition.columns} if definition is not None else {}
    columns = []
    for column in source.columns:
        try:
            columns.append(complete(column, declared.get(column.name)))
        except Stop as reason:
            raise Stop(f"{source.schema}.{source.name}.{column.name}: {reason}") from None
    return replace(source, columns=tuple(columns))


def _debezium_column(column: Column, declared: Column | None) -> Column:
    # Its DEFAULT is told in JSON.
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
    if type_.name in _TIMES:
        if known is None:
            raise Stop(
                f"debezium does not tell how many digits after the second a {type_.name} has, and "
                "its CREATE TABLE was not in the stream"
            )
        return replace(column, type=replace(type_, decimals=known.decimals or 0))
    return _with_members(column, known)


def require_told(source: Table, definition: Table | None, described: TargetTable) -> None:
    """Raises `Stop` where rows lack a column that their CREATE TABLE and the target have, and
    which would stay empty there."""
    if definition is None:
        return
    told = {column.name.lower() for column in source.columns}
    kept = {column.name.lower() for column in described.columns if not column.generated}
    for column in definition.columns:
        name = column.name.lower()
        if column.generated != "virtual" and name in kept and name not in told:
            raise Stop(
                f"{source.schema}.{source.name}.{column.name}: its rows come without this column, "
                "which their CREATE TABLE has: take it into the changefeed's column-selectors, or "
                "drop it in the target"
            )


_FAMILIES: Mapping[str, frozenset[str]] = {
    "int": INTEGERS - {"bigint"},
    "text": TEXTS,
    "blob": BINARIES,
}


def _avro_column(column: Column, declared: Column | None) -> Column:
    type_ = column.type
    if declared is None or declared.type.name not in _FAMILIES.get(type_.name, {type_.name}):
        return _with_members(column, None)
    if type_.name in _FAMILIES and type_.unsigned == declared.type.unsigned:
        return replace(column, type=declared.type, generated=declared.generated)
    return replace(_with_members(column, declared.type), generated=declared.generated)


def _with_members(column: Column, known: ColumnType | None) -> Column:
    """ENUM and SET with the members of their definition, else with those that are listed, unless
    quotes may be missing."""
    told = column.type.elements
    if not told:
        return column
    if known is not None and len(known.elements) == len(told):
        told = known.elements
    elif any("'" in member or "\\" in member for member in told):
        told = ()
    return replace(column, type=replace(column.type, elements=told))


def _require_plain_names(source: Table, definition: Table | None, described: TargetTable) -> None:
    label = f"{source.schema}.{source.name}"
    there = [column.name for column in described.columns]
    if definition is not None:
        there += [column.name for column in definition.columns]
    told = {column.name for column in source.columns}
    for name in there:
        if name not in told and sanitize(name) in told:
            raise Stop(
                f"{label}: avro's messages say {sanitize(name)} for column {name}: rename it, or "
                "leave the table out by [tables] filter"
            )


Restore = Callable[[Value], Value]


def restorers(options: Options, layout: Layout) -> dict[str, Restore]:
    """What gives the values of a layout's columns the digits that Debezium leaves out."""
    if options.protocol != "debezium":
        return {}
    found: dict[str, Restore] = {}
    for column in layout.source:
        if column.type.decimals is not None and column.type.name in _TIMES:
            found[column.name] = _clock(column.type.decimals)
        elif column.type.name == "decimal" and column.type.length is not None:
            found[column.name] = _decimal(column.type.decimals or 0)
    return found


def restored(change: RowChange, layout: Layout, restore: Mapping[str, Restore]) -> RowChange:
    """The change with all digits. Raises `Stop` for a value that has more than its column."""
    return replace(
        change,
        before=_restored(change.before, layout, restore),
        after=_restored(change.after, layout, restore),
    )


def _restored(row: Row | None, layout: Layout, restore: Mapping[str, Restore]) -> Row | None:
    if row is None:
        return None
    whole = dict(row)
    for name, of in restore.items():
        value = row.get(name)
        if value is not None:
            try:
                whole[name] = of(value)
            except (ValueError, InvalidOperation):
                raise Stop(
                    f"{layout.name}.{name}: a value with more digits than the column's definition "
                    "allows: was a DDL filtered out?"
                ) from None
    return whole


def _clock(digits: int) -> Restore:
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
            raise ValueError("no decimal")  # noqa: TRY004
        whole = value.quantize(exponent)
        if whole != value:
            raise ValueError("more digits")
        return whole

    return restore
