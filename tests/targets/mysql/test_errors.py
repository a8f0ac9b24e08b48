"""The server's errors, as this project tells them."""

import pytest
import sqlalchemy as sa
from pymysql import err  # type: ignore[import-untyped]
from ticdc_consumer.errors import Denied, Full, KeyTaken, Locked, ReadOnly, Retry, Stop, Unavailable
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.mysql.errors import column, lost, translate
from ticdc_consumer.targets.mysql.privileges import Account

LAYOUT = Layout("mysql", "shop", "item", "`shop`.`item`", (), (), (), (), upsert=True)

ERRORS = [
    (1213, "Deadlock found when trying to get lock", Retry, "shop.item: deadlock (error 1213)"),
    (1205, "Lock wait timeout", Locked, "shop.item: waited too long for a lock (error 1205)"),
    (9007, "Write conflict", Retry, "shop.item: a conflict with another transaction (error 9007)"),
    (2006, "MySQL server has gone away", Retry, "the connection to the target was lost"),
    (2013, "Lost connection", Retry, "the connection to the target was lost"),
    (1317, "Query execution was interrupted", Retry, "the connection to the target was lost"),
    (
        1290,
        "The MySQL server is running with the --read-only option",
        ReadOnly,
        "the target refuses: The MySQL server is running with the --read-only option (error 1290)",
    ),
    (
        1290,
        "The MySQL server is running with the --skip-grant-tables option",
        Unavailable,
        "the target refuses: The MySQL server is running with the --skip-grant-tables option "
        "(error 1290)",
    ),
    (
        1142,
        "INSERT command denied to user 'a'@'b' for table 'c'",
        Denied,
        "shop.item: a privilege is missing: INSERT command denied to user 'a'@'b' for table 'c' "
        "(error 1142); run GRANT SELECT, INSERT, UPDATE, DELETE ON `shop`.* TO 'a'@'%', then "
        "start again",
    ),
    (
        1062,
        "Duplicate entry '1-x' for key 'item.uk'",
        KeyTaken,
        "shop.item: another row of the target has the same value of the unique key item.uk",
    ),
    (
        1366,
        "Incorrect integer value: 'for column 'x' at row 7' for column 'n' at row 1",
        Stop,
        "shop.item.n: a value that is not of the column's type (error 1366); alter it in the "
        "target so that it holds every value of the upstream's column, then start again",
    ),
    (
        1366,
        "Incorrect string value: '\\xFF' for column `shop`.`item`.`a``b` at row 1",
        Stop,
        "shop.item.a`b: a value that is not of the column's type (error 1366); alter it in the "
        "target so that it holds every value of the upstream's column, then start again",
    ),
    (
        1364,
        "Field 'n' doesn't have a default value",
        Stop,
        "shop.item.n: no value for a column without default (error 1364); alter it in the target "
        "so that it holds every value of the upstream's column, then start again",
    ),
    (
        3140,
        "Invalid JSON text: \"Invalid value.\" at position 1 in value for column 'item.j'.",
        Stop,
        "shop.item.j: a value that is not JSON (error 3140); alter it in the target so that it "
        "holds every value of the upstream's column, then start again",
    ),
    (
        1153,
        "Got a packet bigger than 'max_allowed_packet' bytes",
        Stop,
        "shop.item: a statement is larger than the target's max_allowed_packet",
    ),
    (
        3819,
        "Check constraint 'positive' is violated.",
        Stop,
        "shop.item: the target refuses: Check constraint ... (error 3819)",
    ),
    (
        1064,
        "You have an error in your SQL syntax near 'secret",
        Stop,
        "shop.item: the target refuses: You have an error in your SQL syntax near ... (error 1064)",
    ),
]


OR_SMALLER = (
    ", or lower [limits] rows_per_epoch (a cut has at least the rows between two resolved ts), "
    'or set [target] apply = "transactions"'
)
LIMITS = [
    (8004, "Transaction is too large, size: 9", f"txn-total-size-limit: raise that{OR_SMALLER}"),
    (1197, "Multi-statement transaction", f"max_binlog_cache_size: raise that{OR_SMALLER}"),
    (8175, "Your query has been cancelled due to", f"by default): raise that{OR_SMALLER}"),
    (8176, "Your query has been cancelled due to", f"give it more memory{OR_SMALLER}"),
    (1105, "Out Of Memory Quota![conn=5]", f"by default): raise that{OR_SMALLER}"),
]


FULL = [
    (1114, "The table 'items' is full"),
    (1021, "Disk full (./x); waiting for someone to free some space..."),
    (1026, "Error writing file './x' (Errcode: 28 \"No space left on device\")"),
    (1030, "Got error 28 from storage engine"),
    (3675, "Create table/tablespace 'items' failed, as disk is full"),
]


@pytest.mark.parametrize(("code", "text"), FULL)
def test_a_full_disk_is_told_with_what_to_do(code: int, text: str) -> None:
    error = translate(err.OperationalError(code, text), LAYOUT)
    assert type(error) is Full
    assert str(error) == (
        "shop.item: the target has no room left on its disk, or in a file that may not grow: make "
        "room there, then start again; nothing of the cut was applied "
        f"({text}, error {code})"
    )


