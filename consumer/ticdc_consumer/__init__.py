"""Applies the changes that TiCDC writes to Kafka or to storage files to a database, exactly.

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
    from ticdc_encoder.errors import ConfigError, DefinitionError, TicdcError, WireError

    from ticdc_consumer.commands.run import Consumer
    from ticdc_consumer.config.options import Settings
    from ticdc_consumer.cut.apply.before_commit import BeforeCommit, UncommittedCut
    from ticdc_consumer.cut.apply.counts import Counts
    from ticdc_consumer.cut.epoch import Epoch
    from ticdc_consumer.errors import (
        Away,
        Denied,
        Drift,
        Fenced,
        Full,
        InTheWay,
        KeyTaken,
        Misfit,
        NoTable,
        NotHeld,
        ReadOnly,
        SchemaMissing,
        SourceAway,
        Stop,
        TableNotSent,
        Unavailable,
        Unsupported,
        UpstreamAway,
        Usage,
        UserRefused,
        ValuesNotSent,
        WaitingDdl,
    )
    from ticdc_consumer.status.activity.activity import Activity
    from ticdc_consumer.status.causes.situation import Diagnosis

    __version__: str

__all__ = [
    "Activity",
    "Away",
    "BeforeCommit",
    "ConfigError",
    "Consumer",
    "Counts",
    "DefinitionError",
    "Denied",
    "Diagnosis",
    "Drift",
    "Epoch",
    "Fenced",
    "Full",
    "InTheWay",
    "KeyTaken",
    "Misfit",
    "NoTable",
    "NotHeld",
    "ReadOnly",
    "SchemaMissing",
    "Settings",
    "SourceAway",
    "Stop",
    "TableNotSent",
    "TicdcError",
    "Unavailable",
    "UncommittedCut",
    "Unsupported",
    "UpstreamAway",
    "Usage",
    "UserRefused",
    "ValuesNotSent",
    "WaitingDdl",
    "WireError",
]

# The application decides what is logged, and where.
_logging.getLogger(__name__).addHandler(_logging.NullHandler())

_HOMES = {
    "Activity": "ticdc_consumer.status.activity.activity",
    "BeforeCommit": "ticdc_consumer.cut.apply.before_commit",
    "Consumer": "ticdc_consumer.commands.run",
    "Counts": "ticdc_consumer.cut.apply.counts",
    "Diagnosis": "ticdc_consumer.status.causes.situation",
    "Epoch": "ticdc_consumer.cut.epoch",
    "Settings": "ticdc_consumer.config.options",
    "UncommittedCut": "ticdc_consumer.cut.apply.before_commit",
    **dict.fromkeys(
        ("ConfigError", "DefinitionError", "TicdcError", "WireError"), "ticdc_encoder.errors"
    ),
}
"""Module that defines each public name, unless `errors` does."""


if not _typing.TYPE_CHECKING:  # a type checker would take every name for one of these

    def __getattr__(name: str) -> _typing.Any:
        if name == "__version__":
            return _importlib.import_module("importlib.metadata").version("ticdc-consumer")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = _importlib.import_module(_HOMES.get(name, "ticdc_consumer.errors"))
        return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
