"""The golden data's upstream, as the encoder's own events."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache

from ticdc_encoder.column import INTEGERS, ColumnType
from ticdc_encoder.event import Ddl, Resolved, RowChange, Table, Transaction, Value
from ticdc_encoder.sql.parser import parse_create_table

from support.golden import Change, Scenario, scenario
from support.golden import Value as Printed

# TiDB prints a FLOAT's exponent form with six digits only.
_ALL_DIGITS = {"-3.40282e38": "-3.4028235e38", "1.17549e-38": "1.1754944e-38"}

Happened = Transaction | Ddl | Resolved


@cache
def versions(name: str) -> Mapping[tuple[str, str], tuple[tuple[int, Table], ...]]:
    """(schema, table) -> its versions as (since_ts, table), oldest first."""
    found: dict[tuple[str, str], list[tuple[int, Table]]] = {}
    for version in scenario(name).tables:
        if version.create is not None:
            table = parse_create_table(version.create, version.schema)
            found.setdefault((version.schema, version.table), []).append((version.since_ts, table))
    return {key: tuple(sorted(of, key=lambda at: at[0])) for key, of in found.items()}


def table_at(name: str, schema: str, table: str, ts: int) -> Table:
    """The table's version that rows of commit_ts `ts` are of."""
    return [of for since, of in versions(name)[schema, table] if since <= ts][-1]


def happened(name: str) -> Iterator[Happened]:
    """What happened upstream, in order: DDL as TiCDC words it, transactions, resolved ts."""
    told = scenario(name)
    changes: dict[tuple[int, int], list[Change]] = {}
    for change in told.changes:
        changes.setdefault((change.commit_ts, change.start_ts), []).append(change)
    for line in told.script:
        if line["kind"] == "resolved":
            yield Resolved(line["ts"])
        elif line["kind"] == "ddl" and line["replicated"]:
            yield from ddls(told, line)
        elif line["kind"] == "txn" and line["commit_ts"] is not None:
            of = changes.pop((line["commit_ts"], line["start_ts"]), ())
            rows = tuple(row_change(name, change) for change in of)
            yield Transaction(line["commit_ts"], rows, line["start_ts"], net=True)
    assert not changes


def ddls(told: Scenario, line: Mapping[str, object]) -> Iterator[Ddl]:
    commit_ts = line["commit_ts"]
    assert isinstance(commit_ts, int)
    events = line["events"]
    assert isinstance(events, list)
    for event in events:
        of = versions(told.name).get((event["schema"], event["table"]), ())
        definition = [table for since, table in of if since <= commit_ts][-1:]
        yield Ddl(
            event["schema"],
            event["table"],
            event["query"],
            commit_ts,
            event["type"],
            definition[0] if definition else None,
        )


def row_change(name: str, change: Change) -> RowChange:
    table = table_at(name, change.schema, change.table, change.commit_ts)
    return RowChange(
        table,
        change.commit_ts,
        values(table, change.before),
        values(table, change.after),
        change.start_ts,
    )


def values(table: Table, row: Mapping[str, Printed] | None) -> dict[str, Value] | None:
    """A row of the golden data, its columns in the table's order."""
    if row is None:
        return None
    return {
        column.name: value(column.type, row[column.name])
        for column in table.columns
        if column.name in row
    }


def value(type_: ColumnType, printed: Printed) -> Value:
    """What TiDB's text protocol prints, as the encoder's value."""
    if printed is None:
        return None
    if type_.name == "bit":
        assert isinstance(printed, bytes)
        return int.from_bytes(printed, "big")
    if isinstance(printed, bytes):
        return printed if type_.binary else printed.decode("utf-8", "surrogateescape")
    if type_.name in INTEGERS or type_.name == "year":
        return int(printed)
    if type_.name == "enum":
        return type_.elements.index(printed) + 1 if printed in type_.elements else 0
    if type_.name == "set":
        chosen = printed.split(",") if printed else []
        return sum(1 << type_.elements.index(element) for element in chosen)
    if type_.name in ("float", "double"):
        return float(_ALL_DIGITS.get(printed, printed))
    return Decimal(printed) if type_.name == "decimal" else printed
