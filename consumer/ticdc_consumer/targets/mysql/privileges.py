"""The GRANT that remedies a missing privilege.

The texts are those of MySQL 8, MariaDB 10.11 and TiDB 8.4.
"""

import re
from dataclasses import dataclass

import sqlalchemy as sa

from ticdc_consumer.targets.mysql.quoting import string_literal

DENIED = frozenset({1044, 1095, 1142, 1143, 1227, 1370, 8121})
"""The error numbers of a missing privilege."""

_COMMAND = re.compile(r"([A-Za-z, ]+) command denied to user ", re.S)
_ROUTINE = re.compile(r".* for routine '(.+)\.[^.]+'", re.S)
_DATABASE = re.compile(r".* to database '(.*)'", re.S)
_GLOBAL = re.compile(r".*\(at least one of\) the ([A-Z_ ,or]+) privilege\(s\)", re.S)
_CHECK = re.compile(r"privilege check for '(\w+)' fail", re.S)
_QUALIFIER = re.compile(r"`((?:[^`]|``)+)`\.")
_VERB = re.compile(r"\s*(CREATE|DROP|ALTER|LOCK)\b", re.I)
_ROWS = "SELECT, INSERT, UPDATE, DELETE"
_KILL = {True: "CONNECTION ADMIN", False: "CONNECTION_ADMIN"}


@dataclass(frozen=True, slots=True)
class Account:
    """The user whose privileges a session has, `user@host`, and the database of its URL."""

    name: str
    database: str
    mariadb: bool = False

    def grant(self, code: int, text: str, statement: str = "") -> str:
        """The GRANT for an error of `DENIED`; `statement` is the refused statement, or the relation
        that it concerns."""
        return self._grant(*self._missing(code, text, statement))

    def grant_own_tables(self) -> str:
        """The GRANT for the consumer's own tables, which are in the database of the URL."""
        return self._grant(f"CREATE, ALTER, {_ROWS}", _everything_in(self.database))

    def _grant(self, what: str, where: str) -> str:
        user, _, host = self.name.rpartition("@")
        return f"GRANT {what} ON {where} TO {string_literal(user)}@{string_literal(host)}"

    def _missing(self, code: int, text: str, statement: str) -> tuple[str, str]:
        if code == 1095:  # to end another user's session
            return _KILL[self.mariadb], "*.*"
        if match := _GLOBAL.match(text):
            return re.split(", | or ", match[1])[-1], "*.*"
        if code == 1044 and (match := _DATABASE.fullmatch(text)):
            verb = _VERB.match(statement)
            lock = verb is not None and verb[1].upper() == "LOCK"
            what = "LOCK TABLES" if lock else verb[1].upper() if verb else "ALL PRIVILEGES"
            return what, _everything_in(match[1])
        if match := _ROUTINE.fullmatch(text):
            command = _COMMAND.match(text)
            return command[1].upper() if command else "EXECUTE", _everything_in(match[1])
        command = _COMMAND.match(text) or _CHECK.match(text)
        privileges = command[1].upper() if command else "ALL PRIVILEGES"
        if privileges.split(", ")[0] in (*_ROWS.split(", "), "ANY", "SHOW"):
            privileges = _ROWS
        qualifier = _QUALIFIER.search(statement)
        database = qualifier[1].replace("``", "`") if qualifier else self.database
        return privileges, _everything_in(database)


def _everything_in(database: str) -> str:
    """All tables of one database: `_` and `%` would be wildcards."""
    name = re.sub(r"([_%\\])", r"\\\1", database).replace("`", "``")
    return f"`{name}`.*"


def statement_of(error: BaseException) -> str:
    return str(error.statement or "") if isinstance(error, sa.exc.StatementError) else ""
