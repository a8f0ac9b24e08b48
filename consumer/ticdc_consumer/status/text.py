"""The output of `status`."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import visible
from ticdc_encoder.tso import duration, moment, with_time

from ticdc_consumer.errors import DDL_DONE, DDL_RUN, WaitingDdl
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.status.activity.activity import VerifiedShare
from ticdc_consumer.status.activity.stored import StoredActivity
from ticdc_consumer.status.causes.of_runs import LOAD_INSTEAD, RELEASE
from ticdc_consumer.status.reading import Status, TableStatus


def to_json(status: Status) -> str:
    """Returns one JSON object for programs. Timestamps (TSO) are texts: they do not fit into the 53
    bits that jq and JavaScript keep of a number."""
    return json.dumps(
        {
            "changefeed": status.changefeed,
            "resolved_ts": str(status.resolved_ts),
            "tidb_snapshot": str(status.tidb_snapshot),
            "resolved_time": moment(status.resolved_ts).isoformat(timespec="milliseconds"),
            "lag_seconds": round(status.lag_seconds, 3),
            "generation": status.generation,
            "why": {"cause": status.why.cause, "sentence": status.why.sentence},
            "partitions": [
                {
                    "topic": position.topic,
                    "partition": position.partition,
                    "restart_offset": position.restart_offset,
                }
                for position in status.positions
            ],
            "quarantined": [_set_aside_json(table) for table in status.set_aside],
            "pending_ddl": [_pending_json(status, entry) for entry in status.pending],
            "skipped_ddl": [_json_of(entry, "reason") for entry in status.skipped],
            "counters": dict(status.counters),
            "tables": [asdict(table) for table in status.tables],
            "consumer": consumer_json(status.activity),
            "loading": status.loading.to_json() if status.loading is not None else None,
            "repair": status.repair.to_json() if status.repair is not None else None,
            "at_least_once": list(status.at_least_once),
            "views_left_out": [
                {
                    **_json_of(entry, "reason"),
                    "command": DDL_RUN.format(config="CONFIG", id=entry.id),
                }
                for entry in status.views_left_out
            ],
            "left_out": [
                {
                    "schema": column.table[0],
                    "table": column.table[1],
                    "column": column.column,
                    "unique_keys": list(column.unique_keys),
                    "reason": column.reason,
                }
                for column in status.left_out
            ],
        },
        indent=2,
        ensure_ascii=False,
    )


def _set_aside_json(table: SetAside) -> dict[str, Any]:
    return {
        "schema": table.schema,
        "table": table.table,
        "resolved_ts": str(table.resolved_ts),
        "since": datetime.fromtimestamp(table.since, UTC).isoformat(),
        "waiting": table.waiting,
        "cause": table.cause,
        "command": RELEASE.format(config="CONFIG", table=f"{table.schema}.{table.table}"),
    }


def _pending_json(status: Status, entry: LedgerEntry) -> dict[str, Any]:
    waiting = _waiting(status, entry)
    return {
        **_json_of(entry),
        "reason": waiting.reason if waiting else None,
        "suggestion": list(waiting.suggestion) if waiting else [],
        "caveats": waiting.caveats("CONFIG") if waiting else [],
        "command": DDL_DONE.format(config="CONFIG", id=entry.id),
    }


def consumer_json(stored: StoredActivity | None) -> dict[str, Any] | None:
    if stored is None:
        return None
    seconds = round(stored.age, 3)
    return {"running": stored.alive, "heard_seconds_ago": seconds, **stored.activity.to_json()}


def _waiting(status: Status, entry: LedgerEntry) -> WaitingDdl | None:
    waiting = status.activity.activity.ddls if status.activity else ()
    return next((ddl for ddl in waiting if ddl.id == entry.id), None)


def _json_of(entry: LedgerEntry, *more: str) -> dict[str, Any]:
    names = ("seq", "schema", "table", "query", "kind", *more)
    fields = {name: getattr(entry, name) for name in names}
    return {"id": entry.id, "commit_ts": str(entry.commit_ts), **fields}


def to_text(status: Status, config: str = "CONFIG") -> str:
    """Returns text for people; `config` is the settings file, for the commands that are shown."""
    return "\n".join(map(visible, _lines(status, config)))


def rows_of(status: Status, config: str) -> Iterator[tuple[str, str]]:
    """Yields names and values, without the tables and partitions."""
    yield "changefeed", f"{status.changefeed} (generation {status.generation})"
    yield "resolved_ts", with_time(status.resolved_ts)
    yield "tidb_snapshot", str(status.tidb_snapshot)
    yield "lag", duration(status.lag_seconds)
    if status.loading is not None:
        yield "loading", f"as of {with_time(status.loading.snapshot_ts)}: {status.loading}"
    if status.repair is not None:
        yield "last repair", str(status.repair)
    if status.activity is not None and status.activity.activity.verified is not None:
        yield "verified", _verified(status.activity.activity.verified)
    yield "why", status.why.sentence
    if status.activity is not None:
        yield from _activity_rows(status.activity)
    for name, count in sorted(status.counters.items()):
        yield name, f"{count:,} since the changefeed's first start"
    for table in status.at_least_once:
        yield "at least once", f"{table}: rows may be in it more than once"
    for column in status.left_out:
        yield "left out", f"{'.'.join(column.table)}: {column.text()}"
    for waiting in status.set_aside:
        name = f"{waiting.schema}.{waiting.table}"
        stands = f"waits at R {with_time(waiting.resolved_ts)}"
        yield "quarantined", f"{name} {stands} with {counted(waiting.waiting, 'change')}"
        yield "  because", waiting.cause
        yield "  once fixed", RELEASE.format(config=config, table=name)
        yield "  or instead", LOAD_INSTEAD.format(config=config, table=name)
    for entry in status.views_left_out:
        yield "view left out", f"{entry.id} {entry.schema}.{entry.table}: {entry.reason}"
        yield "  to create it", DDL_RUN.format(config=config, id=entry.id)
    for entry in status.pending:
        yield "DDL pending", _ddl(entry)
        yield from _way_out(_waiting(status, entry), entry.id, config)
    for entry in status.skipped:
        yield (
            "DDL skipped",
            f"{entry.id} {entry.schema}.{entry.table}: {entry.reason}; {entry.query.strip()}",
        )


def _lines(status: Status, config: str) -> Iterator[str]:
    for name, value in rows_of(status, config):
        yield f"{name:<15} {value}"
    for one in status.tables:
        yield f"{'table':<15} {_table(one)}"
    yield ""
    width = max((len(position.topic) for position in status.positions), default=5)
    yield f"{'topic':<{width}}  partition  restart offset"
    for position in status.positions:
        yield f"{position.topic:<{width}}  {position.partition:>9}  {position.restart_offset:>14}"


def _verified(share: VerifiedShare) -> str:
    return f"{datetime.fromtimestamp(share.at, UTC):%Y-%m-%d %H:%M:%S} UTC, {share}"


def _ddl(entry: LedgerEntry) -> str:
    return f"{entry.id} {entry.schema}.{entry.table}: {entry.query.strip()}"


def _way_out(waiting: WaitingDdl | None, id: str, config: str) -> Iterator[tuple[str, str]]:
    if waiting is not None:
        yield "  because", waiting.reason
        for statement in waiting.suggestion:
            yield "  perhaps", f"{statement};"
        for caveat in waiting.caveats(config):
            yield "  but", caveat
    yield "  to run SQL", DDL_RUN.format(config=config, id=id)
    yield "  once done", DDL_DONE.format(config=config, id=id)


def _activity_rows(stored: StoredActivity) -> Iterator[tuple[str, str]]:
    activity = stored.activity
    if activity.committed is not None:
        at = datetime.fromtimestamp(activity.committed, UTC)
        yield "last commit", f"{at:%Y-%m-%d %H:%M:%S} UTC"
    yield "consumer", described(stored)
    error = activity.error
    # A DDL that waits is shown with its reason below.
    if error is not None and not (
        stored.alive or any(d.reason in error.text for d in activity.ddls)
    ):
        yield "last error", error.text


def described(stored: StoredActivity) -> str:
    """State of the consumer: running or not, where, and its activity."""
    activity, age = stored.activity, duration(stored.age)
    if stored.running:
        return f"running as {activity.who}: {activity.sentence}"
    if stored.silent is not None:
        return f"no sign for {age}, but a consumer is alive; the last sign was from {activity.who}"
    if activity.stage == "stopped":
        ended = "stopped by an error" if activity.detail else "ended without an error"
        return f"none is running: {activity.who} {ended} {age} ago"
    return f"none is running: {activity.who} has given no sign for {age}"


def _table(table: TableStatus) -> str:
    rows = ""
    if table.deleted is not None and table.written is not None:
        rows = f": {counted(table.deleted, 'row')} deleted, {table.written:,} written"
        rows += " since the consumer's start"
    return f"{table.name} in {table.relation}{rows}"
