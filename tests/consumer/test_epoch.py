"""What a cut stops for before anything of it is applied."""

from types import SimpleNamespace
from typing import Any

import pytest
from ticdc_consumer.epoch import Epochs
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_encoder.event import Ddl

KNOWN = LedgerEntry(40, 1, "shop", "t", "TRUNCATE TABLE t", state="done")
STALE = [
    ("one that the ledger has", Ddl("shop", "t", "TRUNCATE TABLE t", 40), False),
    ("another statement", Ddl("shop", "t", "DROP TABLE t", 40), True),
    ("another commit_ts", Ddl("shop", "t", "TRUNCATE TABLE t", 41), True),
    ("another table", Ddl("shop", "u", "TRUNCATE TABLE t", 40), True),
    ("one of a table that is set aside", Ddl("shop", "aside", "DROP TABLE aside", 41), False),
]


@pytest.mark.parametrize(("ddl", "stops"), [s[1:] for s in STALE], ids=[s[0] for s in STALE])
def test_a_ddl_below_r_that_a_new_topic_brings_must_have_been_executed(
    ddl: Ddl, stops: bool
) -> None:
    epochs = Epochs.__new__(Epochs)
    parts: Any = epochs
    parts._applier = SimpleNamespace(ledger=SimpleNamespace(entries=lambda: [KNOWN]))
    parts._reader = SimpleNamespace(is_of_another_run=lambda one: one.table == "aside")
    parts.state = SimpleNamespace(resolved_ts=100)
    if not stops:
        epochs._check_stale([ddl])
        return
    with pytest.raises(Stop, match=r"commit_ts 4[01], below the applied 100, that was never"):
        epochs._check_stale([ddl])
