"""Settings with type, default and allowed values, for help and documents."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from ticdc_consumer.config import parsers
from ticdc_consumer.config.declaring import Setting
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.protocol_names import protocol_names
from ticdc_consumer.config.settings import REQUIRED, SECTIONS, SETTINGS, URLS, variable
from ticdc_consumer.targets.rules import LOSSY_RULES

_LIST = 'list of texts, such as ["a", "b"]'
_SIZE = 'bytes, such as 65536 or "256 MiB"'
_TIME = 'time, such as 3600 or "24h"'

TYPES: Mapping[Callable[[Any], Any], str] = {
    parsers.address: 'address, such as "127.0.0.1:9464"',
    parsers.characters: "text",
    parsers.column_selectors: 'list such as [{matcher = ["*.*"], columns = ["*", "!x"]}]',
    parsers.count: "number, 1 or more",
    parsers.duration: _TIME,
    parsers.interval: f"{_TIME}, a second or more",
    parsers.filter_rules: 'list of patterns, such as ["shop.*", "!shop.log"]',
    parsers.flag: "true or false",
    parsers.lossy_rules: _LIST,
    parsers.names: _LIST,
    parsers.prefix: 'URL, such as "s3://bucket/folder"',
    parsers.protocol: "text",
    parsers.seconds: "seconds",
    parsers.sign_interval: "seconds, 6 or more",
    parsers.size: _SIZE,
    parsers.text: "text",
    parsers.time_zone: 'zone, such as "Asia/Shanghai"',
    parsers.ticdc_version: 'version, such as "8.5.7"',
    parsers.timestamp: "TSO, such as 429918007904436226",
    parsers.topics: _LIST,
    parsers.whole_number: "number, 0 or more",
    parsers.write_source: "number, 1 to 15",
}


@dataclass(frozen=True, slots=True)
class Described:
    """One setting. `default` is TOML, "" if there is none; `required`: it must be set."""

    name: str
    type: str
    help: str
    default: str = ""
    required: bool = False
    allowed: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return variable(self.name)

    @property
    def values(self) -> str:
        """Type or allowed values, and the default."""
        what = " | ".join(self.allowed) or self.type
        if self.allowed and self.type == _LIST:
            what = f"list of {what}"
        if self.required:
            return f"{what}; must be set"
        return f"{what}; default {self.default}" if self.default else what


def settings() -> list[Described]:
    """All settings, section by section; one entry for each section that passes through."""
    each = [*_own(), *_urls(), *_sections()]
    return sorted(each, key=lambda one: ("." in one.name, one.name.partition(".")[0], one.name))


def _own() -> Iterator[Described]:
    defaults = {option.name: option.default for option in fields(Settings)}
    for option, setting in SETTINGS.items():
        required = setting.name in REQUIRED
        default = "" if required else _text(setting, defaults[option])
        type_ = "table" if setting.is_table else TYPES.get(setting.read, "text")
        allowed = _allowed(setting)
        yield Described(setting.name, type_, setting.help, default, required, allowed)


def _allowed(setting: Setting) -> tuple[str, ...]:
    if setting.name == "protocol":
        return protocol_names()
    if setting.read is parsers.lossy_rules:
        return tuple(sorted(LOSSY_RULES))
    return setting.allowed


def _text(setting: Setting, value: Any) -> str:
    """A default as TOML."""
    if value is MISSING or value is None or value in ((), frozenset()):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'.replace("\r", "\\r").replace("\n", "\\n")
    if isinstance(value, tuple):
        return json.dumps(list(value))
    if setting.read is parsers.size:
        return f'"{value >> 20} MiB"'
    return f"{value:g}" if isinstance(value, float) else str(value)


def _urls() -> Iterator[Described]:
    for option, url in URLS.items():
        required = option == "target_url"
        example = f"URL, such as {url.example}"
        yield Described(url.name, example, url.help, required=required)
        yield Described(f"{url.name}_file", "file", "file with the URL")
        yield Described(url.password, "text", "password for the URL")
        yield Described(f"{url.password}_file", "file", "file with the password")


def _sections() -> Iterator[Described]:
    for section in SECTIONS.values():
        yield Described(f"{section.name}.*", "text, number, true or false", section.help)
        if section.example in REQUIRED:
            yield Described(section.example, "text", "Kafka's brokers", required=True)
