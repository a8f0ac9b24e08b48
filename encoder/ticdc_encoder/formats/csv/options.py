"""CSV's settings, which decide the layout of a file."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ticdc_encoder.errors import ConfigError

_META = "ticdc-meta$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`[sink.csv]` of the changefeed, and `sink.terminator`. `time_zone` is that of the TiCDC
    server: TIMESTAMP is written in it, and left in it by `decode`. `header_has_virtual`: a header
    that is written also names the virtual columns, which no row has. Without `require_commit_ts`, a
    change that has none gets commit_ts 0."""

    delimiter: str = ","
    quote: str = '"'
    terminator: str = "\r\n"
    null: str = "\\N"
    include_commit_ts: bool = False
    output_old_value: bool = False
    output_handle_key: bool = False
    output_field_header: bool = False
    header_has_virtual: bool = False
    binary_encoding_method: Literal["base64", "hex"] = "base64"
    require_commit_ts: bool = True
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        """Raises ConfigError if TiCDC refuses the changefeed."""
        if len(self.quote) > 1:
            raise ConfigError("csv quote must be one character, or none")
        if not 1 <= len(self.delimiter) <= 3:
            raise ConfigError("csv delimiter must be one to three characters")
        if {"\r", "\n"} & {*self.delimiter, *self.quote}:
            raise ConfigError("csv delimiter and quote cannot have line breaks")
        if {*self.delimiter} & {*self.quote}:
            raise ConfigError("csv delimiter and quote cannot share a character")
        if not self.terminator:
            raise ConfigError("csv terminator is empty")
        if self.binary_encoding_method not in ("base64", "hex"):
            raise ConfigError("csv binary-encoding-method must be base64 or hex")


_NUMBER = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?")
_OF_NUMBERS = {*"0123456789+-.eE"}


@lru_cache(maxsize=64)
def require_legible(options: Options) -> None:
    """Raises ConfigError for settings whose files can be read in two ways."""
    delimiter, null, terminator, quote = (
        options.delimiter,
        options.null,
        options.terminator,
        options.quote,
    )
    if {*terminator} & {*delimiter, *quote}:
        raise _illegible("a terminator that shares a character with the delimiter, or the quote")
    if {*null} & {*delimiter, *terminator, *quote}:
        raise _illegible("a null that shares a character with the delimiter, terminator or quote")
    if {*delimiter} <= _OF_NUMBERS or {*terminator} <= _OF_NUMBERS:
        raise _illegible("a delimiter or terminator of characters that numbers have")
    if quote:
        if _NUMBER.fullmatch(null):
            raise _illegible("a null that is a number; use '\\N'")
        return
    if not {"\r", "\n"} & {*terminator} or "\\" in terminator:
        raise _illegible("quote = '' and a terminator without a line break, or with a backslash")
    if {"\\", "r", "n"} & {*delimiter}:
        raise _illegible("quote = '' and a delimiter that has a backslash, r or n")
    if any(delimiter.startswith(delimiter[start:]) for start in range(1, len(delimiter))):
        raise _illegible("quote = '' and a delimiter that ends as it begins")
    # TiCDC escapes no other characters: a field with another escape is never a value.
    escaped = {*re.findall(r"\\(.?)", null, re.DOTALL)}
    if "" in escaped or escaped <= {"\\", "r", "n", *delimiter}:
        raise _illegible("quote = '' and a null that may also be a text; use '\\N'")


def _illegible(what: str) -> ConfigError:
    return ConfigError(f"csv that can be read in two ways: {what}")


def meta_names(options: Options) -> list[str]:
    """The header's names before those of the columns. There is none for the handle key."""
    names = ["operation", "table", "schema"]
    names += ["commit-ts"] * options.include_commit_ts
    names += ["is-update"] * options.output_old_value
    return [_META + name for name in names]
