"""A changefeed: transactions, DDL and resolved ts in, Kafka messages out, as TiCDC sends them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any

from ticdc_encoder.changefeed.bootstrap import Bootstraps
from ticdc_encoder.changefeed.config import ChangefeedConfig
from ticdc_encoder.changefeed.route import Router
from ticdc_encoder.changefeed.split import SplitMode, split
from ticdc_encoder.changefeed.split import split_mode as mode_of_version
from ticdc_encoder.changefeed.versions import NEW_ARCHITECTURE, version_number
from ticdc_encoder.errors import ConfigError, DefinitionError
from ticdc_encoder.event import Ddl, Resolved, RowChange, Table, Transaction
from ticdc_encoder.filters.column import ColumnSelectors, without
from ticdc_encoder.filters.event import EventFilters
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.formats import FORMATS, Clock, Encoder, Record, wall_clock
from ticdc_encoder.formats.claim_check import ClaimCheckEncoder, ClaimCheckStorage, without_limits
from ticdc_encoder.formats.debezium.ddl import CHANGE_TYPES
from ticdc_encoder.formats.registry import ConfluentRegistry, Registry
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

_NEW_ARCHITECTURE_HEEDS_OLD_VALUE = (8, 5, 6)
_AVRO_REFUSES_FORCE = (7, 3, 0)
_EXCHANGE_PARTITION = 42
_SINCE = {"simple": (8, 0, 0), "debezium": (8, 0, 0)}
_Name = tuple[str, str]


class Changefeed:
    """What `cdc cli changefeed create` makes of a sink URI and a configuration file.

    Versions from 8.5.4 on mean TiCDC's new architecture. `time_zone` is the server's (`--tz`), in
    which TIMESTAMP is sent; rows carry it in UTC. `clock` is for the time that messages tell, and
    for Simple's schemas, which are due now and then; `cluster_id` is the server's; `registry` for
    Avro's schemas, if it shall not be the one that the configuration names; `split_mode` says by
    commit_ts which UPDATEs are split, if it shall not be the version: see `mysql_split_mode`.
    Within a (topic, partition), the messages stand in the order in which TiCDC sends them.
    """

    def __init__(
        self,
        sink_uri: str,
        config: str | Mapping[str, Any] | None = None,
        version: str = "8.5.4",
        *,
        time_zone: str = "UTC",
        clock: Clock = wall_clock,
        registry: Registry | None = None,
        cluster_id: str = "default",
        split_mode: Callable[[int], SplitMode] | None = None,
    ) -> None:
        number = version_number(version)
        settings = ChangefeedConfig.parse(sink_uri, config, number)
        if number < _SINCE.get(settings.protocol, (0, 0, 0)):
            raise ConfigError(f"TiCDC {version} has no protocol {settings.protocol}")
        forced = settings.protocol.endswith("avro") and settings.force_replicate
        if forced and number >= _AVRO_REFUSES_FORCE:
            raise ConfigError("force-replicate is not for avro, whose keys it would leave out")
        if settings.protocol == "avro":
            _require_whole_expressions(settings)
        self._classic = number < NEW_ARCHITECTURE
        if self._classic:
            if settings.force_replicate and settings.delete_only_output_handle_key_columns:
                raise ConfigError("force-replicate excludes delete-only-output-handle-key-columns")
            if settings.force_replicate and settings.large_message_handle_option != "none":
                raise ConfigError("force-replicate excludes large-message-handle-option")
        elif number < _NEW_ARCHITECTURE_HEEDS_OLD_VALUE:
            settings = replace(settings, output_old_value=True)
        self.protocol = settings.protocol
        self.ignored = settings.ignored
        self._force = settings.force_replicate
        # What else than rows the protocol has.
        self._resolves = self._tells_ddl = True
        if settings.protocol == "canal-json":
            self._resolves = settings.enable_tidb_extension
        elif settings.protocol in ("avro", "debezium-avro"):
            self._resolves = settings.enable_tidb_extension and settings.avro_enable_watermark
            self._tells_ddl = self._resolves
            if registry is None and settings.schema_registry:
                registry = ConfluentRegistry({"url": settings.schema_registry})
        elif settings.protocol == "debezium":
            self._tells_ddl = not self._classic
            self._resolves = self._tells_ddl and settings.enable_tidb_extension
        self._bootstraps: Bootstraps | None = None
        self._bootstraps_everywhere = settings.send_bootstrap_to_all_partition
        if settings.protocol == "simple":
            self._bootstraps = Bootstraps(
                settings.send_bootstrap_interval_in_sec,
                settings.send_bootstrap_in_msg_count,
                clock,
            )
        self._mode = mode_of_version(version, self.protocol, settings.output_raw_change_event)
        self._split_mode = split_mode
        self._filter = TableFilter(settings.rules, settings.case_sensitive)
        self._events = EventFilters(
            settings.event_filters,
            case_sensitive=settings.case_sensitive,
            classic=self._classic,
            time_zone=time_zone,
        )
        self._ignored_start_ts = settings.ignore_txn_start_ts
        self._selectors: ColumnSelectors | None = None
        if settings.column_selectors:
            self._selectors = ColumnSelectors(settings.column_selectors, settings.case_sensitive)
        self._router = Router(
            settings.dispatchers,
            settings.topic,
            settings.partition_num,
            case_sensitive=settings.case_sensitive,
            classic=self._classic,
            time_zone=time_zone,
        )
        self._moves = self._router.moves if settings.split_update_partition_key else None
        self._format = FORMATS[settings.protocol]
        self._options = partial(
            _format_options,
            settings,
            time_zone=time_zone,
            classic=self._classic,
            registry=registry,
            cluster_id=cluster_id,
            version=number,
        )
        self._claim_checks: ClaimCheckStorage | None = None
        if settings.large_message_handle_option == "claim-check":
            self._claim_checks = ClaimCheckStorage(
                settings.claim_check_storage_uri, raw_value=settings.claim_check_raw_value
            )
        self._clock = clock
        self._encoders: dict[tuple[str, int], Encoder] = {}
        # The topics of all tables that the filter lets through: those of tables without a valid
        # key get the resolved ts, too.
        self._tables: dict[_Name, str] = {}
        self._known: dict[_Name, tuple[Table, bool]] = {}  # whether rows of it are sent

    @property
    def topics(self) -> Mapping[str, int]:
        """The topics that are in use now, with their numbers of partitions."""
        names = dict.fromkeys([*self._tables.values(), self._router.default_topic])
        return {name: self._router.partitions(name) for name in names}

    def encode(self, transaction: Transaction) -> list[Message]:
        """The messages that its rows complete; with batches, `flush` brings the rest."""
        return list(self.stream(transaction.changes, transaction.commit_ts, transaction.start_ts))

    def stream(
        self, changes: Iterable[RowChange], commit_ts: int, start_ts: int = 0
    ) -> Iterator[Message]:
        """As `encode`, of one transaction whose changes, or messages, may be more than memory
        holds: they are sorted on disk."""
        if start_ts in self._ignored_start_ts:
            return
        mode = self._mode if self._split_mode is None else self._split_mode(commit_ts)
        sends = (change for change in changes if self._sends(change.table))
        for change in split(sends, mode, self._events.keeps, self._moves):
            topic = self._router.topic(change.table.schema, change.table.name)
            partition = self._router.partition(change)
            change = self._selected(change)
            if self._bootstraps is not None:
                table = self._bootstraps.numbered(change.table, change.commit_ts)
                change = replace(change, table=table)
                yield from self._bootstrap(self._bootstraps, table, topic)
            records = self._encoder(topic, partition).row(change)
            yield from _messages(topic, partition, records)

    def ddl(self, ddl: Ddl) -> list[Message]:
        """The messages of a DDL that TiCDC replicates, after those of all rows before.

        `ddl.definition` is the table after it (found in a CREATE TABLE where it is not given): it
        decides whether the DDL, and rows from here on, are sent. Its `kind` is found in CREATE,
        DROP, TRUNCATE and RENAME.
        """
        messages = self.flush()
        statement = parse_ddl(ddl.query, ddl.schema)
        if not ddl.kind:
            ddl = replace(ddl, kind=_kind(statement))
        if ddl.table and self.protocol in ("simple", "debezium"):
            ddl = self._with_tables(ddl, statement)
        note = self._table_ddl if ddl.table else self._schema_ddl
        topic = note(ddl, statement)
        if topic is None or not self._tells_ddl or not self._keeps_ddl(ddl):
            return messages
        if self.protocol == "debezium" and ddl.kind not in CHANGE_TYPES:
            return messages
        if self._bootstraps is not None:
            ddl = self._with_schema(self._bootstraps, ddl)
        # Canal-JSON sends a DDL once, other protocols to every partition.
        everywhere = self.protocol != "canal-json"
        for partition in range(self._router.partitions(topic) if everywhere else 1):
            messages += _messages(topic, partition, [self._encoder(topic, partition).ddl(ddl)])
        return messages

    def resolve(self, ts: int) -> list[Message]:
        """The resolved ts, to every partition of every topic in use. Canal-JSON has no such message
        without its TiDB extension, Avro none without avro-enable-watermark."""
        messages = self.flush()
        if not self._resolves:
            return messages
        for topic, partitions in self.topics.items():
            for partition in range(partitions):
                record = self._encoder(topic, partition).resolved(Resolved(ts))
                messages += _messages(topic, partition, [record])
        return messages

    def flush(self) -> list[Message]:
        """The messages that are still open for more rows."""
        return [
            message
            for (topic, partition), encoder in self._encoders.items()
            for message in _messages(topic, partition, encoder.flush())
        ]

    def _selected(self, change: RowChange) -> RowChange:
        """The change with the columns that are sent; Simple tells the table as it is."""
        if self._selectors is None:
            return change
        table = change.table
        listed = self._router.listed_columns(table.schema, table.name)
        selected = self._selectors.selected(table, listed)
        if selected is table:
            return change
        change = without(change, selected)
        return change if self._bootstraps is not None else replace(change, table=selected)

    def _keeps_ddl(self, ddl: Ddl) -> bool:
        """Whether the event filters let the DDL pass, which is heeded all the same."""
        schema, table = ddl.schema, ddl.table
        if table:
            *first, renames = altered_table(ddl.query, schema) or (schema, table, False)
            schema, table = first if renames else (schema, table)
        return self._events.keeps_ddl(schema, table, ddl.query, ddl.kind)

    def _with_tables(self, ddl: Ddl, statement: Statement) -> Ddl:
        """The DDL with the table after it and, of the old architecture's, before it, as far as they
        are known."""
        *first, _ = altered_table(ddl.query, ddl.schema) or (ddl.schema, ddl.table, False)
        before, _ = self._known.get((first[0], first[1]), (None, False))
        after, previous = ddl.definition, ddl.previous
        if isinstance(statement, CreateTable):
            after = after or statement.table
        elif before is not None:
            with suppress(DefinitionError):  # the user knows the table otherwise than its rows do
                after = after or apply(statement, before)
            previous = previous or (before if self._classic else None)
        if self._bootstraps is not None:
            previous, after = (
                table and self._bootstraps.numbered(table, ddl.commit_ts)
                for table in (previous, after)
            )
        return replace(ddl, definition=after, previous=previous)

    def _with_schema(self, bootstraps: Bootstraps, ddl: Ddl) -> Ddl:
        """The DDL with the table that Simple tells: of EXCHANGE PARTITION, the partitioned one."""
        if ddl.kind == _EXCHANGE_PARTITION:
            *first, _ = altered_table(ddl.query, ddl.schema) or (ddl.schema, ddl.table, False)
            partitioned, _ = self._known.get((first[0], first[1]), (None, False))
            return replace(ddl, definition=partitioned)
        if ddl.definition is not None:
            bootstraps.told(ddl.definition)
        return ddl

    def _bootstrap(self, due: Bootstraps, table: Table, topic: str) -> list[Message]:
        """The messages with the table's schema, where it is due before a row."""
        messages: list[Message] = []
        if due.due(table):
            everywhere = self._bootstraps_everywhere
            for partition in range(self._router.partitions(topic) if everywhere else 1):
                encoder: Any = self._encoder(topic, partition)
                messages += _messages(topic, partition, [encoder.bootstrap(table)])
        return messages

    def _encoder(self, topic: str, partition: int) -> Encoder:
        encoder = self._encoders.get((topic, partition))
        if encoder is None:
            options = self._options(topic=topic)
            encoder = self._format.Encoder(options, self._clock)
            if self._claim_checks is not None:
                whole = self._format.Encoder(without_limits(options), self._clock)
                limit = options.max_message_bytes
                encoder = ClaimCheckEncoder(encoder, whole, self._claim_checks, limit)
            self._encoders[topic, partition] = encoder
        return encoder

    def _sends(self, table: Table) -> bool:
        """Whether rows of the table are sent."""
        name = table.schema, table.name
        known = self._known.get(name)
        return known[1] if known and known[0] is table else self._note(name, table)

    def _note(self, name: _Name, table: Table) -> bool:
        """Whether rows are sent of the table as it is from here on."""
        matches = self._filter.matches(*name)
        sends = matches and (self._force or bool(table.handle_key))
        self._known[name] = table, sends
        if matches:
            self._tables[name] = self._router.topic(*name)
        else:
            self._tables.pop(name, None)
        return sends

    def _forget(self, name: _Name) -> None:
        self._tables.pop(name, None)
        self._known.pop(name, None)

    def _schema_ddl(self, ddl: Ddl, statement: Statement) -> str | None:
        """The topic of a DDL that names no table, None if it is not sent."""
        if isinstance(statement, DropSchema):
            for name in [name for name in self._known if name[0] == ddl.schema]:
                self._forget(name)
        return self._router.default_topic if self._filter.matches_schema(ddl.schema) else None

    def _table_ddl(self, ddl: Ddl, statement: Statement) -> str | None:
        """The topic of a DDL that names a table, None if it is not sent.

        A RENAME goes to the topic of the old name, an EXCHANGE PARTITION to that of the
        partitioned table: of the table that the statement names first.
        """
        name = ddl.schema, ddl.table
        *first, renames = altered_table(ddl.query, ddl.schema) or (*name, False)
        named: _Name = (first[0], first[1])
        was_sent = self._known[named][1] if named in self._known else None
        definition = ddl.definition
        if definition is None and isinstance(statement, CreateTable):
            definition = statement.table
        if definition is None and renames and named in self._known:
            definition = replace(self._known[named][0], schema=ddl.schema, name=ddl.table)
        if isinstance(statement, CreateTableLike) and statement.like in self._known:
            like, _ = self._known[statement.like]
            definition = definition or replace(like, schema=ddl.schema, name=ddl.table)
        if definition is not None:
            is_sent = self._note(name, definition)
        else:
            is_sent = was_sent is not False and self._filter.matches(*name)
            if is_sent and not isinstance(statement, CreateView | DropView):
                self._tables[name] = self._router.topic(*name)
        if isinstance(statement, DropTable):
            self._forget(name)
        if renames and named != name:
            self._forget(named)
        # The old architecture also sends the DDL that takes a table's last valid key.
        sent = is_sent or bool(self._classic and was_sent)
        return self._router.topic(*named) if sent else None


def _kind(statement: Statement) -> int:
    """TiDB's action code, as far as a statement's first words tell; else 0."""
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


def _messages(topic: str, partition: int, records: list[Record]) -> list[Message]:
    return [Message(topic, partition, key, value) for key, value in records]


def _require_whole_expressions(settings: ChangefeedConfig) -> None:
    """Of Avro a topic expression names both; one without any is a topic. Source: TiCDC
    `cdc/sink/dispatcher/topic/expression.go`, `ValidateForAvro`."""
    for topic in (rule.topic for rule in settings.dispatchers):
        if "{" in topic and not ("{schema}" in topic and "{table}" in topic):
            raise ConfigError(f"a topic of avro names {{schema}} and {{table}}, unlike {topic!r}")


def _format_options(settings: ChangefeedConfig, **more: Any) -> Any:
    """The options of the protocol's format, which are named as the settings are."""
    options: Any = FORMATS[settings.protocol].Options
    named = {field.name: getattr(settings, field.name) for field in fields(settings)} | more
    return options(**{f.name: named[f.name] for f in fields(options) if f.name in named})
