"""How a consumer gets past an older one that is in its way, per database.

The generation in the checkpoint refuses whoever is older. What is here makes sure that the older
one cannot keep the newer one waiting, and where a DDL commits by itself, that nothing of the older
one is under way once the newer one begins.
"""

import hashlib
import time
from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa

from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.targets.mysql import under_way
from ticdc_consumer.targets.target import Target

T = TypeVar("T")

ROUNDS = 3
"""How many sessions in a row are ended before something else must be wrong."""
PAUSE = 0.05
"""Seconds between two looks at a lock."""


def overtake(
    target: Target,
    changefeed: str,
    patience: float,
    owner: Callable[[], str],
    work: Callable[[], T],
) -> T:
    """Runs `work`, which begins with the locking read of the checkpoint, in one transaction.

    Whoever keeps it waiting for longer than `patience` seconds is ended. `owner` reads the stored
    session without waiting, and raises `Fenced` where the one in the way is newer.
    """
    match target.dialect:
        case "postgresql":
            return _past_the_row_lock(target, changefeed, patience, owner, work)
        case "sqlite":
            return _after_the_file_lock(target, patience, work)
        case _:
            take_session_lock(target, changefeed, patience, owner)
            with target.transaction():
                return work()


def _past_the_row_lock(
    target: Target,
    changefeed: str,
    patience: float,
    owner: Callable[[], str],
    work: Callable[[], T],
) -> T:
    for _ in range(ROUNDS):
        try:
            with target.transaction():
                target.execute(f"SET LOCAL lock_timeout = {max(1, round(patience * 1000))}")
                return work()
        except Retry:
            if not alive(target):
                raise
            holder = owner()
            if holder and holder != target.session_id():
                target.end_session(holder)
    raise Unavailable(
        f"the checkpoint of changefeed {changefeed} is locked, but not by the session that owns it"
    )


def _after_the_file_lock(target: Target, patience: float, work: Callable[[], T]) -> T:
    """A stopped process keeps its lock on the file, and no other can take it away."""
    deadline = time.monotonic() + patience
    while True:
        try:
            with target.transaction():
                return work()
        except Retry as busy:
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"another process holds the write lock of {target.engine.url.database} for "
                    f"longer than {patience:g} s; end it, then start again"
                ) from busy
            time.sleep(PAUSE)


def take_session_lock(
    target: Target, changefeed: str, patience: float, owner: Callable[[], str]
) -> None:
    """MySQL's lock that lives as long as the session: an implicit commit does not free it.

    A holder whose DDL is under way is waited for as long as that takes, also where its client is
    gone: the server goes on with it, and ended it would only begin anew.
    """
    name = _lock_name(target, changefeed)
    for _ in range(ROUNDS):
        deadline = time.monotonic() + patience
        wait = under_way.Wait()
        while True:
            if _scalar(target, "SELECT GET_LOCK(%s, 0)", name) == 1:
                return
            owner()
            if time.monotonic() > deadline:
                ddl = _ddl_under_way(target, name)
                if ddl is None:
                    break
                wait.on(*ddl)
            time.sleep(PAUSE)
        holder = _scalar(target, "SELECT IS_USED_LOCK(%s)", name)
        if holder is not None:
            target.end_session(str(holder))
    raise Unavailable(f"the lock {name} of changefeed {changefeed} is taken again and again")


def _ddl_under_way(target: Target, name: str) -> tuple[object, str] | None:
    """The lock's holder, where it is at a statement that commits by itself."""
    query = "SELECT id, info FROM information_schema.processlist WHERE id = IS_USED_LOCK(%s)"
    with target.errors():
        rows = target.execute(query, (name,)).all()
    for session, text in map(tuple, rows):
        if under_way.is_ddl(text):
            return session, str(text)
    return None


def _lock_name(target: Target, changefeed: str) -> str:
    """At most 64 characters and the same in any case, since MySQL compares no more."""
    scope = f"{target.engine.url.database}\0{changefeed}".encode()
    return f"ticdc-{hashlib.sha256(scope).hexdigest()[:40]}"


def _scalar(target: Target, statement: str, *parameters: str) -> object:
    with target.errors():
        return target.execute(statement, parameters).scalar()


def alive(target: Target) -> bool:
    """Whether the session still answers."""
    try:
        target.execute("SELECT 1").close()
    except sa.exc.SQLAlchemyError:
        return False
    return True
