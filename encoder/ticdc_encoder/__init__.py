"""Changes of a TiDB cluster, and how TiCDC writes them to Kafka and to cloud storage.

    from ticdc_encoder import Changefeed

The events, `Message` and the errors come at once; what parses SQL or knows the formats is imported
when it is first used.
"""

import importlib
import typing

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
from ticdc_encoder.message import Message
from ticdc_encoder.partitioning import Partition, Partitioning, PartitionValue

if typing.TYPE_CHECKING:
    from ticdc_encoder.changefeed import Changefeed, StorageChangefeed, StorageFile
    from ticdc_encoder.changefeed.split import SplitMode
    from ticdc_encoder.formats import FORMATS, MessageTooLarge, MissingCommitTs
    from ticdc_encoder.formats.claim_check import ClaimCheckError
    from ticdc_encoder.formats.registry import Registry, RegistryError
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
    "FORMATS": "ticdc_encoder.formats",
    "Changefeed": "ticdc_encoder.changefeed",
    "ClaimCheckError": "ticdc_encoder.formats.claim_check",
    "MessageTooLarge": "ticdc_encoder.formats",
    "MissingCommitTs": "ticdc_encoder.formats",
    "Registry": "ticdc_encoder.formats.registry",
    "RegistryError": "ticdc_encoder.formats.registry",
    "SplitMode": "ticdc_encoder.changefeed.split",
    "StorageChangefeed": "ticdc_encoder.changefeed",
    "StorageFile": "ticdc_encoder.changefeed",
    "parse_create_table": "ticdc_encoder.sql.parser",
}
"""Name -> the module that defines it."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
