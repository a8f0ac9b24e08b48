"""TIMESTAMP text of the TiCDC server's time zone -> UTC."""

from datetime import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

import pyarrow as pa
from ticdc_encoder.values import utc_moment

from ticdc_consumer.errors import Stop

_SECONDS = len("2024-01-01 00:00:00")


class Zone:
    """A time zone by its IANA name. `utc` tells that nothing is to be converted."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._zone = ZoneInfo(name)
        self.utc = name in ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z")

    @property
    def fixed(self) -> bool:
        """Returns whether the offset from UTC is the same at all times."""
        moments = (datetime(year, month, 1) for year in range(1900, 2040) for month in (1, 7))
        return len({m.replace(tzinfo=self._zone).utcoffset() for m in moments}) == 1

    def to_utc(self, texts: pa.Array, where: str) -> pa.Array:
        """Returns the texts in UTC, null for null. Raises `Stop`, naming `where`, for a time that
        occurs twice or never in the zone."""
        return pa.array(
            [None if t is None else self._one(t, where) for t in texts.to_pylist()], pa.string()
        )

    def _one(self, text: str, where: str) -> str:
        # Zero timestamps mean no moment.
        if text.startswith("0000"):
            return text
        return self._second(text[:_SECONDS], where) + text[_SECONDS:]

    @lru_cache(maxsize=65536)  # noqa: B019 - a zone lives as long as its task's process
    def _second(self, text: str, where: str) -> str:
        try:
            local = datetime.fromisoformat(text)
        except ValueError:
            raise Stop(f"{where}: not a TIMESTAMP") from None
        try:
            return utc_moment(local, self._zone).isoformat(sep=" ")
        except ValueError:
            raise Stop(
                f"{where}: a time that occurs twice or never in {self.name} (a clock change): "
                "run the TiCDC server with --tz=UTC"
            ) from None
