"""`ignore-update-only-columns` of an event filter: UPDATEs of these columns alone are not sent.

Source: TiCDC's master (no release has it), `pkg/filter/update_only_columns_filter.go`.
"""

import json
from typing import Any

import pytest
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.storage import StorageChangefeed
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.sql.parser import parse_create_table

URI = "kafka://b/t?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
MASTER: Any = {"version": "9.0.0", "new_architecture": True}
TABLE = parse_create_table(
    "create table t (id int primary key nonclustered, u int, seen int, Hits int, v int,"
    " w int as (v + 1) virtual, unique (u))",
    "s",
)
OLD = {"id": 1, "u": 1, "seen": 1, "Hits": 1, "v": 1}


def configured(*columns: str, **more: Any) -> dict[str, Any]:
    settings = {"matcher": ["s.t"], "ignore-update-only-columns": [*columns], **more}
    return {"filter": {"event-filters": [settings]}}


def kinds(config: dict[str, Any], *changes: dict[str, int] | None, **made: Any) -> list[str]:
    """What is sent of an UPDATE to OLD and each change's values."""
    changefeed = Changefeed(URI, config, **{**MASTER, **made})
    rows = (RowChange(TABLE, 5, OLD, {**OLD, **change} if change else None) for change in changes)
    messages = changefeed.encode(Transaction(5, tuple(rows), net=True))
    return [json.loads(message.value or b"")["type"] for message in messages]


CASES: list[tuple[tuple[str, ...], dict[str, int], list[str]]] = [
    (("seen", "hits"), {"seen": 2}, []),
    (("seen", "hits"), {"seen": 2, "Hits": 2}, []),
    (("seen", "hits"), {"seen": 2, "v": 2}, ["UPDATE"]),
    (("seen",), {"Hits": 2}, ["UPDATE"]),
    # A key's column counts, although it is listed.
    (("seen", "u"), {"u": 2}, ["DELETE", "INSERT"]),
    (("seen", "id"), {"seen": 2, "id": 2}, ["DELETE", "INSERT"]),
    (("u",), {"seen": 2}, ["UPDATE"]),
    # Unknown and virtual columns are passed over.
    (("gone", "w"), {"seen": 2}, ["UPDATE"]),
    (("gone", "seen"), {"seen": 2}, []),
]


@pytest.mark.parametrize(("columns", "change", "expected"), CASES)
def test_an_update_of_these_columns_alone_is_not_sent(
    columns: tuple[str, ...], change: dict[str, int], expected: list[str]
) -> None:
    assert kinds(configured(*columns), change) == expected


def test_raw_updates_of_a_key_are_sent_inserts_and_deletes_too() -> None:
    raw = configured("seen", "u") | {"sink": {"kafka-config": {"output-raw-change-event": True}}}
    assert kinds(raw, {"u": 2}, {"seen": 2}, None) == ["DELETE", "UPDATE"]
    changefeed = Changefeed(URI, configured("seen"), **MASTER)
    inserted = RowChange(TABLE, 5, None, OLD)
    assert len(changefeed.encode(Transaction(5, (inserted,)))) == 1


def test_an_old_row_without_its_unchanged_columns_is_enough() -> None:
    changefeed = Changefeed(URI, configured("seen"), **MASTER)
    partial = RowChange(TABLE, 5, {"id": 1, "seen": 1}, {**OLD, "seen": 2})
    assert changefeed.encode(Transaction(5, (partial,))) == []


def test_the_case_of_the_columns_counts_with_case_sensitive() -> None:
    sensitive = configured("hits") | {"case-sensitive": True}
    assert kinds(sensitive, {"Hits": 2}) == ["UPDATE"]
    assert kinds(configured("Hits") | {"case-sensitive": True}, {"Hits": 2}) == []


def test_the_filter_is_of_its_own_tables_and_other_filters_go_on() -> None:
    assert kinds(configured("seen", matcher=["s.other"]), {"seen": 2}) == ["UPDATE"]
    with_event = configured("seen", **{"ignore-event": ["update"]})
    assert kinds(with_event, {"v": 2}) == []


def test_cloud_storage_sends_them_all_the_same() -> None:
    changefeed = StorageChangefeed("file:///sink?protocol=csv", configured("seen"), **MASTER)
    changefeed.encode(Transaction(5, (RowChange(TABLE, 5, OLD, {**OLD, "seen": 2}),)))
    data, _ = changefeed.flush()
    assert data.content == b'"U","t","s",1,1,2,1,1\r\n'


@pytest.mark.parametrize(
    ("version", "new"),
    [
        *[("8.5.7", False), ("8.5.7", True), ("8.5.8", True), ("8.5.9", True)],
        *[("9.0.0-beta.2.pre", False), ("9.0.0", False)],
    ],
)
def test_no_release_or_beta_has_it(version: str, new: bool) -> None:
    message = r"ignore-update-only-columns needs TiCDC's new architecture, of 9\.0\.0 or later"
    with pytest.raises(ConfigError, match=message):
        Changefeed(URI, configured("seen"), version, new_architecture=new)
    with pytest.raises(ConfigError, match=message):
        StorageChangefeed(
            "file:///sink?protocol=csv", configured("seen"), version, new_architecture=new
        )
