"""CSV's records as changes: whole columns at once where a file is regular, else one by one."""

import binascii
from collections.abc import Callable, Sequence
from itertools import repeat

from ticdc_encoder.column import INTEGERS, Column, ColumnType
from ticdc_encoder.errors import FieldCount, WireError
from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats.csv.columns import read_column
from ticdc_encoder.formats.csv.fields import Fields, columns_of
from ticdc_encoder.formats.csv.options import Options, meta_names
from ticdc_encoder.formats.elements import enum_reader, set_reader
from ticdc_encoder.formats.format import timestamp
from ticdc_encoder.values import FAMILIES, text

BARE = INTEGERS | {"year", "bit", "float", "double"}
"""Types whose values are written without quotes."""


def _bare_meta(options: Options, first: int) -> list[bool]:
    """Flags of the unquoted fields before the columns: commit-ts and is-update."""
    meta = [name.endswith(("commit-ts", "is-update")) for name in meta_names(options)]
    return meta + [False] * (first - len(meta))


class RecordReader:
    """Turns records into changes."""

    def __init__(self, table: Table, columns: Sequence[Column], options: Options) -> None:
        self._table = table
        self._options = options
        self._names = [column.name for column in columns]
        self._columns = [(c.name, _from_text(c.type, options)) for c in columns]
        self._key = frozenset(table.handle_key)
        self._has_ts, self._has_old = options.include_commit_ts, options.output_old_value
        self._first = len(meta_names(options)) + options.output_handle_key
        self._bare = _bare_meta(options, self._first) + [c.type.name in BARE for c in columns]
        self._replaced: tuple[int, Row] | None = None  # commit_ts, the old row of an UPDATE

    def finish(self) -> None:
        if self._replaced is not None:
            raise WireError("the old row of an UPDATE without the new one")

    def take(self, record: Fields) -> RowChange | None:
        """The change that the record completes."""
        first = self._first
        if len(record) != first + len(self._columns):
            raise FieldCount(
                f"{len(record)} fields, but {self._table.schema}.{self._table.name} has "
                f"{len(self._columns)} columns and these settings {first} before them"
            )
        operation, is_update = record[0], False
        self._same_table(record)
        commit_ts = _commit_ts(record[3]) if self._has_ts else 0
        if self._has_old:
            flag = record[3 + self._has_ts]
            if flag not in ("true", "false"):
                raise WireError("is-update is neither true nor false")
            is_update = flag == "true"
        return self._change(operation, is_update, commit_ts, self._row(record[first:]))

    def take_piece(self, characters: str) -> tuple[int, list[RowChange]] | None:
        """The number of the records, and the changes that they complete, of a regular piece of the
        file; None leaves it to `take`."""
        options, first, table = self._options, self._first, self._table
        dialect = options.delimiter, options.terminator, options.quote
        columns = columns_of(characters, *dialect, options.null, self._bare)
        if columns is None or not self._columns:
            return None
        operations, number = columns[0].texts, len(columns[0].texts)
        if (
            columns[1].texts.count(table.name) != number
            or columns[2].texts.count(table.schema) != number
        ):
            return None
        if any(
            c.nulls for c, n in zip(columns[first:], self._names, strict=True) if n in self._key
        ):
            return None
        flags: Sequence[str | None] = ["false"] * number
        if self._has_old:
            flags = columns[3 + self._has_ts].texts
        try:
            values = [
                read_column(read, column.texts, nulls=column.nulls)
                for (_, read), column in zip(self._columns, columns[first:], strict=True)
            ]
            stamps: Sequence[int] = [0] * number
            if self._has_ts:
                times = {digits: _commit_ts(digits) for digits in set(columns[3].texts)}
                stamps = [*map(times.__getitem__, columns[3].texts)]
        except (ArithmeticError, TypeError, ValueError, WireError):
            return None
        records = map(zip, repeat(self._names), zip(*values, strict=True))
        changes = self._changes(operations, flags, stamps, list(map(dict, records)))
        return None if changes is None else (number, changes)

    def _changes(
        self,
        operations: Sequence[str | None],
        flags: Sequence[str | None],
        stamps: Sequence[int],
        rows: list[Row],
    ) -> list[RowChange] | None:
        """The results of `_change` for each; None, without any effect, if it would refuse one."""
        table, replaced = self._table, self._replaced
        changes = []
        for operation, flag, commit_ts, row in zip(operations, flags, stamps, rows, strict=True):
            if flag == "false" and replaced is None:
                if operation == "I":
                    changes.append(RowChange(table, commit_ts, None, row))
                elif operation == "D":
                    changes.append(RowChange(table, commit_ts, row))
                elif operation == "U":
                    changes.append(RowChange(table, commit_ts, {}, row))
                else:
                    return None
            elif flag == "true" and operation == "D" and replaced is None:
                replaced = commit_ts, row
            elif flag == "true" and operation == "I" and replaced and replaced[0] == commit_ts:
                changes.append(RowChange(table, commit_ts, replaced[1], row))
                replaced = None
            else:
                return None
        self._replaced = replaced
        return changes

    def _change(
        self, operation: str | None, is_update: bool, commit_ts: int, row: Row
    ) -> RowChange | None:
        replaced, self._replaced = self._replaced, None
        if replaced is not None and (not is_update or operation != "I"):
            raise WireError("the old row of an UPDATE without the new one")
        if operation == "I" and is_update:
            if replaced is None or replaced[0] != commit_ts:
                raise WireError("the new row of an UPDATE without the old one")
            return RowChange(self._table, commit_ts, replaced[1], row)
        if operation == "D" and is_update:
            self._replaced = commit_ts, row
            return None
        if operation == "I":
            return RowChange(self._table, commit_ts, None, row)
        if operation == "D":
            return RowChange(self._table, commit_ts, row, None)
        if operation == "U" and not is_update:
            return RowChange(self._table, commit_ts, {}, row)
        raise WireError("the operation is not I, U or D")

    def _same_table(self, record: Fields) -> None:
        table = self._table
        if record[1] != table.name or record[2] != table.schema:
            raise WireError(f"a row of another table than {table.schema}.{table.name}")

    def _row(self, values: Fields) -> Row:
        row: dict[str, Value] = {}
        for (name, read), value in zip(self._columns, values, strict=True):
            try:
                row[name] = None if value is None else read(value)
            except (TypeError, ValueError) as error:
                table = self._table
                raise WireError(
                    f"column `{name}` of {table.schema}.{table.name}: {error}"
                ) from error
        for name in self._table.handle_key:
            if name in row and row[name] is None:
                table = self._table
                raise WireError(f"key column `{name}` of {table.schema}.{table.name} is null")
        return row


def _commit_ts(digits: str | None) -> int:
    if not digits or len(digits) > 20 or not digits.isdecimal():
        return timestamp(None, "commit-ts")
    return timestamp(int(digits), "commit-ts")


def _from_text(type_: ColumnType, options: Options) -> Callable[[str], Value]:
    if type_.binary:
        return _base64_bytes if options.binary_encoding_method == "base64" else _hex_bytes
    if type_.name == "enum":
        return enum_reader(type_.elements) if type_.elements else text
    if type_.name == "set":
        return set_reader(type_.elements) if type_.elements else text
    return FAMILIES[type_.name].from_text


def _base64_bytes(characters: str) -> bytes:
    try:
        return binascii.a2b_base64(characters, strict_mode=True)
    except ValueError as error:
        raise ValueError("not base64") from error


def _hex_bytes(characters: str) -> bytes:
    try:
        return binascii.unhexlify(characters)
    except ValueError as error:
        raise ValueError("not hex") from error
