"""SQLite: JSON arrays, bound row by row."""

from typing import TYPE_CHECKING, Any

from ticdc_consumer.targets.sqlite.encode import encode_keys, encode_rows

if TYPE_CHECKING:
    from ticdc_consumer.targets.sqlite.session import SQLite as TARGET

__all__ = ["TARGET", "encode_keys", "encode_rows"]


def __getattr__(name: str) -> Any:
    # Spark's tasks encode, and need neither SQLAlchemy nor a file.
    if name == "TARGET":
        from ticdc_consumer.targets.sqlite.session import SQLite

        return SQLite
    raise AttributeError(name)
