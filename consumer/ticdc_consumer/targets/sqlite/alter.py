"""ALTER TABLE and RENAME TABLE for SQLite; each runs in the transaction of its cut.

What SQLite's ALTER TABLE lacks is done by a new table that takes the place of the old one
(https://www.sqlite.org/lang_altertable.html, section 7). That would lose what a user added, so the
table must be as the consumer made it.
"""

from dataclasses import replace

from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets.layout import ReferenceChanges
from ticdc_consumer.targets.schema.alter import (
    Alteration,
    Differences,
    IndexChanges,
    conversions,
    differences,
    index_changes,
    initials,
    refusals,
)
from ticdc_consumer.targets.schema.conversions import (
    Above,
    Below,
    Condition,
    Conversion,
    IsNull,
    Longer,
    LongerInBytes,
)
from ticdc_consumer.targets.schema.create import (
    ColumnShape,
    Shape,
    create_table,
    index_name,
    literal,
    shape,
)
from ticdc_consumer.targets.schema.initial import Initial
from ticdc_consumer.targets.sqlite.create import WORDS, reference_text
from ticdc_consumer.targets.sqlite.quoting import quote_name
from ticdc_consumer.targets.target import Target

REBUILT = "ticdc_rebuilt"
"""The name of the new table until it takes the old one's place."""


def alter_table(
    target: Target,
    schema: str | None,
    name: str,
    evolved: Evolved,
    commit_ts: int,
    references: ReferenceChanges,
) -> Alteration:
    """Raises `Stop` for what cannot be done exactly."""
    found = differences(evolved)
    empty = not target.has_rows(schema, name)
    made = conversions(found, empty)
    values = initials(evolved, found, empty, commit_ts)
    before, old, new = (
        shape(evolved.before, WORDS),
        shape(found.old, WORDS),
        shape(found.new, WORDS),
    )
    rekeyed = bool(references.dropped or references.added)
    if rekeyed or _rebuilds(found, before, old, new, made, values):
        _check_ours(target, name, before)
        statements = _rebuilt(target, name, found, made, values, _lines(references, evolved))
    else:
        indexes = index_changes(before.indexes, old.indexes, new.indexes)
        statements = _altered(target, name, found, new, indexes)
    return Alteration(
        tuple(statements), refusals(target.quote(None, name), found, made, _condition)
    )


def _lines(references: ReferenceChanges, evolved: Evolved) -> list[str]:
    """The foreign keys of the new table; those that stay have the columns' names of before."""
    names = {source: name for name, source in evolved.sources.items()}
    kept = [
        replace(each, columns=tuple(names.get(column, column) for column in each.columns))
        for each in references.kept
    ]
    return [reference_text(each) for each in (*kept, *references.added)]


def _rebuilds(
    found: Differences,
    before: Shape,
    old: Shape,
    new: Shape,
    made: dict[str, Conversion | None],
    values: dict[str, Initial],
) -> bool:
    changed = any(new.columns[name] != of for name, of in old.columns.items())
    converted = any(each is not None and each.suffix for each in made.values())
    rekeyed = old.primary != new.primary or bool(set(before.primary) & set(found.dropped))
    return (
        changed
        or converted
        or rekeyed
        or any(not _addable(column, new.columns[column.name], values) for column in found.added)
    )


def _addable(column: Column, made: ColumnShape, values: dict[str, Initial]) -> bool:
    """Whether ADD COLUMN can say it: with a constant that remains its default."""
    if made.default == "CURRENT_TIMESTAMP":
        return False
    if column.name not in values or values[column.name] is None:
        return not made.not_null or made.default is not None
    return _literal(column, values[column.name]) == made.default


def _altered(
    target: Target, name: str, found: Differences, new: Shape, indexes: IndexChanges
) -> list[str]:
    relation = target.quote(None, name)
    dropped = [*indexes.dropped, *(before for before, _ in indexes.renamed)]
    created = [*indexes.created, *(after for _, after in indexes.renamed)]
    return [
        *(f"DROP INDEX {quote_name(index_name(name, label))}" for label in dropped),
        *(f"ALTER TABLE {relation} DROP COLUMN {quote_name(column)}" for column in found.dropped),
        *(
            f"ALTER TABLE {relation} RENAME COLUMN {quote_name(column)} TO {quote_name(named)}"
            for column, named in found.renamed
        ),
        *(
            f"ALTER TABLE {relation} ADD COLUMN {quote_name(column.name)} "
            f"{new.columns[column.name].text()}"
            for column in found.added
        ),
        *(
            new.indexes[label].create(quote_name(index_name(name, label)), relation)
            for label in created
        ),
    ]


