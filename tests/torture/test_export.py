"""The files of a history: messages as they were sent, tables as they must be."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

from ticdc_encoder.message import Message
from ticdc_torture.cli import main
from ticdc_torture.history import History, HistoryPlan, canonical


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_files_hold_the_history(tmp_path: Path) -> None:
    words = ["--protocol", "open-protocol", "--seed", "7", "--transactions", "20"]
    assert main(["export", *words, "--folder", str(tmp_path / "new")]) == 0
    history = History(HistoryPlan(seed=7, protocol="open-protocol", transactions=20))
    messages = [
        Message(m["topic"], m["partition"], _bytes(m["key"]), _bytes(m["value"]))
        for m in lines(tmp_path / "new" / "messages.jsonl")
    ]
    assert messages == [step for step in history.steps if isinstance(step, Message)]
    tables = [
        (
            int(t["commit_ts"]),
            canonical({n: (tuple(c["columns"]), c["rows"]) for n, c in t["tables"].items()}),
        )
        for t in lines(tmp_path / "new" / "tables.jsonl")
    ]
    assert tables == history.states()
    about = json.loads((tmp_path / "new" / "history.json").read_text())
    assert about["create"]["a"].startswith("CREATE TABLE `a` (")
    assert int(about["resolved_ts"]) == history.goal


def _bytes(text: object) -> bytes | None:
    return None if text is None else b64decode(str(text))
