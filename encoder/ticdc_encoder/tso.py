"""TiDB's timestamps, for people: `milliseconds << 18 | counter`."""

import time
from datetime import UTC, datetime


def moment(ts: int) -> datetime:
    """When a commit_ts or resolved_ts was, in UTC."""
    milliseconds = ts >> 18
    if milliseconds > 253_402_300_799_999:
        return datetime.max.replace(tzinfo=UTC)
    return datetime.fromtimestamp(milliseconds // 1000, UTC).replace(
        microsecond=milliseconds % 1000 * 1000
    )


def seconds(ts: int) -> float:
    """Since 1970, in UTC."""
    return (ts >> 18) / 1000


def shown(ts: int) -> str:
    """`429918007904436226 (2021-12-20 13:30:49.196 UTC)`."""
    return f"{ts} ({moment(ts):%Y-%m-%d %H:%M:%S}.{moment(ts).microsecond // 1000:03} UTC)"


def lag(ts: int) -> float:
    """Seconds that this machine's clock is past the timestamp; 0 where it is behind."""
    return max(0.0, time.time() - seconds(ts))


def duration(time_: float) -> str:
    """`0.8 s`, `5 min`, `3 h`, `12 d`."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if time_ >= 2 * length:
            return f"{time_ / length:.0f} {unit}"
    return f"{time_:.1f} s"