def _rebuilt(
    target: Target,
    name: str,
    found: Differences,
    made: dict[str, Conversion | None],
    values: dict[str, Initial],
    constraints: list[str],
) -> list[str]:
    relation, rebuilt = target.quote(None, name), quote_name(REBUILT)
    new = shape(found.new, WORDS)
    sources = {column.name: old for old, column in found.modified}
    added = {column.name: column for column in found.added}
    columns, expressions = [], []
    for column, of in new.columns.items():
        columns.append(quote_name(column))
        if column in sources:
            expressions.append(_converted(sources[column], of, made.get(column)))
        else:
            expressions.append(_literal(added[column], values.get(column)))
    (create, *_), (_, *indexes) = (
        create_table(rebuilt, REBUILT, found.new, WORDS, constraints),
        create_table(relation, name, found.new, WORDS),
    )
    return [
        create,
        f"INSERT INTO {rebuilt} ({', '.join(columns)}) "  # noqa: S608
        f"SELECT {', '.join(expressions)} FROM {relation}",
        f"DROP TABLE {relation}",
        f"ALTER TABLE {rebuilt} RENAME TO {relation}",
        *indexes,
    ]


def _converted(old: Column, new: ColumnShape, made: Conversion | None) -> str:
    name = quote_name(old.name)
    before = WORDS.column_type(old)
    text = name if before == new.type else f"CAST({name} AS {new.type})"
    return f"{text} || {literal(made.suffix)}" if made and made.suffix else text


def _literal(column: Column, value: Initial) -> str:
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"X'{value.hex()}'"
        case _:
            if "\0" in str(value):
                raise Unsupported(f"column {column.name}: a NUL character in its default")
            return literal(str(value))


def _check_ours(target: Target, name: str, wanted: Shape) -> None:
    """Raises `Stop` where the table is not as the consumer made it."""
    described = target.describe(None, name)
    if described is None:
        raise Stop(f"there is no table {name}")
    columns = {c.name: (c.type.upper(), not c.nullable) for c in described.columns}
    made = {column: (of.type, of.not_null) for column, of in wanted.columns.items()}
    differing = sorted(c for c in columns.keys() | made.keys() if columns.get(c) != made.get(c))
    rows = target.execute(
        "SELECT name FROM sqlite_master WHERE tbl_name = ? COLLATE NOCASE AND type = 'index' "
        "AND sql IS NOT NULL",
        (name,),
    ).all()
    labels = {index_name(name, label) for label in wanted.indexes}
    differing += sorted({str(row[0]) for row in rows} ^ labels)
    differing += described.triggers
    if differing:
        raise Stop(
            f"SQLite cannot alter {name} in place, and to build it anew would lose what is not "
            f"the consumer's: {', '.join(differing)}"
        )


def _condition(column: Column, refused: Condition) -> str:
    name = quote_name(column.name)
    # An unsigned BIGINT is text.
    number = f"CAST({name} AS NUMERIC)"
    match refused:
        case Below(least):
            return f"{number} < {least}"
        case Above(greatest):
            return f"{number} > {greatest}"
        case Longer(length):
            return f"length({name}) > {length}"
        case LongerInBytes(length):
            return f"length(CAST({name} AS BLOB)) > {length}"
        case IsNull():
            return f"{name} IS NULL"


def rename_table(
    target: Target,
    old: tuple[str | None, str],
    new: tuple[str | None, str],
    definition: Table | None,
) -> list[str]:
    """Indexes that the consumer named after the table are made anew."""
    name, named = old[1], new[1]
    if name == named:
        return []
    relation = target.quote(*new)
    statements = [f"ALTER TABLE {target.quote(*old)} RENAME TO {relation}"]
    there = {
        str(row[0])
        for row in target.execute("SELECT name FROM sqlite_master WHERE type = 'index'").all()
    }
    for label, index in (shape(definition, WORDS).indexes if definition else {}).items():
        if index_name(name, label) in there:
            statements.append(f"DROP INDEX {quote_name(index_name(name, label))}")
            statements.append(index.create(quote_name(index_name(named, label)), relation))
    return statements
