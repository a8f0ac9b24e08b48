"""Identifiers in SQLite's SQL."""

from ticdc_consumer.errors import Unsupported


def quote_name(name: str) -> str:
    if "\0" in name or not name:
        raise Unsupported(f"SQLite cannot have the name {name!r}")
    return '"' + name.replace('"', '""') + '"'
