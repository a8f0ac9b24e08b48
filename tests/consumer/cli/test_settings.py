"""`ticdc-consumer settings`: the reference of a configuration."""

import json

import pytest
from ticdc_consumer.cli import main


def test_a_section_is_listed_with_types_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "target.apply"]) == 0
    assert capsys.readouterr().out == (
        "target.apply\n    net: one transaction per cut, with each row's final state; "
        'transactions: one per upstream transaction\n    net | transactions; default "net"\n'
    )


def test_all_are_one_document_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["settings"]
    by_name = {each["name"]: each for each in printed}
    assert len(by_name) == len(printed) > 50
    assert by_name["limits.retries"] == {
        "name": "limits.retries",
        "type": "number, 1 or more",
        "help": "how often an epoch is retried",
        "default": "8",
        "required": False,
        "allowed": [],
        "variable": "TICDC_LIMITS_RETRIES",
    }
    assert by_name["spark.start"]["allowed"] == ["when-needed", "at-once"]
