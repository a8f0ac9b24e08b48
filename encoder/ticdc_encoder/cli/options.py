"""A format's options from the words of a command line, such as `time-zone=Asia/Tokyo`."""

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ticdc_encoder.errors import ConfigError
from ticdc_encoder.formats.registry import ConfluentRegistry
from ticdc_encoder.settings import of_text, one_of
from ticdc_encoder.version import Version, version_number

_REGISTRY = "schema-registry"


def described(options: Callable[..., Any]) -> dict[str, str]:
    """The names that `parse_options` accepts for these options, each with its values."""
    kinds = get_type_hints(options)
    return {_named(field.name): _values(kinds[field.name]) for field in fields(options)}  # type: ignore[arg-type]


def parse_options(options: Callable[..., Any], pairs: Iterable[str], **fixed: Any) -> Any:
    """The `options` of a format, with each `key=value` set. `schema-registry` is a URL, and
    `schema-registry.KEY` a setting of Confluent's client. Raises ConfigError."""
    kinds = get_type_hints(options)
    names = {_named(field.name): field.name for field in fields(options)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    registry: dict[str, str] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise ConfigError(f"the option {key!r} is not KEY=VALUE")
        key = key.replace("_", "-") if key not in names else key
        if _REGISTRY in names and (key == _REGISTRY or key.startswith(f"{_REGISTRY}.")):
            registry[key.removeprefix(_REGISTRY).lstrip(".") or "url"] = text
        elif key in names:
            values[names[key]] = _value(key, text, kinds[names[key]])
        else:
            raise ConfigError(f"unknown option {key!r}; the options are {', '.join(sorted(names))}")
    if registry:
        values["registry"] = ConfluentRegistry(registry)
    return options(**{n: v for n, v in fixed.items() if n in names.values()} | values)


def _named(field: str) -> str:
    return _REGISTRY if field == "registry" else field.replace("_", "-")


def _value(key: str, text: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return one_of(key, text, *get_args(kind))
    if kind is Version:
        return version_number(text)
    return of_text(key, text, kind)


def _values(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if kind in (bool, int, str):
        return {bool: "true|false", int: "N", str: "TEXT"}[kind]
    return "X.Y.Z" if kind is Version else "URL"
