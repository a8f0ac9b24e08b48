"""A row's values, read where they are: most columns of a JSON message are text already."""

from collections.abc import Callable, Mapping
from typing import Any

from ticdc_encoder.event import Row, Value
from ticdc_encoder.values import text


class ColumnError(ValueError):
    """A column that cannot be read. `known` says whether there is anything that could read it."""

    def __init__(self, name: str, reason: str, *, known: bool = True) -> None:
        super().__init__(reason)
        self.name = name
        self.known = known


class RowReader:
    """The readers of a table's columns. NULL needs none."""

    def __init__(self, readers: Mapping[str, Callable[[Any], Value]]) -> None:
        self.readers = dict(readers)
        self._width = len(self.readers)
        self._texts = tuple(name for name, read in readers.items() if read is text)
        self._others = tuple((n, read) for n, read in readers.items() if read is not text)

    def read(self, image: dict[str, Any]) -> Row:
        """The row of all columns or some: the image itself, each value replaced by what it says.
        Raises ColumnError."""
        name = ""
        try:
            if len(image) == self._width:
                for name in self._texts:
                    value = image[name]
                    if value.__class__ is not str and value is not None:
                        text(value)
                for name, read in self._others:
                    value = image[name]
                    if value is not None:
                        image[name] = read(value)
            else:
                for name, value in image.items():
                    if value is not None:
                        image[name] = self.readers[name](value)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            for column in image:
                if column not in self.readers:
                    raise ColumnError(column, "unknown", known=False) from error
            reason = "a member is missing" if isinstance(error, KeyError) else str(error)
            raise ColumnError(name, reason) from error
        return image
