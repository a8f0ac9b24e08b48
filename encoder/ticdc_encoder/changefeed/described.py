"""A changefeed as TiCDC describes it: its TOML file, or the JSON of a query.

`cdc cli changefeed query` prints `cfMeta` (`cmd/cdc/cli/cli_changefeed_query.go`), and
`GET /api/v2/changefeeds/ID` answers `ChangeFeedInfo` (`api/v2/model.go`; both pingcap/ticdc at
b813e76 of August 2026, and pingcap/tiflow before). Both have `id`, `sink_uri`, `start_ts` and
`config`, whose names are the TOML file's with `_` for `-`. TiCDC masks `sasl-password` in
`sink_uri` (`MaskSinkURI` of `pkg/util/uri.go`), and no other secret.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from ticdc_encoder.errors import ConfigError
from ticdc_encoder.settings import flat, toml_table

_OTHER_NAMES = {"sink.file-index-width": "sink.file-index-digit"}
"""Settings whose name in the JSON differs from the file's: `SinkConfig` of `api/v2/model.go`."""
_MAY_BE_EMPTY = "sink.csv."


@dataclass(frozen=True, slots=True)
class DescribedChangefeed:
    """`settings` are the configuration's by dotted paths, as the TOML file names them. A TOML file
    has neither `name` nor `start_ts`, and no `sink_uri`, which may hold secrets."""

    settings: Mapping[str, Any]
    sink_uri: str = ""
    name: str = ""
    start_ts: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses TOML, or JSON, which begins with a brace. Raises ConfigError."""
        if not text.lstrip().startswith("{"):
            return cls(dict(flat(toml_table(text))))
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):  # ValueError: also a number of too many digits
            raise ConfigError("the changefeed's description is not JSON") from None
        config = document.get("config")
        if not isinstance(config, dict):
            raise ConfigError(
                "the changefeed's description has no config: `cdc cli changefeed query` prints it "
                "without --simple"
            )
        start_ts = document.get("start_ts")
        return cls(
            settings=_of_json(config),
            sink_uri=_text(document, "sink_uri"),
            name=_text(document, "id"),
            start_ts=start_ts if type(start_ts) is int and start_ts > 0 else None,
        )


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name, "")
    if not isinstance(value, str):
        raise ConfigError(f"{name} of the changefeed's description is not a text")
    return value


def _of_json(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that have a value: Go writes null and "" for those without one."""
    settings = {}
    for path, value in flat(_renamed(config)):
        path = _OTHER_NAMES.get(path, path)
        if value is not None and (value != "" or path.startswith(_MAY_BE_EMPTY)):
            settings[path] = value
    return settings


def _renamed(value: Any) -> Any:
    """The members with `-` for `_` in names. Lists keep no member without a value."""
    if isinstance(value, Mapping):
        return {name.replace("_", "-"): _renamed(member) for name, member in value.items()}
    if isinstance(value, list):
        return [
            {name: member for name, member in _renamed(entry).items() if member is not None}
            if isinstance(entry, Mapping)
            else entry
            for entry in value
        ]
    return value
