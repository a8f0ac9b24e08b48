"""What a cut stops for before anything of it is applied; and what the target refuses for a passing
reason, where no cut may be read again for it."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.world import SQL, make_world
from support.world_run import Run, logs_of
from ticdc_consumer.cut.cut_scope import CutScope
from ticdc_consumer.cut.epoch import Epoch, Epochs, require_executed
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.errors import Retry, Stop, Unavailable, WaitingDdl
from ticdc_consumer.state.ledger import LedgerEntry, LedgerInMemory
from ticdc_consumer.waiting import at_pace
from ticdc_encoder.event import Ddl

KNOWN = LedgerEntry(40, 1, "shop", "t", "TRUNCATE TABLE t", state="done")
STALE = [
    ("one that the ledger has", Ddl("shop", "t", "TRUNCATE TABLE t", 40), False),
    ("another statement", Ddl("shop", "t", "DROP TABLE t", 40), True),
    ("another commit_ts", Ddl("shop", "t", "TRUNCATE TABLE t", 41), True),
    ("another table", Ddl("shop", "u", "TRUNCATE TABLE t", 40), True),
    ("one of a table that is quarantined", Ddl("shop", "aside", "DROP TABLE aside", 41), False),
]


@pytest.mark.parametrize(("ddl", "stops"), [s[1:] for s in STALE], ids=[s[0] for s in STALE])
def test_a_ddl_below_r_of_a_new_topic_must_have_been_executed(ddl: Ddl, stops: bool) -> None:
    ledger = LedgerInMemory("orders")
    ledger.add([KNOWN])
    scope = CutScope(frozenset({("shop", "aside")}))
    if not stops:
        require_executed([ddl], ledger, scope, 100)
        return
    with pytest.raises(Stop, match=r"commit_ts 4[01], below the applied 100, that was never"):
        require_executed([ddl], ledger, scope, 100)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Of a small history into tables whose CREATE TABLE the log does not have."""
    path = tmp_path / "target.db"
    with closing(sqlite3.connect(path)) as target:
        for statement in SQL:
            target.execute(statement)
    world = make_world(Random(7), "canal-json", transactions=8)
    return Run(world, "canal-json", "net", f"sqlite:///{path}", lambda resolved_ts: None)


def refused(times: int, patch: pytest.MonkeyPatch, of: type, name: str) -> list[None]:
    """Has a method raise `Retry` at its first calls; gives one for each."""
    method, calls = getattr(of, name), list[None]()

    def refusing(self: Any, *arguments: Any) -> object:
        calls.append(None)
        if len(calls) <= times:
            raise Retry("the connection was lost")
        return method(self, *arguments)

    patch.setattr(of, name, refusing)
    return calls


def test_a_session_lost_after_the_commit_does_not_end_the_run(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same cut again would find that R has moved, as if another consumer had moved it.
    calls = refused(2, monkeypatch, TableLayouts, "note_recorded")
    with at_pace(0.01):
        run.go()
    assert len(calls) > 2


@pytest.mark.parametrize("times", [0, 2, 9])
def test_what_the_last_cut_left_pending_is_tried_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    calls = refused(times, monkeypatch, Epochs, "run_pending")
    epochs = run.start()
    with closing(epochs), closing(run.target), at_pace(0.01):
        if times <= run.options.retries:
            epochs.finish()
        else:
            with pytest.raises(Unavailable, match="does not answer: the connection was lost"):
                epochs.finish()
    assert len(calls) == min(times, run.options.retries) + 1


def test_an_epoch_has_its_seconds_in_total_and_by_stage() -> None:
    epoch = Epoch(7, {}, 1, 0, 1, 0, 0, (), {"plan": 0.25, "read": 1.0, "load": 0.5})
    assert f"{epoch.seconds:.2f}" == "1.75"
    assert epoch.stages["read"] == 1.0


@pytest.mark.parametrize("waiting", [None, WaitingDdl("7:1", "no such type")])
def test_a_ddl_that_waits_sets_no_table_aside(
    run: Run, monkeypatch: pytest.MonkeyPatch, waiting: WaitingDdl | None
) -> None:
    run.options = replace(run.options, quarantine=True)
    stop = Stop("it does not fit")
    stop.table, stop.ddl = ("shop", "t"), waiting

    def refuse(epochs: Epochs) -> None:
        raise stop

    epochs = run.start()
    with logs_of(run.broker), closing(epochs), closing(run.target):
        while not epochs.state.resolved_ts:
            epochs.next(None, 0.0)
        monkeypatch.setattr(Epochs, "run_pending", refuse)
        with pytest.raises(Stop) as raised:
            epochs.next(None, 0.0)
        assert raised.value is stop
        aside = [table.name for table in run.opened.store.quarantine.tables()]
    assert aside == ([("shop", "t")] if waiting is None else [])
