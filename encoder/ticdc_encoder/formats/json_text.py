"""JSON as Go's libraries write it, and as strictly read as TiCDC's consumers must."""

import json
import re
from typing import Any, NoReturn

import orjson

from ticdc_encoder.errors import DefinitionError, WireError
from ticdc_encoder.values import fixed

Members = dict[str, Any]
"""A JSON object, or an Avro record, as parsed: nothing in it is checked."""

_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20)} | _SHORT
_HTML = _CONTROLS | {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_INVALID = {chr(code): "\\ufffd" for code in range(0xDC80, 0xDD00)}


class StringWriter:
    """Writes a JSON string, with the characters of `escapes` replaced."""

    def __init__(self, escapes: dict[str, str]) -> None:
        self.escapes = escapes
        self.special = re.compile("[" + "".join(map(re.escape, escapes)) + "]")

    def __call__(self, text: str) -> str:
        if self.special.search(text) is not None:
            text = self.special.sub(lambda match: self.escapes[match[0]], text)
        return f'"{text}"'


easyjson = StringWriter(_HTML | _INVALID)
"""Canal-JSON's rows. Bytes that are not UTF-8 become U+FFFD, and are lost."""
encoding_json = StringWriter(_HTML | _INVALID | {"\b": "\\b", "\f": "\\f"})
"""Go's own escapes: the old architecture's open-protocol, Canal-JSON's DDL."""
jsoniter = StringWriter(_CONTROLS)
"""The new architecture's open-protocol: no HTML escapes, and bytes that are not UTF-8 as they are.
"""


def json_float(value: float, *, new_architecture: bool) -> str:
    """Formats a float as jsoniter does; Go's own encoder, of the old architecture, drops the zero
    that pads a negative exponent."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return fixed(value)
    return repr(value) if new_architecture else repr(value).replace("e-0", "e-")


def utf_8(text: str) -> bytes:
    """The text's bytes; surrogateescape gives back those that are not UTF-8. Raises
    DefinitionError."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise DefinitionError("text with a lone surrogate") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _integer(digits: str) -> int | float:
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 64 else float(digits)


def load(data: bytes, *, tolerant: bool = False) -> Any:
    """The JSON text's value; the last of duplicate members counts, as in Go. Integers beyond 64
    bits become float. `tolerant` accepts bytes that are not UTF-8, by surrogateescape. Raises
    WireError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:
            data.decode()
        except UnicodeDecodeError as invalid:
            if tolerant:
                return _load_invalid(data)
            raise WireError(f"not UTF-8 at byte {invalid.start}") from invalid
        raise WireError(f"not JSON at character {error.pos}") from error


def _load_invalid(data: bytes) -> Any:
    text = data.decode("utf-8", "surrogateescape")
    # An escaped surrogate would look like a byte that is not UTF-8; Go writes none.
    if re.search(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]", text):
        raise WireError("an escaped surrogate beside bytes that are not UTF-8")
    try:
        return json.loads(text, parse_constant=_no_constant, parse_int=_integer)
    except RecursionError as error:
        raise WireError("JSON nested too deeply") from error
    except json.JSONDecodeError as error:
        raise WireError(f"not JSON at character {error.pos}") from error
    except ValueError as error:
        raise WireError("not JSON: an invalid number") from error
