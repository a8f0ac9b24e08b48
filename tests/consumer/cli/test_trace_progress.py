"""What a trace says while it reads."""

import time

import pytest
from ticdc_consumer.cli.trace_progress import SECONDS_PER_LINE, TraceLines


def test_a_share_is_told_once_and_none_before_something_is_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "ticdc_consumer")
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    lines = TraceLines()
    for share in (0.0, 0.0, 0.004, 0.25, 0.25, 0.5):
        now += SECONDS_PER_LINE
        lines.report(share)
    assert caplog.messages == [
        "tracing: 25 % of the log is read, about 24.0 s left",
        "tracing: 50 % of the log is read, about 12.0 s left",
    ]
