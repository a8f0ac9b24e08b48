"""A table's rows, read in place: most columns of a JSON message are text already."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Table, Value
from ticdc_encoder.formats.json_text import Members
from ticdc_encoder.values import integer, integer_value, text

_SHORT = 18
"""Digits of an integer that surely fits into 64 bits."""


class RowReader:
    """Reads rows of a table in place: each value of an image is replaced by the column's value.

    `readers` has one for each column, for values that are not NULL. `unknown` ends the error for
    any other column.
    """

    def __init__(
        self,
        table: Table,
        readers: Mapping[str, Callable[[Any], Value]],
        unknown: str | None = None,
    ) -> None:
        self.table = table
        self.readers = dict(readers)
        self._unknown = unknown or f"of {table.schema}.{table.name} is unknown"
        self._width = len(self.readers)
        self._key = frozenset(table.handle_key)
        self._texts = tuple(n for n, read in readers.items() if read is text)
        self._integers = tuple(n for n, read in readers.items() if read is integer)
        self._digits = tuple(n for n, read in readers.items() if read is integer_value)
        known = text, integer, integer_value
        self._others = tuple((n, read) for n, read in readers.items() if read not in known)

    def read(self, before: Members | None, after: Members | None, commit_ts: int) -> None:
        """Reads the images that a change of `commit_ts` has, of all columns or some. Raises
        WireError, about its table."""
        try:
            if before is None:
                if after is not None:
                    self._read_image(after)
            elif after is None:
                self._read_image(before)
            elif len(before) == len(after) == self._width:
                self._read_update(before, after)
            else:
                self._read_image(before)
                self._read_image(after)
        except WireError as error:
            error.table = self.table.schema, self.table.name
            error.commit_ts = commit_ts
            raise

    def _read_image(self, image: Members) -> None:
        name = ""
        try:
            if len(image) != self._width:
                for name in image:
                    self._read_one(image, name)
                return
            for name in self._texts:
                if image[name].__class__ is not str:
                    self._read_one(image, name)
            for name in self._integers:
                if image[name].__class__ is not int:
                    self._read_one(image, name)
            for name in self._digits:
                digits = image[name]
                if digits is not None:
                    number = int(digits)
                    if str(number) == digits and len(digits) <= _SHORT:
                        image[name] = number
                        continue
                self._read_one(image, name)
            for name, read in self._others:
                value = image[name]
                if value is None:
                    self._read_one(image, name)
                else:
                    image[name] = read(value)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._refuse(error, name, image)

    def _read_update(self, before: Members, after: Members) -> None:
        """Reads a text that both rows have only once."""
        name = ""
        try:
            for name in self._texts:
                if not before[name].__class__ is after[name].__class__ is str:
                    self._read_one(before, name)
                    self._read_one(after, name)
            for name in self._integers:
                if before[name].__class__ is not int:
                    self._read_one(before, name)
                if after[name].__class__ is not int:
                    self._read_one(after, name)
            for name in self._digits:
                old, new = before[name], after[name]
                if old is None or new is None:
                    self._read_one(before, name)
                    self._read_one(after, name)
                    continue
                number = int(new)
                if str(number) != new or len(new) > _SHORT:
                    number = integer_value(new)
                after[name] = number
                if old != new:
                    number = int(old)
                    if str(number) != old or len(old) > _SHORT:
                        number = integer_value(old)
                before[name] = number
            for name, read in self._others:
                old, new = before[name], after[name]
                if old is not None and new is not None:
                    after[name] = value = read(new)
                    before[name] = value if old == new and new.__class__ is str else read(old)
                else:
                    self._read_one(before, name)
                    self._read_one(after, name)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._refuse(error, name, before, after)

    def _read_one(self, image: Members, name: str) -> None:
        value = image[name]
        try:
            if value is not None:
                image[name] = self.readers[name](value)
                return
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            self._refuse(error, name, image)
        if name not in self.readers:
            raise WireError(f"column `{name}` {self._unknown}")
        if name in self._key:
            where = f"{self.table.schema}.{self.table.name}"
            raise WireError(f"key column `{name}` of {where} is null")

    def _refuse(self, error: Exception, name: str, *images: Members) -> NoReturn:
        where = f"{self.table.schema}.{self.table.name}"
        for image in images:
            for column in image:
                if column not in self.readers:
                    raise WireError(f"column `{column}` {self._unknown}") from error
        if isinstance(error, KeyError):
            raise WireError(f"column `{name}` of {where}: a member is missing") from error
        if name in self._digits and isinstance(error, TypeError):
            raise WireError(f"column `{name}` of {where}: not text") from error
        reason = str(error)
        if reason.startswith("invalid literal"):  # the text would contain the value
            reason = "not the digits of an integer"
        raise WireError(f"column `{name}` of {where}: {reason}") from error
