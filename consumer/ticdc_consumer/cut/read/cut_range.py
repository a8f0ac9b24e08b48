"""The range of commit_ts that a task reads."""

from collections import Counter

from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.progress import PartitionProgress
from ticdc_consumer.errors import LOAD_ANEW, Stop


class CutRange:
    """The cut's half-open range [`begin`, `end`) of commit_ts, and the `replays` below it, by table
    number."""

    def __init__(self, job: ReadJob) -> None:
        self.begin, self.end = job.begin, job.end
        self.replays: Counter[int] = Counter()
        self._joined = job.joined
        self._proof_time = job.proof_time
        self._latest_replay = job.proof_time + job.options.clock_skew * 1000

    def holds(
        self, progress: PartitionProgress, number: int, commit_ts: int, offset: int, time: int
    ) -> bool:
        """Returns whether the cut has this commit_ts, of a record at `offset` with Kafka's
        timestamp `time`. A record above keeps the restart offset at or below its own; one below is
        a replay. Raises `Stop` for a replay that no earlier cut can have read."""
        if commit_ts >= self.end:
            progress.keep(offset)
            return False
        if commit_ts < self.begin:
            self.replays[number] += 1
            if progress.topic_partition in self._joined:
                self._require_later(commit_ts, time)
            return False
        return True

    def _require_later(self, commit_ts: int, time: int) -> None:
        if not self.begin or time > self._latest_replay:
            return
        when = "hardly after" if time > self._proof_time else "before"
        raise Stop(
            f"a new partition holds commit_ts {commit_ts}, below the applied {self.begin}, sent "
            f"{when} that was proven: an earlier listing may have missed it, or the clock of "
            "TiCDC was set back, or a new changefeed or PD began at an older TSO. Nothing shows "
            f"whether it is a repeat or a row that was never applied: {LOAD_ANEW}"
        )
