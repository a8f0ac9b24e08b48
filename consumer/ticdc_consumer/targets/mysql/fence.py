"""The fence against an older consumer: a session lock, whose holder is ended."""

import hashlib
from collections.abc import Callable

from ticdc_consumer.errors import Unavailable
from ticdc_consumer.targets.fence import PAUSE, ROUNDS
from ticdc_consumer.targets.mysql import under_way
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import Deadline, sleep


def take_session_lock(
    target: Target, dialect: Dialect, changefeed: str, patience: float, owner: Callable[[], str]
) -> None:
    """Takes MySQL's session lock, which lives as long as the session: an implicit commit keeps it.

    If the server does not name a lock's holder, each holder takes a second lock, named after its
    session. A session without such a lock is ended only if `owner` names it.

    A holder that runs a DDL is waited for until it ends, even if its client is gone: the server
    continues the DDL, and if it were ended, it would only start again from scratch.
    """
    name = _lock_name(target, changefeed)
    for _ in range(ROUNDS):
        deadline = Deadline(patience)
        wait = under_way.Wait()
        while True:
            if _scalar(target, "SELECT GET_LOCK(%s, 0)", name) == 1:
                if not dialect.names_lock_holder:
                    _scalar(target, "SELECT GET_LOCK(%s, 0)", _mark(name, target.session_id()))
                return
            owner()
            if deadline.passed:
                holder = _holder(target, dialect, name, owner)
                ddl = _ddl_under_way(target, dialect, holder)
                if ddl is None:
                    break
                wait.on(f"session {ddl[0]}", ddl[1])
            sleep(PAUSE)
        if holder:
            target.end_session(holder)
    if not dialect.names_lock_holder:
        raise Unavailable(
            f"the lock {name} of changefeed {changefeed} is taken again and again, or by a session "
            f"that is neither marked nor the checkpoint's ({owner() or 'none'}): end the older "
            f"consumer, or KILL its session, which {dialect.processes} lists; then start again"
        )
    raise Unavailable(f"the lock {name} of changefeed {changefeed} is taken again and again")


def holder_of(target: Target, dialect: Dialect, changefeed: str) -> str:
    """The other session that holds the changefeed's lock; "" if it is free, or not known."""
    name = _lock_name(target, changefeed)
    session = _holder(target, dialect, name, lambda: "")
    return "" if session == target.session_id() else session


def _holder(target: Target, dialect: Dialect, name: str, owner: Callable[[], str]) -> str:
    """The session that holds the lock; "" if it is free, or not known."""
    if not dialect.names_lock_holder:
        return _marked_holder(target, dialect, name) or _stored_holder(target, dialect, owner)
    holder = _scalar(target, "SELECT IS_USED_LOCK(%s)", name)
    return "" if holder is None else str(holder)


def _mark(name: str, session_id: str) -> str:
    """The second lock, specific to this session, of a holder of the lock `name`."""
    return f"{name}-{hashlib.sha256(session_id.encode()).hexdigest()[:16]}"


def _marked_holder(target: Target, dialect: Dialect, name: str) -> str:
    """The session of this database whose own lock is taken; the server frees it with the session.
    Identifies the holder before there is a checkpoint to record it."""
    query = f"SELECT id, host FROM {dialect.processes} WHERE db = %s AND id <> CONNECTION_ID()"  # noqa: S608
    with target.errors():
        sessions = target.query(query, target.engine.url.database)
    for number, client in sessions:
        session = f"{number} {client}"
        if _scalar(target, "SELECT IS_USED_LOCK(%s)", _mark(name, session)):
            return session
    return ""


def _stored_holder(target: Target, dialect: Dialect, owner: Callable[[], str]) -> str:
    """The checkpoint's session if it still exists: that of a release without the second lock."""
    stored = owner()
    return stored if find_session(target, dialect, stored) else ""


def _ddl_under_way(target: Target, dialect: Dialect, holder: str) -> tuple[int, str] | None:
    """The lock's holder, if it runs a statement that commits by itself."""
    session = find_session(target, dialect, holder)
    return session if session is not None and under_way.is_ddl(session[1]) else None


def find_session(target: Target, dialect: Dialect, session_id: str) -> tuple[int, str] | None:
    """Number and statement of the session with this identity; None if it is gone.

    A stored identity is `NUMBER CLIENT`, the client with its port: the number alone may be another
    session's, since TiDB counts from the beginning after a restart.
    """
    number, _, client = session_id.partition(" ")
    query = f"SELECT id, host, info FROM {dialect.processes} WHERE id = %s"  # noqa: S608
    with target.errors():
        rows = target.query(query, number)
    for session, host, text in rows:
        if dialect.names_lock_holder or host == client:
            return int(session), str(text or "")
    return None


def _lock_name(target: Target, changefeed: str) -> str:
    """A name of at most 64 characters that does not depend on case: MySQL compares no more."""
    scope = f"{target.engine.url.database}\0{changefeed}".encode()
    return f"ticdc-{hashlib.sha256(scope).hexdigest()[:40]}"


def _scalar(target: Target, statement: str, *parameters: str) -> object:
    with target.errors():
        return target.execute(statement, parameters).scalar()
