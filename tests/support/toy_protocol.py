"""A protocol of somebody else's: lines of text, `row COMMIT_TS ID NAME` and `mark RESOLVED_TS`.

`tests/consumer/protocols/test_toy_protocol.py` installs it as a distribution of its own.
"""

from dataclasses import dataclass

from ticdc_consumer.protocols.protocol import WireProtocol
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.errors import ConfigError, WireError
from ticdc_encoder.event import Event, Resolved, RowChange, Table
from ticdc_encoder.formats import Clock, Encoder, Format, wall_clock

ITEMS = Table(
    "shop",
    "items",
    (
        Column("id", ColumnType("int"), nullable=False),
        Column("name", ColumnType("varchar", length=40)),
    ),
    handle_key=("id",),
)


@dataclass(frozen=True)
class NoOptions:
    """There is nothing to set."""


def _decode(key: bytes | None, value: bytes | None, options: NoOptions) -> list[Event]:
    match (value or b"").decode().split(" "):
        case ["row", commit_ts, number, name]:
            return [RowChange(ITEMS, int(commit_ts), after={"id": int(number), "name": name})]
        case ["mark", resolved_ts]:
            return [Resolved(int(resolved_ts))]
    raise WireError("neither a row nor a mark")


def _may_be_control(key: bytes | None, value: bytes | None) -> bool:
    return not (value or b"").startswith(b"row ")


@dataclass(frozen=True)
class _NoOptions:
    """The toy protocol has none."""


def _no_encoder(options: _NoOptions, clock: Clock = wall_clock) -> Encoder:
    raise ConfigError("the toy protocol is only read")


PROTOCOL = WireProtocol(
    format=Format(decode=_decode, Encoder=_no_encoder, Options=_NoOptions),
    may_be_control=_may_be_control,
    needs_for_marks="marks=true",
)
