"""The result of a comparison, for people and for programs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import visible
from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.verify.compare import Difference, Outcome
from ticdc_consumer.commands.verify.pairs import Pair
from ticdc_consumer.state.repairs import RepairState
from ticdc_consumer.targets.layout import TableName

LINES = 20
"""Differing rows of a table that are printed; `--json` has all."""

_OF_KIND = {
    "missing": "is missing in the target",
    "extra": "is in the target only",
    "differs": "differs",
}


Subject = tuple[TableName, bool]


@dataclass(frozen=True, slots=True)
class TableReport:
    """The result for a table. `problem`: why it could not be compared; else its number of rows at
    R, and the differences, `whole` unless there are more. `names` are the columns of the
    differences' rows. `of_target`: the problem is of `relation`, where rows or the table itself
    have no such upstream. `against`: the other target, if that replaces the upstream.
    `not_repaired`: why a repair left its rows unchanged."""

    table: TableName
    relation: str
    resolved_ts: int
    upstream_rows: int = 0
    target_rows: int = 0
    differences: tuple[Difference, ...] = ()
    whole: bool = True
    problem: str = ""
    left_out: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    not_repaired: str = ""
    against: str = ""
    of_target: bool = False

    @classmethod
    def of(cls, pair: Pair, outcome: Outcome, resolved_ts: int) -> "TableReport":
        return cls(
            table=(pair.layout.schema, pair.layout.table),
            relation=pair.layout.relation,
            resolved_ts=resolved_ts,
            upstream_rows=outcome.upstream_rows,
            target_rows=outcome.target_rows,
            differences=tuple(_with_labels(pair, each) for each in outcome.differences),
            whole=outcome.whole,
            left_out=pair.left_out,
            names=tuple(column.name for column in pair.columns),
        )

    @property
    def name(self) -> str:
        return ".".join(self.table)

    @property
    def subject(self) -> "Subject":
        """The identity of the report."""
        return self.table, self.of_target

    @property
    def equal(self) -> bool:
        return not self.differences and not self.problem


def _with_labels(pair: Pair, difference: Difference) -> Difference:
    """The difference with an ENUM's label in the key where its index was compared."""
    forms = {column.name: column.upstream.form for column in pair.columns}
    elements = {column.name: column.type.elements for column in pair.layout.source}
    key = tuple(
        (name, elements[name][int(value) - 1])
        if value and forms[name] == "number" and _is_enum(pair, name) and int(value)
        else (name, value)
        for name, value in difference.key
    )
    return replace(difference, key=key)


def _is_enum(pair: Pair, name: str) -> bool:
    return any(c.type.name == "enum" for c in pair.layout.source if c.name == name)


def to_text(report: TableReport, show_values: bool) -> str:
    """Returns a line, and one for each of the first rows that differ."""
    return "\n".join(map(visible, _lines(report, show_values)))


def _lines(report: TableReport, show_values: bool) -> Iterator[str]:
    if report.problem:
        yield f"{report.name}: {report.problem}"
        return
    left = f", without {', '.join(report.left_out)}" if report.left_out else ""
    if report.equal:
        yield f"{report.name}: {counted(report.target_rows, 'row')}, equal{left}"
        return
    count = len(report.differences)
    differ = f"{count} {'differs' if count == 1 else 'differ'}"
    yield (
        f"{report.name}: {counted(report.target_rows, 'row')}, "
        f"{report.upstream_rows:,} {_other(report)}; "
        f"{'' if report.whole else 'at least '}{differ}{left}"
    )
    for difference in report.differences[:LINES]:
        yield f"  {_of(report, difference, show_values)}"
    if count > LINES:
        yield f"  and {count - LINES} more, which --json shows"


def _of(report: TableReport, difference: Difference, show_values: bool) -> str:
    key = ", ".join(f"{name}={value}" for name, value in difference.key)
    columns = f" in {', '.join(difference.columns)}" if difference.columns else ""
    line = f"{key or 'a row without a key'} {_OF_KIND[difference.kind]}{columns}"
    if not show_values:
        return line
    sides = (
        f"{_other(report) if side == 'upstream' else side}: "
        f"{', '.join(f'{name}={_literal(value)}' for name, value in values.items())}"
        for side, values in _values(report, difference).items()
        if values is not None
    )
    return f"{line}; {'; '.join(sides)}"


def _other(report: TableReport) -> str:
    return f"in {report.against}" if report.against else "upstream"


def _literal(value: str | None) -> str:
    return "NULL" if value is None else repr(value)


def _values(report: TableReport, difference: Difference) -> dict[str, dict[str, str | None] | None]:
    """The values of the columns that differ, on each side; for a row that one side lacks, of
    all."""
    return {
        side: None
        if row is None
        else {
            name: value
            for name, value in zip(report.names, row, strict=True)
            if name in difference.columns or not difference.columns
        }
        for side, row in (("upstream", difference.upstream), ("target", difference.target))
    }


def summary(reports: Sequence[TableReport]) -> str:
    unequal = {report.table for report in reports if not report.equal}
    at = with_time(max((report.resolved_ts for report in reports), default=0))
    rows = sum(report.target_rows for report in reports)
    tables = counted(len({report.table for report in reports}), "table")
    tables = f"{tables}, {counted(rows, 'row')}"
    if not unequal:
        return f"equal at R = {at}: {tables}"
    return f"not equal at R = {at}: {len(unequal):,} of {tables}"


def to_json(
    reports: Sequence[TableReport], show_values: bool, repair: RepairState | None = None
) -> str:
    """Returns one JSON object, with the outcome of a repair. Timestamps (TSO) are texts: they do
    not fit into the 53 bits that jq and JavaScript keep of a number."""
    return json.dumps(
        {
            "equal": all(report.equal for report in reports),
            "repair": None if repair is None else repair.to_json(),
            "tables": [_table_json(report, show_values) for report in reports],
        },
        indent=2,
        ensure_ascii=False,
    )


def _table_json(report: TableReport, show_values: bool) -> dict[str, Any]:
    return {
        "schema": report.table[0],
        "table": report.table[1],
        "relation": report.relation,
        "resolved_ts": str(report.resolved_ts),
        "tidb_snapshot": str(report.resolved_ts - 1),
        "equal": report.equal,
        "problem": report.problem or None,
        "upstream_rows": report.upstream_rows,
        "target_rows": report.target_rows,
        "left_out": list(report.left_out),
        "more": not report.whole,
        "not_repaired": report.not_repaired or None,
        "differences": [_json_of(report, each, show_values) for each in report.differences],
    }


def _json_of(report: TableReport, difference: Difference, show_values: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "kind": difference.kind,
        "key": dict(difference.key),
        "columns": list(difference.columns),
    }
    return described | (_values(report, difference) if show_values else {})
