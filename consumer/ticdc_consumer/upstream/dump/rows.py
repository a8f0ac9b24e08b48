"""Converts the rows of a piece to arrays of canonical values, as `upstream.rows` gives them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.event import Table
from ticdc_encoder.values import single, utc_time

from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream.dump.lines import Lines, lines_of
from ticdc_consumer.upstream.dump.pieces import Piece, format_of

Restore = Callable[[bytes], str | bytes]


@dataclass(frozen=True, slots=True)
class DumpSettings:
    """The format of the files: [source.dump_csv], and the time zone of TIMESTAMP."""

    csv: Mapping[str, bool | str] = field(default_factory=dict)
    time_zone: str = "UTC"


def batches(
    table: Table, piece: Piece, content: bytes, settings: DumpSettings, rows: int
) -> Iterator[list[pa.Array]]:
    """Yields the rows, at most `rows` at a time: an array of canonical values for each column.
    Raises `Stop` for text that Dumpling would not write."""
    lines = lines_of(table, format_of(piece.file), settings.csv)
    readers = [_reader(column, lines, settings.time_zone) for column in lines.columns]
    for records in lines.batches(piece, content, rows):
        arrays = []
        for column, read, values in zip(
            lines.columns, readers, zip(*records, strict=True), strict=True
        ):
            try:
                canonical = [read(value) for value in values]
            except (ValueError, KeyError) as error:
                where = f"{piece.file}: {table.schema}.{table.name}.{column.name}"
                raise Stop(f"{where}: {_reason(column, error)}") from None
            arrays.append(pa.array(canonical, pa.binary() if column.type.binary else pa.string()))
        yield arrays


def _reader(column: Column, lines: Lines, time_zone: str) -> Callable[[bytes], str | bytes | None]:
    """The conversion of a written value to its canonical form. Raises ValueError."""
    null, unquote, restore = lines.null, lines.unquote(column), _restore(column, time_zone)

    def read(written: bytes) -> str | bytes | None:
        return None if written == null else restore(unquote(written))

    return read


def _restore(column: Column, time_zone: str) -> Restore:
    """Converts from TiDB's printed form."""
    type_ = column.type
    match type_.name:
        case "bit":
            return lambda value: str(int.from_bytes(value))
        case "float":
            return _float
        case "enum":
            return _enum(type_.elements)
        case "set":
            return _set(type_.elements)
        case "timestamp":
            utc = utc_time(time_zone)
            return lambda value: utc(value.decode())
        case "binary":
            length = type_.length or 0
            return lambda value: value.ljust(length, b"\0")
    if type_.name == "year" or (type_.zerofill and type_.name in INTEGERS):
        return lambda value: str(int(value))
    return bytes if type_.binary else bytes.decode


class _SixDigits(ValueError):
    """A FLOAT whose text is not its exact value."""


def _float(value: bytes) -> str:
    """Converts a FLOAT. TiDB prints one below 1e-15, or from 1e15 on, with an exponent and six
    digits: up to a hundred values have the same text."""
    if b"e" in value:
        raise _SixDigits
    return repr(single(float(value)))


def _enum(elements: Sequence[str]) -> Restore:
    """ENUM: '' is the number 0, an invalid value, unless a member has that name."""
    numbers = {"": "0"} | {name: str(n) for n, name in enumerate(elements, 1)}
    return lambda value: numbers[value.decode()]


def _set(elements: Sequence[str]) -> Restore:
    bits = {name: 1 << n for n, name in enumerate(elements)}

    def mask(value: bytes) -> str:
        names = value.decode().split(",") if value else ()
        return str(sum(bits[name] for name in names))

    return mask


def _reason(column: Column, error: Exception) -> str:
    """The reason of an error, without the value."""
    if isinstance(error, UnicodeDecodeError):
        return "text that is not UTF-8"
    if isinstance(error, _SixDigits):
        return (
            "Dumpling has only six digits of a FLOAT below 1e-15, or from 1e15 on; end this load "
            "with ticdc-consumer forget, and load --replace from [source] upstream without "
            "[source] dump, or make the column a DOUBLE upstream and dump again"
        )
    if column.type.name == "timestamp":
        return (
            "a time that occurs twice or never in [source] dump_time_zone: dump with --params "
            '"time_zone=+00:00"'
        )
    return f"not a value of {column.type.name}: dump again"
