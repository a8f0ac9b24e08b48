"""The contents of a storage, from one listing: directories with their ends, and schema files."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ticdc_encoder.errors import WireError
from ticdc_encoder.storage.layout import DataFile, Directory, SchemaPath, last_number

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import LOAD_ANEW, Stop
from ticdc_consumer.protocols import stored_files
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.source.storage.directories import layout_of, partition_of, require_date, settled
from ticdc_consumer.source.storage.files import Files

_OURS = re.compile(r"CDC.*\.(?:csv|json|index)|schema.*\.json")
"""Names of the sink's files, in any of its layouts."""


@dataclass(slots=True)
class StorageContents:
    """The contents. `ends` has the number of files of each directory; `indexed` the directories
    whose index file was read, with the end for which it was valid."""

    ends: dict[TopicPartition, int] = field(default_factory=dict)
    schemas: list[SchemaPath] = field(default_factory=list)
    indexed: dict[TopicPartition, int] = field(default_factory=dict)


def contents_of(
    files: Files, options: Settings, resolved_ts: int, indexed: Mapping[TopicPartition, int]
) -> StorageContents:
    """Lists the storage, without the directories that are settled at `resolved_ts`. Reads an index
    file if the directory's files have changed since it was `indexed`.

    Raises `Stop` for a file of the sink that does not fit the layout of the options, or whose date
    is impossible, and for a directory that lacks a file; files being written may look so, too.
    """
    layout = layout_of(options)
    extension = stored_files(options).format.extension
    contents = StorageContents()
    sizes: dict[Directory, dict[int, int]] = {}
    unsized: dict[str, DataFile] = {}
    indexes: dict[Directory, str] = {}
    for path, size in files.list().items():
        if (file := layout.data_file(path)) and file.extension == extension:
            numbers = sizes.setdefault(file.directory, {})
            if size is None:
                unsized[path] = file
            else:
                numbers[file.number] = size
        elif directory := layout.index(path):
            indexes[directory] = path
            sizes.setdefault(directory, {})
        elif schema := layout.schema_path(path):
            contents.schemas.append(schema)
        elif _OURS.fullmatch(path.rpartition("/")[2]):
            raise Stop(
                f"the storage's {path} does not fit among {extension} files: are protocol, "
                "date_separator and table_id_paths of [storage] the changefeed's? "
                "(TiCDC before 6.5.3 has another layout, which is not read)"
            )
    for path, size in files.sizes(unsized).items():
        sizes[unsized[path].directory][unsized[path].number] = size
    for directory, numbers in sizes.items():
        require_date(directory)
        if settled(directory, resolved_ts):
            continue
        partition = partition_of(directory)
        end = contents.ends[partition] = _end(partition, numbers)
        if directory in indexes:
            if indexed.get(partition) != end:
                _check_index(files, indexes[directory], partition, end)
            contents.indexed[partition] = end
    return contents


def _end(partition: TopicPartition, sizes: Mapping[int, int]) -> int:
    """The number of files: they count from 1, and only the last may be empty."""
    last = max(sizes, default=0)
    _require(partition, (n for n in range(1, last + 1) if n not in sizes), last, "is missing")
    _require(partition, (n for n in range(1, last) if not sizes[n]), last, "is empty")
    return last - 1 if last and not sizes[last] else last


def _require(partition: TopicPartition, wrong: Iterable[int], last: int, what: str) -> None:
    for number in wrong:
        raise Stop(
            f"{partition[0]}: file {number} {what}, though file {last} exists: its contents are "
            f"lost; {LOAD_ANEW}"
        )


def _check_index(files: Files, path: str, partition: TopicPartition, end: int) -> None:
    """Checks the index. Before TiCDC 8.5.5, it is written before the file that it names, which may
    be missing."""
    content = files.read(path)
    if not content:
        return
    try:
        number = last_number(content)
    except WireError as error:
        error.add_note(f"in {path}")
        raise
    if number > end + 1:
        raise Stop(
            f"{partition[0]}: {path} says that file {number} is the last, but only {end} exist: "
            f"the contents of the others are lost; {LOAD_ANEW}"
        )
