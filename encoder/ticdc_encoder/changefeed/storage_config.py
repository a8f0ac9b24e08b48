"""The settings of a changefeed into cloud storage: its sink URI and configuration file.

The sink URI overrides the file. Source: TiCDC's "Replicate Data to Storage Services" page and
`pkg/sink/cloudstorage/config.go`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from ticdc_encoder.changefeed.config import check_old_value, dispatchers_of, filter_settings
from ticdc_encoder.changefeed.known_settings import IGNORED_OF_ALL
from ticdc_encoder.changefeed.route import Dispatcher
from ticdc_encoder.changefeed.versions import (
    NEW_ARCHITECTURE,
    check_architecture,
    check_has,
    selects_in_storage,
)
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.filters.column import ColumnSelector
from ticdc_encoder.filters.event import EventFilter
from ticdc_encoder.formats import canal_json, csv
from ticdc_encoder.settings import (
    SinkSetting,
    checked,
    entries,
    flat,
    read_settings,
    sorted_out,
    toml_table,
    uri_parts,
)
from ticdc_encoder.storage.layout import DateSeparator
from ticdc_encoder.version import Version, version_number

_SCHEMES = ("file", "local", "nfs", "s3", "gcs", "gs", "azure", "azblob")
_CSV = "sink.csv"
_STORAGE = "sink.cloud-storage-config"


def _or_line_break(text: str) -> str:
    return text or "\r\n"


def _index_digits(digits: int) -> int:
    return digits if 6 <= digits <= 20 else 20


# Field of the configuration -> the setting.
_SETTINGS: dict[str, SinkSetting] = {
    "protocol": SinkSetting(
        "sink.protocol", "", "protocol", choices=("csv", "canal-json"), normal=str.lower
    ),
    "terminator": SinkSetting("sink.terminator", "\r\n", normal=_or_line_break),
    "date_separator": SinkSetting(
        "sink.date-separator",
        "day",
        "date-separator",
        choices=("none", "year", "month", "day"),
        normal=str.lower,
    ),
    "partition_directories": SinkSetting(
        "sink.enable-partition-separator", True, "enable-partition-separator"
    ),
    "index_digits": SinkSetting("sink.file-index-digit", 20, normal=_index_digits),
    "output_raw_change_event": SinkSetting(f"{_STORAGE}.output-raw-change-event", False),
    "force_replicate": SinkSetting("force-replicate", False),
}
# Option of a format -> the setting.
_CSV_SETTINGS: dict[str, SinkSetting] = {
    "delimiter": SinkSetting(f"{_CSV}.delimiter", ","),
    "quote": SinkSetting(f"{_CSV}.quote", '"'),
    "null": SinkSetting(f"{_CSV}.null", "\\N"),
    "include_commit_ts": SinkSetting(f"{_CSV}.include-commit-ts", False),
    "output_old_value": SinkSetting(f"{_CSV}.output-old-value", False),
    "output_handle_key": SinkSetting(f"{_CSV}.output-handle-key", False),
    "output_field_header": SinkSetting(f"{_CSV}.output-field-header", False),
    "binary_encoding_method": SinkSetting(f"{_CSV}.binary-encoding-method", "base64"),
}
_CANAL_JSON_SETTINGS: dict[str, SinkSetting] = {
    "enable_tidb_extension": SinkSetting(None, False, "enable-tidb-extension"),
    "content_compatible": SinkSetting("sink.content-compatible", False, "content-compatible"),
    "only_output_updated_columns": SinkSetting(
        "sink.only-output-updated-columns", False, "only-output-updated-columns"
    ),
    "delete_only_output_handle_key_columns": SinkSetting(
        "sink.delete-only-output-handle-key-columns", False
    ),
}
_FORMAT_SETTINGS = {"csv": _CSV_SETTINGS, "canal-json": _CANAL_JSON_SETTINGS}
_ALL_SETTINGS = (*_SETTINGS.values(), *_CSV_SETTINGS.values(), *_CANAL_JSON_SETTINGS.values())
_LISTS = (
    "filter.event-filters",
    "filter.ignore-txn-start-ts",
    "filter.rules",
    "sink.column-selectors",
    "sink.dispatchers",
)
_OLD_ARCHITECTURE_HAS_HEADER = version_number("9.0.0-beta.2.pre")
# Their changes of the rows or files are not implemented here.
_UNSUPPORTED = (
    "bdr-mode",
    "enable-active-active",
    f"{_STORAGE}.output-column-id",
    f"{_STORAGE}.use-table-id-as-path",
)
# About how TiCDC runs or connects, when it ends a file, or about other sinks and protocols.
_CUTS = ("worker-count", "flush-interval", "file-size", "flush-concurrency")
_SPOOL = ("spool-base-dir", "spool-disk-quota")
"""Settings for unwritten data of TiCDC's master: `CloudStorageConfig` of `api/v2/model.go`."""
_IGNORED = (
    *IGNORED_OF_ALL,
    "integrity",
    "sink.debezium",
    "sink.debezium-disable-schema",
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
    *(f"{_STORAGE}.{name}" for name in (*_CUTS, *_SPOOL)),
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

_KNOWN = frozenset({*(s.path for s in _ALL_SETTINGS if s.path), *_LISTS, "case-sensitive"})
_PARAMETERS = _IGNORED_IN_URI | {setting.parameter for setting in _ALL_SETTINGS}


def _csv_options(
    values: dict[str, Any], *, version: Version, terminator: str, time_zone: str, new: bool
) -> csv.Options:
    if values["output_field_header"] and version < _OLD_ARCHITECTURE_HAS_HEADER:
        check_has("output-field-header", NEW_ARCHITECTURE, version, new=new)
    # The new architecture has no such column.
    handle_key = values.pop("output_handle_key") and not new
    return csv.Options(
        terminator=terminator,
        time_zone=time_zone,
        output_handle_key=handle_key,
        header_has_virtual=new and not selects_in_storage(version, new=new),
        **values,
    )


def _canal_json_options(
    values: dict[str, Any], *, version: Version, terminator: str, time_zone: str, new: bool
) -> canal_json.Options:
    """The format's options. Rows end with the terminator, but the encoder does not write it."""
    return canal_json.Options(
        time_zone=time_zone, max_message_bytes=1 << 62, new_architecture=new, **values
    )


_OPTIONS: dict[str, Callable[..., canal_json.Options | csv.Options]] = {
    "csv": _csv_options,
    "canal-json": _canal_json_options,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageConfig:
    """`format_options` are those of the protocol's files."""

    version: Version
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
    dispatchers: tuple[Dispatcher, ...]
    event_filters: tuple[EventFilter, ...]
    column_selectors: tuple[ColumnSelector, ...]
    ignore_txn_start_ts: frozenset[int]

    @classmethod
    def parse(
        cls,
        sink_uri: str,
        config: str | Mapping[str, Any] | None,
        version: Version,
        *,
        new_architecture: bool = False,
        time_zone: str = "UTC",
    ) -> Self:
        """Parses as TiCDC of that version does. Raises ConfigError, which names settings but never
        shows the URI: it may hold secrets."""
        check_architecture(version, new=new_architecture)
        scheme, _, in_uri = uri_parts(sink_uri)
        if scheme not in _SCHEMES:
            raise ConfigError(f"the sink URI's scheme is {scheme!r}, not one of cloud storage")
        in_file = dict(flat(toml_table(config)))
        _check(in_uri, in_file)
        dispatchers = dispatchers_of(in_file, version, new=new_architecture)
        selectors = tuple(entries("sink.column-selectors", in_file, ColumnSelector.parse))
        check_old_value(in_file, version)
        values = read_settings(_SETTINGS, in_file, in_uri)
        # Both are read: a setting that is not valid is refused, whichever the protocol.
        of_formats = {
            name: read_settings(settings, in_file, in_uri)
            for name, settings in _FORMAT_SETTINGS.items()
        }
        protocol = values["protocol"]
        options = _OPTIONS[protocol](
            of_formats[protocol],
            version=version,
            terminator=values["terminator"],
            time_zone=time_zone,
            new=new_architecture,
        )
        filters = filter_settings(in_file, version, new_architecture=new_architecture)
        return cls(
            version=version,
            format_options=options,
            dispatchers=dispatchers,
            column_selectors=(
                selectors if selects_in_storage(version, new=new_architecture) else ()
            ),
            **values,
            **filters,
        )


def _check(in_uri: Mapping[str, str], in_file: Mapping[str, Any]) -> None:
    """Raises ConfigError for a setting that is unknown or unsupported."""
    checked(in_file, _KNOWN, _UNSUPPORTED, _IGNORED, set(in_uri) - _PARAMETERS)


def not_known(in_uri: Mapping[str, str], in_file: Mapping[str, Any]) -> list[str]:
    """The settings that `StorageConfig.parse` refuses by name."""
    _, on, refused = sorted_out(in_file, _KNOWN, _UNSUPPORTED, _IGNORED)
    return sorted({*on, *refused, *(set(in_uri) - _PARAMETERS)})
