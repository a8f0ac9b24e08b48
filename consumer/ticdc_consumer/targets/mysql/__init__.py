"""MySQL, MariaDB and TiDB: one family, its differences in `dialects`."""

from typing import Any

import sqlalchemy as sa

from ticdc_consumer.targets.mysql.encode import encode_keys, encode_rows
from ticdc_consumer.targets.target import Target

__all__ = ["TARGETS", "encode_keys", "encode_rows", "open"]


def open(url: sa.URL) -> Target:
    """A session of whichever of the three the server is, by what it says of its version."""
    from ticdc_consumer.targets.mysql.session import open_session

    return open_session(url)


def __getattr__(name: str) -> Any:
    # Spark's tasks encode, and have no database driver.
    if name == "TARGETS":
        from ticdc_consumer.targets.mysql.session import TARGETS

        return TARGETS
    raise AttributeError(name)
