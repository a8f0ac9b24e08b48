"""What a run logs of its epochs."""

import logging
import time

import pytest
from ticdc_consumer.cli.progress import RunProgress
from ticdc_consumer.epoch import Epoch


def epoch(changes: int, seconds: float) -> Epoch:
    return Epoch(429918007904436226, {}, changes, 0, changes, 0, 0, (), {"read": seconds})


def test_lines_come_every_ten_seconds_with_what_there_was(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "ticdc_consumer.cli")
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = RunProgress()
    for at in (1.0, 5.0, 10.9, 11.0, 20.0, 21.0):
        now = at
        progress.report(epoch(10, 0.1))
    assert [text.partition(" changes/s: ")[2] for text in caplog.messages] == [
        "10 messages, 10 changes",
        "30 messages, 30 changes",
        "20 messages, 20 changes",
    ]


def test_the_rate_of_a_run_does_not_count_what_came_before_its_first_changes(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "ticdc_consumer.cli")
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = RunProgress()
    for at, done in ((20.0, epoch(0, 1.0)), (32.0, epoch(1_000, 2.0)), (34.0, epoch(2_000, 2.0))):
        now = at
        progress.report(done)
    now = 40.0
    progress.sum_up("done")
    (sum_up,) = [text for text in caplog.messages if text.startswith("done: ")]
    assert " after 3 cuts in 40.0 s, 300 changes/s: " in sum_up
