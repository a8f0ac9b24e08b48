"""Differences between protocols in a changefeed, an entry each: supported configurations, and
messages besides rows."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from ticdc_encoder.formats.debezium.ddl import CHANGE_TYPES
from ticdc_encoder.formats.debezium.format import WHOLE_OLD
from ticdc_encoder.version import Version


class _Settings(Protocol):
    """The settings that decide: see `ChangefeedConfig`."""

    @property
    def version(self) -> Version: ...
    @property
    def enable_tidb_extension(self) -> bool: ...
    @property
    def avro_enable_watermark(self) -> bool: ...
    @property
    def new_architecture(self) -> bool: ...


Condition = Callable[[_Settings], bool]


def _always(settings: _Settings) -> bool:
    return True


def _with_extension(settings: _Settings) -> bool:
    return settings.enable_tidb_extension


def _with_watermark(settings: _Settings) -> bool:
    return settings.enable_tidb_extension and settings.avro_enable_watermark


def _of_debezium(settings: _Settings) -> bool:
    return settings.new_architecture or settings.version >= WHOLE_OLD


def _of_debezium_with_extension(settings: _Settings) -> bool:
    return _of_debezium(settings) and settings.enable_tidb_extension


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolTraits:
    """Configuration: the TiCDC version `since` which there is the protocol, and the one that
    `refuses_force_replicate`; whether it `handles_large_messages`, marks them in TiDB's extension
    (`large_messages_need_extension`) and `has_raw_claim_checks`; whether rows `may_have_start_ts`;
    whether it needs a schema `registry`, and whether a `topic_names_table` if it is an expression;
    which of `OLD_VALUE` it reads (`old_value`), and from which version to which TiCDC turns old
    values off (`without_old_values`).

    Messages: whether an UPDATE has only `one_row`, the new one; whether it sends a `resolved`
    ts, and a `ddl`; the latter to every partition if `ddl_everywhere`, only for these `ddl_kinds`
    (TiDB's action codes), and with the table before and after it if `ddl_has_tables`. With
    `bootstraps` it sends schemas between rows, too.
    """

    since: Version | None = None
    refuses_force_replicate: Version | None = None
    handles_large_messages: bool = False
    large_messages_need_extension: bool = False
    has_raw_claim_checks: bool = True
    may_have_start_ts: bool = False
    registry: bool = False
    topic_names_table: bool = False
    old_value: str = "open"
    without_old_values: tuple[tuple[str, str], ...] = ()
    one_row: bool = False
    resolved: Condition = _always
    ddl: Condition = _always
    ddl_everywhere: bool = True
    ddl_kinds: Collection[int] | None = None
    ddl_has_tables: bool = False
    bootstraps: bool = False


PROTOCOLS: dict[str, ProtocolTraits] = {
    "avro": ProtocolTraits(
        refuses_force_replicate=Version(7, 3, 0),
        registry=True,
        topic_names_table=True,
        without_old_values=(("6.5.3", "6.5.x"), ("7.1.1", "7.1.3"), ("7.2.0", "7.3.x")),
        one_row=True,
        resolved=_with_watermark,
        ddl=_with_watermark,
    ),
    "canal-json": ProtocolTraits(
        handles_large_messages=True,
        large_messages_need_extension=True,
        resolved=_with_extension,
        ddl_everywhere=False,
    ),
    "csv": ProtocolTraits(one_row=True),
    "debezium": ProtocolTraits(
        since=Version(8, 0, 0),
        may_have_start_ts=True,
        old_value="debezium",
        resolved=_of_debezium_with_extension,
        ddl=_of_debezium,
        ddl_kinds=CHANGE_TYPES,
        ddl_has_tables=True,
    ),
    "debezium-avro": ProtocolTraits(
        refuses_force_replicate=Version(7, 3, 0),
        registry=True,
        old_value="debezium",
        resolved=_with_watermark,
        ddl=_with_watermark,
        ddl_kinds=CHANGE_TYPES,
        ddl_has_tables=True,
    ),
    "open-protocol": ProtocolTraits(handles_large_messages=True, has_raw_claim_checks=False),
    "simple": ProtocolTraits(
        since=Version(8, 0, 0),
        handles_large_messages=True,
        ddl_has_tables=True,
        bootstraps=True,
    ),
}
