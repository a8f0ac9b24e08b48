"""Which UPDATE arrives as DELETE and INSERT, and in which order a transaction is sent.

An UPDATE that changes a column of a primary or unique key may arrive whole or as two changes of
one commit_ts. TiCDC's documents speak of NOT NULL unique keys; its code, which rules here, splits
for nullable ones too.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from enum import Enum, auto

from ticdc_encoder.collation import weight
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import Row, RowChange, Table, Transaction

Version = tuple[int, int, int]


class SplitMode(Enum):
    NEVER = auto()
    UNSORTED = auto()
    """Only the UPDATE of a transaction of one row; its halves stay where it was."""
    MULTI_ROW = auto()
    """Only in transactions of several rows, which are then sorted: DELETE, UPDATE, INSERT."""
    SORTED = auto()
    """Always; a table's rows of a transaction are then sorted: DELETE, UPDATE, INSERT."""
    APPENDED = auto()
    """Always; the DELETE stays, the INSERT follows all other rows of the table."""


# From version, its row-based protocols, avro and csv, whether it has output-raw-change-event.
# Each line holds until the next; 8.5.4 stands for the new architecture, which it brought.
_VERSIONS: tuple[tuple[Version, SplitMode, SplitMode, bool], ...] = (
    ((0, 0, 0), SplitMode.NEVER, SplitMode.NEVER, False),
    ((6, 5, 3), SplitMode.NEVER, SplitMode.UNSORTED, False),
    ((6, 5, 4), SplitMode.MULTI_ROW, SplitMode.MULTI_ROW, False),
    ((6, 5, 5), SplitMode.SORTED, SplitMode.SORTED, False),
    ((6, 5, 10), SplitMode.SORTED, SplitMode.SORTED, True),
    ((6, 6, 0), SplitMode.NEVER, SplitMode.NEVER, False),
    ((7, 1, 1), SplitMode.NEVER, SplitMode.UNSORTED, False),
    ((7, 1, 2), SplitMode.SORTED, SplitMode.SORTED, False),
    ((7, 1, 6), SplitMode.SORTED, SplitMode.SORTED, True),
    ((7, 2, 0), SplitMode.NEVER, SplitMode.UNSORTED, False),
    ((7, 4, 0), SplitMode.SORTED, SplitMode.SORTED, False),
    ((7, 5, 3), SplitMode.SORTED, SplitMode.SORTED, True),
    ((7, 6, 0), SplitMode.SORTED, SplitMode.SORTED, False),
    ((8, 1, 1), SplitMode.SORTED, SplitMode.SORTED, True),
    ((8, 5, 4), SplitMode.APPENDED, SplitMode.APPENDED, True),
)


def version_number(version: str) -> Version:
    """`v8.5.4-pre` -> (8, 5, 4). Raises ConfigError."""
    parts = version.removeprefix("v").partition("-")[0].split(".")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise ConfigError(f"not a TiCDC version: {version!r}")
    major, minor, patch = map(int, parts)
    return major, minor, patch


def split_mode(version: str, protocol: str, output_raw_change_event: bool = False) -> SplitMode:
    """The rule of that TiCDC version. Raises ConfigError where it has no raw events."""
    number = version_number(version)
    _, rows, avro_and_csv, raw = max(line for line in _VERSIONS if line[0] <= number)
    if output_raw_change_event:
        if not raw:
            raise ConfigError(f"TiCDC {version} has no output-raw-change-event")
        return SplitMode.NEVER
    return avro_and_csv if protocol in ("avro", "csv") else rows


def split(
    transaction: Transaction,
    mode: SplitMode,
    keeps: Callable[[RowChange], bool] = lambda change: True,
) -> list[RowChange]:
    """The changes as TiCDC sends them: table by table, DELETE before UPDATE before INSERT.

    `keeps` says which are sent: of the new architecture's it sees the halves of a split UPDATE,
    of others the UPDATE.
    """
    tables: dict[tuple[str, str, int | None], list[RowChange]] = {}
    for change in transaction.changes:
        key = change.table.schema, change.table.name, change.partition_id
        tables.setdefault(key, []).append(change)
    sent: list[RowChange] = []
    for changes in tables.values():
        ordered = sorted(_stored(changes), key=_rank)
        if mode is SplitMode.APPENDED:
            sent += filter(keeps, _split(ordered, mode))
        else:
            sent += _split([change for change in ordered if keeps(change)], mode)
    return sent


def key_changed(change: RowChange) -> bool:
    """Whether an UPDATE changes a column of the handle key or of any unique key."""
    if change.before is None or change.after is None:
        return False
    table = change.table
    columns = {name for index in table.indexes if index.unique for name in index.columns}
    return _differ(change.before, change.after, columns.union(table.handle_key))


def _split(changes: list[RowChange], mode: SplitMode) -> list[RowChange]:
    several = len(changes) > 1
    if (
        mode is SplitMode.NEVER
        or (mode is SplitMode.UNSORTED and several)
        or (mode is SplitMode.MULTI_ROW and not several)
        or not any(map(key_changed, changes))
    ):
        return changes
    kept: list[RowChange] = []
    appended: list[RowChange] = []
    for change in changes:
        if key_changed(change):
            kept.append(replace(change, after=None))
            halves = appended if mode is SplitMode.APPENDED else kept
            halves.append(replace(change, before=None))
        else:
            kept.append(change)
    if mode in (SplitMode.MULTI_ROW, SplitMode.SORTED):
        kept.sort(key=_rank)
    return kept + appended


def _rank(change: RowChange) -> int:
    """DELETE, UPDATE, INSERT: the order of TiCDC's sorter within a transaction."""
    return 0 if change.after is None else 1 if change.before is not None else 2


def _differ(before: Row, after: Row, columns: Iterable[str]) -> bool:
    return any(name in before and before[name] != after.get(name) for name in columns)


def _stored(changes: list[RowChange]) -> Iterable[RowChange]:
    """The changes as TiKV holds them: one per clustered primary key.

    A row that leaves its clustered key is a DELETE there and an INSERT elsewhere, whatever TiCDC
    is told, and what one transaction deletes and inserts at one clustered key is an UPDATE.
    """
    place = _clustered_key(changes[0].table)
    if not place:
        return changes
    net: dict[Hashable, RowChange] = {}
    for change in changes:
        columns = change.table
        before, after = change.before, change.after
        left = None if before is None else _place(columns, place, {**(after or {}), **before})
        held = None if after is None else _place(columns, place, after)
        if left is not None:
            started = net[left].before if left in net else before
            net[left] = replace(change, before=started, after=None)
        if held is not None:
            started = net[held].before if held in net else None
            net[held] = replace(change, before=started, after=after)
    return [change for change in net.values() if (change.before, change.after) != (None, None)]


def _clustered_key(table: Table) -> tuple[str, ...]:
    return next((index.columns for index in table.indexes if index.clustered), ())


def _place(table: Table, key: tuple[str, ...], row: Row) -> Hashable:
    return tuple(weight(row[name], table.column(name).type.collation) for name in key)
