"""The reports of the steps that work on the state, and their receiver."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal, Protocol

from ticdc_consumer.errors import WaitingDdl
from ticdc_consumer.state.repairs import RepairState

Stage = Literal[
    "starting",
    "standby",
    "waiting",
    "planning",
    "starting Spark",
    "reading",
    "applying",
    "running DDL",
    "retrying",
    "stopped",
]

Cause = Literal["target refused", "target unreachable", "commit unknown", "read failed"]
"""Reason for a retry."""


class Reports(Protocol):
    """Takes the reports of one consumer; `Unheard` discards them."""

    @property
    def repair_waits(self) -> bool:
        """Returns whether a request for a repair may wait in the target."""

    def at(self, stage: Stage, detail: str = "") -> AbstractContextManager[None]:
        """Context in which the consumer is at this stage."""

    def retries(self, error: BaseException, cause: Cause) -> None:
        """Reports a passing failure, which is being retried."""

    def recovered(self) -> None:
        """Reports that the retry has succeeded."""

    def has_session(self, session: str) -> None:
        """Reports the session of the target that the consumer uses from here on."""

    def loads(self, rows: Callable[[], int]) -> None:
        """Sets `rows`, which returns at any time how many rows of the cut are in the
        transaction."""

    def waits_for_operator(self, ddls: Sequence[WaitingDdl]) -> None:
        """Reports the pending DDL that the consumer cannot do; none once they are done."""

    def repaired(self, state: RepairState | None) -> None:
        """Reports the last cut's outcome of a request for a repair; None if none waits."""


class Unheard:
    """Discards all reports."""

    repair_waits = True

    @contextmanager
    def at(self, stage: Stage, detail: str = "") -> Iterator[None]:
        yield

    def retries(self, error: BaseException, cause: Cause) -> None: ...

    def recovered(self) -> None: ...

    def has_session(self, session: str) -> None: ...

    def loads(self, rows: Callable[[], int]) -> None: ...

    def waits_for_operator(self, ddls: Sequence[WaitingDdl]) -> None: ...

    def repaired(self, state: RepairState | None) -> None: ...
