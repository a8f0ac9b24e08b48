"""Effects of partition DDL on rows. The target's tables have no partitions."""

from collections.abc import Sequence

from ticdc_encoder.event import Table

from ticdc_consumer.ddl.partition.rows import PartitionRows, partition_rows
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.schema.alteration import Alteration
from ticdc_consumer.targets.target import Target

STAGED = "ticdc_exchanged"
"""A temporary table for the rows of a partition that is exchanged."""


def empty(target: Target, name: TargetName, table: Table, names: Sequence[str]) -> Alteration:
    """Does TRUNCATE and DROP PARTITION; no `names` mean all. Raises `Unsupported`."""
    relation = target.quote(*name)
    rows = PartitionRows(None)
    if names:
        rows = partition_rows(table, names, target)
    statement = _delete(relation, rows)
    return Alteration((statement,), _refusals(relation, rows), rows_only=True)


def exchange(
    target: Target, name: TargetName, table: Table, partition: str, other: TargetName
) -> Alteration:
    """Does EXCHANGE PARTITION with another table of the same columns. Raises `Unsupported`."""
    rows = partition_rows(table, (partition,), target)
    relation, exchanged = target.quote(*name), target.quote(*other)
    staged = target.quote(target.temporary_schema(name[0]), STAGED)
    columns = ", ".join(
        target.quote(None, column.name) for column in table.columns if column.generated != "virtual"
    )
    drop = target.drop_temporary
    statements = (
        *((f"{drop} IF EXISTS {staged}",) if target.keeps_temporary else ()),
        *target.copy_to_temporary(staged, columns, relation, _where(rows)),
        _delete(relation, rows),
        f"INSERT INTO {relation} ({columns}) SELECT {columns} FROM {exchanged}",  # noqa: S608
        _delete(exchanged, PartitionRows(None)),
        f"INSERT INTO {exchanged} ({columns}) SELECT {columns} FROM {staged}",  # noqa: S608
        f"{drop} {staged}",
    )
    return Alteration(statements, _refusals(relation, rows), rows_only=True)


def _refusals(relation: str, rows: PartitionRows) -> tuple[tuple[str, str], ...]:
    return tuple(
        (
            f"SELECT 1 FROM {relation} WHERE {condition} LIMIT 1",  # noqa: S608
            "there are values whose partition is not certain",
        )
        for condition in rows.refused
    )


def _delete(relation: str, rows: PartitionRows) -> str:
    return f"DELETE FROM {relation}{_where(rows)}"  # noqa: S608


def _where(rows: PartitionRows) -> str:
    return "" if rows.condition is None else f" WHERE {rows.condition}"
