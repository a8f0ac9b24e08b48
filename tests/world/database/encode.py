"""As for SQLite, which holds the rows."""

from ticdc_consumer.targets.sqlite.encode import encode_keys, encode_rows

__all__ = ["encode_keys", "encode_rows"]
