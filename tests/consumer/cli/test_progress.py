"""What a run logs of its epochs."""

import logging
import time
from collections.abc import Callable

import pytest
from ticdc_consumer.cli.progress import RunProgress
from ticdc_consumer.cut.epoch import Epoch


def epoch(changes: int, seconds: float) -> Epoch:
    return Epoch(429918007904436226, {}, changes, 0, changes, 0, 0, (), {"read": seconds})


@pytest.fixture
def at(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Callable[[float], None]:
    """Sets the clock, which begins at 0; what is logged is kept."""
    now = [0.0]
    caplog.set_level(logging.INFO, "ticdc_consumer.cli")
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, seconds)


def test_lines_come_every_ten_seconds_with_what_there_was(
    caplog: pytest.LogCaptureFixture, at: Callable[[float], None]
) -> None:
    progress = RunProgress()
    for seconds in (1.0, 5.0, 10.9, 11.0, 20.0, 21.0):
        at(seconds)
        progress.report(epoch(10, 0.1))
    assert [text.partition(" changes/s: ")[2] for text in caplog.messages] == [
        "10 messages, 10 changes",
        "30 messages, 30 changes",
        "20 messages, 20 changes",
    ]


def test_the_rate_of_a_run_starts_at_its_first_changes(
    caplog: pytest.LogCaptureFixture, at: Callable[[float], None]
) -> None:
    progress = RunProgress()
    for seconds, done in (
        (20.0, epoch(0, 1.0)),
        (32.0, epoch(1_000, 2.0)),
        (34.0, epoch(2_000, 2.0)),
    ):
        at(seconds)
        progress.report(done)
    at(40.0)
    progress.sum_up("done")
    (sum_up,) = [text for text in caplog.messages if text.startswith("done: ")]
    assert " after 3 cuts in 40.0 s, 300 changes/s: " in sum_up
