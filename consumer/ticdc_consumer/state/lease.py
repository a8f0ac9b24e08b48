"""One consumer's right to write for a changefeed: its generation, and its session's lock.

A consumer that starts later raises `generation` in the checkpoint. Each transaction locks the
checkpoint first and compares the generation with its own, so that an older consumer can no longer
commit.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.errors import RESTORED, Away, Fenced, Retry, Stop, Unavailable, UnknownCommit
from ticdc_consumer.state.reports import Reports
from ticdc_consumer.state.schema import CHECKPOINT
from ticdc_consumer.state.upgrade import OwnTables
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import every, retried, until

logger = logging.getLogger(__name__)

WARNING_INTERVAL = 30.0
"""Seconds between two warnings that the target does not answer."""
PAUSE = 1.0
"""Seconds between two attempts to reach the target."""
SHOWN_AFTER = 5.0
"""Seconds, at most, until the checkpoint shows a consumer that ended another one's start."""

T = TypeVar("T")


class Lease:
    """The lease of one changefeed. `generation` is 0 until `take` or `begin`."""

    def __init__(
        self,
        target: Target,
        changefeed: str,
        tables: OwnTables,
        monitor: Reports,
        gives_up: Callable[[], bool] = lambda: False,
    ) -> None:
        """`gives_up` returns True when the lease must stop waiting for a target that does not
        answer."""
        self.changefeed = changefeed
        self.generation = 0
        self._target = target
        self._tables = tables
        self._monitor = monitor
        self._mine = CHECKPOINT.c.changefeed == changefeed
        # Built once, because each cut runs them.
        self._to_read = sa.select(CHECKPOINT).where(self._mine)
        self._to_lock = target.locking_read(self._to_read)
        self._takeover_after = 30.0
        self._began: tuple[int, str] | None = None
        """The checkpoint's generation when `take` began, and the session in which it began."""
        self._gives_up = gives_up

    def take(self, takeover_after: float, read: Callable[[], T]) -> T | None:
        """Takes the changefeed over: refuses older consumers, and returns the result of `read` in
        the same transaction.

        Creates or migrates the tables first. Ends the session of an older consumer that blocks it
        for longer than `takeover_after` seconds. Returns None, without taking over, if there is no
        checkpoint yet.
        """
        self._takeover_after = takeover_after
        self.generation = 0
        failure = "it could not be taken over, nothing was applied"
        try:
            self._tables.prepare(takeover_after)
            seen = self._stored_generation()
            self._began = (seen, self._target.session_id())
        except (Retry, UnknownCommit) as error:
            raise self._unavailable(failure, error) from error

        def raise_generation() -> tuple[int, T] | None:
            row = self.locked_row()
            if row is None:
                if seen:
                    raise self._ended()
                return None
            self._tables.require_current()
            generation = row.generation + 1
            self.update(generation=generation, owner=self._target.session_id())
            return generation, read()

        result = self._overtake(raise_generation, failure)
        if result is None:
            return None
        self.generation, started = result
        self._began = None
        return started

    def begin(self, generation: int, insert: Callable[[], None]) -> None:
        """Runs `insert`, which writes the first checkpoint with that generation. Raises `Fenced` if
        another consumer was faster."""

        def insert_first() -> None:
            self._tables.hold()
            if self.locked_row() is not None:
                raise self._began_first()
            insert()

        try:
            self._overtake(insert_first, "it is not known whether its first checkpoint was written")
        except Unavailable as error:
            # After an unknown commit, the checkpoint may be this consumer's.
            if isinstance(error.__cause__, Retry) and self._newly_read() is not None:
                raise self._began_first() from error
            raise
        self.generation = generation
        self._began = None

    def correct(self, update: Callable[[], None]) -> None:
        """Runs `update`, which replaces a first checkpoint."""
        self._overtake(update, "it is not known whether its first checkpoint was replaced")

    def end(self, delete: Callable[[], None]) -> None:
        """Runs `delete`, which removes the checkpoint."""

        def delete_own() -> None:
            self.own(self.locked_row())
            delete()

        self._overtake(delete_own, "it is not known whether it was ended")

    def reconnect(self) -> Any:
        """Opens a new session, fenced like the first; returns the checkpoint's row. Waits without
        limit for a silent server.

        Raises `Retry` if it refuses, `Fenced` if another consumer took over, `Away` by `gives_up`.
        """

        def own_again() -> Any:
            row = self.own(self.locked_row())
            session = self._target.session_id()
            self._monitor.has_session(session)
            self.update(owner=session)
            return row

        try:
            with self._monitor.at("retrying", "to reach the target"):
                self._reach()
                return self._past_others(own_again)
        except (Away, Fenced):
            raise
        except (Unavailable, UnknownCommit) as error:
            raise Retry(str(error)) from error

    def _reach(self) -> None:
        warned = -WARNING_INTERVAL

        def failed(error: Exception) -> None:
            nonlocal warned
            self._monitor.retries(error, "target unreachable")
            if self._gives_up():
                raise Away(str(error)) from error
            if time.monotonic() - warned >= WARNING_INTERVAL:
                warned = time.monotonic()
                event = {"event": "target_is_unreachable", "reason": str(error)}
                logger.warning("waiting for the target: %s", error, extra=event)

        retried(self._target.reconnect, every(PAUSE), on=(Away, Retry), failed=failed)

    def let_go(self) -> None:
        """Leaves the changefeed to the next consumer that takes it."""
        self.generation = 0

    def recover(self) -> None:
        """Replaces the session after a `Retry` if it was lost."""
        if not self._target.alive():
            self.reconnect()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Raises `Fenced` if a newer consumer explains the error raised inside: it ended the
        session; or it took over, and its work (such as a dropped table) may have caused the older
        one's `Stop`."""
        try:
            yield
        except TicdcError as error:
            lost = (Retry, UnknownCommit)
            if isinstance(error, lost) or isinstance(error.__cause__, lost):
                self._refuse_displaced(error)
            elif isinstance(error, Stop):
                self._refuse_overtaken(self._read(), error)
            raise

    def _refuse_displaced(self, error: TicdcError) -> None:
        if self._began is not None and until(self._other_began, SHOWN_AFTER):
            raise Fenced(
                f"changefeed {self.changefeed}: a newer consumer took over while this one began"
            ) from error
        self._refuse_overtaken(self._newly_read(), error)

    def _refuse_overtaken(self, row: Any, error: TicdcError) -> None:
        if row is not None and row.generation > self.generation > 0:
            try:
                self.own(row)
            except Fenced as fenced:
                raise fenced from error

    def _other_began(self) -> bool:
        """Returns whether the checkpoint belongs to another session that began after this
        consumer."""
        row = self._newly_read()
        if row is None or self._began is None:
            return False
        generation, session = self._began
        return bool(row.generation > generation and row.owner != session)

    def _stored_generation(self) -> int:
        with self._target.errors():
            row = self._row(self._to_read)
        return 0 if row is None else int(row.generation)

    def _newly_read(self) -> Any:
        """The checkpoint's row, read in a new session; None also if no session can be opened
        now."""
        try:
            self._target.reconnect()
        except TicdcError:
            return None
        return self._read()

    def _read(self) -> Any:
        """The checkpoint's row, read without waiting; None also if the target does not return
        it."""
        try:
            with self._target.errors():
                return self._row(self._to_read)
        except TicdcError:
            return None

    def _began_first(self) -> Fenced:
        return Fenced(f"changefeed {self.changefeed}: another consumer began it first")

    def _ended(self) -> Fenced:
        return Fenced(f"the target no longer has a checkpoint of changefeed {self.changefeed}")

    def own(self, row: Any) -> Any:
        """Returns the row if it is still of this consumer's generation. Raises `Fenced` if not."""
        if row is None:
            raise self._ended()
        if row.generation > self.generation:
            raise Fenced(
                f"changefeed {self.changefeed}: a newer consumer took over (generation "
                f"{row.generation}, this one has {self.generation})"
            )
        if row.generation < self.generation:
            raise Fenced(
                f"the checkpoint of changefeed {self.changefeed} went back to generation "
                f"{row.generation} from {self.generation}: {RESTORED}"
            )
        return row

    def locked_row(self) -> Any:
        """The checkpoint's row, which no other session can change before this transaction ends."""
        return self._row(self._to_lock)

    def update(self, **values: object) -> None:
        """Writes columns of the checkpoint, inside a transaction that locked it."""
        self._target.connection.execute(sa.update(CHECKPOINT).where(self._mine).values(**values))

    def _row(self, statement: sa.Select[Any]) -> Any:
        return self._target.connection.execute(statement).one_or_none()

    def _overtake(self, work: Callable[[], T], failure: str) -> T:
        try:
            with self.explaining():
                return self._past_others(work)
        except (Retry, UnknownCommit) as error:
            raise self._unavailable(failure, error) from error

    def _unavailable(self, failure: str, error: TicdcError) -> Unavailable:
        return Unavailable(f"changefeed {self.changefeed}: {failure}; start again ({error})")

    def _past_others(self, work: Callable[[], T]) -> T:
        return self._target.overtake(
            self.changefeed,
            self._takeover_after,
            lambda: self._tables.blocker() or self._owner(),
            work,
        )

    def _owner(self) -> str:
        """The stored session, read without waiting. Raises `Fenced` if a newer consumer owns it. A
        session that is starting (`generation` 0) ends any other."""
        with self._target.errors():
            row = self._row(self._to_read)
        if self.generation:
            self.own(row)
        return str(row.owner) if row is not None else ""
