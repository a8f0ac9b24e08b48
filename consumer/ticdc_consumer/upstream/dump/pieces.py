"""A file of rows in pieces of whole lines: Dumpling writes each row as a line.

Offsets are those of the uncompressed content. A compressed file is read from its beginning, so once
for consecutive pieces; any other file is read piece by piece.
"""

from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from ticdc_consumer.errors import Stop
from ticdc_consumer.source.storage.files import PATIENCE, Files
from ticdc_consumer.waiting import patiently

PLAIN = {".gz": "gzip", ".zst": "zstd"}
"""Endings of compressed files that pyarrow reads; not Snappy's frames (.snappy)."""
MOST_ROWS = 100_000
"""Most rows of a piece, estimated from the first ones, however small they are."""
BLOCK = 1 << 20
TAIL = 2
_AHEAD = 1 << 16

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole lines of a file; `rows` is their approximate number."""

    file: str
    begin: int
    end: int
    rows: int

    def to_json(self) -> dict[str, Any]:
        """Returns a form that JSON can hold."""
        return asdict(self)


class PieceReader:
    """Reads files of a dump. Raises `Stop` for a file that is damaged or missing, and `Unavailable`
    if the storage does not answer for some time."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._stream: Any = None
        self._path, self._position = "", 0

    def __enter__(self) -> "PieceReader":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def read(self, piece: Piece) -> bytes:
        """The lines of a piece."""
        content = self.part(piece.file, piece.begin, piece.end)
        if len(content) != piece.end - piece.begin or not content.endswith(b"\n"):
            raise Stop(f"{piece.file}: the file is not as it was when the load began")
        return content

    def blocks(self, path: str) -> Iterator[bytes]:
        """Yields the whole content of a file."""
        position = 0
        while content := self.part(path, position, position + BLOCK):
            yield content
            position += len(content)

    def line_end(self, path: str, position: int, length: int) -> int:
        """The end of the line that has the byte before the position; `length` if it is cut off."""
        while position < length:
            end = min(length, position + _AHEAD)
            newline = self.part(path, position - 1, end).find(b"\n")
            if newline >= 0:
                return position + newline
            position = end
        return length

    def part(self, path: str, begin: int, end: int) -> bytes:
        """The existing bytes from one offset to another."""
        return patiently(partial(self._part, path, begin, end), PATIENCE)

    def _part(self, path: str, begin: int, end: int) -> bytes:
        if packing(path) is None:
            return _present(path, self._files.part(path, begin, end))
        try:
            return self._unpacked(path, begin, end)
        except OSError:
            self.close()
            raise Stop(f"{path} is damaged or cut off: copy it again, or dump again") from None
        except BaseException:
            self.close()
            raise

    def _unpacked(self, path: str, begin: int, end: int) -> bytes:
        if self._stream is None or self._path != path or self._position > begin:
            self.close()
            file = pa.PythonFile(_present(path, self._files.open(path)), mode="r")
            self._stream = pa.CompressedInputStream(file, packing(path))
            self._path, self._position = path, 0
        while self._position < begin:
            self._take(min(BLOCK, begin - self._position))
        return self._take(end - begin)

    def _take(self, size: int) -> bytes:
        content: bytes = self._stream.read(size)
        self._position += len(content)
        return content


def _present(path: str, content: T | None) -> T:
    if content is None:
        raise Stop(f"{path} is no longer in [source] dump: copy it there again")
    return content


def format_of(path: str) -> str:
    """`sql` or `csv`, by a file's name."""
    return next(part for part in reversed(path.split(".")) if part in ("sql", "csv"))


def packing(path: str) -> str | None:
    """The codec of a compressed file."""
    return next((codec for ending, codec in PLAIN.items() if path.endswith(ending)), None)


def pieces(
    reader: PieceReader, path: str, length: int, size: int, ending: bytes
) -> Iterator[Piece]:
    """Yields pieces of about `size` bytes of a file; `length` is its stored size. Raises `Stop` for
    a file without rows, or whose last row lacks the `ending`."""
    cut = _cut if packing(path) is None else _cut_packed
    tail = yield from cut(reader, path, length, size)
    if not tail.endswith(ending):
        raise Stop(
            f"{path} is cut off: its last row does not end; copy the file again, or dump again"
        )


def _cut(reader: PieceReader, path: str, length: int, size: int) -> Generator[Piece, None, bytes]:
    """Cuts a plain file at the ends of lines; returns the last bytes."""
    begin, content = 0, next(reader.blocks(path), b"")
    line = line_size(content)
    size = min(size, MOST_ROWS * line)
    while begin < length:
        end = reader.line_end(path, begin + size, length)
        yield Piece(path, begin, end, max(1, (end - begin) // line))
        begin = end
    return reader.part(path, max(0, length - TAIL), length)


def _cut_packed(
    reader: PieceReader, path: str, length: int, size: int
) -> Generator[Piece, None, bytes]:
    """Cuts a compressed file; returns the last bytes."""
    begin = position = rows = 0
    tail = b""
    for content in reader.blocks(path):
        if not position:
            size = min(size, MOST_ROWS * line_size(content))
        start = 0
        while (newline := content.find(b"\n", max(start, begin + size - 1 - position))) >= 0:
            rows += content.count(b"\n", start, newline + 1)
            start = newline + 1
            yield Piece(path, begin, position + start, rows)
            begin, rows = position + start, 0
        rows += content.count(b"\n", start)
        position += len(content)
        tail = (tail + content)[-TAIL:]
    if position > begin:
        yield Piece(path, begin, position, rows)
    return tail


def line_size(content: bytes) -> int:
    """Approximate bytes of a line."""
    return max(1, len(content) // max(1, content.count(b"\n")))
