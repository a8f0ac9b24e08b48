"""A Spark session with the settings that this job was measured with."""

import builtins
import logging
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO, Any

import pyarrow as pa
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from ticdc_consumer.cut.spark.java import java_home
from ticdc_consumer.cut.spark.launch import private_settings
from ticdc_consumer.cut.spark.scratch import scratch
from ticdc_consumer.cut.spark.worker import in_workers
from ticdc_consumer.errors import Retry, Stop, Unavailable

logger = logging.getLogger(__name__)

DEFAULTS = {
    "spark.master": "local[2]",
    # Loopback TCP costs a Python job 40 ms in delayed acknowledgements.
    "spark.python.unix.domain.socket.enabled": "true",
    # We choose partition counts, by the size of the cut.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # A batch is what a worker holds at a time, whatever the size of its rows.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.driver.memory": "2g",
    # The limit on what one job may return to the driver; no job exceeds the memory budget.
    "spark.driver.maxResultSize": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # This JVM only passes facts on: it never earns back the cost of the second compiler, a fifth of
    # the CPU of a run of 500,000 changes.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile="
    + Path(__file__).with_name("log4j2.properties").as_uri(),
}

LOCAL = {
    # A machine whose own name does not resolve can still run Spark in one process.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Larger results of tasks go through a socket, which one process does not need: a fifth of the
    # JVM's time for a large cut. Spark never hands over more than it may send in one message.
    "spark.task.maxDirectResultSize": "1g",
}

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
PARTITION_BYTES = 32 << 20
"""Approximate bytes of messages whose facts one partition of a shuffle folds; the driver and its
JVM hold the results of two at a time."""
MOST_PARTITIONS = 1_000
UNKNOWN_SIZE = 32
"""Partitions of a cut of unknown size."""

# A socket's path has 103 bytes on macOS, 107 on Linux; Spark adds /.UUID.sock to its folder.
LONGEST = 103 - len("/.") - 36 - len(".sock")

WARMING_JOBS = 12
"""Small jobs for warming up: the first takes seconds, the twelfth a third longer than the
thousandth."""
WARM = StructType([StructField("id", LongType())])


def session(settings: Mapping[str, str], app_name: str) -> SparkSession:
    """Returns the process's Spark session, started with `settings` over our defaults.

    The leading `spark.` of a setting's name may be left out. A running session is returned as it
    is; under spark-submit, its settings have precedence over our defaults, and its master over
    `settings`. Raises `Unavailable` if Java is missing or Spark does not start.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    if SparkContext._active_spark_context is not None:  # of another thread
        return SparkSession.builder.getOrCreate()
    full_names = {
        name if name.startswith("spark.") else f"spark.{name}": value
        for name, value in settings.items()
    }
    # Tasks find this package in the interpreter that runs the driver, not in PATH's python3.
    os.environ["PYSPARK_PYTHON"] = full_names.get(
        "spark.pyspark.python", os.environ.get("PYSPARK_PYTHON", sys.executable)
    )
    try:
        _start(_conf(full_names).setAppName(app_name))
        return SparkSession.builder.getOrCreate()
    except Py4JJavaError as error:
        raise Unavailable(
            f"Spark did not start: {_first_line(error.java_exception.toString())}"
        ) from error
    except (Py4JNetworkError, ConnectionError) as error:
        _require_uninterrupted(error)
        raise Unavailable(
            "Spark did not start: its JVM ended before it was ready; the system may have killed "
            "it for lack of memory; start again"
        ) from error
    except (PySparkException, Py4JError) as error:
        raise Unavailable(f"Spark did not start: {_first_line(str(error))}") from error


def _start(conf: SparkConf) -> None:
    """Creates the SparkContext in its own thread: in the main thread it would take SIGINT for
    itself. Anything that a signal's handler raises meanwhile is raised when the context exists,
    since a JVM that nobody waits for stays for ever."""

    def start() -> None:
        gateway = SparkContext._gateway or _gateway(conf)
        temporary = gateway.jvm.System.getProperty("java.io.tmpdir")
        if len(os.fsencode(temporary)) > LONGEST:
            conf.setIfMissing("spark.python.unix.domain.socket.dir", "/tmp")
        SparkContext(conf=conf, gateway=gateway)

    interrupted: BaseException | None = None
    with ThreadPoolExecutor(1, "spark-start") as threads:
        started = threads.submit(start)
        while not started.done():
            try:
                wait([started])
            except (KeyboardInterrupt, SystemExit) as error:
                interrupted = error
    if interrupted is not None:
        raise interrupted
    started.result()


def stop(spark: SparkSession) -> None:
    """Ends the session. Does nothing if the JVM has ended before."""
    with suppress(Py4JError, ConnectionError):
        spark.stop()


@contextmanager
def failures(doing: str) -> Iterator[None]:
    """Converts Spark's errors inside to `Retry`, to `Unavailable` if its JVM has ended, or to
    `Stop` if a Python worker raised an error that it would raise again."""
    try:
        yield
    except (Py4JNetworkError, ConnectionError) as error:
        _require_uninterrupted(error)
        raise Unavailable(f"Spark could not {doing}: its JVM has ended; start again") from error
    except (PySparkException, Py4JError, EOFError) as error:
        _require_uninterrupted(error)
        if kind := _fault_of_worker(str(error)):
            raise Stop(
                f"Spark could not {doing}: {kind} in a Python worker, which a retry would raise "
                "again: report it with the traceback that TICDC_DEBUG=1 shows"
            ) from error
        raise Retry(f"Spark could not {doing}: {_reason(error)}") from error


_FULL = "No space left on device"


def _reason(error: Exception) -> str:
    text = str(error).strip()
    if _FULL in text:
        return (
            f"a disk is full ({_FULL}), most likely that of its temporary files: make room there, "
            "or name another folder by [spark] local.dir"
        )
    # Py4J names its own called object before it.
    java = text.partition("\n: ")[2]
    return _first_line(java or text) or repr(error)


def _fault_of_worker(text: str) -> str:
    """Returns the type of the Python exception that ends a worker's traceback; "" if there is none,
    or if it may pass: the machine's and our own."""
    types = re.findall(r"^([A-Z]\w*(?:Error|Exception|Iteration))(?::|$)", text, re.M)
    kind = getattr(builtins, types[-1], None) if types else None
    passes = kind is None or issubclass(kind, OSError | EOFError)
    return "" if passes or not _WORKER_RAISED.search(text) else types[-1]


