"""EDGE: a consumer as a command in a process group of its own, which is killed and paused whole."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

PATIENCE = 120.0
"""Longest wait, in seconds."""


class ConsumerProcess:
    """Starts the consumer. Its output goes to `output`, or to a file of its own."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str] | None = None,
        output: IO[bytes] | None = None,
    ) -> None:
        self._output = tempfile.TemporaryFile() if output is None else output  # noqa: SIM115
        self._own = output is None
        self.process = subprocess.Popen(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if self._own else self._output,
            stderr=self._output,
            start_new_session=True,
        )

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def text(self) -> str:
        """Output until now, on stderr alone if the file is its own."""
        return os.pread(self._output.fileno(), 1 << 20, 0).decode(errors="replace")

    def pause(self) -> None:
        """Sends SIGSTOP to all of the group."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Sends SIGCONT to all of the group."""
        self._signal(signal.SIGCONT)

    def stop(self, patience: float) -> int | None:
        """Sends SIGTERM to the process alone; returns its exit code, or None after a necessary
        SIGKILL.
        """
        self.process.terminate()
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.kill()

    def wait(self, patience: float = PATIENCE) -> tuple[int, str]:
        """The exit code and the output. Raises subprocess.TimeoutExpired."""
        code = self.process.wait(patience)
        text = self.text
        self.kill()
        return code, text

    def kill(self) -> None:
        """Sends SIGKILL to all of the group that still exists."""
        if self._output.closed:
            return  # the number of the group may be another's by now
        self._signal(signal.SIGKILL)
        self.process.wait()
        if self._own:
            self._output.close()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)
