"""The fields of a csv file: of any that TiCDC's settings can make, and quicker of a regular one."""

import csv
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import StringIO
from typing import NamedTuple

from ticdc_encoder.errors import WireError

PIECE = 1 << 15
"""Approximate number of characters read at once: more would not stay in the processor's cache."""

Fields = list[str | None]
"""A record's fields, without quotes or escapes, None for NULL."""


class Texts(NamedTuple):
    """A column's fields, and whether NULL is among them."""

    texts: Sequence[str | None]
    nulls: bool


def fields(
    characters: str, delimiter: str, terminator: str, quote: str, null: str, start: int = 0
) -> Iterator[Fields]:
    """The records of a file from `start` on. Raises WireError for invalid csv."""
    length, end, record = len(characters), start, Fields()
    for match in _pattern(delimiter, terminator, quote).finditer(characters, start):
        start = match.start()
        if start != end:
            break
        if start == length and not record:
            return
        inside, bare, after = match.groups()
        end = match.end()
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
    """A pattern for a field and its end: the characters inside quotes, those of a bare field, the
    end.
    """
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
    return _ESCAPED.sub(lambda match: _BREAKS.get(match[1], match[1]), bare)


def pieces(characters: str, terminator: str, quote: str) -> Iterator[int]:
    """Ends of pieces of whole records in a file, if it is regular."""
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
) -> list[Texts] | None:
    """The file's columns by Python's own reader, where it reads what `fields` does; else None.

    `bare` marks the fields that TiCDC writes without quotes. The reader does not distinguish a
    quoted field from a bare one, nor one end of a line from another: their numbers do. Those inside
    of bare fields are not counted: no such value has a quote or the end of a line.
    """
    if len(quote) != 1 or len(delimiter) != 1 or terminator not in ("\r\n", "\n"):
        return None
    if not characters or quote in null or delimiter in null:
        return None
    if f"{quote}{null}{quote}" in characters:
        return None  # the text that NULL is written as
    complete = characters.endswith(terminator)
    if not complete and characters[-1] in "\r\n":
        return None
    lines = StringIO(characters, newline="")
    try:
        records = csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True)
        raw = list(zip(*records, strict=True))
    except (csv.Error, ValueError):
        return None
    if len(raw) != len(bare):
        return None
    number = len(raw[0])
    may_be_null = null[:1] in characters
    nulls = [column.count(null) if may_be_null else 0 for column in raw]
    strings = [(c, n) for c, n, is_bare in zip(raw, nulls, bare, strict=True) if not is_bare]
    ends = number - (not complete)
    quotes = characters.count(quote) - sum([number - n for _, n in strings]) * 2
    returns = characters.count("\r") - (ends if terminator == "\r\n" else 0)
    feeds = characters.count("\n") - ends
    torn = returns or feeds or records.line_num != number
    inside = ["".join(column) for column, _ in strings]
    if quotes != sum([joined.count(quote) for joined in inside]) * 2:
        return None
    if torn:
        breaks = sum([joined.count(terminator) for joined in inside])
        if breaks + ends != characters.count(terminator):
            return None
        if returns != sum([joined.count("\r") for joined in inside]) and terminator == "\n":
            return None
    return [
        Texts([None if text == null else text for text in column] if n else column, n > 0)
        for column, n in zip(raw, nulls, strict=True)
    ]
