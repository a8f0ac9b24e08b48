"""A table in PostgreSQL's catalog, and the consequences for loading it."""

import re
from collections.abc import Sequence

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import (
    Reference,
    TargetColumn,
    TargetName,
    TargetTable,
    UniqueKey,
)
from ticdc_consumer.targets.postgresql import kinds
from ticdc_consumer.targets.postgresql.types import NONDETERMINISTIC
from ticdc_consumer.targets.target import Query

# A partitioned table itself has no rows: its own UNLOGGED does not matter.
_TABLE = """
SELECT c.oid, (
    WITH RECURSIVE family(oid) AS (
        SELECT c.oid
        UNION SELECT i.inhrelid FROM pg_inherits i JOIN family ON i.inhparent = family.oid)
    SELECT ARRAY[m.oid::regclass::text, m.relpersistence::text, m.relkind::text]
    FROM family JOIN pg_class m ON m.oid = family.oid
    WHERE (m.relpersistence <> 'p' AND m.relkind <> 'p') OR m.relkind = 'f'
    ORDER BY m.oid <> c.oid, 1 LIMIT 1)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = coalesce(%s, current_schema()) AND c.relname = %s
"""

_NAMES = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = coalesce(%s, current_schema()) AND c.relkind IN ('r', 'p')
AND NOT c.relispartition
"""

_NOT_LASTING = """
WITH RECURSIVE family(oid) AS (
    SELECT c.oid
    FROM unnest(%s::text[], %s::text[]) AS named(schema, name)
    JOIN pg_namespace n ON n.nspname = coalesce(named.schema, current_schema())
    JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = named.name
    UNION SELECT i.inhrelid FROM pg_inherits i JOIN family ON i.inhparent = family.oid)
SELECT m.oid::regclass::text, m.relpersistence, m.relkind
FROM family JOIN pg_class m ON m.oid = family.oid
WHERE (m.relpersistence <> 'p' AND m.relkind <> 'p') OR m.relkind = 'f'
ORDER BY 1 LIMIT 1
"""

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atthasdef,
       a.attgenerated <> '', a.attidentity, co.collname, coalesce(co.collisdeterministic, true),
       ARRAY(SELECT enumlabel FROM pg_enum WHERE enumtypid = a.atttypid ORDER BY enumsortorder)
FROM pg_attribute a LEFT JOIN pg_collation co ON co.oid = a.attcollation
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

# An exclusion constraint can clash, too.
_KEYS = """
SELECT i.relname, x.indisprimary,
       x.indisunique AND x.indisvalid AND x.indpred IS NULL AND x.indexprs IS NULL,
       NOT x.indimmediate,
       ARRAY(SELECT a.attname
             FROM unnest(x.indkey) WITH ORDINALITY k(attnum, nth)
             JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum
             WHERE k.nth <= x.indnkeyatts ORDER BY k.nth),
       EXISTS (SELECT 1 FROM unnest(x.indcollation) o JOIN pg_collation co ON co.oid = o
               WHERE NOT co.collisdeterministic)
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
WHERE x.indrelid = %s AND (x.indisunique OR x.indisexclusion)
ORDER BY NOT x.indisprimary, i.relname
"""

# Only NO ACTION waits for the end of a transaction; all other actions are immediate.
_FOREIGN_KEYS = """
SELECT k.conname, k.conrelid::regclass::text, k.condeferrable,
       pg_get_constraintdef(k.oid), k.confdeltype <> 'a' OR k.confupdtype <> 'a'
FROM pg_constraint k
WHERE k.contype = 'f' AND (k.conrelid = %s OR k.confrelid = %s) AND k.conparentid = 0
  AND (NOT k.condeferrable OR k.confdeltype <> 'a' OR k.confupdtype <> 'a')
