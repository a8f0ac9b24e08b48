"""What is looked at for a cause, and how it is explained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.tso import duration, seconds, with_time

from ticdc_consumer.source.facts import SourceFacts
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.loading import LoadProgress
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.status.activity.activity import Activity, Trouble
from ticdc_consumer.status.activity.monitor import FOR_MARK
from ticdc_consumer.status.activity.stored import Silent
from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.targets.blockers import Blocker


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What the target shows beside the changefeed's state: who keeps the consumer's session
    waiting, what keeps the database from cleaning up, tables without a key, and what keeps this
    user from writing."""

    blockers: tuple[Blocker, ...] = ()
    burdens: tuple[str, ...] = ()
    without_key: tuple[str, ...] = ()
    read_only: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """`now` is this machine's clock, `resolved_ts` R, `ahead` how far the consumer's clock is ahead
    of the target's. `target` and `source` are what they showed just now, None if nobody looked;
    `unreadable` and `source_error` are what they raised instead. `config` is the file of settings,
    for commands. `silent` is a consumer that lives and does not write. `loading` is a first load
    that is not finished, `set_aside` the tables that wait, by the target; the consumer itself knows
    them by its activity. `seen` is what else is known of a target that does not answer.
    `restarts` and `topic_ids` are the checkpoint's; `has_tables`: whether rows of any table have a
    table that they go to."""

    now: float
    resolved_ts: int = 0
    activity: Activity | None = None
    running: bool = False
    silent: Silent | None = None
    age: float = 0.0
    ahead: float = 0.0
    pending: Sequence[LedgerEntry] = ()
    restarts: Mapping[TopicPartition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    has_tables: bool = True
    target: TargetFacts | None = None
    source: SourceFacts | None = None
    unreadable: TicdcError | None = None
    source_error: TicdcError | None = None
    config: str = "CONFIG"
    loading: LoadProgress | None = None
    set_aside: Sequence[SetAside] = ()
    seen: tuple[str, ...] = ()

    @classmethod
    def of(cls, activity: Activity) -> "Situation":
        """As the consumer itself knows it."""
        return cls(
            now=activity.at,
            resolved_ts=activity.resolved_ts,
            activity=activity,
            running=activity.stage != "stopped",
        )

    @property
    def alive(self) -> bool:
        """Whether a consumer runs, also one that gives no sign."""
        return self.running or self.silent is not None

    @property
    def at_work(self) -> Activity | None:
        """What the consumer is at, if one runs."""
        return self.activity if self.running else None

    @property
    def trouble(self) -> Trouble | None:
        """What is tried again; if no consumer runs, what ended the last run."""
        if self.activity is None:
            return None
        return self.activity.retry if self.alive else self.activity.error

    @property
    def waits(self) -> Activity | None:
        """What the consumer is at, if it waits for a resolved ts, and for nothing else. One that
        has waited for long, while the topics show a resolved ts above R in every partition, waits
        for something else, whatever it wrote last."""
        activity = self.at_work
        if activity is None or (activity.stage, activity.detail) != ("waiting", FOR_MARK):
            return None
        return None if self._is_long(activity) and self._is_resolved else activity

    @property
    def waits_long(self) -> Activity | None:
        """The same, if it has waited for long."""
        activity = self.waits
        return activity if activity and self._is_long(activity) else None

    @staticmethod
    def _is_long(activity: Activity) -> bool:
        return at_stage_for(activity) >= thresholds.QUIET

    @property
    def _is_resolved(self) -> bool:
        """Whether the last messages of every partition show a resolved ts above R."""
        partitions = self.source.partitions.values() if self.source else ()
        return bool(partitions) and all(p.resolved_ts > self.resolved_ts for p in partitions)

    @property
    def busy(self) -> Activity | None:
        """What the consumer is at, if it works on a cut."""
        activity = self.at_work
        idle = activity is None or activity.stage in ("starting", "standby", "waiting")
        return None if idle else activity

    @property
    def lag(self) -> float:
        return max(0.0, self.now - seconds(self.resolved_ts)) if self.resolved_ts else 0.0

    @property
    def position(self) -> str:
        if not self.resolved_ts:
            return "R is not known yet"
        return f"R is {with_time(self.resolved_ts)}, {duration(self.lag)} behind"


def at_stage_for(activity: Activity) -> float:
    """Seconds."""
    return max(0.0, activity.at - activity.since)


def has_kind(trouble: Trouble | None, *kinds: str) -> bool:
    """Whether it is, or came from, an error of one of these classes."""
    return trouble is not None and any(kind in trouble.kinds for kind in kinds)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence, what shows it, and what to do, where more is known than the remedy says."""

    sentence: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownCause:
    """`recognised` and `remedy` are what docs/reference/why.md says of it; the remedy, with the
    name of the file for `{config}`, is shown if the explanation has no advice."""

    name: str
    recognised: str
    remedy: str
    explain: Callable[[Situation], Explanation | None]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A cause by its name, in one sentence, with what shows it and what to do."""

    cause: str
    sentence: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
