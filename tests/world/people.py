"""What people do to a consumer that runs, and to its target; and what they do once it stops."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ticdc_consumer import Consumer
from ticdc_consumer.commands.changefeeds import end
from ticdc_consumer.commands.load.again import give_up, load_again
from ticdc_consumer.commands.release import require_releasable
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.epoch import CAUGHT_UP, Goal
from ticdc_consumer.errors import Fenced, Retry, Stop, Unavailable, UnknownCommit
from ticdc_consumer.state.repairs import RepairRequest, RepairRequests, TableKeys
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Row, RowChange, Value
from ticdc_torture.upstream import NAMES, ORIGIN, Contents, Model
from world.judge import Broken
from world.schedule import Fault, Process

if TYPE_CHECKING:
    from world.history import History

SOON = 2.0
"""Seconds until somebody looks again."""
TRIES = 20
EVERYTHING = ("*.*",)


def _other(row: Row) -> Row:
    """The same key with other values."""
    others: dict[type, Value] = {int: 99, str: "another"}
    return {n: others.get(type(v)) if n.startswith("c") else v for n, v in row.items()}


class People:
    """Of one history, whose faults tell when they act. `covered` counts what they did."""

    def __init__(self, history: "History") -> None:
        self._history = history
        self._rng = history.plan.random("people")
        self._releases = False
        """Whether the next start releases what is quarantined."""
        self._noticed = set[str]()
        self.left_behind = set[Process]()
        """Consumers under which the target was restored."""
        self._started = 0
        self._loading = set[str]()
        """The tables that somebody loads again."""
        self._to_be_refused = set[str]()
        """Those that take no rows any more once their load reads some."""
        history.scheduler.handlers |= {
            "told to stop": self._tell_to_stop,
            "rows are refused": self._refuse,
            "forgotten": self._end,
            "backup": lambda fault: history.server.save(),
            "restored": self._restore,
            "looked at": lambda fault: self._come(self._look),
            "target is busy": self._keep_busy,
            "another row": self._send_another_row,
            "deleted twice": self._delete_again,
            "loaded again": self._load_again,
            "wider filter": self._widen,
            "repair": lambda fault: self._come(lambda: self._ask_for_repair(fault.size)),
        }

    def set_filter(self) -> None:
        """Whoever starts a consumer has seen which filter the changefeed has."""
        history = self._history
        if history.judge.late and history.judge.filter() == [*EVERYTHING]:
            history.options = replace(history.options, filter=EVERYTHING)

    # --- starts -------------------------------------------------------------------------------

    def goal(self, consumer: Consumer) -> Goal | None:
        """Up to where a consumer is told to run. Whoever forgot `from_ts` may stop it at once."""
        extras = self._history.plan.extras
        if "begun again" in extras and self._started == 1 and self._rng.random() < 0.7:
            consumer.stop()
        if "caught-up" in extras:
            return CAUGHT_UP
        if "until" in extras:
            begin = max(ORIGIN + 1, consumer.resolved_ts)
            return begin + self._rng.choice([0, 1, 5, 1 << 18, 1 << 20])
        return None

    def from_ts(self) -> int | None:
        """Who starts it a second time knows that the tables were empty then. Where somebody may
        forget it, a timestamp is given only to begin."""
        self._started += 1
        extras = self._history.plan.extras
        resolved_ts = self._history.judge.resolved_ts
        may = self._started > 1 and not 0 < resolved_ts <= ORIGIN
        again = "begun again" in extras and may
        before = {"snapshot", "late schemas"} & {*extras}
        if "forgotten" in extras and resolved_ts:
            before = set()
        return ORIGIN if again or before else None

    def release(self, consumer: Consumer) -> None:
        """What is quarantined, if somebody wants to: now nothing is in its way any more."""
        history = self._history
        aside = history.judge.aside
        if not aside or not (self._releases or self._rng.random() < 0.3):
            return
        history.server.refused.clear()
        for table in self._rng.sample(sorted(aside), len(aside)):
            name = f"{history.schema}.{table}"
            history.scheduler.say(f"{name} is released")
            self._require_releasable(consumer, name)
            for epoch in consumer.release(name):
                history.scheduler.say(f"{name} is at {epoch.resolved_ts}")
        self._releases = False

    def _require_releasable(self, consumer: Consumer, name: str) -> None:
        try:
            require_releasable(consumer.options, name)
        except Retry as error:
            raise Unavailable(str(error)) from error

    def notice(self) -> None:
        """Somebody may see at once that a table is quarantined, and want it released."""
        aside = {*self._history.judge.aside}
        if aside - self._noticed and self._rng.random() < 0.5:
            self.want_a_release()
        self._noticed = aside

    def see_the_end(self, error: Fenced) -> None:
        """A load that saw no consumer, since the COMMIT of its start was lost, may have taken the
        lease from one that began. To widen the filter takes it from the one that runs."""
        extras = self._history.plan.extras
        unseen = "loaded again" in extras and "while this one began" in str(error)
        if unseen or ("wider filter" in extras and not self._loading):
            self._history.start(SOON)

    def want_a_release(self) -> None:
        self._releases = True
        for consumer in self._history.consumers.values():
            consumer.stop()

    def mend(self, error: TicdcError) -> bool:
        """Whether somebody sees why it stopped, and that it can go on."""
        history, harmed = self._history, bool(self._history.brokers.harmed)
        if history.judge.late and "filter was [" in str(error):
            return True
        if history.brokers.missed and "listing may have missed it" in str(error):
            return False
        too_early = "no resolved ts" in str(error)
        if not history.server.refused and (harmed or not (history.judge.aside or too_early)):
            return False
        history.scheduler.say(f"somebody mends it: {error}")
        history.judge.covered["mended"] += 1
        history.server.refused.clear()
        self._releases = True
        return True

    # --- at some door -------------------------------------------------------------------------

    def _tell_to_stop(self, fault: Fault) -> None:
        process = self._history.scheduler.current
        consumer = self._history.consumers.get(process) if process else None
        if consumer is not None:
            self._history.scheduler.say(f"it is told to stop at {consumer.activity.stage}")
            consumer.stop()

    def _keep_busy(self, fault: Fault) -> None:
        server, scheduler = self._history.server, self._history.scheduler
        server.busy_until = scheduler.now + fault.size % 60

    def _send_another_row(self, fault: Fault) -> None:
        """TiCDC sends a change of which the consumer has seen another row, or will see one."""
        history = self._history
        changes = [
            change
            for _, change in self._to_come()
            if change.table.handle_key
            if any(name.startswith("c") for name in change.after or ())
            # Of a row that stays as it was, nothing may be sent that would contradict it.
            if not self._is_in(history.upstream.at(change.commit_ts), change, change.after)
        ]
        if changes:
            change = changes[fault.size % len(changes)]
            history.brokers.harmed.append(f"two rows of {change.table.name}")
            history.scheduler.say(f"another row of {change.commit_ts} is sent")
            history.cdc.send(replace(change, after=_other(change.after or {})))

    def _to_come(self) -> Iterator[tuple[Model, RowChange]]:
        """All changes at and above R."""
        for model in self._history.upstream.models:
            for event in model.events:
                if event.commit_ts >= self._history.judge.resolved_ts:
                    yield from ((model, change) for change in event.rows)

    def _delete_again(self, fault: Fault) -> None:
        """TiCDC sends the DELETE of a row without a key twice, and none like it is there then, or
        comes after it."""
        history = self._history
        deletes = [
            change
            for model, change in self._to_come()
            if change.after is None and not change.table.handle_key
            if not self._is_there(model, change)
        ]
        if deletes and not history.cdc.feed.row_keys:
            change = deletes[fault.size % len(deletes)]
            history.brokers.harmed.append(f"a DELETE of {change.table.name} came twice")
            history.scheduler.say(f"a DELETE of {change.commit_ts} is sent once more")
            history.cdc.send(change)

    def _is_there(self, model: Model, deleted: RowChange) -> bool:
        """Whether there is such a row at that commit_ts, or later."""
        contents = self._history.upstream.at(deleted.commit_ts + 1)
        return self._is_in(contents, deleted, deleted.before) or any(
            change.after == deleted.before
            for event in model.events
            if event.commit_ts >= deleted.commit_ts
            for change in event.rows
        )

    def _is_in(self, contents: Contents, change: RowChange, row: Row | None) -> bool:
        """Whether the change's table has such a row."""
        names, rows = contents.get(change.table.name, ((), []))
        return tuple((row or {}).get(name) for name in names) in rows

    def see_a_load(self, table: str) -> None:
        """A load reads rows of a table."""
        if table in self._to_be_refused:
            self._to_be_refused.discard(table)
            self._history.server.refused.add(table)
            self._history.scheduler.say(f"{table} is refused")

    def _refuse(self, fault: Fault) -> None:
        """The target takes no rows of a table any more, and does not let it be created."""
        names = (fault.size % 4 and self._history.judge.tables) or NAMES
        names = sorted(self._loading) or names
        table = names[fault.size // 4 % len(names)]
        self._history.scheduler.say(f"{table} is refused")
        self._history.server.refused.add(table)

    def _restore(self, fault: Fault) -> None:
        history = self._history
        if history.brokers.hides_a_loss_from(history.server.saved_offsets()):
            return
        if not history.judge.forgotten and history.server.restore():
            history.scheduler.say("the target is as it was when it was saved")
            history.judge.restored()
            self.left_behind |= {*history.consumers}
            history.brokers.look_again("the target was restored")
            history.start(fault.size % 3)

    # --- processes of their own ---------------------------------------------------------------

    def _come(self, work: Callable[[], None]) -> None:
        """Somebody begins to do something, and tries it again if the target is away. If it ends
        half-way, it may have ended a consumer already."""
        history = self._history

        def main() -> None:
            for _ in range(TRIES):
                try:
                    work()
                    return
                except (Unavailable, Fenced, Retry, UnknownCommit) as error:
                    history.scheduler.say(f"tries it again: {error}")
                    history.scheduler.sleep(SOON)
            history.start(SOON)

        somebody = history.scheduler.start("somebody", main)
        somebody.on_death.append(lambda: history.start(SOON))

    def _end(self, fault: Fault) -> None:
        """One or two people come to forget it, and a consumer may be started at that moment: not
        from a timestamp, of which nobody could know that it is no more that of the tables."""
        of_a_timestamp = {"snapshot", "late schemas", "begun again"} & {*self._history.plan.extras}
        if fault.size % 3 == 0 and not of_a_timestamp:
            self._history.start(0.0)
        for _ in range(1 + fault.size % 2):
            self._come(self._forget)

    def _forget(self) -> None:
        """The changefeed is ended: nobody starts a consumer of it any more."""
        history = self._history
        with closing(open_target(history.options.target_url, changefeed="world")) as target:
            history.judge.may_be_forgotten = True
            try:
                history.scheduler.say(f"it is forgotten: {end(target, history.options)}")
            except (Stop, Fenced) as error:
                history.scheduler.say(f"it is not forgotten: {error}")

    def _look(self) -> None:
        """Somebody looks at the checkpoint, without waiting for anyone."""
        history = self._history
        with closing(open_target(history.options.target_url, to_look=True)) as target:
            store = Store(target, "world")
            checkpoint, schemas = store.read(), store.schemas()
            history.scheduler.say(f"somebody sees {checkpoint}, {len(schemas)} schemas")
            if checkpoint is not None and checkpoint.resolved_ts > history.judge.highest:
                raise Broken(f"R is seen at {checkpoint.resolved_ts} before it is committed")

    def _load_again(self, fault: Fault) -> None:
        """Somebody loads a table again. Who is killed goes on with it, or gives it up: the table's
        DDL wait for that."""
        history = self._history
        tables = history.judge.tables
        if not tables or history.judge.forgotten:
            return
        table = tables[fault.size % len(tables)]
        label = f"{history.schema}.{table}"

        def load() -> None:
            self._loading.add(table)
            if "refused rows" in history.plan.extras and fault.size % 2:
                self._to_be_refused.add(table)
            self._load_or_give_up(label)
            self._loading.discard(table)

        self._begin_to(load)

    def _begin_to(self, load: Callable[[], None]) -> None:
        """Somebody loads, and goes on with it if it was interrupted."""
        history = self._history

        def main() -> None:
            try:
                load()
            except (Unavailable, Fenced, Retry, UnknownCommit) as error:
                history.scheduler.say(f"the load is tried again: {error}")
                begin()
            start()

        def start() -> None:
            """It may have taken the lease, so that the consumer ended."""
            if not any(process in history.consumers for process in history.scheduler.processes):
                history.start(SOON)

        def begin() -> None:
            somebody = history.scheduler.start("somebody", main, SOON)
            somebody.on_death += [begin, start]

        begin()

    def _widen(self, fault: Fault) -> None:
        """Somebody widens the filter, and loads the table that it takes then."""
        history = self._history
        if not history.judge.late or history.judge.forgotten:
            return
        (table,) = history.judge.late
        wide = replace(history.options, filter=EVERYTHING)

        def load() -> None:
            history.scheduler.say(f"the filter is to take {table}")
            self._loading.add(table)
            try:
                end = load_again(wide, [f"{history.schema}.{table}"], self._consumer_of)
                history.scheduler.say(f"{table} is loaded at {end}")
                history.judge.covered["wider filter: done"] += 1
            except Stop as error:
                history.scheduler.say(f"{table} is not loaded: {error}")
                history.judge.covered["wider filter: refused"] += 1
            self._loading.discard(table)

        self._begin_to(load)

    @contextmanager
    def _consumer_of(
        self, options: Settings, *, joining: tuple[str, ...], also_stops: Callable[[], bool]
    ) -> Iterator[Consumer]:
        """What brings the changefeed to where a load begins."""
        history, process = self._history, self._history.scheduler.current
        assert process is not None
        consumer = history.consumer(options, joining=joining, also_stops=also_stops)
        history.consumers[process] = consumer
        try:
            with consumer:
                yield consumer
        finally:
            del history.consumers[process]

    def _load_or_give_up(self, label: str) -> None:
        history = self._history
        history.scheduler.say(f"{label} is to be loaded again")
        try:
            end = load_again(history.options, [label], self._consumer_of)
            history.scheduler.say(f"{label} is loaded again at {end}")
            history.judge.covered["loaded again: done"] += 1
        except Stop as error:
            history.scheduler.say(f"{label} is not loaded again: {error}")
            history.judge.covered["loaded again: refused"] += 1
            with suppress(Stop):
                give_up(history.options, [label])

    def _ask_for_repair(self, number: int) -> None:
        """Rows of all tables are to be put right, which they are already."""
        history = self._history
        tables = {
            (history.schema, name): TableKeys(("id",), [("1",), ("2",)])
            for name in history.judge.tables
        }
        request = RepairRequest(number, history.judge.resolved_ts, tables)
        with closing(open_target(history.options.target_url, changefeed="world")) as target:
            requests = RepairRequests(target, "world")
            if not Store(target, "world").tables.readable():
                return
            if requests.state(number) is None:
                with target.transaction():
                    requests.add(request)
        history.scheduler.say(f"repair {number} is asked for")
        for consumer in history.consumers.values():
            consumer._monitor.repair_waits = True
