"""What the kit's TiCDC makes of a transaction."""

from collections.abc import Iterable
from random import Random

import pytest
from ticdc_encoder.event import RowChange
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.message import Message
from ticdc_torture.changefeed import VERSIONS, Feed, TiCDC
from ticdc_torture.upstream import SCHEMA, Event, TiDB


class Taken:
    """All messages, of whatever topic."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def create(self, name: str, partitions: int) -> None:
        return

    def produce(self, messages: Iterable[Message]) -> None:
        self.messages += messages


@pytest.mark.parametrize("version", VERSIONS)
def test_two_rows_that_are_alike_but_for_their_keys_swap_them(version: str) -> None:
    upstream = TiDB(kinds=("unique k",))
    upstream.create(Random(0), 1)
    (model,) = upstream.models
    table = model.table(SCHEMA, "a")
    one, three = ({**dict.fromkeys(c.name for c in table.columns), "k": k} for k in (1, 3))
    changes = (
        RowChange(table, upstream.ts, three, one),
        RowChange(table, upstream.ts, one, three),
    )
    model.events.append(Event(upstream.ts, rows=changes, number=2))
    taken = Taken()
    feed = Feed("canal-json", version, "table", 1, per_table=False)
    cdc = TiCDC(Random(0), upstream, taken, feed, lambda words: None)
    while cdc.step():
        pass
    wire = FORMATS["canal-json"]
    sent = [
        event
        for message in taken.messages
        for event in wire.decode(message.key, message.value, wire.Options())
        if isinstance(event, RowChange)
    ]
    assert {event.after["k"] for event in sent if event.after} == {1, 3}
