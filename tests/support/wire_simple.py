"""Golden variants of Simple, and the upstream's tables as its messages tell them."""

from dataclasses import replace
from functools import cache

from ticdc_encoder.event import Event, RowChange, Table
from ticdc_encoder.formats.simple import Decoder, Options

from support.golden import Variant, scenario
from support.golden_changes import versions
from support.variant_settings import common, uri
from support.wire_golden import variants

SIMPLE = variants("simple")


def simple_options(variant: Variant) -> Options:
    encoding = uri(variant).get("encoding-format", "json")
    return Options(encoding_format="avro" if encoding == "avro" else "json", **common(variant))


@cache
def simple_events(name: str, variant: str) -> tuple[tuple[Event, ...], ...]:
    """The events of each record."""
    sent = scenario(name).variants[variant]
    decoder = Decoder(simple_options(sent))
    told = tuple(
        tuple(event for _, event in decoder.decode(record.key, record.value))
        for record in sent.records
    )
    assert decoder.waiting == ()
    return told


def changes(name: str, variant: str) -> list[RowChange]:
    told = (event for record in simple_events(name, variant) for event in record)
    return [event for event in told if isinstance(event, RowChange)]


def as_told(true: Table, told: Table) -> Table:
    """The upstream's table with what SHOW CREATE TABLE does not tell: ids, versions, the order in
    which columns (of the old architecture) and indexes were made."""
    order = {column.name: place for place, column in enumerate(told.columns)}
    index_order = {index.name.lower(): place for place, index in enumerate(told.indexes)}
    columns = sorted(true.columns, key=lambda column: order.get(column.name, -1))
    indexes = sorted(true.indexes, key=lambda index: index_order.get(index.name.lower(), -1))
    return replace(
        true,
        columns=tuple(columns),
        indexes=tuple(indexes),
        table_id=told.table_id,
        version=told.version,
    )


def true_definition(name: str, told: Table, ts: int) -> Table:
    """The upstream's table at a commit_ts, as a message told it."""
    of = [table for since, table in versions(name)[told.schema, told.name] if since <= ts]
    return as_told(of[-1], told)


def true_version(name: str, told: Table) -> Table:
    """The upstream's table that has this version."""
    of = [t for since, t in versions(name)[told.schema, told.name] if since >= (told.version or 0)]
    return as_told(of[0], told)
