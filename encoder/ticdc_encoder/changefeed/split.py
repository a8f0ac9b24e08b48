"""Splitting of UPDATEs into DELETE and INSERT, and the order in which a transaction is sent.

An UPDATE that changes a column of a primary or unique key may arrive whole or as two changes of one
commit_ts. TiCDC's documents speak of NOT NULL unique keys; its code, which this module follows,
splits for nullable ones too.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice

from ticdc_encoder.changefeed.protocols import PROTOCOLS
from ticdc_encoder.changefeed.sorter import SortOrder, stored
from ticdc_encoder.changefeed.spool import ROOM, Spool
from ticdc_encoder.changefeed.versions import check_architecture
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import RowChange
from ticdc_encoder.version import Version, last_of, version_number


class SplitMode(Enum):
    NEVER = "never"
    HANDLE_KEY = "of the handle key alone, its halves stay where it was; others become an INSERT"
    MULTI_ROW = "only in transactions of several rows, which are then sorted"
    SORTED = "always; a table's rows of a transaction are then sorted: DELETE, UPDATE, INSERT"
    APPENDED = "always; the DELETE stays, the INSERT follows all other rows of the table"
    NEVER_BY_KEY = "never; UPDATE and INSERT come together, by their keys"
    # MySQL sinks, which split other UPDATEs, too.
    EACH_IN_PLACE = "every UPDATE; its halves stay where it was"
    EACH_BY_KEY = "every UPDATE in its place among INSERTs, by their keys"
    EACH_AND_SORTED = "every UPDATE in its place, but as MULTI_ROW what changes a key"
    EACH_SORTED = "every UPDATE, before the sorter"
    EACH_AND_APPENDED = "every UPDATE in its place, but as APPENDED what changes a key"


NEVER, HANDLE_KEY, MULTI_ROW = SplitMode.NEVER, SplitMode.HANDLE_KEY, SplitMode.MULTI_ROW
SORTED, APPENDED = SplitMode.SORTED, SplitMode.APPENDED
EACH_IN_PLACE, EACH_SORTED = SplitMode.EACH_IN_PLACE, SplitMode.EACH_SORTED
EACH_AND_SORTED, EACH_AND_APPENDED = SplitMode.EACH_AND_SORTED, SplitMode.EACH_AND_APPENDED
NEVER_BY_KEY, EACH_BY_KEY = SplitMode.NEVER_BY_KEY, SplitMode.EACH_BY_KEY
_ORDERS = {
    NEVER_BY_KEY: (SortOrder.PUTS_TOGETHER, NEVER),
    EACH_BY_KEY: (SortOrder.PUTS_TOGETHER, EACH_IN_PLACE),
    EACH_SORTED: (SortOrder.HALVES, NEVER),
}
"""Modes that sort otherwise than by kind: the order, and the mode after sorting."""
ALL, ROWS, CSV_AVRO = "ALL", "Canal/Open", "CSV/Avro"


@dataclass(frozen=True, slots=True)
class _Release:
    """A line of the tables in "TiCDC Behavior in Splitting UPDATE Events". `raw`: the mode is the
    default, and output-raw-change-event = true is NEVER.

    The tables say less about CSV and Avro before 7.4 than the code: `convertRowChangedEvents` of
    `cdc/processor/sinkmanager`, at v6.5.3, v6.5.4, v7.1.1, v7.2.0 and v7.3.0. Old values are forced
    off for both (`ForceDisableOldValueProtocols`), so it splits changes of the handle key, and
    drops the old row of any other UPDATE. At 6.5.4 nothing is left for the sink to split.
    """

    first: str
    last: str
    protocol: str
    mode: SplitMode
    raw: bool = False


_RELEASES = (
    # Release 6.5
    _Release("0.0.0", "6.5.1", ALL, NEVER_BY_KEY),
    _Release("6.5.2", "6.5.2", ALL, NEVER),
    _Release("6.5.3", "6.5.3", ROWS, NEVER),
    _Release("6.5.3", "6.5.3", CSV_AVRO, HANDLE_KEY),
    _Release("6.5.4", "6.5.4", ROWS, MULTI_ROW),
    _Release("6.5.4", "6.5.4", CSV_AVRO, HANDLE_KEY),
    _Release("6.5.5", "6.5.9", ALL, SORTED),
    _Release("6.5.10", "6.5.x", ALL, SORTED, raw=True),
    # Release 7.1
    _Release("6.6.0", "7.0.x", ALL, NEVER_BY_KEY),
    _Release("7.1.0", "7.1.0", ALL, NEVER),
    _Release("7.1.1", "7.1.1", ROWS, NEVER),
    _Release("7.1.1", "7.1.1", CSV_AVRO, HANDLE_KEY),
    _Release("7.1.2", "7.1.5", ALL, SORTED),
    _Release("7.1.6", "7.1.x", ALL, SORTED, raw=True),
    # Release 7.5
    _Release("7.2.0", "7.3.x", ROWS, NEVER),
    _Release("7.2.0", "7.3.x", CSV_AVRO, HANDLE_KEY),
    _Release("7.4.0", "7.5.2", ALL, SORTED),
    _Release("7.5.3", "7.5.x", ALL, SORTED, raw=True),
    # Release 8.1
    _Release("7.6.0", "8.1.0", ALL, SORTED),
    _Release("8.1.1", "x.x.x", ALL, SORTED, raw=True),
)


@dataclass(frozen=True, slots=True)
class _MySqlRelease:
    """Modes in which the MySQL sink splits changes older than its table's start, and all others;
    and whether safe mode treats all changes as older.

    Source: `TrySplitAndSortUpdateEvent` of `cdc/model/sink.go`; where it leaves MySQL alone, the
    puller splits: `shouldSplitKVEntry` of `cdc/processor/sourcemanager`, which knows of safe mode
    where `cdc/processor/processor.go` asks `IsSinkSafeMode`. Before, `prepareDMLs` of the sink's
    `mysql.go` split, also changes of the very start.
    """

    first: str
    last: str
    old: SplitMode
    new: SplitMode = NEVER
    safe_mode: bool = True


_MYSQL_RELEASES = (
    _MySqlRelease("0.0.0", "6.5.1", EACH_BY_KEY, NEVER_BY_KEY),
    _MySqlRelease("6.5.2", "6.5.3", EACH_IN_PLACE),
    _MySqlRelease("6.5.4", "6.5.9", EACH_AND_SORTED, MULTI_ROW),
    _MySqlRelease("6.5.10", "6.5.11", EACH_SORTED, safe_mode=False),
    _MySqlRelease("6.5.12", "6.5.x", EACH_SORTED),
    _MySqlRelease("6.6.0", "7.0.x", EACH_BY_KEY, NEVER_BY_KEY),
    _MySqlRelease("7.1.0", "7.1.1", EACH_IN_PLACE),
    _MySqlRelease("7.1.2", "7.1.5", EACH_AND_SORTED, MULTI_ROW),
    _MySqlRelease("7.1.6", "7.1.x", EACH_SORTED),
    _MySqlRelease("7.2.0", "7.3.x", EACH_IN_PLACE),
    _MySqlRelease("7.4.0", "7.5.1", EACH_AND_SORTED, MULTI_ROW),
    _MySqlRelease("7.5.2", "7.5.4", EACH_SORTED, safe_mode=False),
    _MySqlRelease("7.5.5", "7.5.x", EACH_SORTED),
    _MySqlRelease("7.6.0", "8.0.x", EACH_AND_SORTED, MULTI_ROW),
    _MySqlRelease("8.1.0", "8.1.1", EACH_SORTED, safe_mode=False),
    _MySqlRelease("8.1.2", "8.1.x", EACH_SORTED),
    _MySqlRelease("8.2.0", "8.4.x", EACH_SORTED, safe_mode=False),
    _MySqlRelease("8.5.0", "x.x.x", EACH_SORTED),
)
_FROM_THE_START = (EACH_SORTED, EACH_AND_APPENDED)
"""Modes that do not split a transaction of the very start of its table."""
_NEW_ARCHITECTURE = _Release("8.5.4", "x.x.x", ALL, APPENDED, raw=True)
_NEW_MYSQL = _MySqlRelease("8.5.4", "x.x.x", EACH_AND_APPENDED, APPENDED)


def split_mode(
    version: str,
    protocol: str,
    output_raw_change_event: bool = False,
    *,
    new_architecture: bool = False,
) -> SplitMode:
    """The rule of that TiCDC version. Raises ConfigError if it has no raw events, or no new
    architecture."""
    number = version_number(version)
    check_architecture(number, new=new_architecture)
    protocols = (ALL, CSV_AVRO if PROTOCOLS[protocol].one_row else ROWS)
    release = _NEW_ARCHITECTURE
    if not new_architecture:
        release = next(r for r in _RELEASES if r.protocol in protocols and _up_to(r, number))
    if not output_raw_change_event:
        return release.mode
    if not release.raw:
        raise ConfigError(f"TiCDC {version} has no output-raw-change-event")
    return NEVER


def mysql_split_mode(
    version: str,
    commit_ts: int,
    *,
    threshold_ts: int = 0,
    safe_mode: bool = False,
    new_architecture: bool = False,
) -> SplitMode:
    """The MySQL sink's treatment of the transaction of a commit_ts, in that TiCDC version.

    `threshold_ts` is when the table's replication began on its node (8.1.0: when the node began):
    older changes are split, since they may have been written before. Each restart has another.
    """
    number = version_number(version)
    check_architecture(number, new=new_architecture)
    release = _NEW_MYSQL
    if not new_architecture:
        release = next(r for r in _MYSQL_RELEASES if _up_to(r, number))
    splits_all = safe_mode and release.safe_mode
    first_new = threshold_ts if release.old in _FROM_THE_START else threshold_ts + 1
    return release.old if splits_all or commit_ts < first_new else release.new


def _up_to(release: _Release | _MySqlRelease, number: Version) -> bool:
    """Returns whether the line is that of the version, if none before is. Versions before a release
    follow that release's line, as the betas of 9.0 did when they were run."""
    return number <= last_of(release.last)


