"""A whole history from a seed: what happens upstream, which settings, what fails, and the end."""

import gc
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, cast

from ticdc_consumer import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Fenced, Retry, Unavailable, UnknownCommit
from ticdc_consumer.state.store import Store
from ticdc_consumer.state.upgrade import OwnTables
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_torture.changefeed import Feed, TiCDC, topics
from ticdc_torture.upstream import ORIGIN, SCHEMA, TiDB
from world import extras
from world.database import server as database
from world.database.server import Server
from world.database.session import WorldFile
from world.judge import Broken, Judge
from world.kafka import Brokers
from world.parts import WORLD, limited, replaced, unlearned, without_driver
from world.people import People
from world.schedule import Fault, Process, Scheduler
from world.spark import Spark

PROTOCOLS = ("canal-json", "open-protocol", "simple", "debezium")
KINDS = ("worldfile", "worldserver")
WAYS = ("net", "transactions")

FAULTS: dict[str, tuple[tuple[str, int], ...]] = {
    "killed": (("statement", 250), ("poll", 60), ("sleep", 60)),
    "session lost": (("statement", 250),),
    "deadlock": (("statement", 250),),
    "lock timeout": (("statement", 250),),
    "commit lost, done": (("commit", 20),),
    "commit lost, undone": (("commit", 20),),
    "killed before COMMIT": (("commit", 20),),
    "killed after COMMIT": (("commit", 20),),
    "server away": (("statement", 250), ("poll", 60)),
    "paused": (("statement", 250), ("poll", 60)),
    "another consumer": (("statement", 250), ("poll", 60)),
    "clock jumps": (("statement", 250),),
    "ticdc restarts": (("poll", 60), ("statement", 250)),
    "table moves": (("poll", 60), ("statement", 250)),
    "resolved ts goes back": (("poll", 60), ("statement", 250)),
    "broker error": (("poll", 60),),
    "brokers are silent": (("poll", 60),),
    "no answer": (("list topics", 6), ("list offsets", 8), ("describe topics", 6)),
    "no commit of the group": (("group commit", 8),),
    "job fails": (("job", 8),),
    "task fails": (("task", 20),),
    "task runs twice": (("task", 20),),
}
"""What fails without harm: at which doors, up to which number."""
SOON = {
    kind: tuple((door, min(most, 80)) for door, most in doors) for kind, doors in FAULTS.items()
}
"""The same in a short history, which has not so many doors."""
HARMFUL: dict[str, tuple[tuple[str, int], ...]] = {
    "retention": (("poll", 60), ("statement", 250)),
    "truncation": (("poll", 60), ("statement", 250)),
    "recreated topic": (("poll", 60), ("statement", 250)),
    "deleted topic": (("poll", 60), ("statement", 250)),
    "compaction": (("list topics", 1),),
}
"""What loses messages: a consumer that needs them must stop."""


@dataclass(frozen=True)
class Plan:
    """What a seed means; parts of it may be left out, and the rest stays the same."""

    seed: int
    protocol: str
    way: str
    kind: str
    steps: tuple[int, ...]
    faults: tuple[Fault, ...]
    of_ddl: float
    per_table: bool | None = None
    """Whether each table has a topic of its own; None if the changefeed's settings say."""
    extras: tuple[str, ...] = ()
    """Of `world.extras`."""

    @classmethod
    def small(cls, seed: int) -> "Plan":
        """A short history, quickly played: one topic, three faults, 5 to 10 transactions."""
        rng = Random(f"{seed} small")
        faults = [_fault(rng, SOON if rng.random() < 0.95 else HARMFUL) for _ in range(3)]
        plan = cls(
            seed,
            rng.choice(PROTOCOLS),
            rng.choice(WAYS),
            rng.choice(KINDS),
            tuple(range(rng.randint(5, 10))),
            tuple(sorted(faults)),
            rng.choice([0.0, 0.1, 0.3]),
            per_table=False,
        )
        return plan.with_extras()

    @classmethod
    def of(cls, seed: int) -> "Plan":
        rng = Random(f"{seed} plan")
        steps = tuple(range(rng.randint(5, rng.choice([8, 12, 20, 60]))))
        faults = [_fault(rng, FAULTS) for _ in range(rng.randint(3, 12))]
        if rng.random() < 0.1:
            faults.append(_fault(rng, HARMFUL))
        plan = cls(
            seed,
            rng.choice(PROTOCOLS),
            rng.choice(WAYS),
            rng.choice(KINDS),
            steps,
            tuple(sorted(faults)),
            rng.choice([0.0, 0.1, 0.3]),
        )
        return plan.with_extras()

    @classmethod
    def dense(cls, seed: int) -> "Plan":
        """A history with a topic for each table, and with more extras at once."""
        return replace(cls.of(seed), per_table=True).with_extras(extras.DENSE)

    def with_extras(self, times: float = 1.0) -> "Plan":
        names = extras.extras(self.seed, self.protocol, self.way, self.kind, times)
        if any(fault.kind in HARMFUL for fault in self.faults):
            # Who begins again cannot know what was there the first time.
            names = tuple(name for name in names if name != "begun again")
        return replace(self, extras=names)

    def random(self, of: str) -> Random:
        """For one part of the world, whatever the others draw."""
        return Random(f"{self.seed} {of}")


