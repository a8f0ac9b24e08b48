"""Which texts are equal in TiDB's collations."""

import unicodedata

from ticdc_encoder.event import Value


def is_binary(collation: str | None) -> bool:
    """Whether texts of the collation are compared and ordered by their bytes."""
    return collation is None or collation == "binary" or collation.endswith("_bin")


def folded(text: str) -> str:
    """Without case and marks."""
    marks = unicodedata.normalize("NFKD", text)
    return "".join(c for c in marks if not unicodedata.combining(c)).casefold()


def weight(value: Value, collation: str | None) -> Value:
    """Equal for values that are equal in the collation: near enough to decide which keys are one
    key. Values that are not text, and texts without a collation, are their own weight."""
    if not isinstance(value, str) or collation is None:
        return value
    if "_ci" in collation:
        value = folded(value)
    return value if "0900" in collation else value.rstrip(" ")
