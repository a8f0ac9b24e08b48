"""What a command logs: lines for people, objects for programs, nothing of its own for a host."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.cli import logs, masking
from ticdc_consumer.cli.output import print_error
from ticdc_consumer.errors import Stop

logger = logging.getLogger("ticdc_consumer.cut.planner")


@pytest.fixture(autouse=True)
def own_hook() -> Iterator[None]:
    hook = sys.excepthook
    yield
    sys.excepthook = hook


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(masking, "_secrets", {"canary-one"})
    return "canary-one"


def test_a_line_is_the_sentence_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with logs.logging_to_stderr():
        logger.info("the next cut ends at %d", 7, extra={"event": "cut", "end_ts": 7})
        logger.debug("not shown")
        logging.getLogger("elsewhere").info("not shown")
        logging.getLogger("elsewhere").warning("a\nb")
    assert capsys.readouterr().err == "the next cut ends at 7\na\\nb\n"


def test_an_object_has_the_fields_of_its_event(capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"topic": "orders", "partition": 3, "offset": 9, "table": "shop.a", "seconds": 0.12345}
    with logs.logging_to_stderr():
        logs.choose("json", "debug")
        logger.debug("a %s", "b", extra={"event": "cut", "resolved_ts": 1 << 60, **fields})
        logging.getLogger("elsewhere").warning("c\nd")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    at = datetime.fromisoformat(first.pop("time"))
    assert timedelta() <= datetime.now(UTC) - at < timedelta(minutes=1)
    assert first == {
        "level": "debug",
        "logger": "ticdc_consumer.cut.planner",
        "event": "cut",
        "resolved_ts": str(1 << 60),
        **fields,
        "seconds": 0.123,
        "text": "a b",
    }
    assert (second["event"], second["text"]) == ("message", "c\nd")


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_no_record_shows_a_password(
    log_format: logs.LogFormat, canary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with logs.logging_to_stderr():
        logs.choose(log_format, "info")
        logger.warning("as %s", canary, extra={"reason": canary, "all": {"x": [canary]}})
        try:
            raise ValueError(canary)
        except ValueError:
            logger.exception("failed")
        print_error(Stop(f"of postgresql://app:{canary}@h/d"))
    printed = capsys.readouterr().err
    assert "***" in printed and canary not in printed


def test_the_last_error_names_its_message_in_fields(capsys: pytest.CaptureFixture[str]) -> None:
    error = Stop("not the digits of an integer")
    error.add_note("at ux_ops2[1] offset 1457")
    with logs.logging_to_stderr():
        logs.choose("json", "error")
        assert print_error(error) == 3
    (line,) = capsys.readouterr().err.splitlines()
    printed = json.loads(line)
    assert {name: printed[name] for name in ("event", "exit_code", "topic", "partition")} == {
        "event": "failed",
        "exit_code": 3,
        "topic": "ux_ops2",
        "partition": 1,
    }
    assert printed["offset"] == 1457
    assert printed["text"] == "not the digits of an integer; at ux_ops2[1] offset 1457"


def test_a_command_leaves_the_hosts_loggers_as_they_were() -> None:
    root, ours = logging.getLogger(), logging.getLogger("ticdc_consumer")
    before = list(root.handlers), root.level, ours.level
    assert cli.main(["status", "nowhere.toml"]) == 2
    assert (list(root.handlers), root.level, ours.level) == before


EMBEDDED = """
import logging
import ticdc_consumer
from ticdc_consumer import Consumer
ours = logging.getLogger("ticdc_consumer")
logging.getLogger("ticdc_consumer.state.lease").warning("nobody asked for it")
print(logging.getLogger().handlers, [type(each).__name__ for each in ours.handlers], ours.level)
"""


def test_a_program_that_embeds_it_gets_no_handler_and_no_output() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EMBEDDED], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[] ['NullHandler'] 0\n", "")
