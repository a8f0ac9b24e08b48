"""The fields of a csv file: of any that TiCDC's settings can make, and quicker of a regular one."""

import csv
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import StringIO

from ticdc_encoder.errors import WireError

PIECE = 1 << 15
"""Characters that are read at once, about: more would not stay in the processor's cache."""

Fields = list[str | None]
"""A record's fields, without quotes or escapes, None for NULL."""


def fields(
    characters: str, delimiter: str, terminator: str, quote: str, null: str, start: int = 0
) -> Iterator[Fields]:
    """The records of a file from `start` on. Raises WireError for what is not csv."""
    length, end, record = len(characters), start, Fields()
    for found in _pattern(delimiter, terminator, quote).finditer(characters, start):
        start = found.start()
        if start != end:
            break
        if start == length and not record:
            return
        inside, bare, after = found.groups()
        end = found.end()
        if inside is not None:
            record.append(inside.replace(quote * 2, quote))
        elif bare == null:
            record.append(None)
        else:
            record.append(bare if quote or "\\" not in bare else _unescaped(bare))
        if after != delimiter:
            yield record
            record = []
    if end != length:
        raise WireError(f"not csv of these settings at character {end}")


@lru_cache(maxsize=16)
def _pattern(delimiter: str, terminator: str, quote: str) -> re.Pattern[str]:
    """A field and what ends it: the characters inside of quotes, those of a bare field, the end."""
    ends = f"{re.escape(delimiter)}|{re.escape(terminator)}"
    first = re.escape(delimiter[0] + terminator[0])
    if not quote:
        bare = f"(?:[^{first}\\\\]++|\\\\.|(?!{ends}).)*+"
        return re.compile(f"(\\Zx)?({bare})({ends}|\\Z)", re.DOTALL)
    quote = re.escape(quote)
    bare = f"(?:[^{first}{quote}]++|(?!{ends}|{quote}).)*+"
    inside = f"(?:[^{quote}]++|{quote}{quote})*+"
    return re.compile(f"(?:{quote}({inside}){quote}|({bare}))({ends}|\\Z)", re.DOTALL)


_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BREAKS = {"r": "\r", "n": "\n"}


def _unescaped(bare: str) -> str:
    return _ESCAPED.sub(lambda found: _BREAKS.get(found[1], found[1]), bare)


def pieces(characters: str, terminator: str, quote: str) -> Iterator[int]:
    """Where pieces of a file end that hold whole records, if the file is regular."""
    start, length = 0, len(characters)
    while start < length:
        end, begin, open_ = start + PIECE, start, False
        while True:
            at = characters.find(terminator, end)
            end = length if at < 0 else at + len(terminator)
            if quote:
                open_ ^= characters.count(quote, begin, end) % 2 == 1
            if not open_ or end == length:
                break
            begin = end
        yield end
        start = end


def columns_of(
    characters: str,
    delimiter: str,
    terminator: str,
    quote: str,
    null: str,
    bare: Sequence[bool],
) -> list[Sequence[str | None]] | None:
    """The file's columns by Python's own reader, where it reads what `fields` does; else None.

    `bare` says which fields TiCDC writes without quotes. The reader does not tell a quoted field
    from a bare one, as a NULL is, nor one end of a line from another: their numbers do.
    """
    if len(quote) != 1 or len(delimiter) != 1 or terminator not in ("\r\n", "\n"):
        return None
    if not characters or quote in null or delimiter in null:
        return None
    complete = characters.endswith(terminator)
    if not complete and characters[-1] in "\r\n":
        return None
    try:
        records = list(
            csv.reader(
                StringIO(characters, newline=""), delimiter=delimiter, quotechar=quote, strict=True
            )
        )
    except csv.Error:
        return None
    if set(map(len, records)) != {len(bare)}:
        return None
    quotes = breaks = returns = 0
    columns: list[Sequence[str | None]] = []
    for is_bare, column in zip(bare, zip(*records, strict=True), strict=True):
        nulls = column.count(null)
        joined = "".join(column)
        quotes += joined.count(quote) * 2
        breaks += joined.count(terminator)
        returns += joined.count("\r")
        if not is_bare:
            quotes += (len(records) - nulls) * 2
        columns.append([None if text == null else text for text in column] if nulls else column)
    ends = len(records) - (not complete)
    if (
        quotes != characters.count(quote)
        or breaks + ends != characters.count(terminator)
        or (returns != characters.count("\r") and terminator == "\n")
    ):
        return None
    return columns
