"""The objects of the checks: the source, a sample of its messages, the target."""

from collections.abc import Mapping

from ticdc_encoder.event import Table

from ticdc_consumer.commands.check.sample import Sample, sample_of
from ticdc_consumer.config.options import Settings
from ticdc_consumer.protocols.schemas import SchemaKey
from ticdc_consumer.source import Source, open_source
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target


class Premises:
    """Source and target as far as they are reachable; each is opened once.

    `source`, `listing`, `begins`, `sample`, `target` are None until their check has reached them.
    """

    def __init__(self, options: Settings) -> None:
        self.options = options
        self.listing: Listing | None = None
        self.begins: Mapping[TopicPartition, int] = {}
        self.source: Source | None = None
        self.sample: Sample | None = None
        self.target: Target | None = None
        self.checkpoint: Checkpoint | None = None

    def close(self) -> None:
        for opened in (self.source, self.target):
            if opened is not None:
                opened.close()

    def open_source(self) -> Source:
        self.source = open_source(self.options)
        return self.source

    def list_topics(self) -> Listing:
        source = self.open_source()
        self.listing = source.list()
        self.begins = source.begins(self.listing.ends)
        return self.listing

    def open_target(self) -> Target:
        options = self.options
        self.target = open_target(
            options.target_url,
            to_look=True,
            write_source=options.write_source,
            changefeed=options.changefeed,
            publish=options.publish,
        )
        self.read_checkpoint()
        return self.target

    def read_checkpoint(self) -> Checkpoint | None:
        """Reads the current checkpoint, which a running consumer may move."""
        assert self.target is not None
        self.checkpoint = Store(self.target, self.options.changefeed).read()
        return self.checkpoint

    def take_sample(self) -> Sample:
        """Reads the first messages that a run would read, or that the log still has."""
        assert self.listing is not None
        starts = dict(self.begins)
        for name, position in (self.checkpoint.positions if self.checkpoint else {}).items():
            if name in starts:
                starts[name] = max(starts[name], position.restart_offset)
        stored: Mapping[SchemaKey, Table] = {}
        if self.target is not None:
            stored = Store(self.target, self.options.changefeed).schemas()
        self.sample = sample_of(self.options, starts, self.listing.ends, stored)
        return self.sample
