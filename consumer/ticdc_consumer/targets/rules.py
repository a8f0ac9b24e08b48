"""Names by which settings choose how a target is written. Each target decides what they mean."""

from typing import Literal

Publish = Literal["driver", "staging"]

CALENDAR_DATES = "calendar-dates"
LITERAL_DEFAULTS = "literal-defaults"
SAME_COLLATIONS = "same-collations"
VECTOR_AS_TEXT = "vector-as-text"
ZERO_DATE_AS_NULL = "zero-date-as-null"
"""PostgreSQL: zero and partial dates, and days that their month lacks, are written as NULL into
nullable columns outside the key. Without this rule they are refused."""

LOSSY_RULES = frozenset(
    {CALENDAR_DATES, LITERAL_DEFAULTS, SAME_COLLATIONS, VECTOR_AS_TEXT, ZERO_DATE_AS_NULL}
)
"""Lossy mappings that `[target] rules` may switch on; `docs/reference/types.md` describes them."""
