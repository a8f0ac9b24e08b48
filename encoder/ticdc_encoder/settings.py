"""Values of settings, from TOML or from a sink URI; errors name the setting, but never its value
unless it has choices."""

import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from ticdc_encoder.errors import ConfigError

T = TypeVar("T", bool, int, str)
Entry = TypeVar("Entry")


def toml_table(config: str | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if not isinstance(config, str):
        return config or {}
    try:
        return tomllib.loads(config)
    except ValueError as exc:  # also a number of too many digits
        raise ConfigError(f"the changefeed's configuration is not TOML: {exc}") from exc


def uri_parts(sink_uri: str) -> tuple[str, str, dict[str, str]]:
    """The scheme, the path, and the parameters; the first of a repeated name counts, as in Go."""
    try:
        parts = urlsplit(sink_uri)
    except ValueError:  # its text may show a password
        raise ConfigError(
            "the sink URI is not a URI: are special characters of its password escaped, as %40?"
        ) from None
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    return parts.scheme, unquote(parts.path), dict(reversed(pairs))


def checked(
    in_file: Mapping[str, Any],
    known: Collection[str],
    unsupported: Iterable[str],
    ignored: Iterable[str],
    unknown: Iterable[str] = (),
) -> list[str]:
    """The paths that are `ignored`, or below one that is. Raises ConfigError for paths that are not
    known, which it lists with `unknown`, and for unsupported settings that are on."""
    accepted, on, refused = sorted_out(in_file, known, unsupported, ignored)
    for path in on:
        raise ConfigError(f"{path} is not supported")
    if refused := sorted({*refused, *unknown}):
        raise ConfigError(f"unknown setting: {', '.join(refused)}")
    return accepted


def sorted_out(
    in_file: Mapping[str, Any],
    known: Collection[str],
    unsupported: Iterable[str],
    ignored: Iterable[str],
) -> tuple[list[str], list[str], list[str]]:
    """The paths that are `ignored`, or below one that is; unsupported ones that are on; and those
    that are not known."""
    accepted, on, refused = [], [], []
    unsupported, ignored = set(unsupported), set(ignored)
    for path, value in in_file.items():
        parts = path.split(".")
        parents = {".".join(parts[: depth + 1]) for depth in range(len(parts))}
        if parents & unsupported:
            if value:
                on.append(path)
        elif parents & ignored:
            accepted.append(path)
        elif path not in known:
            refused.append(path)
    return accepted, on, refused


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values by dotted path."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def of_type(path: str, value: object, kind: type[T]) -> T:
    if type(value) is not kind:  # True is not a number
        raise ConfigError(f"{path} must be of type {kind.__name__}")
    return value


_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


_LONGEST_NUMBER = 19


def of_text(name: str, text: str, kind: type[T]) -> T:
    """Converts a parameter of the sink URI, as Go reads it."""
    value: object = text
    if kind is int and text.isdecimal() and len(text) <= _LONGEST_NUMBER:
        value = int(text)
    elif kind is bool:
        value = _BOOLS.get(text)
    return of_type(name, value, kind)


def list_of(path: str, in_file: Mapping[str, Any], kind: type[Any]) -> list[Any]:
    value = in_file.get(path, [])
    if not isinstance(value, list) or not all(isinstance(entry, kind) for entry in value):
        raise ConfigError(f"{path} must be a list of {kind.__name__}")
    return value


def entries(
    path: str, in_file: Mapping[str, Any], parse: Callable[[Mapping[str, Any]], Entry]
) -> Iterator[Entry]:
    """Each table of an array, parsed; errors name the entry."""
    for number, entry in enumerate(list_of(path, in_file, dict)):
        try:
            yield parse(entry)
        except ConfigError as exc:
            exc.add_note(f"in {path}[{number}]")
            raise


def one_of(path: str, value: str, *choices: str) -> Any:
    if value not in choices:
        raise ConfigError(f"{path} is {value!r}, not one of {', '.join(choices)}")
    return value


def unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class SinkSetting:
    """One setting: its dotted `path` in the file and its `parameter` in the sink URI, each None if
    it has none. The `default` also gives its type. `normal` brings a value to normal form, as
    `str.lower`, before it is compared with the `choices`, if there are any."""

    path: str | None
    default: bool | int | str
    parameter: str | None = None
    choices: tuple[str, ...] = ()
    normal: Callable[[Any], Any] = unchanged

    def read(self, in_file: Mapping[str, Any], in_uri: Mapping[str, str]) -> Any:
        """The value: that of the sink URI, else of the file, else the default. Raises ConfigError,
        also for a value of the file that the sink URI overrules."""
        kind: Any = type(self.default)  # bool, int or str
        value: Any = self.default
        if self.path is not None:
            value = of_type(self.path, in_file.get(self.path, self.default), kind)
        if self.parameter is not None and self.parameter in in_uri:
            value = of_text(self.parameter, in_uri[self.parameter], kind)
        value = self.normal(value)
        if self.choices:
            one_of(self.parameter or self.path or "", value, *self.choices)
        return value


def read_settings(
    settings: Mapping[str, SinkSetting], in_file: Mapping[str, Any], in_uri: Mapping[str, str]
) -> dict[str, Any]:
    """The value of each, by the same names. Raises ConfigError for the first that is wrong."""
    return {name: setting.read(in_file, in_uri) for name, setting in settings.items()}
