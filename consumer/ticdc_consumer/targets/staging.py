"""Staging tables: they hold the rows of a large cut until a transaction publishes them.

A task writes them over its own session and commits; nothing there is part of the promise. The
driver publishes only tables named in the facts that Spark returned: a table of a repeated,
speculative or forgotten task has another name, and the next start drops it.
"""

import hashlib
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ticdc_consumer.errors import Retry

if TYPE_CHECKING:  # which Spark's tasks need not wait for
    from ticdc_consumer.targets.target import Target

STAGING_TABLE: Final = "ticdc_stage_"
"""The prefix of their names."""


@dataclass(frozen=True, slots=True)
class StagingJob:
    """The input of a task that writes staging tables. `url` is the target's, with its password."""

    url: str = field(repr=False)
    changefeed: str

    def name(self, number: int) -> str:
        return f"{prefix(self.changefeed)}{number:x}"


def prefix(changefeed: str) -> str:
    """The prefix of the staging tables of one changefeed, which no other changefeed shares."""
    return f"{STAGING_TABLE}{hashlib.sha256(changefeed.encode()).hexdigest()[:12]}_"


class Unneeded:
    """Staging tables from which nothing more will be published. Any thread may add names."""

    def __init__(self) -> None:
        self._names: deque[str] = deque()

    def add(self, names: Iterable[str]) -> None:
        self._names.extend(names)

    def drop(self, target: "Target") -> None:
        """Drops the tables. One that the target does not drop now is left for the next start."""
        names = [self._names.popleft() for _ in range(len(self._names))]
        with suppress(Retry):
            target.drop_staging(names)


def drop_left(target: "Target", changefeed: str) -> None:
    """Drops the tables of an earlier consumer of the changefeed. One of its tasks may still write
    to a table: it can publish nothing, and the start after this one drops that table."""
    if target.has_staging:
        with suppress(Retry):
            target.drop_staging(target.staging_tables(prefix(changefeed)))
