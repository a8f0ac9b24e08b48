"""The timestamp of a load, and the chunks of its tables."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

from ticdc_encoder.tso import with_time

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop
from ticdc_consumer.source import PATIENCE, Source
from ticdc_consumer.source.log import survey
from ticdc_consumer.state.loading import TableLoad, TableState
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.origin import Cut
from ticdc_consumer.upstream.snapshot import NEWER
from ticdc_consumer.upstream.tables import Defined
from ticdc_consumer.waiting import until

AT_ONCE = 4
"""Tables whose chunks are planned at the same time."""
MARK_WITHIN = 10.0
"""Seconds that the first resolved ts may take: one comes each second."""


def require_begun(options: Settings, source: Source, snapshot_ts: int | None) -> None:
    """Raises `Stop` unless a resolved ts at or before the snapshot shows that the changefeed began
    before it; without a snapshot, unless there is any resolved ts."""
    log = survey(source, (), PATIENCE)
    topics = {topic for topic, _ in log.begins}
    source.follow({topic: log.begins.get((topic, 0), 0) for topic in topics})

    def seen() -> bool:
        source.poll(0.5)
        return bool(source.marks)

    if not until(seen, MARK_WITHIN, pause=0.0):
        raise Stop(
            "the topics hold no resolved ts, so nothing shows that they reach back to the load: "
            "create the changefeed first, and load when it runs"
        )
    first = min(mark.resolved_ts for mark in source.marks)
    if snapshot_ts is not None and first > snapshot_ts:
        raise Stop(
            f"the topics begin with the resolved ts {with_time(first)}, after {snapshot_ts}: "
            f"changes between the two would be lost; {NEWER}"
        )


def planned(
    cut: Cut, size: int, tables: Mapping[TableName, Defined], states: Mapping[TableName, TableState]
) -> list[TableLoad]:
    """The load of each table, in chunks of about `size` bytes."""
    with ThreadPoolExecutor(AT_ONCE, "ticdc-plan") as threads:
        parts = threads.map(cut, [each.table for each in tables.values()], repeat(size))
        return [
            TableLoad(name, states[name], defined.statement, states[name] == "create", of_table)
            for (name, defined), of_table in zip(tables.items(), parts, strict=True)
        ]
