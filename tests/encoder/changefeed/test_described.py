"""A changefeed as TiCDC describes it: TOML, or the JSON of a query."""

from typing import Any

import pytest
from ticdc_encoder.changefeed.described import DescribedChangefeed
from ticdc_encoder.errors import ConfigError

DESCRIBED: list[tuple[str, str, dict[str, Any]]] = [
    (
        "TOML has its own names",
        '[sink.kafka-config.codec-config]\nenable-tidb-extension = true\n[filter]\nrules = ["a.*"]',
        {"sink.kafka-config.codec-config.enable-tidb-extension": True, "filter.rules": ["a.*"]},
    ),
    (
        "JSON's underscores are the file's hyphens",
        '{"config": {"case_sensitive": true, "sink": {"kafka_config": {"partition_num": 3}}}}',
        {"case-sensitive": True, "sink.kafka-config.partition-num": 3},
    ),
    (
        "a name that differs is that of the file",
        '{"config": {"sink": {"file_index_width": 8}}}',
        {"sink.file-index-digit": 8},
    ),
    (
        "null and an empty text are no settings, but in CSV an empty text is one",
        '{"config": {"sink": {"protocol": "", "open": null, "csv": {"quote": ""}}}}',
        {"sink.csv.quote": ""},
    ),
    (
        "members of lists are renamed, too",
        '{"config": {"filter": {"event_filters": [{"ignore_sql": ["^x"], "ignore_event": null}]}}}',
        {"filter.event-filters": [{"ignore-sql": ["^x"]}]},
    ),
]


@pytest.mark.parametrize(
    ("text", "settings"), [case[1:] for case in DESCRIBED], ids=[case[0] for case in DESCRIBED]
)
def test_settings_have_the_names_of_the_file(text: str, settings: dict[str, Any]) -> None:
    assert DescribedChangefeed.parse(text).settings == settings


def test_a_query_names_the_changefeed_its_sink_and_its_start() -> None:
    text = '{"id": "a", "sink_uri": "kafka://k:1/t", "start_ts": 429918007904436226, "config": {}}'
    described = DescribedChangefeed.parse(text)
    assert (described.name, described.sink_uri) == ("a", "kafka://k:1/t")
    assert described.start_ts == 429918007904436226


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ('{"id": "a"}', "has no config"),
        ('{"id": 1, "config": {}}', "id of the changefeed's description is not a text"),
        ("a = ", "is not TOML"),
        ('{"a":' * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_description_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DescribedChangefeed.parse(text)
