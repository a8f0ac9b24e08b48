"""The target's disk fills inside a cut: the run says so, nothing of the cut is there, and with more
room it goes on. Real databases, on file systems of their own."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest
import sqlalchemy as sa
from support import brokers
from support.databases import fresh_database
from support.own_server import OwnServer
from support.server_address import server_address
from support.small_disk import SmallDisk, small_disk
from support.torture_cli import Make
from support.torture_topics import Feed, inserted, table, ts

DOCS = "CREATE TABLE `docs` (`id` INT NOT NULL, `body` VARCHAR(1000), PRIMARY KEY (`id`))"
ROWS = 9000
BODY = "x" * 900
ENOUGH = 200


@contextmanager
def sqlite(tmp_path: Path) -> Iterator[tuple[str, SmallDisk]]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, 2) as disk:
        yield f"sqlite:///{folder / 'target.db'}", disk


@contextmanager
def postgresql(server: str) -> Iterator[tuple[str, SmallDisk]]:
    """A tablespace, which the server's user must be able to reach."""
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    name = f"small{uuid.uuid4().hex[:8]}"
    folder = Path(tempfile.mkdtemp(prefix="space-"))
    folder.chmod(0o755)
    with small_disk(folder, 20) as disk, engine.connect() as connection:
        data = str(connection.exec_driver_sql("SHOW data_directory").scalar())
        inside = folder / "tables"
        inside.mkdir(mode=0o700)
        owner = Path(data).stat()
        os.chown(inside, owner.st_uid, owner.st_gid)
        connection.exec_driver_sql(f"CREATE TABLESPACE {name} LOCATION '{inside}'")
        try:
            with fresh_database(server) as url:
                database = sa.make_url(url).database
                connection.exec_driver_sql(f"ALTER DATABASE {database} SET TABLESPACE {name}")
                yield url, disk
        finally:
            connection.exec_driver_sql(f"DROP TABLESPACE {name}")
    shutil.rmtree(folder)


@contextmanager
def mysql_family(name: str) -> Iterator[tuple[str, SmallDisk]]:
    """A server with all its files on that disk. The rows are such as it survives: not every
    release survives every full disk (docs/reference/databases.md)."""
    server_address(f"{name.upper()}_URL")
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    folder.chmod(0o755)
    with small_disk(folder, 600) as disk:
        server = OwnServer(name, folder / "services")
        server("up")
        try:
            yield server.url, disk
        finally:
            server("wipe")
    shutil.rmtree(folder)


@contextmanager
def room_if_it_hangs(disk: SmallDisk) -> Iterator[None]:
    """Makes room after 30 s: MySQL may not answer before (docs/reference/databases.md)."""
    timer = Timer(30, disk.empty)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@pytest.fixture(params=["sqlite", "postgresql", "mariadb", "mysql"])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, SmallDisk]]:
    """An empty database, and the disk that its tables are on."""
    if request.param == "sqlite":
        target = sqlite(tmp_path)
    elif request.param == "postgresql":
        target = postgresql(request.getfixturevalue("postgresql_server"))
    else:
        target = mysql_family(request.param)
    with target as opened:
        yield opened


def test_a_disk_that_fills_in_a_cut_is_told_and_more_room_helps(
    small: tuple[str, SmallDisk], mock_kafka: brokers.Mock, command: Make
) -> None:
    url, disk = small
    relation = "docs" if url.startswith("sqlite") else "shop.docs"
    serves_all = not url.startswith(("sqlite", "postgresql"))
    feed, known = Feed(mock_kafka), table(DOCS)
    feed.ddl(5, "CREATE DATABASE `shop`", kind=1)
    feed.create(10, DOCS)
    feed.send(0, inserted(20, {"id": 0, "body": "first"}, known))
    feed.mark(100)
    run = command([feed], url)
    outcome = run()
    assert outcome.code == 0, outcome.said
    for n in range(2):
        numbers = range(1 + n, ROWS, 2)
        feed.send(n, *(inserted(150, {"id": i, "body": BODY}, known) for i in numbers))
    feed.mark(200)
    if serves_all:
        disk.fill(4)
    with room_if_it_hangs(disk):
        outcome = run()
    assert outcome.code == 1, outcome.said
    assert outcome.said.splitlines()[-1].startswith("ticdc-consumer: ")
    assert "make room there, then start again; nothing of the cut was applied" in outcome.said
    assert run.resolved_ts == ts(100)
    assert run.rows(f"SELECT id, body FROM {relation}") == [(0, "first")]  # noqa: S608
    if serves_all:
        disk.empty()
    else:
        disk.grow(ENOUGH)
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(200)), outcome.said
    sums = run.rows(f"SELECT count(*), sum(id), sum(length(body)) FROM {relation}")  # noqa: S608
    assert [tuple(map(int, row)) for row in sums] == [
        (ROWS, ROWS * (ROWS - 1) // 2, 5 + (ROWS - 1) * len(BODY))
    ]
