"""What the commands print: never a password, and nothing to a reader who has gone."""

import json
import logging
import os
import re
import sys
import traceback
from types import TracebackType

from ticdc_encoder.cli.output import standard_output
from ticdc_encoder.errors import TicdcError, visible_lines

from ticdc_consumer.cli.logs import print_record, writes_objects
from ticdc_consumer.cli.masking import masked

_RECORD = re.compile(r"\bat ([\w.-]+)\[(\d+)\] offset (\d+)")
"""How an error names the message that it is about."""


def print_out(text: str) -> None:
    """A line to the standard output, or several whose parts are `visible` already. Raises
    `OutputClosed` or `OutputError`."""
    with standard_output():
        print(visible_lines(masked(text)), flush=True)


def print_json(document: object) -> None:
    """A document for programs to the standard output."""
    print_out(json.dumps(document, indent=2, ensure_ascii=False))


def print_error(error: TicdcError) -> int:
    """One line to the standard error, behind the traceback if TICDC_DEBUG=1. Returns the exit
    code."""
    if os.environ.get("TICDC_DEBUG") == "1":
        print_traceback(type(error), error, error.__traceback__)
    fields = {"exit_code": error.exit_code, **record_of(str(error))}
    print_record(logging.ERROR, "failed", str(error), fields)
    return error.exit_code


def record_of(text: str) -> dict[str, object]:
    """Topic, partition and offset of the message that an error is about, if it names one."""
    match = _RECORD.search(text)
    if match is None:
        return {}
    return {"topic": match[1], "partition": int(match[2]), "offset": int(match[3])}


def print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """An excepthook that shows no password."""
    text = masked("".join(traceback.format_exception(kind, error, trace)))
    if writes_objects():
        print_record(logging.ERROR, "traceback", text, {})
    else:
        sys.stderr.write(visible_lines(text))
