"""Equality of texts in TiDB's collations."""

import unicodedata

from ticdc_encoder.event import Value


def is_binary(collation: str | None) -> bool:
    """Returns whether texts of the collation are compared and ordered by their bytes."""
    return collation is None or collation == "binary" or collation.endswith("_bin")


def folded(text: str) -> str:
    """The text without case and marks."""
    marks = unicodedata.normalize("NFKD", text)
    return "".join(c for c in marks if not unicodedata.combining(c)).casefold()


def weight(value: Value, collation: str | None) -> Value:
    """A value that is equal for equal values of the collation: near enough to decide which keys are
    one key. Values that are not text, and texts without a collation, are their own weight."""
    if not isinstance(value, str) or collation is None:
        return value
    if "_ci" in collation:
        value = folded(value)
    return value if "0900" in collation else value.rstrip(" ")
