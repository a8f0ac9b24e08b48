"""Predicts the size of the next cut from those read so far, and chooses its reader."""

from ticdc_encoder.counted import counted

from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.cuts import Estimates
from ticdc_consumer.cut.read.report import Report
from ticdc_consumer.source import Source

SMALL_BYTES = 16 << 20
"""Bytes of messages, and of their facts, up to which the driver reads a cut itself."""


class Sizes:
    """Learns from each report; the planner and the cut reader ask it."""

    def __init__(self, options: Settings, source: Source) -> None:
        self._options = options
        self._source = source
        self._estimates = Estimates(source.rows_per_offset)
        self._bytes_per_offset = 0.0  # of the previous cut

    @property
    def estimates(self) -> Estimates:
        return self._estimates

    def learn(self, report: Report) -> None:
        """Learns from a cut, or a part of one, that was read."""
        rows = sum(counts.facts + counts.replays for counts in report.tables.values())
        self._estimates = self._estimates.after(report.messages, rows, report.bytes)
        if report.messages:
            self._bytes_per_offset = report.bytes / report.messages

    def is_small(self, offsets: int) -> bool:
        """Returns whether the driver should read this many offsets itself."""
        messages = offsets * self._source.rows_per_offset
        size = offsets * self._bytes_per_offset
        return messages < self._options.spark_from_messages and size <= SMALL_BYTES

    def why_spark(self, offsets: int) -> str:
        """Returns the continuation of the sentence "starting Spark"."""
        messages = round(offsets * self._source.rows_per_offset)
        most = self._options.spark_from_messages
        if messages >= most:
            return f"to read {counted(messages, 'message')} ([spark] from_messages = {most:,})"
        return f"to read {counted(messages, 'large message')}"
