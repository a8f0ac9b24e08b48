"""One package per database: types, encoding, statements."""

import sqlalchemy as sa

from ticdc_consumer.errors import Usage
from ticdc_consumer.targets.target import Target


def open_target(url: str) -> Target:
    """Connects to the database of a SQLAlchemy URL. Raises `Usage` for one that is none, or whose
    driver is not installed, and `Unavailable` where the database does not answer."""
    try:
        parsed = sa.make_url(url)
        backend = parsed.get_backend_name()
    except sa.exc.ArgumentError:
        raise Usage("[target] url is not a SQLAlchemy URL, as postgresql://user@host/db") from None
    if backend in ("mysql", "mariadb", "tidb") and not parsed.database:
        raise Usage(f"[target] url names no database, as {backend}+pymysql://user@host/db")
    try:
        match backend:
            case "postgresql":
                from ticdc_consumer.targets.postgresql import TARGET

                return TARGET.open(parsed)
            case "sqlite":
                from ticdc_consumer.targets.sqlite import TARGET as SQLITE

                return SQLITE.open(parsed)
            case "mysql" | "mariadb" | "tidb":
                from ticdc_consumer.targets.mysql import open as open_mysql

                return open_mysql(parsed)
    except ModuleNotFoundError as error:
        raise Usage(
            f"the driver for {backend} is not installed ({error.name}): "
            f"pip install ticdc-consumer[{'postgresql' if backend == 'postgresql' else 'mysql'}]"
        ) from error
    raise Usage(
        f"[target] url names {backend}, which is none of postgresql, mysql, mariadb, sqlite"
    )
