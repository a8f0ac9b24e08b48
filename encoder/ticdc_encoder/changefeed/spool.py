"""Row changes that may exceed memory: in memory while they are few, else on disk."""

import pickle
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from ticdc_encoder.event import RowChange, Table

ROOM = 20_000
"""Number of changes held in memory."""
_BATCH = 64


class Pages:
    """A temporary file of lists of tuples, the last member of each a change."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._tables: list[Table] = []
        self._numbers: dict[int, int] = {}
        self._end = 0

    def write(self, page: list[tuple[Any, ...]]) -> int:
        """Writes a page and returns its position."""
        at = self._file.seek(self._end)
        pickle.dump([(*head, *self._packed(change)) for *head, change in page], self._file, 5)
        self._end = self._file.tell()
        return at

    def read(self, at: int) -> list[tuple[Any, ...]]:
        self._file.seek(at)
        tables = self._tables
        # Nobody else writes to the file, which has no name.
        return [
            (*head, RowChange(tables[number], *values))
            for *head, number, values in pickle.load(self._file)
        ]

    def close(self) -> None:
        self._file.close()

    def _packed(self, change: RowChange) -> tuple[int, tuple[Any, ...]]:
        """The change without its table: changes keep the table that they came with."""
        table = change.table
        number = self._numbers.get(id(table))
        if number is None:
            number = self._numbers[id(table)] = len(self._tables)
            self._tables.append(table)
        return number, (
            change.commit_ts,
            change.before,
            change.after,
            change.start_ts,
            change.partition_id,
            change.incomplete,
            change.claim_check,
            change.row_key,
            change.corrupted,
        )


class Spool:
    """Changes in their order, to be read once."""

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._unwritten: list[RowChange] = []
        self._pages: Pages | None = None
        self._written: list[int] = []

    def append(self, change: RowChange) -> None:
        self._unwritten.append(change)
        if len(self._unwritten) >= self._room:
            if self._pages is None:
                self._pages = Pages()
            for start in range(0, len(self._unwritten), _BATCH):
                page = [(change,) for change in self._unwritten[start : start + _BATCH]]
                self._written.append(self._pages.write(page))
            self._unwritten = []

    def drain(self) -> Iterator[RowChange]:
        if self._pages is not None:
            for at in self._written:
                yield from (change for (change,) in self._pages.read(at))
            self._pages.close()
            self._pages = None
        yield from self._unwritten
        self._unwritten = []


class Runs:
    """Tuples in several runs, each in the order of its writing; rereadable."""

    def __init__(self, number: int) -> None:
        self._pages = Pages()
        self._open: list[list[tuple[Any, ...]]] = [[] for _ in range(number)]
        self._written: list[list[int]] = [[] for _ in range(number)]

    def append(self, run: int, entry: tuple[Any, ...]) -> None:
        page = self._open[run]
        page.append(entry)
        if len(page) == _BATCH:
            self._written[run].append(self._pages.write(page))
            self._open[run] = []

    def __iter__(self) -> Iterator[Iterator[tuple[Any, ...]]]:
        return (self._run(number) for number in range(len(self._open)))

    def close(self) -> None:
        self._pages.close()

    def _run(self, number: int) -> Iterator[tuple[Any, ...]]:
        for at in self._written[number]:
            yield from self._pages.read(at)
        yield from self._open[number]
