"""Simple's JSON rows of a table that has many: parsed straight into its columns.

msgspec checks the members, their types and the names of the columns while it parses; a function
that is generated for these columns turns their texts into values. That takes two thirds of the time
of reading a message member by member (`bench/formats.py`). Only whole rows as TiCDC writes them are
read here; anything else, valid or not, is left to the decoder's own way.
"""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from types import CodeType
from typing import Annotated, Any, Literal

import msgspec

from ticdc_encoder.event import RowChange
from ticdc_encoder.formats.checksum import OnCorruption
from ticdc_encoder.formats.row_reader import RowReader
from ticdc_encoder.formats.simple.message import VERSION
from ticdc_encoder.formats.simple.rows import verified
from ticdc_encoder.values import decimal_value, float_value, integer_value, is_float, text

RowParser = Callable[[bytes], RowChange | None]
"""Returns the change, or None if the message must be read member by member."""

_Positive = Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]
TYPE = b',"type":'
"""The bytes before it in a row's message identify the table, as TiCDC writes it."""

_Column = tuple[str, bool, Literal["text", "integer", "decimal", "float", "other"]]
"""Name, whether it may be NULL, how it is read."""

_QUICK = {
    "integer": ("int({text})", "str({value}) != {text} or len({text}) > 18"),
    "decimal": (
        "Decimal({text})",
        "str({value}) != {text} or not {value}.is_finite() or 'E' in {text}",
    ),
    "float": ("float({text})", "not is_float({text}) or not isfinite({value})"),
}
"""The code that reads nearly all texts, and the test for a text that the column's reader must
read."""

_WAYS = {
    text: "text",
    integer_value: "integer",
    decimal_value: "decimal",
    float_value: "float",
}


def row_parser(
    reader: RowReader, names: Iterable[str], on_corruption: OnCorruption
) -> RowParser | None:
    """A parser of the rows of the reader's table in its version, if there can be one. `names` are
    the columns that a row has, in their order: virtual ones are only in the schema."""
    table = reader.table
    if not table.version:
        return None
    by_name = {column.name: column for column in table.columns}
    present = [by_name[name] for name in names]
    key = frozenset(table.handle_key)
    columns: Any = tuple(
        (c.name, c.nullable and c.name not in key, _WAYS.get(reader.readers[c.name], "other"))
        for c in present
    )
    try:
        row = _row(columns)
        decode = msgspec.json.Decoder(
            msgspec.defstruct(
                "Message",
                [
                    ("version", Literal[VERSION]),
                    ("database", Literal[table.schema]),
                    ("table", Literal[table.name]),
                    ("tableID", _Positive | None, None),
                    ("type", Literal["INSERT", "UPDATE", "DELETE"]),
                    ("commitTs", _Positive),
                    ("buildTs", int),
                    ("schemaVersion", Literal[table.version]),
                    ("checksum", dict[str, Any] | None, None),
                    ("data", row | None, None),
                    ("old", row | None, None),
                ],
                forbid_unknown_fields=True,
                kw_only=True,
                gc=False,
            )
        ).decode
    except (TypeError, ValueError, RuntimeError):
        return None  # a name or a version that msgspec does not accept
    known: dict[str, Any] = {"RowChange": RowChange, "table": table, "table_id": table.table_id}
    known |= {"Decimal": Decimal, "is_float": is_float, "isfinite": isfinite}
    known |= {f"read{n}": reader.readers[c.name] for n, c in enumerate(present)}
    exec(_code(columns), known)
    read = known["read"]

    def parse(plain: bytes) -> RowChange | None:
        try:
            message: Any = decode(plain)
            change: RowChange | None = read(message)
        except (msgspec.DecodeError, ValueError, TypeError, ArithmeticError, RecursionError):
            return None
        if message.checksum is not None and change is not None:
            return verified(change, message.checksum, on_corruption)
        return change

    return parse


@lru_cache(maxsize=1024)
def _row(columns: tuple[_Column, ...]) -> Any:
    """A row as it is on the wire: column n is the member `text{n}`."""
    fields, names = [], {}
    for n, (name, nullable, way) in enumerate(columns):
        names[f"text{n}"] = name
        fields.append((f"text{n}", Any if way == "other" else str | None if nullable else str))
    return msgspec.defstruct("Row", fields, rename=names, forbid_unknown_fields=True, gc=False)


_READ = """
def read(message):
    old, new = message.old, message.data
    image = old if new is None else new
    kind = "DELETE" if new is None else "INSERT" if old is None else "UPDATE"
    if image is None or message.type != kind: return None
""".strip()


@lru_cache(maxsize=1024)
def _code(columns: tuple[_Column, ...]) -> CodeType:
    """The code of `read(message)`, which turns texts into a change, or None if members are missing.
    Most columns of an UPDATE are equal in both rows. Names are in the code as Python literals,
    whatever they contain."""
    lines = [_READ]
    for n, (_, nullable, way) in enumerate(columns):
        lines += [f"    text{n} = image.text{n}"]
        lines += [f"    {line}" for line in _value(n, f"text{n}", nullable, way)]
    row = ", ".join(f"{name!r}: value{n}" for n, (name, _, _) in enumerate(columns))
    lines += [f"    before = after = {{{row}}}"]
    lines += ["    if new is None: after = None"]
    lines += ["    elif old is None: before = None"]
    lines += ["    else:"]
    lines += ["        before = after.copy()"]
    for n, (name, nullable, way) in enumerate(columns):
        lines += [f"        was = old.text{n}", f"        if was != text{n}:"]
        lines += [f"            {line}" for line in _value(n, "was", nullable, way)]
        lines += [f"            before[{name!r}] = value{n}"]
    lines += ["    partition = message.tableID"]
    lines += ["    if partition == table_id: partition = None"]
    lines += ["    return RowChange(table, message.commitTs, before, after, 0, partition)"]
    return compile("\n".join(lines), "<rows of Simple>", "exec")


def _value(n: int, text: str, nullable: bool, way: str) -> Iterator[str]:
    """The lines that read a text."""
    if way == "text":
        yield f"value{n} = {text}"
        return
    if nullable:
        yield f"if {text} is None: value{n} = None"
        yield "else:"
    indent = "    " if nullable else ""
    if way in _QUICK:
        quick, doubtful = (code.format(text=text, value=f"value{n}") for code in _QUICK[way])
        yield f"{indent}value{n} = {quick}"
        yield f"{indent}if {doubtful}:"
        indent += "    "
    yield f"{indent}value{n} = read{n}({text})"
