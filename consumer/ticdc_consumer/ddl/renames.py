"""The renames of one statement as one RENAME TABLE, where each DDL commits by itself.

TiCDC sends a statement's renames one by one; whoever reads the target between two of them would see
neither the old names nor the new ones. After a swap the names alone do not tell whether it ran, so
an empty table, the marker, is renamed by the same statement. It also keeps a consumer that was
overtaken from renaming twice: its marker is gone.
"""

import zlib
from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.sql.statements import RenameTable

from ticdc_consumer import failpoints
from ticdc_consumer.ddl.definitions import definitions_after
from ticdc_consumer.ddl.names import MARKER_NAME, Place, Route, place_of, statement_of
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.targets.target import Target


def together(target: Target, ledger: Ledger) -> Iterator[list[LedgerEntry]]:
    """What is pending, in order: one by one, but the renames of one commit_ts at once where DDL
    commits by itself."""
    pending = ledger.pending()
    while pending:
        size = 1 if target.transactional_ddl else _renames(ledger, pending)
        yield pending[:size]
        pending = pending[size:]


def _renames(ledger: Ledger, pending: Sequence[LedgerEntry]) -> int:
    """With how many renames of one commit_ts it begins, but at least 1."""
    size = 0
    for entry in pending:
        try:
            statement = statement_of(entry, ledger.definitions())
        except TicdcError:
            break
        same = entry.commit_ts == pending[0].commit_ts and not entry.instead
        if not same or not isinstance(statement, RenameTable):
            break
        size += 1
    return max(size, 1)


def statements(
    target: Target, ledger: Ledger, group: Sequence[LedgerEntry], route: Route
) -> tuple[str, str] | None:
    """What makes the marker, and what renames it with all others; nothing where that ran. Raises
    `Stop` where names are not as they should be."""
    begun, done = _markers(ledger, group[0])
    if target.describe(None, done) is not None:
        return None
    moves = _moves(target, ledger, group, route)
    _check(target, moves)
    parts = [*moves, ((None, begun), (None, done))]
    text = ", ".join(f"{target.quote(*old)} TO {target.quote(*new)}" for old, new in parts)
    make = f"CREATE TABLE IF NOT EXISTS {target.quote(None, begun)} (nothing INT)"
    return make, f"RENAME TABLE {text}"


def run(target: Target, ledger: Ledger, group: Sequence[LedgerEntry], route: Route) -> None:
    """Renames, unless it is done. Raises `Stop`, and `Fenced` where another consumer took over."""
    moves = _moves(target, ledger, group, route)
    target.wait_for_ddl([place for move in moves for place in move])
    found = statements(target, ledger, group, route)
    if found is None:
        return
    make, rename = found
    failpoints.hit("D1")
    _execute(target, make)
    # After the marker: who overtakes from here on takes it along.
    with target.transaction():
        ledger.check()
    _execute(target, rename)
    failpoints.hit("D2")


def _moves(
    target: Target, ledger: Ledger, group: Sequence[LedgerEntry], route: Route
) -> list[tuple[Place, Place]]:
    definitions = ledger.definitions()
    moves = []
    for entry in group:
        statement = statement_of(entry, definitions)
        assert isinstance(statement, RenameTable)
        old, new = (place_of(target, route, *name) for name in (statement.old, statement.new))
        if old != new:
            moves.append((old, new))
        definitions = definitions_after(statement, definitions, ledger)
    return moves


def _check(target: Target, moves: Sequence[tuple[Place, Place]]) -> None:
    there: dict[Place, bool] = {}
    for old, new in moves:
        for place in (old, new):
            if place not in there:
                there[place] = target.describe(*place) is not None
        if not there[old] or there[new]:
            which = f"there is no {target.quote(*old)}" if not there[old] else "both are there"
            raise Stop(f"{target.quote(*old)} is to become {target.quote(*new)}, but {which}")
        there[old], there[new] = False, True


def tidy(target: Target, ledger: Ledger) -> None:
    """Drops the markers of this changefeed's renames that are not pending: those that are done, and
    what a crash left. Raises `Fenced` where another consumer took over."""
    if target.transactional_ddl:
        return
    with target.errors():
        names = filter(MARKER_NAME.fullmatch, sa.inspect(target.connection).get_table_names())
        mine = {name for name in names if name.split("_")[2] == _checksum(ledger)}
        over = mine - {name for entry in ledger.pending() for name in _markers(ledger, entry)}
        if not over:
            return
        with target.transaction():
            ledger.check()
        for name in over:
            _execute(target, f"DROP TABLE IF EXISTS {target.quote(None, name)}")


def _markers(ledger: Ledger, entry: LedgerEntry) -> tuple[str, str]:
    ending = f"{_checksum(ledger)}_{entry.commit_ts}"
    return f"ticdc_renaming_{ending}", f"ticdc_renamed_{ending}"


def _checksum(ledger: Ledger) -> str:
    return f"{zlib.crc32(ledger.changefeed.encode()):08x}"


def _execute(target: Target, text: str) -> None:
    target.execute(text)
