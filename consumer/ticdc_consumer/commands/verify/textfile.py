"""The results as metrics in a file for node_exporter's textfile collector."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ticdc_encoder.tso import seconds

from ticdc_consumer.commands.verify.report import TableReport
from ticdc_consumer.errors import Usage

TABLES: Final = "ticdc_consumer_verified_tables"
TIME: Final = "ticdc_consumer_verified_timestamp_seconds"
RESULTS: Final = ("equal", "differs", "not compared")


class TextFile:
    """A metrics file. Raises `Usage` at once if it could not be written."""

    def __init__(self, path: str, changefeed: str) -> None:
        try:
            from prometheus_client import CollectorRegistry, Gauge, write_to_textfile
        except ModuleNotFoundError as error:
            raise Usage(
                f"--metrics-file needs {error.name}, which is not installed: "
                "pip install 'ticdc-consumer[metrics]'"
            ) from error
        try:
            Path(path).touch()
        except OSError as error:
            raise Usage(f"--metrics-file {path}: {error.strerror}") from error
        self._registry, self._write, self._path = CollectorRegistry(), write_to_textfile, path
        self._labels = {"changefeed": changefeed}
        self._tables = Gauge(
            TABLES, "Tables by what was found.", ["changefeed", "result"], registry=self._registry
        )
        self._time = Gauge(
            TIME, "The time of R of the last table.", ["changefeed"], registry=self._registry
        )

    def replace(self, reports: Sequence[TableReport]) -> None:
        """Replaces the file's contents with these reports."""
        tables = Counter(map(_result, reports))
        for result in RESULTS:
            self._tables.labels(**self._labels, result=result).set(tables[result])
        newest = max((report.resolved_ts for report in reports), default=0)
        self._time.labels(**self._labels).set(seconds(newest))
        self._write(self._path, self._registry)


def _result(report: TableReport) -> str:
    if report.equal:
        return "equal"
    return "not compared" if report.problem else "differs"
