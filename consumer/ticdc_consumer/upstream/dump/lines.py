r"""Parses rows as Dumpling writes them into the bytes of their values.

Strict: each row is matched as a whole, in linear time, and a line that Dumpling would not write
ends the load. Rows are read as written with `--escape-backslash`, the default: so no value has a
line break, and only \' is a quote within a string.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table

from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream.dump.pieces import Piece

Unquote = Callable[[bytes], bytes]

_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_CHARACTERS = {b"0": b"\0", b"n": b"\n", b"r": b"\r", b"Z": b"\x1a"}


@dataclass(frozen=True, slots=True)
class Lines:
    """The form of a table's file. A row is `opening`, values with `comma` between them, and the
    text that `closing` matches; `header` is a file's first line, `beside` matches other lines, and
    the last line ends with `ending`."""

    columns: tuple[Column, ...]
    opening: bytes
    value: re.Pattern[bytes]
    comma: bytes
    closing: bytes
    null: bytes
    header: bytes
    beside: re.Pattern[bytes]
    ending: bytes
    unquote: Callable[[Column], Unquote]

    def row(self) -> re.Pattern[bytes]:
        """The pattern of a row, with a group for each value."""
        values = re.escape(self.comma).join([self.value.pattern] * len(self.columns))
        return re.compile(re.escape(self.opening) + values + self.closing + rb"\n")

    def records(self, piece: Piece, content: bytes) -> Iterator[tuple[bytes, ...]]:
        """Yields the values of each row, as they are written."""
        position = 0 if piece.begin else self._after_header(piece, content)
        row = self.row()
        while position < len(content):
            if match := row.match(content, position):
                yield match.groups()
            else:
                match = self.beside.match(content, position)
                if match is None:
                    raise Stop(self._refusal(piece, content, position))
            position = match.end()

    def batches(self, piece: Piece, content: bytes, rows: int) -> Iterator[list[tuple[bytes, ...]]]:
        """Yields at most `rows` rows at a time."""
        records = self.records(piece, content)
        while batch := list(islice(records, rows)):
            yield batch

    def _after_header(self, piece: Piece, content: bytes) -> int:
        match = re.match(re.escape(self.header) + rb"\r?\n", content)
        if match is None and self.header:
            raise Stop(
                f"{piece.file}: its first line does not name the columns of its -schema.sql file: "
                "are the settings of [source.dump_csv] Dumpling's options?"
            )
        return match.end() if match is not None and self.header else 0

    def _refusal(self, piece: Piece, content: bytes, position: int) -> str:
        line = content[position : content.index(b"\n", position)]
        values, end = 0, len(self.opening)
        while match := self.value.match(line, end):
            values, end = values + 1, match.end()
            if not line.startswith(self.comma, end):
                break
            end += len(self.comma)
        where = f"{piece.file}, byte {piece.begin + position}: the row"
        if values != len(self.columns) and re.fullmatch(self.closing, line[end:]):
            return f"{where} has {values} values, and not {len(self.columns)}: dump again"
        return f"{where} is not as Dumpling writes it with --escape-backslash: dump again"


def written(table: Table) -> tuple[Column, ...]:
    """The columns whose values Dumpling writes, in the table's order."""
    return tuple(column for column in table.columns if not column.generated)


def sql_lines(table: Table) -> Lines:
    """The form of INSERT statements."""
    columns = written(table)
    text = rb"""'(?:[^'"\\\x00\r\n\x1a]++|\\[0nr\\'"Z])*+'"""
    value = rb"(" + text + rb"|NULL|x'(?:[0-9a-f]{2})*+'|[-+.0-9eE]++)"
    names = rb",".join(map(_quoted, (column.name for column in columns)))
    named = rb"(?: \(" + re.escape(names) + rb"\))"
    # INSERT names the columns if some are left out, or with --complete-insert.
    insert = rb"INSERT INTO " + re.escape(_quoted(table.name)) + named
    insert += rb" VALUES\n" if len(columns) < len(table.columns) else rb"? VALUES\n"
    return Lines(
        columns,
        opening=b"(",
        value=re.compile(value),
        comma=b",",
        closing=rb"\)[,;]",
        null=b"NULL",
        header=b"",
        beside=re.compile(rb"/\*!(?:[^*\n]|\*(?!/))*+\*/;\n|" + insert),
        ending=b";\n",
        unquote=lambda column: _sql_unquote,
    )


def _quoted(name: str) -> bytes:
    return b"`" + name.replace("`", "``").encode() + b"`"


def _sql_unquote(written: bytes) -> bytes:
    if written.startswith(b"'"):
        return _unescaped(written[1:-1])
    return bytes.fromhex(written[2:-1].decode()) if written.startswith(b"x") else written


def csv_lines(table: Table, settings: Mapping[str, bool | str]) -> Lines:
    """The form of CSV, with Dumpling's options, which the settings repeat."""
    columns = written(table)
    comma = str(settings.get("csv-separator", ",")).encode()
    quote = str(settings.get("csv-delimiter", '"')).encode()
    null = str(settings.get("csv-null-value", r"\N")).encode()
    mark = re.escape(quote or comma)
    text = rb"(?:[^\\\x00\r\n" + mark + rb"]++|\\[0rn\\" + mark + rb"])*+"
    value = rb"(" + re.escape(null) + rb"(?=\r?$|\r?\n|" + re.escape(comma) + rb")|"
    value += (mark + text + mark + rb"|[-+.0-9eE]++" if quote else text) + rb")"
    header = comma.join(quote + _escaped(column.name, quote or comma) + quote for column in columns)
    return Lines(
        columns,
        opening=b"",
        value=re.compile(value),
        comma=comma,
        closing=rb"\r?",
        null=null,
        header=b"" if settings.get("no-header") else header,
        beside=re.compile(rb"(?!)"),
        ending=b"\n",
        unquote=_csv_unquotes(quote, str(settings.get("csv-output-dialect", ""))),
    )


def _escaped(name: str, mark: bytes) -> bytes:
    plain = name.encode().replace(b"\\", b"\\\\").replace(mark, b"\\" + mark)
    return plain.replace(b"\r", rb"\r").replace(b"\n", rb"\n")


def _csv_unquotes(quote: bytes, dialect: str) -> Callable[[Column], Unquote]:
    def plain(written: bytes) -> bytes:
        quoted = quote and written.startswith(quote)
        return _unescaped(written[1:-1] if quoted else written)

    def packed(written: bytes) -> bytes:
        content = plain(written)
        if dialect == "bigquery":
            return base64.b64decode(content, validate=True)
        return bytes.fromhex(content.decode())

    def unquote(column: Column) -> Unquote:
        is_packed = dialect not in ("", "default") and holds_bytes(column)
        return packed if is_packed else plain

    return unquote


def holds_bytes(column: Column) -> bool:
    """Returns whether Dumpling takes the values for bytes."""
    return column.type.binary or column.type.name == "bit"


def _unescaped(text: bytes) -> bytes:
    if b"\\" not in text:
        return text
    return _ESCAPED.sub(lambda match: _CHARACTERS.get(match[1], match[1]), text)


def lines_of(table: Table, format: str, settings: Mapping[str, bool | str]) -> Lines:
    """The form of a table's rows in a file `sql` or `csv`."""
    return sql_lines(table) if format == "sql" else csv_lines(table, settings)
