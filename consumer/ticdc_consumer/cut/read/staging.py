"""Facts whose rows stay in the target: a task writes them into staging tables there."""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer import failpoints
from ticdc_consumer.cut.read.facts import SCHEMA
from ticdc_consumer.errors import Retry, Unavailable, about
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.not_held import is_holdable
from ticdc_consumer.targets.staging import StagingJob

if TYPE_CHECKING:
    from ticdc_consumer.targets.target import Target

LEAST_ROWS = 1_000
"""Minimum rows of one table that a task sends at a time; for fewer, a table costs more than it
saves."""
STAGE = "stage"
WITH_STAGE = SCHEMA.append(pa.field(STAGE, pa.int64()))
"""`stage` is the number of the staging table that holds the fact's row, and `row` is then null;
without staging, `stage` is null. One table's facts in a stage have different keys."""


class Stager:
    """Writes the staging tables of one task attempt: one for each batch of many rows."""

    def __init__(self, job: StagingJob, layouts: Sequence[Layout]) -> None:
        self._job = job
        self._layouts = layouts
        self._session: Target | None = None

    def staged(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields batches of one table's facts each, with many rows moved into a staging table.
        Raises `Retry` if the target cannot be reached."""
        for facts in batches:
            layout = self._layouts[facts["table"][0].as_py()]
            count = pc.sum(facts["present"]).as_py()
            if layout.key and count >= LEAST_ROWS:
                yield self._stage(layout, facts)
            else:
                nowhere = pa.nulls(facts.num_rows, pa.int64())
                yield pa.RecordBatch.from_arrays([*facts.columns, nowhere], schema=WITH_STAGE)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def _stage(self, layout: Layout, facts: pa.RecordBatch) -> pa.RecordBatch:
        present = pc.and_(facts["present"], pc.fill_null(is_holdable(facts["row"]), False))
        number = secrets.randbits(62)
        failpoints.hit("stage-create")
        target = self._target()
        with about((layout.schema, layout.table)):
            target.stage(layout, self._job.name(number), facts["row"].filter(present))
        failpoints.hit("stage-filled")
        stage = pc.if_else(present, number, pa.scalar(None, pa.int64()))
        columns = dict(zip(SCHEMA.names, facts.columns, strict=True))
        columns["row"] = pc.if_else(present, pa.scalar(None, pa.binary()), facts["row"])
        return pa.RecordBatch.from_arrays([*columns.values(), stage], schema=WITH_STAGE)

    def _target(self) -> "Target":
        if self._session is None:
            try:
                self._session = open_target(self._job.url, changefeed=self._job.changefeed)
            except Unavailable as error:
                raise Retry(str(error)) from error
        return self._session


def staged(
    job: StagingJob | None, layouts: Sequence[Layout], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yields the batches of a task's facts; with a `job`, rows of large ones are in staging
    tables."""
    if job is None:
        yield from batches
        return
    with closing(Stager(job, layouts)) as stager:
        yield from stager.staged(batches)
