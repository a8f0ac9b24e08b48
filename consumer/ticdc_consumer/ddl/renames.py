"""The renames of one statement as one RENAME TABLE, where each DDL commits by itself.

TiCDC sends a statement's renames one by one; between two of them a reader of the target would see
neither the old names nor the new ones. After a swap the names do not show whether it ran, so an
empty table, the marker, is renamed by the same statement. It also prevents an overtaken consumer
from renaming twice: its marker no longer exists.
"""

import zlib
from collections.abc import Iterator, Sequence

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.sql.statements import RenameTable

from ticdc_consumer import failpoints
from ticdc_consumer.ddl import merged_tables
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.definitions import definitions_after
from ticdc_consumer.ddl.kinds import kind_of
from ticdc_consumer.ddl.names import MARKER_NAME, statement_of
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.ledger import Ledger, LedgerEntry
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.target import Target


def groups(context: DdlContext) -> Iterator[list[LedgerEntry]]:
    """Yields the pending DDL in order: one by one, but the renames of one commit_ts together where
    DDL commits by itself."""
    pending = context.ledger.pending()
    while pending:
        size = 1 if context.target.transactional_ddl else _renames(context, pending)
        yield pending[:size]
        pending = pending[size:]


def _renames(context: DdlContext, pending: Sequence[LedgerEntry]) -> int:
    """Returns the number of leading renames of one commit_ts, at least 1."""
    size = 0
    for entry in pending:
        try:
            statement = context.statement(entry)
        except TicdcError:
            break
        same = entry.commit_ts == pending[0].commit_ts and not entry.instead
        if not same or kind_of(statement).runs != "with its neighbours":
            break
        size += 1
    return max(size, 1)


def statements(context: DdlContext, group: Sequence[LedgerEntry]) -> tuple[str, str] | None:
    """Returns the statements that create the marker, and rename it with all others; None if that
    ran. Raises `Stop` if names are not as they should be."""
    target = context.target
    begun, done = _markers(context.ledger, group[0])
    if target.describe(None, done) is not None:
        return None
    moves = _moves(context, group)
    _check(target, moves)
    parts = [*moves, ((None, begun), (None, done))]
    text = ", ".join(f"{target.quote(*old)} TO {target.quote(*new)}" for old, new in parts)
    create = f"CREATE TABLE IF NOT EXISTS {target.quote(None, begun)} (nothing INT)"
    return create, f"RENAME TABLE {text}"


def run(context: DdlContext, group: Sequence[LedgerEntry]) -> None:
    """Renames, unless it is done. Raises `Stop`, and `Fenced` if another consumer took over."""
    target = context.target
    moves = _moves(context, group)
    target.wait_for_ddl([name for move in moves for name in move])
    texts = statements(context, group)
    if texts is None:
        return
    create, rename = texts
    failpoints.hit("ddl-statement")
    _execute(target, create)
    # After the marker: a consumer that takes over from here on renames it, too.
    with target.transaction():
        context.ledger.check()
    _execute(target, rename)
    failpoints.hit("ddl-statement-ran")


def _moves(
    context: DdlContext, group: Sequence[LedgerEntry]
) -> list[tuple[TargetName, TargetName]]:
    definitions, known = context.definitions, context.ledger.known()
    moves = []
    for entry in group:
        statement = statement_of(entry, definitions, None)
        assert isinstance(statement, RenameTable)
        merged_tables.refuse_merged(context, statement)
        for name, leaving in ((statement.old, statement.new), (statement.new, statement.old)):
            known.require_alone(name, context.target.quote, (leaving,))
        defined = known.get(statement.old)
        left_and_new = {statement.old: None, statement.new: defined}
        known = known.changed(left_and_new, noted={statement.new})
        old, new = context.locate(statement.old), context.locate(statement.new)
        if old != new:
            moves.append((old, new))
        definitions = definitions_after(statement, definitions, context.ledger)
    return moves


def _check(target: Target, moves: Sequence[tuple[TargetName, TargetName]]) -> None:
    exists: dict[TargetName, bool] = {}
    for old, new in moves:
        for name in (old, new):
            if name not in exists:
                exists[name] = target.describe(*name) is not None
        if not exists[old] or exists[new]:
            reason = f"there is no {target.quote(*old)}" if not exists[old] else "both exist"
            raise Stop(f"{target.quote(*old)} is to become {target.quote(*new)}, but {reason}")
        exists[old], exists[new] = False, True


def drop_markers(context: DdlContext) -> None:
    """Drops the markers of this changefeed's renames that are not pending: finished ones, and those
    that a crash left. Raises `Fenced` if another consumer took over."""
    target, ledger = context.target, context.ledger
    if target.transactional_ddl:
        return
    with target.errors():
        # Not all tables' names: there may be thousands.
        rows = target.execute("SHOW TABLES LIKE 'ticdc_renam%'")
        names = filter(MARKER_NAME.fullmatch, [str(name) for (name,) in map(tuple, rows)])
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
