"""Rows' JSON as regular expressions, for the fast readers.

Every expression matches only text that the plain decoder reads, and only values whose text is their
canonical form: no leading zero, no lone surrogate. Text that does not match may still be valid; the
plain decoder decides that.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import compress
from operator import not_
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from pyarrow import json
from ticdc_encoder.column import INTEGERS, TEMPORALS
from ticdc_encoder.event import RowChange

from ticdc_consumer.cut.read.facts import FastRows
from ticdc_consumer.protocols.shape import NO_ROWS, TableShapes, shape
from ticdc_consumer.targets.layout import Layout

CHARACTERS = rb"[^\"\\\x00-\x1f]*+"
"""The inside of a string that stands for its own bytes. UTF-8 is tested separately."""
STRING = (
    CHARACTERS + rb"(?:\\(?:[\"\\/bfnrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})" + CHARACTERS + rb")*+"
)
_USUAL = rb"[^\"]*+"
"""CHARACTERS and STRING for text without unusual bytes, in a fourth of the time: of all sets, `re`
finds the end of this one fastest."""
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
"""The row of a kind at which its first expression is made: that takes as long as decoding some
hundred rows."""
MOST_FORMS = 6
"""The most expressions per table and kind of change."""
ONE_BY_ONE = 1_000
"""Messages of a form that are matched one by one before an expression for many is made: making it
takes as long as it saves for this many."""


FastParts = Sequence[tuple[Sequence[int], FastRows]]


class FastRun(NamedTuple):
    """The changes of the records before `end`, those of a kind together and in order, with the
    record of each. None if a record is not recognised in full."""

    end: int
    parts: FastParts = ()

    @property
    def changes(self) -> int:
        """The number of changes."""
        return sum(len(records) for records, _ in self.parts)


class Member(NamedTuple):
    """A column in a row's JSON: `value` between literal bytes and, if it is a string, quotes. `key`
    replaces `value` if the column is in the key."""

    before: bytes
    value: bytes
    after: bytes
    quoted: bool
    key: bytes


def row(
    members: Sequence[Member], keys: Sequence[int], prefix: str, partial: bool = False
) -> bytes:
    """Returns the expression for an object of these members in this order; `partial` if any of them
    may be left out. The value of the member `keys[i]` is the group `<prefix><i>`; any other may be
    null."""
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
        # A comma stands only before another member.
        return rb"\{%s\}" % b"".join([rb'(?:%s(?:,(?=")|(?=\})))?+' % part for part in parts])
    return rb"\{%s\}" % b",".join(parts)


class Expression:
    """An expression for a whole message, whose first `skip` bytes are ignored. `optional`: some of
    its groups may be left out."""

    def __init__(self, pattern: bytes, skip: int, optional: bool) -> None:
        self.pattern = re.compile(pattern)
        self._skip = skip
        # `findall` gives an empty group for a missing one, and a tuple only for several.
        self._is_plain = not optional and self.pattern.groups > 1
        self._matched = 0

    def match_all(
        self, messages: Sequence[bytes], lines: bytes | None = None
    ) -> Sequence[Sequence[Any]] | None:
        """Returns the groups of these messages, which have no control characters, or None unless
        all match. `lines` are the messages already joined by `as_lines`."""
        self._matched += len(messages)
        if self._matched < ONE_BY_ONE:
            matches = [self.pattern.fullmatch(message, self._skip) for message in messages]
            return None if None in matches else [match.groups() for match in matches if match]
        # A match beyond the end of a line would leave fewer matches than messages.
        lines = lines or as_lines(messages)
        if self._is_plain:
            rows = self._line.findall(lines)
        else:
            rows = [match.groups() for match in self._line.finditer(lines)]
        return rows if len(rows) == len(messages) else None

    @cached_property
    def _line(self) -> "re.Pattern[bytes]":
        return re.compile(rb"\n(?s:.{%d})%b(?=\n)" % (self._skip, self.pattern.pattern))


def as_lines(messages: Sequence[bytes]) -> bytes:
    """Puts each of them between two line breaks."""
    return b"\n".join((b"", *messages, b""))


@lru_cache(maxsize=4096)
def expression(pattern: bytes, skip: int, optional: bool) -> Expression:
    """Keeps expressions for the life of a worker, over many cuts."""
    return Expression(pattern, skip, optional)


class Form:
    """One form of a table's rows: an expression for a row's whole message, with the keys as groups
    `new<i>` and `old<i>`, and the present row as `row`. The first `skip` bytes of a message are
    ignored. `optional`: keys of the old row may be left out."""

    def __init__(self, pattern: bytes, table: int, optional: bool, skip: int = 0) -> None:
        usual = pattern.replace(STRING, _USUAL).replace(CHARACTERS, _USUAL)
        self._any = expression(pattern, skip, optional)
        self._usual = expression(usual, skip, optional)
        self.table = table
        groups = self._any.pattern.groupindex
        self._new, self._old = _positions(groups, "new"), _positions(groups, "old")
        self._row = groups.get("row", 0) - 1

    def match_all(self, messages: Sequence[bytes]) -> Sequence[Sequence[Any]] | None:
        """Returns the groups of these messages, or None unless all of them are UTF-8 and match."""
        lines = as_lines(messages)
        controls = np.count_nonzero(np.frombuffer(lines, np.uint8) < 0x20)
        if controls > len(messages) + 1 or not (lines.isascii() or is_utf_8(lines)):
            return None
        if b"\\" not in lines:
            return self._usual.match_all(messages, lines)
        escaped = [b"\\" in message for message in messages]
        rows = []
        for of_kind, chosen in ((self._usual, map(not_, escaped)), (self._any, escaped)):
            groups = of_kind.match_all([*compress(messages, chosen)])
            if groups is None:
                return None
            rows.append(iter(groups))
        return [next(rows[is_escaped]) for is_escaped in escaped]

    def rows(self, commit_ts: Sequence[int], columns: Sequence[Sequence[Any]]) -> FastRows:
        """Returns the changes in rows' messages; each column is one of their groups."""
        new, old = ([columns[at] for at in positions] for positions in (self._new, self._old))
        if new and old:
            # A column that was left out did not change.
            old = [_filled(column, now) for column, now in zip(old, new, strict=True)]
        bodies = columns[self._row] if new else None
        return FastRows(self.table, commit_ts, _keys(new), bodies, _keys(old))


