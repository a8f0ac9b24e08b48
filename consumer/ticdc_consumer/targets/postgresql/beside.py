"""A PostgreSQL table that is filled next to the one in use and then replaces it."""

from collections.abc import Sequence

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.postgresql.quoting import quote_name
from ticdc_consumer.targets.target import Target

# Objects that belong to a table itself, not to its name.
_HINDRANCES = """
SELECT 'foreign key ' || conname FROM pg_constraint
WHERE contype = 'f' AND %(t)s::regclass IN (conrelid, confrelid)
UNION ALL
SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgrelid = %(t)s::regclass AND NOT tgisinternal
UNION ALL
SELECT 'rule ' || rulename FROM pg_rewrite WHERE ev_class = %(t)s::regclass
UNION ALL
SELECT DISTINCT 'view ' || r.ev_class::regclass FROM pg_depend d
JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
WHERE d.refobjid = %(t)s::regclass AND r.ev_class <> %(t)s::regclass
UNION ALL
SELECT 'child or parent ' || m.oid::regclass FROM pg_inherits i
JOIN pg_class m ON m.oid IN (inhrelid, inhparent) AND m.oid <> %(t)s::regclass
WHERE %(t)s::regclass IN (inhrelid, inhparent)
UNION ALL
SELECT 'policy ' || polname FROM pg_policy WHERE polrelid = %(t)s::regclass
UNION ALL
SELECT 'publication ' || pubname FROM pg_publication_rel r
JOIN pg_publication p ON p.oid = r.prpubid WHERE r.prrelid = %(t)s::regclass
UNION ALL
SELECT 'sequence ' || s.oid::regclass FROM pg_depend d
JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S' AND d.classid = 'pg_class'::regclass
WHERE d.refobjid = %(t)s::regclass AND d.deptype = 'a'
UNION ALL
SELECT 'privilege on column ' || attname FROM pg_attribute
WHERE attrelid = %(t)s::regclass AND attacl IS NOT NULL
"""

_GRANTS = """
SELECT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
       a.privilege_type, a.is_grantable
FROM pg_class c, aclexplode(c.relacl) a
WHERE c.oid = %s::regclass AND a.grantee <> c.relowner
"""

_OWNER = """
SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class
WHERE oid = %s::regclass AND pg_get_userbyid(relowner) <> current_user
"""

# Equal except for their names; among several equal ones the pairing does not matter.
_INDEXES = """
WITH all_indexes AS (
    SELECT x.indrelid, i.relname, x.indisprimary, x.indimmediate,
           regexp_replace(pg_get_indexdef(x.indexrelid), '^(CREATE (UNIQUE )?INDEX ).*?( USING )',
                          '\\1\\3') AS definition
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
    WHERE x.indrelid IN (%s::regclass, %s::regclass)),
numbered AS (
    SELECT *, row_number() OVER (
        PARTITION BY indrelid, indisprimary, indimmediate, definition ORDER BY relname) AS nth
    FROM all_indexes)
SELECT own.relname, copy.relname
FROM (SELECT * FROM numbered WHERE indrelid = %s::regclass) own
FULL JOIN (SELECT * FROM numbered WHERE indrelid = %s::regclass) copy
USING (indisprimary, indimmediate, definition, nth)
"""


def copy_structure(target: Target, table: TargetName, copy: TargetName) -> list[str]:
    """Creates the copy without foreign keys, triggers and privileges."""
    return [
        f"CREATE TABLE IF NOT EXISTS {target.quote(*copy)} "
        f"(LIKE {target.quote(*table)} INCLUDING ALL)"
    ]


def hindrances(target: Target, table: TargetName) -> list[str]:
    """Objects such as views and foreign keys that follow the table, whatever its name."""
    with target.errors():
        rows = target.execute(_HINDRANCES, {"t": target.quote(*table)})
        return sorted(str(hindrance) for (hindrance,) in map(tuple, rows))


def replace_tables(target: Target, moves: Sequence[tuple[TargetName, TargetName]]) -> list[str]:
    """Replaces tables by their copies; keeps owner, privileges and names of indexes."""
    return [statement for move in moves for statement in _replace(target, *move)]


def _replace(target: Target, table: TargetName, copy: TargetName) -> list[str]:
    relation, new = target.quote(*table), target.quote(*copy)
    statements = []
    for grantee, privilege, grantable in target.query(_GRANTS, relation):
        option = " WITH GRANT OPTION" if grantable else ""
        statements.append(f"GRANT {privilege} ON TABLE {new} TO {grantee}{option}")
    for (owner,) in target.query(_OWNER, relation):
        statements.append(f"ALTER TABLE {new} OWNER TO {owner}")
    renames = []
    for own, copied in target.query(_INDEXES, relation, new, relation, new):
        if own is None or copied is None:
            raise Stop(
                f"index {own or copied} of {relation} was added or dropped meanwhile: undo that"
            )
        index = target.quote(copy[0], copied)
        renames.append(f"ALTER INDEX {index} RENAME TO {quote_name(own)}")
    moves = [f"DROP TABLE {relation}", f"ALTER TABLE {new} RENAME TO {quote_name(table[1])}"]
    return [*statements, *moves, *renames]
