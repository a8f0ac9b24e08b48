"""The DDL of a cut as entries of the ledger, in the order in which they run."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby, permutations

from ticdc_encoder.event import Ddl
from ticdc_encoder.sql.statements import RenameTable

from ticdc_consumer.ddl.names import understood
from ticdc_consumer.errors import Stop
from ticdc_consumer.source.marks import SeenDdl
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.layout import TableName


def entries(seen: Iterable[SeenDdl]) -> list[LedgerEntry]:
    """Returns the ledger's entries for the DDL of a cut, one per identity, in the order of
    (commit_ts, topic, offset of the first copy). Raises `Stop` for DDL that no ledger could hold.
    """
    ordered = sorted(seen, key=lambda one: one.ddl.commit_ts)
    groups = groupby(ordered, key=lambda one: one.ddl.commit_ts)
    return [entry for _, group in groups for entry in _entries_of_one_ts(group)]


def _entries_of_one_ts(seen: Iterable[SeenDdl]) -> list[LedgerEntry]:
    first: dict[tuple[str, str, str], SeenDdl] = {}
    for one in sorted(seen, key=lambda one: (one.topic, one.offset)):
        if "\0" in one.ddl.query:
            one = replace(one, ddl=_with_escaped_nul(one.ddl))
        if "\0" in one.ddl.schema + one.ddl.table + one.ddl.query:
            raise Stop(f"{one.topic}[0] offset {one.offset}: a DDL with a NUL character in it")
        first.setdefault((one.ddl.schema, one.ddl.table, one.ddl.query), one)
    ordered = renames_in_order(list(first.values()))
    return [
        LedgerEntry(
            one.ddl.commit_ts, seq, one.ddl.schema, one.ddl.table, one.ddl.query, one.ddl.kind
        )
        for seq, one in enumerate(ordered, 1)
    ]


def _with_escaped_nul(ddl: Ddl) -> Ddl:
    """Returns the DDL with `\\0` in its query for each NUL, as in a BINARY default, if it means the
    same: no ledger in PostgreSQL holds the character."""
    # Behind a character set's name, `escaped` takes a single backslash for one of the text.
    query = _INTRODUCED.sub(lambda text: text[1].replace("\0", r"\0"), ddl.query)
    statement = understood(query, ddl.schema)
    same = statement is not None and statement == understood(ddl.query, ddl.schema)
    return replace(ddl, query=query) if same else ddl


_INTRODUCED = re.compile(r"\b_[A-Z0-9]+('(?:[^'\0]|'')*+\0(?:[^']|'')*+')")


def renames_in_order(seen: list[SeenDdl]) -> list[SeenDdl]:
    """Orders the renames of one statement such that each table ends under the name that TiCDC sends
    with its rename, which is its name after all of them. Keeps their order if none fits or is
    certain."""
    if not 1 < len(seen) <= MOST_RENAMES:
        return seen
    renames: list[tuple[SeenDdl, TableName, TableName]] = []
    for one in seen:
        statement = understood(one.ddl.query, one.ddl.schema)
        if not isinstance(statement, RenameTable):
            return seen
        renames.append((one, statement.old, statement.new))
    for order in permutations(renames):
        if _ends_as_sent(order):
            return [one for one, _, _ in order]
    return seen


MOST_RENAMES = 7
"""Most renames of one statement that are ordered; more keep their order."""


def _ends_as_sent(order: Sequence[tuple[SeenDdl, TableName, TableName]]) -> bool:
    now: dict[
        TableName, TableName
    ] = {}  # a name -> the first name of the table that has this name now
    left: set[TableName] = set()
    tables = []
    for _, old, new in order:
        if new in now or (old in left and old not in now):
            return False
        table = now.pop(old, old)
        left.add(old)
        now[new] = table
        tables.append(table)
    final = {table: name for name, table in now.items()}
    return all(
        final[table] == (one.ddl.schema, one.ddl.table)
        for table, (one, _, _) in zip(tables, order, strict=True)
    )
