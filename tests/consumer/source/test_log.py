"""One rule whether the log reaches back: `run`, `plan` and `check` agree over random logs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding
from ticdc_consumer.commands.check.log import log as log_check
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.opening import Opened, look, take_over
from ticdc_consumer.errors import Stop
from ticdc_consumer.source import SOURCES, Source, SourceKind
from ticdc_consumer.source.listing import Listing, LogRecord
from ticdc_consumer.source.log import Log, gaps_since
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target

SNAPSHOT = 1_000_000
"""Kafka's time, in ms, of the snapshot."""


@dataclass
class Partition:
    """A log whose records are numbers; all are different."""

    begin: int
    records: list[int]
    topic_id: str

    @property
    def end(self) -> int:
        return self.begin + len(self.records)

    def retain(self, begin: int) -> None:
        begin = min(max(begin, self.begin), self.end)
        self.records = self.records[begin - self.begin :]
        self.begin = begin

    def record(self, offset: int) -> int:
        return self.records[offset - self.begin]


@dataclass
class RandomLog:
    """A source, as far as the proof of its log goes."""

    partitions: dict[TopicPartition, Partition]
    schemas: Any = field(default_factory=list)

    def list(self) -> Listing:
        ids = {topic: p.topic_id for (topic, _), p in self.partitions.items()}
        return Listing({name: p.end for name, p in self.partitions.items()}, ids)

    def list_patiently(self, known: Iterable[TopicPartition], patience: float) -> Listing:
        if missing := sorted(set(known) - set(self.partitions)):
            raise Stop(f"{missing[0]} is missing")
        return self.list()

    def expected(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        return set(known)

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {name: self.partitions[name].begin for name in partitions}

    def record_at(
        self, topic_partition: TopicPartition, offset: int, patience: float
    ) -> LogRecord | None:
        partition = self.partitions[topic_partition]
        if offset >= partition.end:
            return None
        record = partition.record(max(offset, partition.begin))
        return LogRecord(max(offset, partition.begin), record % (2 * SNAPSHOT), record)

    def forget(self, applied: int) -> None:
        return

    def close(self) -> None:
        return


@contextmanager
def chosen(log: RandomLog) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        kind = SourceKind(lambda options: True, lambda options: cast("Source", log))
        patch.setitem(SOURCES, "random", kind)
        yield


class World:
    """A log, the checkpoint of a consumer that has read some of it, and what became of it."""

    def __init__(self, rng: Random, path: Path, topic_ids: bool) -> None:
        self.rng = rng
        self.topic_ids = topic_ids
        self.numbers = iter(range(1, 1 << 40))
        names = [("a", 0), ("a", 1), ("b", 0)][: rng.randint(1, 3)]
        self.log = RandomLog({name: self.partition("one") for name in names})
        self.options = Settings(
            changefeed="log",
            protocol="canal-json",
            topics=("a", "b"),
            kafka={},
            target_url=f"sqlite:///{path}",
        )
        self.positions = {name: self.position(*name) for name in names}

    def partition(self, topic_id: str, most: int = 9) -> Partition:
        count = self.rng.randint(0, most)
        return Partition(0, self.some(count), topic_id if self.topic_ids else "")

    def some(self, count: int) -> list[int]:
        return [next(self.numbers) + self.rng.choice([0, SNAPSHOT]) for _ in range(count)]

    def position(self, topic: str, number: int) -> Position:
        partition = self.log.partitions[topic, number]
        restart = self.rng.randint(0, partition.end)
        mark = self.rng.randint(0, partition.end - 1) if partition.end else None
        crc = None if mark is None else partition.record(mark)
        return Position(topic, partition.topic_id, number, restart, mark, crc)

    def damage(self) -> None:
        """Retention, truncation, re-creation, a topic that joins or goes, and more records."""
        name = self.rng.choice(sorted(self.log.partitions))
        partition = self.log.partitions[name]
        match self.rng.choice(["retain", "truncate", "recreate", "join", "delete", "grow", "grow"]):
            case "retain":
                partition.retain(self.rng.randint(0, partition.end))
            case "truncate":
                partition.records = partition.records[: self.rng.randint(0, 9)]
            case "recreate":
                for other in [n for n in self.log.partitions if n[0] == name[0]]:
                    self.log.partitions[other] = self.partition("two")
            case "join":
                self.log.partitions["new", 0] = new = self.partition("one")
                new.retain(self.rng.choice([0, 0, 1, 9]))
            case "delete" if len(self.log.partitions) > 1:
                del self.log.partitions[name]
            case _:
                partition.records += self.some(self.rng.randint(1, 9))

    def begin(self, resolved_ts: int) -> None:
        """Stores the checkpoint."""
        with closing(open_target(self.options.target_url)) as target:
            store = Store(target, "log")
            assert store.start(1.0) is None
            store.begin_first(Checkpoint.first(self.options, resolved_ts, self.positions))

    # The three that must agree.

    def ended(self, opened: Any) -> str | None:
        """What ends a start; None if nothing does."""
        try:
            with opened(self.options) as one:
                assert isinstance(one, Opened)
        except Stop as error:
            return str(error)
        return None

    def checked(self) -> list[Finding]:
        with closing(Premises(self.options)) as premises, suppress(Stop):
            premises.open_target()
            premises.list_topics()
            return [f for f in log_check(premises) if f.level == "fail"]
        raise AssertionError("check ends early")


def broken(world: World) -> bool:
    """What no topic id and no mark is needed for."""
    partitions, positions = world.log.partitions, world.positions
    return (
        any(name not in partitions for name in positions)
        or any(p.begin > 0 for name, p in partitions.items() if name not in positions)
        or any(
            not partitions[name].begin <= position.restart_offset <= partitions[name].end
            for name, position in positions.items()
        )
        or any(partitions[name].topic_id != positions[name].topic_id for name in positions)
    )


def agree(world: World) -> list[Finding]:
    """The findings, which `run` and `plan` stop at the first of."""
    with chosen(world.log):
        findings, planned, run = world.checked(), world.ended(look), world.ended(take_over)
    assert planned == run
    assert (run is None) == (findings == [])
    if run is not None and not run.endswith("is missing"):
        assert run == f"{findings[0].subject} {findings[0].text}"
    return findings


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 1 << 32), topic_ids=st.booleans(), damages=st.integers(0, 3))
def test_run_plan_and_check_agree_after_a_checkpoint(
    tmp_path: Path, seed: int, topic_ids: bool, damages: int
) -> None:
    path = tmp_path / "target.db"
    path.unlink(missing_ok=True)
    world = World(Random(seed), path, topic_ids)
    world.begin(resolved_ts=5)
    for _ in range(damages):
        world.damage()
    findings = agree(world)
    if broken(world):
        assert findings != []
    if damages == 0:
        assert findings == []