_WORKER_RAISED = re.compile(r"^Traceback \(most recent call last\):", re.M)


def _require_uninterrupted(error: BaseException) -> None:
    """Raises the KeyboardInterrupt that caused the error: Spark's own cleanup may fail after it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        cause = cause.__cause__ or cause.__context__


def warm_up(spark: SparkSession, jobs: int = WARMING_JOBS) -> None:
    """Runs small jobs until Python workers run and the JVM has compiled what each job needs."""
    with failures("start Python workers"):
        for _ in range(jobs):
            in_workers(spark.range(0, 2, 1, 2), _unchanged, WARM).toArrow()


def cores(spark: SparkSession) -> int:
    """Returns the number of tasks that run at a time."""
    with failures("count its cores"):
        return max(1, spark.sparkContext.defaultParallelism)


def shuffle_partitions(spark: SparkSession, size: float) -> int:
    """Returns in how many partitions Spark folds a cut of about `size` bytes; one job per partition
    brings them to the driver. The user's setting, else by the size, 0 if unknown."""
    explicit = spark.sparkContext.getConf().get(SHUFFLE_PARTITIONS)
    if explicit is not None:
        return int(explicit)
    if not size:
        return UNKNOWN_SIZE
    return min(MOST_PARTITIONS, max(cores(spark), math.ceil(size / PARTITION_BYTES)))


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def _conf(settings: Mapping[str, str]) -> SparkConf:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if submitted:
        SparkContext._ensure_initialized()
        # spark-submit has chosen the cluster already, where its files are.
        settings = {name: value for name, value in settings.items() if name != "spark.master"}
    conf = SparkConf(loadDefaults=submitted).setAll(list(settings.items()))
    for name, value in DEFAULTS.items():
        conf.setIfMissing(name, value)
    if str(conf.get("spark.master")).startswith("local"):
        for name, value in LOCAL.items():
            conf.setIfMissing(name, value)
    return conf


def _gateway(conf: SparkConf) -> JavaGateway:
    """Starts a JVM whose log about itself is dropped, unless it does not start. It ends only with
    this process, and by no earlier signal: neither the terminal's, nor one to the process group,
    nor the SIGTERM that systemd sends to each process of a service."""
    with (
        scratch(conf.get("spark.app.name", "")) as folder,
        private_settings(conf.getAll(), folder.path),
    ):
        os.environ["JAVA_HOME"] = str(java_home())
        reading, writing = os.pipe()
        output = os.fdopen(reading, errors="replace")
        try:
            popen: dict[str, Any] = {"stdout": writing, "stderr": writing}
            popen |= {"start_new_session": True, "pass_fds": [folder.lock]}
            gateway = launch_gateway(None, popen)
        except PySparkException as error:
            os.close(writing)
            with output:
                reason = next(_relevant_lines(output), str(error))
            raise Unavailable(f"Spark did not start: {_first_line(reason)}") from error
    os.close(writing)
    signals = gateway.jvm.sun.misc
    signals.Signal.handle(signals.Signal("TERM"), signals.SignalHandler.SIG_IGN)
    Thread(target=_pass_on, args=(output,), name="spark-output", daemon=True).start()
    return gateway


def _pass_on(output: IO[str]) -> None:
    with output:
        for line in _relevant_lines(output):
            logger.warning("%s", line.rstrip("\n"), extra={"event": "spark_output"})


def _relevant_lines(output: Iterable[str]) -> Iterator[str]:
    """Drops the JVM's warnings about modules that Spark uses on purpose, and the tracebacks of
    Python workers whose job has finished and no longer reads their output, or that Spark ended
    after a minute without work. Several write at once, so a line that continues a traceback may
    come alone."""
    block: list[str] = []
    for line in output:
        if line.startswith(("Traceback ", " ")):
            block.append(line)
            continue
        if not line.startswith("BrokenPipeError"):
            yield from block
            if line.strip() and not line.startswith("WARNING: "):
                yield line
        block = []
    yield from block


def _first_line(text: str) -> str:
    return _PREFIX.sub("", text.strip().partition("\n")[0])


_PREFIX = re.compile(r'(Exception in thread "\w+" )?(org\.apache\.spark\.\w+: )?')
