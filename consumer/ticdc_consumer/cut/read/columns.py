"""Rows <-> Arrow arrays of values in canonical form."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import Row, RowChange
from ticdc_encoder.values import canonicaliser

from ticdc_consumer.cut.read.time_zone import Zone
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import Layout

Key = bytes | tuple[bytes, ...]
"""The canonical values of a key's columns, text as UTF-8; for a single column, its value only."""


class Columns:
    """Decoded rows of one table <-> keys and arrays in canonical form: see `targets.layout`."""

    def __init__(self, layout: Layout, zone: Zone) -> None:
        self._layout = layout
        self._names = tuple(column.name for column in layout.source)
        self._types = [pa.binary() if c.type.binary else pa.string() for c in layout.source]
        self._canonical = [canonicaliser(column.type) for column in layout.source]
        self._zoned = [
            i for i, c in enumerate(layout.source) if c.type.name == "timestamp" and not zone.utc
        ]
        self._zone = zone
        self._key = layout.key_positions()
        self._single = len(self._key) == 1

    def keys(self, change: RowChange) -> tuple[Key | None, Key | None]:
        """Returns the keys that are absent and present after the change, in this order."""
        after = None if change.after is None else self._key_of(change.after, change.after)
        if change.before is None:
            return None, after
        # Unchanged columns may be left out of `before`.
        return self._key_of(change.before, change.after or change.before), after

    def _key_of(self, row: Row, rest: Row) -> Key:
        parts = []
        for position in self._key:
            name = self._names[position]
            value = row[name] if name in row else rest.get(name)
            if value is None:
                raise Stop(f"{self._layout.name}: no value for key column {name}")
            try:
                text = self._canonical[position](value)
            except (TypeError, ValueError):
                text = None
            if not isinstance(text, str | bytes):
                raise Stop(f"{self._layout.name}: key column {name} has a value of another type")
            parts.append(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return parts[0] if self._single else tuple(parts)

    def key_text(self, key: Key) -> str:
        parts = (key,) if isinstance(key, bytes) else key
        return ", ".join(
            f"{self._layout.key[i]}={part.decode('utf-8', 'backslashreplace')}"
            for i, part in enumerate(parts)
        )

    def key_arrays(self, keys: Sequence[Key]) -> list[pa.Array]:
        """Returns canonical arrays in the order of the layout's key, TIMESTAMP in UTC. Raises
        WireError for text that is not UTF-8."""
        columns: Iterable[Sequence[bytes]] = [keys] if self._single else zip(*keys, strict=True)  # type: ignore[list-item]
        arrays = []
        for position, parts in zip(self._key, columns, strict=True):
            array = pa.array(parts, pa.binary())
            if self._types[position] == pa.string():
                array = self._text(position, array)
            if position in self._zoned:
                array = self._zone.to_utc(array, self._where(position))
            arrays.append(array)
        return arrays

    def arrays(self, rows: Sequence[Row]) -> list[pa.Array]:
        """Returns canonical arrays, one per source column, TIMESTAMP as it came. Raises WireError
        for a row that lacks a column."""
        arrays = []
        for position, name in enumerate(self._names):
            canonical = self._canonical[position]
            try:
                values = [canonical(row[name]) for row in rows]
            except KeyError:
                raise WireError(f"{self._layout.name}: a row without column {name}") from None
            arrays.append(self._array(position, values))
        return arrays

    def row(self, image: Row, rest: Row) -> tuple[str | bytes | None, ...]:
        """Returns the canonical values of all columns, with those that `image` leaves out from
        `rest`."""
        try:
            return tuple(
                [
                    canonical(image[name] if name in image else rest[name])
                    for name, canonical in zip(self._names, self._canonical, strict=True)
                ]
            )
        except KeyError as missing:
            raise WireError(
                f"{self._layout.name}: a row without column {missing.args[0]}"
            ) from None

    def arrays_of(self, rows: Sequence[tuple[str | bytes | None, ...]]) -> list[pa.Array]:
        """Returns canonical arrays, one per source column, of rows that `row` returned."""
        return [self._array(i, values) for i, values in enumerate(zip(*rows, strict=True))]

    def _array(self, position: int, values: Sequence[str | bytes | None]) -> pa.Array:
        try:
            return pa.array(values, self._types[position])
        except UnicodeEncodeError:
            raise WireError(f"{self._where(position)}: text that is not UTF-8") from None

    def in_utc(self, arrays: Sequence[pa.Array]) -> list[pa.Array]:
        """Returns the arrays of all source columns with TIMESTAMP in UTC. Raises `Stop`."""
        converted = list(arrays)
        for position in self._zoned:
            converted[position] = self._zone.to_utc(converted[position], self._where(position))
        return converted

    def _where(self, position: int) -> str:
        return f"{self._layout.name}.{self._names[position]}"

    def _text(self, position: int, array: pa.Array) -> pa.Array:
        try:
            return array.cast(pa.string())
        except pa.ArrowInvalid:
            raise WireError(f"{self._where(position)}: text that is not UTF-8") from None
