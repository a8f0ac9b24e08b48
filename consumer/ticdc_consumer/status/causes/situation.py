"""Facts that show a cause, and its explanation."""

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
    """Facts of the target next to the changefeed's state: the sessions that block the consumer's,
    what keeps the database from cleaning up, tables without a key, and what keeps this user from
    writing."""

    blockers: tuple[Blocker, ...] = ()
    burdens: tuple[str, ...] = ()
    without_key: tuple[str, ...] = ()
    read_only: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The facts to explain. `now` is this machine's clock, `resolved_ts` R, `ahead` how far the
    consumer's clock is ahead of the target's. `target` and `source` are what they just showed, None
    if nobody asked; `unreadable` and `source_error` are what they raised instead. `config` is the
    settings file, for commands. `silent` is a consumer that is alive but does not write. `loading`
    is an unfinished first load, `set_aside` the quarantined tables in the target; the consumer
    itself knows them by its activity. `seen` is what else is known of a target that does not
    answer. `restarts` and `topic_ids` are the checkpoint's; `has_tables`: whether any table's rows
    have a destination."""

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
        """The situation as the consumer itself knows it."""
        return cls(
            now=activity.at,
            resolved_ts=activity.resolved_ts,
            activity=activity,
            running=activity.stage != "stopped",
        )

    @property
    def alive(self) -> bool:
        """Returns whether a consumer runs, even one that gives no sign."""
        return self.running or self.silent is not None

    @property
    def at_work(self) -> Activity | None:
        """The consumer's activity, if one runs."""
        return self.activity if self.running else None

    @property
    def trouble(self) -> Trouble | None:
        """The error being retried; if no consumer runs, the one that ended the last run."""
        if self.activity is None:
            return None
        return self.activity.retry if self.alive else self.activity.error

    @property
    def waits(self) -> Activity | None:
        """The consumer's activity, if it waits only for a resolved ts. If it has waited for long
        although the topics show a resolved ts above R in every partition, it waits for something
        else, whatever it wrote last."""
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
        """Returns whether the last messages of every partition show a resolved ts above R."""
        partitions = self.source.partitions.values() if self.source else ()
        return bool(partitions) and all(p.resolved_ts > self.resolved_ts for p in partitions)

    @property
    def busy(self) -> Activity | None:
        """The consumer's activity, if it works on a cut."""
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
    """Seconds that the stage has lasted."""
    return max(0.0, activity.at - activity.since)


def has_kind(trouble: Trouble | None, *kinds: str) -> bool:
    """Returns whether the error is, or was caused by, one of these classes."""
    return trouble is not None and any(kind in trouble.kinds for kind in kinds)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence, its evidence, and advice, where more is known than the remedy says."""

    sentence: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownCause:
    """A cause. `recognised` and `remedy` are its text in docs/reference/why.md; the remedy, with
    the file's name for `{config}`, is shown if the explanation has no advice."""

    name: str
    recognised: str
    remedy: str
    explain: Callable[[Situation], Explanation | None]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A cause by name, in one sentence, with its evidence and advice."""

    cause: str
    sentence: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
