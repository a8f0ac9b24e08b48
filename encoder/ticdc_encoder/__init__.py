"""Changes of a TiDB cluster, and how TiCDC writes them to Kafka."""

from ticdc_encoder.column import Column, ColumnType, Index
from ticdc_encoder.errors import TicdcError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table, Transaction, Value
from ticdc_encoder.message import Message

__all__ = [
    "Column",
    "ColumnType",
    "Ddl",
    "Event",
    "Index",
    "Message",
    "Resolved",
    "Row",
    "RowChange",
    "Table",
    "TicdcError",
    "Transaction",
    "Value",
    "WireError",
]
