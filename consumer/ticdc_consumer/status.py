"""Where a changefeed is, from its target alone; and the end of one, which the target forgets."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ticdc_encoder.errors import visible
from ticdc_encoder.tso import duration, lag, moment, with_time

from ticdc_consumer.config.options import Options
from ticdc_consumer.ddl.generated_columns import LeftOutColumn, all_left_out
from ticdc_consumer.state.checkpoint import Position
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import Target


@dataclass(frozen=True, slots=True)
class Status:
    """The tables hold every commit_ts < `resolved_ts`: what TiDB shows with
    `tidb_snapshot = resolved_ts - 1`."""

    changefeed: str
    resolved_ts: int
    lag_seconds: float
    generation: int
    positions: Sequence[Position]
    pending: Sequence[LedgerEntry]
    skipped: Sequence[LedgerEntry]
    counters: Mapping[str, int]
    at_least_once: Sequence[str]
    left_out: Sequence[LeftOutColumn] = ()

    @property
    def tidb_snapshot(self) -> int:
        return self.resolved_ts - 1


def read(target: Target, options: Options) -> Status:
    """Reads without waiting for a consumer that runs. Raises `Stop` before the first start."""
    store = Store(target, options.changefeed, where=InTarget.by(options, target))
    checkpoint = store.read()
    if checkpoint is None:
        raise store.unknown()
    entries = store.ledger.entries()
    return Status(
        changefeed=options.changefeed,
        resolved_ts=checkpoint.resolved_ts,
        lag_seconds=lag(checkpoint.resolved_ts),
        generation=checkpoint.generation,
        positions=[checkpoint.positions[name] for name in sorted(checkpoint.positions)],
        pending=[entry for entry in entries if entry.state == "pending"],
        skipped=[entry for entry in entries if entry.state == "skipped"],
        counters=checkpoint.counters,
        at_least_once=options.at_least_once,
        left_out=all_left_out(target, store.ledger),
    )


def end(target: Target, options: Options) -> str:
    """Ends the changefeed, and says what is left of it. Raises `Stop` if there is none."""
    store = Store(target, options.changefeed)
    if store.read() is None:
        raise store.unknown()
    dropped_tables = [
        target.quote(of.target_schema, of.target_table) for of in store.ledger.dropped()
    ]
    last_state = store.end(options.takeover_after)
    if last_state is None:
        raise store.unknown()
    left = (
        f"; dropped tables that were kept are left: {', '.join(dropped_tables)}"
        if dropped_tables
        else ""
    )
    return (
        f"changefeed {options.changefeed} is ended; its tables stay as they are, at R = "
        f"{with_time(last_state.resolved_ts)}{left}"
    )


def to_json(status: Status) -> str:
    """One object, for programs. Timestamps (TSO) are texts: they do not fit into the 53 bits that
    jq and JavaScript keep of a number."""
    return json.dumps(
        {
            "changefeed": status.changefeed,
            "resolved_ts": str(status.resolved_ts),
            "tidb_snapshot": str(status.tidb_snapshot),
            "resolved_time": moment(status.resolved_ts).isoformat(timespec="milliseconds"),
            "lag_seconds": round(status.lag_seconds, 3),
            "generation": status.generation,
            "partitions": [
                {
                    "topic": position.topic,
                    "partition": position.partition,
                    "restart_offset": position.restart_offset,
                }
                for position in status.positions
            ],
            "pending_ddl": [_json_of(entry) for entry in status.pending],
            "skipped_ddl": [_json_of(entry, "reason") for entry in status.skipped],
            "counters": dict(status.counters),
            "at_least_once": list(status.at_least_once),
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


def _json_of(entry: LedgerEntry, *more: str) -> dict[str, Any]:
    names = ("seq", "schema", "table", "query", "kind", *more)
    fields = {name: getattr(entry, name) for name in names}
    return {"id": entry.id, "commit_ts": str(entry.commit_ts), **fields}


def to_text(status: Status) -> str:
    return "\n".join(map(visible, _lines(status)))


def _lines(status: Status) -> Iterator[str]:
    yield f"changefeed      {status.changefeed} (generation {status.generation})"
    yield f"resolved_ts     {with_time(status.resolved_ts)}"
    yield f"tidb_snapshot   {status.tidb_snapshot}"
    yield f"lag             {duration(status.lag_seconds)}"
    for name, count in sorted(status.counters.items()):
        yield f"{name:<15} {count:,}"
    for table in status.at_least_once:
        yield f"at least once   {table}: it may have rows more than once"
    for column in status.left_out:
        yield f"left out        {'.'.join(column.table)}: {column.text()}"
    for entry in status.pending:
        yield f"DDL pending     {_ddl(entry)}"
    for entry in status.skipped:
        yield f"DDL skipped     {_ddl(entry)}; {entry.reason}"
    yield ""
    width = max((len(position.topic) for position in status.positions), default=5)
    yield f"{'topic':<{width}}  partition  restart offset"
    for position in status.positions:
        yield f"{position.topic:<{width}}  {position.partition:>9}  {position.restart_offset:>14}"


def _ddl(entry: LedgerEntry) -> str:
    return f"{entry.id} {entry.schema}.{entry.table}: {entry.query.strip()}"
