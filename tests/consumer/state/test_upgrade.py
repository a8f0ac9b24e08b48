"""Tables of every earlier version are migrated; those of a newer one are left alone.

`version_0.*.sql` is what commit 9611725 left in a target, before there was a version;
`version_1.*.sql` what commit c52cc75 had beside it, `version_2.*.sql` what commit 239684e made of
both, `version_3.*.sql` what commit 689bf9b has beside that, `version_4.*.sql` commit 697ce60,
`version_5.*.sql` commit 81dd866, and `version_6.*.sql` commit 32efaf7.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from support.loading import CHANGEFEED, IMPATIENT, Crash, crash_at, first, is_tidb, opened, options
from ticdc_consumer.errors import Fenced, Retry, Stop, Unavailable
from ticdc_consumer.state import schema
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.schema import DEFINITION, METADATA, OWN_TABLES, Migration, add_column
from ticdc_consumer.state.store import Store
from ticdc_consumer.state.upgrade import StateVersion
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import Table

FOLDER = Path(__file__).parent
WRITES = re.compile(r"\s*(CREATE|ALTER|INSERT|UPDATE|COMMIT)")
CURRENT = StateVersion(schema.STATE_VERSION, schema.STATE_VERSION, schema.MIGRATIONS[-1].release)


OLDER = range(schema.STATE_VERSION)
OF_NEXT = schema.STATE_VERSION + 1


def load(target: Target, version: int = 0) -> None:
    """The tables and rows of two changefeeds, as a release of that version wrote them."""
    drop_tables(target)
    dialect = target.dialect if target.dialect in ("sqlite", "postgresql") else "mysql"
    for number in range(version + 1):
        script = (FOLDER / f"version_{number}.{dialect}.sql").read_text(encoding="utf-8")
        for statement in script.split(";\n")[:-1]:
            target.execute(statement).close()


def drop_tables(target: Target) -> None:
    for name in OWN_TABLES:
        target.execute(f"DROP TABLE IF EXISTS {name}").close()


def columns(target: Target) -> dict[str, dict[str, tuple[str, bool]]]:
    """Type and nullability of each column of the own tables."""
    inspector = sa.inspect(target.connection)
    return {
        table: {c["name"]: (str(c["type"]), c["nullable"]) for c in inspector.get_columns(table)}
        for table in sorted(set(inspector.get_table_names()) & OWN_TABLES)
    }


def contents(target: Target) -> dict[str, list[Any]]:
    """The rows of the own tables that exist."""
    return {
        name: sorted(map(tuple, target.execute(f"SELECT * FROM {name}").all()), key=repr)  # noqa: S608
        for name in columns(target)
    }


def generations(target: Target) -> dict[str, int]:
    rows = target.execute("SELECT changefeed, generation FROM ticdc_checkpoint").all()
    return {row.changefeed: row.generation for row in rows}


def mark_every_entry(connection: sa.Connection) -> None:
    connection.exec_driver_sql("UPDATE ticdc_ddl SET reason = 'seen' WHERE reason = ''")


def next_release(patch: pytest.MonkeyPatch) -> None:
    """As if the next release had a column more, a table more, and other rows."""
    metadata = sa.MetaData()
    for table in METADATA.sorted_tables:
        table.to_metadata(metadata)
    checkpoint = metadata.tables["ticdc_checkpoint"]
    checkpoint.append_column(sa.Column("verified", sa.Integer, server_default="7", nullable=False))
    sa.Table("ticdc_more", metadata, sa.Column("id", sa.Integer, primary_key=True))
    steps = (add_column(checkpoint.c.verified), mark_every_entry)
    patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, Migration("9.9", steps)))
    patch.setattr(schema, "STATE_VERSION", schema.STATE_VERSION + 1)
    patch.setattr("ticdc_consumer.state.upgrade.METADATA", metadata)


def is_of_version_0(checkpoint: Checkpoint | None) -> bool:
    """Whether the checkpoint holds what `version_0.*.sql` says of the changefeed."""
    assert checkpoint is not None
    assert checkpoint.resolved_ts == 2**64 - 2 and checkpoint.mark_time == 1760000000000
    assert checkpoint.counters == {"cuts": 1, "rows": 2**40}
    assert checkpoint.positions == {
        ("shop", 0): Position("shop", "dGhlIGlk", 0, 10, 9, 2**32 - 1),
        ("shop", 1): Position("shop", "dGhlIGlk", 1, 2**62),
    }
    checkpoint.check_scope(options("", protocol="simple"))
    return True


def has_ledger_of_version_0(store: Store) -> bool:
    entries = [(e.commit_ts, e.seq, e.state, e.query) for e in store.ledger.entries()]
    assert entries == [
        (429918007904436226, 1, "pending", "ALTER TABLE `t` ADD c INT"),
        (429918007904436226, 2, "skipped", "CREATE VIEW v AS SELECT 'ü'"),
    ]
    table = store.ledger.definitions()["shop", "t"]
    assert [column.name for column in table.columns] == ["a", "b"]
    assert [dropped.target_table for dropped in store.ledger.dropped()] == ["ticdc_dropped_1_old"]
    schemas: dict[Any, Table] = store.schemas()
    assert [(key, table.table_id) for key, table in schemas.items()] == [
        (("shop", "t", 2**64 - 1), 5)
    ]
    return True


def test_new_tables_have_the_newest_version(target_url: str) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        assert store.tables.version() is None
        assert store.start(IMPATIENT) is None
        assert store.tables.version() == CURRENT
        with crash_at(target, 0) as ran:
            assert store.start(IMPATIENT) is None
        assert not [text for text in ran if "CREATE" in text]


def bases(target: Target) -> set[tuple[str, str, str | None]]:
    """Each known table, how sure its definition is, and where its rows are known to go."""
    rows = target.connection.execute(sa.select(DEFINITION)).all()
    return {(row.table, row.basis, row.target_table) for row in rows}


BASES = {
    0: {("t", "applied", None)},
    1: {
        ("t", "applied", None),
        ("told", "declared", None),
        ("checked", "checked", None),
        ("seen", "seen", None),
        ("found", "reflected", None),
    },
}
BASES |= dict.fromkeys(range(2, 7), BASES[1])


@pytest.mark.parametrize("version", OLDER)
def test_tables_of_an_older_release_are_migrated(target_url: str, version: int) -> None:
    with opened(target_url) as target:
        assert Store(target, CHANGEFEED).start(IMPATIENT) is None
        new = columns(target)
        load(target, version)
        store = Store(target, CHANGEFEED)
        checkpoint = store.start(IMPATIENT)
        assert is_of_version_0(checkpoint) and has_ledger_of_version_0(store)
        assert checkpoint is not None and checkpoint.schemas == store.schemas()
        assert columns(target) == new
        assert store.tables.version() == CURRENT
        # The migration fences every changefeed, and the start its own once more.
        assert generations(target) == {"Feed": 2, CHANGEFEED: 3}
        assert bases(target) == BASES[version]
        kept = target.execute("SELECT basis FROM ticdc_dropped").all()
        assert [basis for (basis,) in kept] == ["applied"]


def test_routes_tell_where_rows_of_older_definitions_go(target_url: str) -> None:
    with opened(target_url) as target:
        load(target, 1)
        store = Store(target, CHANGEFEED)
        assert store.start(IMPATIENT)
        known = store.ledger.known()
        assert known.destinations["shop", "t"] == target.locate("shop", "t")
        others = known.others(("elsewhere", "T"))
        assert others == ((("shop", "t"),) if target.dialect == "sqlite" else ())


@pytest.mark.slow
@pytest.mark.parametrize("version", OLDER)
def test_a_migration_that_was_interrupted_is_completed(
    target_url: str, version: int, long: bool
) -> None:
    """A crash before each statement that writes, of this release's own migrations. The steps of a
    later version are the last ones of version 0's: on a server, a part of them will do."""
    with opened(target_url) as target:
        load(target, version)
        with crash_at(target, 0) as ran:
            Store(target, CHANGEFEED).start(IMPATIENT)
        expected = columns(target)
    writing = [number for number, text in enumerate(ran, 1) if WRITES.match(text)]
    every = 1 if long or version == 0 or target.dialect == "sqlite" else 4
    every *= 4 if is_tidb(target_url) and not long else 1
    for statement in writing[version % every :: every]:
        with opened(target_url) as target:
            load(target, version)
            with crash_at(target, statement), pytest.raises(Crash):
                Store(target, CHANGEFEED).start(IMPATIENT)
            target.connection.invalidate()
        with opened(target_url) as target:
            store = Store(target, CHANGEFEED)
            assert is_of_version_0(store.start(IMPATIENT)) and has_ledger_of_version_0(store)
            assert (columns(target), bases(target)) == (expected, BASES[version])
            assert store.tables.version() == CURRENT


