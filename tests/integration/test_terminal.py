"""What a terminal shows, through a pseudo-terminal; and that pipes stay plain."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.torture_cli import Begin
from support.torture_topics import inserted, ts

COMMAND = str(Path(sys.executable).with_name("ticdc-consumer"))
COLUMNS = 90
SOON = 60.0
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A command at a terminal of 90 columns; `shown` is all that it wrote so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", reader: int) -> None:
        self.process = process
        self.shown = ""
        self._reader = reader

    def read_until(self, condition: Callable[[str], bool]) -> None:
        ends = time.monotonic() + SOON
        while not condition(self.shown):
            assert time.monotonic() < ends, self.shown
            if not self._read():
                break
        assert condition(self.shown), self.shown

    def _read(self) -> bool:
        if not select.select([self._reader], [], [], 1.0)[0]:
            return True
        try:
            data = os.read(self._reader, 65536)
        except OSError:  # the command has ended
            return False
        self.shown += data.decode()
        return bool(data)

    def ended(self) -> int:
        while self._read():
            pass
        return self.process.wait(SOON)


@contextmanager
def at_terminal(*arguments: str, **variables: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, COLUMNS, 0, 0))
    environment = {**plain_environment(), "TERM": "xterm-256color", **variables}
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen([COMMAND, *arguments], env=environment, **streams) as process:  # type: ignore[call-overload]
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            process.kill()
            os.close(ours)


def plain_environment() -> Mapping[str, str]:
    ours = ("NO_COLOR", "COLUMNS", "LINES", "TERM", "FORCE_COLOR")
    return {name: value for name, value in os.environ.items() if name not in ours}


def plain(text: str) -> str:
    return ESCAPE.sub("", text)


@pytest.fixture
def settings(begin: Begin) -> list[str]:
    _, run = begin()
    return [str(run._file), *run.arguments()]


def test_a_run_shows_one_live_line_and_what_it_logs_above_it(begin: Begin) -> None:
    feed, run = begin()
    with at_terminal("run", str(run._file), *run.arguments()) as terminal:
        terminal.read_until(lambda text: "waiting for a resolved ts above R" in text)
        feed.create(150, "CREATE TABLE `other` (`id` INT NOT NULL, PRIMARY KEY (`id`))")
        feed.send(0, inserted(160, {"id": 3, "name": "three"}))
        feed.mark(200)
        terminal.read_until(lambda text: f"DDL {ts(150)}:1 in shop: CREATE TABLE" in text)
        terminal.read_until(lambda text: run.resolved_ts == ts(200))
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 0
    shown = terminal.shown
    frames = [line for line in plain(shown).splitlines() if "changes/s  " in line]
    assert frames and all(frame.startswith("R 2024-05-25 05:09:29  lag ") for frame in frames)
    assert all(len(part) < COLUMNS for part in re.split(r"[\r\n]", "\n".join(frames)))
    assert "\x1b[2K" in shown  # the line is drawn over itself
    lines = [line for line in plain(shown).splitlines() if line.strip()]
    assert lines[-1].startswith(f"stopped by SIGTERM: R {ts(200)} (")
    assert not [line for line in lines if " changes/s: " in line and line.startswith("R ")]


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_without_colour_gets_the_lines_of_a_pipe(
    settings: list[str], variables: dict[str, str]
) -> None:
    for command in (["run", *settings, "--until", "caught-up"], ["status", *settings]):
        with at_terminal(*command, **variables) as terminal:
            assert terminal.ended() == 0
        assert "\x1b" not in terminal.shown
        assert "resolved_ts     " in terminal.shown or "done: " in terminal.shown


def test_check_is_aligned_and_in_colour(settings: list[str]) -> None:
    with at_terminal("check", *settings) as terminal:
        assert terminal.ended() == 0
    assert "\x1b[32mok" in terminal.shown
    lines = plain(terminal.shown).splitlines()
    assert all(len(line) <= COLUMNS for line in lines)
    begins = [line[:4].rstrip() for line in lines if line[:4].strip()]
    assert set(begins) <= {"ok", "warn", "fail"} and len(begins) > 5
    assert all(line[4] == line[29] == " " for line in lines if len(line) > 30)


def test_plan_and_status_are_tables(begin: Begin) -> None:
    feed, run = begin()
    feed.send(0, inserted(150, {"id": 3, "name": "three"}))
    feed.mark(200)
    settings = [str(run._file), *run.arguments()]
    with at_terminal("plan", *settings) as terminal:
        assert terminal.ended() == 0
    lines = [" ".join(line.split()) for line in plain(terminal.shown).splitlines()]
    assert lines[0].startswith(f"cut to R {ts(200)} (2024-05-25")
    assert lines[1:3] == ["table inserted updated deleted", "shop.items 1 0 0"]
    with at_terminal("status", *settings) as terminal:
        assert terminal.ended() == 0
    lines = [" ".join(line.split()) for line in plain(terminal.shown).splitlines()]
    assert f"resolved_ts {ts(100)} (2024-05-25 05:09:29.531 UTC)" in lines
    assert 'shop.items "items" 0 2' in lines
    assert "topic partition restart offset" in lines
    assert "\x1b[" in terminal.shown


def test_pipes_and_documents_are_plain(settings: list[str]) -> None:
    for command in ("check", "plan", "status"):
        done = subprocess.run([COMMAND, command, *settings], capture_output=True, check=True)
        assert b"\x1b" not in done.stdout + done.stderr
    with at_terminal("status", *settings, "--json") as terminal:
        assert terminal.ended() == 0
    assert "\x1b" not in terminal.shown and terminal.shown.startswith("{")
