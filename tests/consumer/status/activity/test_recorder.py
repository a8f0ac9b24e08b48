"""What a consumer is at is written beside the data: it waits for nothing, and nothing for it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.loading import CHANGEFEED, first, kill_session, opened, options
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity import recorder
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.activity.recorder import ActivityRecorder
from ticdc_consumer.status.activity.stored import read
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import until

SOON = 60.0


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "FIRST", 0.05)
    monkeypatch.setattr(recorder, "INTERVAL", 0.05)


@contextmanager
def recording(url: str) -> Iterator[tuple[Monitor, ActivityRecorder]]:
    monitor = Monitor(CHANGEFEED, "0.1.0")
    monitor.generation = 1
    one = ActivityRecorder(monitor, options(url))
    one.begin()
    try:
        yield monitor, one
    finally:
        one.end()


def is_written(target: Target, monitor: Monitor) -> bool:
    """Whether what is new from now on comes to be stored."""
    monitor.resolved_ts += 1
    new = monitor.resolved_ts

    def stored() -> bool:
        activity = read(target, CHANGEFEED)
        return activity is not None and activity.activity.resolved_ts == new

    return until(stored, SOON, pause=0.05)


def test_it_writes_again_after_its_session_was_lost(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions: list[str] = []

    def open_noted(url: str, **settings: Any) -> Target:
        target = open_target(url, **settings)
        sessions.append(target.session_id())
        return target

    monkeypatch.setattr(recorder, "open_target", open_noted)
    with opened(target_url) as target:
        first(Store(target, CHANGEFEED))
        with recording(target_url) as (monitor, _):
            assert is_written(target, monitor)
            (session,) = sessions
            if session:  # SQLite has none to lose
                kill_session(target_url, session)
            assert is_written(target, monitor)
    assert len(sessions) == (2 if session else 1)


def test_a_cut_is_committed_while_it_waits_for_a_lock(target_url: str) -> None:
    """And neither does its lock keep anyone: it has none between two writes."""
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        old = first(store)
        if target.dialect == "sqlite":
            return  # one lock for the file: tests/integration/test_activity.py
        with recording(target_url) as (monitor, _), opened(target_url) as other:
            assert is_written(target, monitor)
            with other.transaction():
                other.execute("DELETE FROM ticdc_activity")
                time.sleep(0.5)  # it runs into the lock
                with target.transaction():
                    store.lock(old)
                began = time.monotonic()
            assert time.monotonic() - began < SOON
            assert is_written(target, monitor)


def test_its_end_is_soon_although_its_table_is_locked(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "LAST_WORD", 0.5)
    with opened(target_url) as target:
        first(Store(target, CHANGEFEED))
        with opened(target_url) as other, recording(target_url) as (monitor, one):
            assert is_written(target, monitor)
            with other.transaction():
                other.execute("DELETE FROM ticdc_activity")
                began = time.monotonic()
                one.end()
                assert time.monotonic() - began < 30
            assert one._thread.daemon
