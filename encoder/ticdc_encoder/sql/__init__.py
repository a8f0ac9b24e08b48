"""TiDB's DDL, parsed, and its effect on a table definition."""
