"""Relations of the MySQL family that are not ordinary tables, and the refused ones among them.

Partitioned tables, tables with invisible columns, system-versioned tables of MariaDB and cached
tables of TiDB are written like ordinary tables. A DDL of the last two stops: the servers refuse it.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.mysql.dialects import MARIADB, TIDB, Dialect


class Relation(NamedTuple):
    """A row of the catalog; `transactions` and `two_phases` are properties of its engine."""

    name: str
    quoted: str
    kind: str
    engine: str | None
    transactions: str | None
    two_phases: str | None


class MySqlKind(NamedTuple):
    """A refused kind. `applies` tests a relation; `problem` takes the relation's fields."""

    applies: Callable[[Relation], bool]
    problem: str


class DefinedKind(NamedTuple):
    """A kind of one server that only SHOW CREATE TABLE shows: its text matches `pattern`."""

    dialect: str
    pattern: re.Pattern[str]
    problem: str


REFUSED = {
    "view or sequence": MySqlKind(
        lambda relation: (
            relation.engine is None or relation.kind not in ("BASE TABLE", "SYSTEM VERSIONED")
        ),
        "{name} in the target is not a table but a {kind}",
    ),
    "engine without transactions": MySqlKind(
        lambda relation: relation.transactions != "YES",
        "{name}: the target's engine {engine} has no transactions; "
        "ALTER TABLE {quoted} ENGINE=InnoDB helps",
    ),
    "engine that commits alone": MySqlKind(
        lambda relation: relation.two_phases != "YES",
        "{name}: the target's engine {engine} does not commit together with other engines; create "
        "the table with ENGINE=InnoDB",
    ),
}
BY_DEFINITION = {
    "key without overlaps": DefinedKind(
        MARIADB.name,
        re.compile(r"^  (?:PRIMARY|UNIQUE) KEY .* WITHOUT OVERLAPS\)", re.MULTILINE),
        "{name} has a key WITHOUT OVERLAPS, by which upstream's rows could be in each other's way; "
        "make it a key of columns alone",
    ),
    "temporary table": DefinedKind(
        TIDB.name,
        re.compile(r"CREATE GLOBAL TEMPORARY "),
        "{name} is a temporary table, whose rows do not outlive their transaction; create it "
        "without GLOBAL TEMPORARY",
    ),
    "table with a TTL": DefinedKind(
        TIDB.name,
        re.compile(r"/\*T!\[ttl\] TTL_ENABLE='ON' \*/"),
        "{name} has a TTL, by which the target would delete rows itself; "
        "ALTER TABLE {quoted} TTL_ENABLE = 'OFF' helps; upstream's deletes come as rows",
    ),
}


def refuse(relation: Relation, dialect: Dialect, definition: Callable[[], str]) -> None:
    """Raises `Stop` for a relation that cannot be written exactly; `definition` reads the text of
    SHOW CREATE TABLE."""
    for kind in REFUSED.values():
        if kind.applies(relation):
            in_words = relation._replace(kind=relation.kind.lower())
            raise Stop(kind.problem.format_map(in_words._asdict()))
    defined = [each for each in BY_DEFINITION.values() if each.dialect == dialect.name]
    if not defined:
        return
    text = definition()
    for each in defined:
        if each.pattern.search(text):
            raise Stop(each.problem.format_map(relation._asdict()))
