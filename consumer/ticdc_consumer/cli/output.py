"""Output of the commands: never a password, and nothing after its reader has left."""

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
"""Position of the message that an error is about, as its text names it."""


def print_out(text: str) -> None:
    """Prints a line to standard output, or several whose parts are already `visible`. Raises
    `OutputClosed` or `OutputError`."""
    with standard_output():
        print(visible_lines(masked(text)), flush=True)


def print_json(document: object) -> None:
    """Prints a document for programs to standard output."""
    print_out(json.dumps(document, indent=2, ensure_ascii=False))


def print_error(error: TicdcError) -> int:
    """Prints one line to standard error, after the traceback if TICDC_DEBUG=1. Returns the exit
    code."""
    if os.environ.get("TICDC_DEBUG") == "1":
        print_traceback(type(error), error, error.__traceback__)
    fields = {"exit_code": error.exit_code, **record_of(str(error))}
    print_record(logging.ERROR, "failed", str(error), fields)
    return error.exit_code


def record_of(text: str) -> dict[str, object]:
    """Returns topic, partition and offset of the message that an error names, if any."""
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