FormT = TypeVar("FormT", bound=Form)


def match_all(
    forms: list[FormT], messages: Sequence[bytes]
) -> tuple[FormT, Sequence[Sequence[Any]]] | None:
    """Returns the common form of these messages, and a column for each of its groups; None if they
    have no common form."""
    for form in forms:
        groups = form.match_all(messages)
        if groups is not None:
            if form is not forms[0]:
                # The next messages are most likely alike.
                forms.remove(form)
                forms.insert(0, form)
            return form, [*zip(*groups, strict=True)]
    return None


def add_form(forms: list[FormT], form: FormT) -> None:
    """Adds a form. If there are too many, the one unused for longest is dropped."""
    if len(forms) >= MOST_FORMS:
        forms.pop()
    forms.insert(0, form)


def _positions(groups: Mapping[str, int], prefix: str) -> Sequence[int]:
    names = [f"{prefix}{i}" for i in range(len(groups))]
    return [groups[name] - 1 for name in names if name in groups]


def _filled(values: Sequence[Any], defaults: Sequence[Any]) -> Sequence[Any]:
    if None not in values:
        return values
    return tuple(b if a is None else a for a, b in zip(values, defaults, strict=True))


def _keys(columns: Sequence[Sequence[bytes]]) -> Sequence[Any] | None:
    """Returns a key for each row; None if there are no columns."""
    if len(columns) < 2:
        return columns[0] if columns else None
    return tuple(zip(*columns, strict=True))


class FastTables:
    """The tables whose rows may be read fast, and counts of rows read otherwise."""

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
        """Returns the table's number, if the plain path accepts such a row and it is an ordinary
        one."""
        table = change.table
        number, expected = self._shapes.get((table.schema, table.name), (0, NO_ROWS))
        if expected.keys_only or change.incomplete or change.claim_check is not None:
            return None
        layout, kinds = self._known(number)
        sent = {c.name: (c.type.name, c.type.unsigned) for c in table.columns}
        if change.after is None:
            whole = sent.items() <= kinds.items() and sent.keys() >= {*layout.key}
        else:
            whole = sent == kinds and shape(table) == expected.columns
        named = not table.handle_key or {*table.handle_key} == {*layout.key}
        plain = all(name in kinds and kinds[name][0] in KEY_TYPES for name in layout.key)
        return number if layout.key and whole and named and plain else None

    def key(self, number: int) -> tuple[str, ...]:
        return self._known(number)[0].key

    def _known(self, number: int) -> tuple[Layout, dict[str, tuple[str, bool]]]:
        """Returns the layout of a known table, and its columns' types by name."""
        met = self._met.get(number)
        if met is None:
            layout = self._layouts[number].sent
            kinds = {
                column.name: (column.type.name, column.type.unsigned) for column in layout.source
            }
            met = self._met[number] = layout, kinds
        return met

    def begin(self) -> None:
        """Restarts the counts: a missing form is made soon."""
        self._rows_read.clear()

    def due(self, change: RowChange) -> bool:
        """Returns whether to make another form: at the 32nd, 64th, 128th, ... row of a kind."""
        name = (change.table.schema, change.table.name, change.before is None, change.after is None)
        self._rows_read[name] += 1
        count = self._rows_read[name]
        return count >= FIRST_TRY and count & (count - 1) == 0


def is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def read(pieces: Sequence[bytes], types: Sequence[tuple[str, pa.DataType]]) -> list[pa.Array]:
    """Returns the members of these names and types, an array each. The pieces must be objects that
    have them: an expression has matched them."""
    lines = b"\n".join(pieces)
    table = json.read_json(
        pa.BufferReader(lines),
        # A row that straddles two blocks would be an error.
        read_options=json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=json.ParseOptions(
            explicit_schema=pa.schema(types), unexpected_field_behavior="ignore"
        ),
    )
    return [table.column(name).combine_chunks() for name, _ in types]


def of_distinct(values: pa.Array, text: Callable[[Any], str]) -> pa.Array:
    """Returns the texts of numbers, NULL for NULL. Each distinct number is formatted once: finding
    its shortest decimal takes long, and rows share numbers."""
    encoded = values.dictionary_encode()
    texts = pa.array([text(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)
