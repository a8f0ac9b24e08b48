"""The contents of a Dumpling folder: its timestamp, the tables' definitions, the files of their
rows.

Dumpling keeps no list of its files: the loss of a whole file is not noticed.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.sql.words import restored

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.source.storage.files import Files
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.dump.pieces import PLAIN, PieceReader, format_of
from ticdc_consumer.upstream.tables import Defined

METADATA = "metadata"

_POSITION = re.compile(
    r"^SHOW (?:MASTER|BINARY LOG) STATUS:\n\tLog: (.*)\n\tPos: (.*)\n", re.MULTILINE
)
_NAME = r"(?P<schema>[^./]+)\.(?P<table>[^./]+)"
_SCHEMA_FILE = re.compile(_NAME + r"-schema(?P<kind>|-view|-sequence)\.sql(?P<packing>\.\w+)?")
_ROWS_FILE = re.compile(_NAME + r"\.(?P<number>\d+)\.(?P<format>sql|csv)(?P<packing>\.\w+)?")
_OTHER_FILE = re.compile(r"[^/]+-(?:schema|placement-policy)-create\.sql(?:\.\w+)?")
_OF_DUMPLING = re.compile(r".*\.(?:sql|csv)(?:\.\w+)?", re.DOTALL)
_COMMENTS = re.compile(r"(?:/\*![^\n]*\*/;\n)*")


class DumpedTable(NamedTuple):
    """A table, and the files of its rows with their stored sizes, all of one format."""

    defined: Defined
    format: str
    files: dict[str, int]


class DumpContents(NamedTuple):
    """The tables and the names of the views that `[tables] filter` lets pass."""

    tables: dict[TableName, DumpedTable]
    views: list[TableName]


def dumped_at(files: Files) -> int:
    """The timestamp of the rows. Raises `Stop` if the dump is unfinished, or not of a TiDB."""
    content = files.read(METADATA)
    if content is None:
        raise Stop(
            f"{METADATA} is missing in [source] dump: Dumpling writes it at the end, so that the "
            "dump is not finished, or not copied as a whole"
        )
    text = content.decode(errors="replace")
    if "Finished dump at:" not in text:
        raise Stop(f"{METADATA}: the dump is not finished: let Dumpling finish, or dump again")
    position = _POSITION.search(text)
    if position is None or position[1] != "tidb-binlog":
        raise Stop(f"{METADATA} names no position of a TiDB: a dump of another database has no TS")
    if not position[2].isdecimal():
        raise Stop(f"{METADATA}: Pos is not a TSO: dump with --snapshot and a TSO, or without it")
    return int(position[2])


def contents(files: Files, options: Settings) -> DumpContents:
    """All that the filter takes. Raises `Stop` for a table with a missing definition or one that is
    not understood, and for a file that Dumpling does not write under this name."""
    passes = TableFilter(options.filter, case_sensitive=options.case_sensitive)
    sizes = files.list()
    schemas = dict[TableName, str]()
    rows = defaultdict[TableName, list[tuple[int, str, str]]](list)
    views, others = list[TableName](), set[TableName]()
    for path in sorted(sizes):
        if match := _SCHEMA_FILE.fullmatch(path):
            name = _name(match)
            if not passes.matches(*name):
                continue
            if match["kind"]:
                others.add(name)
                views += [name] if match["kind"] == "-view" else []
            else:
                schemas[name] = path
        elif match := _ROWS_FILE.fullmatch(path):
            name = _name(match)
            if passes.matches(*name):
                form = match["format"] + (match["packing"] or "")
                rows[name].append((int(match["number"]), path, form))
        elif _OF_DUMPLING.fullmatch(path) and not _OTHER_FILE.fullmatch(path):
            raise Stop(
                f"{path} in [source] dump does not have one of Dumpling's default file names: "
                "dump without --output-filename-template, into an empty folder"
            )
    for name in sorted(rows.keys() - schemas.keys()):
        raise Stop(
            f"{'.'.join(name)}: its rows are in {rows[name][0][1]}, but its -schema.sql file is "
            "missing in [source] dump: dump without --no-schemas, and copy all files"
        )
    tables = {
        name: _table(files, name, schemas[name], rows[name], sizes)
        for name in sorted(schemas.keys() - others)
    }
    return DumpContents(tables, sorted(views))


def _table(
    files: Files,
    name: TableName,
    path: str,
    rows: list[tuple[int, str, str]],
    sizes: Mapping[str, int | None],
) -> DumpedTable:
    paths = [path for _, path, _ in sorted(rows)]
    forms = sorted({form for _, _, form in rows})
    if len(forms) > 1 or len({number for number, _, _ in rows}) < len(rows):
        raise Stop(
            f"{'.'.join(name)}: [source] dump has its rows more than once, in {paths[0]} and "
            f"{paths[-1]}: are these two dumps? give each a folder"
        )
    defined = _defined(files, name, path)
    _require_dumped(defined)
    lengths = files.sizes([path for path in paths if sizes[path] is None])
    lengths |= {path: size for path in paths if (size := sizes[path]) is not None}
    format_ = format_of(paths[0]) if paths else "sql"
    return DumpedTable(defined, format_, {path: lengths[path] for path in paths})


def _defined(files: Files, name: TableName, path: str) -> Defined:
    with PieceReader(files) as reader:
        content = b"".join(reader.blocks(path))
    try:
        text = content.decode()
        statement = _COMMENTS.sub("", text, count=1).rstrip()
        if not statement.endswith(";"):
            raise Stop(f"{path} is cut off: its CREATE TABLE does not end; copy the file again")
        statement = restored(statement[:-1])
        defined = Defined(parse_create_table(statement, name[0]), statement)
    except (DefinitionError, UnicodeDecodeError) as error:
        raise Stop(f"{'.'.join(name)}: {path}: {error}") from error
    if defined.name != name:
        raise Stop(f"{path} has the definition of table {defined.table.name}")
    return defined


def _require_dumped(defined: Defined) -> None:
    for column in defined.table.columns:
        if column.generated == "stored":
            raise Stop(
                f"{'.'.join(defined.name)}: column {column.name} is generated and stored, and "
                "Dumpling leaves its values out: load from [source] upstream, or without the table"
            )


def require_time_zone(options: Settings, defined: Defined) -> None:
    """Raises `Usage` for a TIMESTAMP whose time zone is unknown."""
    if options.dump_time_zone is not None:
        return
    for column in defined.table.columns:
        if column.type.name == "timestamp":
            raise Usage(
                f"{'.'.join(defined.name)}: column {column.name} is a TIMESTAMP, which Dumpling "
                "writes in its session's time zone and does not name: set [source] "
                "dump_time_zone (@@global.time_zone of the TiDB; UTC if dumped with --params "
                '"time_zone=+00:00")'
            )


def _name(match: re.Match[str]) -> TableName:
    packing = match["packing"]
    if packing not in (None, *PLAIN):
        raise Stop(
            f"{match[0]}: {packing} cannot be read: dump with --compress gzip or zstd, or without"
        )
    return unquote(match["schema"]), unquote(match["table"])
