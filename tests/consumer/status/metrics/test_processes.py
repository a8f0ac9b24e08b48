"""Memory and CPU of this process and of those below it."""

import os
import subprocess
import sys
import time
from pathlib import Path

from ticdc_consumer.status.metrics.processes import processes


def test_this_process_and_its_children_are_measured() -> None:
    program = "import time; x = bytearray(64 << 20); print('ready', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        costs = processes()
        child.kill()
    assert costs["driver"].resident_bytes > 10 << 20 and costs["driver"].cpu_seconds > 0
    assert costs["workers"].resident_bytes > 64 << 20


def stat(pid: int, name: str, parent: int, ticks: int, of_children: int, pages: int) -> str:
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", str(of_children), "0", *["0"] * 6]
    return f"{pid} ({name}) {' '.join(fields)} {pages}"


def test_a_jvm_its_workers_and_ended_ones_are_told_apart(tmp_path: Path) -> None:
    hertz, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    me = os.getpid()
    table = [
        (me, "python", 1, 3 * hertz, 50, 10),
        (2_000_001, "java", me, 5 * hertz, 70 * hertz, 20),
        (2_000_002, "python3 (d) x", 2_000_001, hertz, 2 * hertz, 30),
        (2_000_003, "python3", 2_000_002, 4 * hertz, 0, 40),
        (2_000_004, "another", 1, 100, 0, 50),
    ]
    for row in table:
        (tmp_path / str(row[0])).mkdir()
        (tmp_path / str(row[0]) / "stat").write_text(stat(*row))
    (tmp_path / "2000005").mkdir()  # it has ended
    costs = processes(tmp_path)
    assert {name: (c.resident_bytes // page, c.cpu_seconds) for name, c in costs.items()} == {
        "driver": (10, 3.0),
        "jvm": (20, 5.0),
        "workers": (70, 7.0),
    }


def test_where_there_is_no_proc_nothing_is_measured(tmp_path: Path) -> None:
    assert processes(tmp_path / "none") == {}


def test_it_is_cheap() -> None:
    began = time.process_time()
    for _ in range(5):
        processes()
    assert (time.process_time() - began) / 5 < 0.5
