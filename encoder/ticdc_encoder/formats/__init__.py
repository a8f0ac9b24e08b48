"""One module per protocol, encode and decode side by side; `FORMATS` names them as TiCDC does."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from ticdc_encoder.formats.format import (
    Clock,
    Encoder,
    Format,
    MessageTooLarge,
    MissingCommitTs,
    Record,
    wall_clock,
)

__all__ = [
    "FORMATS",
    "Clock",
    "Encoder",
    "Format",
    "MessageTooLarge",
    "MissingCommitTs",
    "Record",
    "wall_clock",
]

_NAMES = ("avro", "canal-json", "debezium", "debezium-avro", "open-protocol", "simple")


class _Formats(Mapping[str, Format[Any]]):
    """Formats, each imported at its first use."""

    def __getitem__(self, name: str) -> Format[Any]:
        if name not in _NAMES:
            raise KeyError(name)
        module = import_module(f"{__name__}.{name.replace('-', '_')}")
        format_: Format[Any] = module.FORMAT
        return format_

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


FORMATS: Mapping[str, Format[Any]] = _Formats()
"""Formats by name. Code for one protocol takes its own `FORMAT`, which is typed."""