_Test = Callable[[RowChange], bool]


def split(
    changes: Iterable[RowChange],
    mode: SplitMode,
    keeps: _Test | None = None,
    keeps_whole: _Test | None = None,
    moves: _Test | None = None,
    room: int = ROOM,
    *,
    net: bool = False,
) -> Iterator[RowChange]:
    """The changes of one transaction as TiCDC sends them: table by table, DELETE before UPDATE
    before INSERT. They come in the order of the statements, or `net`: one of each row. Beyond
    `room` they are sorted, and wait, on disk.

    `keeps` decides which are sent: in the new architecture it sees the halves of a split UPDATE,
    which `keeps_whole` has seen before, in the old one the UPDATE. An UPDATE that `moves` is split
    whatever the mode is, and sorted.
    """
    halves_are_filtered = mode in (APPENDED, EACH_AND_APPENDED)
    order, mode = _ORDERS.get(mode, (SortOrder.BY_KIND, mode))
    for of_table in stored(changes, room, net=net, order=order):
        if keeps is None:
            yield from _split(of_table, mode, moves, room)
        elif halves_are_filtered:
            whole = of_table if keeps_whole is None else filter(keeps_whole, of_table)
            yield from filter(keeps, _split(whole, mode, moves, room))
        else:
            yield from _split(filter(keeps, of_table), mode, moves, room)


