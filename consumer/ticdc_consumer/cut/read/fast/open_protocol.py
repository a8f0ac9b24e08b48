"""Open Protocol by regular expressions: one match proves the value of a row of a known table."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import orjson
import pyarrow as pa
from ticdc_encoder.column import BINARIES, Column, ColumnType
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Event, RowChange
from ticdc_encoder.formats.open_protocol import VERSION
from ticdc_encoder.formats.open_protocol.types import READERS

from ticdc_consumer.cut.read.fast.json import (
    BASE64,
    CHARACTERS,
    COUNT,
    DECIMAL,
    DIGITS,
    FLOAT,
    SIGNED,
    STRING,
    UNSIGNED,
    FastRun,
    FastTables,
    Form,
    Member,
    add_form,
    is_utf_8,
    match_all,
    of_distinct,
    read,
    row,
)
from ticdc_consumer.protocols.shape import TableShapes
from ticdc_consumer.source.records import Records
from ticdc_consumer.targets.layout import Layout

_KEY_ROW = re.compile(rb'(.{8})\{"ts":([1-9][0-9]{0,18}+)(,[^}]*+\})', re.DOTALL)
"""A row of a key: its length, its ts, and its head, which is the rest."""
_NAMES = rb'(,"scm":"' + STRING + rb'","tbl":"' + STRING + rb'")'
_ROW_ID = re.compile(_NAMES + rb',"rid":-?' + COUNT + rb"(,.*+)", re.DOTALL)
"""The names and the rest of a key's row with the row id of the old architecture, which no head
has."""
_HEAD = re.compile(_NAMES + rb'(?:,"ptn":' + COUNT + rb')?,"t":1(?:,"ptn":' + COUNT + rb")?\}")
_MOST_HEADS = 8192
_MOST_ROWS = 1_000
"""Approximate rows read together: few enough for the processor's cache."""
_ESCAPED = (
    rb"\\(?:[\"/bfnrt]|u(?!005[cC]|[dD][89a-fA-F])[0-9a-fA-F]{4}"
    rb"|\\(?:[abfnrtv]|\\\\|\\\"|x[0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
    rb"|U00(?:0[1-9a-fA-F]|10)[0-9a-fA-F]{4}))"
)
_QUOTED = CHARACTERS + rb"(?:" + _ESCAPED + CHARACTERS + rb")*+"
"""The inside of a string as Go's strconv.Quote writes it, in JSON: every backslash is doubled."""


class FastOpen:
    """Reads records whose rows all have the members, order, types and flags of rows that were
    decoded before."""

    def __init__(
        self,
        layouts: Sequence[Layout],
        shapes: TableShapes,
        latest: int,
    ) -> None:
        self._tables = FastTables(layouts, shapes)
        self._latest = latest
        self._forms: dict[tuple[str, str], dict[bytes, list[Form]]] = {}
        self._heads: dict[bytes, dict[bytes, list[Form]]] = {}
        """The forms by the key's text after `ts`, then by the start of the value."""

    @property
    def size(self) -> int:
        forms = sum(len(of_kind) for kinds in self._forms.values() for of_kind in kinds.values())
        return forms + len(self._heads)

    def begin(self, latest: int) -> None:
        self._latest = latest
        self._tables.begin()

    def take(self, records: Records, start: int, end: int) -> FastRun:
        keys, values = records.keys, records.values
        rows: list[tuple[bytes, bytes, bytes]] = []
        pieces: list[bytes] = []
        rows_of: list[int] = []
        kinds: dict[bytes, dict[bytes, list[Form]]] = {}
        framed = 0
        for index in range(start, end):
            if len(rows) >= _MOST_ROWS:
                end = index
                break
            key, value = keys[index] or b"", values[index] or b""
            key_rows = _KEY_ROW.findall(key, 8) if key[:8] == VERSION else ()
            if not key_rows or not self._know({head for _, _, head in key_rows}, kinds):
                end = index
                break
            at, stop = 0, len(value)
            while at < stop:
                begin = at + 8
                at = begin + int.from_bytes(value[at:begin], "big")
                pieces.append(value[begin:at])
            framed += len(key) - 8
            rows += key_rows
            rows_of += repeat(index, len(key_rows))
            if at != stop or len(pieces) != len(rows):
                return FastRun(index + 1)
        if not rows or not _is_framed(rows, framed):
            return FastRun(end)
        commit_ts = [int(digits) for _, digits, _ in rows]
        if max(commit_ts) > self._latest:
            return FastRun(end)
        groups: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)
        for position, ((_, _, head), piece) in enumerate(zip(rows, pieces, strict=True)):
            groups[id(kinds[head]), piece[:3]].append(position)
        parts = []
        for (_, kind), positions in groups.items():
            forms = kinds[rows[positions[0]][2]].get(kind, [])
            matched = match_all(forms, [pieces[position] for position in positions])
            if matched is None:
                return FastRun(end)
            form, columns = matched
            of_form = form.rows([commit_ts[position] for position in positions], columns)
            parts.append(([rows_of[position] for position in positions], of_form))
        return FastRun(end, parts)

    def _know(self, heads: set[bytes], kinds: dict[bytes, dict[bytes, list[Form]]]) -> bool:
        """Returns whether all of these are heads of known tables, and adds their kinds of rows."""
        new = heads - kinds.keys()
        for head in new:
            known = self._heads.get(head) or self._without_row_id(head)
            if known is not None:
                kinds[head] = known
        return new <= kinds.keys()

    def _without_row_id(self, head: bytes) -> dict[bytes, list[Form]] | None:
        match = _ROW_ID.fullmatch(head)
        return self._heads.get(match[1] + match[2]) if match else None

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        if not key or not value:
            return
        for event, pair, piece in zip(events, _items(key, 8), _items(value, 0), strict=True):
            if isinstance(event, RowChange):
                self._learn(event, pair[pair.find(b",") :], piece)

    def _learn(self, change: RowChange, head: bytes, piece: bytes) -> None:
        number = self._tables.number(change)
        if number is None or not is_utf_8(piece):
            return
        name = (change.table.schema, change.table.name)
        kinds = self._forms.setdefault(name, {})
        if match := _ROW_ID.fullmatch(head):
            head = match[1] + match[2]
        if len(self._heads) < _MOST_HEADS and _HEAD.fullmatch(head):
            self._heads[head] = kinds
        forms = kinds.setdefault(piece[:3], [])
        if not match_all(forms, [piece]) and self._tables.due(change):
            form = _form(piece, change, number, self._tables.key(number))
            if form is not None:
                add_form(forms, form)

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        arrays = read(
            pieces,
            [(c.name, pa.struct([("v", _arrow_type(c.type))])) for c in layout.source],
        )
        return [
            _canonical(array.field(0), column, layout)
            for array, column in zip(arrays, layout.source, strict=True)
        ]


