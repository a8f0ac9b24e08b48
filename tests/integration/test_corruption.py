"""Rows that are not what their checksums say."""

import json
from dataclasses import replace

import pytest
from support import brokers
from support.torture_cli import Command, Make, refuses
from support.torture_topics import Feed, inserted, table, ts

ITEMS = replace(table(), table_id=7, version=ts(10))


@pytest.fixture
def corrupted(mock_kafka: brokers.Mock, sqlite_url: str, command: Make) -> tuple[Feed, Command]:
    """A row of Simple whose text was changed on its way, behind a cut that is applied."""
    feed = Feed(mock_kafka, "simple", integrity_check=True)
    feed.create(10)
    feed.bootstrap(0, ITEMS)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}, ITEMS))
    feed.mark(100)
    run = command([feed], sqlite_url)
    outcome = run()
    assert outcome.code == 0, outcome.said
    key, value = feed.record(inserted(150, {"id": 3, "name": "three"}, ITEMS))
    feed.send_raw(0, key, (value or b"").replace(b"three", b"threw"))
    feed.mark(200)
    return feed, run


def test_a_corrupted_row_stops_with_its_key_and_place(corrupted: tuple[Feed, Command]) -> None:
    feed, run = corrupted
    refuses(
        run,
        f"shop.items: the row with key id=3 of commit_ts {ts(150)} differs from its checksum",
        '[source] on_corruption = "warn"',
        f"at {feed.topic}[0] offset 4",
    )


def test_a_corrupted_row_is_taken_and_told_where_that_is_wished(
    corrupted: tuple[Feed, Command],
) -> None:
    feed, run = corrupted
    outcome = run(source__on_corruption="warn")
    assert outcome.code == 0
    assert (
        f"warning: shop.items: the row with key id=3 of commit_ts {ts(150)} differs from "
        f"its checksum; at {feed.topic}[0] offset 4"
    ) in outcome.said
    assert run.rows("SELECT * FROM items ORDER BY id") == [(1, "one"), (3, "threw")]
    ((counters,),) = run.rows("SELECT counters FROM ticdc_checkpoint")
    assert json.loads(counters)["corrupted"] == 1
