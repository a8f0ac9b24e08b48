"""A snapshot of a consumer's activity, as programs and `status` read it."""

import json
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from ticdc_encoder.counted import counted
from ticdc_encoder.tso import duration

from ticdc_consumer.errors import WaitingDdl
from ticdc_consumer.state.reports import Stage
from ticdc_consumer.targets.blockers import Blocker


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error: `kinds` are the class names of it and its causes, `at` is its first occurrence, in
    seconds since 1970, `times` how often it has occurred since."""

    kinds: tuple[str, ...]
    text: str
    at: float
    exit_code: int = 0
    times: int = 1


@dataclass(frozen=True, slots=True)
class LastDdl:
    """The last DDL that finished: `outcome` is `done` or `skipped`, `reason` says why it was
    skipped, or that an operator did it."""

    id: str
    query: str
    outcome: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class SetAsideTable:
    """A table that waits at its own R: the cause, the time, and the approximate number of its row
    changes since."""

    table: str
    resolved_ts: int
    cause: str
    at: float
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class PartitionActivity:
    """A partition: `restart_offset` of the checkpoint, `end_offset` of the log as last listed,
    `resolved_ts` the newest that was read, which is followed in partition 0 only."""

    topic: str
    partition: int
    restart_offset: int
    end_offset: int | None = None
    resolved_ts: int = 0


@dataclass(frozen=True, slots=True)
class CutActivity:
    """The cut being applied, or else read: its range, its approximate number of messages, how many
    of them have been read, and how many of its rows are loaded. `spilled`: it did not fit
    `limits.memory_budget`."""

    begin_ts: int
    end_ts: int
    messages: int
    ddl_count: int = 0
    changes: int = 0
    rows_loaded: int = 0
    messages_read: int = 0
    spilled: bool = False


BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Upper bounds in seconds of the buckets of `StageSeconds`; a last bucket counts longer times."""


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """Duration of a stage in the cuts so far: the number of cuts in each bucket of `BOUNDS`, and
    the sum in seconds."""

    buckets: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    sum: float = 0.0

    def plus(self, seconds: float) -> "StageSeconds":
        number = bisect_left(BOUNDS, seconds)
        more = (*self.buckets[:number], self.buckets[number] + 1, *self.buckets[number + 1 :])
        return StageSeconds(more, self.sum + seconds)


@dataclass(frozen=True, slots=True)
class Pace:
    """Progress `at` a time: R, the offsets read and listed of all partitions together, and the
    seconds that cuts have taken by stage."""

    at: float
    resolved_ts: int
    read: int
    listed: int
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExecutorActivity:
    """Executors of Spark's cluster: their `count`, since when jobs have waited for the first one
    (`lacking_since`), and how many were `lost`, the last at `last_lost`."""

    count: int = 0
    lacking_since: float | None = None
    lost: int = 0
    last_lost: float | None = None


@dataclass(frozen=True, slots=True)
class VerifiedShare:
    """The last comparison of `[verify] every`: share `number` of `shares`, whose `rows` the target
    held at `resolved_ts`. `differs` names the differing rows of this share and of earlier ones that
    were not compared again; `failed`: why the comparison is incomplete."""

    at: float
    number: int
    shares: int
    resolved_ts: int
    rows: int
    differing: int = 0
    differs: str = ""
    failed: str = ""

    def __str__(self) -> str:
        what = f"share {self.number + 1} of {self.shares}, {counted(self.rows, 'row')}"
        if self.failed:
            what += f", not compared: {self.failed}"
        return f"{what}; it differs: {self.differs}" if self.differs else f"{what}; all is equal"


