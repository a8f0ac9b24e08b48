"""A history that is written down: a log in words instead of a changefeed that sends at random."""

from pathlib import Path
from typing import Any, cast

from ticdc_encoder.event import Ddl, Resolved, RowChange
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_torture.changefeed import TiCDC
from ticdc_torture.upstream import SCHEMA
from world.history import History, Plan
from world.others import PARTITIONS, Bug, Item, Row

CREATE = (
    "CREATE TABLE `t` (`id` INT NOT NULL, `u` INT NULL, `v` VARCHAR(9) NULL, PRIMARY KEY (`id`),"
    " UNIQUE KEY `u` (`u`))"
)
TABLE = parse_create_table(CREATE, SCHEMA)


class Script:
    """Stands for `TiCDC`: sends one item a step."""

    def __init__(self, history: History, bug: Bug) -> None:
        self._history = history
        self._items = [Item("create", 1), *bug.items()]
        wire = FORMATS["canal-json"]
        self._encoder = wire.Encoder(wire.Options(), lambda: 0)
        self.goal = max(item.ts for item in self._items if item.kind == "mark")
        history.brokers.topics.clear()
        history.brokers.create("main", PARTITIONS)

    @property
    def over(self) -> bool:
        return not self._items

    def step(self) -> bool:
        if self._items:
            item = self._items.pop(0)
            self._history.scheduler.say(f"{item}")
            if item.kind == "crash":
                for process in self._history.scheduler.processes[:1]:
                    self._history.scheduler.kill(process)
            else:
                records = list(self._records(item))
                partition = item.partition
                self._history.brokers.produce(Message("main", partition, *r) for r in records)
        return not self.over

    def _records(self, item: Item) -> list[tuple[bytes | None, bytes | None]]:
        match item.kind:
            case "row":
                change = RowChange(TABLE, item.ts, _named(item.before), _named(item.after))
                return [*self._encoder.row(change), *self._encoder.flush()]
            case "mark":
                return [self._encoder.resolved(Resolved(item.ts))]
            case "create":
                return [self._encoder.ddl(Ddl(SCHEMA, "t", CREATE, 1, definition=TABLE))]
        return [self._encoder.ddl(Ddl(SCHEMA, "t", "TRUNCATE TABLE `w`.`t`", item.ts))]


def _named(row: Row | None) -> dict[str, Any] | None:
    return None if row is None else dict(zip(("id", "u", "v"), row, strict=True))


class Told(History):
    """The history of a bug; `seed` is the schedule's."""

    def __init__(self, bug: Bug, seed: int, way: str, file: Path) -> None:
        super().__init__(Plan(seed, "canal-json", way, "worldserver", (), (), 0.0), file)
        columns = ("id", "u", "v")
        states = {1: dict[int, Row](), **bug.states()}
        self.upstream.states = [
            (ts, {"t": (columns, sorted(rows.values(), key=repr))}) for ts, rows in states.items()
        ]
        truncated = [ts for ts, text in bug.truth.items() if text == "TRUNCATE"]
        self.upstream.ddls = [Ddl(SCHEMA, "t", "", ts) for ts in (1, *truncated)]
        self.upstream.of_rows |= {ts for ts, text in bug.truth.items() if text != "TRUNCATE"}
        self.cdc = cast("TiCDC", Script(self, bug))
        self.scheduler.actor = self.cdc.step
