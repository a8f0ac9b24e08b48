"""Settings: a TOML file, then `TICDC_...` variables, then `--set`; later ones win."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticdc_consumer.config.loading import UTF_8
    from ticdc_consumer.config.options import Settings
    from ticdc_consumer.config.settings import described

__all__ = ["UTF_8", "Settings", "described"]

_HOMES = {"UTF_8": "loading", "Settings": "options", "described": "settings"}


def __getattr__(name: str) -> Any:
    # `choices` is imported by targets, below this package; the loading of settings is above it.
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