def _fault(rng: Random, kinds: dict[str, tuple[tuple[str, int], ...]]) -> Fault:
    kind = rng.choice(list(kinds))
    door, most = rng.choice(kinds[kind])
    return Fault(door, rng.randint(1, most), kind, rng.randint(1, 1 << 20))


@dataclass
class Outcome:
    """How a history went. `stopped` is why the consumer needs an operator."""

    plan: Plan
    broken: BaseException | None = None
    stopped: TicdcError | None = None
    fired: list[Fault] = field(default_factory=list)
    covered: Counter[str] = field(default_factory=Counter)
    words: list[str] = field(default_factory=list)


class History:
    """One world. Consumers are started again until one has reached the goal, or must stop."""

    def __init__(
        self,
        plan: Plan,
        file: Path,
        words: bool = False,
        schema: str = SCHEMA,
        topic: str = "main",
    ) -> None:
        """`schema` is that of the tables, `topic` that of the resolved ts: where others have such,
        too, they need names of their own."""
        self.plan, self.schema = plan, schema
        self.outcome = Outcome(plan)
        faults = (*plan.faults, *extras.faults_of(plan.seed, plan.extras))
        self.scheduler = Scheduler(plan.random("schedule"), faults, words)
        kinds = extras.kinds_of_keys(plan.extras)
        self.upstream = TiDB(plan.protocol != "debezium", schema, kinds)
        before = {"snapshot", "late schemas"} & {*plan.extras}
        loaded = self._loaded() if before else []
        # What a DDL does to a table of unknown definition, people see to.
        of_ddl = 0.0 if loaded else plan.of_ddl
        for step in plan.steps:
            self.upstream.step(plan.random(f"step {step}"), of_ddl)
        rng = plan.random("parts")
        feed = replace(
            Feed.of(rng, plan.protocol, topic, plan.per_table),
            keyless="tables without a key" in plan.extras,
            row_keys=plan.protocol == "canal-json",
        )
        self.brokers = Brokers(self.scheduler)
        if "late schemas" in plan.extras:
            self.brokers.delays = lambda message: b'"BOOTSTRAP"' in (message.value or b"")
        since = ORIGIN + 1 if loaded else 0
        self.cdc = TiCDC(rng, self.upstream, self.brokers, feed, self.scheduler.say, since)
        self.scheduler.actor = self._act
        self.server = Server(self.scheduler, file, is_file=plan.kind == "worldfile")
        if "new target" in plan.extras:
            self.server.drop_own()
        late = [t.name for t in loaded[-1:] if "wider filter" in plan.extras and t.handle_key]
        self.server.create(table for table in loaded if table.name not in late)
        self.judge = Judge(file, self.upstream, plan.way)
        self.judge.late |= {*late}
        self.judge.writer = self._generation
        self.server.committed = self.judge.committed
        self.brokers.restart = self.judge.restart
        self.judge.misses = lambda: self.brokers.misses
        self.consumers: dict[Process, Consumer] = {}
        self.ended = False
        self.started = 0
        self.options = self._options(rng, feed, loaded)
        if late:
            self.options = replace(self.options, filter=("*.*", f"!*.{late[0]}"))
        self.tasks = rng.choice([1, 2, 5])
        self.lead = rng.choice([0, 0, 30, 1000])
        """What TiCDC has done before the first consumer starts."""
        self.limits = {
            "SMALL": rng.choice([0, 10, 5000]),
            "LEAST_SPAN": rng.choice([1, 4, 20_000]),
            "FAR_BEHIND": rng.choice([2, 4, 1000]),
            "MOST_BYTES": rng.choice([1, 2000, 1 << 20]),
            "FAR": plan.random("far").choice([2, 8, 100_000]),
        }
        self.shuffle = {"spark.sql.shuffle.partitions": "2"}
        if "small memory" in plan.extras:
            self._give_little_memory(plan.random("memory"))
        if "another row" in plan.extras:
            # Read by several tasks, it shows in the fold.
            self.options = replace(self.options, spark_from_messages=0)
            self.limits |= {"SMALL": 0, "LEAST_SPAN": 1}
        if "staging" in plan.extras:
            self.limits["LEAST_ROWS"] = 1
            self.options = replace(self.options, publish="staging", spark_from_messages=0)
        if "late listing" in plan.extras:
            late_listing = plan.random("late listing")
            self.brokers.listing_lag = extras.late_listing(late_listing, self.options.topics)
            skew = late_listing.choice([0.0, 1.0, self.options.clock_skew])
            self.options = replace(self.options, clock_skew=skew)
        self.scheduler.handlers |= {
            "killed": self._killed,
            "paused": self._paused,
            "another consumer": lambda fault: self.start(fault.size % 3),
            "clock jumps": self._clock_jumps,
            "ticdc restarts": self._ticdc_restarts,
            "table moves": self._table_moves,
            "resolved ts goes back": lambda fault: self.cdc.go_back(fault.size),
        }
        self.people = People(self)

    def _loaded(self) -> list[Table]:
        """Tables that there were before the changefeed, and that the target has."""
        upstream = self.upstream
        upstream.create(self.plan.random("snapshot"), 2)
        upstream.ddls.clear()
        upstream.states = [(0, contents) for _, contents in upstream.states]
        upstream.statements = [(0, tables) for _, tables in upstream.statements]
        return [model.table(self.schema, name) for name, model in upstream.tables.items()]

    def _options(self, rng: Random, feed: Feed, loaded: list[Table]) -> Settings:
        plan = self.plan
        more = plan.random("options")
        return Settings(
            changefeed="world",
            protocol=plan.protocol,
            topics=topics(feed, self.schema),
            kafka={},
            target_url=f"{plan.kind}:///world",
            apply=cast("Any", plan.way),
            rows_per_epoch=rng.choice([3, 10, 1000]),
            spark_from_messages=rng.choice([0, 6, 20, 5000]),
            takeover_after=3.0,
            schema_wait=60.0,
            retries=rng.choice([2, 8]),
            at_least_once=("*.*",) if "tables without a key" in plan.extras else (),
            quarantine=plan.way == "net" and more.random() < 0.8,
            keys={f"{self.schema}.{table.name}": table.handle_key for table in loaded},
            ddl_keep_dropped=more.choice([0.0, 0.0, 0.002, 3600.0]),
        )

    def _act(self) -> bool:
        """TiCDC does one thing."""
        goes_on = self.cdc.step()
        if self.cdc.over:
            self.brokers.give_all()
        return goes_on

    def _give_little_memory(self, rng: Random) -> None:
        """Cuts that do not fit it are folded by Spark's shuffle."""
        budget = rng.choice([1, 300, 2000])
        self.options = replace(self.options, memory_budget=budget)
        self.limits |= extras.limits(rng)
        self.shuffle = {"spark.sql.shuffle.partitions": str(rng.choice([1, 2, 4]))}

    def _generation(self) -> int | None:
        """That of the consumer that runs; None for one that starts."""
        process = self.scheduler.current
        consumer = self.consumers.get(process) if process else None
        store: Store | None = getattr(consumer, "store", None)
        return store.lease.generation if store is not None else None

    # --- processes ------------------------------------------------------------------------------

    def start(self, after: float) -> None:
        if self.judge.forgotten:
            return
        self.started += 1
        name = f"consumer {self.started}"
        process = self.scheduler.start(name, self._consume, after)
        process.on_death.append(lambda: self.start(self.plan.seed % 3))
        self.scheduler.say(f"{name} is started")

    def _killed(self, fault: Fault) -> None:
        if self.scheduler.current is not None:
            self.scheduler.kill(self.scheduler.current)

    def _paused(self, fault: Fault) -> None:
        self.scheduler.sleep(fault.size % 30)

    def _clock_jumps(self, fault: Fault) -> None:
        self.scheduler.jump += fault.size % 7200 - 3600

    def _ticdc_restarts(self, fault: Fault) -> None:
        if self._may_repeat:
            self.cdc.restart(fault.size)

    def _table_moves(self, fault: Fault) -> None:
        if self._may_repeat:
            self.cdc.move(fault.size)

    @property
    def _may_repeat(self) -> bool:
        """Only TiKV's key tells which of two equal changes of a table without a key is a copy."""
        return "tables without a key" not in self.plan.extras or self.cdc.feed.row_keys

    def _consume(self) -> None:
        process = self.scheduler.current
        assert process is not None
        while not self.ended and not self.judge.forgotten:
            try:
                self._run(process)
            except Fenced as error:
                self.scheduler.say(f"ends: {error}")
                self.people.see_the_end(error)
                return
            except Unavailable as error:
                self.scheduler.say(f"ends, and is started again: {error}")
                self.scheduler.sleep(2.0)
            except (Retry, UnknownCommit) as error:
                raise Broken(f"{type(error).__name__} left the consumer: {error}") from error
            except TicdcError as error:
                self.scheduler.say(f"stops: {error}")
                # What it had read under a target that was restored is no more.
                if self.people.mend(error) or process in self.people.left_behind:
                    self.scheduler.sleep(2.0)
                else:
                    self.outcome.stopped = error
                    self.ended = True

    def _run(self, process: Process) -> None:
        self.people.left_behind.discard(process)
        self.people.set_filter()
        consumer = self.consumer(replace(self.options, from_ts=self.people.from_ts()))
        self.consumers[process] = consumer
        with consumer:
            self.people.release(consumer)
            for epoch in consumer.epochs(self.people.goal(consumer)):
                self.scheduler.say(f"R = {epoch.resolved_ts}, {epoch.rows} rows")
        self.ended = self._is_at_the_goal() and not self.judge.aside
        if not self.ended:
            self.scheduler.say("ends, and is started again")
            self.scheduler.sleep(1.0)

    def consumer(self, options: Settings, **how: Any) -> Consumer:
        spark: Any = Spark(self.scheduler, self.tasks, self.shuffle)
        return Consumer(options, spark, **how)

    def _is_at_the_goal(self) -> bool:
        return self.judge.resolved_ts >= self.cdc.goal and self.cdc.over

    def _is_over(self) -> bool:
        """Stops the consumers at the goal; it is over when one of them has ended there."""
        if self.judge.forgotten or self._is_at_the_goal():
            self.people.want_a_release()
        else:
            self.people.notice()
        return self.ended

    # --- the whole ------------------------------------------------------------------------------

    def go(self) -> Outcome:
        outcome = self.outcome
        try:
            for _ in range(self.lead):
                self._act()
            self.start(0.0)
            self.scheduler.go(until=self._is_over)
            self._judge_the_end()
        except (Exception, AssertionError) as error:  # noqa: BLE001 - it is the outcome
            outcome.broken = error
        finally:
            self.judge.close()
            self.server.close()
        outcome.fired, outcome.words = self.scheduler.fired, self.scheduler.words or []
        outcome.covered = self.judge.covered
        outcome.covered.update(fault.kind for fault in outcome.fired)
        outcome.covered.update(f"with {name}" for name in self.plan.extras)
        return outcome

    def _judge_the_end(self) -> None:
        stopped = self.outcome.stopped
        if self.judge.forgotten:
            return
        if stopped is not None:
            missed = self.brokers.missed and "listing may have missed it" in str(stopped)
            missed = missed or self.brokers.misses  # what it read is not all there was
            if not (self.brokers.harmed or missed):
                raise Broken(f"it stopped although nothing was lost: {stopped}") from stopped
            self.judge.covered["stops for a listing" if missed else "stops"] += 1
        elif self.judge.resolved_ts < self.cdc.goal:
            raise Broken(f"it ended at R = {self.judge.resolved_ts}, before {self.cdc.goal}")
        elif self.judge.aside:
            raise Broken(f"it ended with quarantined tables: {self.judge.aside}")


