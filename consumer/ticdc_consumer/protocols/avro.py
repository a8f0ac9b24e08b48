"""Avro, with a schema registry, as TiCDC writes it in watermark mode.

It sends no name as it is, but with `_` for every character other than a letter or digit; only the
families of types; and no DELETE of a table without a primary key. It lists the elements of an ENUM
such that quotes in them may be lost.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, Column
from ticdc_encoder.event import Table
from ticdc_encoder.formats import FORMATS, avro
from ticdc_encoder.formats.names import sanitize
from ticdc_encoder.formats.registry import ConfluentRegistry

from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.protocols.exactness import Exactness, complete_columns, with_elements
from ticdc_consumer.protocols.protocol import WireProtocol, require_registry

if TYPE_CHECKING:
    from ticdc_consumer.targets.layout import TargetTable

_FAMILIES: Mapping[str, frozenset[str]] = {
    "int": INTEGERS - {"bigint"},
    "text": TEXTS,
    "blob": BINARIES,
}


def _options(options: ReadSettings) -> avro.Options:
    return avro.Options(
        registry=ConfluentRegistry(options.registry),
        time_zone=options.time_zone,
        on_corruption="warn",  # the task that reads decides, because it knows the key
    )


def _may_be_control(key: bytes | None, value: bytes | None) -> bool:
    return not key and (not value or value[:1] in (avro.DDL, avro.RESOLVED))


def _check_settings(options: Settings) -> None:
    require_registry(options)
    for rule in options.filter:
        name = rule.removeprefix("!").replace("`", "").replace('"', "")
        expression = re.search(r"[/\[\\]", name)
        if not expression and re.search(r"[^A-Za-z0-9_.*?]", name):
            raise Usage(
                f"tables.filter: avro's messages have _ for every character other than letters, "
                f"digits and _, and the rule {rule} matches none of them"
            )


def _refuse(table: Table, rules: frozenset[str]) -> None:
    if not table.handle_key:
        raise Stop(
            f"{table.schema}.{table.name}: its messages have no key, so that avro's DELETE names "
            "no row: give it a primary key, or leave it out by [tables] filter"
        )


def _complete(source: Table, definition: Table | None, described: "TargetTable") -> Table:
    _require_plain_names(source, definition, described)
    return complete_columns(source, definition, _complete_column)


def _complete_column(column: Column, declared: Column | None) -> Column:
    type_ = column.type
    if declared is None or declared.type.name not in _FAMILIES.get(type_.name, {type_.name}):
        return with_elements(column, None)
    if type_.name in _FAMILIES and type_.unsigned == declared.type.unsigned:
        return replace(column, type=declared.type, generated=declared.generated)
    return replace(with_elements(column, declared.type), generated=declared.generated)


def _require_plain_names(source: Table, definition: Table | None, described: "TargetTable") -> None:
    names = [column.name for column in described.columns]
    if definition is not None:
        names += [column.name for column in definition.columns]
    sent = {column.name for column in source.columns}
    for name in names:
        if name not in sent and sanitize(name) in sent:
            raise Stop(
                f"{source.schema}.{source.name}: avro's messages have {sanitize(name)} for column "
                f"{name}: rename it, or leave the table out by [tables] filter"
            )


PROTOCOL = WireProtocol(
    format=FORMATS["avro"],
    format_options=_options,
    rows_name_their_table=False,
    asks_registry=True,
    may_be_control=_may_be_control,
    test_inflates=False,  # Avro's messages are never compressed.
    needs_for_marks="avro-enable-watermark=true and enable-tidb-extension=true",
    exactness=Exactness(
        refuse=_refuse, complete=_complete, types_are_complete=False, wire_name=sanitize
    ),
    check_settings=_check_settings,
)
