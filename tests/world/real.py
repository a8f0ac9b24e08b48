"""A history that is played a second time, on a real Kafka, a real database and a real Spark.

The model's run writes down what its brokers took and lost, and at which R each fault came. That is
done again for real: the messages are sent up to a fault, the consumer brings the target to the same
R meanwhile disturbed in the same way, and so on up to the end, which must be the same: the same R,
rows and DDL, or the same kind of stop.
"""

import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any

import sqlalchemy as sa
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)
from ticdc_consumer import Consumer, failpoints
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.sizes import SMALL_BYTES
from ticdc_consumer.state.schema import CHECKPOINT
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.kafka.produce import Delivery, ensure_topics
from ticdc_encoder.message import Message
from ticdc_torture.history import Topic, canonical
from ticdc_torture.target import ObservedTarget, ResolvedTs
from ticdc_torture.upstream import NAMES
from world.extras import NOT_REAL
from world.history import HARMFUL, History, Outcome, Plan, Worlds, worlds
from world.judge import Broken
from world.kafka import Lost
from world.parts import limited
from world.schedule import Fault

PATIENCE = 180.0
"""Seconds until a consumer has reached an R, on whatever machine."""
STEPS = [
    "plan",
    "read",
    "apply",
    "begin",
    "fenced",
    "delete-rows",
    "write-rows",
    "run-ddl",
    "write-checkpoint",
    "commit",
    "committed",
    "cut-ended",
    "ddl-statement",
    "ddl-statement-ran",
]
STEPS_OF = {
    "killed before COMMIT": ["commit"],
    "killed after COMMIT": ["committed"],
    "killed": STEPS,
}
ENDED_SESSIONS = ("session lost", "server away", "commit lost, done", "commit lost, undone")
IMPOSSIBLE = ("truncation",)
"""What no client can have a broker do."""
R_QUERY = "SELECT resolved_ts FROM ticdc_checkpoint WHERE changefeed = 'world'"


@dataclass(frozen=True)
class Disturbance:
    """A fault, and the R at which it came."""

    fault: Fault
    resolved_ts: int


@dataclass(frozen=True)
class Told:
    """What the model's run was."""

    outcome: Outcome
    history: History

    @property
    def story(self) -> list[object]:
        return self.history.brokers.story


@dataclass(frozen=True)
class Ended:
    """How a consumer ended: at R, or by an error; `killed` says neither."""

    resolved_ts: int = 0
    kind: str = ""
    text: str = ""
    killed: bool = False


def told(place: Worlds, plan: Plan, schema: str, topic: str) -> Told:
    """Plays a history in the model."""
    made: list[History] = []

    def make(file: Path) -> History:
        history = History(plan, file, False, schema, topic)

        def heard(fault: Fault) -> None:
            history.brokers.story.append(Disturbance(fault, history.judge.resolved_ts))

        history.scheduler.heard = heard
        made.append(history)
        return history

    return Told(place.play_history(make), made[0])


def _consumed(
    options: Settings, limits: dict[str, int], until: int, spark: Any, failpoint: str
) -> Ended:
    """Brings the target to an R, which the consumer may have passed already, with the DDL that are
    below it."""
    if failpoint:
        os.environ["TICDC_FAILPOINT"] = failpoint
        failpoints._hits.clear()
    deadline = time.monotonic() + PATIENCE
    try:
        late = Consumer(options, spark, also_stops=lambda: time.monotonic() > deadline)
        with limited(limits), late as consumer:
            if consumer.resolved_ts <= until:
                for _ in consumer.epochs(until):
                    pass
            return Ended(consumer.resolved_ts)
    except TicdcError as error:
        return Ended(kind=type(error).__name__, text=str(error))
    except failpoints.FailpointReached:
        return Ended(killed=True)
    finally:
        os.environ.pop("TICDC_FAILPOINT", None)


def _child(answer: Any, *arguments: Any) -> None:
    answer.send(_consumed(*arguments))


class _Process:
    """A consumer as a process of its own, which can be killed."""

    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["world.real"])  # each process is a fork of one that has it

    def __init__(self, *arguments: Any) -> None:
        self._answer, theirs = self.server.Pipe(duplex=False)
        self._process: BaseProcess = self.server.Process(
            target=_child, args=(theirs, *arguments), daemon=True
        )
        self._process.start()
        theirs.close()

    def signal(self, number: signal.Signals) -> None:
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, number)

    def wait(self) -> Ended:
        """Raises `Broken` if it does not end."""
        try:
            if not self._answer.poll(2 * PATIENCE):
                self._process.kill()
                raise Broken(f"the consumer did not end within {2 * PATIENCE} s")
            ended: Ended = self._answer.recv()
        except EOFError:
            ended = Ended(killed=True)
        self._process.join()
        return ended