def _template(folder: Path) -> bytes:
    """A database in which an earlier changefeed's start created the consumer's own tables."""
    file = folder / "template.db"
    session = sqlite3.connect(file, isolation_level=None)
    session.execute("PRAGMA journal_mode = WAL")
    session.execute("CREATE TABLE world_lock (held INTEGER)")
    server = Server(Scheduler(Random(0), ()), file, is_file=True)
    database.SERVER.append(server)
    try:
        target = WorldFile.open(cast("Any", None))
        OwnTables(target).prepare(1.0)
        target.close()
    finally:
        database.SERVER.pop()
    session.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    session.close()
    return file.read_bytes()


def _log_of(history: History) -> AbstractContextManager[None]:
    return extras.logged() if "debug log" in history.plan.extras else nullcontext()


def _drivers_of(history: History) -> AbstractContextManager[None]:
    return without_driver() if "no driver" in history.plan.extras else nullcontext()


class Worlds:
    """Plays histories, one after the other, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "world.db"
        self._template = _template(folder)

    def play(self, plan: Plan, words: bool = False) -> Outcome:
        return self.play_history(lambda file: History(plan, file, words))

    def play_history(self, make: Callable[[Path], History]) -> Outcome:
        """Plays the history that is made on a new database's file."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._file}{suffix}").unlink(missing_ok=True)
        self._file.write_bytes(self._template)
        history = make(self._file)
        database.SERVER.append(history.server)
        WORLD.append(history)
        try:
            with limited(history.limits), _log_of(history), _drivers_of(history), unlearned():
                return history.go()
        finally:
            WORLD.pop()
            database.SERVER.pop()


@contextmanager
def worlds() -> Iterator[Worlds]:
    """A place for histories, in memory if the machine has such a file system."""
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(
            prefix="world-", dir=memory if memory.is_dir() else None
        ) as folder,
        replaced(),
        collected_seldom(),
    ):
        yield Worlds(Path(folder))


@contextmanager
def collected_seldom() -> Iterator[None]:
    """What was imported is not looked through for garbage, and the rest less often."""
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
