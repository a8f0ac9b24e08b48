"""A storage's files as the tasks read them: each is a record, its path the key.

Where the storage does not answer, it is asked again: a cut that fails is read anew from its begin.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from ticdc_encoder.column import Column
from ticdc_encoder.errors import WireError
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.storage.layout import Directory, PathLayout
from ticdc_encoder.storage.schema_file import parse_schema_file

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.plan import Place
from ticdc_consumer.protocols import stored_files
from ticdc_consumer.source.storage.directories import directory_of, files_of_place, layout_of
from ticdc_consumer.source.storage.files import PATIENCE, files_of, patiently


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file at its offset."""

    path: str
    content: bytes
    offset: int


def not_yet(options: Options, place: Place, end: int, ddls: Iterable[int]) -> bool:
    """Whether nothing of a cut that ends there can be in the place, which is of a later version:
    of that of a DDL (`ddls` are their commit_ts) at the cut's end, or a greater one."""
    version = directory_of(layout_of(options), place).version
    return version >= end or (version == end - 1 and version in ddls)


def unwanted(options: Options, place: Place, wants: Callable[[tuple[str, str]], bool]) -> bool:
    """Whether the place is of a table that is left out, whose files need not be readable. A path
    with a table's id does not tell, and rows that describe their columns name their table."""
    if stored_files(options).describe_columns:
        return False
    directory = directory_of(layout_of(options), place)
    return directory.table_id is None and not wants((directory.schema, directory.table))


def records(options: Options, place: Place, start: int, end: int) -> Iterator[FileRecord]:
    """The files of a place, from an offset to another. Raises `Stop` for one that is gone, and
    `Unavailable` where the storage stays away."""
    assert options.storage_url is not None
    url, layout = options.storage_url, layout_of(options)
    folder = directory_of(layout, place).path
    paths = files_of_place(layout, place, _listed(url, folder))
    for number in range(start + 1, end + 1):
        content = _read(url, paths[number]) if number in paths else None
        if not content:
            raise Stop(f"{place[0]}: file {number} was there when the cut was planned, and is gone")
        yield FileRecord(paths[number], content, number - 1)


def _listed(url: str, folder: str) -> list[str]:
    return patiently(lambda: [*files_of(url).list(folder)], PATIENCE)


def _read(url: str, path: str) -> bytes | None:
    return patiently(lambda: files_of(url).read(path), PATIENCE)


class FileDecoder:
    """The changes of a file. `known` are the tables as the stream's own DDL made them: what schema
    files leave out of their columns is theirs."""

    def __init__(self, options: Options, known: Mapping[tuple[str, str], Table]) -> None:
        self._options = options
        self._layout = layout_of(options)
        files = stored_files(options)
        self._changes = files.format.changes
        self._format_options = files.format_options(options)
        self._describe_columns = files.describe_columns
        self._known = known
        self._terminator = options.storage_terminator.encode()

    def changes(self, record: FileRecord) -> Iterator[RowChange]:
        """Raises `Stop` and WireError, which name the file."""
        file = self._layout.data_file(record.path)
        if file is None:
            raise ValueError(f"{record.path!r} is no data file of this layout")
        table = self._table(file.directory)
        if not record.content.endswith(self._terminator):
            raise Stop(
                f"{record.path} does not end with the terminator: it was cut short, or "
                "storage.terminator is not the changefeed's"
            )
        try:
            yield from self._changes(record.content, table, self._format_options)
        except WireError as error:
            error.add_note(f"in {record.path}")
            if (table.schema, table.name) not in self._known and table.columns:
                error.add_note(
                    "(virtual columns are in its schema file, not here; with output-field-header "
                    "= true in [sink.csv] the file tells its columns)"
                )
            raise

    def _table(self, directory: Directory) -> Table:
        """Without columns if the file's records describe them."""
        if self._describe_columns:
            return Table(directory.schema, directory.table, ())
        assert self._options.storage_url is not None
        told = _table_of(self._options.storage_url, self._layout, directory)
        known = self._known.get((told.schema, told.name))
        return told if known is None else _completed(told, known)


@lru_cache(maxsize=4096)
def _table_of(url: str, layout: PathLayout, directory: Directory) -> Table:
    """The table of a version, by its schema file: that never changes."""
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
        raise Stop(f"{path.path} tells no columns")
    return table


def _completed(told: Table, known: Table) -> Table:
    """Without the virtual columns, which are told but not written; with the members of ENUM and
    SET, which the old architecture does not tell."""
    declared = {column.name: column for column in known.columns}
    return replace(told, columns=tuple(_declared(told.columns, declared)))


def _declared(columns: Iterable[Column], declared: Mapping[str, Column]) -> Iterator[Column]:
    for column in columns:
        same = declared.get(column.name)
        if same is None or same.type.name != column.type.name:
            yield column
        elif same.generated != "virtual":
            elements = column.type.elements or same.type.elements
            yield replace(column, type=replace(column.type, elements=elements))
