"""PostgreSQL: COPY in text format, through psycopg."""

from typing import TYPE_CHECKING, Any

from ticdc_consumer.targets.postgresql.encode import encode_keys, encode_rows

if TYPE_CHECKING:
    from ticdc_consumer.targets.postgresql.session import PostgreSQL as TARGET

__all__ = ["TARGET", "encode_keys", "encode_rows"]


def __getattr__(name: str) -> Any:
    # Spark's tasks encode, and have no database driver.
    if name == "TARGET":
        from ticdc_consumer.targets.postgresql.session import PostgreSQL

        return PostgreSQL
    raise AttributeError(name)
