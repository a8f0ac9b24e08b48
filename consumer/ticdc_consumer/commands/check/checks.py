"""Checks of every precondition of a run, reported one by one; nothing is written anywhere.

A check is a function that yields findings. It takes what it needs of the source or the target from
`Premises`; if an earlier check could not reach that, it yields nothing.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.commands.check.advisories import advisories
from ticdc_consumer.commands.check.brokers import brokers, messages, retention
from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, fail, ok
from ticdc_consumer.commands.check.log import log, scope
from ticdc_consumer.commands.check.rows import large_rows, old_rows
from ticdc_consumer.commands.check.spark import spark
from ticdc_consumer.commands.check.storage import files, storage
from ticdc_consumer.commands.check.target import privileges, tables, target
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Unavailable
from ticdc_consumer.source import source_kind

Check = Callable[[Premises], Iterator[Finding]]


def java(premises: Premises) -> Iterator[Finding]:
    from ticdc_consumer.cut.spark.java import java_home

    yield ok("java", f"at {java_home()}")


def upstream(premises: Premises) -> Iterator[Finding]:
    """Checks `[source] upstream`, if set. Its driver, imported here, is not always installed."""
    if premises.options.upstream_url is not None:
        from ticdc_consumer.commands.check.upstream import of_upstream

        yield from of_upstream(premises, premises.options.upstream_url)


def listing(premises: Premises) -> Iterator[Finding]:
    """Checks a source that has no checks of its own."""
    result = premises.list_topics()
    yield ok(
        "source",
        f"{counted(len(result.topics), 'topic')}, {counted(len(result.ends), 'partition')}",
    )


# The target comes first: its checkpoint says how far back the log must reach. A running consumer
# moves it, and the ends of the log.
FIRST: tuple[Check, ...] = (java, spark, target, privileges)
OF_SOURCE: dict[str, tuple[Check, ...]] = {
    "kafka": (brokers, retention, messages, old_rows, large_rows),
    "storage": (storage, files, old_rows),
}
"""The checks by the source's name in `SOURCES`."""
LAST: tuple[Check, ...] = (log, scope, upstream, tables, advisories)


def check(options: Settings) -> Iterator[Finding]:
    """Yields findings in the order of the path, each as soon as it is known."""
    with closing(Premises(options)) as premises:
        of_source = OF_SOURCE.get(source_kind(options), (listing,))
        for one in (*FIRST, *of_source, *LAST):
            try:
                yield from one(premises)
            except TicdcError as error:
                yield fail(one.__name__.replace("_", " "), str(error), error.exit_code)


def exit_code(findings: Iterable[Finding]) -> int:
    """Returns 1 if something is unreachable, else 3 if something must be decided, else 0."""
    codes = {finding.exit_code for finding in findings if finding.level == "fail"}
    if Unavailable.exit_code in codes:
        return Unavailable.exit_code
    return max(codes, default=0)
