"""A changefeed's settings: the sink URI and the TOML file that `cdc cli changefeed create` takes.

Where both say something, the sink URI rules. Source: TiCDC's "changefeed configurations" page and
`pkg/config/replica_config.go`, `pkg/config/sink.go`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from ticdc_encoder.changefeed.route import PARTITION_RULES, Dispatcher
from ticdc_encoder.changefeed.versions import Version, case_sensitive_by_default
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.filters.column import ColumnSelector
from ticdc_encoder.filters.event import EventFilter
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.formats.avro.schema import BigintUnsignedMode, DecimalMode
from ticdc_encoder.formats.compression import Compression
from ticdc_encoder.formats.format import LargeMessageHandle
from ticdc_encoder.formats.simple import EncodingFormat
from ticdc_encoder.settings import (
    T,
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

_KAFKA = "sink.kafka-config"
_LARGE = f"{_KAFKA}.large-message-handle"
_CODEC = f"{_KAFKA}.codec-config"

# Setting -> where it stands in the file, and its default.
_SETTINGS: dict[str, tuple[str, bool | int | str]] = {
    "protocol": ("sink.protocol", ""),
    "partition-num": (f"{_KAFKA}.partition-num", 3),
    "max-message-bytes": (f"{_KAFKA}.max-message-bytes", 10_485_760),
    "max-batch-size": (f"{_CODEC}.max-batch-size", 16),
    "enable-tidb-extension": (f"{_CODEC}.enable-tidb-extension", False),
    "content-compatible": ("sink.content-compatible", False),
    "only-output-updated-columns": ("sink.only-output-updated-columns", False),
    "output-row-key": (f"{_CODEC}.output-row-key", False),
    "encoding-format": (f"{_CODEC}.encoding-format", "json"),
    "debezium-disable-schema": ("sink.debezium-disable-schema", False),
    "avro-decimal-handling-mode": (f"{_CODEC}.avro-decimal-handling-mode", "precise"),
    "avro-bigint-unsigned-handling-mode": (f"{_CODEC}.avro-bigint-unsigned-handling-mode", "long"),
    "avro-enable-watermark": (f"{_CODEC}.avro-enable-watermark", False),
    "avro-include-before-value": (f"{_CODEC}.avro-include-before-value", False),
    "schema-registry": ("sink.schema-registry", ""),
}
_FILE_SETTINGS: dict[str, bool | int | str] = {
    "force-replicate": False,
    "integrity.integrity-check-level": "none",
    "sink.delete-only-output-handle-key-columns": False,
    "sink.debezium.output-old-value": True,
    "sink.open.output-old-value": True,
    "sink.send-bootstrap-in-msg-count": 10_000,
    "sink.send-bootstrap-interval-in-sec": 120,
    "sink.send-bootstrap-to-all-partition": True,
    f"{_KAFKA}.output-raw-change-event": False,
    f"{_KAFKA}.split-update-partition-key": False,  # ours: no TiCDC has it (tiflow#11297)
    f"{_LARGE}.large-message-handle-option": "none",
    f"{_LARGE}.large-message-handle-compression": "none",
    f"{_LARGE}.claim-check-storage-uri": "",
    f"{_LARGE}.claim-check-raw-value": False,
}
_LISTS = (
    "filter.event-filters",
    "filter.ignore-txn-start-ts",
    "filter.rules",
    "sink.column-selectors",
    "sink.dispatchers",
)

_ALIASES = {"flat-avro": "avro", "default": "open-protocol"}
_HANDLES_LARGE = ("canal-json", "open-protocol", "simple")
_WITHOUT_OLD_VALUE = (7, 2, 0)
"""From here on enable-old-value is without effect."""

# They change which messages there are, in ways that are not written here.
_UNSUPPORTED = (
    "bdr-mode",
    "enable-active-active",
    "sink.debezium-include-start-ts",
)
_GLUE = f"{_KAFKA}.glue-schema-registry-config"
# They say how TiCDC runs.
IGNORED_OF_ALL = (
    "active-active-progress-interval",
    "active-active-sync-stats-interval",
    "changefeed-error-stuck-duration",
    "check-gc-safe-point",
    "consistent",
    "enable-old-value",
    "enable-sync-point",
    "enable-table-monitor",
    "event-collector-batch-bytes",
    "event-collector-batch-count",
    "ignore-ineligible-table",
    "integrity.corruption-handle-level",
    "memory-quota",
    "mounter",
    "performance-mode",
    "scheduler",
    "sink.advance-timeout-in-sec",
    "sink.enable-kafka-sink-v2",
    "sink.encoder-concurrency",
    "sink.iceberg-config",
    "sink.mysql-config",
    "sink.pulsar-config",
    "sink.safe-mode",
    "sink.transaction-atomicity",
    "sql-mode",
    "sync-point-interval",
    "sync-point-retention",
    "synced-status",
)
# They say how it connects, or concern other sinks and protocols.
_IGNORED = (
    *IGNORED_OF_ALL,
    "sink.cloud-storage-config",
    "sink.csv",
    "sink.date-separator",
    "sink.enable-partition-separator",
    "sink.file-index-digit",
    "sink.file-index-width",
    "sink.send-all-bootstrap-at-start",
    "sink.terminator",
    _GLUE,
    *(
        f"{_KAFKA}.{name}"
        for name in (
            "auto-create-topic",
            "ca",
            "cert",
            "compression",
            "dial-timeout",
            "enable-tls",
            "insecure-skip-verify",
            "kafka-client-id",
            "kafka-version",
            "key",
            "read-timeout",
            "replication-factor",
            "required-acks",
            "sasl-gssapi-auth-type",
            "sasl-gssapi-disable-pafxfast",
            "sasl-gssapi-kerberos-config-path",
            "sasl-gssapi-key-tab-path",
            "sasl-gssapi-keytab-path",
            "sasl-gssapi-password",
            "sasl-gssapi-realm",
            "sasl-gssapi-service-name",
            "sasl-gssapi-user",
            "sasl-mechanism",
            "sasl-oauth-audience",
            "sasl-oauth-client-id",
            "sasl-oauth-client-secret",
            "sasl-oauth-grant-type",
            "sasl-oauth-scopes",
            "sasl-oauth-token-url",
            "sasl-password",
            "sasl-user",
            "write-timeout",
        )
    ),
)
_IGNORED_IN_URI = frozenset(
    path.rpartition(".")[2]
    for path in _IGNORED
    if path.startswith(_KAFKA) or path == "sink.transaction-atomicity"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangefeedConfig:
    """`ignored` names the settings that were accepted and are without effect on the messages."""

    topic: str
    protocol: str
    partition_num: int
    max_message_bytes: int
    max_batch_size: int
    enable_tidb_extension: bool
    content_compatible: bool
    only_output_updated_columns: bool
    delete_only_output_handle_key_columns: bool
    output_row_key: bool
    output_old_value: bool
    output_raw_change_event: bool
    split_update_partition_key: bool
    large_message_handle_option: LargeMessageHandle
    claim_check_storage_uri: str
    claim_check_raw_value: bool
    compression: Compression
    encoding_format: EncodingFormat
    debezium_disable_schema: bool
    send_bootstrap_interval_in_sec: int
    send_bootstrap_in_msg_count: int
    send_bootstrap_to_all_partition: bool
    schema_registry: str
    avro_decimal_handling_mode: DecimalMode
    avro_bigint_unsigned_handling_mode: BigintUnsignedMode
    avro_enable_watermark: bool
    avro_include_before_value: bool
    integrity_check: bool
    force_replicate: bool
    case_sensitive: bool
    rules: tuple[str, ...]
    dispatchers: tuple[Dispatcher, ...]
    event_filters: tuple[EventFilter, ...]
    column_selectors: tuple[ColumnSelector, ...]
    ignore_txn_start_ts: frozenset[int]
    ignored: tuple[str, ...]

    @classmethod
    def parse(cls, sink_uri: str, config: str | Mapping[str, Any] | None, version: Version) -> Self:
        """As TiCDC of that version reads it. Raises ConfigError, which names settings but never
        shows the URI: it may hold secrets."""
        topic, in_uri = _sink_uri(sink_uri)
        in_file = dict(flat(toml_table(config)))
        ignored = _checked(in_uri, in_file)
        if in_file.get("enable-old-value") is False and version < _WITHOUT_OLD_VALUE:
            raise ConfigError("enable-old-value = false is not supported")

        def setting(name: str, kind: type[T]) -> T:
            path, default = _SETTINGS[name]
            if name in in_uri:
                return of_text(name, in_uri[name], kind)
            return of_type(path, in_file.get(path, default), kind)

        def in_toml(path: str, kind: type[T]) -> T:
            return of_type(path, in_file.get(path, _FILE_SETTINGS[path]), kind)

        dispatchers = tuple(entries("sink.dispatchers", in_file, Dispatcher.parse))
        ignored += [
            f"sink.dispatchers: partition = {dispatcher.partition!r}"
            for dispatcher in dispatchers
            if dispatcher.partition.lower() not in PARTITION_RULES
        ]
        protocol = setting("protocol", str).lower()
        protocol = _ALIASES.get(protocol, protocol)
        if protocol.endswith("avro") and any(path.startswith(_GLUE) for path in ignored):
            raise ConfigError(f"{_GLUE} is not supported")
        family = "debezium" if protocol.startswith("debezium") else "open"
        parsed = cls(
            topic=topic,
            protocol=protocol,
            partition_num=setting("partition-num", int),
            max_message_bytes=setting("max-message-bytes", int),
            max_batch_size=setting("max-batch-size", int),
            enable_tidb_extension=setting("enable-tidb-extension", bool),
            content_compatible=setting("content-compatible", bool),
            only_output_updated_columns=setting("only-output-updated-columns", bool),
            delete_only_output_handle_key_columns=in_toml(
                "sink.delete-only-output-handle-key-columns", bool
            ),
            output_row_key=setting("output-row-key", bool),
            output_old_value=in_toml(f"sink.{family}.output-old-value", bool),
            output_raw_change_event=in_toml(f"{_KAFKA}.output-raw-change-event", bool),
            split_update_partition_key=in_toml(f"{_KAFKA}.split-update-partition-key", bool),
            large_message_handle_option=one_of(
                f"{_LARGE}.large-message-handle-option",
                in_toml(f"{_LARGE}.large-message-handle-option", str).lower() or "none",
                "none",
                "handle-key-only",
                "claim-check",
            ),
            claim_check_storage_uri=in_toml(f"{_LARGE}.claim-check-storage-uri", str),
            claim_check_raw_value=in_toml(f"{_LARGE}.claim-check-raw-value", bool),
            compression=one_of(
                f"{_LARGE}.large-message-handle-compression",
                in_toml(f"{_LARGE}.large-message-handle-compression", str).lower() or "none",
                "none",
                "lz4",
                "snappy",
            ),
            encoding_format=one_of(
                "encoding-format", setting("encoding-format", str), "json", "avro"
            ),
            debezium_disable_schema=setting("debezium-disable-schema", bool),
            send_bootstrap_interval_in_sec=in_toml("sink.send-bootstrap-interval-in-sec", int),
            send_bootstrap_in_msg_count=in_toml("sink.send-bootstrap-in-msg-count", int),
            send_bootstrap_to_all_partition=in_toml("sink.send-bootstrap-to-all-partition", bool),
            schema_registry=setting("schema-registry", str),
            avro_decimal_handling_mode=one_of(
                "avro-decimal-handling-mode",
                setting("avro-decimal-handling-mode", str),
                "precise",
                "string",
            ),
            avro_bigint_unsigned_handling_mode=one_of(
                "avro-bigint-unsigned-handling-mode",
                setting("avro-bigint-unsigned-handling-mode", str),
                "long",
                "string",
            ),
            avro_enable_watermark=setting("avro-enable-watermark", bool),
            avro_include_before_value=setting("avro-include-before-value", bool),
            integrity_check=one_of(
                "integrity.integrity-check-level",
                in_toml("integrity.integrity-check-level", str),
                "none",
                "correctness",
            )
            == "correctness",
            force_replicate=in_toml("force-replicate", bool),
            case_sensitive=of_type(
                "case-sensitive",
                in_file.get("case-sensitive", case_sensitive_by_default(version)),
                bool,
            ),
            rules=tuple(list_of("filter.rules", in_file, str)),
            dispatchers=dispatchers,
            event_filters=tuple(entries("filter.event-filters", in_file, EventFilter.parse)),
            column_selectors=tuple(entries("sink.column-selectors", in_file, ColumnSelector.parse)),
            ignore_txn_start_ts=frozenset(list_of("filter.ignore-txn-start-ts", in_file, int)),
            ignored=tuple(sorted(ignored)),
        )
        parsed._check()
        return parsed

    def _check(self) -> None:
        if self.protocol not in FORMATS:
            known = ", ".join(sorted(FORMATS))
            raise ConfigError(f"protocol {self.protocol!r} is none of {known}")
        for name in ("partition_num", "max_message_bytes", "max_batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name.replace('_', '-')} must be at least 1")
        if self.integrity_check and self.column_selectors:
            raise ConfigError("column-selectors exclude integrity-check-level = 'correctness'")
        if self.large_message_handle_option != "none":
            if self.protocol not in _HANDLES_LARGE:
                raise ConfigError(f"large-message-handle-option is not for {self.protocol}")
            if self.protocol == "canal-json" and not self.enable_tidb_extension:
                raise ConfigError(
                    "large-message-handle-option of canal-json needs enable-tidb-extension"
                )
        if self.large_message_handle_option == "claim-check":
            if not self.claim_check_storage_uri:
                raise ConfigError("claim-check needs a claim-check-storage-uri")
            if self.claim_check_raw_value and self.protocol == "open-protocol":
                raise ConfigError("claim-check-raw-value is not for open-protocol")


def _sink_uri(sink_uri: str) -> tuple[str, dict[str, str]]:
    """The topic and the parameters."""
    scheme, path, in_uri = uri_parts(sink_uri)
    if scheme not in ("kafka", "kafka+ssl"):
        raise ConfigError(f"the sink URI is of {scheme or 'no scheme'}, not of kafka")
    topic = path.strip("/")
    if not topic:
        raise ConfigError("the sink URI names no topic")
    return topic, in_uri


def _checked(in_uri: Mapping[str, str], in_file: Mapping[str, Any]) -> list[str]:
    """The settings without effect. Raises ConfigError for one that is unknown or unsupported."""
    known = {path for path, _ in _SETTINGS.values()} | set(_FILE_SETTINGS) | set(_LISTS)
    unknown = set(in_uri) - set(_SETTINGS) - _IGNORED_IN_URI
    ignored = sorted(set(in_uri) & _IGNORED_IN_URI)
    return ignored + checked(in_file, known | {"case-sensitive"}, _UNSUPPORTED, _IGNORED, unknown)
