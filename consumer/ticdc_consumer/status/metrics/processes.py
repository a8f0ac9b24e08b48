"""Costs of this process and its descendants, from Linux's `/proc`; nothing elsewhere."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class ProcessCost:
    resident_bytes: int
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    parent: int
    ticks: int
    ticks_of_ended_children: int
    resident_pages: int


def processes(proc: Path = PROC) -> Mapping[str, ProcessCost]:
    """The cost of `driver`, `jvm` and `workers`; each only if it exists."""
    known = dict(_read(proc))
    sums: dict[str, list[float]] = {}
    for pid, process in known.items():
        role = _role(pid, process, known)
        if role is None:
            continue
        # Spark's Python workers end while it runs: their time is added to their parent's.
        ticks = process.ticks + (process.ticks_of_ended_children if role == "workers" else 0)
        both = sums.setdefault(role, [0, 0.0])
        both[0] += process.resident_pages * os.sysconf("SC_PAGE_SIZE")
        both[1] += ticks / os.sysconf("SC_CLK_TCK")
    return {role: ProcessCost(int(both[0]), both[1]) for role, both in sums.items()}


def _role(pid: int, process: _Process, known: Mapping[int, _Process]) -> str | None:
    if pid == os.getpid():
        return "driver"
    parent = process.parent
    while parent != os.getpid():
        if parent not in known:
            return None
        parent = known[parent].parent
    return "jvm" if process.name == "java" else "workers"


def _read(proc: Path) -> Iterator[tuple[int, _Process]]:
    with suppress(OSError):
        for folder in proc.iterdir():
            if folder.name.isdigit():
                with suppress(OSError, ValueError):  # the process has ended
                    yield int(folder.name), _parsed((folder / "stat").read_text())


def _parsed(stat: str) -> _Process:
    """Parses the fields of proc(5); the name may contain spaces and brackets."""
    name, _, rest = stat.partition("(")[2].rpartition(")")
    fields = rest.split()
    user, system, ended_user, ended_system = map(int, fields[11:15])
    return _Process(name, int(fields[1]), user + system, ended_user + ended_system, int(fields[21]))
