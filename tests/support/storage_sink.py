"""A cloud storage sink that writes to a folder: TiCDC's files, made by the product's encoder."""

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from ticdc_encoder.changefeed.storage import StorageChangefeed, StorageFile
from ticdc_encoder.event import Ddl, RowChange, Transaction
from ticdc_encoder.sql.parser import parse_create_table

from support.torture_topics import ITEMS, ts

CONFIG = "[sink.csv]\ninclude-commit-ts = true\n"


class Sink:
    """One run of a changefeed; another one on the same folder is what a restarted TiCDC does."""

    def __init__(
        self,
        folder: Path,
        protocol: str = "csv",
        start: int = 1,
        today: date = date(2024, 5, 25),
        parameters: str = "",
        force_replicate: bool = False,
        config: str = "",
        **made: Any,
    ) -> None:
        """`config` follows what is in `[sink.csv]`; `made` are version and architecture."""
        self.folder = folder
        self._changefeed = StorageChangefeed(
            # Of a parameter that comes twice, the first counts.
            f"file:///sink?protocol={protocol}{parameters}&enable-tidb-extension=true",
            f"force-replicate = {str(force_replicate).lower()}\n{CONFIG}{config}",
            start_ts=ts(start),
            today=lambda: today,
            clock=lambda: 0,
            **made,
        )

    def send(self, *changes: RowChange) -> None:
        """Rows, each a transaction, that are flushed to files of their own."""
        for change in changes:
            self._write(self._changefeed.encode(Transaction(change.commit_ts, (change,))))
        self._write(self._changefeed.flush())

    def mark(self, number: int) -> None:
        self._write(self._changefeed.resolve(ts(number)))

    def create(self, number: int, sql: str = ITEMS, schema: str = "shop") -> None:
        self.ddl(number, sql, parse_create_table(sql, schema).name, kind=3, schema=schema)

    def ddl(
        self, number: int, query: str, table: str, kind: int = 0, schema: str = "shop", **known: Any
    ) -> None:
        self._write(self._changefeed.ddl(Ddl(schema, table, query, ts(number), kind, **known)))

    def files(self, pattern: str) -> list[Path]:
        return sorted(self.folder.glob(pattern))

    def _write(self, files: Iterable[StorageFile]) -> None:
        for file in files:
            path = self.folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
