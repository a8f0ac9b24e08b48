"""librdkafka's settings that are Python functions, named as `module:function`."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from ticdc_consumer.errors import Usage

OAUTH = "oauth_cb"


def with_functions(kafka: Mapping[str, str]) -> dict[str, Any]:
    """Returns a client's settings with the function that `oauth_cb` names. Raises `Usage`."""
    settings: dict[str, Any] = dict(kafka)
    if OAUTH in settings:
        settings[OAUTH] = _function(settings[OAUTH])
    return settings


def _function(name: str) -> Callable[..., Any]:
    module, colon, attribute = name.partition(":")
    try:
        if not (module and colon):
            raise ValueError("write module:function")
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise Usage(f"kafka.{OAUTH} does not name a function: {error}") from error
    if not callable(function):
        raise Usage(
            f"kafka.{OAUTH} does not name a function: {name} is a {type(function).__name__}"
        )
    return function  # type: ignore[no-any-return]
