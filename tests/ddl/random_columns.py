"""Columns of random histories: types, values for them, and what they may change into."""

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, Column

TYPES = (
    "TINYINT", "SMALLINT UNSIGNED", "MEDIUMINT", "INT", "INT UNSIGNED", "BIGINT",
    "BIGINT UNSIGNED", "DECIMAL(6,2)", "DECIMAL(20,5)", "FLOAT", "DOUBLE", "DOUBLE(8,2)",
    "BIT(1)", "BIT(8)", "BIT(40)", "YEAR", "DATE", "DATETIME", "DATETIME(3)", "DATETIME(6)",
    "TIMESTAMP", "TIMESTAMP(6)", "TIME", "TIME(2)", "TIME(6)", "CHAR(4)", "VARCHAR(8)",
    "VARCHAR(40)", "TEXT", "VARCHAR(8) CHARACTER SET latin1",
    "VARCHAR(8) COLLATE utf8mb4_general_ci", "BINARY(3)", "VARBINARY(8)", "BLOB",
    "ENUM('p','q','r')", "SET('p','q','r')", "JSON",
)  # fmt: skip
CHANGES = {
    "TINYINT": ("SMALLINT", "INT", "DECIMAL(20,5)", "VARCHAR(40)"),
    "SMALLINT UNSIGNED": ("INT UNSIGNED", "INT", "BIGINT UNSIGNED"),
    "MEDIUMINT": ("INT", "BIGINT", "TEXT"),
    "INT": ("BIGINT", "DECIMAL(20,5)", "DECIMAL(6,2)", "VARCHAR(40)"),
    "INT UNSIGNED": ("BIGINT UNSIGNED", "BIGINT"),
    "DECIMAL(6,2)": (
        "DECIMAL(20,5)", "DECIMAL(8,2)", "DECIMAL(6,1)", "VARCHAR(40)", "INT", "FLOAT", "DOUBLE",
    ),
    "DECIMAL(20,5)": ("DECIMAL(18,2)", "BIGINT", "DOUBLE", "FLOAT", "TEXT"),
    "FLOAT": ("DOUBLE",),
    "BIT(1)": ("BIT(8)",),
    "BIT(8)": ("BIT(40)",),
    "DATE": ("DATETIME", "DATETIME(3)", "VARCHAR(40)", "INT"),
    "DATETIME": ("DATETIME(3)", "DATE", "VARCHAR(40)", "BIGINT"),
    "DATETIME(3)": ("DATETIME(6)", "DATETIME", "DATE", "CHAR(30)"),
    "DATETIME(6)": ("DATETIME", "DATETIME(3)", "TEXT"),
    "TIMESTAMP": ("TIMESTAMP(6)",),
    "TIMESTAMP(6)": ("TIMESTAMP", "TIMESTAMP(3)"),
    "TIME": ("TIME(2)", "VARCHAR(40)", "INT"),
    "TIME(2)": ("TIME", "TIME(6)"),
    "TIME(6)": ("TIME(2)", "TEXT"),
    "CHAR(4)": ("CHAR(9)", "VARCHAR(8)", "TEXT"),
    "VARCHAR(8)": ("VARCHAR(40)", "TEXT", "CHAR(9)", "VARCHAR(8) COLLATE utf8mb4_general_ci"),
    "VARCHAR(40)": ("VARCHAR(200)", "TEXT", "CHAR(40)"),
    "VARCHAR(8) CHARACTER SET latin1": ("VARCHAR(40)",),
    "VARCHAR(8) COLLATE utf8mb4_general_ci": ("VARCHAR(40)", "VARCHAR(8)"),
    "TEXT": ("MEDIUMTEXT", "LONGTEXT"),
    "BINARY(3)": ("BINARY(5)", "VARBINARY(8)"),
    "VARBINARY(8)": ("VARBINARY(20)", "BLOB", "BINARY(8)"),
    "BLOB": ("LONGBLOB",),
    "ENUM('p','q','r')": ("ENUM('p','q','r','s')", "ENUM('r','q','p')", "VARCHAR(40)"),
    "SET('p','q','r')": ("SET('p','q','r','s')", "VARCHAR(40)"),
}  # fmt: skip
"""What existing values may become without a stop."""
_DATES = ("'2024-02-29'", "'1969-12-31'", "'9999-12-31'", "'1000-01-01'", "20240101")
_MOMENTS = (
    "'2024-02-29 10:11:12.5'", "'1969-12-31 23:59:59.25'", "'1999-12-31 23:59:59.9995'",
    "'9999-01-01'", "20240101101112",
)  # fmt: skip
_STAMPS = (
    "'2024-02-29 10:11:12.5'", "'1971-01-01 00:00:01'", "'1999-12-31 23:59:59.9995'",
    "'2037-12-31 23:59:59'",
)  # fmt: skip


def values(type_: str) -> tuple[str, ...]:
    """Literals for a column of that type."""
    name = type_.split("(")[0].split(" ")[0].lower()
    if name in INTEGERS:
        return "0", "1", "7", "100", "'12'"
    match name:
        case "decimal" | "float" | "double":
            return "0", "1.5", "-2.25", "0.1", "1234.567", "'3.14'", "1e2", "-0.005", "2.5"
        case "bit":
            return "0", "1", "b'1'"
        case "year":
            return "2024", "1901", "70", "'0000'"
        case "date":
            return _DATES
        case "datetime":
            return _MOMENTS
        case "timestamp":
            return _STAMPS
        case "time":
            return "'10:11:12.5'", "'-1:02:03'", "'838:59:59'", "101112", "'-0:00:00.25'"
        case "enum":
            return "'p'", "'q'", "2"
        case "set":
            return "'p'", "'q,p'", "3"
        case "json":
            return """'{"a": [1, "x"]}'""", "'null'", "'7'"
    if name in BINARIES:
        return "x'00ff'", "'ab'", "''", "x'616200'"
    assert name in TEXTS, type_
    return "''", "'ab'", "'é'", "'a b '", "'it''s'", "'x\\\\y'", "'AB'"


def named(column: Column) -> str | None:
    """That one of TYPES which the column may be of."""
    return next((of for of in TYPES if _is(of, column)), None)


def _is(type_: str, column: Column) -> bool:
    name, _, rest = type_.partition("(")
    digits = rest.partition(")")[0]
    of = column.type
    numbers = [str(n) for n in (of.length, of.decimals) if n is not None]
    if name.split(" ")[0].lower() != of.name or ("UNSIGNED" in type_) != of.unsigned:
        return False
    if of.name in INTEGERS or of.name in ("float", "double", "year", "text", "blob", "json"):
        return True
    if of.name in ("enum", "set"):
        return rest == ",".join(f"'{label}'" for label in of.elements) + ")"
    if of.name in ("datetime", "timestamp", "time"):
        return digits == str(of.decimals or "")
    same = ("latin1" in type_) == (of.charset == "latin1")
    same &= ("general_ci" in type_) == (of.collation == "utf8mb4_general_ci")
    return digits == ",".join(numbers) and same
