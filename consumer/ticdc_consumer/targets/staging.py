"""Staging tables: where the rows of a large cut wait for the transaction that publishes them.

A task writes them over a session of its own and commits; nothing there is part of the promise. The
driver publishes those tables alone that the facts name which Spark gave it: what a repeated,
speculative or forgotten task leaves has another name, and the next start drops it.
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
"""What their names begin with."""


@dataclass(frozen=True, slots=True)
class StagingJob:
    """What a task needs to write staging tables. `url` is the target's, with its password."""

    url: str = field(repr=False)
    changefeed: str

    def name(self, number: int) -> str:
        return f"{prefix(self.changefeed)}{number:x}"


def prefix(changefeed: str) -> str:
    """What the names of a changefeed's staging tables begin with, and no other changefeed's."""
    return f"{STAGING_TABLE}{hashlib.sha256(changefeed.encode()).hexdigest()[:12]}_"


class Unneeded:
    """The staging tables that nothing will be published from any more. Any thread may add."""

    def __init__(self) -> None:
        self._names: deque[str] = deque()

    def add(self, names: Iterable[str]) -> None:
        self._names.extend(names)

    def drop(self, target: "Target") -> None:
        """Drops them. A table that the target does not drop now is left for the next start."""
        names = [self._names.popleft() for _ in range(len(self._names))]
        with suppress(Retry):
            target.drop_staging(names)


def drop_left(target: "Target", changefeed: str) -> None:
    """Drops what an earlier consumer of the changefeed left. A task of its may be at work on one:
    it can publish nothing, and its table goes with the start after this one."""
    if target.has_staging:
        with suppress(Retry):
            target.drop_staging(target.staging_tables(prefix(changefeed)))
