"""What is said while a database does not answer."""

import pytest
from ticdc_consumer.targets import open_target, watch
from ticdc_consumer.targets.target import Target
from ticdc_consumer.targets.watch import watched

SLEEPS = {"postgresql": "SELECT pg_sleep({})", "mariadb": "SELECT SLEEP({})"}


@pytest.fixture(params=sorted(SLEEPS))
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Target:
    monkeypatch.setattr(watch, "WARNING_INTERVAL", 0.5)
    monkeypatch.setattr(watch, "PAUSE", 0.02)
    return open_target(str(request.getfixturevalue(f"{request.param}_url")))


def sleep(target: Target, seconds: float) -> None:
    target.query(SLEEPS[target.dialect].format(seconds))


def test_an_unanswered_statement_is_told_again_and_again(
    target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    with watched(target):
        sleep(target, 2.4)
    assert len(caplog.messages) >= 2
    assert caplog.messages[0].startswith("waiting for the target: it has not answered for ")
    assert "disk space" in caplog.messages[0]
    target.close()


def test_many_statements_that_are_answered_are_not_told(
    target: Target, caplog: pytest.LogCaptureFixture
) -> None:
    with watched(target):
        for _ in range(8):
            sleep(target, 0.1)
    assert caplog.messages == []
    target.close()
