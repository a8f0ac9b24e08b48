"""Settings for reading changes: only what Spark's tasks need."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ticdc_encoder.filters.column import ColumnSelector

from ticdc_consumer.config import choices, parsers
from ticdc_consumer.config.declaring import choice, section, setting, url


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """The part of `Settings` that is sent to tasks, without secrets that they do not need."""

    protocol: str = field(
        metadata=setting("protocol", parsers.protocol, "the changefeed's protocol")
    )
    storage_url: str | None = field(
        default=None,
        repr=False,
        metadata=setting(
            "storage.url", parsers.prefix, "URL prefix of a cloud storage sink, instead of [kafka]"
        ),
    )
    """URL as fsspec opens it."""
    storage_date_separator: choices.DateSeparator = field(
        default="day",
        metadata=choice(
            "storage.date_separator", choices.DateSeparator, "the changefeed's date-separator"
        ),
    )
    storage_table_ids: bool = field(
        default=False,
        metadata=setting(
            "storage.table_id_paths", parsers.flag, "the changefeed's use-table-id-as-path"
        ),
    )
    storage_terminator: str = field(
        default="\r\n",
        metadata=setting("storage.terminator", parsers.characters, "the changefeed's terminator"),
    )
    storage_csv: Mapping[str, bool | str] = field(
        default_factory=dict,
        metadata=setting(
            "storage.csv",
            parsers.csv_settings,
            "the changefeed's [sink.csv], under the same names",
            is_table=True,
        ),
    )
    storage_column_selectors: tuple[ColumnSelector, ...] = field(
        default=(),
        metadata=setting(
            "storage.column_selectors",
            parsers.column_selectors,
            "the changefeed's [[sink.column-selectors]], for csv",
        ),
    )
    time_zone: str = field(
        default="UTC",
        metadata=setting(
            "source.time_zone", parsers.time_zone, "time zone of TiCDC's server (--tz)"
        ),
    )
    compression: choices.Compression = field(
        default="none",
        metadata=choice(
            "source.compression",
            choices.Compression,
            "the changefeed's large-message-handle-compression",
        ),
    )
    claim_check_url: str | None = field(
        default=None,
        repr=False,
        metadata=setting(
            "source.claim_check",
            parsers.prefix,
            "the changefeed's claim-check-storage-uri, as fsspec opens it",
        ),
    )
    claim_check_raw_value: bool = field(
        default=False,
        metadata=setting(
            "source.claim_check_raw_value", parsers.flag, "the changefeed's claim-check-raw-value"
        ),
    )
    on_corruption: choices.OnCorruption = field(
        default="stop",
        metadata=choice(
            "source.on_corruption",
            choices.OnCorruption,
            "stop, or only warn, when a row does not match its checksum",
        ),
    )
    encoding_format: choices.EncodingFormat = field(
        default="json",
        metadata=choice(
            "source.encoding_format", choices.EncodingFormat, "Simple's encoding-format"
        ),
    )
    apply: choices.Apply = field(
        default="net",
        metadata=choice(
            "target.apply",
            choices.Apply,
            "net: one transaction per cut, with each row's final state; transactions: one per "
            "upstream transaction",
        ),
    )
    rules: frozenset[str] = field(
        default=frozenset(),
        metadata=setting(
            "target.rules",
            parsers.lossy_rules,
            "lossy mappings to allow, listed in docs/reference/types.md",
        ),
    )
    filter: tuple[str, ...] = field(
        default=("*.*",),
        metadata=setting(
            "tables.filter", parsers.filter_rules, "tables to apply, as TiCDC's filter rules"
        ),
    )
    case_sensitive: bool = field(
        default=False,
        metadata=setting(
            "tables.case_sensitive", parsers.flag, "whether patterns are case-sensitive"
        ),
    )
    message_limit: int = field(
        default=256 << 20,
        metadata=setting(
            "limits.message_limit",
            parsers.size,
            "bytes that one value may have after decompression",
        ),
    )
    """Bytes that one compressed value may inflate to, at most."""
    clock_skew: float = field(
        default=60.0,
        metadata=setting(
            "limits.clock_skew", parsers.seconds, "seconds by which clocks may differ"
        ),
    )
    upstream_url: str | None = field(
        default=None,
        repr=False,
        metadata=url(
            "source.upstream",
            "source.upstream_password",
            "SQLAlchemy URL of the upstream TiDB, for load, verify and values that TiCDC does "
            "not send",
            example="mysql+pymysql://user@host:4000",
        ),
    )
    """The upstream TiDB: tables are loaded from it and compared with it, and it supplies what TiCDC
    does not send: rows of handle-key-only, values that a DDL gives existing rows."""
    registry: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata=section(
            "registry",
            "registry.url",
            "settings of Confluent's schema registry client, such as registry.url; for Avro",
        ),
    )
