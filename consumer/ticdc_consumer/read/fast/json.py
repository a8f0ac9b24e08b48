"""Rows' JSON as regular expressions, for the fast readers.

Every expression matches only what the plain decoder reads, and of that only values whose text is
their canonical form: no leading zero, no lone surrogate. What does not match may still be valid;
the plain decoder decides that.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import json
from ticdc_encoder.column import INTEGERS, TEMPORALS
from ticdc_encoder.event import RowChange

from ticdc_consumer.protocols.shape import TableShapes, shape
from ticdc_consumer.read.columns import Key
from ticdc_consumer.targets.layout import Layout

CHARACTERS = rb"[^\"\\\x00-\x1f]*+"
"""The inside of a string that means its own bytes. Whether they are UTF-8 is tested separately."""
STRING = (
    CHARACTERS + rb"(?:\\(?:[\"\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})" + CHARACTERS + rb")*+"
)
_UNUSUAL = bytes(range(0x20)) + b"\\"
_USUAL = rb"[^\"]*+"
"""What CHARACTERS and STRING come to where no byte is unusual, for a fourth of the time: of all
sets, `re` finds the end of that one the fastest."""
SIGNED = rb"(?:0|-?[1-9][0-9]{0,17}+(?![0-9])|-?[1-8][0-9]{18})"
UNSIGNED = rb"(?:0|[1-9][0-9]{0,18}+(?![0-9])|1[0-7][0-9]{18})"
"""Integers of 64 bits, except for the greatest and least few."""
DECIMAL = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?"
FLOAT = rb"(?!-0[\"}])-?(?:0|[1-9][0-9]{0,199}+)(?:\.[0-9]++)?(?:e[+-]?[0-9]{1,2})?"
"""Finite numbers, except for the integer -0, whose sign only some JSON readers keep."""
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
"""The row of a kind at which the first expression for it is made: that takes as long as decoding
some hundred rows."""
MOST_FORMS = 6
"""Expressions per table and kind of change."""

FastChange = tuple[int, int, Key | None, bytes | None, Key | None]
"""Table number, commit_ts, the key that is present, the piece that holds its row, the key that is
absent."""


class Member(NamedTuple):
    """A column in a row's JSON: `value` between literal bytes and, if it is a string, quotes.
    `key` replaces `value` if the column is in the key."""

    before: bytes
    value: bytes
    after: bytes
    quoted: bool
    key: bytes


def row(
    members: Sequence[Member], keys: Sequence[int], prefix: str, partial: bool = False
) -> bytes:
    """An object of these members in this order; `partial` if any of them may be left out. The
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
        # There is a comma before another member, and only there.
        return rb"\{%s\}" % b"".join([rb'(?:%s(?:,(?=")|(?=\})))?+' % part for part in parts])
    return rb"\{%s\}" % b",".join(parts)


class Form:
    """One form of a table's rows: an expression for the whole of a row's message, with the keys as
    groups `new<i>` and `old<i>`, and the row that is present as `row`. `match_usual` does the same
    for messages that are usual."""

    def __init__(self, pattern: "re.Pattern[bytes]", table: int) -> None:
        self.fullmatch = pattern.fullmatch
        usual = pattern.pattern.replace(STRING, _USUAL).replace(CHARACTERS, _USUAL)
        self.match_usual = compiled(usual).fullmatch
        self.table = table
        self._new = _key(pattern, "new")
        self._old = _key(pattern, "old")
        self._row = pattern.groupindex.get("row", 0) - 1

    def change(self, commit_ts: int, groups: Sequence[Any]) -> FastChange:
        """What the row's message says."""
        old = None if self._old is None else self._old(groups)
        if self._new is None:
            return self.table, commit_ts, None, None, old
        new = self._new(groups)
        if old.__class__ is tuple and None in old:
            # A column that was left out did not change.
            old = tuple([b if a is None else a for a, b in zip(old, new, strict=True)])
        return self.table, commit_ts, new, groups[self._row], old


def _key(pattern: "re.Pattern[bytes]", prefix: str) -> Callable[[Any], Any] | None:
    names = [f"{prefix}{i}" for i in range(pattern.groups)]
    positions = [pattern.groupindex[n] - 1 for n in names if n in pattern.groupindex]
    return itemgetter(*positions) if positions else None


@lru_cache(maxsize=4096)
def compiled(pattern: bytes) -> "re.Pattern[bytes]":
    """The expression, kept for the life of a worker, over many cuts."""
    return re.compile(pattern)


class FastTables:
    """Which tables' rows may be read fast, and how many others were read."""

    def __init__(
        self,
        layouts: Sequence[Layout],
        shapes: TableShapes,
    ) -> None:
        self._layouts = layouts
        self._shapes = shapes
        self._met: dict[int, tuple[Layout, dict[str, tuple[str, bool]]]] = {}
        self._rows_read: Counter[tuple[str, str, bool, bool]] = Counter()

    def number(self, change: RowChange) -> int | None:
        """The table's number, if the plain path accepts such a row and it is an ordinary one."""
        table = change.table
        number, expected = self._shapes.get((table.schema, table.name), (0, None))
        if expected is None or change.incomplete or change.claim_check is not None:
            return None
        layout, kinds = self._known(number)
        sent = {c.name: (c.type.name, c.type.unsigned) for c in table.columns}
        if change.after is None:
            whole = sent.items() <= kinds.items() and sent.keys() >= {*layout.key}
        else:
            whole = sent == kinds and shape(table) == expected
        named = not table.handle_key or {*table.handle_key} == {*layout.key}
        plain = all(name in kinds and kinds[name][0] in KEY_TYPES for name in layout.key)
        return number if layout.key and whole and named and plain else None

    def key(self, number: int) -> tuple[str, ...]:
        return self._known(number)[0].key

    def _known(self, number: int) -> tuple[Layout, dict[str, tuple[str, bool]]]:
        """The layout of a table that has come, and the types of its columns by name."""
        met = self._met.get(number)
        if met is None:
            layout = self._layouts[number].sent
            kinds = {
                column.name: (column.type.name, column.type.unsigned) for column in layout.source
            }
            met = self._met[number] = layout, kinds
        return met

    def due(self, change: RowChange) -> bool:
        """Whether it is time to make another form: at the 32nd, 64th, 128th, ... row of a kind."""
        name = (change.table.schema, change.table.name, change.before is None, change.after is None)
        self._rows_read[name] += 1
        count = self._rows_read[name]
        return count >= FIRST_TRY and count & (count - 1) == 0


def is_usual(data: bytes) -> bool:
    """Whether no byte of it is a backslash or a control character."""
    return len(data.translate(None, _UNUSUAL)) == len(data)


def has_no_control(data: bytes) -> bool:
    """Whether no byte of it is a control character. Worth while for much data: of little, it costs
    more than `is_usual`."""
    return not data or bool(np.frombuffer(data, np.uint8).min() >= 0x20)


def is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def read(pieces: Sequence[bytes], types: Sequence[tuple[str, pa.DataType]]) -> list[pa.Array]:
    """The members of these names and types, an array each. The pieces must be objects that have
    them: an expression has matched them."""
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


def of_distinct(values: pa.Array, text: Callable[[Any], str]) -> pa.Array:
    """The texts of numbers, NULL of NULL. Each number is asked for once: its shortest decimal takes
    long to find, and rows share numbers."""
    encoded = values.dictionary_encode()
    texts = pa.array([text(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)
