"""The GRANT that remedies a missing privilege (42501).

Only the server's text names the object of the privilege, and it is parsed only in English: in
another language it is shown without a GRANT.
"""

import re

import psycopg
import sqlalchemy as sa

from ticdc_consumer.targets.postgresql.quoting import quote_name
from ticdc_consumer.targets.target import original

_DENIED = re.compile(r"permission denied for (\w[\w ]*?) (\S.*)", re.S)
_NOT_OWNER = re.compile(r"must be owner of (\w[\w ]*?) (\S.*)", re.S)
_SIGNALS = "pg_terminate_backend"
"""The server's own function, whatever its language."""
_QUALIFIED = re.compile(r'"(?:[^"]|"")+"\."(?:[^"]|"")+"')
_ON = {
    "schema": "USAGE, CREATE ON SCHEMA",
    "database": "CREATE ON DATABASE",
    "sequence": "USAGE, SELECT, UPDATE ON SEQUENCE",
}
_RELATIONS = frozenset({"table", "view", "relation"})
_ROWS = "SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON"


def remedy(message: str, user: str, relation: str | None, error: BaseException) -> str:
    """The statement that gives `user` the privilege; "" if the server's message does not name it.
    `relation` is the quoted table that the statement concerned."""
    role, driver = quote_name(user), original(error)
    if relation is None and isinstance(error, sa.exc.StatementError):
        named = _QUALIFIED.search(str(error.statement or ""))
        relation = named[0] if named else None
    if match := _NOT_OWNER.fullmatch(message):
        kind, name = match.groups()
        known = relation if kind in _RELATIONS and relation else quote_name(name)
        return f"ALTER {'TABLE' if kind == 'relation' else kind.upper()} {known} OWNER TO {role}"
    if isinstance(driver, psycopg.Error) and driver.diag.source_function == _SIGNALS:
        return f"GRANT pg_signal_backend TO {role}"
    if match := _DENIED.fullmatch(message):
        kind, name = match.groups()
        if kind in _RELATIONS:
            return f"GRANT {_ROWS} {relation or quote_name(name)} TO {role}"
        if kind in _ON:
            return f"GRANT {_ON[kind]} {quote_name(name)} TO {role}"
    return ""
