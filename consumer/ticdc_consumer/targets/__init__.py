"""One package per database: types, encoding, statements."""

import os
from pathlib import Path

import sqlalchemy as sa

from ticdc_consumer.errors import Unavailable, Usage
from ticdc_consumer.targets.target import Target


def open_target(url: str, *, to_look: bool = False) -> Target:
    """Connects to the database of a SQLAlchemy URL. Raises `Usage` for one that is none, or whose
    driver is not installed, and `Unavailable` where the database does not answer. `to_look`, and a
    SQLite file that is not there stays so: it is seen as the empty one that it will be."""
    try:
        parsed = sa.make_url(url)
        backend = parsed.get_backend_name()
    except sa.exc.ArgumentError:
        raise Usage("[target] url is not a SQLAlchemy URL, as postgresql://user@host/db") from None
    if backend in ("mysql", "mariadb", "tidb") and not parsed.database:
        raise Usage(f"[target] url names no database, as {backend}+pymysql://user@host/db")
    if backend == "sqlite" and parsed.database in (None, "", ":memory:"):
        raise Usage("[target] url names no file, as sqlite:////data/shop.db")
    try:
        match backend:
            case "postgresql":
                from ticdc_consumer.targets.postgresql import TARGET

                return TARGET.open(parsed)
            case "sqlite":
                from ticdc_consumer.targets.sqlite import TARGET as SQLITE

                return SQLITE.open(_empty(parsed) if to_look else parsed)
            case "mysql" | "mariadb" | "tidb":
                from ticdc_consumer.targets.mysql import open as open_mysql

                return open_mysql(parsed)
    except ModuleNotFoundError as error:
        raise Usage(
            f"the driver for {backend} is not installed ({error.name}): "
            f"pip install ticdc-consumer[{'postgresql' if backend == 'postgresql' else 'mysql'}]"
        ) from error
    raise Usage(
        f"[target] url names {backend}, which is none of postgresql, mysql, mariadb, tidb, sqlite"
    )


def _empty(url: sa.URL) -> sa.URL:
    """SQLite's own memory in place of a file that is not there. Raises `Unavailable` where it could
    not be made."""
    file = Path(url.database or "")
    if url.query or file.exists():
        return url
    if not os.access(file.parent, os.W_OK):
        raise Unavailable(f"{file} is not there, and cannot be made there")
    return url.set(database=":memory:")
