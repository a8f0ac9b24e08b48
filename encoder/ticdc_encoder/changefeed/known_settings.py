"""Settings of a changefeed into Kafka, by path in the file and name in the sink URI: heeded,
without effect, or refused."""

from collections.abc import Mapping
from typing import Any

from ticdc_encoder.settings import SinkSetting, checked, sorted_out

_KAFKA = "sink.kafka-config"
_LARGE = f"{_KAFKA}.large-message-handle"
_CODEC = f"{_KAFKA}.codec-config"


def _or_none(text: str) -> str:
    return text.lower() or "none"


# Field of the configuration -> the setting.
SETTINGS: dict[str, SinkSetting] = {
    "protocol": SinkSetting("sink.protocol", "", "protocol", normal=str.lower),
    "partition_num": SinkSetting(f"{_KAFKA}.partition-num", 3, "partition-num"),
    "max_message_bytes": SinkSetting(
        f"{_KAFKA}.max-message-bytes", 10_485_760, "max-message-bytes"
    ),
    "max_batch_size": SinkSetting(f"{_CODEC}.max-batch-size", 16, "max-batch-size"),
    "enable_tidb_extension": SinkSetting(
        f"{_CODEC}.enable-tidb-extension", False, "enable-tidb-extension"
    ),
    "content_compatible": SinkSetting("sink.content-compatible", False, "content-compatible"),
    "only_output_updated_columns": SinkSetting(
        "sink.only-output-updated-columns", False, "only-output-updated-columns"
    ),
    "delete_only_output_handle_key_columns": SinkSetting(
        "sink.delete-only-output-handle-key-columns", False
    ),
    "output_row_key": SinkSetting(f"{_CODEC}.output-row-key", False, "output-row-key"),
    "output_raw_change_event": SinkSetting(f"{_KAFKA}.output-raw-change-event", False),
    # Ours: no TiCDC has it (tiflow#11297).
    "split_update_partition_key": SinkSetting(f"{_KAFKA}.split-update-partition-key", False),
    "large_message_handle_option": SinkSetting(
        f"{_LARGE}.large-message-handle-option",
        "none",
        choices=("none", "handle-key-only", "claim-check"),
        normal=_or_none,
    ),
    "claim_check_storage_uri": SinkSetting(f"{_LARGE}.claim-check-storage-uri", ""),
    "claim_check_raw_value": SinkSetting(f"{_LARGE}.claim-check-raw-value", False),
    "compression": SinkSetting(
        f"{_LARGE}.large-message-handle-compression",
        "none",
        choices=("none", "lz4", "snappy"),
        normal=_or_none,
    ),
    "encoding_format": SinkSetting(
        f"{_CODEC}.encoding-format", "json", "encoding-format", choices=("json", "avro")
    ),
    "debezium_disable_schema": SinkSetting(
        "sink.debezium-disable-schema", False, "debezium-disable-schema"
    ),
    "debezium_include_start_ts": SinkSetting(
        "sink.debezium.include-start-ts", False, "debezium-include-start-ts"
    ),
    "send_bootstrap_interval_in_sec": SinkSetting("sink.send-bootstrap-interval-in-sec", 120),
    "send_bootstrap_in_msg_count": SinkSetting("sink.send-bootstrap-in-msg-count", 10_000),
    "send_bootstrap_to_all_partition": SinkSetting("sink.send-bootstrap-to-all-partition", True),
    "schema_registry": SinkSetting("sink.schema-registry", "", "schema-registry"),
    "avro_decimal_handling_mode": SinkSetting(
        f"{_CODEC}.avro-decimal-handling-mode",
        "precise",
        "avro-decimal-handling-mode",
        choices=("precise", "string"),
    ),
    "avro_bigint_unsigned_handling_mode": SinkSetting(
        f"{_CODEC}.avro-bigint-unsigned-handling-mode",
        "long",
        "avro-bigint-unsigned-handling-mode",
        choices=("long", "string"),
    ),
    "avro_enable_watermark": SinkSetting(
        f"{_CODEC}.avro-enable-watermark", False, "avro-enable-watermark"
    ),
    "avro_include_before_value": SinkSetting(
        f"{_CODEC}.avro-include-before-value", False, "avro-include-before-value"
    ),
    "integrity_check_level": SinkSetting(
        "integrity.integrity-check-level", "none", choices=("none", "correctness")
    ),
    "force_replicate": SinkSetting("force-replicate", False),
}
# Each protocol reads its own of the two.
OLD_VALUE = {
    "debezium": SinkSetting("sink.debezium.output-old-value", True),
    "open": SinkSetting("sink.open.output-old-value", True),
}
_LISTS = (
    "filter.event-filters",
    "filter.ignore-txn-start-ts",
    "filter.rules",
    "sink.column-selectors",
    "sink.dispatchers",
)

# Their changes of the messages are not implemented here.
_UNSUPPORTED = (
    "bdr-mode",
    "enable-active-active",
)
GLUE = f"{_KAFKA}.glue-schema-registry-config"
# About how TiCDC runs.
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
# About how TiCDC connects, or about other sinks and protocols.
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
    GLUE,
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
_IGNORED_IN_URI = {
    path.rpartition(".")[2]
    for path in _IGNORED
    if path.startswith(_KAFKA) or path == "sink.transaction-atomicity"
} | {"max-retry"}
"""Settings without effect in the sink URI. TiCDC reads `max-retry` there alone: its producer's
number of retries (`pkg/sink/kafka/options.go` at v8.5.7)."""
_ALL = (*SETTINGS.values(), *OLD_VALUE.values())
_KNOWN = frozenset({*(s.path for s in _ALL if s.path), *_LISTS, "case-sensitive"})
_PARAMETERS = _IGNORED_IN_URI | {setting.parameter for setting in _ALL}


def without_effect(in_uri: Mapping[str, str], in_file: Mapping[str, Any]) -> list[str]:
    """The settings without effect. Raises ConfigError for one that is unknown or unsupported."""
    ignored = sorted(set(in_uri) & _IGNORED_IN_URI)
    unknown = set(in_uri) - _PARAMETERS
    return ignored + checked(in_file, _KNOWN, _UNSUPPORTED, _IGNORED, unknown)


def not_known(in_uri: Mapping[str, str], in_file: Mapping[str, Any]) -> list[str]:
    """The settings for which `without_effect` raises ConfigError."""
    _, on, refused = sorted_out(in_file, _KNOWN, _UNSUPPORTED, _IGNORED)
    return sorted({*on, *refused, *(set(in_uri) - _PARAMETERS)})
