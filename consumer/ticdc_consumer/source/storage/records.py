"""A storage's files as the tasks read them: each is a record, its path the key.

Reading is retried if a storage does not answer: a failed cut is read again from its beginning.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ticdc_encoder.column import Column
from ticdc_encoder.errors import FieldCount, WireError
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.filters.column import ColumnSelectors
from ticdc_encoder.storage.layout import Directory, PathLayout
from ticdc_encoder.storage.schema_file import parse_schema_file

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols import stored_files
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.source.storage.directories import directory_of, files_of_partition, layout_of
from ticdc_consumer.source.storage.files import PATIENCE, files_of
from ticdc_consumer.waiting import patiently


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file at its offset."""

    path: str
    content: bytes
    offset: int


def not_yet(
    options: ReadSettings, partition: TopicPartition, end: int, ddls: Iterable[int]
) -> bool:
    """Returns whether the directory can hold nothing of a cut that ends at `end`, since its version
    is later: that of a DDL at the cut's end (`ddls` are their commit_ts), or a greater one."""
    version = directory_of(layout_of(options), partition).version
    return version >= end or (version == end - 1 and version in ddls)


def left_out(
    options: ReadSettings, partition: TopicPartition, wants: Callable[[tuple[str, str]], bool]
) -> bool:
    """Returns whether the table is left out, so that its files need not be readable. A path with a
    table's id does not show it, and rows that describe their columns name their table."""
    if stored_files(options).describe_columns:
        return False
    directory = directory_of(layout_of(options), partition)
    return directory.table_id is None and not wants((directory.schema, directory.table))


def records(
    options: ReadSettings, partition: TopicPartition, start: int, end: int
) -> Iterator[FileRecord]:
    """Yields the files of a directory, from one offset to another. Raises `Stop` for a file that no
    longer exists, and `Unavailable` if the storage does not answer."""
    assert options.storage_url is not None
    url, layout = options.storage_url, layout_of(options)
    folder = directory_of(layout, partition).path
    paths = files_of_partition(layout, partition, _listed(url, folder))
    for number in range(start + 1, end + 1):
        content = _read(url, paths[number]) if number in paths else None
        if not content:
            raise Stop(
                f"{partition[0]}: file {number}, which the cut was planned with, no longer exists"
            )
        yield FileRecord(paths[number], content, number - 1)


def _listed(url: str, folder: str) -> list[str]:
    return patiently(lambda: [*files_of(url).list(folder)], PATIENCE)


def _read(url: str, path: str) -> bytes | None:
    return patiently(lambda: files_of(url).read(path), PATIENCE)


class FileDecoder:
    """Decodes the changes of a file. `known` are the tables as the stream's own DDL defined them:
    they have what schema files leave out."""

    def __init__(self, options: ReadSettings, known: Mapping[tuple[str, str], Table]) -> None:
        self._options = options
        self._layout = layout_of(options)
        files = stored_files(options)
        self._changes = files.format.changes
        self._format_options = files.format_options(options)
        self._describe_columns = files.describe_columns
        self._known = known
        self._selectors = ColumnSelectors(options.storage_column_selectors, options.case_sensitive)
        self._terminator = options.storage_terminator.encode()

    def changes(self, record: FileRecord) -> Iterator[RowChange]:
        """Yields the changes of a file. Raises `Stop` and WireError, which name the file."""
        file = self._layout.data_file(record.path)
        if file is None:
            raise ValueError(f"{record.path!r} is not a data file of this layout")
        table = self._table(file.directory)
        if not record.content.endswith(self._terminator):
            raise Stop(
                f"{record.path} does not end with the terminator: it was cut short, or "
                "storage.terminator is not the changefeed's"
            )
        try:
            yield from self._changes(record.content, table, self._format_options)
        except WireError as error:
            error.table = table.schema, table.name
            error.add_note(f"in {record.path}")
            if isinstance(error, FieldCount):
                error.add_note(
                    "(its schema file also lists virtual columns, and those that the changefeed's "
                    "column-selectors leave out: list selectors that leave them out in "
                    "storage.column_selectors)"
                )
            raise

    def _table(self, directory: Directory) -> Table:
        """The directory's table, without columns if the file's records describe them."""
        if self._describe_columns:
            return Table(directory.schema, directory.table, ())
        assert self._options.storage_url is not None
        stored = _table_of(self._options.storage_url, self._layout, directory)
        known = self._known.get((stored.schema, stored.name))
        table = stored if known is None else _completed(stored, known)
        return self._selectors.selected(table)


@lru_cache(maxsize=4096)
def _table_of(url: str, layout: PathLayout, directory: Directory) -> Table:
    """The table of a version, from its schema file, which never changes."""
    base = directory.path.split("/")
    folder = base[0] if directory.table_id is not None else "/".join(base[:2])
    schemas = [layout.schema_path(path) for path in _listed(url, f"{folder}/meta")]
    of_version = [path for path in schemas if path and path.version == directory.version]
    if len(of_version) != 1:
        raise Stop(
            f"{folder}: {len(of_version) or 'no'} schema files of version {directory.version}, "
            "which its data files need"
        )
    (path,) = of_version
    table = parse_schema_file(path, _read(url, path.path) or b"").table
    if table is None:
        raise Stop(f"{path.path} has no columns")
    return table


def _completed(stored: Table, known: Table) -> Table:
    """Marks the virtual columns, which schema files have and data files do not; adds the members of
    ENUM and SET, which the old architecture leaves out."""
    declared = {column.name: column for column in known.columns}
    return replace(stored, columns=tuple(_declared(stored.columns, declared)))


def _declared(columns: Iterable[Column], declared: Mapping[str, Column]) -> Iterator[Column]:
    for column in columns:
        same = declared.get(column.name)
        if same is None or same.type.name != column.type.name:
            yield column
        else:
            elements = column.type.elements or same.type.elements
            generated = same.generated if same.generated == "virtual" else column.generated
            type_ = replace(column.type, elements=elements)
            yield replace(column, type=type_, generated=generated)
