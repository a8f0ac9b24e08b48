"""A table is loaded again beside the one in use, while the changefeed goes on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import count
from random import Random
from signal import SIGKILL
from typing import Any, Self

import pytest
import sqlalchemy as sa
from support.databases import own_schema
from support.torture_cli import CHANGEFEED, Command
from support.torture_driver import Driver
from support.torture_topics import Feed
from support.upstream_tidb import Upstream, upstream
from support.upstream_workload import Workload, definition
from ticdc_consumer import failpoints
from ticdc_consumer.commands.changefeeds import end
from ticdc_consumer.commands.load import again
from ticdc_consumer.cut import cut_reader
from ticdc_consumer.cut.read import staging
from ticdc_consumer.status import diagnosis
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import TargetName
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import sleep, until
from ticdc_encoder.event import Ddl, Row, RowChange
from ticdc_encoder.sql.parser import parse_create_table

TARGETS = ("sqlite", "postgresql", "mariadb", "mysql", "tidb")
OTHERS = 200
"""Rows that no transaction touches."""
STOCK = "CREATE TABLE stock (id int PRIMARY KEY, n int, text varchar(20), UNIQUE KEY (text, id))"
ROWS = "SELECT id, n, text FROM stock ORDER BY id"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kind" in metafunc.fixturenames:
        all_targets = metafunc.config.getoption("--long")
        metafunc.parametrize("kind", TARGETS if all_targets else TARGETS[:1])


@contextmanager
def executing(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        yield connection


@pytest.fixture
def run(tidb: Upstream, into: Callable[..., Command], target_url: str) -> Command:
    """`stock` is loaded, and then spoilt by hand where no transaction comes."""
    return spoilt(tidb, into, target_url)


def spoilt(tidb: Upstream, into: Callable[..., Command], target_url: str) -> Command:
    others = ", ".join(f"({1000 + n}, {n}, 't{n}')" for n in range(OTHERS))
    tidb.execute(STOCK, f"INSERT INTO stock VALUES {others}")  # noqa: S608
    run = into(target_url, limits__load_chunk=1000)
    outcome = run.load()
    assert outcome.code == 0, outcome.said
    spoil(target_url)
    return run


def spoil(target_url: str) -> None:
    with executing(target_url) as connection:
        connection.exec_driver_sql("UPDATE stock SET n = -1 WHERE id >= 1000")


class Observer:
    """Reads the target all the time: `seen` is what the spoilt rows were, one after the other."""

    def __init__(self, url: str) -> None:
        self.seen: list[tuple[int, int]] = []
        self._url, self._over = url, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        engine = sa.create_engine(self._url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        query = "SELECT count(*), sum(n = -1) FROM stock WHERE id >= 1000"
        if self._url.startswith("postgresql"):
            query = query.replace("n = -1", "(n = -1)::int")
        with engine.connect() as connection:
            while not self._over.is_set():
                ((rows, spoilt),) = connection.exec_driver_sql(query).all()
                state = int(rows), int(spoilt)
                if self.seen[-1:] != [state]:
                    self.seen.append(state)
                sleep(0.01)


@contextmanager
def running(run: Command) -> Iterator[Driver]:
    """A consumer in a process of its own, which has begun."""
    driver = begun(run)
    try:
        yield driver
    finally:
        driver.kill()


def begun(run: Command) -> Driver:
    before, driver = run.resolved_ts, run.driver()
    if until(lambda: run.resolved_ts > before or not driver.running, 60.0) and driver.running:
        return driver
    said = driver.text
    driver.kill()
    raise AssertionError(said)


def equals(run: Command, tidb: Upstream) -> None:
    """The target is as the upstream, and nothing is left of the load."""
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert run.rows(ROWS) == tidb.execute(ROWS)
    assert run.rows("SELECT * FROM ticdc_load") == []
    assert no_copies(run)


def no_copies(run: Command) -> bool:
    engine = sa.create_engine(run.target_url, poolclass=sa.NullPool)
    schema = None if run.target_url.startswith("sqlite") else own_schema(run.target_url)
    names = sa.inspect(engine).get_table_names(schema)
    return not [name for name in names if name.startswith(("ticdc_loading", "ticdc_replaced"))]


def begin_and_die(
    run: Command, table: str, monkeypatch: pytest.MonkeyPatch, chunk: int = 1, **settings: str
) -> None:
    """A load of the table that ends after that chunk."""
    failpoints._hits.clear()
    with monkeypatch.context() as patch, pytest.raises(failpoints.FailpointReached):
        patch.setenv("TICDC_FAILPOINT", f"chunk-committed:raise:{chunk}")
        run.load("--table", table, **settings)


def test_a_table_loaded_while_its_rows_change_is_old_or_new(
    tidb: Upstream, feed: Feed, run: Command, target_url: str
) -> None:
    with upstream(tidb.url) as writer:
        workload = Workload(writer, feed, seed=7)
        workload.begin()
        try:
            with running(run) as driver, Observer(target_url) as observer:
                before = run.resolved_ts
                outcome = run.load("--table", f"{tidb.schema}.stock")
                assert outcome.code == 0, outcome.said
                after = run.resolved_ts
                assert driver.running, driver.text
        finally:
            workload.end()
    assert observer.seen == [(OTHERS, OTHERS), (OTHERS, 0)]
    assert after > before
    equals(run, tidb)
    with closing(open_target(target_url)) as target:
        stock = target.describe(*target.locate(own_schema(target_url), "stock"))
    assert stock is not None
    assert sorted(key.columns for key in stock.unique_keys) == [("id",), ("text", "id")]


def test_without_a_consumer_the_command_does_it_all_once(
    tidb: Upstream, run: Command, target_url: str
) -> None:
    before = run.resolved_ts
    outcome = run.load("--table", f"{tidb.schema}.stock")
    assert outcome.code == 0, outcome.said
    assert f"loaded: {OTHERS} rows; R {before}" in outcome.said
    equals(run, tidb)


# --- a crash anywhere ---------------------------------------------------------------------------

STEPS = [
    "reload-begun:1",
    "reload-created:1",
    "copies-joined:1",
    "chunk-rows-written:2",
    "chunk-commit:2",
    "chunk-committed:2",
    "reload-filled:1",
    "copies-swap:1",
    "copies-swap-ran:1",
    "copies-swap-commit:1",
    "copies-swapped:1",
]
"""Of one load, in the order in which they come."""


def test_a_load_killed_anywhere_continues_and_so_does_the_run(
    tidb: Upstream, run: Command, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(again, "FIRST_WORD", 0.0)
    table, died = f"{tidb.schema}.stock", []
    with upstream(tidb.url) as writer:
        workload = Workload(writer, feed, seed=7)
        for step in STEPS:
            name, _, number = step.partition(":")
            failpoints._hits.clear()
            with monkeypatch.context() as patch:
                patch.setenv("TICDC_FAILPOINT", f"{name}:raise:{number}")
                with suppress(failpoints.FailpointReached):
                    assert run.load("--table", table).code == 0
                    break
            died.append(step)
            workload.transact()
            if name in ("reload-begun", "chunk-commit"):
                outcome = run()
                assert outcome.code == 0, outcome.said
        workload.transact()
    assert died == STEPS
    equals(run, tidb)


KILLS = [
    "copies-joined",
    "chunk-commit",
    "copies-swap",
    "reload-filled",
    "copies-swap-commit",
    "chunk-rows-written",
    "copies-swapped",
    "reload-created",
    "copies-swap-ran",
    "reload-begun",
    "chunk-committed",
]
"""Where the first kills come, of the consumer (B) or of the load; those after them at any
moment."""


class Judge(Observer):
    """Compares what every commit shows with the upstream at its R: the spoilt rows are so or right,
    all others right."""

    def __init__(self, url: str, upstream_url: str) -> None:
        super().__init__(url)
        self._upstream_url = upstream_url
        self.compared = 0
        self.wrong: list[object] = []

    def _run(self) -> None:
        engine = sa.create_engine(self._url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        query = "SELECT resolved_ts, id, n, text FROM ticdc_checkpoint JOIN stock ON 1 = 1"
        with engine.connect() as connection, upstream(self._upstream_url) as session:
            while not self._over.is_set():
                found = [tuple(row) for row in connection.exec_driver_sql(query)]
                session.execute(f"SET @@tidb_snapshot = {int(found[0][0]) - 1}")
                expected = session.execute(ROWS)
                rows = sorted(row[1:] for row in found)
                spoilt = [(key, -1 if key >= 1000 else n, text) for key, n, text in expected]
                if rows not in (expected, spoilt):
                    self.wrong.append((found[0][0], set(rows) ^ set(expected)))
                self.compared += 1
                sleep(0.1)


def test_kills_at_any_moment_leave_the_old_or_the_new_table(
    kind: str, tidb: Upstream, feed: Feed, into: Callable[..., Command], long: bool, request: Any
) -> None:
    random, target_url = Random(kind), request.getfixturevalue(f"{kind}_url")
    run = spoilt(tidb, into, target_url)
    words = ["load", str(run._file), "--table", f"{tidb.schema}.stock", *run.arguments()]
    kills: list[str | None] = [*KILLS, *[None] * 19] if long else [*KILLS[:2]]
    with upstream(tidb.url) as writer, ExitStack() as stack:
        workload = Workload(writer, feed, seed=7)
        workload.begin()
        stack.callback(workload.end)
        consumer = begun(run)
        stack.callback(lambda: consumer.kill())
        judge = stack.enter_context(Judge(target_url, tidb.url))
        for step in kills:
            spoil(target_url)
            of_consumer = step is not None and step.startswith("B")
            failpoint = f"{step}:kill:1" if step else None
            if of_consumer:
                consumer.kill()
                consumer = run.driver(failpoint)
            load = Driver(words, failpoint=None if of_consumer else failpoint)
            stack.callback(load.kill)
            victim = consumer if of_consumer else load
            gone = until(lambda: not victim.running, 60.0 if step else random.uniform(0.5, 6.0))  # noqa: B023
            assert gone or not step, (step, consumer.text, load.text)
            if random.random() < 0.7:
                load.kill()
            if random.random() < 0.7 or not consumer.running:
                consumer.kill()
                consumer = begun(run)
            load.kill()
            assert judge.wrong == []
        outcome = run.load(*words[2:4])
        assert outcome.code == 0, outcome.said
    assert (judge.wrong, judge.compared > 10 * len(kills)) == ([], True)
    equals(run, tidb)


# --- foreign keys -------------------------------------------------------------------------------

RELATED = (
    "CREATE TABLE above (id int PRIMARY KEY)",
    "CREATE TABLE stock (id int PRIMARY KEY, n int, up int, above int, "
    "FOREIGN KEY itself (up) REFERENCES stock (id), "
    "FOREIGN KEY upwards (above) REFERENCES above (id))",
    "CREATE TABLE below (id int PRIMARY KEY, stock int, "
    "FOREIGN KEY downwards (stock) REFERENCES stock (id))",
    "INSERT INTO above VALUES (1)",
    "INSERT INTO stock VALUES (1, 1, NULL, 1), (2, 2, 1, NULL)",
    "INSERT INTO below VALUES (1, 2)",
)
OF_AN_OPERATOR = (
    "CREATE TABLE mine (id int PRIMARY KEY, stock int, "
    "FOREIGN KEY (stock) REFERENCES stock (id) ON DELETE CASCADE ON UPDATE SET NULL)"
)
KEYS = [
    ("below", "stock", "stock", "NO ACTION", "NO ACTION"),
    ("mine", "stock", "stock", "CASCADE", "SET NULL"),
    ("stock", "above", "above", "NO ACTION", "NO ACTION"),
    ("stock", "up", "stock", "NO ACTION", "NO ACTION"),
]
"""Child, its column, parent, ON DELETE and ON UPDATE."""


def foreign_keys(run: Command) -> list[tuple[str, ...]]:
    found = run.rows(
        "SELECT k.table_name, k.column_name, k.referenced_table_name, "
        "REPLACE(r.delete_rule, 'RESTRICT', 'NO ACTION'), "
        "REPLACE(r.update_rule, 'RESTRICT', 'NO ACTION') "
        "FROM information_schema.key_column_usage k "
        "JOIN information_schema.referential_constraints r "
        "ON r.constraint_schema = k.table_schema AND r.table_name = k.table_name "
        "AND r.constraint_name = k.constraint_name "
        "WHERE k.table_schema = DATABASE() AND k.referenced_table_name IS NOT NULL ORDER BY 1, 2"
    )
    return [tuple(map(str, row)) for row in found]


@pytest.fixture
def related(tidb: Upstream, into: Callable[..., Command], target_url: str) -> Command:
    """Loaded, with a table of an operator's, and then spoilt by hand."""
    tidb.execute(*RELATED)
    run = into(target_url, limits__takeover_after=1)
    outcome = run.load()
    assert outcome.code == 0, outcome.said
    with executing(target_url) as connection:
        connection.exec_driver_sql(OF_AN_OPERATOR)
        connection.exec_driver_sql("INSERT INTO mine VALUES (1, 2)")
        connection.exec_driver_sql("UPDATE stock SET n = -1")
        connection.exec_driver_sql("UPDATE below SET stock = NULL")
    assert foreign_keys(run) == KEYS
    return run


