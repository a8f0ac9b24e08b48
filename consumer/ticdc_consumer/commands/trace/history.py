"""Builds the history of one row from its observations, and what the target must hold at R. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ticdc_consumer.cut.read.row_key import Texts
from ticdc_consumer.cut.read.tracing import Observation
from ticdc_consumer.source.marks import TopicPartition

Role = Literal["change", "duplicate", "replay", "ddl"]
"""The role of a message. "duplicate": the change had come before; "replay": its partition already
had a higher resolved ts, so that its first copy had come before that."""

MOST_OTHERS = 5
"""Most rows that are named as the possible other half of a split UPDATE."""

_MAY_REMOVE = re.compile(
    r"\b(TRUNCATE|EXCHANGE|RENAME\s+(TABLE|TO|AS)|DROP\s+(TABLE|DATABASE|SCHEMA|PARTITION))\b", re.I
)
"""DDL after which a row may be gone, or another one's."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of the row's history. `half`: it is the DELETE or the INSERT of an UPDATE that
    was split. `others` are the keys that the row may have had before, or got, by the other half.
    `copies`: how many partitions have the same DDL. `applied`: its commit_ts is below R; None if
    there is no R."""

    observation: Observation
    role: Role
    half: bool = False
    others: tuple[Texts, ...] = ()
    copies: int = 1
    applied: bool | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """The state of the row after the log up to R: whether it exists, by its `last` change. None if
    the log does not say, for the `reason`."""

    exists: bool | None
    last: Observation | None = None
    reason: str = ""


def with_earlier_marks(
    observations: Iterable[Observation], marks: Iterable[tuple[TopicPartition, int, int]]
) -> list[Observation]:
    """Adds the greatest resolved ts before each, even from a part of the partition that another
    task read. `marks` have the start of each part, and the greatest resolved ts in it."""
    parts: defaultdict[TopicPartition, list[tuple[int, int]]] = defaultdict(list)
    for name, start, mark in sorted(marks):
        parts[name].append((start, mark))

    def mark_of(each: Observation) -> int:
        begun = [m for start, m in parts[each.topic, each.partition] if start <= each.offset]
        return max([each.mark, *begun[:-1]])

    return [replace(each, mark=mark_of(each)) for each in observations]


def history(observations: Iterable[Observation], resolved_ts: int | None) -> list[Entry]:
    """The messages of the row, and the DDL of its table, by commit_ts and then in order of
    arrival."""
    ordered = sorted(observations, key=_order)
    partners: defaultdict[int, list[Observation]] = defaultdict(list)
    for each in ordered:
        partners[each.commit_ts].append(each)
    entries: list[Entry] = []
    known = set[tuple[object, ...]]()
    ddl_entries: dict[tuple[int, str], int] = {}
    for each in ordered:
        applied = None if resolved_ts is None else each.commit_ts < resolved_ts
        if each.kind == "ddl":
            identity = each.commit_ts, each.query
            if identity in ddl_entries:
                number = ddl_entries[identity]
                entries[number] = replace(entries[number], copies=entries[number].copies + 1)
            else:
                ddl_entries[identity] = len(entries)
                entries.append(Entry(each, "ddl", applied=applied))
        elif each.is_before or each.is_after:
            change = each.commit_ts, each.kind, each.digest
            role: Role = "change" if each.mark <= each.commit_ts else "replay"
            if change in known and role == "change":
                role = "duplicate"
            known.add(change)
            half, others = _other_half(each, partners[each.commit_ts])
            entries.append(Entry(each, role, half, others, applied=applied))
    return entries


def _order(each: Observation) -> tuple[object, ...]:
    """Sort key: at one commit_ts DELETEs come before present rows, and DDL after all rows."""
    first = {"delete": 0, "ddl": 2}.get(each.kind, 1)
    return each.commit_ts, first, each.time, each.topic, each.partition, each.offset


def _other_half(
    each: Observation, of_one_ts: Sequence[Observation]
) -> tuple[bool, tuple[Texts, ...]]:
    """Returns whether the log shows that an UPDATE was split, and the other halves' keys, if they
    differ. A whole UPDATE names both keys itself."""
    if each.kind == "update":
        other = each.became if each.is_before else each.was
        return False, (other,) if other is not None and each.is_before != each.is_after else ()
    wanted_kind = "insert" if each.kind == "delete" else "delete"
    halves = [other for other in of_one_ts if other.kind == wanted_kind]
    if any(other.is_before or other.is_after for other in halves):
        return True, ()  # of the same key: a unique key of the row changed
    keys = [other.became or other.was or {} for other in halves]
    distinct = [key for number, key in enumerate(keys) if key not in keys[:number]]
    return bool(distinct), tuple(distinct[:MOST_OTHERS])


def expected(entries: Sequence[Entry], resolved_ts: int) -> Expected:
    """The net change of all cuts up to R: the greatest (commit_ts, present) counts."""
    below = [each.observation for each in entries if each.observation.commit_ts < resolved_ts]
    changes = [each for each in below if each.kind != "ddl"]
    last = max(changes, key=lambda each: (each.commit_ts, each.is_after), default=None)
    if last is None:
        return Expected(None, reason="the log has no change of the row below R")
    for each in below:
        if each.kind == "ddl" and each.commit_ts >= last.commit_ts:
            query = " ".join(each.query.split())
            if _MAY_REMOVE.search(query):
                return Expected(None, last, f"a DDL came after its last change: {query}")
    return Expected(last.is_after, last)


def to_follow(observations: Iterable[Observation]) -> frozenset[int]:
    """The commit_ts whose other rows show whether a DELETE or an INSERT is half of an UPDATE."""
    return frozenset(each.commit_ts for each in observations if each.kind in ("insert", "delete"))


def texts_of(key: Mapping[str, str | None]) -> str:
    """Text such as `id=5, line=1`."""
    return ", ".join(f"{name}={'NULL' if text is None else text}" for name, text in key.items())
