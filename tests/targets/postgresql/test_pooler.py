"""A real PgBouncer before the server."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from support.canonical_rows import contents, created, defined, load
from support.server_address import missing
from ticdc_consumer.errors import Usage
from ticdc_consumer.targets.postgresql.session import PostgreSQL
from ticdc_consumer.waiting import until

SETTINGS = ("row_security", "lock_timeout", "jit", "timezone", "session_replication_role")
Pooled = Callable[[str], sa.URL]


@pytest.fixture
def pooled(postgresql_url: str, tmp_path: Path) -> Iterator[Pooled]:
    """Starts a pooler of a mode; its URL."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        missing("pgbouncer is not installed: Debian's package pgbouncer has it")
    server = sa.make_url(postgresql_url)
    started: list[subprocess.Popen[bytes]] = []

    def start(mode: str) -> sa.URL:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        host, of = server.host or server.query["host"], server.port or 5432
        settings = tmp_path / "pgbouncer.ini"
        settings.write_text(
            f"[databases]\n* = host={host} port={of} user={server.username}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
            f"auth_type = any\npool_mode = {mode}\nignore_startup_parameters = extra_float_digits\n"
        )
        as_user = ["-u", "nobody"] if os.geteuid() == 0 else []
        started.append(subprocess.Popen([program, "-q", *as_user, str(settings)]))

        def answers() -> bool:
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", port)) == 0

        assert until(answers, 30.0, pause=0.05)
        return server.set(host="127.0.0.1", port=port, query={})

    yield start
    for process in started:
        process.terminate()
        process.wait()


def shown(url: sa.URL) -> list[object]:
    """The settings that any client of the pooler has."""
    with psycopg.connect(
        host=url.host, port=url.port, user=url.username, dbname=url.database
    ) as client:
        return [client.execute(f"SHOW {name}").fetchone() for name in SETTINGS]


def test_a_transaction_pooler_is_refused_its_clients_unchanged(
    pooled: Pooled,
) -> None:
    url = pooled("transaction")
    before = shown(url)
    with pytest.raises(Usage, match="set pool_mode = session for this database or user"):
        PostgreSQL.open(url)
    assert shown(url) == before


def test_through_a_pooler_of_sessions_rows_are_exact(pooled: Pooled) -> None:
    url = pooled("session")
    target = PostgreSQL.open(url)
    assert target.query("SHOW row_security") == [("off",)]
    layout = created(target, defined("create table t (id bigint primary key, v varchar(9))"))
    load(target, layout, [("1", "a"), ("2", "b")])
    load(target, layout, [("2", "c")], deleted=[("1",)])
    assert contents(target, layout) == [(2, "c")]
    target.close()


def test_a_session_through_a_pooler_can_be_ended(pooled: Pooled) -> None:
    url = pooled("session")
    old, new = PostgreSQL.open(url), PostgreSQL.open(url)
    new.end_session(old.session_id())
    assert not old.alive()
    for each in (old, new):
        each.close()
