"""Comparison of a column's default in the catalog with the default that our statement gives it."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from ticdc_consumer.targets.mysql.create import MySqlColumn

_COMPARED = frozenset(
    {"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "char", "varchar", "enum"}
)
"""The types whose defaults every catalog shows in a comparable form."""


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column as `information_schema` shows it."""

    type: str
    nullable: bool
    collation: str | None
    default: str | None
    extra: str


def other_default(ours: MySqlColumn, present: CatalogColumn) -> bool:
    """Returns whether the two differ in their default or in being computed. For types that catalogs
    show in several forms, compares only whether there is a default."""
    generated = "GENERATED" in present.extra.upper().replace("DEFAULT_GENERATED", "")
    if generated != (ours.generated is not None):
        return True
    if generated:
        return False
    kind = ours.type.partition(" ")[0].partition("(")[0].lower()
    absent = present.default is None or present.default.upper() == "NULL"
    if ours.default is None or absent or present.default is None:
        # Some servers give each TIMESTAMP a default.
        return absent != (ours.default is None) and not (absent is False and kind == "timestamp")
    now = "CURRENT_TIMESTAMP"
    if ours.default.startswith(now) != present.default.upper().startswith(now):
        return True
    if kind not in _COMPARED or not ours.default.startswith("'"):
        return False
    return not _same(_plain(ours.default), _plain(present.default))


def _plain(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] == "'"
    return text[1:-1].replace("''", "'") if quoted else text


def _same(one: str, other: str) -> bool:
    if one == other or any(each in "'\\\n\r\t\0\x1a" or each > "\uffff" for each in one):
        return True  # catalogs escape some of these, and have ? for characters beyond U+FFFF
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False
