"""Every precondition of a run, told one by one; nothing is written anywhere.

A check is a function that yields findings. What it needs of the brokers or the target it takes
from `Premises`; where an earlier check has found that missing, it yields nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from ticdc_encoder.errors import TicdcError

from ticdc_consumer.check.brokers import brokers, log, messages, retention, scope
from ticdc_consumer.check.context import Finding, Premises, fail, ok
from ticdc_consumer.check.old_rows import old_rows
from ticdc_consumer.check.rows import large_rows
from ticdc_consumer.check.storage import files, storage
from ticdc_consumer.check.target import privileges, tables, target
from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop, Unavailable

Check = Callable[[Premises], Iterator[Finding]]


def java(premises: Premises) -> Iterator[Finding]:
    from ticdc_consumer.spark.java import java_home

    yield ok("java", f"at {java_home()}")


def spark(premises: Premises) -> Iterator[Finding]:
    import pyspark

    master = premises.options.spark.get("spark.master", "its default, or spark-submit's")
    yield ok("spark", f"{pyspark.__version__}, master {master}")


CHECKS: tuple[Check, ...] = (
    java,
    spark,
    brokers,
    retention,
    target,
    privileges,
    messages,
    old_rows,
    large_rows,
    log,
    scope,
    tables,
)
CHECKS_OF_STORAGE: tuple[Check, ...] = (
    java,
    spark,
    target,
    privileges,
    storage,
    files,
    old_rows,
    scope,
    tables,
)


def check(options: Options) -> Iterator[Finding]:
    """Findings in the order of the path, each as soon as it is known."""
    with closing(Premises(options)) as premises:
        for one in CHECKS if options.storage_url is None else CHECKS_OF_STORAGE:
            try:
                yield from one(premises)
            except TicdcError as error:
                yield fail(one.__name__.replace("_", " "), str(error), _exit_code(error))


def _exit_code(error: TicdcError) -> int:
    return int(getattr(error, "exit_code", Stop.exit_code))


def exit_code(findings: Iterable[Finding]) -> int:
    """1 if something cannot be reached, else 3 if something must be decided, else 0."""
    codes = {finding.exit_code for finding in findings if finding.level == "fail"}
    if Unavailable.exit_code in codes:
        return Unavailable.exit_code
    return max(codes, default=0)
