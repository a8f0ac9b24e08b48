"""Applies TiCDC's Kafka topics to a database, exactly, through Spark.

    from ticdc_consumer import Consumer, Settings

    with Consumer(Settings.read("orders.toml")) as consumer:
        for epoch in consumer:
            print(epoch.resolved_ts, epoch.rows)

Names are imported when they are first used: neither `--help` nor Spark's tasks wait for what they
do not need.
"""

import importlib as _importlib
import logging as _logging
import typing as _typing

if _typing.TYPE_CHECKING:
    from ticdc_encoder.errors import ConfigError, TicdcError

    from ticdc_consumer.apply.step import Counts
    from ticdc_consumer.config.options import Settings
    from ticdc_consumer.consumer import Consumer
    from ticdc_consumer.epoch import Epoch
    from ticdc_consumer.errors import Fenced, Stop, Unavailable, Unsupported, Usage
    from ticdc_consumer.state.activity.activity import Activity
    from ticdc_consumer.state.causes.situation import Diagnosis
    from ticdc_consumer.status import why

    __version__: str

__all__ = [
    "Activity",
    "ConfigError",
    "Consumer",
    "Counts",
    "Diagnosis",
    "Epoch",
    "Fenced",
    "Settings",
    "Stop",
    "TicdcError",
    "Unavailable",
    "Unsupported",
    "Usage",
    "why",
]

# What is logged, and where, is the application's to decide.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())

_HOMES = {
    "Activity": ("ticdc_consumer.state.activity.activity", "Activity"),
    "ConfigError": ("ticdc_encoder.errors", "ConfigError"),
    "Consumer": ("ticdc_consumer.consumer", "Consumer"),
    "Counts": ("ticdc_consumer.apply.step", "Counts"),
    "Diagnosis": ("ticdc_consumer.state.causes.situation", "Diagnosis"),
    "Epoch": ("ticdc_consumer.epoch", "Epoch"),
    "Fenced": ("ticdc_consumer.errors", "Fenced"),
    "Settings": ("ticdc_consumer.config.options", "Settings"),
    "Stop": ("ticdc_consumer.errors", "Stop"),
    "TicdcError": ("ticdc_encoder.errors", "TicdcError"),
    "Unavailable": ("ticdc_consumer.errors", "Unavailable"),
    "Unsupported": ("ticdc_consumer.errors", "Unsupported"),
    "Usage": ("ticdc_consumer.errors", "Usage"),
    "why": ("ticdc_consumer.status", "why"),
}


if not _typing.TYPE_CHECKING:  # a type checker would take every name for one of these

    def __getattr__(name: str) -> _typing.Any:
        if name == "__version__":
            return _importlib.import_module("importlib.metadata").version("ticdc-consumer")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _HOMES[name]
        return getattr(_importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
