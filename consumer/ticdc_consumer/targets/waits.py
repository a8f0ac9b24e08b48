"""What a target's sessions wait for, as far as its catalog shows it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LockWait:
    """`waiter` and `holder` are numbers of sessions. `query` is what the holder runs, or ran last;
    "" if that is not known. Its transaction is `seconds` old, and `relation` the table, if known."""

    waiter: str
    holder: str
    query: str
    seconds: float
    who: str = ""
    relation: str = ""


@dataclass(frozen=True, slots=True)
class LongWork:
    """A transaction or replication slot that makes the server keep what could be removed."""

    what: str
    seconds: float
    kept_bytes: int = 0
