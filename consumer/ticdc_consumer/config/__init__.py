"""Settings -> `Options`: a TOML file, `TICDC_...` variables and `--set`, later ones first."""

from ticdc_consumer.config.loading import UTF_8, described, load, parse

__all__ = ["UTF_8", "described", "load", "parse"]