def _split(
    changes: Iterator[RowChange], mode: SplitMode, moves: _Test | None, room: int
) -> Iterator[RowChange]:
    """Splits sorted `changes`."""
    if mode in (MULTI_ROW, EACH_AND_SORTED):
        first = list(islice(changes, 2))
        changes = chain(first, changes)
        if len(first) < 2:
            mode = NEVER if mode is MULTI_ROW else EACH_IN_PLACE
    if mode is NEVER and moves is None:
        yield from changes
        return
    appends = mode in (APPENDED, EACH_AND_APPENDED)
    updates, inserts = Spool(room), Spool(room)
    waiting = False
    for change in changes:
        if change.before is None:
            if not waiting and not appends:
                # The first INSERT: everything before it has been seen.
                yield from updates.drain()
                yield from inserts.drain()
                waiting = True
            yield change
        elif change.after is None:
            yield change
        elif _changes_key(change, mode) or (moves is not None and moves(change)):
            yield change.half(before=True)
            if mode in (HANDLE_KEY, EACH_IN_PLACE):
                yield change.half(before=False)
            else:
                inserts.append(change.half(before=False))
        else:
            yield from _other(change, mode, updates, inserts)
    yield from updates.drain()
    yield from inserts.drain()


def _changes_key(change: RowChange, mode: SplitMode) -> bool:
    if mode is HANDLE_KEY:
        return change.handle_key_changed
    if mode is NEVER or change.key_changed is None:
        return False
    return mode in (APPENDED, EACH_AND_APPENDED) or not _only_by_null(change)


def _only_by_null(change: RowChange) -> bool:
    """Returns whether the only difference between keys is NULL and the text `null`, which the old
    architecture confuses: `ColumnValueString` of `cdc/model/sink.go`."""
    before, after = change.before or {}, change.after or {}
    changed = [(before[n], after.get(n)) for n in change.table.key_columns if n in before]
    return all(
        old == new or (None in (old, new) and (old or new) in ("null", b"null"))
        for old, new in changed
    )


def _other(
    change: RowChange, mode: SplitMode, updates: Spool, inserts: Spool
) -> Iterator[RowChange]:
    """The changes of an UPDATE without a new key to send now. The later ones go into the spools."""
    match mode:
        case SplitMode.APPENDED:
            yield change
        case SplitMode.HANDLE_KEY:
            yield change.half(before=False)
        case SplitMode.EACH_IN_PLACE | SplitMode.EACH_AND_APPENDED:
            yield change.half(before=True)
            yield change.half(before=False)
        case SplitMode.EACH_AND_SORTED:
            updates.append(change.half(before=True))
            updates.append(change.half(before=False))
        case _:
            updates.append(change)
