"""A table's definition as of a timestamp, for rows whose CREATE TABLE did not come."""

from datetime import datetime

from ticdc_encoder.event import Table
from ticdc_encoder.tso import physical

from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.errors import (
    LOAD_ANEW,
    UPSTREAM_DRIVER,
    NoTable,
    Retry,
    Stop,
    Unavailable,
    about,
)
from ticdc_consumer.targets.layout import TableName

_LAST_DDL = (
    "SELECT create_time FROM information_schema.tables WHERE table_schema = %s AND table_name = %s"
)
"""Reads the time of the table's last DDL (seen with TiDB 8.4)."""

MARGIN = 60.0
"""Seconds by which the last DDL must precede the timestamp: TiDB shows, in whole seconds, when it
began to commit."""


def add_with_upstream(
    tables: TableLayouts,
    source: Table,
    deletes_only: bool,
    empty_at: int | None,
    url: str | None,
    snapshot_ts: int | None,
) -> None:
    """Calls `TableLayouts.add`. If that refuses a table of unknown definition, asks the upstream,
    where its URL is configured. Raises `Stop`."""
    name = (source.schema, source.name)
    try:
        tables.add(source, deletes_only, empty_at)
        return
    except NoTable:
        raise
    except Stop as error:
        refusal = error
    if url is None or name in tables.definitions:
        raise refusal
    with about(name):
        try:
            tables.declare(source, definition_at(url, name, snapshot_ts))
        except ModuleNotFoundError as error:
            missing = f"{error.name} is not installed: {UPSTREAM_DRIVER}"
            raise Stop(f"{refusal}; but [source] upstream cannot be read: {missing}") from error
        except (Stop, Retry, Unavailable) as error:
            raise Stop(f"{refusal}; but [source] upstream does not tell: {error}") from error
    tables.add(source, deletes_only, empty_at)


def definition_at(url: str, name: TableName, snapshot_ts: int | None) -> Table:
    """Returns the upstream's definition as of the timestamp, without a timestamp the current one.
    If the snapshot is removed, returns the current one unless a later DDL may have made it. Raises
    `Stop`, and what `UpstreamSession` raises."""
    # A run without an upstream needs no driver for it.
    from ticdc_consumer.upstream.session import SnapshotRemoved, reading
    from ticdc_consumer.upstream.tables import defined

    label = ".".join(name)
    try:
        with reading(url, snapshot_ts) as session:
            return defined(session, *name).table
    except SnapshotRemoved as removed:
        assert snapshot_ts is not None
        with reading(url) as session:
            table = defined(session, *name).table
            ((last,),) = session.query(_LAST_DDL, *name)
        changed = last is None or _seconds(last) + MARGIN > physical(snapshot_ts) / 1000
        if changed:
            raise Stop(
                f"{label}: a DDL may have changed the table after {snapshot_ts}, and the "
                f"upstream no longer has it as it was then: {LOAD_ANEW}; or set [on_error] "
                "quarantine = true, run until the table is quarantined, and then load it by: "
                f"ticdc-consumer release CONFIG {label} --load"
            ) from removed
        return table


def _seconds(moment: str | bytes) -> float:
    """Returns the seconds since 1970 of a time in UTC."""
    text = moment.decode() if isinstance(moment, bytes) else moment
    return datetime.fromisoformat(f"{text}+00:00").timestamp()
