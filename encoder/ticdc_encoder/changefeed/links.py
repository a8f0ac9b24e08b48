"""Links between a transaction's changes of one row, for rows that no clustered key names.

A change continues the row of an earlier change if its `before` has the values which that change
made. Rows with equal values are interchangeable: linking either makes no difference.
"""

from array import array
from collections.abc import Hashable, Iterator
from itertools import chain

from ticdc_encoder.changefeed.spool import Runs
from ticdc_encoder.event import Row, RowChange


def whole_before(change: RowChange) -> Row | None:
    """The old row; columns that `before` lacks did not change."""
    before, after = change.before, change.after
    if before is not None and after is not None and len(before) < len(after):
        return {**after, **before}
    return before


def _lookup(group: int, change: RowChange, row: Row) -> Hashable:
    """The key by which to find a row: its handle key (a DELETE may have nothing else), or all of
    it.
    """
    key = change.table.handle_key
    if key and all(name in row for name in key):
        return group, tuple([row[name] for name in key])
    return group, frozenset(row.items())


class RowsMade:
    """The rows that a transaction has made so far, each with a number."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, list[tuple[Row, int]]] = {}

    def continued(self, group: int, change: RowChange) -> int | None:
        """The number of the row that the change continues; the row is then gone."""
        before = whole_before(change)
        if before is None:
            return None
        lookup = _lookup(group, change, before)
        rows = self._rows.get(lookup)
        if rows is None:
            return None
        for at in range(len(rows) - 1, -1, -1):
            row, number = rows[at]
            if all(name not in row or row[name] == value for name, value in before.items()):
                del rows[at]
                if not rows:
                    del self._rows[lookup]
                return number
        return None

    def add(self, group: int, change: RowChange, number: int) -> None:
        if change.after is not None:
            lookup = _lookup(group, change, change.after)
            self._rows.setdefault(lookup, []).append((change.after, number))


class Links:
    """The same links for more changes than memory holds."""

    def __init__(self, runs: int) -> None:
        self._number = runs
        # Each change at the key of its old row, and at that of its new row.
        self._sides = Runs(runs)
        self._last = 0

    def append(self, group: int, number: int, change: RowChange) -> None:
        """Adds a change; `number` grows."""
        self._last = number
        sides = (whole_before(change), change.after)
        for is_after, row in enumerate(sides):
            if row is not None:
                run = hash(_lookup(group, change, row)) % self._number
                self._sides.append(run, (group, number, is_after, change))

    def ends(self) -> Iterator[tuple[int, int, RowChange]]:
        """Table, the number of the row's first change, and the rest of its changes: its only one,
        else the DELETE of its old and then the INSERT of its new state."""
        previous, goes_on = self._linked()
        first = array("q", range(self._last + 1))
        for number, before in enumerate(previous):
            if before:
                first[number] = first[before]
        for group, number, is_after, change in chain.from_iterable(self._sides):
            if previous[number]:
                continue
            if goes_on[number]:
                if not is_after:
                    yield group, number, change.half(before=True)
            elif is_after == (change.before is None):
                yield group, number, change
        for group, number, is_after, change in chain.from_iterable(self._sides):
            if is_after and previous[number] and not goes_on[number]:
                yield group, first[number], change.half(before=False)

    def close(self) -> None:
        self._sides.close()

    def _linked(self) -> tuple["array[int]", bytearray]:
        """The preceding change of the same row (0: none) for each, and whether another continues
        it.
        """
        previous, goes_on = array("q", bytes(8 * (self._last + 1))), bytearray(self._last + 1)
        for run in self._sides:
            rows_made = RowsMade()
            for group, number, is_after, change in run:
                if is_after:
                    rows_made.add(group, change, number)
                elif before := rows_made.continued(group, change):
                    previous[number] = before
                    goes_on[before] = 1
        return previous, goes_on
