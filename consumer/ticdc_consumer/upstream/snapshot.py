"""A timestamp of the upstream that can be read, and stays readable while it is read."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.tso import physical

from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream.session import Record, SnapshotRemoved, UpstreamSession, reading

logger = logging.getLogger(__name__)

_SAFE_POINT = (
    "SELECT variable_value FROM mysql.tidb WHERE variable_name = 'tikv_gc_safe_point' LIMIT 1"
)
CATCH_UP = (
    "let the consumer catch up by: ticdc-consumer run CONFIG, then give this command once more"
)
"""Advice for commands that read the upstream as of R."""
NEWER = "load a newer snapshot, or leave --at out"
_DURATION = re.compile(r"(\d+)(h|m|s)")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


def current_ts(session: UpstreamSession) -> int:
    """The present timestamp: everything committed before is at or before it. The session must have
    no snapshot."""
    session.query("BEGIN")
    (row,) = session.query("SELECT @@tidb_current_ts")
    session.query("COMMIT")
    return int(_text(row))


def require_kept(session: UpstreamSession, snapshot_ts: int) -> None:
    """Raises `SnapshotRemoved` if the garbage collection has passed the snapshot, or would before
    reading begins. A user who may not read mysql.tidb learns it from the first read."""
    try:
        rows = session.query(_SAFE_POINT)
    except TicdcError:
        return
    safe_point = _moment(_text(rows[0])) if rows else None
    if safe_point is not None and physical(snapshot_ts) <= safe_point * 1000:
        raise SnapshotRemoved(
            f"the upstream no longer has the snapshot of {snapshot_ts}: its garbage collection is "
            f"at {datetime.fromtimestamp(safe_point, UTC):%Y-%m-%d %H:%M:%S} UTC"
        )


@contextmanager
def advising(advice: str) -> Iterator[None]:
    """Adds `advice` to the error of a removed snapshot."""
    try:
        yield
    except SnapshotRemoved as removed:
        raise SnapshotRemoved(f"{removed}; {advice}") from None


def life_time(session: UpstreamSession) -> float:
    """Seconds for which the upstream keeps old rows by default."""
    (row,) = session.query("SELECT @@tidb_gc_life_time")
    parts = _DURATION.findall(_text(row))
    return float(sum(int(number) * _SECONDS[unit] for number, unit in parts))


@contextmanager
def pinned(url: str, snapshot_ts: int) -> Iterator[None]:
    """Keeps the garbage collection from passing the snapshot: it waits for the oldest transaction,
    such as this one, for up to `tidb_gc_max_wait_time` (a day by default)."""
    with reading(url) as session:
        moment = datetime.fromtimestamp(physical(snapshot_ts) / 1000, UTC)
        text = f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03}"
        try:
            session.query(f"START TRANSACTION READ ONLY AS OF TIMESTAMP '{text}'")
        except Stop as refusal:
            logger.warning(
                "the upstream's garbage collection cannot be kept from the snapshot: %s",
                refusal,
                extra={"event": "snapshot_not_pinned", "reason": str(refusal)},
            )
        yield


def _moment(text: str) -> float | None:
    """Seconds since 1970 of a time in mysql.tidb: `20240229-10:11:12 +0800`, with or without
    milliseconds."""
    shorter = re.sub(r"\.\d+", "", text)
    for form in ("%Y%m%d-%H:%M:%S %z", "%Y%m%d-%H:%M:%S %z %Z"):
        try:
            return datetime.strptime(shorter, form).timestamp()
        except ValueError:
            continue
    return None


def _text(row: Record) -> str:
    value = row[0]
    return value.decode() if isinstance(value, bytes) else str(value)