ORDER BY k.conname
"""

_UNCHECKED = """
SELECT 1 FROM pg_constraint
WHERE contype = 'f' AND NOT convalidated AND (conrelid = %s OR confrelid = %s) LIMIT 1
"""

_REFERENCES = """
SELECT k.conname, n.nspname, p.relname,
       ARRAY(SELECT attname FROM unnest(k.conkey) WITH ORDINALITY u(number, nth)
             JOIN pg_attribute ON attrelid = k.conrelid AND attnum = number ORDER BY nth),
       ARRAY(SELECT attname FROM unnest(k.confkey) WITH ORDINALITY u(number, nth)
             JOIN pg_attribute ON attrelid = k.confrelid AND attnum = number ORDER BY nth)
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_class p ON p.oid = k.confrelid JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE k.contype = 'f' AND cn.nspname = coalesce(%s, current_schema()) AND c.relname = %s
ORDER BY k.conname
"""

_REFERRING = """
SELECT cn.nspname, c.relname, k.conname
FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_class p ON p.oid = k.confrelid JOIN pg_namespace n ON n.oid = p.relnamespace
WHERE k.contype = 'f' AND k.conrelid <> k.confrelid
  AND n.nspname = coalesce(%s, current_schema()) AND p.relname = %s
ORDER BY 1, 2, 3
"""

# A partition may have its own triggers.
_TRIGGERS = """
WITH RECURSIVE family(oid) AS (
    SELECT %s::oid
    UNION SELECT i.inhrelid FROM pg_inherits i JOIN family ON i.inhparent = family.oid)
SELECT DISTINCT tgname, tgtype & 1 = 1 FROM pg_trigger JOIN family ON tgrelid = family.oid
WHERE NOT tgisinternal AND tgenabled <> 'D'
ORDER BY 1
"""

# Unique keys as DELETE needs them: the expressions of an index, and its condition.
_CLASHING = """
SELECT ARRAY(SELECT pg_get_indexdef(x.indexrelid, nth, true)
             FROM generate_series(1, x.indnkeyatts) nth ORDER BY nth),
       ARRAY(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = x.indrelid
             AND (a.attnum = ANY (x.indkey) OR EXISTS (
                  SELECT 1 FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = x.indexrelid
                    AND d.refclassid = 'pg_class'::regclass AND d.refobjid = x.indrelid
                    AND d.refobjsubid = a.attnum))),
       x.indpred IS NULL AND x.indexprs IS NULL,
       pg_get_expr(x.indpred, x.indrelid),
       coalesce((to_jsonb(x) ->> 'indnullsnotdistinct')::boolean, false)
FROM pg_index x
WHERE x.indrelid = %s::regclass AND x.indisunique
"""

_ACTION = re.compile(r" ON (DELETE|UPDATE) (CASCADE|RESTRICT|SET (NULL|DEFAULT)( \([^)]*\))?)")


def tables_of(query: Query, schema: str | None) -> list[str]:
    """The names of the schema's tables, without partitions."""
    return [str(name) for (name,) in query(_NAMES, schema)]


def describe(
    query: Query, schema: str | None, table: str, replica_allowed: bool
) -> TargetTable | None:
    tables = query(_TABLE, schema, table)
    if not tables:
        return None
    oid, forgetful = tables[0]
    kinds.refuse(query, oid)
    if forgetful is not None:
        raise Stop(_cure(*forgetful))
    triggers = query(_TRIGGERS, oid)
    strict = tuple(
        (name, _help(name, child, deferrable, definition, acts))
        for name, child, deferrable, definition, acts in query(_FOREIGN_KEYS, oid, oid)
    )
    if replica_allowed and not triggers:
        strict = ()
    merging: set[str] = set()
    keys = []
    for name, primary, plain, deferrable, columns, coarse in query(_KEYS, oid):
        keys.append(UniqueKey(name, tuple(columns), primary, plain, deferrable))
        merging.update(columns if coarse else ())
    columns_ = tuple(
        TargetColumn(
            name=name,
            type=type_,
            nullable=not not_null,
            has_default=has_default or identity == "d",
            generated=generated,
            identity_always=identity == "a",
            collation=None
            if collation is None
            else collation + ("" if deterministic and name not in merging else NONDETERMINISTIC),
            elements=tuple(labels),
        )
        for (
            name,
            type_,
            not_null,
            has_default,
            generated,
            identity,
            collation,
            deterministic,
            labels,
        ) in query(_COLUMNS, oid)
    )
    rows = tuple(name for name, each_row in triggers if each_row)
    return TargetTable(schema, table, columns_, tuple(keys), strict, rows)


def require_lasting(query: Query, tables: Sequence[TargetName]) -> None:
    """Raises `Stop` if one of these tables may lose committed data."""
    schemas, names = [schema for schema, _ in tables], [name for _, name in tables]
    for row in query(_NOT_LASTING, schemas, names):
        raise Stop(_cure(*row))


