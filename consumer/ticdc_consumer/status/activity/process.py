"""State of a consumer's process on this machine."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

_PROC = Path("/proc")
_STARTED_LATE = 60.0
"""Seconds by which a process may seem to have started after its consumer: clocks get adjusted."""


def state_of(pid: int, started: float) -> Literal["", "lives", "stopped"]:
    """State of the process `pid`, in which a consumer began at `started` (seconds since 1970): ""
    if it is gone, even if another process has its number now; "stopped" after SIGSTOP or Ctrl-Z."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    with suppress(OSError, ValueError, IndexError, StopIteration):
        # The name, in parentheses, may contain anything.
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        boot = (_PROC / "stat").read_text().splitlines()
        booted = next(float(line.split()[1]) for line in boot if line.startswith("btime "))
        if booted + int(fields[19]) / os.sysconf("SC_CLK_TCK") > started + _STARTED_LATE:
            return ""
        if fields[0] in "ZX":
            return ""
        return "stopped" if fields[0] in "Tt" else "lives"
    return "lives"
