"""What the consumer keeps in the target: checkpoint, DDL ledger, table definitions."""
