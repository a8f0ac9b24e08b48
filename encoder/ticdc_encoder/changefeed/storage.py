"""A changefeed into cloud storage: transactions, DDL and resolved ts in, files out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from ticdc_encoder.changefeed.split import split, split_mode
from ticdc_encoder.changefeed.storage_config import StorageConfig
from ticdc_encoder.changefeed.table_routes import TableRoutes
from ticdc_encoder.changefeed.versions import filters_whole_updates
from ticdc_encoder.event import Ddl, RowChange, Table, Transaction
from ticdc_encoder.filters.column import ColumnSelectors, without
from ticdc_encoder.filters.event import EventFilters
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.formats import Clock, canal_json, csv, wall_clock
from ticdc_encoder.sql.parser import (
    CreateTable,
    DropSchema,
    DropTable,
    altered_table,
    parse_ddl,
)
from ticdc_encoder.sql.statements import DropView
from ticdc_encoder.storage.layout import (
    FILE_FORMATS,
    METADATA,
    Directory,
    index_json,
    metadata_json,
)
from ticdc_encoder.storage.schema_file import SchemaFile, schema_file
from ticdc_encoder.version import version_number

_EXCHANGE_PARTITION = 42
_DATES = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}
_Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StorageFile:
    """A file to write, its path relative to the sink's prefix. Index files and metadata replace
    existing ones."""

    path: str
    content: bytes


class StorageChangefeed:
    """The changefeed that `cdc cli changefeed create` creates from a sink URI of cloud storage and
    a configuration file.

    Rows wait for `flush` or `resolve`, which return one data file per directory; TiCDC cuts files
    by size and time. `new_architecture` is as for `Changefeed`. A table's directory is named by the
    commit_ts of its last DDL, or by `start_ts` before any. `today` gives the date in the paths.
    Write the files in the order in which they are returned: those of a DDL, and the metadata, come
    last. Raises ConfigError for a configuration that TiCDC refuses, or that is not supported here.
    """

    def __init__(
        self,
        sink_uri: str,
        config: str | Mapping[str, Any] | None = None,
        version: str = "8.5.4",
        *,
        new_architecture: bool = False,
        start_ts: int = 1,
        time_zone: str = "UTC",
        today: Callable[[], date] = date.today,
        clock: Clock = wall_clock,
    ) -> None:
        settings = StorageConfig.parse(
            sink_uri,
            config,
            version_number(version),
            new_architecture=new_architecture,
            time_zone=time_zone,
        )
        self._settings = settings
        self._mode = split_mode(
            version,
            settings.protocol,
            settings.output_raw_change_event,
            new_architecture=new_architecture,
        )
        self._filter = TableFilter(settings.rules, settings.case_sensitive)
        self._selectors = ColumnSelectors(settings.column_selectors, settings.case_sensitive)
        self._routes = TableRoutes(settings.dispatchers, case_sensitive=settings.case_sensitive)
        self._events = EventFilters(
            settings.event_filters,
            case_sensitive=settings.case_sensitive,
            new_architecture=new_architecture,
            whole_updates=filters_whole_updates(settings.version, new=new_architecture),
            time_zone=time_zone,
        )
        self._format = FILE_FORMATS[settings.protocol]
        self._encoder: csv.Encoder | canal_json.Encoder = (
            csv.Encoder(settings.format_options)
            if isinstance(settings.format_options, csv.Options)
            else canal_json.Encoder(settings.format_options, clock)
        )
        self._today = today
        self._start_ts = start_ts
        self._tables: dict[_Name, Table] = {}
        self._versions: dict[_Name, int] = {}
        self._rows: dict[Directory, list[bytes]] = {}
        self._numbers: dict[Directory, int] = {}

    def encode(self, transaction: Transaction) -> list[StorageFile]:
        """The schema files of tables without a DDL so far; the rows themselves wait."""
        files: list[StorageFile] = []
        if transaction.start_ts in self._settings.ignore_txn_start_ts:
            return files
        changes = tuple(change for change in transaction.changes if self._sends(change.table))
        events = self._events
        for change in split(
            changes, self._mode, events.keeps, events.keeps_whole, net=transaction.net
        ):
            files += self._introduced(change.table)
            directory = self._directory(change)
            change = self._routes.change(self._selected(change))
            rows = self._rows.get(directory)
            if rows is None:
                rows = self._rows[directory] = []
                if isinstance(self._encoder, csv.Encoder):
                    rows.append(self._encoder.header(change.table))
            for _, value in self._encoder.row(change):
                if value is not None:
                    rows.append(value)
                    if self._format.terminated:
                        rows.append(self._settings.terminator.encode())
        return files

    def ddl(self, ddl: Ddl) -> list[StorageFile]:
        """The data files of all rows before, and the DDL's schema files. `ddl.definition` is the
        table after it, before it for DROP TABLE; if it is None, the table as it is known.
        """
        files = self.flush()
        if not ddl.table:
            return files + self._schema_ddl(ddl)
        name = ddl.schema, ddl.table
        *named, renames = altered_table(ddl.query, ddl.schema) or (*name, False)
        first: _Name = (named[0], named[1])
        table = self._definition(ddl, first)
        if table is None or not self._sends(table):
            return files
        if ddl.kind == _EXCHANGE_PARTITION and first != name:
            partitioned = self._tables.get(first)
            if partitioned is not None:
                files.append(self._changed(partitioned, ddl.commit_ts, ddl))
            files.append(self._changed(table, ddl.commit_ts, None))
            return files
        if renames and first != name:
            self._tables.pop(first, None)
            self._routes.release(*first)
        passes = self._events.keeps_ddl(*(first if renames else name), ddl.query, ddl.kind)
        # A DDL that is filtered out still gives the table's rows another schema.
        files.append(self._changed(table, ddl.commit_ts, ddl if passes else None))
        if self._drops(ddl):
            self._routes.release(*name)
        return files

    def _schema_ddl(self, ddl: Ddl) -> list[StorageFile]:
        if self._drops(ddl):
            self._routes.release(ddl.schema)
        passes = self._events.keeps_ddl(ddl.schema, "", ddl.query, ddl.kind)
        if not passes or not self._filter.matches_schema(ddl.schema):
            return []
        ddl = self._routes.ddl(ddl, drops=False)
        return [_file(SchemaFile(ddl.schema, "", ddl.commit_ts, ddl.query, ddl.kind))]

    def _drops(self, ddl: Ddl) -> bool:
        """Returns whether a name of a routed table becomes free."""
        dropping = DropTable | DropView | DropSchema
        return bool(self._routes) and isinstance(parse_ddl(ddl.query, ddl.schema), dropping)

    def flush(self) -> list[StorageFile]:
        """The data files of all waiting rows, each before its index."""
        files = []
        for directory, rows in self._rows.items():
            number = self._numbers[directory] = self._numbers.get(directory, 0) + 1
            name = directory.name(number, self._format.extension, self._settings.index_digits)
            files.append(StorageFile(directory.path + name, b"".join(rows)))
            files.append(StorageFile(directory.index_path, index_json(name)))
        self._rows = {}
        return files

    def resolve(self, ts: int) -> list[StorageFile]:
        """The data files of all waiting rows, and the metadata with this checkpoint."""
        return [*self.flush(), StorageFile(METADATA, metadata_json(ts))]

    def _sends(self, table: Table) -> bool:
        return self._filter.matches(table.schema, table.name) and (
            self._settings.force_replicate or bool(table.handle_key)
        )

    def _definition(self, ddl: Ddl, named: _Name) -> Table | None:
        if ddl.definition is not None:
            return ddl.definition
        statement = parse_ddl(ddl.query, ddl.schema)
        if isinstance(statement, CreateTable):
            return statement.table
        known = self._tables.get((ddl.schema, ddl.table)) or self._tables.get(named)
        return None if known is None else replace(known, schema=ddl.schema, name=ddl.table)

    def _changed(self, table: Table, version: int, ddl: Ddl | None) -> StorageFile:
        """The schema file of a table from a version on."""
        name = table.schema, table.name
        self._tables[name], self._versions[name] = table, version
        routed, query, kind = self._routes.table(table), "", 0
        if ddl is not None:
            query, kind = self._routes.ddl(ddl, drops=self._drops(ddl)).query, ddl.kind
        return _file(SchemaFile(routed.schema, routed.name, version, query, kind, routed))

    def _introduced(self, table: Table) -> list[StorageFile]:
        """The schema file of a table without a DDL so far."""
        if (table.schema, table.name) in self._tables:
            return []
        return [self._changed(table, self._start_ts, None)]

    def _selected(self, change: RowChange) -> RowChange:
        """The change with the columns that are sent; schema files have all."""
        selected = self._selectors.selected(change.table)
        if selected is change.table:
            return change
        return replace(without(change, selected), table=selected)

    def _directory(self, change: RowChange) -> Directory:
        settings, table = self._settings, change.table
        format_ = _DATES.get(settings.date_separator)
        return Directory(
            *self._routes.target(table.schema, table.name),
            self._versions[table.schema, table.name],
            change.partition_id if settings.partition_directories else None,
            None if format_ is None else self._today().strftime(format_),
        )


def _file(file: SchemaFile) -> StorageFile:
    path, content = schema_file(file)
    return StorageFile(path.path, content)
