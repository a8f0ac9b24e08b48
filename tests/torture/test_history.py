"""What the kit's histories hold: the same for the same seed, all protocols, DDL or not."""

from collections import defaultdict

import pytest
from ticdc_encoder.event import Ddl, Resolved, RowChange
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.message import Message
from ticdc_torture.history import PROTOCOLS, History, HistoryPlan, Topic

SEEDS = range(6)


def events(history: History) -> list[RowChange | Ddl | Resolved]:
    wire = FORMATS[history.plan.protocol]
    decoded = []
    for step in history.steps:
        if isinstance(step, Message):
            decoded += wire.decode(step.key, step.value, wire.Options())
    return decoded


def test_one_seed_gives_one_history() -> None:
    plan = HistoryPlan(seed=3, protocol="canal-json", transactions=40, ddl=True)
    assert History(plan).steps == History(plan).steps
    other = HistoryPlan(seed=4, protocol="canal-json", transactions=40, ddl=True)
    assert History(other).steps != History(plan).steps


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("ddl", [False, True], ids=["rows", "ddl"])
def test_every_protocol_carries_a_history(protocol: str, ddl: bool) -> None:
    history = History(HistoryPlan(seed=1, protocol=protocol, transactions=30, ddl=ddl))
    topics = {step.name: step.partitions for step in history.steps if isinstance(step, Topic)}
    messages = [step for step in history.steps if isinstance(step, Message)]
    assert len(messages) > 30
    assert all(message.partition < topics[message.topic] for message in messages)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_below_a_resolved_ts_came_before_it(seed: int) -> None:
    history = History(HistoryPlan(seed=seed, protocol="canal-json", transactions=60))
    rows = [e.commit_ts for e in events(history) if isinstance(e, RowChange)]
    seen: set[int] = set()
    resolved = 0
    for event in events(history):
        if isinstance(event, Resolved):
            resolved = max(resolved, event.resolved_ts)
        elif isinstance(event, RowChange):
            assert event.commit_ts >= resolved or event.commit_ts in seen
            seen.add(event.commit_ts)
    assert resolved == history.goal > max(rows)
    assert min(rows) >= history.since


def test_the_histories_disturb_in_every_way_that_ticdc_may() -> None:
    ways: dict[str, int] = defaultdict(int)
    for seed in SEEDS:
        history = History(HistoryPlan(seed=seed, protocol="canal-json", transactions=60))
        resolved, greatest = 0, 0
        copies = set()
        for event in events(history):
            if isinstance(event, Resolved):
                ways["a resolved ts goes back"] += event.resolved_ts < resolved
                resolved = event.resolved_ts
            elif isinstance(event, RowChange):
                key = (event.commit_ts, repr(event))
                ways["a row comes again"] += key in copies
                ways["a row comes out of order"] += event.commit_ts < greatest
                greatest = max(greatest, event.commit_ts)
                copies.add(key)
    assert all(ways.values()) and len(ways) == 3


def test_each_table_has_a_topic_if_that_is_asked_for() -> None:
    plan = HistoryPlan(seed=2, protocol="canal-json", transactions=30, per_table=True, schema="s")
    history = History(plan)
    assert history.topics == ("torture", "^s_.*")
    assert {step.name for step in history.steps if isinstance(step, Topic)} == {
        *("torture", "s_a", "s_b", "s_c")
    }


def test_without_ddl_the_log_has_none_and_the_tables_exist() -> None:
    history = History(HistoryPlan(seed=5, protocol="canal-json", transactions=30))
    assert not any(isinstance(event, Ddl) for event in events(history))
    assert sorted(history.definitions) == ["a", "b", "c"]
    assert [rows for _, _, rows in history.states()[0][1]] == [(), (), ()]
