"""`docs/tutorial.md` as a newcomer goes through it: its commands run in their order, and print what
it shows."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PATIENCE = 300.0


def steps() -> Iterator[tuple[str, str, str]]:
    """Kind of block, title and text, as they come."""
    yield from BLOCK.findall(TUTORIAL)


def matches(shown: str, output: str) -> bool:
    """Whether the output is what the page shows: `...` is any text, as a line of its own any
    number of lines."""
    pattern = "".join(
        r"(?:.*\n)?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, output, re.DOTALL) is not None


class Terminals:
    """The first holds the upstream; each command of the second is run to its end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # The commands of this interpreter, whatever the shell has.
        binaries = folder / "bin"
        binaries.mkdir()
        main = "import sys; from ticdc_consumer.cli import main; sys.exit(main())"
        self._script(binaries / "ticdc-consumer", f"-c '{main}'")
        self._script(binaries / "python", "")
        self._environment = {
            **os.environ,
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        self._first: subprocess.Popen[str] | None = None

    def _script(self, path: Path, words: str) -> None:
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        path.chmod(0o755)

    def begin(self, command: str) -> None:
        self._first = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def read(self, lines: int) -> str:
        assert self._first is not None and self._first.stdout is not None
        return "".join(self._first.stdout.readline() for _ in range(lines))

    def type(self, text: str) -> None:
        assert self._first is not None and self._first.stdin is not None
        self._first.stdin.write(text)
        self._first.stdin.flush()
        assert self.read(1) == "sent, as a DDL\n"
        time.sleep(0.5)  # until the resolved ts after it

    def run(self, commands: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def end(self) -> None:
        if self._first is not None:
            self._first.terminate()
            self._first.communicate()


@pytest.fixture
def terminals(tmp_path: Path) -> Iterator[Terminals]:
    terminals = Terminals(tmp_path)
    yield terminals
    terminals.end()


def test_the_tutorial_runs_as_it_is_written(terminals: Terminals) -> None:
    output = ""
    for language, title, text in steps():
        match language, title:
            case "sh", "set up":
                assert "make setup" in text
            case "sh", "first terminal":
                terminals.begin(text.strip())
            case "sql", "first terminal":
                terminals.type(text)
            case "sh", _:
                output = terminals.run(text)
            case "text", _ if not output:
                assert terminals.read(text.count("\n")) == text
            case "text", _:
                assert matches(text, output), f"{text}\n--- came:\n{output}"
            case _:
                raise AssertionError(f"{language} is not for a tutorial")
