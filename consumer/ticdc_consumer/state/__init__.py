"""The consumer's state in the target: checkpoint, DDL ledger, table definitions."""
