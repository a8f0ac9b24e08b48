"""Marks and DDL -> the next cut. Pure: it is tested with integers."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ticdc_consumer.source.marks import Mark, SeenDdl, Span, TopicPartition

FEW = 1_000
"""Messages up to which a cut says nothing about those to come."""
FIRST_MESSAGES = 50_000
"""Messages of a cut, at most, as long as none has shown how large they are."""
LAST_ROWS = 100_000
"""Rows that are left of a backlog when the cuts no longer get smaller."""
LEAST_SPAN = 20_000
"""Messages of a part of a partition, about, at least: to seek costs a task as much as some
thousands of them."""


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

    def most_rows(self, lag: int, rows: int) -> int:
        """Rows of the next cut, at most `rows`: half of what a backlog of `lag` messages has left,
        as long as that is much. So there is always one to read while another one is applied, and
        the last one, beside which nothing is left to read, is small."""
        half = int(lag * self.rows_per_message / 2)
        return min(rows, half) if half > LAST_ROWS else rows

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


def shares(cut: Cut, tasks: int, divisible: bool = False) -> list[list[Span]]:
    """What each of at most `tasks` tasks reads: partitions that have something to read, else one
    that finds nothing. `divisible`: the parts of a large partition may go to several tasks."""
    part = min(1.0, cut.messages / cut.offsets) if cut.messages and cut.offsets else 1.0
    most = max(LEAST_SPAN, part * cut.offsets / tasks) if divisible else float("inf")
    weighed: list[tuple[Span, float]] = []
    for number, partition in enumerate(sorted(cut.ends)):
        start, end = cut.starts[partition], cut.ends[partition]
        if end > start or not (number or cut.offsets):
            weighed += _spans(number, start, end, part * (end - start), most)
    return spread(weighed, tasks) or [[]]


def _spans(
    number: int, start: int, end: int, messages: float, most: float
) -> Iterator[tuple[Span, float]]:
    """A partition's spans with their weights. About the first `messages` of its offsets are of the
    cut, `most` of each span; where the cut ends in it is not known, so the last goes on to `end`.
    """
    count = max(1, round(messages / most))
    starts = [start + int(messages * nth / count) for nth in range(count)]
    for first, following in zip(starts, [*starts[1:], end], strict=True):
        yield Span(number, first, following), messages / count


def spread(weighed: Sequence[tuple[Span, float]], tasks: int) -> list[list[Span]]:
    """Spans over at most `tasks` tasks, heaviest first into the lightest that has none of the same
    partition; no task is without one."""
    loads = [0.0] * max(1, tasks)
    groups: list[list[Span]] = [[] for _ in loads]
    used: defaultdict[int, set[int]] = defaultdict(set)
    for span, weight in sorted(weighed, key=lambda item: (-item[1], item[0])):
        free = (nth for nth in range(len(loads)) if nth not in used[span.number])
        lightest = min(free, key=loads.__getitem__)
        loads[lightest] += weight
        groups[lightest].append(span)
        used[span.number].add(lightest)
    return [group for group in groups if group]
