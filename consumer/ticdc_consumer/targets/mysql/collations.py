"""Which collations hold apart what upstream holds apart.

A unique key of the target must never take two upstream keys for one. So the relation "equal under
the target's collation" must lie within "equal under upstream's".
"""

from ticdc_encoder.column import TEXTS, ColumnType
from ticdc_encoder.sql.column import default_collation

from ticdc_consumer.targets.mysql.dialects import Dialect

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
# Equal: the same bytes, spaces at the end aside.
_BIN = _NO_PAD_BIN | {"utf8mb4_bin", "utf8mb3_bin", "utf8_bin", "latin1_bin", "ascii_bin"}
_GENERAL_CI = _BIN | {
    f"{charset}_general{pad}_ci"
    for charset in ("utf8mb4", "utf8mb3", "utf8")
    for pad in ("", "_nopad")
}
_UNICODE_CI = _BIN | {
    f"{charset}_unicode{pad}_ci"
    for charset in ("utf8mb4", "utf8mb3", "utf8")
    for pad in ("", "_nopad")
}
# No padding: a space at the end counts, so the padding ones above are not finer.
_0900_AI_CI = _NO_PAD_BIN | {
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_ci",
    "utf8mb4_0900_as_cs",
}

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
    "utf8mb4_unicode_ci": _UNICODE_CI,
    "utf8_unicode_ci": _UNICODE_CI,
    "utf8mb4_0900_ai_ci": _0900_AI_CI,
    "utf8mb4_0900_bin": _NO_PAD_BIN,
}
"""TiDB's collation -> those of a target that are the same or finer. For any other of TiDB's, only
those that compare bytes are."""

_SAME_NAMES = frozenset({"utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_unicode_ci"})


def upstream_collation(type_: ColumnType) -> str:
    """The stream's, else TiDB's default."""
    name = type_.collation or default_collation(type_.charset or "utf8mb4")
    return "utf8_" + name.removeprefix("utf8mb3_") if name.startswith("utf8mb3_") else name


def merges(collation: str, type_: ColumnType) -> bool:
    """Whether a unique key under this collation may take for equal what upstream holds apart."""
    if type_.name not in TEXTS:
        return False
    return collation not in NO_COARSER.get(upstream_collation(type_), _NO_PAD_BIN)


def new_collation(type_: ColumnType, dialect: Dialect) -> str:
    """The collation of a new column, which is utf8mb4 whatever upstream's character set is."""
    upstream = upstream_collation(type_)
    if upstream == "utf8mb4_0900_ai_ci":
        return dialect.no_pad_ci
    wide = "utf8mb4_" + upstream.removeprefix("utf8_") if "utf8_" in upstream else upstream
    if wide in _SAME_NAMES:
        return wide
    return "utf8mb4_bin" if NO_COARSER.get(upstream) == _BIN else dialect.no_pad_bin
