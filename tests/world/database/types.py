"""As for SQLite, which holds the rows."""

from ticdc_consumer.targets.sqlite.types import RULES

__all__ = ["RULES"]
