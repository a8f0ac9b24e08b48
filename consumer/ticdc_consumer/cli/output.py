"""What the commands print: never a password, and nothing to a reader who has gone."""

import logging
import os
import sys
import traceback
from types import TracebackType

from ticdc_encoder.cli.output import standard_output
from ticdc_encoder.errors import ConfigError, TicdcError, visible, visible_lines

from ticdc_consumer.config.options import Options
from ticdc_consumer.config.redact import redact, secrets_of
from ticdc_consumer.errors import Usage

UNDECIDED = 3
"""The exit code of an error in the data that has no code of its own."""

_secrets: set[str] = set()


def hide_secrets(options: Options) -> None:
    """From now on the secrets of these options are masked in all output."""
    _secrets.update(secrets_of(options))


def print_out(text: str) -> None:
    """A line to the standard output, or several whose parts are `visible` already. Raises
    `OutputClosed` or `OutputError`."""
    with standard_output():
        print(visible_lines(redact(text, _secrets)), flush=True)


def print_error(error: TicdcError) -> int:
    """One line to the standard error, behind the traceback if TICDC_DEBUG=1. Returns the exit
    code."""
    if os.environ.get("TICDC_DEBUG") == "1":
        print_traceback(type(error), error, error.__traceback__)
    print(f"ticdc-consumer: {visible(redact(str(error), _secrets))}", file=sys.stderr)
    return exit_code(error)


def print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """An excepthook that shows no password."""
    lines = traceback.format_exception(kind, error, trace)
    sys.stderr.write(visible_lines(redact("".join(lines), _secrets)))


class LogLine(logging.Formatter):
    """A record as one line, behind which its traceback may be, without passwords."""

    def format(self, record: logging.LogRecord) -> str:
        message = visible(redact(record.getMessage(), _secrets))
        if not record.exc_info:
            return message
        return (
            f"{message}\n{visible_lines(redact(self.formatException(record.exc_info), _secrets))}"
        )


def exit_code(error: TicdcError) -> int:
    if isinstance(error, ConfigError):
        return Usage.exit_code
    return int(getattr(error, "exit_code", UNDECIDED))
