"""CSV as the cloud storage sink writes it: a file of one table's changes.

Source: TiCDC `pkg/sink/codec/csv`. A file does not describe its layout: options must be
the changefeed's, and the columns come from the table's schema file or definition.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.errors import DefinitionError, WireError
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats.csv.fields import fields, pieces
from ticdc_encoder.formats.csv.options import Options as Options
from ticdc_encoder.formats.csv.options import meta_names, require_legible
from ticdc_encoder.formats.csv.rows import BARE, RecordReader
from ticdc_encoder.formats.elements import member, members
from ticdc_encoder.formats.format import MissingCommitTs, Record, no_row, per_table
from ticdc_encoder.formats.json_text import utf_8
from ticdc_encoder.values import FAMILIES, double, fixed, server_time, single, text

# Reading.


def decode(data: bytes, table: Table, options: Options) -> list[RowChange]:
    """The changes of a file, which with `output_field_header` begins with the names of its columns.
    TIMESTAMP values stay in the zone that they came in. Raises ConfigError for settings with which
    a file can be read in two ways.

    The changes' table has the columns of the file alone: no virtual ones, and of a file with a
    header those that it names. An UPDATE is one change, with an empty `before` where the file has
    no old values. ENUM and SET come as text if the table's members are not known.
    """
    return [*changes(data, table, options)]


def schema_of(data: bytes, options: Options) -> str:
    """The schema that the first row of a file names, "" if it has none. Raises as `decode`."""
    require_legible(options)
    characters = data.decode("utf-8", "surrogateescape")
    if options.output_field_header:
        _, _, characters = characters.partition(options.terminator)
    dialect = options.delimiter, options.terminator, options.quote
    first = next(fields(characters, *dialect, options.null), [])
    return (first[2] if len(first) > 2 else None) or ""


def changes(data: bytes, table: Table, options: Options) -> Iterator[RowChange]:
    """The changes of `decode`, one by one."""
    require_legible(options)
    if not options.include_commit_ts and options.require_commit_ts:
        raise MissingCommitTs(
            f"csv of {table.schema}.{table.name} has no commit_ts: set include-commit-ts=true in "
            "[sink.csv] of the changefeed"
        )
    characters = data.decode("utf-8", "surrogateescape")
    columns = [column for column in table.columns if column.generated != "virtual"]
    if options.output_field_header:
        header, _, characters = characters.partition(options.terminator)
        columns = _named(header, table, columns, options)
    if len(columns) < len(table.columns):
        table = replace(table, columns=tuple(columns))
    reader = RecordReader(table, columns, options)
    dialect = options.delimiter, options.terminator, options.quote
    number = at = 0
    try:
        for end in pieces(characters, options.terminator, options.quote):
            piece = reader.take_piece(characters[at:end])
            if piece is None:
                break
            at, number = end, number + piece[0]
            yield from piece[1]
        rest = enumerate(fields(characters, *dialect, options.null, at), number + 1)
        for number, record in rest:  # noqa: B007
            change = reader.take(record)
            if change is not None:
                yield change
        reader.finish()
    except WireError as error:
        error.add_note(f"in record {number} of the file")
        raise


def _named(header: str, table: Table, columns: list[Column], options: Options) -> list[Column]:
    """The columns that a header names, which is written without quotes or escapes. TiCDC 8.5 names
    virtual columns, too (see `header_has_virtual`)."""
    meta = meta_names(options)
    if header == options.delimiter.join([*meta, *(column.name for column in columns)]):
        return columns
    names = header.split(options.delimiter)
    if names[: len(meta)] != meta:
        raise WireError("the header is not that of these settings")
    try:
        named = [table.column(name) for name in names[len(meta) :]]
    except KeyError as error:
        raise WireError(f"{table.schema}.{table.name} has no column `{error.args[0]}`") from error
    return [column for column in named if column.generated != "virtual"]


# Writing.


class Encoder:
    """Writes the records of changes, and the headers of tables."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._local = server_time(options.time_zone)
        self._plan = per_table(self._make_plan)

    def header(self, table: Table) -> bytes:
        """The beginning of a file of the table: empty without output_field_header."""
        if not self._options.output_field_header:
            return b""
        columns = [column for column, _ in self._plan(table)]
        names = [c.name for c in (table.columns if self._options.header_has_virtual else columns)]
        return utf_8(
            self._options.delimiter.join(meta_names(self._options) + names)
            + self._options.terminator
        )

    def row(self, change: RowChange) -> list[Record]:
        """One record, or for an UPDATE with its old row two in one."""
        before, after = change.before, change.after
        if after is None:
            if before is None:
                raise no_row(change.table)
            written = self._record(change, "D", before)
        elif before is None:
            written = self._record(change, "I", after)
        elif self._options.output_old_value:
            written = self._record(change, "D", {**after, **before}, is_update=True)
            written += self._record(change, "I", after, is_update=True)
        else:
            written = self._record(change, "U", after)
        return [(None, utf_8(written))]

    def _record(
        self, change: RowChange, operation: str, row: Row, *, is_update: bool = False
    ) -> str:
        options, table = self._options, change.table
        written = [self._string(part) for part in (operation, table.name, table.schema)]
        if options.include_commit_ts:
            written.append(str(change.commit_ts))
        if options.output_old_value:
            written.append("true" if is_update else "false")
        if options.output_handle_key:
            written.append(self._string(_handle(table, row)))
        for column, write in self._plan(table):
            try:
                value = row[column.name]
                written.append(options.null if value is None else write(value))
            except (KeyError, TypeError, ValueError) as error:
                reason = "not in the row" if isinstance(error, KeyError) else error
                raise DefinitionError(
                    f"column `{column.name}` of {table.schema}.{table.name}, "
                    f"{column.type.name}: {reason}"
                ) from error
        return options.delimiter.join(written) + options.terminator

    def _make_plan(self, table: Table) -> list[tuple[Column, Callable[[Value], str]]]:
        columns = [column for column in table.columns if column.generated != "virtual"]
        return [(column, self._writer(column.type)) for column in columns]

    def _writer(self, type_: ColumnType) -> Callable[[Value], str]:
        string, elements, local = self._string, type_.elements, self._local
        if type_.binary:
            encode = _base64_text if self._options.binary_encoding_method == "base64" else _hex_text
            return lambda value: string(encode(value))
        match type_.name:
            case "float":
                return lambda value: shortest(single(value))
            case "double":
                return lambda value: shortest(double(value))
            case "enum":
                return lambda value: string(member(elements, value))
            case "set":
                return lambda value: string(members(elements, value))
            case "timestamp":
                return lambda value: string(local(text(value)))
        write = FAMILIES[type_.name].to_text
        return write if type_.name in BARE else lambda value: string(write(value))

    def _string(self, characters: str) -> str:
        quote, delimiter = self._options.quote, self._options.delimiter
        if quote:
            return f"{quote}{characters.replace(quote, quote * 2)}{quote}"
        escaped = characters.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")
        return escaped.replace(delimiter, "".join([f"\\{character}" for character in delimiter]))


def _base64_text(value: Value) -> str:
    return b64encode(_bytes(value)).decode()


def _hex_text(value: Value) -> str:
    return _bytes(value).hex()


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError("not bytes")
    return value


def shortest(value: float) -> str:
    """The shortest decimal that names this double, as Go's format `g` writes it."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    if value == 0:
        return "-0" if sign else "0"
    power = len(digits) + int(exponent) - 1
    if -4 <= power < 6:
        return fixed(value)
    figures = "".join(map(str, digits))
    fraction = f".{figures[1:]}" if len(figures) > 1 else ""
    return f"{'-' * sign}{figures[0]}{fraction}e{power:+03d}"


def _handle(table: Table, row: Row) -> str:
    """The row's handle in TiDB: known where it is the primary key, an integer."""
    for index in table.indexes:
        if index.clustered and len(index.columns) == 1:
            value = row.get(index.columns[0])
            if isinstance(value, int):
                return str(value)
    raise DefinitionError(f"{table.schema}.{table.name} has no integer handle in its rows")
