"""Names as Avro allows them, which Debezium uses in its JSON, too."""

import re

_STRANGE = re.compile(r"[^A-Za-z0-9_]")


def sanitize(name: str) -> str:
    """The name as Avro allows it. Different names may become the same."""
    clean = _STRANGE.sub("_", name)
    return f"_{clean}" if clean[:1].isdigit() else clean
