"""DuckDB as a target: a distribution of its own, found by its entry point."""

from ticdc_consumer.targets import Database

DATABASE = Database("ticdc_duckdb", requirement="ticdc-consumer[duckdb]")
