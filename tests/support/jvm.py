"""How the JVMs of tests begin. `PYTHONPATH=tests python -m support.jvm FILE` archives the classes
that a session loads; where SPARK_CLASSES names the file, each JVM maps it, instead of reading and
verifying 12,000 classes by itself."""

import os
import sys
from pathlib import Path
from typing import Any

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""A JVM that lives for seconds gains nothing by the second compiler."""
SILENT = "-Xlog:disable"
"""Else a JVM that cannot use the archive says so, where tests read its output."""


def options() -> tuple[str, ...]:
    archive = os.environ.get("SPARK_CLASSES", "")
    archived = (SILENT, f"-XX:SharedArchiveFile={archive}") if Path(archive).is_file() else ()
    return (*QUICK, *archived)


def _archive(path: str) -> None:
    os.environ["SPARK_SUBMIT_OPTS"] = " ".join((*QUICK, SILENT, f"-XX:ArchiveClassesAtExit={path}"))
    from pyspark import SparkContext
    from ticdc_consumer.cut.spark.session import session, stop, warm_up

    spark = session({"master": "local[2]"}, "classes")
    warm_up(spark, 1)
    stop(spark)
    gateway: Any = SparkContext._gateway
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    _archive(sys.argv[1])