def require_related(run: Command) -> None:
    assert run.rows("SELECT id, n, up, above FROM stock ORDER BY id") == [
        (1, 1, None, 1),
        (2, 2, 1, None),
    ]
    assert run.rows("SELECT id, stock FROM below") == run.rows("SELECT id, stock FROM mine")
    assert foreign_keys(run) == KEYS
    assert run.rows("SELECT * FROM ticdc_load") == []
    assert no_copies(run)


@pytest.mark.parametrize("target_url", ["mysql", "mariadb", "tidb"], indirect=True)
@pytest.mark.parametrize("names", [["stock"], ["above"], ["below", "stock"]], ids=str)
def test_a_loaded_table_keeps_its_and_its_childrens_foreign_keys(
    tidb: Upstream, related: Command, names: list[str]
) -> None:
    words = [word for name in names for word in ("--table", f"{tidb.schema}.{name}")]
    outcome = related.load(*words)
    assert outcome.code == 0, outcome.said
    assert foreign_keys(related) == KEYS
    outcome = related.command("verify", "--repair")
    assert outcome.code == 0, outcome.said
    require_related(related)
    with executing(related.target_url) as connection, pytest.raises(sa.exc.IntegrityError):
        connection.exec_driver_sql("INSERT INTO mine VALUES (2, 77)")


