"""The program's own work in the transaction of each cut, next to its rows and position."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from ticdc_consumer.cut.apply.counts import Counts
from ticdc_consumer.errors import Retry, Usage
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import OF_TRANSACTIONS, Target

_FIRST_WORD = re.compile(r"(?:\s|;|/\*.*?\*/|--[^\n]*\n|#[^\n]*\n)*(\w*)", re.DOTALL)
_COMMITS_ITSELF = frozenset(
    {"ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE", "LOCK", "UNLOCK", "GRANT", "REVOKE"}
)


@dataclass(frozen=True, slots=True)
class UncommittedCut:
    """A cut whose rows and position are written, and not committed yet.

    After the commit the target equals the upstream at `resolved_ts`, and before it at `begin_ts`.
    `tables` counts the rows by upstream `schema.table`. In the MySQL family the cut's DDL runs
    after the commit, elsewhere it has run.
    """

    begin_ts: int
    resolved_ts: int
    tables: Mapping[str, Counts]
    _target: Target = field(repr=False)

    def execute(
        self,
        statement: str | sa.Executable,
        parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> sa.CursorResult[Any]:
        """Runs a statement in the cut's transaction: SQLAlchemy's, or a text with `:name` for each
        parameter. Raises what the driver raises, and `Usage` for what would end the transaction."""
        if isinstance(statement, str):
            statement = sa.text(statement)
        first = _FIRST_WORD.match(str(statement))
        word = first[1].upper() if first else ""
        if word in OF_TRANSACTIONS or (
            word in _COMMITS_ITSELF and not self._target.transactional_ddl
        ):
            raise Usage(f"before_commit: {word} would end the transaction of the cut: leave it out")
        return self._target.connection.execute(statement, parameters)


BeforeCommit = Callable[[UncommittedCut], None]


class RaisedInCut(Exception):
    """Carries a program's exception past handlers that would take it for one of the cut's own."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def call(before_commit: BeforeCommit, cut: UncommittedCut, target: Target) -> None:
    """Calls the program. Raises `RaisedInCut` with its exception, but `Retry` for a passing refusal
    of the target: the cut is then tried again, and the program called again."""
    try:
        before_commit(cut)
    except Exception as error:  # of any kind: it belongs to the program, and rolls the cut back
        translated = target.translate(error)
        if isinstance(translated, Retry):
            raise translated from error
        raise RaisedInCut(error) from error


def require_intact(store: Store, new: Checkpoint) -> None:
    """Raises `RaisedInCut` with `Usage` if the program left a transaction that cannot be committed
    as a whole."""
    try:
        store.require_written(new)
    except Usage as error:
        raise RaisedInCut(error) from error
    except sa.exc.DBAPIError as error:
        if isinstance(store.target.translate(error), Retry):
            raise
        refusal = Usage(
            "before_commit returned after a statement of its own that failed, which ends the "
            "transaction in this target: raise instead"
        )
        raise RaisedInCut(refusal) from error


@contextmanager
def as_raised() -> Iterator[None]:
    """Raises the program's own exception in place of its carrier."""
    try:
        yield
    except RaisedInCut as raised:
        raise raised.error from raised.error.__cause__
