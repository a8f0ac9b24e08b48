"""One DDL at its place in the stream: translated, recorded in the ledger, run."""
