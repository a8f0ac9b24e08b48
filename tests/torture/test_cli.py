"""What the kit's command line refuses."""

import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from ticdc_torture.cli import main

RUN = [
    "run",
    "--protocol",
    "canal-json",
    "--consumer",
    "true",
    "--seed",
    "1",
    "--transactions",
    "2",
]

REFUSED = {
    "a target of another kind": (["--target", "oracle://x/y"], "--target: "),
    "no URL": (["--target", "x"], "--target: Could not parse"),
    "an outage of a real Kafka": (
        ["--target", "sqlite://", "--kafka", "127.0.0.1:1"],
        "a broker goes away only of the mock Kafka: --outages 0",
    ),
}


@pytest.mark.parametrize(("words", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_wrong_usage_is_named(
    words: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, *words]) == 2
    assert capsys.readouterr().err.startswith(f"ticdc-torture: {reason}")


def test_a_target_with_tables_is_not_touched(
    sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = sa.create_engine(sqlite_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE b (x INTEGER)")
    engine.dispose()
    assert main([*RUN, "--target", sqlite_url]) == 2
    assert capsys.readouterr().err == "ticdc-torture: --target has tables already: b; drop them\n"


def test_it_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ticdc_torture", "export", "--protocol", "debezium"]
    subprocess.run([*command, "--transactions", "3", "--folder", str(tmp_path / "x")], check=True)
    assert {file.name for file in (tmp_path / "x").iterdir()} == {
        *("history.json", "messages.jsonl", "tables.jsonl")
    }