@dataclass(frozen=True, slots=True)
class Takeover:
    """A takeover: this consumer began while another one, `who`, was at work."""

    who: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The activity of a consumer. Times are seconds since 1970 by the clock of its machine.

    `since` is when the `stage` began, which `detail` describes; `at` is the time of this snapshot.
    `resolved_ts` is R, `committed` when it was last raised, `newest_ts` the greatest resolved ts
    that was read, `newest_message` the Kafka time of the newest message of a partition 0. `retry`
    is the error that is being retried, `error` the last that ended a run. Since `started`:
    `totals`, `retries` by their cause, `tables` with rows deleted and written by upstream table, ""
    for those beyond the first thousand, `seconds` by stage of a cut. `unwritten` is why the last
    write of this into the target failed. `source` is why nothing comes from the source, `blockers`
    the sessions whose locks this one waits for, `pace` the progress some minutes ago and at its
    last commit, `executors` those of Spark's cluster, `takeover` the consumer that it ended when it
    began, `last_ddl` the last since it started, `set_aside` the quarantined tables, `verified` the
    last share that was compared with the upstream. `session` applies the changes, `writer` writes
    this.
    """

    changefeed: str
    generation: int
    stage: Stage
    detail: str
    since: float
    at: float
    started: float
    host: str
    pid: int
    release: str
    session: str = ""
    resolved_ts: int = 0
    committed: float | None = None
    newest_ts: int = 0
    newest_message: float | None = None
    cut: CutActivity | None = None
    partitions: tuple[PartitionActivity, ...] = ()
    ddls: tuple[WaitingDdl, ...] = ()
    retry: Trouble | None = None
    error: Trouble | None = None
    totals: Mapping[str, int] = field(default_factory=dict)
    retries: Mapping[str, int] = field(default_factory=dict)
    tables: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    seconds: Mapping[str, StageSeconds] = field(default_factory=dict)
    unwritten: str = ""
    source: Trouble | None = None
    blockers: tuple[Blocker, ...] = ()
    pace: tuple[Pace, ...] = ()
    executors: ExecutorActivity | None = None
    takeover: Takeover | None = None
    last_ddl: LastDdl | None = None
    verified: VerifiedShare | None = None
    set_aside: tuple[SetAsideTable, ...] = ()
    writer: str = ""

    @property
    def who(self) -> str:
        """The process, for an operator."""
        session = f", session {self.session}" if self.session else ""
        return f"process {self.pid} on {self.host}{session}"

    @property
    def sentence(self) -> str:
        """The stage and its duration so far, with the relevant figures."""
        so_far = duration(max(0.0, self.at - self.since))
        parts = [f"{self.stage} {self.detail}".strip() + f", {so_far} so far"]
        parts += self._figures()
        parts += [f"waiting for {blocker.text}" for blocker in self.blockers[:1]]
        if self.retry is not None:
            parts.append(f"tried {self.retry.times} times, last: {self.retry.text}")
        if self.unwritten:
            parts.append(f"this cannot be written into the target: {self.unwritten}")
        return "; ".join(parts)

    def _figures(self) -> list[str]:
        cut = self.cut
        if self.stage == "waiting" and self.newest_message is not None:
            age = duration(max(0.0, self.at - self.newest_message))
            return [f"the newest message in partition 0 is {age} old"]
        if cut is None:
            return []
        if self.stage == "reading" and cut.messages:
            read = f", {cut.messages_read / cut.messages:.0%} read" if cut.messages_read else ""
            return [f"about {counted(cut.messages, 'message')}{read}"]
        if self.stage == "applying" and cut.changes:
            share = min(1.0, cut.rows_loaded / cut.changes)
            return [f"{cut.rows_loaded:,} of {counted(cut.changes, 'change')} loaded, {share:.0%}"]
        return []

    def to_json(self) -> dict[str, Any]:
        """JSON for programs. A TSO is a text: it does not fit into the 53 bits of JSON's
        numbers."""
        values: dict[str, Any] = _plain(self)
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Parses a result of `to_json`; ignores fields that this release does not know."""
        activity: Self = _read(cls, values)
        return activity


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind in _NAMES:
        return {name: _named(name, getattr(value, name)) for name in _NAMES[kind]}
    if isinstance(value, Mapping):
        return {name: _named(name, each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def _named(name: str, value: Any) -> Any:
    return str(value) if name.endswith("_ts") else _plain(value)


_NAMES: Mapping[type, tuple[str, ...]] = {
    kind: tuple(each.name for each in fields(kind))
    for kind in (
        *(Activity, Blocker, CutActivity, ExecutorActivity, LastDdl, Pace),
        *(PartitionActivity, SetAsideTable, StageSeconds, Takeover, Trouble, VerifiedShare),
        WaitingDdl,
    )
}
_PARTS: Mapping[str, type] = {
    "partitions": PartitionActivity,
    "ddls": WaitingDdl,
    "cut": CutActivity,
    "retry": Trouble,
    "error": Trouble,
    "source": Trouble,
    "blockers": Blocker,
    "pace": Pace,
    "executors": ExecutorActivity,
    "verified": VerifiedShare,
    "takeover": Takeover,
    "last_ddl": LastDdl,
    "set_aside": SetAsideTable,
}


def _read(kind: Any, values: Mapping[str, Any]) -> Any:
    names = {each.name for each in fields(kind)}
    return kind(**{name: _value(name, each) for name, each in values.items() if name in names})


def _value(name: str, value: Any) -> Any:
    if name.endswith("_ts"):
        return int(value)
    part = _PARTS.get(name)
    if isinstance(value, list):
        return tuple(_read(part, each) if part else each for each in value)
    if part and value is not None:
        return _read(part, value)
    if name == "seconds":
        return {stage: _seconds(each) for stage, each in value.items()}
    if name == "tables":
        return {table: (int(deleted), int(written)) for table, (deleted, written) in value.items()}
    return value


def _seconds(value: Any) -> StageSeconds | float:
    """Parses the seconds of an activity, or of its pace."""
    seconds: StageSeconds | float
    seconds = _read(StageSeconds, value) if isinstance(value, Mapping) else float(value)
    return seconds


def dumps(activity: Activity) -> str:
    """Stored text of the activity."""
    return json.dumps(activity.to_json(), ensure_ascii=False, separators=(",", ":"))


def loads(text: str) -> Activity:
    """Parses a stored activity. Raises `ValueError` for a text that no release has written."""
    try:
        activity: Activity = Activity.from_json(json.loads(text))
    except (AttributeError, TypeError) as error:
        raise ValueError("it is not what a consumer writes") from error
    return activity
