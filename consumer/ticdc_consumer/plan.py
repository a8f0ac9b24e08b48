"""Marks and DDL -> the next cut. Pure: it is tested with integers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ticdc_encoder.event import Ddl

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A resolved message: `time` is its Kafka timestamp in ms, `crc` that of key and value."""

    resolved_ts: int
    offset: int = 0
    topic: str = ""
    time: int = 0
    crc: int = 0


@dataclass(frozen=True, slots=True)
class SeenDdl:
    """A DDL, and where its first copy lies in partition 0."""

    ddl: Ddl
    topic: str
    offset: int


@dataclass(frozen=True, slots=True)
class Cut:
    """The half-open range [`begin`, `end`) of commit_ts that is applied together.

    `starts` and `ends` bound what is read, by partition: `ends` were listed after `proof` was
    seen, so nothing below `end` lies behind them. `ddls` all have commit_ts = `end` - 1.
    """

    begin: int
    end: int
    proof: Mark
    starts: Mapping[Place, int]
    ends: Mapping[Place, int]
    topic_ids: Mapping[str, str]
    joined: frozenset[Place] = frozenset()
    ddls: tuple[SeenDdl, ...] = ()


def choose(
    applied: int, marks: Iterable[Mark], rows_before: Callable[[Mark], float], room: int
) -> Mark | None:
    """The greatest mark above `applied` whose rows fit `room`, else the least; None if none is."""
    above = sorted(mark for mark in marks if mark.resolved_ts > applied)
    fitting = [mark for mark in above if rows_before(mark) <= room]
    return fitting[-1] if fitting else next(iter(above), None)


def end_of_cut(applied: int, reach: int, ddls: Iterable[SeenDdl]) -> tuple[int, list[SeenDdl]]:
    """Where the cut that a proof at `reach` allows must end, and the DDL that follow it.

    A cut ends just after the least commit_ts T of a DDL in [applied, reach), with all DDL of T:
    rows of T belong to the schema before it.
    """
    waiting = [seen for seen in ddls if applied <= seen.ddl.commit_ts < reach]
    if not waiting:
        return reach, []
    least = min(seen.ddl.commit_ts for seen in waiting)
    together = [seen for seen in waiting if seen.ddl.commit_ts == least]
    return least + 1, sorted(together, key=lambda seen: (seen.topic, seen.offset))


def spread(weights: Sequence[tuple[Place, int]], tasks: int) -> list[list[Place]]:
    """Partitions over at most `tasks` tasks, heaviest first into the lightest; none is empty."""
    bins: list[tuple[int, list[Place]]] = [(0, []) for _ in range(max(1, tasks))]
    for place, weight in sorted(weights, key=lambda item: (-item[1], item[0])):
        lightest = min(range(len(bins)), key=lambda i: (bins[i][0], i))
        load, places = bins[lightest]
        bins[lightest] = (load + weight, [*places, place])
    return [places for _, places in bins if places]
