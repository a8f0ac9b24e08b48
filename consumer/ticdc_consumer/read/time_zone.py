"""TIMESTAMP text of the TiCDC server's time zone -> UTC."""

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

import pyarrow as pa

from ticdc_consumer.errors import Stop

_SECONDS = len("2024-01-01 00:00:00")


class Zone:
    """A time zone by its IANA name. `utc` says that nothing is to be done."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._zone = ZoneInfo(name)
        self.utc = name in ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z")

    @property
    def fixed(self) -> bool:
        """Whether the offset from UTC has been one and the same at all times."""
        moments = (datetime(year, month, 1) for year in range(1900, 2040) for month in (1, 7))
        return len({m.replace(tzinfo=self._zone).utcoffset() for m in moments}) == 1

    def to_utc(self, texts: pa.Array, where: str) -> pa.Array:
        """Raises `Stop`, naming `where`, for an hour that the zone has twice or never."""
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
        moment = local.replace(tzinfo=self._zone).astimezone(UTC)
        again = local.replace(tzinfo=self._zone, fold=1).astimezone(UTC)
        back = moment.astimezone(self._zone).replace(tzinfo=None)
        if moment != again or back != local:
            raise Stop(
                f"{where}: a time that is twice or never in {self.name} (the clocks were changed): "
                "run the TiCDC server with --tz=UTC"
            )
        return moment.replace(tzinfo=None).isoformat(sep=" ")
