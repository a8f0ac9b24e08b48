"""Declarations of the settings that fill options."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from ticdc_consumer.config import parsers


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of an option. `read` converts a TOML value or a text to the option's value; it
    raises ValueError with the rest of a sentence that begins with the setting's name."""

    name: str
    read: Callable[[Any], Any]
    help: str
    is_table: bool = False
    """True for a TOML table, whose entries later sources override one by one."""
    allowed: tuple[str, ...] = ()
    """Allowed values, if they can be listed."""


@dataclass(frozen=True, slots=True)
class UrlSetting:
    """A database's URL. `<name>_file`, `password` and `<password>_file` are settings, too."""

    name: str
    password: str
    help: str
    example: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section whose settings pass through to a client; `example` is one of them."""

    name: str
    example: str
    help: str


def setting(
    name: str, read: Callable[[Any], Any], help: str, is_table: bool = False
) -> dict[str, Setting]:
    return {"setting": Setting(name, read, help, is_table)}


def choice(name: str, choice: object, help: str) -> dict[str, Setting]:
    allowed = get_args(choice)
    return {"setting": Setting(name, parsers.one_of(*allowed), help, allowed=allowed)}


def url(name: str, password: str, help: str, example: str) -> dict[str, UrlSetting]:
    return {"setting": UrlSetting(name, password, help, example)}


def section(name: str, example: str, help: str) -> dict[str, Section]:
    return {"setting": Section(name, example, help)}
