"""Whether a consumer that runs for long stays as it is: memory, threads, descriptors, files.

    python bench/soak.py [--minutes 10] [--target sqlite] [--pause 0.1]

The shop of samples/shop sells all the time, with duplicates and replays, and a `run` applies it;
every twelfth of the time a line shows what its processes hold. The goal: at the end no more than a
tenth above what was held after the first third, and R at most 10 s behind.
Needs KAFKA_BOOTSTRAP, and the target's URL.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import sqlalchemy as sa
from servers import Kafka, kafka, target_url
from ticdc_encoder.tso import lag

LOOKS = 12
MOST_GROWTH, MOST_LAG = 1.1, 10.0
SHOP = Path(__file__).resolve().parent.parent / "samples" / "shop" / "shop.py"
COMMAND = "import sys; from ticdc_consumer.cli import main; sys.exit(main())"
Held = Counter[str]


def held(root: psutil.Process, folder: Path) -> Held:
    """MiB of the driver, the JVM and Python's workers; their threads and descriptors; the files
    and MiB in their folder for temporary files."""
    sums: Held = Counter()
    for process in (root, *root.children(recursive=True)):
        try:
            with process.oneshot():
                java = "java" in process.name()
                kind = "driver" if process == root else "JVM" if java else "workers"
                sums[kind] += process.memory_info().rss >> 20
                sums["threads"] += process.num_threads()
                sums["descriptors"] += process.num_fds()
        except psutil.Error:
            continue
    files = [path for path in folder.rglob("*") if path.is_file()]
    sums["files"] = len(files)
    sums["files MiB"] = sum(path.stat().st_size for path in files if path.exists()) >> 20
    return sums


def resolved_ts(url: str) -> int:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        return int(
            connection.exec_driver_sql("SELECT resolved_ts FROM ticdc_checkpoint").scalar() or 0
        )


@contextmanager
def at_work(
    broker: Kafka, url: str, folder: Path, pause: float
) -> Iterator[tuple[psutil.Process, Path]]:
    """The shop and a consumer of it."""
    topic = broker.create_topic("soak", 4)
    config = folder / "soak.toml"
    config.write_text("")
    temporary = folder / "tmp"
    temporary.mkdir()
    settings = {
        "changefeed": "soak",
        "protocol": "canal-json",
        "kafka.topics": topic,
        "kafka.bootstrap.servers": broker.bootstrap,
        "target.url": url,
    }
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    shop = subprocess.Popen(
        [sys.executable, SHOP, broker.bootstrap, topic, "--pause", str(pause)],
        stdout=subprocess.DEVNULL,
    )
    said = folder / "run.log"
    with said.open("w") as log:
        run = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "run", config, *words],
            env={**os.environ, "TMPDIR": str(temporary)},
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    try:
        yield psutil.Process(run.pid), temporary
    finally:
        if run.poll() is not None:
            print(f"the run ended: {said.read_text()[-2000:]}")
        for process in (shop, run):
            process.terminate()
            process.wait(60)


def soak(url: str, run: psutil.Process, temporary: Path, seconds: float) -> None:
    names = ("driver", "JVM", "workers", "threads", "descriptors", "files", "files MiB")
    print("minute " + " ".join(f"{name:>11}" for name in (*names, "lag s")))
    looks: list[Held] = []
    for number in range(1, LOOKS + 1):
        time.sleep(seconds / LOOKS)
        looks.append(held(run, temporary))
        reached = resolved_ts(url)
        behind = lag(reached) if reached else float("inf")  # nothing was committed yet
        values = [f"{looks[-1][name]:11,}" for name in names]
        minute = number * seconds / LOOKS / 60
        late = " above the goal" if behind > MOST_LAG else ""
        print(f"{minute:6.1f} {' '.join(values)} {behind:11.1f}{late}", flush=True)
    for name in names:
        before = max(look[name] for look in looks[: LOOKS // 3])
        after = looks[-1][name]
        if after > before * MOST_GROWTH and after > before + 5:
            print(f"{name}: {before:,} in the first third, {after:,} at the end: above the goal")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--target", default="sqlite")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between resolved ts")
    arguments = parser.parse_args()
    with (
        kafka() as broker,
        target_url(arguments.target) as url,
        tempfile.TemporaryDirectory() as folder,
        at_work(broker, url, Path(folder), arguments.pause) as (run, temporary),
    ):
        soak(url, run, temporary, arguments.minutes * 60)
    print(f"load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
