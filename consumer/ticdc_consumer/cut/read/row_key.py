"""A row's key as an operator writes it, and a match for the changes of that row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ticdc_encoder.column import INTEGERS, TEMPORALS, ColumnType
from ticdc_encoder.errors import visible
from ticdc_encoder.event import Row, RowChange, Table, Value

from ticdc_consumer.errors import Usage

Texts = dict[str, str | None]
"""Values as text for people, by column."""


@dataclass(frozen=True, slots=True)
class RowKey:
    """`parts` are the key's columns, each with its value as text."""

    parts: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, words: Sequence[str]) -> "RowKey":
        """Parses `column=value`, one for each column of the key. Raises `Usage`."""
        parts = []
        for word in words:
            column, equals, text = word.partition("=")
            if not column or not equals:
                raise Usage(f"{word} is not COLUMN=VALUE, such as id=5")
            parts.append((column, text))
        names = [column.lower() for column, _ in parts]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise Usage(f"column {twice} is given twice")
        return cls(tuple(parts))

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "RowKey":
        """Returns the key of the columns' values as text. Raises `Usage`."""
        return cls.parse([f"{column}={text}" for column, text in values.items()])

    def __str__(self) -> str:
        return " ".join(f"{column}={text}" for column, text in self.parts)

    def require(self, key: Sequence[str], table: str) -> None:
        """Raises `Usage` unless these are the columns that identify the table's rows."""
        if {column.lower() for column, _ in self.parts} != {name.lower() for name in key}:
            wanted_key = " ".join(f"{name}=..." for name in key)
            raise Usage(f"a row of {table} is identified by {', '.join(key)}: give {wanted_key}")

    def row(self, table: Table, defined: Table | None = None) -> dict[str, Value]:
        """Returns the key's columns as the table spells them, with values of their types; `defined`
        has the labels and digits that the messages' columns may lack. Raises `Usage` for a column
        that the table lacks, and for text that is not a value of its type."""
        columns = {column.name.lower(): column for column in table.columns}
        declared = {column.name.lower(): column.type for column in (defined or table).columns}
        row: dict[str, Value] = {}
        for name, text in self.parts:
            column = columns.get(name.lower())
            label = f"{table.schema}.{table.name}"
            if column is None:
                raise Usage(f"{label} has no column {name}; it has {', '.join(columns)}")
            type_ = column.type
            known_type = declared.get(name.lower(), type_)
            if known_type.name == type_.name and not type_.elements and type_.decimals is None:
                type_ = known_type
            try:
                row[column.name] = value_of(text, type_)
            except (ValueError, ArithmeticError):
                kind = type_.name.upper()
                raise Usage(f"{label}.{column.name}: {text} is not a value of {kind}") from None
        return row


def value_of(text: str, type_: ColumnType) -> Value:
    """Returns a value as decoders give it. An ENUM or SET may be given by its labels, bytes as
    `0x...`. Raises ValueError or ArithmeticError."""
    name = type_.name
    if name in ("enum", "set") and not text.isdecimal():
        return _number_of_labels(text, type_)
    if name in INTEGERS | {"year", "bit", "enum", "set"}:
        return int(text, 0) if text.startswith(("0x", "0b")) else int(text)
    if name == "decimal":
        number = Decimal(text)
        return number if type_.decimals is None else _scaled(number, type_.decimals)
    if name in ("float", "double"):
        return float(text)
    if type_.binary:
        data = bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()
        return data.ljust(type_.length or 0, b"\0") if name == "binary" else data
    if name in TEMPORALS and type_.decimals:
        seconds, _, fraction = text.partition(".")
        return f"{seconds}.{fraction.ljust(type_.decimals, '0')}"
    return text


def _number_of_labels(text: str, type_: ColumnType) -> int:
    labels = type_.elements
    if type_.name == "enum":
        return labels.index(text) + 1
    return sum(1 << labels.index(label) for label in text.split(",")) if text else 0


def _scaled(number: Decimal, decimals: int) -> Decimal:
    scaled = number.quantize(Decimal(1).scaleb(-decimals))
    if scaled != number:
        raise ValueError("more digits than the column has")
    return scaled


def text_of(value: Value) -> str | None:
    """Returns a value for people: bytes as `0x...`."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return visible(format(value, "f") if isinstance(value, Decimal) else str(value))


def texts(row: Row, names: Iterable[str] | None = None) -> Texts:
    """Returns the values of a row, of all columns or of those named."""
    return {name: text_of(row[name]) for name in (row if names is None else names) if name in row}


class RowMatch:
    """Finds the images of a table's changes that belong to the row with the given key."""

    def __init__(self, key: RowKey, defined: Table | None = None) -> None:
        """`defined` is the table by its CREATE TABLE, if known."""
        self._key, self._defined = key, defined
        self._rows: dict[int, tuple[Table, dict[str, Value] | None]] = {}

    def of(self, change: RowChange) -> tuple[bool, bool]:
        """Returns whether the row before the change, and the one after it, is this one."""
        row = self._row(change.table)
        if row is None:
            return False, False
        before, after = change.before, change.after
        return (
            before is not None and _equal(row, before, after or before),
            after is not None and _equal(row, after, after),
        )

    def names(self, table: Table) -> tuple[str, ...]:
        """Returns the key's columns as the table spells them."""
        return tuple(self._row(table) or ())

    def _row(self, table: Table) -> dict[str, Value] | None:
        """Returns None if the table, as it was then, cannot have such a row."""
        known = self._rows.get(id(table))
        if known is None:
            try:
                row: dict[str, Value] | None = self._key.row(table, self._defined)
            except Usage:
                row = None
            # Holding the table keeps its id from being reused.
            known = self._rows[id(table)] = (table, row)
        return known[1]


def _equal(key: Row, image: Row, rest: Row) -> bool:
    """Returns whether they are equal; `rest` has the unchanged values that the image leaves out."""
    for name, value in key.items():
        other = image[name] if name in image else rest.get(name)
        if isinstance(value, str) and isinstance(other, str):
            if value != other:
                return False
        elif isinstance(value, bytes) and isinstance(other, bytes):
            if value.rstrip(b"\0") != other.rstrip(b"\0"):
                return False
        elif other != value:
            return False
    return True
