"""Identifiers in PostgreSQL's SQL."""

from ticdc_consumer.errors import Unsupported

LONGEST_NAME = 63
"""Bytes. PostgreSQL cuts longer names silently."""


def quote_name(name: str) -> str:
    if "\0" in name or not name:
        raise Unsupported(f"PostgreSQL cannot have the name {name!r}")
    if len(name.encode()) > LONGEST_NAME:
        raise Unsupported(f"the name {name!r} is longer than PostgreSQL's {LONGEST_NAME} bytes")
    return '"' + name.replace('"', '""') + '"'