def _cure(relation: str, persistence: str, kind: str) -> str:
    """The reason why a table may lose committed data, and the remedy."""
    if kind == "f":
        return kinds.REFUSED["foreign table"].problem.format(table=relation)
    if persistence == "t":
        return f"{relation} is a temporary table, which ends with its session"
    return (
        f"{relation} is UNLOGGED: a crash of the server empties it, and R would stay; "
        f"ALTER TABLE {relation} SET LOGGED helps"
    )


def references(query: Query, schema: str | None, table: str) -> tuple[Reference, ...]:
    return tuple(
        Reference(name, tuple(columns), parent_schema, parent, tuple(parent_columns))
        for name, parent_schema, parent, columns, parent_columns in query(
            _REFERENCES, schema, table
        )
    )


def referring(query: Query, schema: str | None, table: str) -> list[tuple[str, str, str]]:
    """The foreign keys of other tables that refer to this one: schema, table and name."""
    return [
        (child_schema, child, name)
        for child_schema, child, name in query(_REFERRING, schema, table)
    ]


def own_rows(query: Query, relation: str) -> str:
    """The relation as named in a statement on its own rows: excludes rows of tables that have
    meanwhile become its children, includes rows of its partitions."""
    (partitioned,) = query("SELECT relkind = 'p' FROM pg_class WHERE oid = %s::regclass", relation)[
        0
    ]
    return relation if partitioned else f"ONLY {relation}"


def strict_without_triggers(query: Query, relation: str) -> bool:
    """Returns whether the table is written with `session_replication_role = replica`. That switches
    off foreign keys that cannot be deferred and those NOT VALID, whose violating rows may be
    written again; but it would also switch off a user's triggers."""
    oid = query("SELECT %s::regclass::oid", relation)[0][0]
    off = query(_FOREIGN_KEYS, oid, oid) or query(_UNCHECKED, oid, oid)
    return bool(off) and not query(_TRIGGERS, oid)


def _help(name: str, child: str, deferrable: bool, definition: str, acts: bool) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    if not acts:
        return f"ALTER TABLE {child} ALTER CONSTRAINT {quoted} DEFERRABLE"
    rest = _ACTION.sub("", definition) + ("" if deferrable else " DEFERRABLE")
    return f"ALTER TABLE {child} DROP CONSTRAINT {quoted}, ADD CONSTRAINT {quoted} {rest}"


def clashing(
    query: Query, relation: str, stage: str, fold: set[str], written: set[str]
) -> list[str]:
    """Conditions for rows of `relation` that hold a unique value of a row in `stage`: one for every
    unique key besides the fold key whose columns are all `written`.

    Unqualified names mean the stage's columns inside the sub-select, and the table's outside.
    """
    conditions = []
    for expressions, columns, plain, predicate, nulls_clash in query(_CLASHING, relation):
        if not set(columns) <= written or (plain and fold and fold <= set(columns)):
            continue
        key = ", ".join(f"({expression})" for expression in expressions)
        where = f" WHERE {predicate}" if predicate else ""
        outside = f" AND ({predicate})" if predicate else ""
        if nulls_clash:
            # As a row's text: NULLs in it are equal.
            key = f"ROW({key})::text"
        conditions.append(f"({key}) IN (SELECT {key} FROM {stage}{where}){outside}")  # noqa: S608
    return conditions


def equal_rows(relation: str, stage: str, columns: Sequence[str]) -> str:
    """The condition for as many rows as the stage has equal ones. Rows are compared as text: there
    NULLs are equal, letters equal only themselves in every collation, and a hash is possible."""
    text = f'ROW({", ".join(columns)})::text COLLATE "C"'
    numbered = "row_number() OVER (PARTITION BY row_text) AS nth"
    return f"""(tableoid, ctid) IN (
  SELECT existing.part, existing.number
  FROM (SELECT part, number, row_text, {numbered}
        FROM (SELECT tableoid AS part, ctid AS number, {text} AS row_text FROM {relation}) AS rows
        WHERE row_text IN (SELECT {text} FROM {stage})) AS existing
  JOIN (SELECT row_text, {numbered}
        FROM (SELECT {text} AS row_text FROM {stage}) AS rows) AS deleted
  USING (row_text, nth))"""  # noqa: S608
