"""A storage as a source: directories with their ends, marks, DDL."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from ticdc_encoder.errors import TicdcError, WireError
from ticdc_encoder.event import Resolved, Table
from ticdc_encoder.storage.layout import METADATA, SchemaPath, checkpoint_ts
from ticdc_encoder.storage.schema_file import parse_schema_file

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import LOAD_ANEW, Stop, Unavailable
from ticdc_consumer.protocols import for_tasks
from ticdc_consumer.protocols.protocol import check_ts, latest_sane
from ticdc_consumer.protocols.schemas import Schemas
from ticdc_consumer.source import RunSurvey, TaskSource
from ticdc_consumer.source.listing import Listing, LogRecord
from ticdc_consumer.source.marks import Mark, SeenDdl, TopicPartition
from ticdc_consumer.source.storage.directories import directory_of, layout_of, settled
from ticdc_consumer.source.storage.files import PATIENCE, Files, files_of
from ticdc_consumer.source.storage.listing import contents_of
from ticdc_consumer.source.storage.tasks import StorageTasks
from ticdc_consumer.waiting import patiently

EVERY = 1.0
"""Seconds between two checks of `metadata`, which TiCDC writes every other second at most."""


class StorageSource:
    """The prefix of a cloud storage sink. A topic is a directory that numbers its files, with one
    partition; an offset is the number of files before."""

    rows_per_offset = 1_000.0
    listing_may_lag = False

    def __init__(self, options: Settings) -> None:
        assert options.storage_url is not None
        self._options = options
        self._files: Files = files_of(options.storage_url)
        self._layout = layout_of(options)
        self._applied = (options.from_ts or 0) + 1
        self._indexed: dict[TopicPartition, int] = {}
        self._schemas: set[str] = set()
        self._ddls: dict[str, SeenDdl] = {}
        self._next_look = 0.0
        self.marks: list[Mark] = []
        self.top: dict[str, Mark] = {}
        self.regressions = 0
        self.schemas = Schemas(options)
        self.newest: float | None = None
        """Unknown: the times of files are not asked for."""
        self.trouble: Unavailable | None = None
        """None: a storage that does not answer raises an error."""

    def close(self) -> None:
        """Does nothing: storage clients belong to their processes."""

    # --- listing -------------------------------------------------------------------------------

    def list(self) -> Listing:
        """Lists the directories, and reads the DDL. Raises `Unavailable`, and `Stop` or `WireError`
        for contents that the sink would not leave."""
        contents = contents_of(self._files, self._options, self._applied, self._indexed)
        self._indexed = contents.indexed
        for schema in contents.schemas:
            if schema.version >= self._applied and schema.path not in self._schemas:
                self._read_schema(schema)
        return Listing(contents.ends, {topic: "" for topic, _ in contents.ends})

    def list_patiently(self, known: Iterable[TopicPartition], patience: float) -> Listing:
        """A listing that has every directory of `known` that is not settled; retried for `patience`
        seconds, since files are listed one by one while others are written."""
        expected = self.expected(known)

        def listing() -> Listing:
            result = self.list()
            if missing := sorted(expected - set(result.ends)):
                raise Stop(
                    f"{missing[0][0]} is in the checkpoint, but the storage does not have it: was "
                    f"it deleted? If its files are gone, {LOAD_ANEW}"
                )
            return result

        return patiently(listing, patience, (Stop, Unavailable, WireError))

    def expected(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Directories that are not settled; the rows of the others are below R, and they may be
        deleted."""
        return {p for p in known if not settled(directory_of(self._layout, p), self._applied)}

    def record_at(
        self, topic_partition: TopicPartition, offset: int, patience: float
    ) -> LogRecord | None:
        """None: files are numbered from 1 without a gap, so nothing needs to be compared."""
        return None

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Returns 0 for each: a directory without its first file is refused."""
        return dict.fromkeys(partitions, 0)

    def _read_schema(self, path: SchemaPath) -> None:
        content = self._files.read(path.path)
        if content is None:
            raise Unavailable(f"the storage listed {path.path}, but does not have it")
        try:
            ddl = parse_schema_file(path, content).ddl
        except WireError as error:
            error.add_note(f"in {path.path}")
            raise
        self._schemas.add(path.path)
        if ddl is not None:
            check_ts(ddl, latest_sane(self._options))
            self._ddls[path.path] = SeenDdl(ddl, path.path, 0)

    # --- marks and DDL -------------------------------------------------------------------------

    def follow(self, starts: Mapping[str, int]) -> None:
        """Does nothing: everything is followed."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Does nothing: a storage has no place for offsets."""

    def position(self, topic: str) -> int:
        """Returns 0: nothing is read ahead."""
        return 0

    def ddls(self) -> Sequence[SeenDdl]:
        return [*self._ddls.values()]

    def forget(self, applied: int) -> None:
        """Drops everything below `applied`, from which the next cut begins."""
        self._applied = applied
        self.marks = [mark for mark in self.marks if mark.resolved_ts > applied]
        self._ddls = {p: s for p, s in self._ddls.items() if s.ddl.commit_ts >= applied}

    def survey_by(self, surveys: Callable[[], RunSurvey | None]) -> None:
        """Does nothing: no rows lie between marks and DDL, which have their own files."""

    def poll(self, wait: float) -> int:
        """Checks `metadata` when it is due, waiting up to `wait` seconds for that; returns 1 if it
        has a new mark. Raises `Unavailable` if the storage does not answer."""
        pause = self._next_look - time.monotonic()
        if pause > wait:
            time.sleep(wait)
            return 0
        time.sleep(max(0.0, pause))
        return patiently(self._look_at_metadata, PATIENCE)

    def read_to(self, reach: int, ends: Mapping[str, int], patience: float) -> None:
        """Reads the marks up to `reach`; each listing reads the DDL. Raises `Unavailable` if the
        storage does not answer for `patience` seconds."""
        if all(mark.resolved_ts < reach for mark in self.marks):
            patiently(self._look_at_metadata, patience)

    def require_marks(self, silence: float) -> None:
        """Does nothing: the mark is the `metadata` file, which the consumer awaits."""

    def _look_at_metadata(self) -> int:
        self._next_look = time.monotonic() + EVERY
        content = self._files.read(METADATA)
        if content is None:
            return 0
        try:
            mark = Mark(checkpoint_ts(content))
            check_ts(Resolved(mark.resolved_ts), latest_sane(self._options))
        except TicdcError as error:
            error.add_note(f"in {METADATA}")
            raise
        newest = max(self.marks, default=Mark(self._applied))
        if mark <= newest:
            self.regressions += mark < newest
            return 0
        self.marks = [mark]
        return 1

    # --- rows ----------------------------------------------------------------------------------

    def tasks(
        self,
        end: int,
        ddls: Iterable[int],
        definitions: Mapping[tuple[str, str], Table],
        *,
        here: bool = False,
    ) -> TaskSource:
        return StorageTasks(for_tasks(self._options), end, frozenset(ddls), dict(definitions))