@pytest.mark.slow
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 1 << 32),
    begun=st.booleans(),
    snapshot=st.booleans(),
    damages=st.integers(0, 3),
)
def test_run_plan_and_check_agree_at_a_first_start(
    tmp_path: Path, seed: int, begun: bool, snapshot: bool, damages: int
) -> None:
    """`begun`: an earlier start wrote its checkpoint, and applied nothing."""
    path = tmp_path / "target.db"
    path.unlink(missing_ok=True)
    world = World(Random(seed), path, topic_ids=True)
    if begun:
        world.begin(resolved_ts=0)
    for _ in range(damages):
        world.damage()
    if snapshot:
        world.options = replace(world.options, from_ts=SNAPSHOT << 18, clock_skew=0.0)
    findings = agree(world)
    if not begun and not snapshot:
        beginnings = [p.begin for p in world.log.partitions.values()]
        assert (findings == []) == (not any(beginnings))


MARK = Position("t", "", 0, 8, mark_offset=7, mark_crc=70)
RECREATED = "offset 7 is not the resolved message that was read there"


@pytest.mark.parametrize(
    ("topic_id", "begin", "end", "record", "words"),
    [
        ("", 0, 9, LogRecord(7, 0, 70), None),
        ("", 0, 9, LogRecord(7, 0, 71), RECREATED),
        ("", 0, 9, LogRecord(8, 0, 70), RECREATED),
        ("", 0, 9, None, RECREATED),
        ("", 8, 9, LogRecord(8, 0, 71), None),  # the mark is behind the log's beginning
        ("", 9, 9, None, "begins at offset 9, but the next cut begins at 8: retention"),
        ("", 0, 7, None, "ends at offset 7, but the next cut begins at 8: its log was truncated"),
        ("now", 0, 9, LogRecord(7, 0, 71), RECREATED),  # brokers that have ids since
    ],
)
def test_where_topics_have_no_ids_the_last_mark_identifies_them(
    topic_id: str, begin: int, end: int, record: LogRecord | None, words: str | None
) -> None:
    log = Log(Listing({("t", 0): end}, {"t": topic_id}), {("t", 0): begin})
    gaps = list(gaps_since({("t", 0): MARK}, 5, log, {("t", 0)}, lambda *_: record))
    assert [gap.exit_code for gap in gaps] == [3] * (words is not None)
    assert all(gap.text.startswith(words or "") for gap in gaps)


def test_a_topic_with_an_id_is_identified_by_it() -> None:
    log = Log(Listing({("t", 0): 9}, {"t": "two"}), {("t", 0): 0})
    here: Mapping[TopicPartition, Position] = {("t", 0): replace(MARK, topic_id="one")}
    (gap,) = gaps_since(here, 5, log, {("t", 0)})
    assert (gap.subject, gap.topic_partition) == ("topic t", ("t", 0))
    assert gap.text.startswith("was deleted and recreated")


def test_check_reads_the_checkpoint_before_the_listing(tmp_path: Path) -> None:
    """A consumer that runs moves its checkpoint beyond the ends that were listed before."""
    world = World(Random(1), tmp_path / "target.db", topic_ids=True)
    world.begin(resolved_ts=5)
    listing = world.log.list

    def then_goes_on() -> Listing:
        before = listing()
        for partition in world.log.partitions.values():
            partition.records += world.some(100)
        with closing(open_target(world.options.target_url)) as target:
            store = Store(target, "log")
            state = store.start(1.0)
            assert state is not None
            positions = {
                name: replace(position, restart_offset=world.log.partitions[name].end)
                for name, position in state.positions.items()
            }
            with target.transaction():
                store.write(
                    state, replace(state, resolved_ts=state.resolved_ts + 1, positions=positions)
                )
        return before

    world.log.list = then_goes_on  # type: ignore[method-assign]
    with chosen(world.log):
        assert world.checked() == []
