"""A source that sends nothing, for what plans and reads cuts."""

from collections.abc import Callable, Iterable

from ticdc_consumer.cut.cuts import Cut
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source import RunSurvey
from ticdc_consumer.source.kafka.tasks import KafkaTasks
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition
from ticdc_consumer.state.checkpoint import Checkpoint

from support.both_paths import options_for

OPTIONS = options_for("simple")
BASE = Checkpoint.first(OPTIONS, 0, {})
CUT = Cut(0, 9, Mark(9), {("orders", 0): 5}, {("orders", 0): 8}, {"orders": ""})
LACKS = {("shop", "items", 2): ("orders", 0, 5)}


class Quiet:
    """A source that sends nothing."""

    rows_per_offset = 1.0
    marks: tuple[Mark, ...] = ()
    newest = None
    trouble = None

    def __init__(self) -> None:
        self.schemas = Schemas(OPTIONS)
        self.top: dict[str, Mark] = {}
        self.followed: dict[str, int] = {}
        self.begin_of_new = 0

    def forget(self, applied: int) -> None: ...

    def follow(self, starts: dict[str, int]) -> None:
        self.followed |= starts

    def list_patiently(self, known: object, patience: float) -> Listing:
        return Listing({("old", 0): 90, ("new", 0): 3}, {"old": "", "new": ""})

    def position(self, topic: str) -> int:
        return self.followed[topic]

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, self.begin_of_new)

    def expected(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        return set(known)

    def ddls(self) -> list[SeenDdl]:
        return []

    def tasks(self, *of: object, here: bool) -> KafkaTasks:
        return KafkaTasks({})

    def read_to(self, reach: int, ends: dict[str, int], patience: float) -> None: ...

    def survey_by(self, surveys: Callable[[], RunSurvey | None]) -> None:
        self.surveys = surveys

    def poll(self, wait: float) -> int:
        return 0

    def require_marks(self, silence: float) -> None: ...
