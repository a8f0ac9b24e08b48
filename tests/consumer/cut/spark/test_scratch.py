"""What Spark leaves in the temporary folder when it is killed, and who removes it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ticdc_consumer.cut.spark.scratch import scratch
from ticdc_consumer.cut.spark.session import LONGEST

STARTED = """
import json, sys
from ticdc_consumer.cut.spark.session import session, warm_up
spark = session({"master": "local[1]", "sql.shuffle.partitions": "2"}, "ticdc orders/ü")
if "jobs" in sys.argv:
    warm_up(spark, 1)
    spark.range(100).repartition(2).sortWithinPartitions("id").toArrow()
print(json.dumps(spark.sparkContext._gateway.proc.pid), flush=True)
sys.stdin.read()
spark.stop()
"""


@contextmanager
def started(temporary: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process with a session, and the number of its JVM. The folder's path is longer than the
    path of a socket may be."""
    assert len(str(temporary)) > LONGEST
    with subprocess.Popen(
        [sys.executable, "-c", STARTED, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        try:
            assert process.stdout is not None
            yield process, json.loads(process.stdout.readline())
        finally:
            process.kill()


def test_what_a_killed_session_left_is_removed_by_the_next_start(tmp_path: Path) -> None:
    temporary = tmp_path / ("x" * 40)
    temporary.mkdir()

    def folders() -> set[Path]:
        return {*temporary.glob("ticdc-orders-spark-*")}

    with started(temporary) as (running, _):
        first = folders()
        with started(temporary, "jobs") as (killed, jvm):
            (left,) = folders() - first
            kinds = {path.name.partition("-")[0] for path in left.iterdir()}
            assert kinds >= {"lock", "blockmgr", "spark", "artifacts"}
            killed.send_signal(signal.SIGKILL)
            os.kill(jvm, signal.SIGKILL)
        assert left.exists()
        with started(temporary) as (last, _):
            assert first < folders()
            assert left not in folders()
            last.communicate("")
        assert folders() == first
        running.communicate("")
    assert [*temporary.iterdir()] == []


def test_a_folder_is_removed_only_if_it_is_ours_and_not_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    others = ["a-spark-x-spark-12345678", "ab-spark-12345678", "a-spark-123456789"]
    left = "a-spark-12345678"
    for name in (*others, left):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lock").touch()
    (tmp_path / "a-spark-unlocked").mkdir()  # one that another start makes just now
    with scratch("a") as running, scratch("a") as second:
        kept = {*others, "a-spark-unlocked", running.path.name, second.path.name}
        assert {path.name for path in tmp_path.iterdir()} == kept
        running.remove()
        second.remove()


def test_a_start_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(KeyboardInterrupt), scratch("a"):
        raise KeyboardInterrupt
    assert [*tmp_path.iterdir()] == []
