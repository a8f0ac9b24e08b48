"""A history as files, for consumers that cannot be run here (docs/how-to/torture.md)."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ticdc_torture.history import History, Topic

FILES = ("history.json", "messages.jsonl", "tables.jsonl")


def export(history: History, folder: Path) -> None:
    """Writes `FILES`; the folder is created."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = history.plan
    about = {
        "seed": plan.seed,
        "protocol": plan.protocol,
        "schema": plan.schema,
        "topics": {step.name: step.partitions for step in history.steps if isinstance(step, Topic)},
        "create": history.definitions,
        "begin": str(history.since),
        "resolved_ts": str(history.goal),
    }
    (folder / FILES[0]).write_text(json.dumps(about, indent=2) + "\n")
    _write(folder / FILES[1], _messages(history))
    _write(folder / FILES[2], _tables(history))


def _write(file: Path, documents: Iterable[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)


def _messages(history: History) -> Iterator[dict[str, Any]]:
    for step in history.steps:
        if not isinstance(step, Topic):
            yield {
                "topic": step.topic,
                "partition": step.partition,
                "key": None if step.key is None else b64encode(step.key).decode(),
                "value": None if step.value is None else b64encode(step.value).decode(),
            }


def _tables(history: History) -> Iterator[dict[str, Any]]:
    for commit_ts, contents in history.tidb.states:
        yield {
            "commit_ts": str(commit_ts),
            "tables": {
                name: {"columns": columns, "rows": rows}
                for name, (columns, rows) in sorted(contents.items())
            },
        }
