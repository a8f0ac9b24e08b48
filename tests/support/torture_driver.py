"""A consumer as a process of its own, which a test may stop, continue and kill.

Run as a script it is `ticdc-consumer`, but for Spark: its tasks run in the driver, so that it
starts in a second.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ticdc_torture.process import PATIENCE, ConsumerProcess


class Driver(ConsumerProcess):
    """`ticdc-consumer`, with all that it starts in a process group of its own."""

    def __init__(
        self, arguments: Sequence[str], *, spark: bool = False, failpoint: str | None = None
    ) -> None:
        """Runs the command line with TICDC_FAILPOINT; with `spark` it uses the real one."""
        command = ["-c", "import sys; from ticdc_consumer.cli import main; sys.exit(main())"]
        if not spark:
            command = ["-m", "support.torture_driver"]
        environ = {**os.environ, **({"TICDC_FAILPOINT": failpoint} if failpoint else {})}
        environ["PYTHONPATH"] = os.pathsep.join(sys.path)
        environ["PYTHONFAULTHANDLER"] = "1"  # SIGABRT writes the stacks of all threads to stderr
        super().__init__([sys.executable, *command, *arguments], environ)

    def wait(self, patience: float = PATIENCE) -> tuple[int, str]:
        """The exit code, and what it said on stderr. Raises AssertionError if it does not end: with
        what its threads are at, and how much CPU it got, which tells a hang from a busy machine."""
        try:
            return super().wait(patience)
        except subprocess.TimeoutExpired:
            cpu = sum(map(int, self._stat()[11:13])) / os.sysconf("SC_CLK_TCK")
            self.process.send_signal(signal.SIGABRT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
            text = self.text
            self.kill()
        raise AssertionError(f"it did not end in {patience:.0f} s, {cpu:.1f} s of CPU: {text}")

    def wait_until_stopped(self, patience: float = PATIENCE) -> None:
        """Returns once it has stopped itself. Raises AssertionError if it ends instead."""
        deadline = time.monotonic() + patience
        while self._state() != "T":
            assert self.running, f"it ended instead: {self.wait()}"
            assert time.monotonic() < deadline, "it does not stop"
            time.sleep(0.01)

    def _state(self) -> str:
        return self._stat()[0]

    def _stat(self) -> list[str]:
        """From the state on, which is the third field."""
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()

    def await_words(self, words: str, patience: float = PATIENCE) -> None:
        """Returns once they are on its stderr."""
        deadline = time.monotonic() + patience
        while words not in (text := self.text):
            assert self.running, text
            assert time.monotonic() < deadline, text
            time.sleep(0.1)


def children(pid: int) -> dict[int, str]:
    """The processes below one, by their command lines; parents before their children."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        for child in parents.get(waiting.pop(), ()):
            try:
                words = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            found[child] = words
            waiting.append(child)
    return found


def main() -> int:
    from ticdc_consumer import cli
    from ticdc_consumer.commands import run as consumer
    from ticdc_consumer.config.options import Settings
    from ticdc_consumer.cut.read import staging

    from support.local_spark import LocalSpark

    real = consumer.Consumer

    def with_spark(options: Settings, **more: Any) -> consumer.Consumer:
        return real(options, LocalSpark(2), **more)  # type: ignore[arg-type]

    staging.LEAST_ROWS = 1
    consumer.Consumer = with_spark  # type: ignore[assignment,misc]
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
