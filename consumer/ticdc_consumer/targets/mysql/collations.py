"""Comparison of collations by the values that they distinguish.

A unique key of the target must never merge two upstream keys. So the relation "equal under the
target's collation" must lie within "equal under upstream's".
"""

from ticdc_encoder.column import TEXTS, ColumnType
from ticdc_encoder.sql.column import default_collation

from ticdc_consumer.targets.mysql.dialects import TIDB, Dialect

# Equal: the same bytes.
_NO_PAD_BIN = frozenset(
    {
        "binary",
        "utf8mb4_0900_bin",
        "utf8mb4_nopad_bin",
        "utf8mb3_nopad_bin",
        "utf8_nopad_bin",
        "latin1_nopad_bin",
        "ascii_nopad_bin",
    }
)
# Equal: the same bytes, trailing spaces aside.
_BIN = _NO_PAD_BIN | {"utf8mb4_bin", "utf8mb3_bin", "utf8_bin", "latin1_bin", "ascii_bin"}
_GENERAL_CI = _BIN | {
    f"{charset}_general{pad}_ci"
    for charset in ("utf8mb4", "utf8mb3", "utf8")
    for pad in ("", "_nopad")
}
# No padding: a trailing space counts, so the padding collations above are not finer.
_0900_CI = frozenset({"utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs"})
_0900_AI_CI = _NO_PAD_BIN | _0900_CI

NO_COARSER: dict[str, frozenset[str]] = {
    "utf8mb4_bin": _BIN,
    "utf8_bin": _BIN,
    "latin1_bin": _BIN,
    "ascii_bin": _BIN,
    "gbk_bin": _BIN,
    "gb18030_bin": _BIN,
    "gbk_chinese_ci": _BIN,
    "gb18030_chinese_ci": _BIN,
    "utf8mb4_general_ci": _GENERAL_CI,
    "utf8_general_ci": _GENERAL_CI,
    # Outside TiDB any trailing space, such as U+00A0 or U+3000, is padding.
    "utf8mb4_unicode_ci": _BIN,
    "utf8_unicode_ci": _BIN,
    "utf8mb4_0900_ai_ci": _0900_AI_CI,
    "utf8mb4_0900_bin": _NO_PAD_BIN,
}
"""TiDB's collation -> target collations that are the same or finer. For TiDB's other collations,
only collations that compare bytes are."""

_SAME_NAMES = frozenset({"utf8mb4_bin", "utf8mb4_general_ci"})
_SAME_IN_TIDB = {
    "utf8mb4_unicode_ci": "utf8mb4_unicode_ci",
    "utf8_unicode_ci": "utf8mb4_unicode_ci",
}

IGNORED_LETTERS = "[\U0002f800-\U0002fa1f\U000e0000-\U000e0fff]"
"""Compatibility ideographs, tags and variation selectors: MySQL's utf8mb4_0900 collations treat
texts as equal that differ only by these, and TiDB's utf8mb4_0900_ai_ci does not."""


def upstream_collation(type_: ColumnType) -> str:
    """Returns the stream's collation, else TiDB's default."""
    name = type_.collation or default_collation(type_.charset or "utf8mb4")
    return "utf8_" + name.removeprefix("utf8mb3_") if name.startswith("utf8mb3_") else name


def merges(collation: str, type_: ColumnType, dialect: Dialect) -> bool:
    """Returns whether a unique key under this collation may merge values that the upstream
    distinguishes; under one that `ignores_letters`, only values with IGNORED_LETTERS."""
    if type_.name not in TEXTS:
        return False
    upstream = upstream_collation(type_)
    if dialect.name == TIDB.name and collation in (upstream, _SAME_IN_TIDB.get(upstream)):
        return False
    return collation not in NO_COARSER.get(upstream, _NO_PAD_BIN)


def ignores_letters(collation: str | None, dialect: Dialect) -> bool:
    return collation in _0900_CI and dialect.name != TIDB.name


def kept_charset(type_: ColumnType, dialect: Dialect) -> str | None:
    """The name here of the upstream's character set; None if a new column does not keep it."""
    if type_.name not in TEXTS or upstream_collation(type_) not in NO_COARSER:
        return None
    return dict(dialect.charsets).get(type_.charset or "")


def kept_collation(type_: ColumnType, charset: str, dialect: Dialect) -> str:
    """The collation of a new column that keeps the upstream's character set."""
    upstream = upstream_collation(type_)
    if dialect.name == TIDB.name:
        return upstream
    return f"{charset}_general_ci" if upstream == "utf8_general_ci" else f"{charset}_bin"


def new_collation(type_: ColumnType, dialect: Dialect) -> str:
    """The collation of a new utf8mb4 column, whatever the upstream's character set is."""
    upstream = upstream_collation(type_)
    if upstream == "utf8mb4_0900_ai_ci":
        return dialect.no_pad_ci
    if dialect.name == TIDB.name and upstream in _SAME_IN_TIDB:
        return _SAME_IN_TIDB[upstream]
    wide = "utf8mb4_" + upstream.removeprefix("utf8_") if "utf8_" in upstream else upstream
    if wide in _SAME_NAMES:
        return wide
    # A label never ends with a space, so padding makes no two labels equal.
    labelled = type_.name in ("enum", "set")
    return "utf8mb4_bin" if labelled or NO_COARSER.get(upstream) == _BIN else dialect.no_pad_bin
