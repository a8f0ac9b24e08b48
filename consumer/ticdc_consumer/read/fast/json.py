"""Rows' JSON as regular expressions, for the fast readers.

Every expression is a part of what the plain decoder takes, and of it only values whose text is
their canonical form: no leading zero, no lone surrogate. What does not match may still be valid;
that is the plain decoder's to say.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import json
from ticdc_encoder.column import INTEGERS, TEMPORALS
from ticdc_encoder.event import RowChange

from ticdc_consumer.protocols.shape import TableShapes, shape
from ticdc_consumer.read.columns import Key
from ticdc_consumer.targets.layout import Layout

CHARACTERS = rb"[^\"\\\x00-\x1f]*+"
"""The inside of a string that means its own bytes. That these are UTF-8 is tested apart."""
STRING = (
    CHARACTERS + rb"(?:\\(?:[\"\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})" + CHARACTERS + rb")*+"
)
SIGNED = rb"(?:0|-?[1-9][0-9]{0,17}+(?![0-9])|-?[1-8][0-9]{18})"
UNSIGNED = rb"(?:0|[1-9][0-9]{0,18}+(?![0-9])|1[0-7][0-9]{18})"
"""Integers that 64 bits hold; the last few of them are left out."""
DECIMAL = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?"
FLOAT = rb"(?!-0[\"}])-?(?:0|[1-9][0-9]{0,199}+)(?:\.[0-9]++)?(?:e[+-]?[0-9]{1,2})?"
"""Finite numbers, but for the integer -0, of whose sign JSON readers think differently."""
BASE64 = (
    rb"(?:[A-Za-z0-9+/]{64})*+(?:[A-Za-z0-9+/]{4})*+"
    rb"(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
)
COUNT = rb"(?:0|[1-9][0-9]{0,17})"
COMMIT_TS = rb"[1-9][0-9]{0,18}"

DIGITS = INTEGERS | {"year", "bit", "enum", "set"}
KEY_TYPES = DIGITS | TEMPORALS | {"decimal", "char", "varchar"}
"""Types whose values are the same bytes on the wire and in canonical form."""

FIRST_TRY = 32
"""The first so many rows of a kind are the plain decoder's: to make an expression takes as long
as it needs for some hundred rows."""
MOST_FORMS = 6

FastChange = tuple[int, int, Key | None, bytes | None, Key | None]
"""Table number, commit_ts, the key that is present, the piece that holds its row, the key that is
absent."""


class Member(NamedTuple):
    """A column in a row's JSON: `value` between literal bytes and, if it is a string, quotes.
    `key` stands in its place where the column is in the key."""

    before: bytes
    value: bytes
    after: bytes
    quoted: bool
    key: bytes


def row(
    members: Sequence[Member], keys: Sequence[int], prefix: str, partial: bool = False
) -> bytes:
    """An object of these members in this order; `partial` where any of them may be left out. The
    value of the member `keys[i]` is the group `<prefix><i>`; any other may be null."""
    parts = []
    for position, member in enumerate(members):
        quote = b'"' * member.quoted
        if position in keys:
            name = f"{prefix}{keys.index(position)}".encode()
            value = b"%s(?P<%s>%s)%s" % (quote, name, member.key, quote)
        else:
            value = b"(?:%s%s%s|null)" % (quote, member.value, quote)
        parts.append(re.escape(member.before) + value + re.escape(member.after))
    if partial:
        # A comma stands before another member, and only there.
        return rb"\{%s\}" % b"".join([rb'(?:%s(?:,(?=")|(?=\})))?+' % part for part in parts])
    return rb"\{%s\}" % b",".join(parts)


class Form:
    """One form that a table's rows have: an expression for the whole of a row's message, with the
    keys as groups `new<i>` and `old<i>`, and the row that is there as `row`."""

    def __init__(self, pattern: "re.Pattern[bytes]", table: int) -> None:
        self.fullmatch = pattern.fullmatch
        self.table = table
        self._new = _key(pattern, "new")
        self._old = _key(pattern, "old")
        self._row = pattern.groupindex.get("row", 0) - 1

    def facts(self, groups: Sequence[Any]) -> tuple[Key | None, bytes | None, Key | None]:
        """The key that is present, its row, and the key that is absent."""
        old = None if self._old is None else self._old(groups)
        if self._new is None:
            return None, None, old
        new = self._new(groups)
        if old.__class__ is tuple and None in old:
            # What was left out did not change.
            old = tuple([b if a is None else a for a, b in zip(old, new, strict=True)])
        return new, groups[self._row], old


def _key(pattern: "re.Pattern[bytes]", prefix: str) -> Callable[[Any], Any] | None:
    names = [f"{prefix}{i}" for i in range(pattern.groups)]
    places = [pattern.groupindex[n] - 1 for n in names if n in pattern.groupindex]
    return itemgetter(*places) if places else None


@lru_cache(maxsize=4096)
def compiled(pattern: bytes) -> "re.Pattern[bytes]":
    """Kept for the life of a worker, over many cuts."""
    return re.compile(pattern)


class FastTables:
    """Which tables' rows may be read fast, and how often one was met that could not be."""

    def __init__(
        self,
        layouts: Sequence[Layout],
        shapes: TableShapes,
    ) -> None:
        self._layouts = layouts
        self._shapes = shapes
        self._kinds = [
            {c.name: (c.type.name, c.type.unsigned) for c in layout.source} for layout in layouts
        ]
        self._met: Counter[tuple[str, str, bool, bool]] = Counter()

    def number(self, change: RowChange) -> int | None:
        """The table's number, if the plain path takes such a row, and nothing is special in it."""
        table = change.table
        number, expected = self._shapes.get((table.schema, table.name), (0, None))
        if expected is None or change.incomplete or change.claim_check is not None:
            return None
        layout, kinds = self._layouts[number], self._kinds[number]
        found = {c.name: (c.type.name, c.type.unsigned) for c in table.columns}
        if change.after is None:
            whole = found.items() <= kinds.items() and found.keys() >= {*layout.key}
        else:
            whole = found == kinds and shape(table) == expected
        named = not table.handle_key or {*table.handle_key} == {*layout.key}
        plain = all(name in kinds and kinds[name][0] in KEY_TYPES for name in layout.key)
        return number if layout.key and whole and named and plain else None

    def key(self, number: int) -> tuple[str, ...]:
        return self._layouts[number].key

    def due(self, change: RowChange) -> bool:
        """Whether it is time to make another form: at the 32nd, 64th, 128th, ... row of a kind."""
        name = (change.table.schema, change.table.name, change.before is None, change.after is None)
        self._met[name] += 1
        met = self._met[name]
        return met >= FIRST_TRY and met & (met - 1) == 0


def is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def read(pieces: Sequence[bytes], types: Sequence[tuple[str, pa.DataType]]) -> list[pa.Array]:
    """The members of these names and types. The pieces are known to be objects that have them."""
    lines = b"\n".join(pieces)
    table = json.read_json(
        pa.BufferReader(lines),
        # A row that straddles two blocks is an error.
        read_options=json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=json.ParseOptions(
            explicit_schema=pa.schema(types), unexpected_field_behavior="ignore"
        ),
    )
    return [table.column(name).combine_chunks() for name, _ in types]
