"""Progress in a partition, and the offset from which the next cut must read it."""

from dataclasses import dataclass

from ticdc_consumer.source.marks import TopicPartition


def restart_offset(
    end: int | None, stopped_at: int | None, stopped_above: bool, least_later: int | None
) -> int | None:
    """Returns the offset from which the next cut must read a partition.

    `stopped_at` is the offset of the mark that ended the read and `stopped_above` whether it is
    greater than the cut's end (it will be needed again); `least_later` is the least offset of a row
    or DDL that belongs to a later cut. A partition read without a mark restarts at its listed end.
    For a part that another task continues, `end` is None, and so is the result if the part is
    finished: the least of all parts' results counts.
    """
    rest = end if stopped_at is None else stopped_at if stopped_above else stopped_at + 1
    known = [offset for offset in (rest, least_later) if offset is not None]
    return min(known, default=None)


@dataclass(slots=True)
class PartitionProgress:
    """The progress in one partition. `number` is its position among the job's partitions; `end` the
    listed end or, for a part that another task continues (`is_last` false), the start of that
    task's part; `position` the next offset to read; `restart_offset` explains the others."""

    topic_partition: TopicPartition
    number: int
    end: int
    position: int
    is_last: bool = True
    done: bool = False
    stopped_at: int | None = None
    stopped_above: bool = False
    least_later: int | None = None

    def keep(self, offset: int) -> None:
        """Notes that the record at this offset belongs to a later cut. Offsets must ascend."""
        if self.least_later is None:
            self.least_later = offset

    def stop(self, offset: int, above: bool) -> None:
        """Notes that the mark at this offset ends the read; `above`: it is greater than the cut's
        end."""
        self.done, self.stopped_at, self.stopped_above = True, offset, above

    @property
    def restart(self) -> int | None:
        end = self.end if self.is_last else None
        return restart_offset(end, self.stopped_at, self.stopped_above, self.least_later)