@pytest.mark.parametrize("version", OLDER)
def test_what_only_reads_takes_older_tables_and_leaves_them(target_url: str, version: int) -> None:
    with opened(target_url) as target:
        load(target, version)
        before = contents(target)
        store = Store(target, CHANGEFEED)
        assert is_of_version_0(store.read()) and has_ledger_of_version_0(store)
        known = store.ledger.known().by_name
        assert {(name[1], known[name].basis) for name in known} == {b[:2] for b in BASES[version]}
        assert store.changefeeds() == ["Feed", CHANGEFEED]
        assert contents(target) == before


def test_tables_too_old_to_be_read_wait_for_the_first_run(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(sqlite_url) as target:
        load(target)
        monkeypatch.setattr(schema, "OLDEST_READABLE", 2)
        before = contents(target)
        store = Store(target, CHANGEFEED)
        for read in (store.read, store.changefeeds, store.schemas):
            with pytest.raises(Stop, match=r"have version 0.* reads version 2 or later; its"):
                read()
        assert contents(target) == before
        assert is_of_version_0(store.start(IMPATIENT))
        assert is_of_version_0(store.read())


@pytest.mark.parametrize("announced", [False, True], ids=["done", "under way"])
def test_tables_of_a_newer_release_are_refused_and_left_alone(
    target_url: str, announced: bool
) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        first(store)
        version = "" if announced else "version = 99, "
        target.execute(
            f"UPDATE ticdc_state SET {version}migrating_to = 99, least_release = '4.2.0'"  # noqa: S608
        ).close()
        before = contents(target)
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        uses: list[Callable[[], object]] = [
            store.read,
            store.changefeeds,
            store.schemas,
            lambda: store.start(IMPATIENT),
            lambda: store.begin_first(Checkpoint.first(options(""), 20, {})),
        ]
        for use in uses:
            with pytest.raises(Stop) as stop:
                use()
            assert str(stop.value) == (
                "the ticdc_* tables of the target have version 99, made by a newer release, and "
                f"this release knows versions up to {schema.STATE_VERSION}: install "
                "ticdc-consumer 4.2.0 or later"
            )
            assert stop.value.exit_code == 3
        assert contents(target) == before


def test_a_newer_release_that_migrates_during_a_start_is_noticed(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        first(store)
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        prepare = store.tables.prepare

        def prepare_too_early(patience: float) -> None:
            prepare(patience)
            newer = "UPDATE ticdc_state SET version = 99, migrating_to = 99"
            target.execute(newer).close()

        monkeypatch.setattr(store.tables, "prepare", prepare_too_early)
        with pytest.raises(Stop, match="have version 99"):
            store.start(IMPATIENT)
        assert generations(target) == {CHANGEFEED: 1}


@pytest.mark.slow
def test_an_interrupted_migration_is_completed_by_the_next_start(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash before each statement that writes, or each fourth on TiDB."""
    with monkeypatch.context() as newer, opened(target_url) as target:
        next_release(newer)
        load(target)
        with crash_at(target, 0) as ran:
            Store(target, CHANGEFEED).start(IMPATIENT)
        expected = columns(target)
    assert not expected["ticdc_checkpoint"]["verified"][1]
    writing = [number for number, text in enumerate(ran, 1) if WRITES.match(text)]
    assert len(writing) > 10
    for statement in writing[:: 4 if is_tidb(target_url) else 1]:
        with opened(target_url) as target, monkeypatch.context() as newer:
            target.execute("DROP TABLE ticdc_more").close()
            load(target)
            next_release(newer)
            with crash_at(target, statement), pytest.raises(Crash):
                Store(target, CHANGEFEED).start(IMPATIENT)
            target.connection.invalidate()
        with opened(target_url) as target:
            stored = Store(target, CHANGEFEED).tables.version()
            if stored is not None and stored.migrating_to > schema.STATE_VERSION:
                with pytest.raises(
                    Stop, match=rf"have version {OF_NEXT}.*install ticdc-consumer 9\.9"
                ):
                    Store(target, CHANGEFEED).start(IMPATIENT)
            else:  # nothing was done
                assert generations(target) == {"Feed": 1, CHANGEFEED: 1}
            with monkeypatch.context() as newer:
                next_release(newer)
                store = Store(target, CHANGEFEED)
                assert is_of_version_0(store.start(IMPATIENT)) and has_ledger_of_version_0(store)
                assert store.tables.version() == StateVersion(OF_NEXT, OF_NEXT, "9.9")
                assert columns(target) == expected
                assert store.ledger.pending()[0].reason == "seen"
                assert target.execute("SELECT * FROM ticdc_more").all() == []


def test_a_first_start_that_was_interrupted_has_no_checkpoint(target_url: str) -> None:
    with opened(target_url) as target, crash_at(target, 0) as ran:
        Store(target, CHANGEFEED).start(IMPATIENT)
    writing = [number for number, text in enumerate(ran, 1) if WRITES.match(text)]
    for statement in writing[:: 4 if is_tidb(target_url) else 1]:
        with opened(target_url) as target:
            drop_tables(target)
            with crash_at(target, statement), pytest.raises(Crash):
                Store(target, CHANGEFEED).start(IMPATIENT)
            target.connection.invalidate()
        with opened(target_url) as target:
            store = Store(target, CHANGEFEED)
            assert (store.read(), store.changefeeds(), store.schemas()) == (None, [], {})
            assert store.start(IMPATIENT) is None
            assert store.tables.version() == CURRENT


@contextmanager
def together(*works: Callable[[], None]) -> Iterator[list[Exception]]:
    """Runs all at once; yields what they raised, when they are done."""
    barrier, failures = threading.Barrier(len(works)), list[Exception]()

    def run(work: Callable[[], None]) -> None:
        try:
            barrier.wait(60)
            work()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield failures


@pytest.mark.parametrize("others", [CHANGEFEED, "Feed"])
def test_two_starts_at_once_on_older_tables_migrate_them_once(
    target_url: str, others: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(target_url) as target:
        target.execute("DROP TABLE IF EXISTS ticdc_more").close()
        load(target)
    next_release(monkeypatch)

    def start(changefeed: str) -> Callable[[], None]:
        def work() -> None:
            with opened(target_url) as target:
                assert Store(target, changefeed).start(5.0) is not None

        return work

    with together(start(CHANGEFEED), start(others)) as failures:
        assert failures == []
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        assert store.tables.version() == StateVersion(OF_NEXT, OF_NEXT, "9.9")
        assert is_of_version_0(store.read())
        expected = (
            {CHANGEFEED: 4, "Feed": 2}
            if others == CHANGEFEED
            else dict.fromkeys((CHANGEFEED, "Feed"), 3)
        )
        assert generations(target) == expected


def test_a_migration_fences_the_older_consumers_of_all_feeds(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(target_url) as target, opened(target_url) as other:
        older = Store(target, "Feed")
        first(older)
        with monkeypatch.context() as newer:
            next_release(newer)
            assert Store(other, CHANGEFEED).start(IMPATIENT) is None
        with pytest.raises(Fenced, match=r"newer consumer .*generation 2, this one has 1"):
            try:
                with target.transaction():
                    older.check_generation()
            except Retry:  # MySQL's newer consumer has ended its session
                older.recover()
                raise
        with pytest.raises(Stop, match=r"install ticdc-consumer 9\.9"):
            Store(target, "Feed").start(IMPATIENT)
        target.execute("DROP TABLE ticdc_more").close()


@pytest.mark.parametrize("server", ["postgresql", "mariadb", "mysql", "tidb"])
def test_a_consumer_that_hangs_does_not_hold_a_migration_up(
    request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url: str = request.getfixturevalue(f"{server}_url")
    with opened(url) as target, opened(url) as other:
        older = Store(target, "Feed")
        first(older)
        with pytest.raises(Retry), target.transaction():
            older.check_generation()
            next_release(monkeypatch)
            assert Store(other, CHANGEFEED).start(IMPATIENT) is None
            older.ledger.pending()
        assert generations(other) == {"Feed": 2}


HALF_OPEN = {
    "create": "CREATE TABLE ticdc_checkpoint (changefeed VARCHAR(128) PRIMARY KEY)",
    "first checkpoint": "INSERT INTO ticdc_checkpoint SELECT 'shop-feed', 1, 1, 0, '', '', '', ''",
}


@pytest.mark.parametrize("work", HALF_OPEN)
def test_a_connection_that_hangs_at_the_creating_commit_is_ended(
    postgresql_url: str, work: str
) -> None:
    with opened(postgresql_url) as hanging, opened(postgresql_url) as target:
        if work != "create":
            assert Store(target, CHANGEFEED).start(IMPATIENT) is None
        hanging.execute("BEGIN").close()
        hanging.execute("SELECT pg_advisory_xact_lock(hashtext('ticdc_checkpoint'))").close()
        hanging.execute(HALF_OPEN[work]).close()
        checkpoint = first(Store(target, CHANGEFEED), 50)
        assert Store(target, CHANGEFEED).read() == checkpoint
        with pytest.raises(Retry), hanging.errors():
            hanging.execute("COMMIT")


def test_a_session_that_is_at_work_on_the_tables_is_not_ended(postgresql_url: str) -> None:
    with opened(postgresql_url) as working, opened(postgresql_url) as target:
        working.execute("BEGIN").close()
        working.execute("SELECT pg_advisory_xact_lock(hashtext('ticdc_checkpoint'))").close()
        thread = threading.Thread(target=working.execute, args=("SELECT pg_sleep(2)",))
        thread.start()
        with pytest.raises(Unavailable):
            Store(target, CHANGEFEED).start(IMPATIENT)
        thread.join()
        working.execute("COMMIT").close()
        assert Store(target, CHANGEFEED).start(IMPATIENT) is None
