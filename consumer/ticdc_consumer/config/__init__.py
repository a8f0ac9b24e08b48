"""Settings -> `Options`: a TOML file, then `TICDC_...` variables, then `--set`; later ones win."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticdc_consumer.config.loading import UTF_8, load, loads, parse
    from ticdc_consumer.config.settings import described

__all__ = ["UTF_8", "described", "load", "loads", "parse"]


def __getattr__(name: str) -> Any:
    # `choices` is imported by targets, below this package; the loading of settings is above it.
    if name == "described":
        from ticdc_consumer.config import settings

        return settings.described
    if name in __all__:
        from ticdc_consumer.config import loading

        return getattr(loading, name)
    raise AttributeError(name)
