"""TiDB's timestamps (TSO): `milliseconds << 18 | counter`, and how people read them."""

import time
from datetime import UTC, datetime

PHYSICAL_SHIFT = 18
_LAST_MILLISECOND = 253_402_300_799_999  # of the year 9999


def physical(ts: int) -> int:
    """Milliseconds since 1970, in UTC."""
    return ts >> PHYSICAL_SHIFT


def compose(milliseconds: int) -> int:
    """The first timestamp of this millisecond since 1970."""
    return milliseconds << PHYSICAL_SHIFT


def seconds(ts: int) -> float:
    """Seconds since 1970, in UTC."""
    return physical(ts) / 1000


def moment(ts: int) -> datetime:
    """The time of a commit_ts or resolved_ts, in UTC."""
    milliseconds = physical(ts)
    if milliseconds > _LAST_MILLISECOND:
        return datetime.max.replace(tzinfo=UTC)
    return datetime.fromtimestamp(milliseconds // 1000, UTC).replace(
        microsecond=milliseconds % 1000 * 1000
    )


def with_time(ts: int) -> str:
    """`429918007904436226 (2021-12-20 13:30:49.196 UTC)`."""
    return f"{ts} ({moment(ts):%Y-%m-%d %H:%M:%S}.{moment(ts).microsecond // 1000:03} UTC)"


def lag(ts: int) -> float:
    """Seconds that this machine's clock is past the timestamp; 0 if it is behind."""
    return max(0.0, time.time() - seconds(ts))


def duration(time_: float) -> str:
    """Seconds as `0.8 s`, `5 min`, `3 h`, `12 d`."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if time_ >= 2 * length:
            return f"{time_ / length:.0f} {unit}"
    return f"{time_:.1f} s"
