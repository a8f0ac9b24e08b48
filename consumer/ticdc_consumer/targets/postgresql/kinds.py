"""Relations of PostgreSQL that are not ordinary tables, and the refused ones among them.

A partitioned table, a child of another table by INHERITS, a typed table, and one whose row level
security does not concern this user are written like ordinary tables.
"""

from typing import NamedTuple

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.target import Query


class PostgreSqlKind(NamedTuple):
    """A refused kind. `expression`, over `pg_class c`, is NULL for other relations, else the text
    that `problem` takes as {0}; {table} is the relation."""

    expression: str
    problem: str


def _relkind(letters: str, problem: str) -> PostgreSqlKind:
    return PostgreSqlKind(f"CASE WHEN c.relkind IN ({letters}) THEN '' END", problem)


_WRITES = "an ordinary or a partitioned table"

REFUSED = {
    "view": _relkind("'v'", f"{{table}} is a view, and not {_WRITES}"),
    "materialized view": _relkind("'m'", f"{{table}} is a materialized view, and not {_WRITES}"),
    "sequence": _relkind("'S'", f"{{table}} is a sequence, and not {_WRITES}"),
    "foreign table": _relkind(
        "'f'", "{table} is a foreign table, whose rows are not part of a transaction here"
    ),
    "index or type": _relkind(
        "'i', 'I', 'c', 't'", f"{{table}} is an index or a type, and not {_WRITES}"
    ),
    "parent by INHERITS": PostgreSqlKind(
        """(SELECT string_agg(i.inhrelid::regclass::text, ', ' ORDER BY i.inhrelid)
            FROM pg_inherits i WHERE i.inhparent = c.oid AND c.relkind = 'r')""",
        "{table} has child tables by INHERITS, whose rows would count as its own: {0}; "
        "ALTER TABLE ... NO INHERIT {table} separates a child",
    ),
    "partition": PostgreSqlKind(
        """(SELECT i.inhparent::regclass::text FROM pg_inherits i
            WHERE i.inhrelid = c.oid AND c.relispartition)""",
        "{table} is a partition of {0}, whose statements would reach its rows; "
        "ALTER TABLE {0} DETACH PARTITION {table} separates it",
    ),
    "rule": PostgreSqlKind(
        """(SELECT min(quote_ident(rulename)) FROM pg_rewrite
            WHERE ev_class = c.oid AND rulename <> '_RETURN' AND ev_enabled <> 'D')""",
        "{table} has rule {0}, which changes some statements and is ignored by COPY; "
        "DROP RULE {0} ON {table} helps, and a trigger can do the same work",
    ),
    "row level security": PostgreSqlKind(
        "CASE WHEN row_security_active(c.oid) THEN quote_ident(current_user) END",
        "{table} has row level security, which hides rows from user {0}; "
        "ALTER ROLE {0} BYPASSRLS helps",
    ),
}
"""The refused relations with their messages. `catalog` refuses unlogged and temporary tables, and
partitions that are foreign tables: it checks whole families."""

_QUERY = f"""
SELECT c.oid::regclass::text, {", ".join(kind.expression for kind in REFUSED.values())}
FROM pg_class c WHERE c.oid = %s
"""  # noqa: S608


def refuse(query: Query, oid: int) -> None:
    """Raises `Stop` for a relation that cannot be written exactly."""
    ((table, *texts),) = query(_QUERY, oid)
    for kind, text in zip(REFUSED.values(), texts, strict=True):
        if text is not None:
            raise Stop(kind.problem.format(text, table=table))
