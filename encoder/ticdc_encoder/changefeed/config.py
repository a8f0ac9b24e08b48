"""A changefeed's settings: the sink URI and the TOML file that `cdc cli changefeed create` takes.

If both have a setting, the sink URI's rules. Source: TiCDC's "changefeed configurations" page and
`pkg/config/replica_config.go`, `pkg/config/sink.go`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from ticdc_encoder.changefeed.protocols import PROTOCOLS
from ticdc_encoder.changefeed.route import PARTITION_RULES, Dispatcher
from ticdc_encoder.changefeed.versions import (
    Version,
    case_sensitive_by_default,
    check_architecture,
)
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.filters.column import ColumnSelector
from ticdc_encoder.filters.event import EventFilter
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.formats.avro.schema import BigintUnsignedMode, DecimalMode
from ticdc_encoder.formats.compression import Compression
from ticdc_encoder.formats.format import LargeMessageHandle
from ticdc_encoder.formats.simple import EncodingFormat
from ticdc_encoder.settings import (
    SinkSetting,
    checked,
    entries,
    flat,
    list_of,
    of_type,
    read_settings,
    toml_table,
    uri_parts,
)

_KAFKA = "sink.kafka-config"
_LARGE = f"{_KAFKA}.large-message-handle"
_CODEC = f"{_KAFKA}.codec-config"


def _or_none(text: str) -> str:
    return text.lower() or "none"


# Field of the configuration -> the setting.
_SETTINGS: dict[str, SinkSetting] = {
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
_OLD_VALUE = {
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

_ALIASES = {"flat-avro": "avro", "default": "open-protocol"}
_WITHOUT_OLD_VALUE = (7, 2, 0)
"""From here on enable-old-value has no effect."""
_NEW_ARCHITECTURE_HEEDS_OLD_VALUE = (8, 5, 6)

# They change the messages in ways that are not implemented here.
_UNSUPPORTED = (
    "bdr-mode",
    "enable-active-active",
    "sink.debezium-include-start-ts",
)
_GLUE = f"{_KAFKA}.glue-schema-registry-config"
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
    """`ignored` names the settings that were accepted and have no effect on the messages."""

    version: Version
    new_architecture: bool
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
    def parse(
        cls,
        sink_uri: str,
        config: str | Mapping[str, Any] | None,
        version: Version,
        *,
        new_architecture: bool = False,
    ) -> Self:
        """As TiCDC of that version reads it. Raises ConfigError, which names settings but never
        shows the URI: it may hold secrets."""
        check_architecture(version, new=new_architecture)
        topic, in_uri = _sink_uri(sink_uri)
        in_file = dict(flat(toml_table(config)))
        ignored = _checked(in_uri, in_file)
        if in_file.get("enable-old-value") is False and version < _WITHOUT_OLD_VALUE:
            raise ConfigError("enable-old-value = false is not supported")
        dispatchers = tuple(entries("sink.dispatchers", in_file, Dispatcher.parse))
        ignored += [
            f"sink.dispatchers: partition = {dispatcher.partition!r}"
            for dispatcher in dispatchers
            if dispatcher.partition.lower() not in PARTITION_RULES
        ]
        values = read_settings(_SETTINGS, in_file, in_uri)
        protocol = values["protocol"] = _ALIASES.get(values["protocol"], values["protocol"])
        family = "debezium" if protocol.startswith("debezium") else "open"
        old_value = _OLD_VALUE[family].read(in_file, in_uri)
        if new_architecture and version < _NEW_ARCHITECTURE_HEEDS_OLD_VALUE:
            old_value = True
        values["integrity_check"] = values.pop("integrity_check_level") == "correctness"
        parsed = cls(
            version=version,
            new_architecture=new_architecture,
            topic=topic,
            output_old_value=old_value,
            dispatchers=dispatchers,
            column_selectors=tuple(entries("sink.column-selectors", in_file, ColumnSelector.parse)),
            ignored=tuple(sorted(ignored)),
            **values,
            **filter_settings(in_file, version),
        )
        parsed._check_protocol()
        parsed._check_large_messages()
        parsed._check_force_replicate()
        return parsed

    @property
    def classic(self) -> bool:
        """Whether it is TiCDC's old architecture."""
        return not self.new_architecture

    def _check_protocol(self) -> None:
        if self.protocol not in FORMATS:
            raise ConfigError(
                f"protocol is {self.protocol!r}, not one of {', '.join(sorted(FORMATS))}"
            )
        traits = PROTOCOLS[self.protocol]
        if traits.registry and any(path.startswith(_GLUE) for path in self.ignored):
            raise ConfigError(f"{_GLUE} is not supported")
        for name in ("partition_num", "max_message_bytes", "max_batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name.replace('_', '-')} must be at least 1")
        if self.integrity_check and self.column_selectors:
            raise ConfigError("column-selectors exclude integrity-check-level = 'correctness'")
        if self.version < traits.since:
            version = ".".join(map(str, self.version))
            raise ConfigError(f"TiCDC {version} has no protocol {self.protocol}")
        if traits.topic_names_table:
            _require_whole_expressions(self.dispatchers)

    def _check_large_messages(self) -> None:
        if self.large_message_handle_option == "none":
            return
        if not PROTOCOLS[self.protocol].handles_large_messages:
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

    def _check_force_replicate(self) -> None:
        if not self.force_replicate:
            return
        refusing = PROTOCOLS[self.protocol].refuses_force_replicate
        if refusing is not None and self.version >= refusing:
            raise ConfigError("force-replicate is not for avro, whose keys it would leave out")
        if self.classic and self.delete_only_output_handle_key_columns:
            raise ConfigError("force-replicate excludes delete-only-output-handle-key-columns")
        if self.classic and self.large_message_handle_option != "none":
            raise ConfigError("force-replicate excludes large-message-handle-option")


