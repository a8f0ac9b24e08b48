"""Which UPDATE arrives as DELETE and INSERT, and in which order a transaction is sent.

An UPDATE that changes a column of a primary or unique key may arrive whole or as two changes of one
commit_ts. TiCDC's documents speak of NOT NULL unique keys; its code, which is followed here, splits
for nullable ones too.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice

from ticdc_encoder.changefeed.sorter import stored
from ticdc_encoder.changefeed.spool import ROOM, Spool
from ticdc_encoder.changefeed.versions import Version, version_number
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import RowChange


class SplitMode(Enum):
    NEVER = "never"
    UNSORTED = "only the UPDATE of a transaction of one row; its halves stay where it was"
    MULTI_ROW = "only in transactions of several rows, which are then sorted"
    SORTED = "always; a table's rows of a transaction are then sorted: DELETE, UPDATE, INSERT"
    APPENDED = "always; the DELETE stays, the INSERT follows all other rows of the table"
    # MySQL sinks, which split other UPDATEs, too.
    EACH_IN_PLACE = "every UPDATE; its halves stay where it was"
    EACH_SORTED = "every UPDATE; a table's rows of a transaction are then sorted"
    EACH_AND_APPENDED = "every UPDATE in its place, but as APPENDED what changes a key"


NEVER, UNSORTED, MULTI_ROW = SplitMode.NEVER, SplitMode.UNSORTED, SplitMode.MULTI_ROW
SORTED, APPENDED = SplitMode.SORTED, SplitMode.APPENDED
_EACH = (SplitMode.EACH_IN_PLACE, SplitMode.EACH_SORTED, SplitMode.EACH_AND_APPENDED)
_IN_PLACE = (UNSORTED, SplitMode.EACH_IN_PLACE, SplitMode.EACH_AND_APPENDED)
ALL, ROWS, CSV_AVRO = "ALL", "Canal/Open", "CSV/Avro"


@dataclass(frozen=True, slots=True)
class _Release:
    """A line of the tables in "TiCDC Behavior in Splitting UPDATE Events". `raw`: the mode is the
    default, and output-raw-change-event = true is NEVER."""

    first: str
    last: str
    protocol: str
    mode: SplitMode
    raw: bool = False


_RELEASES = (
    # Release 6.5
    _Release("0.0.0", "6.5.2", ALL, NEVER),
    _Release("6.5.3", "6.5.3", ROWS, NEVER),
    _Release("6.5.3", "6.5.3", CSV_AVRO, UNSORTED),
    _Release("6.5.4", "6.5.4", ALL, MULTI_ROW),
    _Release("6.5.5", "6.5.9", ALL, SORTED),
    _Release("6.5.10", "6.5.x", ALL, SORTED, raw=True),
    # Release 7.1
    _Release("6.6.0", "7.1.0", ALL, NEVER),
    _Release("7.1.1", "7.1.1", ROWS, NEVER),
    _Release("7.1.1", "7.1.1", CSV_AVRO, UNSORTED),
    _Release("7.1.2", "7.1.5", ALL, SORTED),
    _Release("7.1.6", "7.1.x", ALL, SORTED, raw=True),
    # Release 7.5
    _Release("7.2.0", "7.3.x", ROWS, NEVER),
    _Release("7.2.0", "7.3.x", CSV_AVRO, UNSORTED),
    _Release("7.4.0", "7.5.2", ALL, SORTED),
    _Release("7.5.3", "7.5.x", ALL, SORTED, raw=True),
    # Release 8.1
    _Release("7.6.0", "8.1.0", ALL, SORTED),
    _Release("8.1.1", "8.5.3", ALL, SORTED, raw=True),
    # The new architecture
    _Release("8.5.4", "x.x.x", ALL, APPENDED, raw=True),
)


@dataclass(frozen=True, slots=True)
class _MySqlRelease:
    """How the MySQL sink splits what is older than its table's start (or all, in safe mode), and
    what else it splits."""

    first: str
    last: str
    old: SplitMode
    new: SplitMode = NEVER


_MYSQL_RELEASES = (
    _MySqlRelease("0.0.0", "6.5.9", SplitMode.EACH_IN_PLACE),
    _MySqlRelease("6.5.10", "6.5.x", SplitMode.EACH_SORTED),
    _MySqlRelease("6.6.0", "7.1.5", SplitMode.EACH_IN_PLACE),
    _MySqlRelease("7.1.6", "7.1.x", SplitMode.EACH_SORTED),
    _MySqlRelease("7.2.0", "7.5.1", SplitMode.EACH_IN_PLACE),
    _MySqlRelease("7.5.2", "7.5.x", SplitMode.EACH_SORTED),
    _MySqlRelease("7.6.0", "8.0.x", SplitMode.EACH_IN_PLACE),
    _MySqlRelease("8.1.0", "8.5.3", SplitMode.EACH_SORTED),
    _MySqlRelease("8.5.4", "x.x.x", SplitMode.EACH_AND_APPENDED, APPENDED),
)


def split_mode(version: str, protocol: str, output_raw_change_event: bool = False) -> SplitMode:
    """The rule of that TiCDC version. Raises ConfigError if it has no raw events."""
    number = version_number(version)
    protocols = (ALL, CSV_AVRO if protocol in ("avro", "csv") else ROWS)
    release = next(r for r in _RELEASES if r.protocol in protocols and _within(number, r))
    if not output_raw_change_event:
        return release.mode
    if not release.raw:
        raise ConfigError(f"TiCDC {version} has no output-raw-change-event")
    return NEVER


def mysql_split_mode(
    version: str, commit_ts: int, *, threshold_ts: int = 0, safe_mode: bool = False
) -> SplitMode:
    """What the MySQL sink of that TiCDC version does with the transaction of a commit_ts.

    `threshold_ts` is when the table's replication began on its node (8.1.0: when the node began):
    what is older is split, since it may have been written before. Each restart has another.
    """
    number = version_number(version)
    release = next(r for r in _MYSQL_RELEASES if _within(number, r))
    return release.old if safe_mode or commit_ts < threshold_ts else release.new


def _within(number: Version, release: _Release | _MySqlRelease) -> bool:
    last = tuple(1 << 30 if part == "x" else int(part) for part in release.last.split("."))
    return version_number(release.first) <= number <= last


_Test = Callable[[RowChange], bool]


def split(
    changes: Iterable[RowChange],
    mode: SplitMode,
    keeps: _Test | None = None,
    moves: _Test | None = None,
    room: int = ROOM,
) -> Iterator[RowChange]:
    """The changes of one transaction as TiCDC sends them: table by table, DELETE before UPDATE
    before INSERT. Beyond `room` they are sorted, and wait, on disk.

    `keeps` decides which are sent: in the new architecture it sees the halves of a split UPDATE, in
    the old one the UPDATE. An UPDATE that `moves` is split whatever the mode is, and sorted.
    """
    halves_are_filtered = mode in (APPENDED, SplitMode.EACH_AND_APPENDED)
    for of_table in stored(changes, room):
        if keeps is None:
            yield from _split(of_table, mode, moves, room)
        elif halves_are_filtered:
            yield from filter(keeps, _split(of_table, mode, moves, room))
        else:
            yield from _split(filter(keeps, of_table), mode, moves, room)


def _split(
    changes: Iterator[RowChange], mode: SplitMode, moves: _Test | None, room: int
) -> Iterator[RowChange]:
    """`changes` are sorted."""
    if mode in (UNSORTED, MULTI_ROW):
        first = list(islice(changes, 2))
        changes = chain(first, changes)
        if (len(first) > 1) is (mode is UNSORTED):
            mode = NEVER
    if mode is NEVER and moves is None:
        yield from changes
        return
    of_keys, of_each = mode is not NEVER, mode in _EACH
    in_place, appends = mode in _IN_PLACE, mode in (APPENDED, SplitMode.EACH_AND_APPENDED)
    updates, inserts = Spool(room), Spool(room)
    waiting = False
    for change in changes:
        before, after = change.before, change.after
        if before is None:
            if not waiting and not appends:
                # The first INSERT: everything before it has been seen.
                yield from updates.drain()
                yield from inserts.drain()
                waiting = True
            yield change
        elif after is None:
            yield change
        else:
            key_changed = (of_keys and change.key_changed) or (moves is not None and moves(change))
            if not key_changed and not of_each:
                if appends:
                    yield change
                else:
                    updates.append(change)
                continue
            yield change.half(before=True)
            if in_place and not (appends and key_changed):
                yield change.half(before=False)
            else:
                inserts.append(change.half(before=False))
    yield from updates.drain()
    yield from inserts.drain()
