import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType
from ticdc_consumer.cut.spark.session import _conf, _relevant_lines, failures, session
from ticdc_consumer.errors import Retry, Stop
from ticdc_encoder.errors import TicdcError

INTERPRETER = StructType([StructField("executable", StringType())])


def interpreter(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"executable": [sys.executable]})


def test_tasks_run_in_the_drivers_interpreter(spark: SparkSession) -> None:
    executables = spark.range(0, 1, 1, 1).mapInArrow(interpreter, INTERPRETER).toArrow()
    assert executables.to_pylist() == [{"executable": sys.executable}]


def test_a_running_session_is_used_as_it_is(spark: SparkSession) -> None:
    assert session({"sql.session.timeZone": "CET"}, "other") is spark
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_the_master_of_spark_submit_beats_that_of_the_settings(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"spark.master": "local[7]", "spark.task.cpus": "3"}
    assert _conf(settings).get("spark.master") == "local[7]"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")  # as under spark-submit
    conf = _conf(settings)
    submitted = spark.sparkContext.master
    assert (conf.get("spark.master"), conf.get("spark.task.cpus")) == (submitted, "3")


def faulty(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield dict[str, pa.RecordBatch]()["secret"] if batch.num_rows else batch


def unlucky(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        raise OSError(28, "No space left on device")
        yield batch


@pytest.mark.parametrize(
    ("raises", "kind", "words"),
    [
        (faulty, Stop, "Spark could not fold: KeyError in a Python worker, which a retry"),
        (unlucky, Retry, "Spark could not fold: a disk is full (No space left on device)"),
    ],
)
def test_what_a_worker_would_raise_again_is_not_tried_again(
    spark: SparkSession, raises: Any, kind: type[TicdcError], words: str
) -> None:
    with pytest.raises(TicdcError) as caught, failures("fold"):
        spark.range(0, 1, 1, 1).mapInArrow(raises, INTERPRETER).toArrow()
    assert type(caught.value) is kind
    assert str(caught.value).startswith(words)
    assert "secret" not in str(caught.value)


CALL = "An error occurred while calling o64.count.\n: "
LOST = "org.apache.spark.SparkException: Lost task 0.0 (TID 0) (10.0.0.1 executor driver): "
REASONS: list[tuple[Exception, str]] = [
    (
        Py4JError(f"{CALL}{LOST}java.io.IOException: No space left on device\n\tat java.base/x"),
        "a disk is full (No space left on device), most likely that of its temporary files",
    ),
    (
        Py4JError(f"{CALL}java.lang.OutOfMemoryError: Java heap space\n\tat y"),
        "java.lang.OutOfMemoryError: Java heap space",
    ),
    (PySparkException("[X] y\nz"), "[X] y"),
    (EOFError(), "EOFError()"),
]


@pytest.mark.parametrize(("error", "reason"), REASONS)
def test_what_spark_says_is_its_own_reason(error: Exception, reason: str) -> None:
    with pytest.raises(Retry) as caught, failures("fold"):
        raise error
    assert str(caught.value).startswith(f"Spark could not fold: {reason}")
    assert "\n" not in str(caught.value)


QUIET = """
import signal
from ticdc_consumer.cut.spark.session import session, warm_up
signal.signal(signal.SIGINT, before := lambda *_: None)
spark = session({"master": "local[1]", "spark.sql.shuffle.partitions": "7"}, "quiet")
assert spark.conf.get("spark.sql.shuffle.partitions") == "7"
assert signal.getsignal(signal.SIGINT) is before
warm_up(spark, 1)
spark.stop()
"""

REFUSED = """
from ticdc_consumer.errors import Unavailable
from ticdc_consumer.cut.spark.session import _relevant_lines, session
try:
    session({settings}, "refused")
except Unavailable as error:
    print(error)
"""


def run(program: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout, done.stderr


def test_a_session_takes_settings_and_prints_nothing() -> None:
    assert run(QUIET) == ("", "")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"driver.memory": "much"}, "Invalid maximum heap size: -Xmxmuch"),
        (
            {"master": "nowhere"},
            "not start: Master must either be yarn or start with spark, k8s, or local",
        ),
        ({"driver.maxResultSize": "much"}, "The value 'much' in the config \"spark.driver."),
    ],
)
def test_the_reason_why_spark_does_not_start_is_reported(
    settings: dict[str, str], reason: str
) -> None:
    out, err = run(REFUSED.replace("{settings}", repr(settings)))
    assert out.startswith("Spark did not start: ")
    assert reason in out
    assert err == ""


def test_tracebacks_of_workers_that_end_together_are_not_shown() -> None:
    begin = "Traceback (most recent call last):\n"
    manager = '  File "pyspark.zip/pyspark/daemon.py", line 264, in manager\n'
    worker = '  File "pyspark.zip/pyspark/daemon.py", line 95, in worker\n'
    end = "BrokenPipeError: [Errno 32] Broken pipe\n"
    for output in (
        [begin, begin, manager, worker, end, manager, worker, end],
        [begin, manager, begin, manager, worker, worker, end, end],
        [begin, manager, worker, end, manager, worker, end],
    ):
        assert list(_relevant_lines(output)) == []
    assert list(_relevant_lines([begin, manager])) == [begin, manager]


STOPPED = """
import os, signal, time
from ticdc_consumer.cut.spark.session import session, warm_up
came = []
signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
spark = session({"master": "local[1]"}, "stopped")
warm_up(spark, 1)
os.killpg(0, signal.SIGTERM)
os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGTERM)
while not came:
    time.sleep(0.01)
time.sleep(1)
warm_up(spark, 1)
spark.stop()
print(len(came))
"""


def test_sigterm_to_the_group_and_the_jvm_is_left_to_the_driver() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPPED],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_the_tracebacks_of_finished_workers_are_not_passed_on() -> None:
    output = [
        "WARNING: Using incubator modules: jdk.incubator.vector\n",
        "Traceback (most recent call last):\n",
        '  File "pyspark/daemon.py", line 264, in manager\n',
        "BrokenPipeError: [Errno 32] Broken pipe\n",
        "Traceback (most recent call last):\n",
        '  File "elsewhere.py", line 1, in f\n',
        "ValueError: of interest\n",
        "\n",
        "spark: ERROR Something: of interest\n",
    ]
    assert list(_relevant_lines(output)) == [*output[4:7], output[8]]


KILLED = """
import os, signal, sys, threading
from pyspark import SparkContext
from ticdc_consumer.cli.output import print_error
from ticdc_consumer.cut.spark import session
from ticdc_encoder.errors import TicdcError

started, initialize = [], SparkContext._initialize_context
launch = session.launch_gateway

def kill():
    os.killpg(started[0].proc.pid, signal.SIGKILL)

def launched(*arguments):
    started.append(launch(*arguments))
    if sys.argv[1] == "launched":
        kill()
        started[0].proc.wait()
    return started[0]

def initialized(*arguments):
    threading.Timer(0.2, kill).start()
    return initialize(*arguments)

session.launch_gateway = launched
if sys.argv[1] == "initialized":
    SparkContext._initialize_context = initialized
try:
    session.warm_up(session.session({}, "killed"))
except TicdcError as error:
    sys.exit(print_error(error))
"""


@pytest.mark.parametrize("moment", ["launched", "initialized"])
def test_a_jvm_that_is_killed_while_it_starts_is_one_clear_line(moment: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED, moment], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].endswith(
        (
            "before it was ready; the system may have killed it for lack of memory; start again",
            "its JVM has ended; start again",
        )
    )
    assert "Traceback" not in run.stderr