@pytest.mark.parametrize(
    ("code", "text"),
    [(1026, "Error writing file 'x' (Errcode: 13)"), (1030, "Got error 168 from storage engine")],
)
def test_what_else_a_server_cannot_write_is_no_full_disk(code: int, text: str) -> None:
    assert "no room" not in str(translate(err.OperationalError(code, text), LAYOUT))


@pytest.mark.parametrize(("code", "text", "advice"), LIMITS)
def test_a_limit_of_tidb_is_told_with_what_to_change(code: int, text: str, advice: str) -> None:
    error = translate(err.OperationalError(code, text), LAYOUT)
    assert type(error) is Stop
    assert str(error).startswith("shop.item: ")
    assert str(error).endswith(f"{advice} (error {8175 if code == 1105 else code})")


USER = " command denied to user 'a'@'localhost' for table "
GRANTS = [
    # MariaDB's texts have the database, MySQL's and TiDB's have not.
    (1142, f"CREATE{USER}`s`.`n`", "CREATE TABLE `s`.`n` (a int)", "CREATE ON `s`.*"),
    (1142, f"CREATE{USER}'n'", "CREATE TABLE ticdc_state (a int)", "CREATE ON `my\\_db`.*"),
    (1142, f"DROP, ALTER{USER}'t'", "RENAME TABLE `a%b`.`t` TO", r"DROP, ALTER ON `a\%b`.*"),
    (1142, f"CREATE VIEW{USER}'v'", "CREATE VIEW `a``b`.`v` AS", "CREATE VIEW ON `a``b`.*"),
    (
        1142,
        f"SHOW{USER}'v'",
        "SHOW COLUMNS FROM `s`.`t`",
        "SELECT, INSERT, UPDATE, DELETE ON `s`.*",
    ),
    (
        8121,
        "privilege check for 'Update' fail",
        "`s`.`t`",
        "SELECT, INSERT, UPDATE, DELETE ON `s`.*",
    ),
    (
        1044,
        "Access denied for user 'a'@'%' to database 'n'",
        "CREATE DATABASE `n`",
        "CREATE ON `n`.*",
    ),
    (1044, "Access denied for user 'a'@'%' to database 'n'", "drop database `n`", "DROP ON `n`.*"),
    (1044, "Access denied for user 'a'@'%' to database 'n'", "", "ALL PRIVILEGES ON `n`.*"),
    (
        1227,
        "Access denied; you need (at least one of) the SUPER or BINLOG_ADMIN privilege(s) for this"
        " operation",
        "SET",
        "BINLOG_ADMIN ON *.*",
    ),
    (
        1227,
        "Access denied; you need (at least one of) the SUPER, CONNECTION ADMIN privilege(s) for "
        "this operation",
        "SET",
        "CONNECTION ADMIN ON *.*",
    ),
    (1370, "execute command denied to user 'a'@'%' for routine 's.f'", "", "EXECUTE ON `s`.*"),
    (1095, "You are not owner of thread 7", "KILL 7", "CONNECTION_ADMIN ON *.*"),
]


@pytest.mark.parametrize(("code", "text", "statement", "grant"), GRANTS)
def test_a_privilege_that_is_missing_is_told_by_its_grant(
    code: int, text: str, statement: str, grant: str
) -> None:
    wrapped = sa.exc.OperationalError(statement, (), err.OperationalError(code, text))
    error = translate(wrapped, None, Account("o'a@%", "my_db"))
    assert type(error) is Denied
    assert str(error).endswith(f"; run GRANT {grant} TO 'o''a'@'%', then start again")


@pytest.mark.parametrize(("code", "text", "kind", "expected"), ERRORS)
def test_an_error_is_reported_without_a_rows_values(
    code: int, text: str, kind: type[Exception], expected: str
) -> None:
    error = translate(err.OperationalError(code, text), LAYOUT, Account("a@%", "db"))
    assert type(error) is kind
    assert str(error) == expected


def test_an_error_in_sqlalchemys_wrapping_is_the_same() -> None:
    wrapped = sa.exc.OperationalError("SELECT 1", (), err.OperationalError(1213, "Deadlock"))
    assert str(translate(wrapped)) == "deadlock (error 1213)"


GONE: list[Exception] = [
    err.InterfaceError(0, ""),
    err.InternalError("Packet sequence number wrong"),
    err.OperationalError(2055, "Lost connection"),
    sa.exc.PendingRollbackError("Can't reconnect"),
    sa.exc.ResourceClosedError("This Connection is closed"),
]


@pytest.mark.parametrize("error", GONE, ids=str)
def test_a_session_that_is_gone_is_recognised(error: Exception) -> None:
    assert lost(error)
    assert type(translate(error)) is Retry


@pytest.mark.parametrize("error", [ValueError("mine"), sa.exc.ArgumentError("theirs")], ids=str)
def test_what_the_database_did_not_raise_stays_as_it_is(error: Exception) -> None:
    assert not lost(error)
    assert translate(error) is error


def test_a_text_that_names_no_column_has_none() -> None:
    assert column("Something else went wrong") is None
