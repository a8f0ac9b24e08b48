"""PostgreSQL's errors, as this project tells them, whatever language the server speaks."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.pq import DiagnosticField as Field
from support.canonical_rows import Canonical, defined, laid_out, load
from ticdc_consumer.errors import (
    ALTER_IT,
    Away,
    Denied,
    Full,
    KeyTaken,
    Locked,
    ReadOnly,
    Retry,
    Stop,
    Unavailable,
    UserRefused,
)
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.postgresql.errors import lost, translate
from ticdc_consumer.targets.postgresql.session import PostgreSQL

LAYOUT = Layout(
    "postgresql", "shop", "item", '"shop"."item"', (), ('"id"', '"a b"'), (), (), upsert=True
)

# SQLSTATE, message, detail, context; what a server of that language says (postgres-15.mo).
ERRORS = [
    (
        "23505",
        "doppelter Schlüsselwert verletzt Unique-Constraint »item_a_key«",
        "Schlüssel »(a, b)=(1, x)« existiert bereits.",
        "",
        KeyTaken,
        "shop.item: another row of the target has the same value of the unique key",
    ),
    (
        "23505",
        '重複したキー値は一意性制約"item_a_key"違反となります',
        "キー (a)=(1) はすでに存在します。",
        "",
        KeyTaken,
        "shop.item: another row of the target has the same value of the unique key",
    ),
    (
        "23503",
        "une instruction insert ou update sur la table « c » viole la contrainte « fk »",
        "La clé (p)=(9) n'est pas présente dans la table « parent ».",
        "",
        Stop,
        "shop.item: une instruction insert ou update sur la table « c » viole la contrainte « fk » "
        "(23503): Key (p)=(9); an upstream with foreign_key_checks = 0 has such rows: drop that "
        "foreign key in the target, then start again; a DDL that would add it is done without it",
    ),
    (
        "23P01",
        "конфликтующее значение ключа нарушает ограничение-исключение",
        "Ключ (a)=(1) конфликтует с существующим ключом (a)=(2).",
        "",
        Stop,
        "shop.item: конфликтующее значение ключа нарушает ограничение-исключение (23P01): "
        "Key (a)=(1) конфликтует с существующим ключом (a)=(2)",
    ),
    (
        "23514",
        "neue Zeile für Relation »item« verletzt Check-Constraint »positive«",
        "Fehlgeschlagene Zeile enthält (1, (a)=(secret)).",
        "",
        Stop,
        "shop.item: neue Zeile für Relation »item« verletzt Check-Constraint »positive« (23514)",
    ),
    *(
        (
            "22P02",
            message,
            "",
            context,
            Stop,
            f"shop.item{column}: PostgreSQL refuses a value or statement with "
            "InvalidTextRepresentation (22P02)" + (f"; {ALTER_IT}" if column else ""),
        )
        for message, context, column in [
            ("invalid input syntax", 'COPY item, line 1, column a b: "secret"', ".a b"),
            ("ungültige Eingabesyntax", "COPY item, Zeile 1, Spalte a b: »secret«", ".a b"),
            ("ungültige Eingabesyntax", "COPY item, Zeile 1, Spalte id: NULL Eingabe", ".id"),
            ("syntaxe invalide", "COPY item, ligne 1, colonne id : « secret »", ".id"),
            ("неверный синтаксис", 'COPY item, строка 1, столбец id: "secret"', ".id"),
            # Its words are in another order: the table alone is told.
            ("入力構文が不正です", 'itemのCOPY、行 1、列 id: "secret"', ""),
            # A row that says what a context says.
            ("invalid input syntax", 'COPY item, line 1: "1, line 2, column secret:"', ""),
        ]
    ),
    ("40P01", "Verklemmung entdeckt", "", "", Retry, "PostgreSQL: Verklemmung entdeckt"),
    ("55P03", "verrou non disponible", "", "", Locked, "PostgreSQL: verrou non disponible"),
    (
        "57P01",
        "管理者コマンドにより接続を終了しています",
        "",
        "",
        Retry,
        "the connection to PostgreSQL was lost: 管理者コマンドにより接続を終了しています",
    ),
    (
        "53100",
        "kein Platz auf dem Gerät",
        "",
        "",
        Full,
        "PostgreSQL has no room left on its disk, or in a file that may not grow: make room there, "
        "then start again; nothing of the cut was applied (kein Platz auf dem Gerät)",
    ),
    (
        "25006",
        "transaction en lecture seule",
        "",
        "",
        ReadOnly,
        "transaction en lecture seule: default_transaction_read_only is on for this user, database "
        "or server, or the server is a standby",
    ),
]


def raised(state: str, **fields: str) -> psycopg.Error:
    """What the driver raises for a server's message."""
    codes = {Field.SQLSTATE: state} | {Field[name.upper()]: text for name, text in fields.items()}
    info: dict[int, bytes | None] = {field: text.encode() for field, text in codes.items() if text}
    return psycopg.errors.lookup(state)(info=info)