@pytest.mark.torture
@pytest.mark.parametrize("target_url", ["mysql", "mariadb", "tidb"], indirect=True)
def test_kill_9_while_taking_the_place_loses_no_foreign_key(
    tidb: Upstream, related: Command
) -> None:
    words = [word for name in ("below", "stock") for word in ("--table", f"{tidb.schema}.{name}")]
    # Three keys of their own, RENAME, three that followed the old tables; then nothing but drops.
    steps = [
        "copies-swap:1",
        *["copies-swap-ran:1"] * 7,
        "copies-swap:1",
        "copies-swap-ran:1",
        "copies-swap-ran:2",
        "copies-swap-commit:1",
        "copies-swapped:1",
    ]
    for failpoint in steps:
        step, hit = failpoint.split(":")
        killed = related.driver(f"{step}:kill:{hit}", command="load", arguments=words)
        code, said = killed.wait()
        assert code == -SIGKILL, (failpoint, said)
    outcome = related()
    assert outcome.code == 0, outcome.said
    require_related(related)


@pytest.mark.parametrize("target_url", ["mysql", "mariadb", "tidb"], indirect=True)
def test_a_table_in_its_place_is_finished_instead_of_given_up(
    tidb: Upstream, related: Command
) -> None:
    words = [word for name in ("below", "stock") for word in ("--table", f"{tidb.schema}.{name}")]
    # Three keys of their own, then RENAME.
    killed = related.driver("copies-swap-ran:kill:4", command="load", arguments=words)
    code, said = killed.wait()
    assert code == -SIGKILL, said
    outcome = related.load(*words, "--give-up")
    assert outcome.code == 0, outcome.said
    outcome = related()
    assert outcome.code == 0, outcome.said
    require_related(related)