def filter_settings(in_file: Mapping[str, Any], version: Version) -> dict[str, Any]:
    """Which tables and events a changefeed sends: fields that every configuration has."""
    case_sensitive = in_file.get("case-sensitive", case_sensitive_by_default(version))
    return {
        "case_sensitive": of_type("case-sensitive", case_sensitive, bool),
        "rules": tuple(list_of("filter.rules", in_file, str)),
        "event_filters": tuple(entries("filter.event-filters", in_file, EventFilter.parse)),
        "ignore_txn_start_ts": frozenset(list_of("filter.ignore-txn-start-ts", in_file, int)),
    }


def _require_whole_expressions(dispatchers: Iterable[Dispatcher]) -> None:
    """Raises ConfigError for a topic expression of Avro with one of {schema} and {table} alone.
    Source: TiCDC `cdc/sink/dispatcher/topic/expression.go`, `ValidateForAvro`."""
    for topic in (rule.topic for rule in dispatchers):
        if "{" in topic and not ("{schema}" in topic and "{table}" in topic):
            raise ConfigError(f"a topic of avro names {{schema}} and {{table}}, unlike {topic!r}")


def _sink_uri(sink_uri: str) -> tuple[str, dict[str, str]]:
    """The topic and the parameters."""
    scheme, path, in_uri = uri_parts(sink_uri)
    if scheme not in ("kafka", "kafka+ssl"):
        raise ConfigError(f"the sink URI's scheme is {scheme!r}, not kafka")
    topic = path.strip("/")
    if not topic:
        raise ConfigError("the sink URI names no topic")
    return topic, in_uri


def _checked(in_uri: Mapping[str, str], in_file: Mapping[str, Any]) -> list[str]:
    """The settings without effect. Raises ConfigError for one that is unknown or unsupported."""
    settings = [*_SETTINGS.values(), *_OLD_VALUE.values()]
    known = {*(s.path for s in settings if s.path), *_LISTS, "case-sensitive"}
    unknown = set(in_uri) - {setting.parameter for setting in settings} - _IGNORED_IN_URI
    ignored = sorted(set(in_uri) & _IGNORED_IN_URI)
    return ignored + checked(in_file, known, _UNSUPPORTED, _IGNORED, unknown)
