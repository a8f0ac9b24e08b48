"""All benchmarks in turn, with servers of their own where the environment names none.

    make bench [ARGS="--changes 100000"]

Arguments go to `throughput.py`; each program can be run alone, and says its own arguments.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SERVICES = HERE.parent / "tests" / "services" / "services"
NEEDED = ("KAFKA_BOOTSTRAP", "POSTGRES_URL", "MARIADB_URL", "MYSQL_URL", "TIDB_URL")
PROGRAMS = (
    ("reading.py",),
    ("serial.py",),
    ("cluster.py",),
    ("formats.py",),
    ("throughput.py", "--protocol", "canal-json"),
    ("throughput.py", "--protocol", "open-protocol"),
    ("flat.py",),
    ("trickle.py",),
    ("start.py",),
    ("large.py", "--plot", str(HERE.parent / "docs" / "pictures" / "large.png")),
    ("transaction.py",),
    ("tables.py",),
    ("many.py",),
    ("scrape.py",),
    ("metrics.py",),
    ("verify.py",),
    ("every.py",),
    ("load.py", "--rows", "2000000"),
)


def main() -> None:
    if all(name in os.environ for name in NEEDED):
        run_all(dict(os.environ))
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        own = {**os.environ, "SERVICES_DIR": folder}
        try:
            names = ["kafka", "postgres", "mariadb", "mysql", "tidb"]
            up = subprocess.run(
                [SERVICES, "up", *names], env=own, check=True, capture_output=True, text=True
            )
            for line in up.stdout.splitlines():
                if line.startswith("export "):
                    own |= dict(pair.split("=", 1) for pair in shlex.split(line)[1:])
            run_all(own)
        finally:
            subprocess.run([SERVICES, "wipe"], env=own, check=False)


def run_all(environment: dict[str, str]) -> None:
    for program, *arguments in PROGRAMS:
        more = sys.argv[1:] if program == "throughput.py" else []
        print(f"\n== {program} {' '.join([*arguments, *more])}", flush=True)
        subprocess.run(
            [sys.executable, HERE / program, *arguments, *more], env=environment, check=True
        )


if __name__ == "__main__":
    main()
