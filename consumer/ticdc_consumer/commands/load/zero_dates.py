"""EDGE: a search, before a load, for upstream dates that a target cannot hold."""

from collections.abc import Iterator

from ticdc_encoder.column import Column

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import TargetTable
from ticdc_consumer.targets.rules import ZERO_DATE_AS_NULL
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.session import UpstreamSession
from ticdc_consumer.upstream.tables import Defined, quoted, relation, sent

SECONDS = 5
"""Time limit of each search of a column."""
TRIES = 2
"""Attempts: TiDB 8.4 sometimes answers the first query with a time limit by "context canceled"
(1105)."""

_TYPES = frozenset({"date", "datetime", "timestamp"})


def require_dates(
    session: UpstreamSession,
    defined: Defined,
    target: Target,
    existing: TargetTable | None,
    rules: frozenset[str],
) -> None:
    """Raises `Stop` for a column with a zero or partial date that the target's column cannot
    take."""
    for column in _narrow(defined, target, existing, rules):
        if _holds_zero_date(session, defined, column):
            raise Stop(
                f"{'.'.join(defined.name)}: column {column.name} holds a zero or partial date, "
                f"such as 0000-00-00, which {target.connection.dialect.name} does not have; "
                "create the table here before, with this column as a text; or, if it may be NULL, "
                f'set [target] rules = ["{ZERO_DATE_AS_NULL}"]'
            )


def _narrow(
    defined: Defined, target: Target, existing: TargetTable | None, rules: frozenset[str]
) -> Iterator[Column]:
    """Yields the columns in which a zero date would stop a run."""
    if target.has_zero_dates:
        return
    keys = set(defined.table.handle_key)
    here = {column.name.lower(): column for column in existing.columns} if existing else {}
    for column in sent(defined.table):
        if column.type.name not in _TYPES:
            continue
        own = here.get(column.name.lower())
        if own is not None and not own.type.lower().startswith(("date", "timestamp")):
            continue
        nullable = column.nullable if own is None else own.nullable
        if not (ZERO_DATE_AS_NULL in rules and nullable and column.name not in keys):
            yield column


def _holds_zero_date(session: UpstreamSession, defined: Defined, column: Column) -> bool:
    """Returns whether there is a zero date; False, too, without a timely answer: the load then
    stops at the row."""
    name = quoted(column.name)
    for _ in range(TRIES):
        try:
            rows = session.query(
                f"SELECT /*+ MAX_EXECUTION_TIME({SECONDS * 1000}) */ 1 "  # noqa: S608
                f"FROM {relation(defined.table)} "
                f"WHERE MONTH({name}) = 0 OR DAYOFMONTH({name}) = 0 LIMIT 1"
            )
        except Stop:
            continue
        return bool(rows)
    return False