def _is_framed(rows: Sequence[tuple[bytes, bytes, bytes]], size: int) -> bool:
    """Returns whether keys of this many bytes are exactly these rows, each with its length."""
    lengths, digits, heads = zip(*rows, strict=True)
    return size == 6 * len(rows) + len(b"".join(chain.from_iterable(rows))) and all(
        int.from_bytes(length, "big") == 6 + count + len(head)
        for length, count, head in {*zip(lengths, map(len, digits), heads, strict=True)}
    )


def _items(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data):
        start = at + 8
        at = start + int.from_bytes(data[at:start], "big")
        yield data[start:at]


def _form(piece: bytes, change: RowChange, number: int, key: Sequence[str]) -> Form | None:
    """Returns the form of this row, or None if expressions do not describe it."""
    content = orjson.loads(piece)
    new, old = content.get("u"), content.get("p")
    image = content["d"] if change.after is None else new
    types = {column.name: column.type for column in change.table.columns}
    members = [_as_member(name, column, types[name]) for name, column in image.items()]
    keys = [*map([*image].index, key)]
    if change.after is None:
        pattern = rb'\{"d":' + row(members, keys, "old") + rb"\}"
    else:
        partial = old is not None and [*old] != [*new]
        pattern = (
            rb'\{"u":(?P<row>'
            + row(members, keys, "new")
            + rb')(?:,"p":'
            + row(members, keys, "old", partial)
            + rb")?\}"
        )
    form = Form(pattern, number, optional=change.after is not None)
    return form if form.match_all([piece]) else None


def _as_member(name: str, column: Mapping[str, Any], type_: ColumnType) -> Member:
    about = [orjson.dumps(n) + b":" + orjson.dumps(v) for n, v in column.items() if n != "v"]
    before = orjson.dumps(name) + b":{" + b",".join([*about, b'"v":'])
    inside, key, quoted = STRING, CHARACTERS, True
    if type_.name in DIGITS:
        inside = key = UNSIGNED if _arrow_type(type_) == pa.uint64() else SIGNED
        quoted = False
    elif type_.name in ("float", "double"):
        inside, quoted = FLOAT, False
    elif type_.name == "decimal":
        inside = key = DECIMAL
    elif type_.name in ("binary", "varbinary"):
        inside = _QUOTED
    elif _is_large(type_):
        inside = BASE64
    return Member(before, inside, b"}", quoted, key)


def _is_large(type_: ColumnType) -> bool:
    return type_.name.endswith(("text", "blob"))


def _arrow_type(type_: ColumnType) -> pa.DataType:
    if type_.name in DIGITS:
        return pa.uint64() if type_.unsigned or type_.name in ("bit", "set") else pa.int64()
    return pa.float64() if type_.name in ("float", "double") else pa.string()


def _canonical(values: pa.Array, column: Column, layout: Layout) -> pa.Array:
    type_ = column.type
    if type_.name in DIGITS:
        return values.cast(pa.string())
    if type_.name in ("float", "double"):
        return of_distinct(values, repr)
    if type_.name not in BINARIES and not _is_large(type_):
        return values
    reader = READERS[type_.name]
    decoded = [None if v is None else reader(v) for v in values.to_pylist()]
    try:
        return pa.array(decoded, pa.binary() if type_.binary else pa.string())
    except UnicodeEncodeError:
        raise WireError(f"{layout.name}.{column.name}: text that is not UTF-8") from None
