"""Which timestamp a load is of, and the chunks of its tables."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from ticdc_encoder.event import Table
from ticdc_encoder.tso import with_time

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.source import PATIENCE, Source
from ticdc_consumer.source.log import survey
from ticdc_consumer.state.loading import TableLoad, TableState
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.chunks import Chunk, chunks
from ticdc_consumer.upstream.rows import batches
from ticdc_consumer.upstream.session import UpstreamSession, reading, upstream_url
from ticdc_consumer.upstream.tables import Defined
from ticdc_consumer.waiting import until

SAMPLE = 200
"""Rows of a table by which the size of its rows is estimated."""
MOST_ROWS = 100_000
"""Rows of a chunk, at most, however small they are."""
AT_ONCE = 4
"""Tables whose chunks are looked for at the same time."""
MARK_WITHIN = 10.0
"""Seconds that the first resolved ts may take: one comes each second."""


def require_begun(options: Options, source: Source, snapshot_ts: int | None) -> None:
    """Raises `Stop` unless a resolved ts at or before the snapshot shows that the changefeed began
    before it; without a snapshot, unless there is one at all."""
    log = survey(source, (), PATIENCE)
    topics = {topic for topic, _ in log.begins}
    source.follow({topic: log.begins.get((topic, 0), 0) for topic in topics})

    def seen() -> bool:
        source.poll(0.5)
        return bool(source.marks)

    if not until(seen, MARK_WITHIN, pause=0.0):
        raise Stop(
            "the topics hold no resolved ts, so that nothing shows that they reach back to the "
            "load: create the changefeed first, and load when it runs"
        )
    first = min(mark.resolved_ts for mark in source.marks)
    if snapshot_ts is not None and first > snapshot_ts:
        raise Stop(
            f"the topics begin with the resolved ts {with_time(first)}, after {snapshot_ts}: "
            "changes between the two would be lost; load a newer snapshot, or leave --at out"
        )


def planned(
    options: Options,
    snapshot_ts: int,
    tables: Mapping[TableName, Defined],
    states: Mapping[TableName, TableState],
) -> list[TableLoad]:
    """The load of each table, in chunks of about `limits.load_chunk` bytes."""
    url, size = upstream_url(options), options.load_chunk
    with ThreadPoolExecutor(AT_ONCE, "ticdc-plan") as threads:
        cut = partial(_cut, url, snapshot_ts, size)
        parts = threads.map(cut, [each.table for each in tables.values()])
        return [
            TableLoad(
                name,
                states[name],
                defined.statement,
                states[name] == "create",
                [(json.dumps(chunk.to_json()), chunk.rows) for chunk in of_table],
            )
            for (name, defined), of_table in zip(tables.items(), parts, strict=True)
        ]


def _cut(url: str, snapshot_ts: int, size: int, table: Table) -> list[Chunk]:
    with reading(url, snapshot_ts) as session:
        return list(chunks(session, table, rows_of(session, table, size)))


def rows_of(session: UpstreamSession, table: Table, size: int) -> int:
    """How many rows take about `size` bytes, by the first ones."""
    rows = bytes_ = 0
    for arrays in batches(session, table, Chunk(), most=SAMPLE):
        rows += len(arrays[0])
        bytes_ += sum(array.nbytes for array in arrays)
    return max(1, min(MOST_ROWS, size * rows // bytes_)) if bytes_ else MOST_ROWS
