"""Marks and DDL -> the next cut. Pure: tested with integers."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ticdc_consumer.source.marks import Mark, SeenDdl, Span, TopicPartition

FEW = 1_000
"""Messages up to which a cut predicts nothing about later ones."""
FIRST_MESSAGES = 50_000
"""Most messages of a cut until one has shown how large they are."""
LAST_ROWS = 100_000
"""Rows left of a backlog when cuts stop getting smaller."""
LEAST_SPAN = 20_000
"""Approximate minimum of messages in a part of a partition: a seek costs a task as much as some
thousands of messages."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The half-open range [`begin`, `end`) of commit_ts that is applied together.

    `starts` and `ends` bound the read, by partition: `ends` were listed after `proof` was seen, so
    nothing below `end` lies behind them. `messages` estimates how many of them are before `end`.
    The last of the `ddls` have commit_ts = `end` - 1; earlier ones only share the cut.
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
        """The number of listed offsets over all partitions: the lag."""
        return sum(end - self.starts[partition] for partition, end in self.ends.items())


def choose(applied: int, marks: Iterable[Mark], fits: Callable[[Mark], bool]) -> Mark | None:
    """Returns the greatest mark above `applied` whose cut fits, else the least, or None without
    one."""
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
    """Returns the end of the cut that a proof at `reach` allows, and the DDL that follow it.

    A cut ends just after the least commit_ts T of a DDL in [applied, reach), with all DDL of T:
    rows of T belong to the schema before it. DDL that `may_share` a cut with preceding ones are in
    the same cut, at most `most` in all; the reader must ensure that no row between them belongs to
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
    """Estimates of rows and encoded bytes per message of the log, from the cuts read so far."""

    rows_per_message: float
    bytes_per_message: float = 0.0

    def after(self, messages: int, rows: int, size: int) -> "Estimates":
        """Returns the estimates updated by a cut that was read; a small cut changes nothing."""
        if messages <= FEW:
            return self
        return Estimates(max(0.1, rows / messages), size / messages)

    def fit_memory(self, messages: float, budget: int) -> bool:
        """Returns whether the facts of this many messages should fit a budget of bytes in memory;
        otherwise Spark's shuffle folds them."""
        return self.size(messages) <= budget

    def size(self, messages: float) -> float:
        """Returns the approximate bytes of this many messages; 0 if unknown."""
        return messages * self.bytes_per_message

    def most_rows(self, lag: int, rows: int) -> int:
        """Returns the most rows of the next cut, at most `rows`: half of what remains of a backlog
        of `lag` messages, as long as that is much. So there is always a cut to read while another
        is applied, and the last one, during which nothing is left to read, is small."""
        half = int(lag * self.rows_per_message / 2)
        return min(rows, half) if half > LAST_ROWS else rows

    def fit_cut(self, messages: float, rows: int, budget: int) -> bool:
        """Returns whether this many messages make a cut of at most `rows` rows that fits the
        budget."""
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
    """Estimates the messages of all partitions before a record of partition 0: its share of its
    partition, times the `lag` of all. All messages, if the record is not in a partition."""
    head = (record.topic, 0)
    share = 1.0
    if head in ends:
        own = max(1, ends[head] - starts[head])
        share = min(1.0, max(0, record.offset - starts[head]) / own)
    return share * lag


def lag_of(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> int:
    """Returns the number of messages from `starts` to `ends` over all partitions."""
    return sum(ends[partition] - start for partition, start in starts.items())


def shares(cut: Cut, tasks: int, divisible: bool = False) -> list[list[Span]]:
    """Divides a cut among at most `tasks` tasks: the partitions that have something to read, or one
    task that finds nothing. `divisible`: several tasks may share a large partition."""
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
    """Yields a partition's spans with their weights. About the first `messages` of its offsets
    belong to the cut, `most` in each span; where the cut ends in the partition is unknown, so the
    last span reaches `end`."""
    count = max(1, round(messages / most))
    starts = [start + int(messages * nth / count) for nth in range(count)]
    for first, following in zip(starts, [*starts[1:], end], strict=True):
        yield Span(number, first, following), messages / count


def spread(weighed: Sequence[tuple[Span, float]], tasks: int) -> list[list[Span]]:
    """Distributes spans over at most `tasks` tasks, heaviest first, each to the lightest task
    without a span of the same partition; no task stays empty."""
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
