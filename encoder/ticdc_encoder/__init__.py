"""Changes of a TiDB cluster, and how TiCDC writes them to Kafka and to cloud storage.

    from ticdc_encoder import Changefeed

Names are imported when they are first used.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from ticdc_encoder.changefeed import Changefeed, StorageChangefeed, StorageFile
    from ticdc_encoder.changefeed.split import SplitMode
    from ticdc_encoder.column import Column, ColumnType, ForeignKey, Index
    from ticdc_encoder.errors import (
        ConfigError,
        DefinitionError,
        FieldCount,
        ProduceError,
        TicdcError,
        TopicError,
        WireError,
    )
    from ticdc_encoder.event import (
        Ddl,
        Event,
        KeyChange,
        Resolved,
        Row,
        RowChange,
        Table,
        Transaction,
        Value,
    )
    from ticdc_encoder.formats import FORMATS, MessageTooLarge, MissingCommitTs
    from ticdc_encoder.formats.claim_check import ClaimCheckError
    from ticdc_encoder.formats.registry import Registry, RegistryError
    from ticdc_encoder.message import Message
    from ticdc_encoder.partitioning import Partition, Partitioning, PartitionValue
    from ticdc_encoder.sql.parser import parse_create_table

__all__ = [
    "FORMATS",
    "Changefeed",
    "ClaimCheckError",
    "Column",
    "ColumnType",
    "ConfigError",
    "Ddl",
    "DefinitionError",
    "Event",
    "FieldCount",
    "ForeignKey",
    "Index",
    "KeyChange",
    "Message",
    "MessageTooLarge",
    "MissingCommitTs",
    "Partition",
    "PartitionValue",
    "Partitioning",
    "ProduceError",
    "Registry",
    "RegistryError",
    "Resolved",
    "Row",
    "RowChange",
    "SplitMode",
    "StorageChangefeed",
    "StorageFile",
    "Table",
    "TicdcError",
    "TopicError",
    "Transaction",
    "Value",
    "WireError",
    "parse_create_table",
]

_LAZY = {
    "Changefeed": "ticdc_encoder.changefeed",
    "ClaimCheckError": "ticdc_encoder.formats.claim_check",
    "Column": "ticdc_encoder.column",
    "ColumnType": "ticdc_encoder.column",
    "ConfigError": "ticdc_encoder.errors",
    "Ddl": "ticdc_encoder.event",
    "DefinitionError": "ticdc_encoder.errors",
    "Event": "ticdc_encoder.event",
    "FieldCount": "ticdc_encoder.errors",
    "ForeignKey": "ticdc_encoder.column",
    "FORMATS": "ticdc_encoder.formats",
    "Index": "ticdc_encoder.column",
    "KeyChange": "ticdc_encoder.event",
    "Message": "ticdc_encoder.message",
    "MessageTooLarge": "ticdc_encoder.formats",
    "MissingCommitTs": "ticdc_encoder.formats",
    "parse_create_table": "ticdc_encoder.sql.parser",
    "Partition": "ticdc_encoder.partitioning",
    "Partitioning": "ticdc_encoder.partitioning",
    "PartitionValue": "ticdc_encoder.partitioning",
    "ProduceError": "ticdc_encoder.errors",
    "Registry": "ticdc_encoder.formats.registry",
    "RegistryError": "ticdc_encoder.formats.registry",
    "Resolved": "ticdc_encoder.event",
    "Row": "ticdc_encoder.event",
    "RowChange": "ticdc_encoder.event",
    "SplitMode": "ticdc_encoder.changefeed.split",
    "StorageChangefeed": "ticdc_encoder.changefeed",
    "StorageFile": "ticdc_encoder.changefeed",
    "Table": "ticdc_encoder.event",
    "TicdcError": "ticdc_encoder.errors",
    "TopicError": "ticdc_encoder.errors",
    "Transaction": "ticdc_encoder.event",
    "Value": "ticdc_encoder.event",
    "WireError": "ticdc_encoder.errors",
}
"""Name -> the module that defines it."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
