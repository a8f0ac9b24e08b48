"""TiDB's DDL, parsed, and what it makes of a table definition."""
