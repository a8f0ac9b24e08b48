"""The net change of a cut: keys that must be absent, and rows that must be present."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.cut.read.staging import STAGE
from ticdc_consumer.cut.reconcile.chunks import pieces
from ticdc_consumer.cut.reconcile.fold import by_table
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.staging import StagingJob


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows that a task put into the staging table `name`. The net change has `count` of them: rows
    of `table`, an index into the layouts, whose keys are not among `superseded`."""

    table: int
    name: str
    superseded: pa.BinaryArray
    count: int


class NetChange(Protocol):
    """The changes of a cut to the tables, in the target's encoding.

    Both methods yield chunks of one table each, as (index into `layouts`, payloads), and start
    again with every call. If a layout `replaces`, the keys of its rows are among `deletes` too. The
    `staged` rows are written in addition to `rows`.
    """

    @property
    def layouts(self) -> Sequence[Layout]: ...

    @property
    def staged(self) -> Sequence[StagedRows]: ...

    def deletes(self) -> Iterator[tuple[int, pa.BinaryArray]]: ...

    def rows(self) -> Iterator[tuple[int, pa.BinaryArray]]: ...


@dataclass(frozen=True, slots=True)
class NoChange:
    """The net change of a cut without rows."""

    layouts: tuple[Layout, ...] = ()
    staged: ClassVar[tuple[StagedRows, ...]] = ()

    def deletes(self) -> Iterator[tuple[int, pa.BinaryArray]]:
        return iter(())

    rows = deletes


@dataclass(frozen=True, slots=True)
class FoldedChange:
    """The net change of folded facts in memory: of a whole cut, or of one commit_ts."""

    layouts: Sequence[Layout]
    facts: pa.Table
    staged: Sequence[StagedRows] = ()

    def deletes(self) -> Iterator[tuple[int, pa.BinaryArray]]:
        for number, facts in by_table(self.facts).items():
            for piece in pieces(keys_to_delete(facts, self.layouts[number].replaces)):
                yield number, piece

    def rows(self) -> Iterator[tuple[int, pa.BinaryArray]]:
        for number, facts in by_table(self.facts).items():
            for piece in pieces(rows_to_write(facts)):
                yield number, piece


def keys_to_delete(facts: pa.Table, replaces: bool) -> pa.ChunkedArray:
    """Returns the absent keys of one table's folded facts; with `replaces` also the present ones,
    whose rows in the target must be deleted before the new rows are written."""
    if replaces:
        return facts["key"]
    return _where(facts, "key", lambda batch: pc.invert(batch["present"]))


def rows_to_write(facts: pa.Table) -> pa.ChunkedArray:
    """Returns the present rows of one table's folded facts, without the staged ones."""
    if STAGE not in facts.column_names:
        return _where(facts, "row", lambda batch: batch["present"])
    return _where(facts, "row", lambda batch: pc.and_(batch["present"], pc.is_null(batch[STAGE])))


def _where(
    facts: pa.Table, column: str, condition: Callable[[pa.RecordBatch], pa.Array]
) -> pa.ChunkedArray:
    """Returns the column where the condition is true. Adjacent rows are not copied: tasks send
    present facts first."""
    chosen = []
    for batch in facts.to_batches():
        mask = condition(batch)
        count = mask.true_count
        start = pc.index(mask, True).as_py() if count else 0
        if mask.slice(start, count).true_count == count:
            chosen.append(batch[column].slice(start, count))
        else:
            chosen.append(batch[column].filter(mask))
    return pa.chunked_array(chosen, facts.schema.field(column).type)


def staged_rows(sent: pa.Table, folded: pa.Table, job: StagingJob) -> list[StagedRows]:
    """Returns the rows to publish from the staging tables that the tasks' `sent` facts name."""
    staged = []
    for number in pc.unique(sent[STAGE].drop_null()).to_pylist():
        of_task = sent.filter(pc.equal(sent[STAGE], number))
        keys = folded.filter(pc.equal(folded[STAGE], number))["key"].combine_chunks()
        lost = pc.invert(pc.is_in(of_task["key"], keys))
        superseded = of_task["key"].filter(lost).combine_chunks()
        table = of_task["table"][0].as_py()
        staged.append(StagedRows(table, job.name(number), superseded, len(keys)))
    return staged


def folded_steps(layouts: Sequence[Layout], facts: pa.Table) -> Iterator[tuple[int, FoldedChange]]:
    """Yields the net change of each commit_ts, oldest first; `facts` were folded with `steps`."""
    ordered = facts.take(pc.sort_indices(facts["commit_ts"].combine_chunks()))
    for commit_ts in sorted(pc.unique(ordered["commit_ts"]).to_pylist()):
        first = pc.index(ordered["commit_ts"], commit_ts).as_py()
        count = pc.sum(pc.equal(ordered["commit_ts"], commit_ts)).as_py()
        yield commit_ts, FoldedChange(layouts, ordered.slice(first, count))
