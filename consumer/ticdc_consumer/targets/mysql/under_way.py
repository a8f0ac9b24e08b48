"""DDL that a server of the MySQL family still runs, perhaps for a client that ended long ago.

A client that timed out or lost its connection does not end its statement. Starting it again would
repeat hours of work, so the consumer waits for running DDL on a table; the catalog shows the
outcome.
"""

import logging
import re
import time
from collections.abc import Sequence

from ticdc_encoder.tso import duration

from ticdc_consumer.errors import Unavailable
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.mysql.dialects import Dialect
from ticdc_consumer.targets.target import Target

logger = logging.getLogger(__name__)

LONGEST = 86_400.0
"""Seconds after which waiting ends the run: the statement continues, the next start waits on."""
EVERY = 30.0
PAUSE = 0.2

_DDL = re.compile(r"\s*(ALTER|CREATE|DROP|RENAME|TRUNCATE)\b", re.I)


class Wait:
    """Logs what the consumer waits for, at once and every half minute."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._logged_at = -EVERY

    def on(self, who: str, text: str) -> None:
        """Logs and pauses. Raises `Unavailable` if it takes too long."""
        waited = time.monotonic() - self._began
        message = f"{who} of the target still runs: {' '.join(text.split())[:200]}"
        if waited > LONGEST:
            raise Unavailable(f"{message}; after {duration(waited)} the wait was given up")
        if waited - self._logged_at >= EVERY:
            logger.warning(
                "%s; waiting for it, %s so far",
                message,
                duration(waited),
                extra={"event": "ddl_under_way", "seconds": waited},
            )
            self._logged_at = waited
        time.sleep(PAUSE)


def is_ddl(text: object) -> bool:
    return _DDL.match(str(text or "")) is not None


def wait_for_others(
    target: Target, dialect: Dialect, tables: Sequence[TargetName], schemas: Sequence[str] = ()
) -> None:
    """Waits until nobody else runs a DDL of these tables or in these schemas."""
    if not tables and not schemas:
        return
    wait = Wait()
    while running := _runs(target, dialect, tables, schemas):
        wait.on(*running)


def _runs(
    target: Target, dialect: Dialect, tables: Sequence[TargetName], schemas: Sequence[str]
) -> tuple[str, str] | None:
    with target.errors():
        rows = target.query(dialect.statements)
    for who, database, text in rows:
        if is_ddl(text) and (
            any(_is_in(str(text), database, schema) for schema in schemas)
            or any(_names(str(text), database, table) for table in tables)
        ):
            return str(who), str(text)
    return None


def _names(text: str, database: str | None, table: TargetName) -> bool:
    schema, name = table
    return (schema is None or _is_in(text, database, schema)) and _holds(text, name)


def _is_in(text: str, database: str | None, schema: str) -> bool:
    return schema == database or _holds(text, schema)


def _holds(text: str, name: str) -> bool:
    quoted = f"`{name.replace('`', '``')}`"
    return quoted in text or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.I) is not None