class _Brokers:
    """A real Kafka."""

    def __init__(self, bootstrap: str) -> None:
        self.config = {"bootstrap.servers": bootstrap, "log_level": "2"}
        self._admin = AdminClient({**self.config})
        self._delivery = Delivery(self.config)
        self._created: set[str] = set()

    def create(self, topic: Topic) -> None:
        ensure_topics(self.config, {topic.name: topic.partitions})
        self._created.add(topic.name)

    def send(self, messages: list[Message]) -> None:
        self._delivery.deliver(messages)

    def lose(self, lost: Lost) -> None:
        match lost.kind:
            case "retention":
                at = TopicPartition(lost.topic, lost.partition, lost.records)
                self._admin.delete_records([at])[at].result(PATIENCE)
            case "compaction":
                entry = ConfigEntry(
                    "cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET
                )
                resources = [
                    ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=[entry])
                    for name in sorted(self._created)
                ]
                for altered in self._admin.incremental_alter_configs(resources).values():
                    altered.result(PATIENCE)
            case _:
                self.delete([lost.topic])

    def delete(self, topics: list[str]) -> None:
        for deleted in self._admin.delete_topics(topics).values() if topics else ():
            deleted.result(PATIENCE)
        self._created -= {*topics}
        while {*topics} & {*self._admin.list_topics(timeout=60.0).topics}:
            time.sleep(0.1)

    def close(self) -> None:
        self._delivery.__exit__(None, None, None)
        self.delete(sorted(self._created))


@dataclass
class Played:
    """How a history went for real; `done` counts what was done."""

    different: str = ""
    stopped: bool = False
    done: Counter[str] = field(default_factory=Counter)


