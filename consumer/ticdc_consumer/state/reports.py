"""What the steps that work on the state report of themselves, and to whom."""

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
"""Why something is tried again."""


class Reports(Protocol):
    """Takes the reports of one consumer; `Unheard` where nobody looks at them."""

    @property
    def repair_waits(self) -> bool:
        """Whether a request for a repair may wait in the target."""

    def at(self, stage: Stage, detail: str = "") -> AbstractContextManager[None]:
        """Inside, the consumer is at this stage."""

    def retries(self, error: BaseException, cause: Cause) -> None:
        """Something failed for a passing reason, and is tried again."""

    def recovered(self) -> None:
        """What was tried again has worked."""

    def has_session(self, session: str) -> None:
        """The consumer works in this session of the target from here on."""

    def loads(self, rows: Callable[[], int]) -> None:
        """`rows` tells, at any time, how many rows of the cut are in the transaction."""

    def waits_for_operator(self, ddls: Sequence[WaitingDdl]) -> None:
        """The pending DDL that the consumer cannot do; none once they are done."""

    def repaired(self, state: RepairState | None) -> None:
        """What the last cut made of a request for a repair; None if none waits."""


class Unheard:
    """Takes reports that nobody looks at."""

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
