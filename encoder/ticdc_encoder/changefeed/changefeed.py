"""A changefeed: transactions, DDL and resolved ts in, Kafka messages out, as TiCDC sends them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ticdc_encoder.changefeed.bootstrap import Bootstraps
from ticdc_encoder.changefeed.config import ChangefeedConfig
from ticdc_encoder.changefeed.encoders import Encoders, messages
from ticdc_encoder.changefeed.protocols import PROTOCOLS
from ticdc_encoder.changefeed.route import Router
from ticdc_encoder.changefeed.split import SplitMode, split
from ticdc_encoder.changefeed.split import split_mode as mode_of_version
from ticdc_encoder.changefeed.table_routes import TableRoutes
from ticdc_encoder.changefeed.tables import TableKey, TablesSent
from ticdc_encoder.changefeed.versions import default_goes_by_index, filters_whole_updates
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Ddl, Resolved, RowChange, Table, Transaction
from ticdc_encoder.filters.column import ColumnSelectors, without
from ticdc_encoder.filters.event import EventFilters
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.formats import Clock, wall_clock
from ticdc_encoder.formats.registry import Registry
from ticdc_encoder.message import Message
from ticdc_encoder.sql.evolution import apply
from ticdc_encoder.sql.parser import (
    CreateSchema,
    CreateTable,
    CreateTableLike,
    DropSchema,
    DropTable,
    Other,
    RecoverTable,
    RenameTable,
    Statement,
    TruncateTable,
    altered_table,
    parse_ddl,
)
from ticdc_encoder.sql.statements import CreateView, DropView
from ticdc_encoder.version import version_number

_EXCHANGE_PARTITION = 42


class Changefeed:
    """The changefeed that `cdc cli changefeed create` creates from a sink URI and a configuration
    file.

    `new_architecture` is the server's `newarch`, which TiCDC has since 8.5.4, and is off by default
    there, too. `time_zone` is the server's (`--tz`): TIMESTAMP is sent in it, while rows carry it
    in UTC. `clock` gives the time that messages carry, and decides when Simple's schemas are due
    again; `cluster_id` is the server's; `registry` holds Avro's schemas, instead of the one that
    the configuration names; `split_mode` decides by commit_ts which UPDATEs are split, instead of
    the version: see `mysql_split_mode`.

    Within a (topic, partition), the messages are in the order in which TiCDC sends them. Raises
    ConfigError for a configuration that TiCDC refuses, or that is not supported here.
    """

    def __init__(
        self,
        sink_uri: str,
        config: str | Mapping[str, Any] | None = None,
        version: str = "8.5.4",
        *,
        new_architecture: bool = False,
        time_zone: str = "UTC",
        clock: Clock = wall_clock,
        registry: Registry | None = None,
        cluster_id: str = "default",
        split_mode: Callable[[int], SplitMode] | None = None,
    ) -> None:
        settings = ChangefeedConfig.parse(
            sink_uri, config, version_number(version), new_architecture=new_architecture
        )
        self.protocol = settings.protocol
        self.ignored = settings.ignored
        self._settings = settings
        self._traits = PROTOCOLS[settings.protocol]
        self._resolves, self._sends_ddl = (
            settings.sends_resolved,
            self._traits.ddl(settings),
        )
        self._mode = mode_of_version(
            version,
            self.protocol,
            settings.output_raw_change_event,
            new_architecture=new_architecture,
        )
        self._split_mode = split_mode
        self._events = EventFilters(
            settings.event_filters,
            case_sensitive=settings.case_sensitive,
            new_architecture=new_architecture,
            whole_updates=filters_whole_updates(settings.version, new=new_architecture),
            time_zone=time_zone,
            kafka=True,
        )
        self._selectors = ColumnSelectors(settings.column_selectors, settings.case_sensitive)
        self._router = Router(
            settings.dispatchers,
            settings.topic,
            settings.partition_num,
            case_sensitive=settings.case_sensitive,
            new_architecture=new_architecture,
            default_by_index=default_goes_by_index(settings.version, self.protocol),
            time_zone=time_zone,
        )
        self._routes = TableRoutes(settings.dispatchers, case_sensitive=settings.case_sensitive)
        self._moves = self._router.moves if settings.split_update_partition_key else None
        self._filter = TableFilter(settings.rules, settings.case_sensitive)
        self._tables = TablesSent(
            self._filter, self._router.topic, force_replicate=settings.force_replicate
        )
        self._encoders = Encoders(
            settings, clock, registry=registry, time_zone=time_zone, cluster_id=cluster_id
        )
        self._bootstraps: Bootstraps | None = None
        if self._traits.bootstraps:
            self._bootstraps = Bootstraps(
                settings.send_bootstrap_interval_in_sec,
                settings.send_bootstrap_in_msg_count,
                clock,
            )

    @property
    def topics(self) -> Mapping[str, int]:
        """The topics in use now, with their numbers of partitions."""
        names = self._tables.topics | {self._router.default_topic: None}
        return {name: self._router.partitions(name) for name in names}

    def encode(self, transaction: Transaction) -> list[Message]:
        """The messages that its rows complete; with batches, `flush` brings the rest."""
        changes, net = transaction.changes, transaction.net
        return list(self.stream(changes, transaction.commit_ts, transaction.start_ts, net=net))

    def stream(
        self,
        changes: Iterable[RowChange],
        commit_ts: int,
        start_ts: int = 0,
        *,
        net: bool = False,
    ) -> Iterator[Message]:
        """Does as `encode` for one transaction whose changes, or messages, may exceed memory: they
        are sorted on disk."""
        if start_ts in self._settings.ignore_txn_start_ts:
            return
        sends = self._tables.sends
        selected = (change for change in changes if sends(change.table))
        mode = self._mode if self._split_mode is None else self._split_mode(commit_ts)
        events = self._events
        for change in split(selected, mode, events.keeps, events.keeps_whole, self._moves, net=net):
            topic = self._router.topic(change.table.schema, change.table.name)
            partition = self._router.partition(change)
            change = self._selected(change)
            if self._bootstraps is not None:
                table = self._bootstraps.numbered(change.table, change.commit_ts)
                change = replace(change, table=table)
                yield from self._bootstrap(self._bootstraps, table, topic)
            records = self._encoders.of(topic, partition).row(self._routes.change(change))
            yield from messages(topic, partition, records)

    def ddl(self, ddl: Ddl) -> list[Message]:
        """The messages of a DDL that TiCDC replicates, after those of all rows before.

        `ddl.definition` is the table after it: it decides whether the DDL, and rows from here on,
        are sent. A CREATE TABLE needs none: it is parsed. So are CREATE, DROP, TRUNCATE and RENAME
        for their `kind`. Raises DefinitionError for a statement that cannot be parsed.
        """
        sent = self.flush()
        statement = parse_ddl(ddl.query, ddl.schema)
        if not ddl.kind:
            ddl = replace(ddl, kind=_kind(statement))
        if ddl.table and self._traits.ddl_has_tables:
            ddl = self._with_tables(ddl, statement)
        note = self._table_ddl if ddl.table else self._schema_ddl
        topic = note(ddl, statement)
        if topic is None or not self._sends_ddl or not self._keeps_ddl(ddl):
            return sent
        kinds = self._traits.ddl_kinds
        if kinds is not None and ddl.kind not in kinds:
            return sent
        if self._bootstraps is not None:
            ddl = self._with_schema(self._bootstraps, ddl)
        ddl = self._routes.ddl(ddl, drops=isinstance(statement, DropTable | DropView))
        everywhere = self._traits.ddl_everywhere
        for partition in range(self._router.partitions(topic) if everywhere else 1):
            record = self._encoders.of(topic, partition).ddl(ddl)
            sent += messages(topic, partition, [record])
        return sent

    def resolve(self, ts: int) -> list[Message]:
        """The resolved ts, to every partition of every topic in use. Canal-JSON without its TiDB
        extension has no such message, nor has Avro without avro-enable-watermark."""
        sent = self.flush()
        if not self._resolves:
            return sent
        for topic, partitions in self.topics.items():
            for partition in range(partitions):
                record = self._encoders.of(topic, partition).resolved(Resolved(ts))
                sent += messages(topic, partition, [record])
        return sent

    def flush(self) -> list[Message]:
        """The messages still open for more rows."""
        return list(self._encoders.flush())

    def _selected(self, change: RowChange) -> RowChange:
        """The change with the columns that are sent; Simple describes the table as it is."""
        if not self._settings.column_selectors:
            return change
        table = change.table
        listed = self._router.listed_columns(table.schema, table.name)
        selected = self._selectors.selected(table, listed)
        if selected is table:
            return change
        change = without(change, selected)
        return change if self._bootstraps is not None else replace(change, table=selected)

    def _keeps_ddl(self, ddl: Ddl) -> bool:
        """Returns whether the event filters let the DDL pass. It changes the table in any case."""
        schema, table = ddl.schema, ddl.table
        if table:
            *first, renames = altered_table(ddl.query, schema) or (schema, table, False)
            schema, table = first if renames else (schema, table)
        return self._events.keeps_ddl(schema, table, ddl.query, ddl.kind)

    def _with_tables(self, ddl: Ddl, statement: Statement) -> Ddl:
        """The DDL with the table after it and, in the old architecture, before it, as far as they
        are known."""
        *first, _ = altered_table(ddl.query, ddl.schema) or (ddl.schema, ddl.table, False)
        before = self._tables.definition((first[0], first[1]))
        after, previous = ddl.definition, ddl.previous
        if isinstance(statement, CreateTable):
            after = after or statement.table
        elif before is not None:
            with suppress(DefinitionError):  # the user knows the table otherwise than its rows do
                after = after or apply(statement, before)
            previous = previous or (None if self._settings.new_architecture else before)
        if self._bootstraps is not None:
            previous, after = (
                table and self._bootstraps.numbered(table, ddl.commit_ts)
                for table in (previous, after)
            )
        return replace(ddl, definition=after, previous=previous)

    def _with_schema(self, bootstraps: Bootstraps, ddl: Ddl) -> Ddl:
        """The DDL with the table that Simple describes: the partitioned one of EXCHANGE PARTITION,
        else the one after the DDL."""
        if ddl.kind == _EXCHANGE_PARTITION:
            *first, _ = altered_table(ddl.query, ddl.schema) or (ddl.schema, ddl.table, False)
            return replace(ddl, definition=self._tables.definition((first[0], first[1])))
        if ddl.definition is not None:
            bootstraps.sent_by_ddl(ddl.definition)
        return ddl

    def _bootstrap(self, bootstraps: Bootstraps, table: Table, topic: str) -> list[Message]:
        """The messages with the table's schema, if it is due before a row."""
        sent: list[Message] = []
        if bootstraps.due(table):
            everywhere = self._settings.send_bootstrap_to_all_partition
            for partition in range(self._router.partitions(topic) if everywhere else 1):
                encoder: Any = self._encoders.of(topic, partition)
                sent += messages(topic, partition, [encoder.bootstrap(self._routes.table(table))])
        return sent

    def _schema_ddl(self, ddl: Ddl, statement: Statement) -> str | None:
        """The topic of a DDL that names no table, None if it is not sent."""
        if isinstance(statement, DropSchema):
            self._tables.forget_schema(ddl.schema)
            self._routes.release(ddl.schema)
        return self._router.default_topic if self._filter.matches_schema(ddl.schema) else None

    def _table_ddl(self, ddl: Ddl, statement: Statement) -> str | None:
        """The topic of a DDL that names a table, None if it is not sent.

        It is the topic of the table that the statement names first: the old name of a RENAME, the
        partitioned table of an EXCHANGE PARTITION.
        """
        name = ddl.schema, ddl.table
        *first, renames = altered_table(ddl.query, ddl.schema) or (*name, False)
        old_name: TableKey = (first[0], first[1])
        was_sent = self._tables.sent(old_name)
        definition = self._definition_after(ddl, statement, old_name if renames else None)
        if definition is not None:
            is_sent = self._tables.note(name, definition)
        else:
            is_sent = was_sent is not False and self._tables.matches(name)
            if is_sent and not isinstance(statement, CreateView | DropView):
                self._tables.note_topic(name)
        if isinstance(statement, DropTable):
            self._forget(name)
        if renames and old_name != name:
            self._forget(old_name)
        # The old architecture also sends the DDL that takes a table's last valid key.
        sent = is_sent or bool(was_sent and not self._settings.new_architecture)
        return self._router.topic(*old_name) if sent else None

    def _forget(self, name: TableKey) -> None:
        self._tables.forget(name)
        self._routes.release(*name)

    def _definition_after(
        self, ddl: Ddl, statement: Statement, renamed_from: TableKey | None
    ) -> Table | None:
        """The table after the DDL, as far as it is known."""
        if ddl.definition is not None:
            return ddl.definition
        match statement:
            case CreateTable(table):
                return table
            case CreateTableLike(like=like):
                source = self._tables.definition(like)
            case _:
                source = None if renamed_from is None else self._tables.definition(renamed_from)
        return None if source is None else replace(source, schema=ddl.schema, name=ddl.table)


def _kind(statement: Statement) -> int:
    """TiDB's action code, if a statement's first words show it; else 0."""
    match statement:
        case CreateSchema():
            return 1
        case DropSchema():
            return 2
        case CreateTable() | CreateTableLike() | Other(what="create table"):
            return 3
        case DropTable() | Other(what="drop table"):
            return 4
        case TruncateTable():
            return 11
        case RenameTable() | Other(what="rename table"):
            return 14
        case RecoverTable():
            return 25
    return 0
