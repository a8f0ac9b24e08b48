"""TiDB's types in SQLite: types of new columns, and the columns that hold each source type.

A value keeps its exact form only if the column's affinity does not change it: NUMERIC affinity
turns decimals into floats (https://www.sqlite.org/datatype3.html, section 3).
"""

from ticdc_encoder.column import BINARIES, INTEGERS, TEMPORALS, TEXTS, Column, ColumnType

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.column_mapping import labelled
from ticdc_consumer.targets.layout import TargetColumn

RULES: frozenset[str] = frozenset()

NEW = {
    **dict.fromkeys(INTEGERS, "INTEGER"),
    "bigint unsigned": "TEXT",
    "year": "INTEGER",
    "bit": "INTEGER",
    "bit(64)": "TEXT",
    "float": "REAL",
    "double": "REAL",
    "decimal": "TEXT",
    **dict.fromkeys(TEMPORALS, "TEXT"),
    "json": "TEXT",
    "enum": "TEXT",
    "set": "TEXT",
    "vector": "TEXT",
    **dict.fromkeys(TEXTS, "TEXT"),
    **dict.fromkeys(BINARIES, "BLOB"),
}
"""The type of a new column. SQLite's integers have 63 bits and a sign; TIMESTAMP is text in UTC."""

TEXT_NOCASE = "text:nocase"
"""The codec of a text whose unique key ignores case, as upstream does."""


def column_type(column: Column) -> str:
    return NEW[_kind(column.type)]


def _kind(type_: ColumnType) -> str:
    if type_.name == "bigint" and type_.unsigned:
        return "bigint unsigned"
    if type_.name == "bit" and type_.length == 64:
        return "bit(64)"
    return type_.name


def affinity(declared: str) -> str:
    """Returns the affinity by the rules of section 3.1; NONE is the one that SQLite calls BLOB."""
    declared = declared.upper()
    for affinity_, words in (
        ("INTEGER", ("INT",)),
        ("TEXT", ("CHAR", "CLOB", "TEXT")),
        ("NONE", ("BLOB",)),
        ("REAL", ("REAL", "FLOA", "DOUB")),
    ):
        if any(word in declared for word in words):
            return affinity_
    return "NUMERIC" if declared else "NONE"


def codec(type_: ColumnType, existing: TargetColumn, in_key: bool) -> str:
    """Returns the codec of such values for that column. Raises `Stop` with only the reason."""
    kind, has = _kind(type_), affinity(existing.type)
    new_type = NEW[kind]
    if kind in ("enum", "set"):
        if has == "INTEGER":
            return "integer"
        if has in ("TEXT", "NONE"):
            return labelled(type_, in_key)
    elif new_type == "INTEGER" and has in ("INTEGER", "NUMERIC", "NONE"):
        return "integer"
    elif new_type == "REAL" and has in ("REAL", "NUMERIC", "NONE"):
        return "number"
    elif new_type == "REAL" and has == "TEXT":
        return "quoted_number"
    elif new_type == "BLOB" and has in ("NONE", "NUMERIC"):
        return "blob"
    elif new_type != "BLOB" and has in ("TEXT", "NONE"):
        if kind in TEXTS:
            return TEXT_NOCASE if existing.collation == "NOCASE" else "text"
        return "text" if kind == "json" else f"quoted:{kind}"
    elif kind in TEMPORALS and has == "NUMERIC":
        # A text with a dash or a colon is not a number, and stays text.
        return f"quoted:{kind}"
    raise Stop(
        f"the target's type {existing.type or 'without a name'} has {has} affinity, which does not "
        f"keep every {kind} as it is; {new_type} does: alter the column, then start again"
    )


def merges(collation: str, type_: ColumnType) -> bool:
    """Returns whether keys may merge: BINARY merges only equal bytes. NOCASE folds ASCII letters,
    as every `_ci` collation of the upstream does."""
    match collation.upper():
        case "BINARY":
            return False
        case "NOCASE":
            return not (type_.collation or "").endswith("_ci")
        case _:
            return True
