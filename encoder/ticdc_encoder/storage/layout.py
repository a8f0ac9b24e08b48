"""The paths of the cloud storage sink's files, relative to its prefix.

Source: TiCDC `pkg/sink/cloudstorage`. Names of schemas and tables are not escaped in the paths.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ticdc_encoder.errors import WireError
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.formats import canal_json, csv
from ticdc_encoder.formats.format import timestamp
from ticdc_encoder.formats.json_text import load

METADATA = "metadata"
"""Name of the file with the checkpoint."""

DateSeparator = Literal["none", "year", "month", "day"]

_DATES: dict[str, str] = {
    "none": "",
    "year": r"(?P<date>[0-9]{4})/",
    "month": r"(?P<date>[0-9]{4}-[0-9]{2})/",
    "day": r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})/",
}
_TABLE = r"(?P<schema>[^/]+)/(?P<table>[^/]+)/(?P<version>[0-9]{1,20})/"
_TABLE_ID = r"(?P<table_id>[0-9]{1,20})/(?P<version>[0-9]{1,20})/"
_NAME = r"CDC(?:_(?P<dispatcher>[0-9a-f-]{36})_)?(?P<number>[0-9]{1,20})\.(?P<extension>csv|json)"
_INDEX = r"(?:meta/)?CDC(?:_(?P<dispatcher>[0-9a-f-]{36}))?\.index"
_SCHEMA = re.compile(
    r"(?P<schema>[^/]+)/(?:(?P<table>[^/]+)/)?meta/"
    r"schema_(?P<version>[0-9]{1,20})_(?P<checksum>[0-9]{10,20})\.json"
)
_SCHEMA_BY_ID = re.compile(
    r"(?P<table_id>[0-9]{1,20})/meta/schema_(?P<version>[0-9]{1,20})_(?P<checksum>[0-9]{10,20})\.json"
)


@dataclass(frozen=True, slots=True)
class Directory:
    """The directory of data files of one numbering. `version` is that of the table's schema file,
    except for rows that were sent again; `date` the day on which TiCDC wrote them. With
    `use-table-id-as-path` there is a `table_id` and no names; with several writers each has a
    `dispatcher`."""

    schema: str
    table: str
    version: int
    partition: int | None = None
    date: str | None = None
    dispatcher: str | None = None
    table_id: int | None = None

    @property
    def path(self) -> str:
        """The path, with a trailing slash."""
        if self.table_id is None:
            path = f"{self.schema}/{self.table}/{self.version}/"
        else:
            path = f"{self.table_id}/{self.version}/"
        path += "" if self.partition is None else f"{self.partition}/"
        return path + ("" if self.date is None else f"{self.date}/")

    @property
    def index_path(self) -> str:
        return f"{self.path}meta/CDC{self._writer}.index"

    def name(self, number: int, extension: str, digits: int = 20) -> str:
        """A data file's name in the directory; `digits` is file-index-digit."""
        between = f"{self._writer}_" if self._writer else ""
        return f"CDC{between}{number:0{digits}d}.{extension}"

    @property
    def _writer(self) -> str:
        return "" if self.dispatcher is None else f"_{self.dispatcher}"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of changes, the `number`-th of its directory, from 1."""

    directory: Directory
    number: int
    extension: str


@dataclass(frozen=True, slots=True)
class SchemaPath:
    """The path of a schema file; a database's has the table ""."""

    schema: str
    table: str
    version: int
    checksum: int
    table_id: int | None = None

    @property
    def path(self) -> str:
        name = f"meta/schema_{self.version}_{self.checksum:010d}.json"
        if self.table_id is not None:
            return f"{self.table_id}/{name}"
        return "/".join(part for part in (self.schema, self.table, name) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class PathLayout:
    """The changefeed's settings that do not follow from a path."""

    date_separator: DateSeparator = "day"
    table_id_paths: bool = False

    def data_file(self, path: str) -> DataFile | None:
        """The data file of that path; None for a path of anything else."""
        match = re.fullmatch(self._directory + _NAME, path)
        if match is None:
            return None
        return DataFile(_directory(match), int(match["number"]), match["extension"])

    def index(self, path: str) -> Directory | None:
        """The directory of an index file; None for a path of anything else."""
        match = re.fullmatch(self._directory + _INDEX, path)
        return None if match is None else _directory(match)

    def schema_path(self, path: str) -> SchemaPath | None:
        """The schema file of that path; None for a path of anything else."""
        match = (_SCHEMA_BY_ID if self.table_id_paths else _SCHEMA).fullmatch(path)
        if match is None:
            return None
        parts = match.groupdict()
        table_id = parts.get("table_id")
        return SchemaPath(
            parts.get("schema") or "",
            parts.get("table") or "",
            int(parts["version"]),
            int(parts["checksum"]),
            None if table_id is None else int(table_id),
        )

    @property
    def _directory(self) -> str:
        if self.table_id_paths:
            return _TABLE_ID + _DATES[self.date_separator]
        return _TABLE + r"(?:(?P<partition>[0-9]{1,20})/)?" + _DATES[self.date_separator]


def _directory(match: re.Match[str]) -> Directory:
    parts = match.groupdict()
    partition, table_id = parts.get("partition"), parts.get("table_id")
    return Directory(
        parts.get("schema") or "",
        parts.get("table") or "",
        int(parts["version"]),
        None if partition is None else int(partition),
        parts.get("date"),
        parts.get("dispatcher"),
        None if table_id is None else int(table_id),
    )


def index_json(name: str) -> bytes:
    """An index file: the name of the directory's last data file.

    The new architecture from v8.5.5 on writes it behind that file, others before it.
    """
    return f"{name}\n".encode()


_NAMED = re.compile(_NAME)


def last_number(index: bytes) -> int:
    """The number of the data file that an index names."""
    match = _NAMED.fullmatch(index.decode("utf-8", "replace").strip())
    if match is None:
        raise WireError("the index file names no data file")
    return int(match["number"])


def metadata_json(checkpoint_ts: int) -> bytes:
    return f'{{"checkpoint-ts":{checkpoint_ts}}}'.encode()


def checkpoint_ts(metadata: bytes) -> int:
    """Every row with a commit_ts at or below it lies in data files that are complete, and every DDL
    below it in a schema file."""
    members = load(metadata)
    if not isinstance(members, dict):
        raise WireError("the metadata is not a JSON object")
    return timestamp(members.get("checkpoint-ts"), "checkpoint-ts")


# The contents of data files.


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A protocol of data files: `changes(data, table, options)` gives a file's, one by one. A row
    ends with the sink's terminator if it is `terminated` by the file and not by its encoder."""

    extension: str
    changes: Callable[[bytes, Table, Any], Iterator[RowChange]]
    Options: Callable[..., Any]
    terminated: bool

    def decode(self, data: bytes, table: Table, options: Any) -> list[RowChange]:
        return [*self.changes(data, table, options)]


def _canal_json(data: bytes, table: Table, options: Any) -> Iterator[RowChange]:
    """The changes of a file of Canal-JSON: each line has its columns, and nothing else is known of
    the table. Line breaks inside of values are escaped."""
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        try:
            events = canal_json.decode(None, line, options)
        except WireError as error:
            error.add_note(f"in record {number} of the file")
            raise
        for event in events:
            if not isinstance(event, RowChange):
                raise WireError(f"record {number} of the file is not a row")
            yield event


FILE_FORMATS: dict[str, FileFormat] = {
    "csv": FileFormat("csv", csv.changes, csv.Options, terminated=False),
    "canal-json": FileFormat("json", _canal_json, canal_json.Options, terminated=True),
}
