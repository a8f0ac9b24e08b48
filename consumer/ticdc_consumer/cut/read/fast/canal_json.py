"""Canal-JSON by regular expressions: one match proves a whole message of a known table."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from ticdc_encoder.column import BINARIES, ColumnType
from ticdc_encoder.event import Event, RowChange
from ticdc_encoder.values import FAMILIES

from ticdc_consumer.cut.read.facts import FastRows
from ticdc_consumer.cut.read.fast.json import (
    BASE64,
    CHARACTERS,
    COMMIT_TS,
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

_HEAD_END = b',"type":"'
"""The end of the part that is the same in all rows of a table."""
_TO_KIND = len(_HEAD_END) + 1
"""The length up to the first letter of the type, which distinguishes the kinds of changes."""
_MOST_TYPES = 1024
_ASCII = rb"[\x20\x21\x23-\x5b\x5d-\x7f]*+"
_LATIN_1 = (
    _ASCII
    + rb"(?:(?:[\xc2\xc3][\x80-\xbf]|\\(?:[\"\\/bfnrt]|u00[0-9a-fA-F]{2}))"
    + _ASCII
    + rb")*+"
)
"""Bytes as the characters up to U+00FF."""


class FastCanal:
    """Reads rows whose members are those of a row that was decoded before, in the same order.

    `sqlType` must have come before, since the plain decoder does not check it; `mysqlType` may have
    its members in any order, as Go's maps do.
    """

    def __init__(
        self,
        layouts: Sequence[Layout],
        shapes: TableShapes,
        latest: int,
    ) -> None:
        self._tables = FastTables(layouts, shapes)
        self._latest = latest
        self._forms: dict[bytes, list[_CanalForm]] = {}
        """The forms by the head, which ends with the first letter of `type`."""
        self._head_length = 0
        """The length of a frequent head: finding its end takes longer than trying it."""

    @property
    def size(self) -> int:
        return sum(map(len, self._forms.values()))

    def begin(self, latest: int) -> None:
        self._latest = latest
        self._tables.begin()

    def take(self, records: Records, start: int, end: int) -> FastRun:
        values, forms, usual = records.values, self._forms, self._head_length
        positions: defaultdict[bytes, list[int]] = defaultdict(list)
        head = b""
        for index in range(start, end):
            value = values[index] or b""
            head = value[:usual]
            if head not in forms:
                head = value[: value.find(_HEAD_END) + _TO_KIND]
                if head not in forms:
                    end = index
                    break
            positions[head].append(index)
        parts = []
        for head, indices in positions.items():
            rows = self._rows(forms[head], [values[index] or b"" for index in indices])
            if rows is None:
                return FastRun(end)
            parts.append((indices, rows))
        if parts:
            self._head_length = len(head)
        return FastRun(end, parts)

    def _rows(self, forms: "list[_CanalForm]", messages: Sequence[bytes]) -> FastRows | None:
        matched = match_all(forms, messages)
        if matched is None:
            return None
        form, columns = matched
        commit_ts = [*map(int, columns[-1])]
        if max(commit_ts) > self._latest or not form.knows(columns[0], columns[1]):
            return None
        return form.rows(commit_ts, columns)

    def learn(self, key: bytes | None, value: bytes | None, events: Sequence[Event]) -> None:
        change = events[0] if len(events) == 1 else None
        if value is None or not isinstance(change, RowChange):
            return
        number = self._tables.number(change)
        at = value.find(_HEAD_END)
        if number is None or at < 0:
            return
        head = value[: at + _TO_KIND]
        if matched := match_all(self._forms.get(head, []), [value]):
            form, columns = matched
            form.add(columns[0][0], columns[1][0])
            return
        # The plain decoder checks neither sqlType nor whether it is UTF-8.
        if is_utf_8(value) and self._tables.due(change):
            form_of_row = _form(value, at, change, number, self._tables.key(number))
            if form_of_row is not None:
                add_form(self._forms.setdefault(head, []), form_of_row)

    def parse(self, layout: Layout, pieces: Sequence[bytes]) -> Sequence[pa.Array]:
        arrays = read(pieces, [(column.name, pa.string()) for column in layout.source])
        return [
            _canonical(array, column.type)
            for array, column in zip(arrays, layout.source, strict=True)
        ]


class _CanalForm(Form):
    """A row's form, and the texts of `sqlType` and `mysqlType` that its rows may have."""

    def __init__(
        self, pattern: bytes, table: int, optional: bool, skip: int, types: Mapping[str, str]
    ) -> None:
        super().__init__(pattern, table, optional, skip)
        # Without their outer quotes: split at `","`, which occurs in no string.
        self._members = {
            orjson.dumps(name)[1:] + b":" + orjson.dumps(type_)[:-1]
            for name, type_ in types.items()
        }
        self._sql: set[bytes] = set()
        self._mysql: set[bytes] = set()

    def add(self, sql: bytes, mysql: bytes) -> None:
        if len(self._sql) < _MOST_TYPES:
            self._sql.add(sql)
        self._keep(mysql)

    def knows(self, sql: Sequence[bytes], mysql: Sequence[bytes]) -> bool:
        """Returns whether all of these texts are known."""
        # Usually all are equal: comparing them is faster than hashing them.
        distinct = {sql[0]} if sql.count(sql[0]) == len(sql) else {*sql}
        return distinct <= self._sql and all(map(self._is_mysql, {*mysql} - self._mysql))

    def _is_mysql(self, mysql: bytes) -> bool:
        members = mysql[2:-2].split(b'","')
        if (
            len(members) != len(self._members)
            or {*members} != self._members
            or mysql[:2] != b'{"'
            or mysql[-2:] != b'"}'
        ):
            return False
        self._keep(mysql)
        return True

    def _keep(self, mysql: bytes) -> None:
        if len(self._mysql) < _MOST_TYPES:
            self._mysql.add(mysql)


