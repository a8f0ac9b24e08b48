"""Marks and DDL -> the next cut. Pure: it is tested with integers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition

FEW = 1_000
"""Messages up to which a cut says nothing about those to come."""
FIRST_MESSAGES = 50_000
"""Messages of a cut, at most, as long as none has shown how large they are."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The half-open range [`begin`, `end`) of commit_ts that is applied together.

    `starts` and `ends` bound what is read, by partition: `ends` were listed after `proof` was
    seen, so nothing below `end` lies behind them; `messages` is about how many of them are before
    `end`. The last of the `ddls` have commit_ts = `end` - 1; others only if they share the cut.
    """

    begin: int
    end: int
    proof: Mark
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str]
    joined: frozenset[TopicPartition] = frozenset()
    ddls: tuple[SeenDdl, ...] = ()
    messages: float = 0.0

    @property
    def offsets(self) -> int:
        """The number of offsets that are listed, over all partitions: the lag."""
        return sum(end - self.starts[partition] for partition, end in self.ends.items())


def choose(applied: int, marks: Iterable[Mark], fits: Callable[[Mark], bool]) -> Mark | None:
    """The greatest mark above `applied` whose cut fits, else the least; None without one."""
    above = sorted(mark for mark in marks if mark.resolved_ts > applied)
    fitting = [mark for mark in above if fits(mark)]
    return fitting[-1] if fitting else next(iter(above), None)


def end_of_cut(
    applied: int,
    reach: int,
    ddls: Iterable[SeenDdl],
    most: int = 1,
    may_share: Callable[[SeenDdl], bool] = lambda _: False,
) -> tuple[int, list[SeenDdl]]:
    """Where the cut that a proof at `reach` allows must end, and the DDL that follow it.

    A cut ends just after the least commit_ts T of a DDL in [applied, reach), with all DDL of T:
    rows of T belong to the schema before it. DDL that `may_share` a cut with those before them are
    in the same cut, `most` in all; whoever reads it must see to it that no row between them is of
    a table that they concern.
    """
    inside = sorted(
        (seen for seen in ddls if applied <= seen.ddl.commit_ts < reach),
        key=lambda seen: (seen.ddl.commit_ts, seen.topic, seen.offset),
    )
    selected: list[SeenDdl] = []
    for _, group in groupby(inside, key=lambda seen: seen.ddl.commit_ts):
        of_one_ts = [*group]
        if selected and len(selected) + len(of_one_ts) > most:
            break
        if selected and not all(map(may_share, of_one_ts)):
            break
        selected += of_one_ts
        if most == 1 or not all(map(may_share, of_one_ts)):
            break
    return (selected[-1].ddl.commit_ts + 1, selected) if selected else (reach, [])


@dataclass(frozen=True, slots=True)
class Estimates:
    """What the log's messages come to, as far as cuts have been read: rows, and encoded bytes."""

    rows_per_message: float
    bytes_per_message: float = 0.0

    def after(self, messages: int, rows: int, size: int) -> "Estimates":
        """With a cut that was read; a small one shows nothing."""
        if messages <= FEW:
            return self
        return Estimates(max(0.1, rows / messages), size / messages)

    def fit_memory(self, messages: float, budget: int) -> bool:
        """Whether the facts of so many messages should fit a budget of bytes: in memory, else by
        Spark's shuffle."""
        return self.size(messages) <= budget

    def size(self, messages: float) -> float:
        """About the bytes of so many messages; 0 if that is not known."""
        return messages * self.bytes_per_message

    def fit_cut(self, messages: float, rows: int, budget: int) -> bool:
        """Whether so many messages make a cut of at most `rows` rows that fits the budget."""
        if not self.bytes_per_message and messages > FIRST_MESSAGES:
            return False
        in_time = messages * self.rows_per_message <= rows
        return in_time and self.fit_memory(messages, budget)


def messages_before(
    record: Mark | SeenDdl,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    lag: int,
) -> float:
    """About how many messages of all partitions are before a record of partition 0: its share of
    its partition, times the `lag` of all. All, if it is not in a partition."""
    head = (record.topic, 0)
    share = 1.0
    if head in ends:
        own = max(1, ends[head] - starts[head])
        share = min(1.0, max(0, record.offset - starts[head]) / own)
    return share * lag


def lag_of(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    """The messages from `starts` to `ends`, of all partitions together."""
    return sum(ends[partition] - start for partition, start in starts.items())


def shares(cut: Cut, tasks: int) -> list[list[int]]:
    """The partitions of a cut, by their number in sorted order, for at most `tasks` tasks: those
    that have something to read, else one that finds nothing."""
    partitions = sorted(cut.ends)
    numbers = {partition: number for number, partition in enumerate(partitions)}
    weights = [(partition, cut.ends[partition] - cut.starts[partition]) for partition in partitions]
    busy = [(partition, weight) for partition, weight in weights if weight > 0] or weights[:1]
    return [[numbers[partition] for partition in group] for group in spread(busy, tasks)] or [[]]


def spread(weights: Sequence[tuple[TopicPartition, int]], tasks: int) -> list[list[TopicPartition]]:
    """Partitions over at most `tasks` tasks, heaviest first into the lightest; none is empty."""
    bins: list[tuple[int, list[TopicPartition]]] = [(0, []) for _ in range(max(1, tasks))]
    for partition, weight in sorted(weights, key=lambda item: (-item[1], item[0])):
        lightest = min(range(len(bins)), key=lambda i: (bins[i][0], i))
        load, group = bins[lightest]
        bins[lightest] = (load + weight, [*group, partition])
    return [group for _, group in bins if group]
