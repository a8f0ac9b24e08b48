"""Names that settings may take. The modules that use them decide their meaning."""

from typing import Literal

Apply = Literal["net", "transactions"]
OnDrift = Literal["stop", "overwrite"]
OnUnsupported = Literal["stop", "skip"]
OnKind = Literal["stop", "skip", "if-certain"]
OnCorruption = Literal["stop", "warn"]
Compression = Literal["none", "lz4", "snappy"]
EncodingFormat = Literal["json", "avro"]
SparkStart = Literal["when-needed", "at-once"]
DateSeparator = Literal["none", "year", "month", "day"]

DDL_KINDS = (
    "CREATE DATABASE",
    "CREATE TABLE",
    "ALTER DATABASE",
    "ALTER TABLE",
    "DROP DATABASE",
    "DROP TABLE",
    "TRUNCATE TABLE",
    "RENAME TABLE",
    "RECOVER TABLE",
    "FLASHBACK TABLE",
    "FLASHBACK DATABASE",
    "VIEW",
    "CREATE VIEW",
    "DROP VIEW",
    "CREATE INDEX",
    "CREATE SEQUENCE",
    "ALTER SEQUENCE",
    "DROP SEQUENCE",
    "ADD COLUMN",
    "MODIFY COLUMN",
    "DROP COLUMN",
    "RENAME COLUMN",
    "SET DEFAULT",
    "ADD INDEX",
    "DROP INDEX",
    "RENAME INDEX",
    "EXCHANGE PARTITION",
    "TRUNCATE PARTITION",
    "DROP PARTITION",
)
"""Keys of `[ddl.kinds]`: a statement, or an action of ALTER TABLE. VIEW is every statement of a
view."""
VIEW_KINDS = frozenset({"VIEW", "CREATE VIEW", "DROP VIEW"})
"""Kinds that may be "if-certain": no row depends on them."""