# --- beside other ways to write ------------------------------------------------------------------


@pytest.mark.parametrize("target_url", ["postgresql", "mysql"], indirect=True)
def test_rows_that_tasks_staged_go_to_both_tables(
    tidb: Upstream, feed: Feed, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    staged = list[int]()
    stage = staging.Stager._stage

    def noted(self: Any, layout: Any, facts: Any) -> Any:
        staged.append(facts.num_rows)
        return stage(self, layout, facts)

    monkeypatch.setattr(staging.Stager, "_stage", noted)
    monkeypatch.setattr(staging, "LEAST_ROWS", 1)
    monkeypatch.setattr(cut_reader, "SMALL", 0)
    begin_and_die(run, f"{tidb.schema}.stock", monkeypatch)
    with upstream(tidb.url) as writer:
        workload = Workload(writer, feed, seed=7)
        for _ in range(20):
            workload.transact()
    outcome = run(target__publish="staging", spark__from_messages=0)
    assert outcome.code == 0, outcome.said
    assert staged
    outcome = run.load("--table", f"{tidb.schema}.stock")
    assert outcome.code == 0, outcome.said
    equals(run, tidb)


@pytest.mark.parametrize("target_url", ["sqlite", "postgresql"], indirect=True)
def test_a_repair_may_come_in_between(
    tidb: Upstream, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = f"{tidb.schema}.stock"
    begin_and_die(run, table, monkeypatch)
    outcome = run.command("verify", "--repair")
    assert outcome.code == 0, outcome.said
    assert run.rows(ROWS) == tidb.execute(ROWS)
    outcome = run.load("--table", table)
    assert outcome.code == 0, outcome.said
    equals(run, tidb)


@pytest.mark.parametrize("target_url", ["sqlite"], indirect=True)
def test_a_table_is_loaded_or_set_aside_and_not_both(
    tidb: Upstream, feed: Feed, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, quarantine = f"{tidb.schema}.stock", {"on_error__quarantine": "true"}
    wide = parse_create_table("CREATE TABLE stock (id int PRIMARY KEY, extra int)", tidb.schema)
    begin_and_die(run, name, monkeypatch)
    feed.send(0, RowChange(wide, tidb.ts(), after={"id": 1, "extra": 1}))
    feed.resolve(tidb.ts())
    outcome = run(**quarantine)
    assert f"{name} cannot be quarantined while load --table loads it" in outcome.said
    assert run.load("--table", name, "--give-up").code == 0
    outcome = run(**quarantine)
    assert (outcome.code, f"{name} is quarantined" in outcome.said) == (0, True), outcome.said
    outcome = run.load("--table", name)
    assert f"{name}: it is quarantined: load and release it by" in outcome.said


# --- a DDL, and what is refused -----------------------------------------------------------------


@pytest.mark.parametrize("target_url", ["sqlite", "postgresql"], indirect=True)
def test_a_ddl_of_the_table_waits_until_it_is_loaded(
    tidb: Upstream, feed: Feed, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, alter = f"{tidb.schema}.stock", "ALTER TABLE stock ADD COLUMN more int"
    begin_and_die(run, table, monkeypatch)
    tidb.execute(alter)
    altered = tidb.ts()
    feed.send(0, Ddl(tidb.schema, "stock", alter, altered, 5))
    feed.resolve(later := tidb.ts())
    driver = run.driver()
    try:
        assert until(lambda: run.resolved_ts == altered, 60.0), driver.text
        assert until(lambda: diagnosis.why(run.options()).cause == "loading", 30.0)
        outcome = run.load("--table", table)
        assert outcome.code == 0, outcome.said
        assert until(lambda: run.resolved_ts == later, 60.0), driver.text
    finally:
        driver.kill()
    equals(run, tidb)
    assert run.rows("SELECT DISTINCT more FROM stock") == [(None,)]


HINDERED = {
    "sqlite": (
        "CREATE TRIGGER t AFTER INSERT ON stock BEGIN SELECT 1; END",
        "trigger t",
    ),
    "postgresql": ("CREATE VIEW v AS SELECT n FROM stock", "has view v"),
    "mysql": ("CREATE TRIGGER t AFTER INSERT ON stock FOR EACH ROW SET @n = 1", "trigger t"),
}


@pytest.mark.parametrize("target_url", HINDERED, indirect=True)
def test_a_refused_reload_is_named_and_a_load_may_be_given_up(
    tidb: Upstream, run: Command, target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = f"{tidb.schema}.stock"
    statement, words = HINDERED[sa.make_url(target_url).get_backend_name()]
    assert "the upstream has no such table at R" in run.load("--table", "shop.none").said
    assert "it is not being loaded" in run.load("--table", table, "--give-up").said
    begin_and_die(run, table, monkeypatch)
    with executing(target_url) as connection:
        connection.exec_driver_sql(statement)
    outcome = run.load("--table", f"{tidb.schema}.other")
    assert f"continue it first: ticdc-consumer load CONFIG --table {table}" in outcome.said
    outcome = run.load("--table", table)
    assert (outcome.code, words in outcome.said) == (3, True), outcome.said
    outcome = run.load("--table", table, "--give-up")
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT * FROM ticdc_load") == []
    assert run.rows("SELECT DISTINCT n FROM stock") == [(-1,)]
    outcome = run.load("--table", table)
    assert (outcome.code, words in outcome.said) == (3, True), outcome.said


@pytest.mark.parametrize("target_url", ["sqlite", "postgresql", "mysql"], indirect=True)
@pytest.mark.parametrize(
    "step", ["reload-begun", "reload-created", "copies-joined", "chunk-committed"]
)
def test_a_changefeed_that_ends_during_a_load_leaves_no_copy(
    tidb: Upstream, run: Command, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit, ended = failpoints.hit, list[str]()

    def forget(name: str) -> None:
        if name == step and not ended:
            ended.append(name)
            with closing(open_target(run.target_url, changefeed=CHANGEFEED)) as target:
                end(target, run.options())
        hit(name)

    monkeypatch.setattr(failpoints, "hit", forget)
    outcome = run.load("--table", f"{tidb.schema}.stock")
    assert (outcome.code, ended) == (3, [step]), outcome.said
    assert "forget" in outcome.said or "has applied nothing yet" in outcome.said
    assert run.rows("SELECT * FROM ticdc_load") == []
    assert no_copies(run)


@pytest.mark.parametrize("target_url", ["postgresql", "mysql"], indirect=True)
@pytest.mark.parametrize(("at_question", "code"), [(1, 1), (2, 0)])
def test_a_session_lost_in_the_catalog_gives_no_traceback(
    tidb: Upstream,
    run: Command,
    target_url: str,
    at_question: int,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is asked what the table has before the load, and before the copy takes its place."""
    with closing(open_target(target_url)) as target:
        kind = type(target)
    asked, hindrances = count(1), kind.hindrances

    def lost(target: Target, table: TargetName) -> list[str]:
        if next(asked) == at_question:
            target.connection.close()
        return hindrances(target, table)

    monkeypatch.setattr(kind, "hindrances", lost)
    outcome = run.load("--table", f"{tidb.schema}.stock")
    assert outcome.code == code, outcome.said
    again = f"continue with: ticdc-consumer load CONFIG --table {tidb.schema}.stock"
    assert (again in outcome.said) == bool(code)
    assert run.load("--table", f"{tidb.schema}.stock").code == 0


# --- a filter that takes more tables ------------------------------------------------------------


@pytest.fixture
def narrow(tidb: Upstream, into: Callable[..., Command], target_url: str) -> Command:
    """`stock` alone is loaded; `news`, which has changed meanwhile, is upstream alone."""
    tidb.execute(STOCK, "INSERT INTO stock VALUES (1, 1, 'one')")
    run = into(target_url, limits__load_chunk=1000, tables__filter=f"{tidb.schema}.stock")
    outcome = run.load()
    assert outcome.code == 0, outcome.said
    return run


def news(tidb: Upstream, feed: Feed, number: int) -> None:
    """A row more of `news`, and one less, which the topic shows without its resolved ts."""
    tidb.execute(f"INSERT INTO news VALUES ({number}, 'new')")  # noqa: S608
    table = definition(tidb, "news")
    feed.send(number % 2, RowChange(table, tidb.ts(), after={"id": number, "text": "new"}))
    tidb.execute(f"DELETE FROM news WHERE id = {-number}")  # noqa: S608
    before: Row = {"id": -number, "text": "old"}
    feed.send(number % 2, RowChange(table, tidb.ts(), before=before))


def test_a_filter_of_more_tables_continues_once_they_are_loaded(
    tidb: Upstream, feed: Feed, narrow: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = ", ".join(f"({-n}, 'old')" for n in range(100))
    tidb.execute(
        "CREATE TABLE news (id int PRIMARY KEY, text varchar(9), KEY (text))",
        f"INSERT INTO news VALUES {old}",  # noqa: S608
    )
    news(tidb, feed, 1)
    feed.resolve(tidb.ts())
    outcome = narrow()
    assert outcome.code == 0, outcome.said
    wide = {"tables__filter": f"{tidb.schema}.*"}
    outcome = narrow(**wide)
    assert (outcome.code, "load CONFIG --table" in outcome.said) == (3, True), outcome.said
    outcome = narrow.load("--table", f"{tidb.schema}.stock", **wide)
    assert f"also matches {tidb.schema}.news" in outcome.said
    news(tidb, feed, 2)
    with later(feed, tidb):
        begin_and_die(narrow, f"{tidb.schema}.news", monkeypatch, 2, **wide)
    assert narrow.command("check", **wide).code == 0
    assert narrow.command("verify", **wide).code == 5
    news(tidb, feed, 3)
    feed.resolve(tidb.ts())
    outcome = narrow(**wide)
    assert outcome.code == 0, outcome.said
    news(tidb, feed, 4)
    outcome = narrow.load("--table", f"{tidb.schema}.news", **wide)
    assert outcome.code == 0, outcome.said
    news(tidb, feed, 5)
    feed.resolve(last := tidb.ts())
    outcome = narrow(**wide)
    assert (outcome.code, narrow.resolved_ts) == (0, last), outcome.said
    query = "SELECT id, text FROM news ORDER BY id"
    assert narrow.rows(query) == tidb.execute(query)
    outcome = narrow.command("verify", **wide)
    assert outcome.code == 0, outcome.said


@contextmanager
def later(feed: Feed, tidb: Upstream) -> Iterator[None]:
    """While the block runs `news` changes, and resolved ts come after that."""
    over = threading.Event()

    def run() -> None:
        with upstream(tidb.url) as session:
            for number in count(10):
                if over.wait(0.1):
                    return
                news(session, feed, number)
                feed.resolve(session.ts())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
