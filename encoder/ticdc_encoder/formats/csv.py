"""CSV as the cloud storage sink writes it: a file of one table's changes.

Source: TiCDC `pkg/sink/codec/csv`. Nothing in a file tells its layout: options must be the
changefeed's, and the columns come from the table's schema file or definition.
"""

import binascii
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from ticdc_encoder.column import INTEGERS, Column, ColumnType
from ticdc_encoder.errors import ConfigError, DefinitionError, WireError
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats.avro_schema import enum_reader, set_reader
from ticdc_encoder.formats.avro_values import member, members
from ticdc_encoder.formats.csv_fields import Fields, columns_of, fields, pieces
from ticdc_encoder.formats.format import MissingCommitTs, Record, timestamp
from ticdc_encoder.formats.json_text import utf_8
from ticdc_encoder.values import FAMILIES, double, fixed, server_time, single, text

_META = "ticdc-meta$"
_BARE = INTEGERS | {"year", "bit", "float", "double"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`[sink.csv]` of the changefeed, and `sink.terminator`. `time_zone` is that of the TiCDC
    server: TIMESTAMP is written in it, and left in it by `decode`. Without `require_commit_ts`, a
    change that has none gets commit_ts 0."""

    delimiter: str = ","
    quote: str = '"'
    terminator: str = "\r\n"
    null: str = "\\N"
    include_commit_ts: bool = False
    output_old_value: bool = False
    output_handle_key: bool = False
    output_field_header: bool = False
    binary_encoding_method: Literal["base64", "hex"] = "base64"
    require_commit_ts: bool = True
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        """Raises ConfigError where TiCDC refuses the changefeed."""
        if len(self.quote) > 1:
            raise ConfigError("csv quote must be one character, or none")
        if not 1 <= len(self.delimiter) <= 3:
            raise ConfigError("csv delimiter must be one to three characters")
        if {"\r", "\n"} & {*self.delimiter, *self.quote}:
            raise ConfigError("csv delimiter and quote cannot have line breaks")
        if {*self.delimiter} & {*self.quote}:
            raise ConfigError("csv delimiter and quote cannot share a character")
        if not self.terminator:
            raise ConfigError("csv terminator is empty")
        if self.binary_encoding_method not in ("base64", "hex"):
            raise ConfigError("csv binary-encoding-method must be base64 or hex")


# Reading.


def decode(data: bytes, table: Table, options: Options) -> list[RowChange]:
    """The changes of a file, which with `output_field_header` begins with the names of its columns.
    TIMESTAMP values stay in the zone that they came in.

    An UPDATE is one change, with an empty `before` where the file has no old values. ENUM and SET
    come as text where the table's members are not known.
    """
    return [*changes(data, table, options)]


def changes(data: bytes, table: Table, options: Options) -> Iterator[RowChange]:
    """What `decode` gives, one by one."""
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
    reader = _Reader(table, columns, options)
    dialect = options.delimiter, options.terminator, options.quote
    number = at = 0
    try:
        for end in pieces(characters, options.terminator, options.quote):
            found = reader.take_piece(characters[at:end])
            if found is None:
                break
            at, number = end, number + found[0]
            yield from found[1]
        rest = enumerate(fields(characters, *dialect, options.null, at), number + 1)
        for number, record in rest:  # noqa: B007
            change = reader.take(record)
            if change is not None:
                yield change
        reader.finish()
    except WireError as error:
        error.add_note(f"in record {number} of the file")
        raise


def _meta(options: Options) -> list[str]:
    """The header's names before those of the columns. There is none for the handle key."""
    names = ["operation", "table", "schema"]
    names += ["commit-ts"] * options.include_commit_ts
    names += ["is-update"] * options.output_old_value
    return [_META + name for name in names]


def _named(header: str, table: Table, columns: list[Column], options: Options) -> list[Column]:
    """The columns that a header names, which is written without quotes or escapes."""
    meta = _meta(options)
    if header == options.delimiter.join([*meta, *(column.name for column in columns)]):
        return columns
    names = header.split(options.delimiter)
    if names[: len(meta)] != meta:
        raise WireError("the header is not that of these settings")
    try:
        return [table.column(name) for name in names[len(meta) :]]
    except KeyError as error:
        raise WireError(f"{table.schema}.{table.name} has no column `{error.args[0]}`") from error


def _bare_meta(options: Options, first: int) -> list[bool]:
    """Which of the fields before the columns have no quotes: commit-ts and is-update."""
    meta = [name.endswith(("commit-ts", "is-update")) for name in _meta(options)]
    return meta + [False] * (first - len(meta))


class _Reader:
    """Makes changes of records."""

    def __init__(self, table: Table, columns: Sequence[Column], options: Options) -> None:
        self._table = table
        self._options = options
        self._types = [column.type.name for column in columns]
        self._columns = [(c.name, _from_text(c.type, options)) for c in columns]
        self._has_ts, self._has_old = options.include_commit_ts, options.output_old_value
        self._first = len(_meta(options)) + options.output_handle_key
        self._replaced: tuple[int, Row] | None = None  # commit_ts, the old row of an UPDATE

    def finish(self) -> None:
        if self._replaced is not None:
            raise WireError("the old row of an UPDATE without the new one")

    def take(self, record: Fields) -> RowChange | None:
        """The change that the record completes."""
        first = self._first
        if len(record) != first + len(self._columns):
            raise WireError(
                f"{len(record)} fields, but {self._table.schema}.{self._table.name} has "
                f"{len(self._columns)} columns and these settings {first} before them"
            )
        operation, is_update = record[0], False
        self._same_table(record)
        commit_ts = _commit_ts(record[3]) if self._has_ts else 0
        if self._has_old:
            flag = record[3 + self._has_ts]
            if flag not in ("true", "false"):
                raise WireError("is-update is neither true nor false")
            is_update = flag == "true"
        return self._tell(operation, is_update, commit_ts, self._row(record[first:]))

    def take_piece(self, characters: str) -> tuple[int, list[RowChange]] | None:
        """The number of the records, and the changes that they complete, of a regular piece of the
        file; None leaves it to `take`."""
        options, first = self._options, self._first
        dialect = options.delimiter, options.terminator, options.quote
        bare = [name in _BARE for name in self._types]
        found = columns_of(characters, *dialect, options.null, _bare_meta(options, first) + bare)
        if found is None or set(found[1]) != {self._table.name}:
            return None
        try:
            values = [
                column if read is text else [None if t is None else read(t) for t in column]
                for (_, read), column in zip(self._columns, found[first:], strict=True)
            ]
            times = {digits: _commit_ts(digits) for digits in set(found[3])} if self._has_ts else {}
        except (TypeError, ValueError, WireError):
            return None
        names = [name for name, _ in self._columns]
        keys = [values[n] for n, name in enumerate(names) if name in self._table.handle_key]
        if set(found[2]) != {self._table.schema} or any(None in key for key in keys):
            return None
        rows = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        stamps = [times[digits] for digits in found[3]] if times else [0] * len(rows)
        flags: Sequence[str | None] = ["false"] * len(rows)
        if self._has_old:
            flags = found[3 + self._has_ts]
            if not set(flags) <= {"true", "false"}:
                return None
        replaced, told = self._replaced, []
        try:
            for operation, flag, commit_ts, row in zip(found[0], flags, stamps, rows, strict=True):
                change = self._tell(operation, flag == "true", commit_ts, row)
                if change is not None:
                    told.append(change)
        except WireError:
            self._replaced = replaced
            return None
        return len(rows), told

    def _tell(
        self, operation: str | None, is_update: bool, commit_ts: int, row: Row
    ) -> RowChange | None:
        replaced, self._replaced = self._replaced, None
        if replaced is not None and (not is_update or operation != "I"):
            raise WireError("the old row of an UPDATE without the new one")
        if operation == "I" and is_update:
            if replaced is None or replaced[0] != commit_ts:
                raise WireError("the new row of an UPDATE without the old one")
            return RowChange(self._table, commit_ts, replaced[1], row)
        if operation == "D" and is_update:
            self._replaced = commit_ts, row
            return None
        if operation == "I":
            return RowChange(self._table, commit_ts, None, row)
        if operation == "D":
            return RowChange(self._table, commit_ts, row, None)
        if operation == "U" and not is_update:
            return RowChange(self._table, commit_ts, {}, row)
        raise WireError("the operation is none of I, U and D")

    def _same_table(self, record: Fields) -> None:
        table = self._table
        if record[1] != table.name or record[2] != table.schema:
            raise WireError(f"a row of another table than {table.schema}.{table.name}")

    def _row(self, values: Fields) -> Row:
        row: dict[str, Value] = {}
        for (name, read), value in zip(self._columns, values, strict=True):
            try:
                row[name] = None if value is None else read(value)
            except (TypeError, ValueError) as error:
                table = self._table
                raise WireError(
                    f"column `{name}` of {table.schema}.{table.name}: {error}"
                ) from error
        for name in self._table.handle_key:
            if name in row and row[name] is None:
                table = self._table
                raise WireError(f"key column `{name}` of {table.schema}.{table.name} is null")
        return row


def _commit_ts(digits: str | None) -> int:
    return timestamp(int(digits) if digits and digits.isdecimal() else None, "commit-ts")


def _from_text(type_: ColumnType, options: Options) -> Callable[[str], Value]:
    if type_.binary:
        return _base64_bytes if options.binary_encoding_method == "base64" else _hex_bytes
    if type_.name == "enum":
        return enum_reader(type_.elements) if type_.elements else text
    if type_.name == "set":
        return set_reader(type_.elements) if type_.elements else text
    return FAMILIES[type_.name].from_text


def _base64_bytes(characters: str) -> bytes:
    try:
        return binascii.a2b_base64(characters, strict_mode=True)
    except ValueError as error:
        raise ValueError("not base64") from error


def _hex_bytes(characters: str) -> bytes:
    try:
        return binascii.unhexlify(characters)
    except ValueError as error:
        raise ValueError("not hex") from error


# Writing.


class Encoder:
    """CSV's writer: of each change its records, of a table its header."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._local = server_time(options.time_zone)
        self._plans: dict[int, tuple[Table, list[tuple[Column, Callable[[Value], str]]]]] = {}

    def header(self, table: Table) -> bytes:
        """What a file of the table begins with: nothing without output_field_header."""
        if not self._options.output_field_header:
            return b""
        names = [column.name for column, _ in self._plan(table)]
        return utf_8(
            self._options.delimiter.join(_meta(self._options) + names) + self._options.terminator
        )

    def row(self, change: RowChange) -> list[Record]:
        """One record, or for an UPDATE with its old row two in one."""
        before, after = change.before, change.after
        if after is None:
            if before is None:
                raise DefinitionError(f"a change of {change.table.name} without any row")
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

    def _plan(self, table: Table) -> list[tuple[Column, Callable[[Value], str]]]:
        found = self._plans.get(id(table))
        if found is None:
            columns = [column for column in table.columns if column.generated != "virtual"]
            plan = [(column, self._writer(column.type)) for column in columns]
            found = self._plans[id(table)] = table, plan
        return found[1]

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
        return write if type_.name in _BARE else lambda value: string(write(value))

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
    raise DefinitionError(f"{table.schema}.{table.name} has no integer handle that its rows tell")
