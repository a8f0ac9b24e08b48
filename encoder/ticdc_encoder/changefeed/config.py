"""A changefeed's settings: the sink URI and the TOML file that `cdc cli changefeed create` takes.

The sink URI overrides the file. Source: TiCDC's "changefeed configurations" page and
`pkg/config/replica_config.go`, `pkg/config/sink.go`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from ticdc_encoder.changefeed.known_settings import GLUE, OLD_VALUE, SETTINGS, without_effect
from ticdc_encoder.changefeed.protocols import PROTOCOLS
from ticdc_encoder.changefeed.route import PARTITION_RULES, Dispatcher
from ticdc_encoder.changefeed.versions import (
    TABLE_ROUTES,
    UNRELEASED,
    case_sensitive_by_default,
    check_architecture,
    check_has,
    check_protocol,
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
    entries,
    flat,
    list_of,
    of_type,
    read_settings,
    toml_table,
    uri_parts,
)
from ticdc_encoder.version import Version, version_number

_ALIASES = {"flat-avro": "avro", "default": "open-protocol"}
_WITHOUT_OLD_VALUE = Version(7, 4, 0)
"""First version without enable-old-value: `pkg/config/replica_config.go` at v7.3.0, v7.4.0."""
_NEW_ARCHITECTURE_HEEDS_OLD_VALUE = version_number("8.5.6-release.1")


def check_old_value(in_file: Mapping[str, Any], version: Version) -> None:
    """Raises ConfigError for a setting that changes which rows are sent: see
    `convertRowChangedEvents`.
    """
    if in_file.get("enable-old-value") is False and version < _WITHOUT_OLD_VALUE:
        raise ConfigError("enable-old-value = false is not supported")


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
    debezium_include_start_ts: bool
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
        """Parses as TiCDC of that version does. Raises ConfigError, which names settings but never
        shows the URI: it may hold secrets."""
        check_architecture(version, new=new_architecture)
        topic, in_uri = _sink_uri(sink_uri)
        in_file = dict(flat(toml_table(config)))
        ignored = without_effect(in_uri, in_file)
        check_old_value(in_file, version)
        dispatchers = dispatchers_of(in_file, version, new=new_architecture)
        ignored += [
            f"sink.dispatchers: partition = {dispatcher.partition!r}"
            for dispatcher in dispatchers
            if dispatcher.partition.lower() not in PARTITION_RULES
        ]
        values = read_settings(SETTINGS, in_file, in_uri)
        protocol = values["protocol"] = _ALIASES.get(values["protocol"], values["protocol"])
        if protocol not in FORMATS:
            raise ConfigError(f"protocol is {protocol!r}, not one of {', '.join(sorted(FORMATS))}")
        old_value = OLD_VALUE[PROTOCOLS[protocol].old_value].read(in_file, in_uri)
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
            **filter_settings(in_file, version, new_architecture=new_architecture),
        )
        parsed._check_protocol()
        parsed._check_large_messages()
        parsed._check_force_replicate()
        return parsed

    @property
    def sends_resolved(self) -> bool:
        """Returns whether there are messages with a resolved ts."""
        return PROTOCOLS[self.protocol].resolved(self)

    def _check_protocol(self) -> None:
        traits = PROTOCOLS[self.protocol]
        if traits.registry and any(path.startswith(GLUE) for path in self.ignored):
            raise ConfigError(f"{GLUE} is not supported")
        for name in ("partition_num", "max_message_bytes", "max_batch_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name.replace('_', '-')} must be at least 1")
        if self.integrity_check and self.column_selectors:
            raise ConfigError("column-selectors exclude integrity-check-level = 'correctness'")
        check_protocol(self.protocol, self.version, new=self.new_architecture)
        for name in ("debezium_include_start_ts", "avro_include_before_value"):
            if getattr(self, name):
                setting = name.replace("_", "-")
                check_has(setting, UNRELEASED, self.version, new=self.new_architecture)
        if self.debezium_include_start_ts and not traits.may_have_start_ts:
            raise ConfigError(f"debezium-include-start-ts is not for {self.protocol}")
        if traits.topic_names_table:
            _require_whole_expressions(self.dispatchers)

    def _check_large_messages(self) -> None:
        if self.large_message_handle_option == "none":
            return
        traits = PROTOCOLS[self.protocol]
        if not traits.handles_large_messages:
            raise ConfigError(f"large-message-handle-option is not for {self.protocol}")
        if traits.large_messages_need_extension and not self.enable_tidb_extension:
            raise ConfigError(
                f"large-message-handle-option of {self.protocol} needs enable-tidb-extension"
            )
        if self.large_message_handle_option == "claim-check":
            if not self.claim_check_storage_uri:
                raise ConfigError("claim-check needs a claim-check-storage-uri")
            if self.claim_check_raw_value and not traits.has_raw_claim_checks:
                raise ConfigError(f"claim-check-raw-value is not for {self.protocol}")

    def _check_force_replicate(self) -> None:
        if not self.force_replicate:
            return
        old = not self.new_architecture
        refusing = PROTOCOLS[self.protocol].refuses_force_replicate
        if refusing is not None and self.version >= refusing:
            raise ConfigError("force-replicate is not for avro, whose keys it would leave out")
        if old and self.delete_only_output_handle_key_columns:
            raise ConfigError("force-replicate excludes delete-only-output-handle-key-columns")
        if old and self.large_message_handle_option != "none":
            raise ConfigError("force-replicate excludes large-message-handle-option")


def dispatchers_of(
    in_file: Mapping[str, Any], version: Version, *, new: bool
) -> tuple[Dispatcher, ...]:
    """Parses `sink.dispatchers`, which name topics and partitions, and the targets of tables."""
    dispatchers = tuple(entries("sink.dispatchers", in_file, Dispatcher.parse))
    for setting in ("target_schema", "target_table"):
        if any(getattr(dispatcher, setting) for dispatcher in dispatchers):
            check_has(setting.replace("_", "-"), TABLE_ROUTES, version, new=new)
    return dispatchers


def filter_settings(
    in_file: Mapping[str, Any], version: Version, *, new_architecture: bool
) -> dict[str, Any]:
    """Selection of tables and events by a changefeed: fields that every configuration has."""
    event_filters = tuple(entries("filter.event-filters", in_file, EventFilter.parse))
    if any(each.ignore_update_only_columns for each in event_filters):
        check_has("ignore-update-only-columns", UNRELEASED, version, new=new_architecture)
    case_sensitive = in_file.get("case-sensitive", case_sensitive_by_default(version))
    return {
        "case_sensitive": of_type("case-sensitive", case_sensitive, bool),
        "rules": tuple(list_of("filter.rules", in_file, str)),
        "event_filters": event_filters,
        "ignore_txn_start_ts": frozenset(list_of("filter.ignore-txn-start-ts", in_file, int)),
    }


def _require_whole_expressions(dispatchers: Iterable[Dispatcher]) -> None:
    """Raises ConfigError for Avro's topic expressions that contain only one of {schema} and
    {table}. Source: TiCDC `cdc/sink/dispatcher/topic/expression.go`, `ValidateForAvro`."""
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