class RealRun:
    """One history, on the parts at these addresses. With a `spark`, its consumers are in this
    process, and killed by an exception; else each is a process of its own."""

    def __init__(self, model: Told, url: str, bootstrap: str, spark: Any) -> None:
        self.model, self.url, self.spark = model, url, spark
        history = model.history
        self.brokers = _Brokers(bootstrap)
        self.upstream = history.upstream
        self.options = replace(
            history.options,
            kafka={"bootstrap.servers": bootstrap},
            target_url=url,
            publish="driver",
        )
        if not spark:  # the driver reads all
            self.options = replace(
                self.options, spark_from_messages=1 << 30, memory_budget=SMALL_BYTES
            )
        self.played = Played()
        self.observer = ObservedTarget(url, history.schema, NAMES, ResolvedTs(R_QUERY))
        self.observer.create({}, keyed=True)
        self.resolved_ts = 0
        from_outside = () if spark else (*ENDED_SESSIONS, "paused", "another consumer")
        self._kinds = {*STEPS_OF, *HARMFUL, *from_outside}

    def go(self) -> Played:
        try:
            self._go()
        except Broken as error:
            self.played.different = str(error)
        finally:
            self.observer.close()
            self.brokers.close()
        return self.played

    def _go(self) -> None:
        for kind, items in groupby(self.model.story, type):
            if kind is Message:
                self.brokers.send([item for item in items if isinstance(item, Message)])
                continue
            for item in items:
                match item:
                    case Topic():
                        self.brokers.create(item)
                    case Lost():
                        self.brokers.lose(item)
                        self.played.done[item.kind] += 1
                    case Disturbance():
                        ended = self._disturbed(item)
                        if ended is not None:
                            self._require_the_same_stop(ended)
                            return
        self._end()

    def _end(self) -> None:
        outcome, goal = self.model.outcome, self.model.history.cdc.goal
        ended = self._run(goal if outcome.stopped is None else 1 << 62)
        if ended.kind:
            self._require_the_same_stop(ended)
            return
        if outcome.stopped is not None:
            raise Broken(f"it went on to {ended.resolved_ts}; the model: {outcome.stopped}")
        if ended.resolved_ts != goal:
            raise Broken(f"it ended at {ended.resolved_ts}, the model at {goal}")
        self._look()
        ddls = sorted((ddl.commit_ts, ddl.table) for ddl in self.upstream.ddls_before(goal))
        if (found := self._ddls()) != ddls:
            raise Broken(f"the ledger has {found}, upstream {ddls}")

    def _require_the_same_stop(self, ended: Ended) -> None:
        self.played.stopped = True
        stopped = self.model.outcome.stopped
        if stopped is None and ended.kind == "Stop" and self.model.history.brokers.harmed:
            # The model's had read already what its checkpoint needed and the log lost.
            self.played.done["stops where the model had read before"] += 1
        elif stopped is None or type(stopped).__name__ != ended.kind:
            raise Broken(f"it stopped: {ended.kind}: {ended.text}; the model: {stopped or 'no'}")
        self._look()

    # --- consumers ----------------------------------------------------------------------------

    def _disturbed(self, disturbance: Disturbance) -> Ended | None:
        """Brings the target to the R of a fault, and has it happen on the way; why it stopped."""
        fault, until = disturbance.fault, disturbance.resolved_ts
        # TiCDC's own, and what nobody but the model can have fail, show in the log or not at all.
        if fault.kind not in self._kinds or not until:
            return None
        ended = self._run(until, fault)
        if fault.kind not in HARMFUL:
            self.played.done[fault.kind] += ended.killed or fault.kind not in STEPS_OF
            ended = self._run(until)
        self._look()
        return ended if ended.kind else None

    def _run(self, until: int, fault: Fault | None = None) -> Ended:
        """Until R is `until`, and again if the target or the brokers were away, or a newer consumer
        took over. One that is disturbed runs once."""
        failpoint = ""
        if fault is not None and fault.kind in STEPS_OF:
            action = "raise" if self.spark else "kill"
            step = Random(fault.size).choice(STEPS_OF[fault.kind])
            failpoint = f"{step}:{action}:{fault.size % 3 + 1}"
        arguments = self.options, self.model.history.limits, until
        while True:
            if self.spark:
                ended = _consumed(*arguments, self.spark, failpoint)
            else:
                ended = self._beside(fault, _Process(*arguments, None, failpoint), arguments)
            if fault is not None or ended.kind not in ("Unavailable", "Away", "Fenced"):
                return ended
            self.played.done["starts again"] += 1

    def _beside(self, fault: Fault | None, first: _Process, arguments: Any) -> Ended:
        """Has a fault happen to a process from outside, and waits for its end."""
        if fault is None or fault.kind in STEPS_OF or fault.kind in HARMFUL:
            return first.wait()
        time.sleep(fault.size % 7 / 10)
        if fault.kind == "another consumer":
            second = _Process(*arguments, None, "")
            first.wait()
            return second.wait()
        if fault.kind == "paused":
            first.signal(signal.SIGSTOP)
            time.sleep(0.5)
            first.signal(signal.SIGCONT)
        elif not self.url.startswith("sqlite"):
            self._end_session()
        return first.wait()

    def _end_session(self) -> None:
        looking = open_target(self.url, to_look=True)
        try:
            if (owner := self._owner(looking)) is not None:
                looking.end_session(owner)
                self.played.done["sessions ended"] += 1
        finally:
            looking.close()

    def _owner(self, looking: Target) -> str | None:
        """The session that the checkpoint names; None before the first."""
        if not sa.inspect(looking.connection).has_table(CHECKPOINT.name):
            return None
        rows = looking.query(f"SELECT owner FROM {CHECKPOINT.name}")  # noqa: S608
        return str(rows[0][0]) if rows else None

    # --- the target ---------------------------------------------------------------------------

    def _look(self) -> None:
        """Raises `Broken` unless the tables equal the upstream at R, which does not go back."""
        look = self.observer.look()
        found = look.resolved_ts or 0
        if found < self.resolved_ts:
            raise Broken(f"R went back from {self.resolved_ts} to {found}")
        self.resolved_ts = found
        expected = canonical(self.upstream.at(found))
        if look.tables != expected:
            raise Broken(f"at R = {found} the target has {look.tables}, upstream {expected}")
        self.played.done["looks"] += 1

    def _ddls(self) -> list[tuple[int, str]]:
        looking = open_target(self.url, to_look=True)
        try:
            table = looking.quote(None, "table").rpartition(".")[2]
            query = f"SELECT commit_ts, {table} FROM ticdc_ddl WHERE state = 'done'"  # noqa: S608
            return sorted((int(ts), name) for ts, name in looking.query(query))
        finally:
            looking.close()


def can_be_real(plan: Plan) -> bool:
    possible = not any(fault.kind in IMPOSSIBLE for fault in plan.faults)
    return possible and NOT_REAL.isdisjoint(plan.extras)


@contextmanager
def spark_session() -> Iterator[Any]:
    """One for all histories."""
    from ticdc_consumer.cut.spark.session import session

    spark = session({"master": "local[2]", "spark.ui.enabled": "false"}, "world")
    try:
        yield spark
    finally:
        spark.stop()


def play(plan: Plan, url: str, bootstrap: str, spark: Any = None) -> Played:
    """Plays a history in the model, and then for real in an empty database. A schema that is
    created there has the database's name and `_w`."""
    name = Path(str(sa.make_url(url).database)).stem
    with worlds() as place:
        model = told(place, plan, f"{name}_w", f"{name}-main")
    if model.outcome.broken is not None:
        raise model.outcome.broken
    return RealRun(model, url, bootstrap, spark).go()