@pytest.mark.parametrize(("state", "message", "detail", "context", "kind", "told"), ERRORS)
def test_an_error_in_any_language_is_what_its_sqlstate_says(
    state: str, message: str, detail: str, context: str, kind: type[Exception], told: str
) -> None:
    error = raised(state, message_primary=message, message_detail=detail, context=context)
    translated = translate(error, LAYOUT, "app")
    assert type(translated) is kind
    assert str(translated).removeprefix("PostgreSQL: ") == told.removeprefix("PostgreSQL: ")


PRIVILEGES = [
    (
        "permission denied for table item",
        "aclcheck_error",
        '; run GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON "shop"."item" TO "app", then '
        "start again",
    ),
    ("keine Berechtigung für Tabelle item", "aclcheck_error", ""),
    ("テーブル item の所有者である必要があります", "aclcheck_error", ""),
    (
        "keine Berechtigung, um Prozess zu beenden",
        "pg_terminate_backend",
        '; run GRANT pg_signal_backend TO "app", then start again',
    ),
]


@pytest.mark.parametrize(("message", "function", "way"), PRIVILEGES)
def test_a_privilege_that_is_missing_is_told_in_any_language(
    message: str, function: str, way: str
) -> None:
    error = raised("42501", message_primary=message, source_function=function)
    translated = translate(error, LAYOUT, "app")
    assert type(translated) is Denied
    assert str(translated) == f"a privilege is missing: {message}{way}"


# --- connections ---------------------------------------------------------------------------------


SERVER = """
import json, socket, sys

left = json.loads(sys.argv[1])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    client, _ = listener.accept()
    with client:
        while (first := client.recv(1024))[4:6] == b"\\x04\\xd2":
            client.sendall(b"N")  # neither TLS nor GSS
        if first:
            state, message = left.pop(0) if len(left) > 1 else left[0]
            fields = f"SFATAL\\0VFATAL\\0C{state}\\0M{message}\\0\\0".encode()
            client.sendall(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)
"""


