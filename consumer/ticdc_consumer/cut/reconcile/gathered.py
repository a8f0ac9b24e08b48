"""A cut that was read by a task in the driver, or by Spark's tasks."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.cut.read.facts import REPORT
from ticdc_consumer.cut.read.job import ReadJob
from ticdc_consumer.cut.read.report import Report, TableCounts, unpack
from ticdc_consumer.cut.read.staging import STAGE
from ticdc_consumer.cut.read.task import Begun, read
from ticdc_consumer.cut.reconcile.chunks import Clash
from ticdc_consumer.cut.reconcile.fold import by_table, fold
from ticdc_consumer.cut.reconcile.net_change import (
    FoldedChange,
    NetChange,
    folded_steps,
    staged_rows,
)
from ticdc_consumer.errors import received
from ticdc_consumer.source.marks import Span
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.staging import Unneeded


class Spilled(Protocol):
    """A net change outside the driver's memory."""

    def steps(self) -> Iterator[tuple[int, NetChange]]:
        """Yields the change of each commit_ts, oldest first. Raises `Unavailable`."""

    def release(self) -> None:
        """Frees the resources that hold it."""


@dataclass(slots=True)
class Gathered:
    """A cut that was read: the `report` of all tasks together, and the change to apply."""

    report: Report
    change: NetChange | None = None
    facts: pa.Table | None = None
    spilled: Spilled | None = None
    layouts: Sequence[Layout] = ()
    duplicates: Counter[int] = field(default_factory=Counter)
    clash: Clash | None = None
    stages: Sequence[str] = ()
    """The staging tables that its tasks filled."""
    unneeded: Unneeded | None = None
    """The collector that takes them at the end."""

    def steps(self) -> Iterator[tuple[int, NetChange]]:
        """Yields the change of each commit_ts, oldest first, if the cut was read with `steps`.

        Raises `Unavailable` if Spark fails: some steps are committed then, and only a new start
        reads the rest again.
        """
        if self.spilled is not None:
            yield from self.spilled.steps()
        elif self.facts is not None:
            yield from folded_steps(self.layouts, self.facts)

    def release(self) -> None:
        """Frees what Spark and the target hold of the cut."""
        if self.unneeded is not None:
            self.unneeded.add(self.stages)
            self.stages = ()
        if self.spilled is not None:
            self.spilled.release()
            self.spilled = None


def gather_here(job: ReadJob, spans: Sequence[Span], begun: Begun = lambda share: None) -> Gathered:
    """Reads a cut's partitions with one task in this process: the same task as Spark's. `begun`
    gets a function that returns the share read. Sets `report.too_large` and raises as `of_tasks`
    does."""
    return of_tasks(job, pa.Table.from_batches(read(job, spans, begun)))


def of_tasks(job: ReadJob, sent: pa.Table) -> Gathered:
    """Folds the rows that a cut's tasks sent. If their facts exceed the memory budget,
    `report.too_large` is set and there is no change. Raises what a task reported."""
    tables = by_table(sent)
    reports = tables.pop(REPORT, sent.slice(0, 0))
    report = merge(unpack(text) for text in reports["row"].to_pylist())
    facts = pa.concat_tables([*tables.values(), sent.slice(0, 0)])
    stages = stages_of(job, facts)
    if report.too_large or report.is_incomplete:
        return Gathered(report, stages=stages)
    steps = job.options.apply == "transactions"
    met = [number for number in report.tables if number >= 0]
    folded = fold(facts, steps, keyless(job, met))
    staged = staged_rows(facts, folded.facts, job.staging) if stages and job.staging else ()
    return Gathered(
        report,
        FoldedChange(job.layouts, folded.facts, staged),
        folded.facts,
        layouts=job.layouts,
        duplicates=Counter(folded.duplicates),
        clash=folded.clash,
        stages=stages,
    )


def stages_of(job: ReadJob, facts: pa.Table) -> list[str]:
    """Returns the staging tables that facts name."""
    if job.staging is None or STAGE not in facts.column_names:
        return []
    return [job.staging.name(number) for number in pc.unique(facts[STAGE].drop_null()).to_pylist()]


def keyless(job: ReadJob, tables: Iterable[int]) -> tuple[int, ...]:
    """Returns those of the tables, by number, that have no key."""
    return tuple(number for number in tables if not job.layouts[number].key)


def merge(reports: Iterable[Report]) -> Report:
    """Merges the reports of all tasks. Raises the error that the first of them reported."""
    merged = Report()
    for report in reports:
        if report.error is not None:
            error = received(*report.error)
            error.table, error.commit_ts = report.error_table, report.error_ts
            raise error
        for partition, restart in report.restarts.items():
            merged.restarts[partition] = min(restart, merged.restarts.get(partition, restart))
        for name, (table, deletes_only) in report.missing.items():
            if name not in merged.missing or not deletes_only:
                merged.missing[name] = (table, deletes_only)
        merged.unknown_ddls += report.unknown_ddls
        merged.stale_ddls += report.stale_ddls
        merged.corrupted += report.corrupted
        merged.corrupted_rows += report.corrupted_rows
        merged.unread.update(report.unread)
        merged.schemas += report.schemas
        for number, counts in report.tables.items():
            merged.tables[number] = merged.tables.get(number, TableCounts()) + counts
        for name, rows in report.left_out.items():
            merged.left_out[name] = merged.left_out.get(name, 0) + rows
        for name, rows in report.waiting.items():
            merged.waiting[name] = merged.waiting.get(name, 0) + rows
        merged.messages += report.messages
        merged.bytes += report.bytes
        merged.facts_sent += report.facts_sent
        merged.too_large |= report.too_large
    return merged
