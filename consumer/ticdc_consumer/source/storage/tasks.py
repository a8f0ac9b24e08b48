"""Reads a storage's files in Spark's tasks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ticdc_encoder.event import Table

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.source import ProgressT, Receiver
from ticdc_consumer.source.storage.records import FileDecoder, left_out, not_yet, records


@dataclass(frozen=True, slots=True)
class StorageTasks:
    """The reader of a cut that ends at `end`; `ddls` are the commit_ts of the DDL seen,
    `definitions` the tables as the stream's own DDL defined them."""

    options: ReadSettings
    end: int
    ddls: frozenset[int]
    definitions: Mapping[tuple[str, str], Table]
    gives_messages = False

    def read(self, receiver: Receiver[ProgressT], size: int) -> Iterator[None]:
        """Feeds the receiver. A step is a file, or some of its changes; `size` is not used."""
        files = FileDecoder(self.options, self.definitions)
        for partition, progress in receiver.progress.items():
            if progress.done or left_out(self.options, partition, receiver.wants):
                continue
            later = left_out(self.options, partition, receiver.reads)
            if later or not_yet(self.options, partition, self.end, self.ddls):
                progress.keep(progress.position)
                continue
            for record in records(self.options, partition, progress.position, progress.end):
                changes = files.changes(record)
                yield from receiver.feed_file(progress, record.content, record.offset, changes)
                yield
