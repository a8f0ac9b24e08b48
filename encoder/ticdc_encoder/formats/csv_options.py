"""CSV's settings, which decide how a file looks."""

from dataclasses import dataclass
from typing import Literal

from ticdc_encoder.errors import ConfigError

_META = "ticdc-meta$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`[sink.csv]` of the changefeed, and `sink.terminator`. `time_zone` is that of the TiCDC
    server: TIMESTAMP is written in it, and left in it by `decode`. Without `require_commit_ts`, a
    change that has none gets commit_ts 0."""

    delimiter: str = ","
    quote: str = '"'
    terminator: str = "\r\n"
    null: str = "\\N"
    include_commit_ts: bool = False
    output_old_value: bool = False
    output_handle_key: bool = False
    output_field_header: bool = False
    binary_encoding_method: Literal["base64", "hex"] = "base64"
    require_commit_ts: bool = True
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        """Raises ConfigError where TiCDC refuses the changefeed."""
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


def meta_names(options: Options) -> list[str]:
    """The header's names before those of the columns. There is none for the handle key."""
    names = ["operation", "table", "schema"]
    names += ["commit-ts"] * options.include_commit_ts
    names += ["is-update"] * options.output_old_value
    return [_META + name for name in names]
