"""What an import takes of a checkpoint's document: nothing that a later start could not read."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.loading import CHANGEFEED, bank, opened, options
from ticdc_consumer.commands.export import document_of, exported, imported
from ticdc_consumer.errors import Usage
from ticdc_consumer.state.schema import METADATA
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import Target

Change = Callable[[dict[str, Any]], None]


def without_its_tables(target: Target) -> None:
    for table in METADATA.sorted_tables:
        target.execute(f"DELETE FROM {table.name}").close()  # noqa: S608


def of_checkpoint(**values: object) -> Change:
    return lambda tables: tables["ticdc_checkpoint"][0].update(values)


def of_offset(**values: object) -> Change:
    return lambda tables: tables["ticdc_offset"][0].update(values)


def with_definition(text: str) -> Change:
    row: dict[str, str | None] = {"schema": "bank", "table": "accounts", "definition": text}
    row |= {"basis": "seen", "target_schema": None, "target_table": None}
    return lambda tables: tables["ticdc_table"].append(row)


DAMAGED = {
    "counters that are not JSON": (of_checkpoint(counters="{"), "JSONDecodeError"),
    "counters that are not an object": (of_checkpoint(counters="[]"), "TypeError"),
    "a counter that is not a number": (of_checkpoint(counters='{"rows": "3"}'), "counters"),
    "settings that are not JSON": (of_checkpoint(scope_text=""), "JSONDecodeError"),
    "an R of more than 64 bits": (of_checkpoint(resolved_ts=str(1 << 64)), "resolved_ts"),
    "an R below 0": (of_checkpoint(resolved_ts=-1), "resolved_ts"),
    "a generation that is true": (of_checkpoint(generation=True), "generation"),
    "an offset of more than 63 bits": (of_offset(restart_offset=1 << 63), "restart_offset"),
    "a topic of half a character": (of_offset(topic="\ud800"), "surrogates"),
    "a topic with NUL": (of_offset(topic="a\0"), "topic"),
    "a topic that is too long": (of_offset(topic="a" * 250), "topic"),
    "a topic that is a number": (of_offset(topic=5), "topic"),
    "a table that is not an object": (with_definition("5"), "TypeError"),
    "a table without columns": (with_definition("{}"), "columns"),
}


@pytest.mark.parametrize(("change", "word"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_document_is_refused_and_nothing_is_written(
    sqlite_url: str, change: Change, word: str
) -> None:
    with opened(sqlite_url) as target:
        bank(target)
        document = exported(target, options(sqlite_url))
        without_its_tables(target)
        change(document["tables"])
        with pytest.raises(Usage, match=word):
            imported(target, options(sqlite_url), document)
        assert Store(target, CHANGEFEED).read() is None


def test_a_whole_document_is_taken(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        document = exported(target, options(sqlite_url))
        without_its_tables(target)
        text = json.dumps(document)
        state = imported(target, options(sqlite_url), document_of(text, "checkpoint.json"))
        assert (state.resolved_ts, state.positions) == (100, here.old.positions)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000], ids=["empty", "cut off", "deep"])
def test_what_is_not_json_is_named(text: str) -> None:
    with pytest.raises(Usage, match=r"checkpoint\.json is not JSON"):
        document_of(text, "checkpoint.json")
