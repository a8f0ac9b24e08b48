"""Output of `plan` for a cut."""

from collections.abc import Iterator

from ticdc_encoder.counted import counted
from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.plan import PlannedCut


def planned(cut: PlannedCut) -> Iterator[str]:
    """The effects of a cut, in lines for an operator."""
    if cut.resolved_ts > cut.begin:
        yield f"cut to R {with_time(cut.resolved_ts)}: {counted(cut.rows, 'row')}"
    for name, rows in sorted(cut.tables.items()):
        what = f"{rows.inserted:,} inserted, {rows.updated:,} updated"
        if not rows.compared:
            what = f"{rows.inserted:,} written"
        yield f"  {name}: {what}, {rows.deleted:,} deleted"
    yield from beside_tables(cut)


def beside_tables(cut: PlannedCut) -> Iterator[str]:
    """The lines that follow the counts of the cut's tables."""
    for name, changes in sorted(cut.waiting.items()):
        name = name or "other tables"
        yield (
            f"  {name}: changes that wait for the preceding DDL are not counted: about {changes:,}"
        )
    yield from (f"  {statement};" for statement in cut.statements)
    for ddl in cut.ddls:
        entry = ddl.entry
        yield f"  DDL {entry.id} in {entry.schema or '-'}: {' '.join(entry.query.split())}"
        yield from (f"    {statement};" for statement in ddl.statements)
        if ddl.note or not ddl.statements:
            yield f"    {ddl.note or 'nothing to do in this target'}"


def planned_json(cut: PlannedCut) -> dict[str, object]:
    """The same cut for programs."""
    return {
        "begin_ts": str(cut.begin),
        "resolved_ts": str(cut.resolved_ts),
        "rows": cut.rows,
        "tables": [
            {
                "name": name,
                "inserted": rows.inserted,
                "updated": rows.updated,
                "deleted": rows.deleted,
                "compared": rows.compared,
            }
            for name, rows in sorted(cut.tables.items())
        ],
        "waiting": [
            {"name": name, "changes": changes} for name, changes in sorted(cut.waiting.items())
        ],
        "statements": list(cut.statements),
        "ddl": [
            {
                "id": ddl.entry.id,
                "commit_ts": str(ddl.entry.commit_ts),
                "schema": ddl.entry.schema,
                "table": ddl.entry.table,
                "query": ddl.entry.query,
                "statements": list(ddl.statements),
                "note": ddl.note,
            }
            for ddl in cut.ddls
        ],
    }
