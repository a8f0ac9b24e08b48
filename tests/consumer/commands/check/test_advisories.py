"""Which of TiCDC's known defects a release has."""

import pytest
from ticdc_consumer import config
from ticdc_consumer.commands.check.advisories import ADVISORIES, advisories
from ticdc_consumer.commands.check.context import Premises
from ticdc_encoder.version import version_number

RETRY = "reordering on retry"
NEW = [
    "duplicate dispatchers after a failover",
    "duplicate dispatchers by a race",
    "a stale capture keeps writing",
    "rows differ after a Kafka controller failure",
    "DDL of a new table is skipped",
]
SETTINGS = {
    "changefeed": "shop",
    "protocol": "canal-json",
    "kafka.topics": ["shop"],
    "kafka.bootstrap.servers": "localhost:9092",
    "target.url": "sqlite:///:memory:",
}


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("6.3.0", []),
        ("6.5.11", [RETRY]),
        ("6.5.12", []),
        ("7.1.6", [RETRY]),
        ("7.1.7", []),
        ("7.5.5", [RETRY]),
        ("7.5.8", []),
        ("8.1.2", [RETRY]),
        ("8.1.3", []),
        ("8.5.0", [RETRY]),
        ("8.5.1", []),
        ("8.5.3", []),
        ("v8.5.4-release.1", NEW),
        ("8.5.7-20260728-c8d4d68", NEW),
        ("8.5.8", []),
    ],
)
def test_the_advisories_of_a_release(version: str, names: list[str]) -> None:
    number = version_number(version)
    assert [each.name for each in ADVISORIES if each.affects(number)] == names


def test_check_warns_of_the_release_that_is_configured() -> None:
    found = list(advisories(Premises(config.Settings.of({**SETTINGS, "source.version": "8.5.0"}))))
    assert [finding.level for finding in found] == ["warn"]
    assert "TiCDC 8.5.0, reordering on retry" in found[0].text
    assert "https://github.com/pingcap/tiflow/issues/11935" in found[0].text


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ({}, "not checked: [source] version does not name the release"),
        ({"source.version": "8.5.8"}, "none is known for TiCDC 8.5.8"),
    ],
)
def test_check_says_that_nothing_is_known(version: dict[str, str], text: str) -> None:
    found = list(advisories(Premises(config.Settings.of({**SETTINGS, **version}))))
    assert [finding.level for finding in found] == ["ok"]
    assert text in found[0].text
