"""Settings -> `Options`: a TOML file, then `TICDC_...` variables, then `--set`; later ones win."""

from ticdc_consumer.config.loading import UTF_8, load, parse
from ticdc_consumer.config.settings import described

__all__ = ["UTF_8", "described", "load", "parse"]
