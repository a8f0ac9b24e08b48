"""Simple, whose rows are read by schemas that other messages carry: see `schemas`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ticdc_encoder.event import Event, RowChange, Table
from ticdc_encoder.formats import FORMATS, simple
from ticdc_encoder.formats.simple import Waiting

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.protocols.protocol import WireProtocol
from ticdc_consumer.protocols.schemas import SchemaKey, key_of


class SimpleReader:
    """Simple's decoder. A row comes with the columns of its table that were sent: virtual columns
    are in a schema, and never in a row."""

    def __init__(self, options: simple.Options, schemas: Iterable[Table]) -> None:
        self._decoder = simple.Decoder(options, schemas)
        self._sent: dict[tuple[SchemaKey, int | None, frozenset[str]], Table] = {}

    def __call__(self, key: bytes | None, value: bytes | None) -> list[Event]:
        events = [event for _, event in self._decoder.decode(key, value)]
        return [self._as_sent(e) if isinstance(e, RowChange) else e for e in events]

    def unread(self) -> Sequence[Waiting]:
        return self._decoder.take_waiting()

    def new_schemas(self) -> Sequence[Table]:
        return self._decoder.take_new_tables()

    def _as_sent(self, change: RowChange) -> RowChange:
        table = change.table
        row = change.after or change.before or {}
        if len(row) == len(table.columns):
            return change
        kind = key_of(table), table.table_id, frozenset(row)
        sent = self._sent.get(kind)
        if sent is None:
            columns = tuple(column for column in table.columns if column.name in row)
            sent = self._sent[kind] = replace(table, columns=columns)
        return replace(change, table=sent)


def _options(options: ReadSettings) -> simple.Options:
    return simple.Options(
        encoding_format=options.encoding_format,
        time_zone=options.time_zone,
        compression=options.compression,
        message_limit=options.message_limit,
        on_corruption="warn",  # the task that reads decides, because it knows the key
    )


def _may_be_control(key: bytes | None, value: bytes | None) -> bool:
    """Passes all but rows, which have the database right after the version, or begin as a DML."""
    return value is None or not value.startswith((b'{"version":1,"database":"', b"\x16\x06\x06"))


PROTOCOL = WireProtocol(
    format=FORMATS["simple"],
    format_options=_options,
    decoder_with_schemas=SimpleReader,
    may_be_control=_may_be_control,
    rows_in_utc=True,
    demo={},
)
