"""What `[metrics]` costs a run that goes as fast as it can, while the port is asked for it.

    python bench/metrics.py [--changes 500000] [--pairs 4] [--every 1] [--target sqlite]

Needs KAFKA_BOOTSTRAP, and the URL of the target's server if it has one. Each pair consumes the
topic of `throughput.py` twice, without and with the port, in turn which comes first. CPU counts,
since machines are shared; that of the process which asks does not. A run that others slow down is
asked more often for the same changes, so that the share that is shown is too high rather than low.
"""

import argparse
import os
import statistics
import subprocess
import sys
import threading
from dataclasses import replace

import psutil
from pyspark.sql import SparkSession
from servers import kafka, target_url, verdict
from support.ports import free_port
from throughput import Processes, check, load, options, round_
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.spark.session import session, warm_up
from ticdc_consumer.targets import open_target
from ticdc_encoder.kafka.produce import produce
from workload import SCHEMA, Workload

GOAL = 0.01
"""Of the CPU of a run without the port."""
ASK = """
import sys, time, urllib.error, urllib.request
url, every = sys.argv[1], float(sys.argv[2])
while True:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            answer.read()
            print("asked", flush=True)
    except OSError:
        pass
    time.sleep(every)
"""


def measured(
    spark: SparkSession, settings: Settings, processes: Processes, every: float | None
) -> tuple[float, float, float, int]:
    """Seconds by the clock, of the driver's CPU, of all CPU; and how often the port was asked."""
    if every is None:
        wall, _, cpu, _, _ = round_(spark, settings, processes)
        return wall, cpu["driver"], sum(cpu.values()), 0
    port = free_port()
    command = [sys.executable, "-c", ASK, f"http://127.0.0.1:{port}/metrics", str(every)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as asking:
        try:
            listening = replace(settings, metrics_listen=("127.0.0.1", port))
            wall, _, cpu, _, _ = round_(spark, listening, processes)
            times = psutil.Process(asking.pid).cpu_times()
        finally:
            asking.kill()
        assert asking.stdout is not None
        asked = len(asking.stdout.readlines())
    return wall, cpu["driver"], sum(cpu.values()) - times.user - times.system, asked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=500_000)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--cut", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two scrapes")
    parser.add_argument("--protocol", default="canal-json")
    parser.add_argument("--target", default="sqlite")
    arguments = parser.parse_args()
    processes = Processes()
    threading.Thread(target=processes.watch, daemon=True).start()
    workload = Workload(arguments.rows, arguments.changes)
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    with kafka() as broker:
        topic = broker.create_topic("bench", 4)
        produce(workload.messages(topic, arguments.protocol, 4), broker.config)
        spark = session({}, "bench")
        warm_up(spark)
        for number in range(-1, 2 * arguments.pairs):  # one more before, to warm up
            listens = number % 4 in (1, 2)
            with target_url(arguments.target) as url:
                target = open_target(url)
                load(target, workload, SCHEMA)
                settings = options(url, topic, broker.config, arguments)
                every = arguments.every if listens else None
                wall, driver, all_, asked = measured(spark, settings, processes, every)
                assert check(target, workload, SCHEMA)
                target.close()
            print(
                f"{'with   ' if listens else 'without'} {wall:6.1f} s  "
                f"CPU: driver {driver:5.2f} s, all {all_:6.2f} s  asked {asked} times",
                flush=True,
            )
            if number >= 0:
                found[listens].append((driver, all_))
    processes.running = False
    drivers = {key: statistics.median(driver for driver, _ in runs) for key, runs in found.items()}
    whole = statistics.median(all_ for _, all_ in found[False])
    share = (drivers[True] - drivers[False]) / whole
    print(
        f"the driver's CPU: {drivers[False]:.2f} s without, {drivers[True]:.2f} s with: "
        f"{share:+.2%} of all CPU; {GOAL:.0%}: {verdict(share < GOAL)}; "
        f"load average {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
