"""The golden upstream through our own changefeeds, and what a decoder should make of it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.split import split, split_mode
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Ddl, Resolved, RowChange, Transaction
from ticdc_encoder.formats.registry import Registry
from ticdc_encoder.message import Message

from support.golden import Variant
from support.golden_changes import happened

# The same code as wrote the golden data, by its promises: the new architecture's head.
NEW: Any = {"version": "9.0.0", "new_architecture": True}
CLASSIC: Any = {"version": "8.5.3"}


def made_by(variant: Variant) -> Any:
    """The version and the architecture."""
    return CLASSIC if variant.name.startswith("classic.") else NEW


def replayed(
    variant: Variant, registry: Registry | None = None, config: Any = None, made: Any = None
) -> tuple[list[Message], list[str]]:
    """The scenario through a changefeed of ours, whose version and architecture is `made`, and why
    rows could not be sent. Open batches are cut where the golden data's were: where 64 rows are
    pending, at each DDL and resolved ts."""
    changefeed = Changefeed(
        variant.sink_uri,
        variant.config_toml if config is None else config,
        time_zone=variant.server_tz,
        registry=registry,
        **(made or made_by(variant)),
    )
    messages: list[Message] = []
    refused: list[str] = []
    pending, splits = 0, "output-raw-change-event = true" not in variant.config_toml
    for event in happened(variant.scenario):
        match event:
            case Transaction():
                for part in sendable(event, variant):
                    try:
                        messages += changefeed.encode(part)
                    except DefinitionError as error:
                        refused.append(str(error))
                pending += sum(
                    1 + (splits and change.key_changed is not None) for change in event.changes
                )
                if pending >= 64:
                    messages += changefeed.flush()
                    pending = 0
            case Ddl():
                messages += changefeed.ddl(event)
                pending = 0
            case Resolved():
                messages += changefeed.resolve(event.resolved_ts)
                pending = 0
    return messages + changefeed.flush(), refused


def sendable(transaction: Transaction, variant: Variant) -> Iterator[Transaction]:
    """The transaction, row by row where some row of it cannot be sent."""
    if not variant.encode_errors:
        yield transaction
        return
    for change in transaction.changes:
        yield replace(transaction, changes=(change,))


def sent_changes(variant: Variant) -> list[RowChange]:
    """The upstream's changes of tables that have a valid key, split as the variant's version splits
    them."""
    raw = "output-raw-change-event = true" in variant.config_toml
    protocol = "csv" if "csv" in variant.name else "avro"
    mode = split_mode(protocol=protocol, output_raw_change_event=raw, **made_by(variant))
    return [
        change
        for event in happened(variant.scenario)
        if isinstance(event, Transaction)
        for change in split(event.changes, mode, net=event.net)
        if change.table.handle_key
    ]
