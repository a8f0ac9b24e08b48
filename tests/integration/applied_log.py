"""Row triggers on a shop's tables that append (table, key, operation, R) to a log."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import sqlalchemy as sa
from support.torture_upstream import Step
from ticdc_encoder.testing.shop import TABLES

OPERATIONS = {"INSERT": ("I", "NEW"), "UPDATE": ("U", "NEW"), "DELETE": ("D", "OLD")}

_SQLITE = """CREATE TRIGGER {name} AFTER {operation} ON {table} BEGIN
INSERT INTO applied (tbl, k, op, r) SELECT '{source}', {key}, '{letter}', resolved_ts
FROM ticdc_checkpoint; END"""
_MYSQL = """CREATE TRIGGER {name} AFTER {operation} ON {table} FOR EACH ROW
INSERT INTO applied (tbl, k, op, r) SELECT '{source}', {key}, '{letter}', resolved_ts
FROM ticdc_checkpoint"""
_POSTGRESQL = """CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO public.applied (tbl, k, op, r) SELECT '{source}', {key}, '{letter}', resolved_ts
FROM public.ticdc_checkpoint; RETURN NULL; END $$;
CREATE TRIGGER {name} AFTER {operation} ON {table} FOR EACH ROW EXECUTE FUNCTION {name}()"""
_TRIGGERS = {
    "sqlite": (_SQLITE, "n INTEGER PRIMARY KEY AUTOINCREMENT, tbl TEXT, k TEXT, op TEXT, r TEXT"),
    "postgresql": (_POSTGRESQL, "n bigserial PRIMARY KEY, tbl text, k text, op text, r numeric"),
    "mysql": (
        _MYSQL,
        "n BIGINT AUTO_INCREMENT PRIMARY KEY, tbl VARCHAR(20), k VARCHAR(40), op CHAR(1), "
        "r BIGINT UNSIGNED",
    ),
}
_TRIGGERS["mariadb"] = _TRIGGERS["mysql"]


def create(engine: sa.Engine, tables: Mapping[str, sa.TableClause]) -> None:
    """The log and its triggers; the tables must be there."""
    dialect = engine.dialect
    trigger, columns = _TRIGGERS[dialect.name]
    quote = dialect.identifier_preparer.quote_identifier
    with engine.connect().execution_options(no_parameters=True) as connection:
        connection.exec_driver_sql(f"CREATE TABLE applied ({columns})")
        for source, table in tables.items():
            for operation, (letter, row) in OPERATIONS.items():
                keys = [f"{row}.{quote(name)}" for name in TABLES[source].handle_key]
                statement = trigger.format(
                    name=f"log_{source}_{operation.lower()}",
                    operation=operation,
                    table=dialect.identifier_preparer.format_table(table),
                    source=source,
                    key=_joined(dialect.name, keys),
                    letter=letter,
                )
                connection.exec_driver_sql(statement)


def _joined(dialect: str, keys: Sequence[str]) -> str:
    if dialect in ("mysql", "mariadb"):
        return f"concat_ws('/', {', '.join(keys)})"
    return " || '/' || ".join(f"CAST({key} AS TEXT)" for key in keys)


def differences(engine: sa.Engine, steps: Mapping[int, Sequence[Step]]) -> list[str]:
    """Where the log is not what the commits must have done, each once and in order: the first few.

    The R that a trigger sees is where the commit before left it: after that, at most at its own.
    """
    commits = list(steps)
    done: dict[int, list[Step]] = {commit_ts: [] for commit_ts in commits}
    wrong: list[str] = []
    last = 0
    with engine.connect() as connection:
        for table, key, operation, r in connection.exec_driver_sql(
            "SELECT tbl, k, op, r FROM applied ORDER BY n"
        ):
            place = bisect_left(commits, int(r))
            if place == len(commits):
                wrong.append(f"{operation} of {table} {key} at R = {r}, after the last commit")
                continue
            commit_ts = commits[place]
            if commit_ts < last:
                wrong.append(f"{operation} of {table} {key} for {commit_ts}, after {last}")
            last = commit_ts
            done[commit_ts].append((table, key, operation))
    for commit_ts, expected in steps.items():
        found = done[commit_ts]
        if sorted(found) != sorted(expected):
            wrong.append(f"commit {commit_ts}: expected {expected}, found {found}")
        letters = "".join(operation for _, _, operation in found)
        if "D" in letters.lstrip("D"):
            wrong.append(f"commit {commit_ts}: a delete after a row: {letters}")
    return wrong[:5]
