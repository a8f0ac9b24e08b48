"""The settings of a changefeed into cloud storage: its sink URI and configuration file.

Where both say something, the sink URI rules. Source: TiCDC's "Replicate Data to Storage Services"
page and `pkg/sink/cloudstorage/config.go`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from ticdc_encoder.changefeed.config import IGNORED_OF_ALL
from ticdc_encoder.changefeed.versions import NEW_ARCHITECTURE, Version, case_sensitive_by_default
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.filters.event import EventFilter
from ticdc_encoder.formats import canal_json, csv
from ticdc_encoder.settings import (
    checked,
    entries,
    flat,
    list_of,
    of_text,
    of_type,
    one_of,
    toml_table,
    uri_parts,
)
from ticdc_encoder.storage.layout import DateSeparator

_SCHEMES = ("file", "local", "nfs", "s3", "gcs", "gs", "azure", "azblob")
_CSV = "sink.csv"
_STORAGE = "sink.cloud-storage-config"

# Path in the file -> its default.
_SETTINGS: dict[str, bool | int | str] = {
    "force-replicate": False,
    "sink.protocol": "",
    "sink.terminator": "\r\n",
    "sink.date-separator": "day",
    "sink.enable-partition-separator": True,
    "sink.file-index-digit": 20,
    "sink.content-compatible": False,
    "sink.only-output-updated-columns": False,
    "sink.delete-only-output-handle-key-columns": False,
    f"{_CSV}.delimiter": ",",
    f"{_CSV}.quote": '"',
    f"{_CSV}.null": "\\N",
    f"{_CSV}.include-commit-ts": False,
    f"{_CSV}.output-old-value": False,
    f"{_CSV}.output-handle-key": False,
    f"{_CSV}.output-field-header": False,
    f"{_CSV}.binary-encoding-method": "base64",
    f"{_STORAGE}.output-raw-change-event": False,
}
# A parameter of the sink URI -> the file's path, where it has one.
_IN_URI = {
    "protocol": "sink.protocol",
    "date-separator": "sink.date-separator",
    "enable-partition-separator": "sink.enable-partition-separator",
    "content-compatible": "sink.content-compatible",
    "only-output-updated-columns": "sink.only-output-updated-columns",
    "enable-tidb-extension": "",
}
_LISTS = ("filter.event-filters", "filter.ignore-txn-start-ts", "filter.rules")
# They change which rows there are, or files, in ways that are not written here.
_UNSUPPORTED = (
    "bdr-mode",
    "enable-active-active",
    "sink.column-selectors",
    f"{_STORAGE}.output-column-id",
    f"{_STORAGE}.use-table-id-as-path",
)
# They say how TiCDC runs or connects, when it ends a file, or concern other sinks and protocols.
_CUTS = ("worker-count", "flush-interval", "file-size", "flush-concurrency")
_IGNORED = (
    *IGNORED_OF_ALL,
    "integrity",
    "sink.debezium",
    "sink.debezium-disable-schema",
    "sink.dispatchers",
    "sink.file-index-width",
    "sink.kafka-config",
    "sink.open",
    "sink.schema-registry",
    "sink.send-all-bootstrap-at-start",
    "sink.send-bootstrap-in-msg-count",
    "sink.send-bootstrap-interval-in-sec",
    "sink.send-bootstrap-to-all-partition",
    f"{_STORAGE}.file-cleanup-cron-spec",
    f"{_STORAGE}.file-expiration-days",
    *(f"{_STORAGE}.{name}" for name in _CUTS),
)
# Those of connections: TiDB's "URI Formats of External Storage Services" page.
_IGNORED_IN_URI = frozenset(
    {
        *_CUTS,
        "access-key",
        "access-tier",
        "account-key",
        "account-name",
        "acl",
        "credentials-file",
        "encryption-key",
        "encryption-scope",
        "endpoint",
        "external-id",
        "force-path-style",
        "predefined-acl",
        "profile",
        "provider",
        "region",
        "role-arn",
        "sas-token",
        "secret-access-key",
        "session-token",
        "sse",
        "sse-kms-key-id",
        "storage-class",
        "transaction-atomicity",
        "use-accelerate-endpoint",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageConfig:
    """`format_options` are those of the protocol's files."""

    protocol: str
    format_options: canal_json.Options | csv.Options
    terminator: str
    date_separator: DateSeparator
    partition_directories: bool
    index_digits: int
    output_raw_change_event: bool
    force_replicate: bool
    case_sensitive: bool
    rules: tuple[str, ...]
    event_filters: tuple[EventFilter, ...]
    ignore_txn_start_ts: frozenset[int]

    @classmethod
    def parse(
        cls,
        sink_uri: str,
        config: str | Mapping[str, Any] | None,
        version: Version,
        *,
        time_zone: str = "UTC",
    ) -> Self:
        """As TiCDC of that version reads it. Raises ConfigError, which names settings but never
        shows the URI: it may hold secrets."""
        classic = version < NEW_ARCHITECTURE
        scheme, _, in_uri = uri_parts(sink_uri)
        if scheme not in _SCHEMES:
            raise ConfigError(f"the sink URI is of {scheme or 'no scheme'}, not of storage")
        in_file = dict(flat(toml_table(config)))
        known = {*_SETTINGS, *_LISTS, "case-sensitive"}
        checked(
            in_file, known, _UNSUPPORTED, _IGNORED, set(in_uri) - set(_IN_URI) - _IGNORED_IN_URI
        )
        values: dict[str, Any] = {}
        kind: Any  # bool, int or str
        for path, default in _SETTINGS.items():
            kind = type(default)
            values[path] = of_type(path, in_file.get(path, default), kind)
        for name, path in _IN_URI.items():
            if name in in_uri:
                kind = type(_SETTINGS.get(path, False))
                values[path or name] = of_text(name, in_uri[name], kind)

        def value(path: str) -> Any:
            return values[path]

        protocol = one_of("protocol", value("sink.protocol").lower(), "csv", "canal-json")
        digits = value("sink.file-index-digit")
        terminator = value("sink.terminator") or "\r\n"
        return cls(
            protocol=protocol,
            format_options=(
                csv.Options(
                    delimiter=value(f"{_CSV}.delimiter"),
                    quote=value(f"{_CSV}.quote"),
                    terminator=terminator,
                    null=value(f"{_CSV}.null"),
                    include_commit_ts=value(f"{_CSV}.include-commit-ts"),
                    output_old_value=value(f"{_CSV}.output-old-value"),
                    # The new architecture has no such column.
                    output_handle_key=classic and value(f"{_CSV}.output-handle-key"),
                    output_field_header=value(f"{_CSV}.output-field-header"),
                    binary_encoding_method=value(f"{_CSV}.binary-encoding-method"),
                    time_zone=time_zone,
                )
                if protocol == "csv"
                else canal_json.Options(
                    enable_tidb_extension=values.get("enable-tidb-extension") is True,
                    content_compatible=value("sink.content-compatible"),
                    only_output_updated_columns=value("sink.only-output-updated-columns"),
                    delete_only_output_handle_key_columns=value(
                        "sink.delete-only-output-handle-key-columns"
                    ),
                    time_zone=time_zone,
                    max_message_bytes=1 << 62,
                    classic=classic,
                )
            ),
            terminator=terminator,
            date_separator=one_of(
                "date-separator",
                value("sink.date-separator").lower(),
                *("none", "year", "month", "day"),
            ),
            partition_directories=value("sink.enable-partition-separator"),
            index_digits=digits if 6 <= digits <= 20 else 20,
            output_raw_change_event=value(f"{_STORAGE}.output-raw-change-event"),
            force_replicate=value("force-replicate"),
            case_sensitive=of_type(
                "case-sensitive",
                in_file.get("case-sensitive", case_sensitive_by_default(version)),
                bool,
            ),
            rules=tuple(list_of("filter.rules", in_file, str)),
            event_filters=tuple(entries("filter.event-filters", in_file, EventFilter.parse)),
            ignore_txn_start_ts=frozenset(list_of("filter.ignore-txn-start-ts", in_file, int)),
        )
