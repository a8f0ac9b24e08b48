"""What a user may set. Each option declares the setting that fills it, its parser and its help."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from ticdc_consumer.config import choices, parsers
from ticdc_consumer.config.choices import OnUnsupported


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of an option. `read` turns what TOML or a text gives into the option's value, and
    raises ValueError with the rest of a sentence that begins with the setting's name."""

    name: str
    read: Callable[[Any], Any]
    help: str
    is_table: bool = False
    """Whether it is a TOML table, whose entries later sources override one by one."""


@dataclass(frozen=True, slots=True)
class UrlSetting:
    """A database's URL. `<name>_file`, `password` and `<password>_file` are settings, too."""

    name: str
    password: str
    help: str
    example: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section whose settings pass through to a client; `example` is one of them."""

    name: str
    example: str
    help: str


def _setting(
    name: str, read: Callable[[Any], Any], help: str, is_table: bool = False
) -> dict[str, Setting]:
    return {"setting": Setting(name, read, help, is_table)}


def _choice(name: str, choice: object, help: str) -> dict[str, Setting]:
    return _setting(name, parsers.one_of(*get_args(choice)), help)


def _url(name: str, password: str, help: str, example: str) -> dict[str, UrlSetting]:
    return {"setting": UrlSetting(name, password, help, example)}


def _section(name: str, example: str, help: str) -> dict[str, Section]:
    return {"setting": Section(name, example, help)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All settings of one consumer. Times are seconds, sizes bytes.

    A field's metadata declares the setting that fills it. An option without a default must be set.
    """

    changefeed: str = field(
        metadata=_setting("changefeed", parsers.text, "name of the checkpoint in the target")
    )
    protocol: str = field(
        metadata=_setting("protocol", parsers.protocol, "the changefeed's protocol")
    )
    from_ts: int | None = field(
        default=None,
        metadata=_setting("from_ts", parsers.timestamp, "first start: ts of the loaded snapshot"),
    )
    topics: tuple[str, ...] = field(
        metadata=_setting("kafka.topics", parsers.topics, 'names, or patterns such as "^shop_.*"')
    )
    """Topic names, or patterns that begin with `^`."""

    storage_url: str | None = field(
        default=None,
        repr=False,
        metadata=_setting(
            "storage.url", parsers.prefix, "prefix of a cloud storage sink, instead of [kafka]"
        ),
    )
    """As fsspec opens it."""
    storage_date_separator: choices.DateSeparator = field(
        default="day",
        metadata=_choice(
            "storage.date_separator", choices.DateSeparator, "the changefeed's date-separator"
        ),
    )
    storage_table_ids: bool = field(
        default=False,
        metadata=_setting(
            "storage.table_id_paths", parsers.flag, "the changefeed's use-table-id-as-path"
        ),
    )
    storage_terminator: str = field(
        default="\r\n",
        metadata=_setting("storage.terminator", parsers.characters, "the changefeed's terminator"),
    )
    storage_csv: Mapping[str, bool | str] = field(
        default_factory=dict,
        metadata=_setting(
            "storage.csv",
            parsers.csv_settings,
            "the changefeed's [sink.csv], under the same names",
            is_table=True,
        ),
    )

    time_zone: str = field(
        default="UTC", metadata=_setting("source.time_zone", parsers.time_zone, "TiCDC's --tz")
    )
    compression: choices.Compression = field(
        default="none",
        metadata=_choice(
            "source.compression",
            choices.Compression,
            "the changefeed's large-message-handle-compression",
        ),
    )
    claim_check_url: str | None = field(
        default=None,
        repr=False,
        metadata=_setting(
            "source.claim_check",
            parsers.prefix,
            "prefix of claim checks: claim-check-storage-uri, as fsspec opens it",
        ),
    )
    claim_check_raw_value: bool = field(
        default=False,
        metadata=_setting(
            "source.claim_check_raw_value", parsers.flag, "the changefeed's claim-check-raw-value"
        ),
    )
    on_corruption: choices.OnCorruption = field(
        default="stop",
        metadata=_choice(
            "source.on_corruption",
            choices.OnCorruption,
            "stop or warn, if a row does not match its checksum",
        ),
    )
    encoding_format: choices.EncodingFormat = field(
        default="json",
        metadata=_choice(
            "source.encoding_format", choices.EncodingFormat, "Simple's encoding-format"
        ),
    )

    apply: choices.Apply = field(
        default="net", metadata=_choice("target.apply", choices.Apply, "net or transactions")
    )
    on_drift: choices.OnDrift = field(
        default="stop",
        metadata=_choice(
            "target.on_drift", choices.OnDrift, "stop or overwrite, if a row is in the way"
        ),
    )
    write_source: int | None = field(
        default=None,
        metadata=_setting(
            "target.write_source",
            parsers.write_source,
            "TiDB's tidb_cdc_write_source: a changefeed with bdr-mode does not send these rows",
        ),
    )
    """1 to 15; on a target that is TiDB only."""
    rules: frozenset[str] = field(
        default=frozenset(),
        metadata=_setting(
            "target.rules", parsers.lossy_rules, "lossy mappings to allow: docs/types.md"
        ),
    )

    filter: tuple[str, ...] = field(
        default=("*.*",),
        metadata=_setting("tables.filter", parsers.filter_rules, "TiCDC's filter rules"),
    )
    case_sensitive: bool = field(
        default=False,
        metadata=_setting(
            "tables.case_sensitive", parsers.flag, "whether patterns are case-sensitive"
        ),
    )
    route: Mapping[str, str] = field(
        default_factory=dict,
        metadata=_setting(
            "tables.route",
            parsers.mapping(parsers.text),
            '"schema.table" pattern = "schema.table" template',
            is_table=True,
        ),
    )
    """Templates may hold {schema} and {table}."""
    keys: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata=_setting(
            "tables.keys",
            parsers.mapping(parsers.names),
            '"schema.table" = columns that identify a row',
            is_table=True,
        ),
    )
    """Used only if neither the messages nor the target's table determine the key."""
    at_least_once: tuple[str, ...] = field(
        default=(),
        metadata=_setting(
            "tables.at_least_once",
            parsers.filter_rules,
            "patterns of tables to accept without a key, and without exactness",
        ),
    )
    """A row of such a table that TiCDC sends twice may be written twice."""
    allow_triggers: tuple[str, ...] = field(
        default=(),
        metadata=_setting(
            "tables.allow_triggers", parsers.names, "tables whose target may have row triggers"
        ),
    )
    """Upstream tables that are written net although their target has row triggers."""

    ddl_on_unsupported: OnUnsupported = field(
        default="stop",
        metadata=_choice("ddl.on_unsupported", OnUnsupported, "stop or skip what cannot be done"),
    )
    ddl_keep_dropped: float = field(
        default=0.0,
        metadata=_setting(
            "ddl.keep_dropped", parsers.duration, 'how long dropped tables are kept: "24h"'
        ),
    )
    """Seconds of the upstream's time; it concerns emptied tables, too."""
    ddl_kinds: Mapping[str, OnUnsupported] = field(
        default_factory=dict,
        metadata=_setting(
            "ddl.kinds", parsers.ddl_kinds, '"CREATE VIEW" = "skip", and others', is_table=True
        ),
    )
    """Kinds of `choices.DDL_KINDS` for which `ddl_on_unsupported` does not hold."""
    ddl_tables: Mapping[str, OnUnsupported] = field(
        default_factory=dict,
        metadata=_setting(
            "ddl.tables", parsers.ddl_tables, '"app.*" = "skip"; before the kinds', is_table=True
        ),
    )
    """Upstream `schema.table` patterns; the first that matches decides, before the kind."""

    rows_per_epoch: int = field(
        default=400_000,
        metadata=_setting("limits.rows_per_epoch", parsers.count, "rows of one cut, about"),
    )
    memory_budget: int = field(
        default=384 << 20,
        metadata=_setting("limits.memory_budget", parsers.size, "bytes the driver may hold"),
    )
    """Encoded facts that the driver may hold of one cut. Cuts are chosen to fit; one that cannot be
    cut smaller goes through Spark's shuffle."""
    message_limit: int = field(
        default=256 << 20,
        metadata=_setting("limits.message_limit", parsers.size, "bytes of one inflated value"),
    )
    """The most bytes that one compressed value may inflate to."""
    future_limit: float = field(
        default=86_400.0,
        metadata=_setting(
            "limits.future_limit",
            parsers.seconds,
            "seconds a commit_ts may be ahead of the clock",
        ),
    )
    """Ahead of this machine's clock."""
    clock_skew: float = field(
        default=60.0,
        metadata=_setting("limits.clock_skew", parsers.seconds, "seconds clocks may differ"),
    )
    schema_wait: float = field(
        default=300.0,
        metadata=_setting(
            "limits.schema_wait",
            parsers.seconds,
            "seconds that rows of Simple wait for their schema",
        ),
    )
    """How long they may wait after the log's last message."""
    takeover_after: float = field(
        default=30.0,
        metadata=_setting(
            "limits.takeover_after",
            parsers.seconds,
            "seconds to wait before an older consumer is ended",
        ),
    )
    retries: int = field(
        default=8,
        metadata=_setting("limits.retries", parsers.count, "how often an epoch is tried again"),
    )

    target_url: str = field(
        repr=False,
        metadata=_url(
            "target.url",
            "target.password",
            "SQLAlchemy URL of the database",
            example="postgresql+psycopg://user@host/database",
        ),
    )
    upstream_url: str | None = field(
        default=None,
        repr=False,
        metadata=_url(
            "source.upstream",
            "source.upstream_password",
            "SQLAlchemy URL of the TiDB that completes rows of handle-key-only",
            example="mysql+pymysql://user@host:4000",
        ),
    )
    """The upstream TiDB, which completes rows whose handle key alone was sent."""
    kafka: Mapping[str, str] = field(
        repr=False,
        metadata=_section(
            "kafka",
            "kafka.bootstrap.servers",
            "librdkafka's settings, such as kafka.bootstrap.servers; kafka.*_file: from a file",
        ),
    )
    registry: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata=_section(
            "registry",
            "registry.url",
            "avro's schema registry: Confluent's client's settings, such as registry.url",
        ),
    )
    spark: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata=_section("spark", "spark.master", "Spark's settings, such as spark.master"),
    )