@contextmanager
def answering(*answers: tuple[str, str]) -> Iterator[sa.URL]:
    """A server that takes no connection: it sends each one the next SQLSTATE and message, and
    every further one the last. A process, since libpq's ping keeps other threads waiting."""
    command = [sys.executable, "-c", SERVER, json.dumps(answers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline())
            yield sa.make_url(f"postgresql+psycopg://app:hush@127.0.0.1:{port}/shop")
        finally:
            server.kill()


CONNECTIONS = [
    ("57P03", "das Datenbanksystem startet", Away),
    ("57P03", "le système de bases de données s'arrête", Away),
    ("57P03", "データベースシステムは起動処理中です", Away),
    ("57P03", "role is being authenticated: does not exist", Away),
    ("28P01", "Passwort-Authentifizierung für Benutzer »app« fehlgeschlagen", UserRefused),
    ("28000", "aucune entrée dans pg_hba pour l'hôte", UserRefused),
    ("3D000", 'データベース"shop"は存在しません', UserRefused),
    ("42501", "keine Berechtigung für Datenbank »shop«", UserRefused),
    ("53300", "sorry, too many clients already", Away),
    ("53300", "remaining connection slots are reserved for superusers", Away),
]


@pytest.mark.parametrize(("state", "message", "kind"), CONNECTIONS)
def test_a_server_is_waited_for_if_it_may_take_us_later(
    state: str, message: str, kind: type[Exception]
) -> None:
    with answering((state, message)) as url, pytest.raises(Unavailable) as refused:
        PostgreSQL.open(url)
    assert type(refused.value) is kind
    assert message in str(refused.value)
    assert "hush" not in str(refused.value)


def test_a_server_that_became_ready_meanwhile_is_asked_again() -> None:
    starting = ("57P03", "das Datenbanksystem startet")
    refusing = ("28P01", "Passwort-Authentifizierung fehlgeschlagen")
    # The first connection, a look at whether the server is ready, the second connection.
    with answering(starting, refusing, refusing) as url, pytest.raises(Unavailable) as refused:
        PostgreSQL.open(url)
    assert "fehlgeschlagen" in str(refused.value)


def test_a_server_that_is_not_there_is_waited_for() -> None:
    with pytest.raises(Away):
        PostgreSQL.open(sa.make_url("postgresql+psycopg://app@127.0.0.1:1/shop"))


# --- a real server -------------------------------------------------------------------------------


@pytest.fixture(params=["C", "de_DE.UTF-8"])
def target(request: pytest.FixtureRequest, postgresql_url: str) -> Iterator[PostgreSQL]:
    """Its texts are German where the server has them, as that of `tests/services`."""
    url = sa.make_url(postgresql_url)
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with engine.connect() as connection, suppress(sa.exc.DBAPIError):
        connection.exec_driver_sql(
            f"ALTER DATABASE {url.database} SET lc_messages = '{request.param}'"
        )
    opened = PostgreSQL.open(url)
    yield opened
    opened.close()


REFUSED = [
    (
        "another key in the way",
        ["1", "5", "x"],
        r"shop\.t: another row .* the same value of the unique key t_u_key",
    ),
    ("a value that does not fit", ["2", "99999", "x"], r"shop\.t\.u: PostgreSQL refuses .*22003"),
    ("NULL where it may not be", ["2", "6", None], r"shop\.t\.v: .*\(23502\); alter it"),
    ("a CHECK", ["2", "-1", "secret"], r"shop\.t: .*\"?positive\W+ ?\(23514\)$"),
]


@pytest.mark.parametrize(("row", "told"), [c[1:] for c in REFUSED], ids=[c[0] for c in REFUSED])
def test_a_row_that_is_refused_is_told_in_the_servers_language(
    target: PostgreSQL, row: list[Canonical], told: str
) -> None:
    target.execute(
        "CREATE TABLE t (id int PRIMARY KEY, u smallint UNIQUE, v text NOT NULL, "
        "CONSTRAINT positive CHECK (u > 0))"
    )
    layout = laid_out(target, defined("create table t (id int primary key, u smallint, v text)"))
    load(target, layout, [["0", "5", "x"]])
    with pytest.raises(Stop, match=told):
        load(target, layout, [row])


@pytest.mark.parametrize(
    "error",
    [
        sa.exc.PendingRollbackError("Can't reconnect"),
        sa.exc.ResourceClosedError("This Connection is closed"),
    ],
    ids=str,
)
def test_a_session_that_was_lost_before_is_lost(error: Exception) -> None:
    assert lost(error)
    assert type(translate(error)) is Retry


def test_a_lost_session_and_a_lock_are_retried_in_any_language(
    target: PostgreSQL, postgresql_url: str
) -> None:
    other = PostgreSQL.open(sa.make_url(postgresql_url))
    target.execute("CREATE TABLE t (id int PRIMARY KEY)")
    target.execute("SET lock_timeout = 10")
    with other.transaction():
        other.execute("LOCK TABLE t")
        with pytest.raises(Retry), target.errors():
            target.execute("SELECT * FROM t")
    other.end_session(target.session_id())
    with pytest.raises(Retry), target.errors():
        target.execute("SELECT * FROM t")
    other.close()