def _form(
    value: bytes, at: int, change: RowChange, number: int, key: Sequence[str]
) -> _CanalForm | None:
    """Returns the form of this message, or None if expressions do not describe it."""
    message = orjson.loads(value)
    image, kind = message["data"][0], message["type"].encode()
    types = {column.name: column.type for column in change.table.columns}
    members, keys = [_as_member(n, types[n]) for n in image], [*map([*image].index, key)]
    old, data = b"null", row(members, keys, "old" if kind == b"DELETE" else "new")
    partial = kind == b"UPDATE" and [*message["old"][0]] != [*image]
    if kind == b"UPDATE":
        old = rb"\[%s\]" % row(members, keys, "old", partial)
    pattern = (
        _HEAD_END + kind + b'","es":' + COUNT + b',"ts":' + COUNT + b',"sql":"",'
        rb'"sqlType":(\{[^}]*+\}),"mysqlType":(\{[^}]*+\}),"old":' + old + rb',"data":\['
        rb"(?P<row>"
        + data
        + rb')\],"_tidb":\{"commitTs":('
        + COMMIT_TS
        + rb')(?:,"rowkey":"'
        + BASE64
        + rb'")?\}\}'
    )
    form = _CanalForm(pattern, number, partial, at, message["mysqlType"])
    groups = form.match_all([value])
    if groups is None:
        return None
    form.add(groups[0][0], groups[0][1])
    return form


def _as_member(name: str, type_: ColumnType) -> Member:
    inside, key = STRING, CHARACTERS
    if type_.name in DIGITS:
        wide = type_.unsigned or type_.name in ("bit", "set")
        inside = key = UNSIGNED if wide else SIGNED
    elif type_.name == "decimal":
        inside = key = DECIMAL
    elif type_.name in ("float", "double"):
        inside = FLOAT
    elif type_.name in BINARIES:
        inside = _LATIN_1
    return Member(orjson.dumps(name) + b":", inside, b"", True, key)


def _canonical(texts: pa.Array, type_: ColumnType) -> pa.Array:
    if type_.name in BINARIES and pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return texts.cast(pa.binary())
    if type_.name in ("float", "double"):
        return of_distinct(texts, lambda text: repr(float(text)))
    if type_.name in BINARIES:
        family = FAMILIES[type_.name]
        values = [
            None if text is None else family.canonical(family.from_text(text))
            for text in texts.to_pylist()
        ]
        return pa.array(values, pa.binary() if type_.binary else pa.string())
    return texts
