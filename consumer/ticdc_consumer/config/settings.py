"""The settings there are: what each is for, and how its text is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ticdc_consumer.config import parsers as setting


@dataclass(frozen=True, slots=True)
class Setting:
    """Which option a setting fills, how its text is read, and what it is for."""

    option: str
    read: Callable[[Any], Any]
    help: str


SETTINGS: dict[str, Setting] = {
    "changefeed": Setting("changefeed", setting.text, "name of the checkpoint in the target"),
    "protocol": Setting("protocol", setting.protocol, "the changefeed's protocol"),
    "from_ts": Setting("from_ts", setting.timestamp, "first start: ts of the loaded snapshot"),
    "kafka.topics": Setting("topics", setting.topics, 'names, or patterns as "^shop_.*"'),
    "storage.url": Setting(
        "storage_url", setting.prefix, "prefix of a cloud storage sink, instead of [kafka]"
    ),
    "storage.date_separator": Setting(
        "storage_date_separator",
        setting.one_of("none", "year", "month", "day"),
        "the changefeed's date-separator",
    ),
    "storage.table_id_paths": Setting(
        "storage_table_ids", setting.flag, "the changefeed's use-table-id-as-path"
    ),
    "storage.terminator": Setting(
        "storage_terminator", setting.characters, "the changefeed's terminator"
    ),
    "storage.csv": Setting(
        "storage_csv", setting.csv_settings, "the changefeed's [sink.csv], as it is there"
    ),
    "source.time_zone": Setting("time_zone", setting.time_zone, "TiCDC's --tz"),
    "source.compression": Setting(
        "compression",
        setting.one_of("none", "lz4", "snappy"),
        "the changefeed's large-message-handle-compression",
    ),
    "source.claim_check": Setting(
        "claim_check_url",
        setting.prefix,
        "where claim checks lie: claim-check-storage-uri, as fsspec opens it",
    ),
    "source.claim_check_raw_value": Setting(
        "claim_check_raw_value", setting.flag, "the changefeed's claim-check-raw-value"
    ),
    "source.on_corruption": Setting(
        "on_corruption",
        setting.one_of("stop", "warn"),
        "stop or warn, where a row is not what its checksum says",
    ),
    "source.encoding_format": Setting(
        "encoding_format", setting.one_of("json", "avro"), "Simple's encoding-format"
    ),
    "target.apply": Setting("apply", setting.one_of("net", "transactions"), "net or transactions"),
    "target.on_drift": Setting(
        "on_drift", setting.one_of("stop", "overwrite"), "stop or overwrite, where a row clashes"
    ),
    "target.rules": Setting(
        "rules", setting.mapping_rules, "lossy mappings to allow: docs/types.md"
    ),
    "tables.filter": Setting("filter", setting.filter_rules, "TiCDC's filter rules"),
    "tables.case_sensitive": Setting("case_sensitive", setting.flag, "whether patterns heed case"),
    "tables.route": Setting(
        "route", setting.mapping(setting.text), '"schema.table" pattern = "schema.table" template'
    ),
    "tables.keys": Setting(
        "keys", setting.mapping(setting.names), '"schema.table" = columns that identify a row'
    ),
    "tables.at_least_once": Setting(
        "at_least_once",
        setting.filter_rules,
        "patterns of tables to accept without a key, and without exactness",
    ),
    "tables.allow_triggers": Setting(
        "allow_triggers", setting.names, "tables whose target may have row triggers"
    ),
    "ddl.on_unsupported": Setting(
        "ddl_on_unsupported", setting.one_of("stop", "skip"), "stop or skip what cannot be done"
    ),
    "ddl.keep_dropped": Setting(
        "ddl_keep_dropped", setting.duration, 'how long dropped tables are kept, as "24h"'
    ),
    "ddl.kinds": Setting("ddl_kinds", setting.ddl_kinds, '"CREATE VIEW" = "skip", and others'),
    "ddl.tables": Setting("ddl_tables", setting.ddl_tables, '"app.*" = "skip"; before the kinds'),
    "limits.rows_per_epoch": Setting("rows_per_epoch", setting.count, "rows of one cut, about"),
    "limits.memory_budget": Setting("memory_budget", setting.size, "bytes the driver may hold"),
    "limits.message_limit": Setting("message_limit", setting.size, "bytes of one inflated value"),
    "limits.future_limit": Setting(
        "future_limit", setting.seconds, "seconds a commit_ts may be ahead of the clock"
    ),
    "limits.clock_skew": Setting("clock_skew", setting.seconds, "seconds clocks may differ"),
    "limits.schema_wait": Setting(
        "schema_wait", setting.seconds, "seconds that rows of Simple wait for their schema"
    ),
    "limits.takeover_after": Setting(
        "takeover_after", setting.seconds, "seconds to wait before an older consumer is ended"
    ),
    "limits.retries": Setting("retries", setting.count, "how often an epoch is tried again"),
}
"""Every setting but those of `[kafka]` and `[spark]` that pass through, and the target's URL."""
