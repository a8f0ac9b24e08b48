"""Log lines of the commands on standard error: text for people, or objects for programs.

The library logs with `logging`, under `ticdc_consumer`, and configures nothing: an application that
embeds it decides what it shows. A record has an `event` and its fields next to the sentence
(docs/reference/logs.md lists them).
"""

import json
import logging
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal

from ticdc_encoder.cli.output import OutputClosed
from ticdc_encoder.errors import visible, visible_lines

from ticdc_consumer.cli.masking import masked

LogFormat = Literal["text", "json"]
LEVELS = ("debug", "info", "warning", "error")

_OF_EVERY_RECORD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "event"}
OURS = "ticdc_consumer"


class TextLine(logging.Formatter):
    """Formats a record as one line, then any traceback, without passwords."""

    def format(self, record: logging.LogRecord) -> str:
        message = visible(masked(record.getMessage()))
        if not record.exc_info:
            return message
        return f"{message}\n{visible_lines(masked(self.formatException(record.exc_info)))}"


class ObjectLine(logging.Formatter):
    """Formats a record as a JSON object without passwords. A TSO is a text: it does not fit into
    the 53 bits that jq and JavaScript keep of a number."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {
            name: value
            for name, value in vars(record).items()
            if name not in _OF_EVERY_RECORD and value is not None
        }
        members: dict[str, object] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": getattr(record, "event", "message"),
            **{name: _plain(name, value) for name, value in fields.items()},
            "text": masked(record.getMessage()),
        }
        if record.exc_info:
            members["traceback"] = masked(self.formatException(record.exc_info))
        return visible(json.dumps(members, ensure_ascii=False))


def _plain(name: str, value: Any) -> object:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(str(key), each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(name, each) for each in value]
    if name.endswith("_ts"):
        return str(value)
    return round(value, 3) if isinstance(value, float) else value


FORMATTERS: Mapping[LogFormat, Callable[[], logging.Formatter]] = {
    "text": TextLine,
    "json": ObjectLine,
}


def _write(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class StandardError(logging.Handler):
    """Writes to the current standard error."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(TextLine())
        self.failure: OSError | None = None
        """Reason why a line could not be written: nobody reads it, or the disk is full."""
        self._write: Callable[[str], None] = _write
        self._passed_over: Collection[str] = ()

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(record, "event", "") in self._passed_over:
            return
        try:
            self._write(self.format(record))
        except OSError as error:
            self.failure = error

    @contextmanager
    def through(self, write: Callable[[str], None], passed_over: Collection[str]) -> Iterator[None]:
        """Sends lines through `write`, and drops records of some events, inside the block."""
        self._write, self._passed_over = write, passed_over
        try:
            yield
        finally:
            self._write, self._passed_over = _write, ()

    def require_reader(self) -> None:
        """Raises `OutputClosed` after a line could not be written."""
        if self.failure is not None:
            raise OutputClosed


handler = StandardError()
"""Handler of this process; a command installs it."""


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Logs records inside the block: this project's from `info` on, others from `warning` on.
    `choose` changes that."""
    root, ours = logging.getLogger(), logging.getLogger(OURS)
    before = ours.level
    choose("text", "info")
    handler.failure = None
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        ours.setLevel(before)


def choose(log_format: LogFormat, level: str) -> None:
    """Sets the form and the least level of the log from here on."""
    handler.setFormatter(FORMATTERS[log_format]())
    logging.getLogger(OURS).setLevel(level.upper())


def writes_objects() -> bool:
    """Returns whether log lines are for programs."""
    return isinstance(handler.formatter, ObjectLine)


def print_record(level: int, event: str, text: str, fields: Mapping[str, object]) -> None:
    """Prints a final record to standard error, whatever the chosen level. A line for people begins
    with the name of the command."""
    record = logging.makeLogRecord(
        {
            "name": OURS,
            "levelno": level,
            "levelname": logging.getLevelName(level),
            "msg": "%s" if writes_objects() else "ticdc-consumer: %s",
            "args": (text,),
            "event": event,
            **fields,
        }
    )
    print(handler.format(record), file=sys.stderr, flush=True)
