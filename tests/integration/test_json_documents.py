"""What `--json` prints has the members that docs/reference/json.md shows."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.torture_cli import Begin
from support.torture_topics import inserted, ts
from ticdc_consumer import cli
from ticdc_consumer.cli import arguments as command_line
from ticdc_consumer.commands.verify.compare import Difference
from ticdc_consumer.commands.verify.report import TableReport, to_json

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ROOT / "docs" / "reference" / "json.md"
LOGS = ROOT / "docs" / "reference" / "logs.md"
PARTS = {"consumer": {"running", "heard_seconds_ago", "stage", "detail"}, "counters": {"cuts"}}
"""Members whose own members are not all in the document."""


def documented() -> dict[str, Any]:
    blocks = re.findall(
        r"^## ([\w-]+)$.*?^```json\n(.*?)^```$", DOCUMENTS.read_text(), re.MULTILINE | re.DOTALL
    )
    return {command: json.loads(block) for command, block in blocks}


def differences(documented: Any, printed: Any, where: str = "") -> list[str]:
    """Where two documents have other members, or values of another kind; null, and a list without
    an item, may stand for any."""
    name = where.rpartition(".")[2]
    if documented is None or printed is None:
        return []
    if name in PARTS:
        return [f"{where} lacks {one}" for one in PARTS[name] - set(printed)]
    if isinstance(documented, dict) and isinstance(printed, dict):
        wrong = [f"{where}.{one}" for one in set(documented) ^ set(printed)]
        for one in set(documented) & set(printed):
            wrong += differences(documented[one], printed[one], f"{where}.{one}")
        return wrong
    if isinstance(documented, list) and isinstance(printed, list):
        return [wrong for one in printed for wrong in differences(documented[0], one, f"{where}[]")]
    same = type(documented) is type(printed) or {type(documented), type(printed)} <= {int, float}
    return [] if same else [where]


def test_every_command_that_answers_has_its_document() -> None:
    parsers = command_line.parsers_of(command_line.parser())
    answering = {name for name, parser in parsers.items() if "--json" in parser.format_help()}
    assert set(documented()) == answering


@pytest.fixture
def stopped(begin: Begin) -> list[str]:
    """The settings of a changefeed that has a row, a DDL that would stop, and one that stopped."""
    feed, run = begin()
    feed.ddl(150, "CREATE VIEW `v` AS SELECT UPPER(`name`) AS `a` FROM `items`", "v")
    feed.ddl(151, "CREATE SEQUENCE `q`", "q")
    feed.mark(160)
    assert run().code == 0
    feed.send(0, inserted(170, {"id": 3, "name": "three"}))
    feed.ddl(180, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT (1 + 1)", "items")
    feed.mark(200)
    return [str(run._file), *run.arguments()]


DOCUMENTS_OF = ["check", "plan", "status", "why", "list", "trace", "forget"]


@pytest.mark.parametrize("name", DOCUMENTS_OF)
def test_a_document_is_as_documented(
    stopped: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    more = {"trace": ["shop.items", "id=1"], "forget": ["--yes"]}.get(name, [])
    code = cli.main([name, stopped[0], *more, *stopped[1:], "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert code == (3 if name == "plan" else 0)
    assert differences(documented()[name], printed) == []


def test_the_document_of_verify_is_as_documented() -> None:
    difference = Difference("differs", (("id", "2"),), ("v",), ("2", "x"), ("2", "y"))
    report = TableReport(("shop", "items"), '"items"', ts(1), differences=(difference,))
    printed = json.loads(to_json([report], show_values=False))
    shown = documented()["verify"]
    shown["tables"][0]["differences"][0]["key"] = printed["tables"][0]["differences"][0]["key"]
    assert differences(shown, printed) == []


def test_a_plan_that_stops_shows_the_cuts_before_it_and_why(
    stopped: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["plan", *stopped, "--json", "--sql"]) == 3
    output = capsys.readouterr()
    printed = json.loads(output.out)
    assert [cut["resolved_ts"] for cut in printed["cuts"]] == [str(ts(180) + 1)]
    (cut,) = printed["cuts"]
    assert cut["tables"][0]["inserted"] == 1 and cut["statements"]
    assert cut["ddl"][0]["note"].startswith("would stop: ")
    assert printed["stop"]["exit_code"] == 3
    assert printed["stop"]["text"] in output.err


def test_a_member_that_is_missing_or_of_another_kind_is_seen() -> None:
    assert differences({"a": 1, "b": [{"c": "x"}]}, {"a": 1.5, "b": [{"c": "y"}]}) == []
    assert differences({"a": 1}, {"a": "1"}) == [".a"]
    assert differences({"a": 1}, {"a": 1, "b": 2}) == [".b"]
    assert differences({"b": [{"c": "x"}]}, {"b": [{}]}) == [".b[].c"]


def test_every_event_that_is_logged_is_documented() -> None:
    package = ROOT / "consumer" / "ticdc_consumer"
    source = "\n".join(path.read_text() for path in package.rglob("*.py"))
    logged = set(re.findall(r'"event": "(\w+)"|self\._log\(\s*"(\w+)"|ERROR, "(\w+)"', source))
    events = {name for names in logged for name in names if name}
    cells = re.findall(r"^\| (`.*?) \|", LOGS.read_text(), re.MULTILINE)
    assert events == set(re.findall(r"`(\w+)`", " ".join(cells)))
