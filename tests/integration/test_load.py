"""A real TiDB is loaded into every target as of one timestamp, and the topics go on from there."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from support.databases import own_schema
from support.torture_cli import Command
from support.torture_topics import Feed
from support.upstream_tidb import ODD_DATES, TYPES, Upstream, upstream
from support.upstream_workload import Workload, definition, working
from ticdc_consumer import failpoints
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.commands.load.loading import load
from ticdc_consumer.state.loading import LoadProgress
from ticdc_consumer.status import diagnosis, reading
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import until
from ticdc_encoder.event import Ddl, RowChange
from ticdc_encoder.values import FAMILIES
from ticdc_torture.process import PATIENCE

TEXTS = [
    ("char(9) character set utf8", "'é中'", "é中"),
    ("varchar(20000) character set utf8 collate utf8_general_ci", "repeat('中', 9)", "中" * 9),
    ("tinytext character set utf8", "repeat('中', 85)", "中" * 85),
    ("varchar(300) character set ascii", "repeat('a', 300)", "a" * 300),
    ("text character set ascii", "'it''s \\\\'", "it's \\"),
    ("tinytext character set latin1", "repeat('😀', 63)", "😀" * 63),
    ("varchar(20) character set gbk collate gbk_bin", "'ǹ中'", "ǹ中"),
    ("enum('é', 'ü') character set utf8", "'ü'", "2"),
]


@pytest.mark.parametrize("types", [TYPES, ODD_DATES, TEXTS], ids=["types", "odd dates", "texts"])
def test_a_loaded_table_equals_the_one_that_the_stream_writes(
    types: Any, tidb: Upstream, feed: Feed, into: Callable[..., Command], target_url: str
) -> None:
    tidb.create_typed(types)
    run = into(target_url)
    outcome = run.load()
    if types is ODD_DATES and target_url.startswith("postgresql"):
        assert "typed: column c0 holds a zero or partial date, such as 0000-00-00" in said_by(
            outcome
        )
        assert run.rows("SELECT * FROM ticdc_checkpoint") == []
        return
    assert outcome.code == 0, outcome.said
    assert "loaded: 2 rows; R " in outcome.said
    stream_copy(tidb, feed, types)
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert len(rows := run.rows("SELECT * FROM typed ORDER BY id")) == 2
    assert rows == run.rows("SELECT * FROM streamed ORDER BY id")
    with closing(open_target(target_url)) as target:
        one, other = (target.describe(*target.locate(own_schema(target_url), n)) for n in COPIES)
    assert one is not None
    assert other is not None
    assert (one.columns, len(one.unique_keys)) == (other.columns, len(other.unique_keys))
    assert cli.main(["verify", str(run._file), *run.arguments()]) == 0


COPIES = ("typed", "streamed")


def stream_copy(tidb: Upstream, feed: Feed, types: Any) -> None:
    """The table `streamed`, which is `typed`, comes through the topic."""
    tidb.execute("CREATE TABLE streamed LIKE typed")
    table = definition(tidb, "streamed")
    (created,) = tidb.execute("SHOW CREATE TABLE streamed")
    feed.send(0, Ddl(tidb.schema, "streamed", created[1], tidb.ts(), 3, table))
    columns = {column.name: column.type for column in table.columns if not column.virtual}
    values = {
        f"c{n}": value if isinstance(value, bytes) else FAMILIES[type_.name].from_text(value)
        for n, (_, _, value) in enumerate(types)
        if (type_ := columns.get(f"c{n}")) is not None
    }
    stored = {c.name: 2 for c in table.columns if c.generated == "stored"}
    nulls = {name: stored.get(name) for name in values}
    written = ", ".join(column.name for column in table.columns if not column.generated)
    tidb.execute(f"INSERT INTO streamed ({written}) SELECT {written} FROM typed")  # noqa: S608
    commit_ts = tidb.ts()
    feed.send(0, RowChange(table, commit_ts, after={"id": 1, **values}))
    feed.send(1, RowChange(table, commit_ts, after={"id": 2, **nulls}))
    feed.resolve(commit_ts + 1)


# --- a crash anywhere ---------------------------------------------------------------------------

PEOPLE = (
    "CREATE TABLE teams (id int PRIMARY KEY, name varchar(20) NOT NULL, UNIQUE KEY (name))",
    "CREATE TABLE people (a varchar(9), b int, team int, note text, KEY (team), "
    "PRIMARY KEY (a, b), CONSTRAINT member FOREIGN KEY (team) REFERENCES teams (id))",
    "CREATE TABLE log (line varchar(20))",
)
STOCK = "CREATE TABLE stock (id int PRIMARY KEY, n int, text varchar(20))"
IN_STOCK = "SELECT * FROM stock ORDER BY id"
KILLED_AT = (
    "load-statement-ran:2",
    "chunk-commit:2",
    "chunk-rows-written:2",
    "chunk-committed:1",
    "load-statement-ran:1",
    "load-set-r:1",
    "load-ended:1",
)
KILLED_LONG = (
    *(
        "load-statement-ran:2",
        "load-statement-ran:1",
        *("chunk-rows-written:1", "chunk-commit:1", "chunk-rows-written:2", "chunk-rows-written:2")
        * 5,
    ),
    *(
        "chunk-commit:2",
        "chunk-rows-written:1",
        "chunk-committed:1",
        "chunk-commit:1",
        "load-set-r:1",
        "load-set-r:1",
        "load-set-r:1",
        "load-ended:1",
    ),
)
"""30 kills, with `--long`."""


def fill(tidb: Upstream, rows: int) -> None:
    tidb.execute(*PEOPLE)
    numbers = range(rows)
    teams = ", ".join(f"({n}, 'team {n}')" for n in range(5))
    people = ", ".join(f"('p{n % 3}', {n}, {n % 5}, repeat('x', {n}))" for n in numbers)
    tidb.execute(
        f"INSERT INTO teams VALUES {teams}",  # noqa: S608
        f"INSERT INTO people VALUES {people}",  # noqa: S608
        f"INSERT INTO log VALUES {', '.join(['(NULL)', *['(1)'] * rows])}",  # noqa: S608
    )


TABLES = {
    "people": "SELECT a, b, team, note FROM people ORDER BY a, b",
    "teams": "SELECT id, name FROM teams ORDER BY id",
    "log": "SELECT line FROM log ORDER BY coalesce(line, '')",
}


def compare(tidb: Upstream, run: Command) -> None:
    for query in TABLES.values():
        assert run.rows(query) == tidb.execute(query), query


def loading(run: Command) -> LoadProgress | None:
    """What `status` shows of the load."""
    with closing(open_target(run.target_url, to_look=True)) as target:
        return reading.read(target, run.options()).loading


@pytest.fixture
def crash(long: bool, monkeypatch: pytest.MonkeyPatch) -> Callable[[Command, str], bool]:
    """Lets a load die at a step, and gives whether it did: a process of its own by kill -9 if the
    target is SQLite, else by an exception that nothing handles, which takes a tenth of the time."""

    def crash(run: Command, step: str) -> bool:
        name, _, number = step.partition(":")
        if long or run.target_url.startswith("sqlite"):
            driver = run.driver(f"{name}:kill:{number}", command="load")
            code, said = driver.wait(600.0 if long else PATIENCE)
            assert code in (-9, 0), said
            return code == -9
        failpoints._hits.clear()
        with monkeypatch.context() as patch:
            patch.setenv("TICDC_FAILPOINT", f"{name}:raise:{number}")
            try:
                outcome = run.load()
            except failpoints.FailpointReached:
                return True
        assert outcome.code == 0, outcome.said
        return False

    return crash


def test_a_load_killed_anywhere_continues_without_doubles(
    tidb: Upstream,
    feed: Feed,
    into: Callable[..., Command],
    target_url: str,
    crash: Callable[[Command, str], bool],
    long: bool,
) -> None:
    """While rows of the upstream change, and one of its tables gets columns after kills."""
    fill(tidb, 60)
    tidb.execute(STOCK)
    run = into(target_url, limits__load_chunk=1500, tables__at_least_once=f"{tidb.schema}.log")
    done = 0
    with upstream(tidb.url) as writer, working(Workload(writer, feed, seed=7)) as workload:
        for number, step in enumerate(KILLED_LONG if long else KILLED_AT):
            died = crash(run, step)
            assert (
                died or step == "load-statement-ran:1"
            )  # where a target creates no index after the rows
            progress = loading(run)
            if step == "load-ended:1" or not died:
                break
            assert progress is not None
            assert done <= progress.chunks_done <= progress.chunks
            done = progress.chunks_done
            assert "is being loaded as of" in said_by(run())
            # On a busy machine it may give the target up before it answers.
            assert until(lambda: diagnosis.why(run.options()).cause == "loading", 60.0)
            tidb.execute("UPDATE people SET note = 'later' WHERE b = 1")
            if number % 5 == 0:
                workload.add_column()
        assert "already: continue with: ticdc-consumer run" in said_by(run.load())
    tidb.execute(f"SET @@tidb_snapshot = {run.resolved_ts - 1}")
    for query in (*TABLES.values(), IN_STOCK):
        assert run.rows(query) == tidb.execute(query), query
    tidb.execute("SET @@tidb_snapshot = ''", "UPDATE people SET note = 'x' WHERE b = 1")
    assert loading(run) is None
    with closing(open_target(target_url)) as target:
        keys = target.references(*target.locate(own_schema(target_url), "people"))
    assert [key.columns for key in keys] == [("team",)]
    catalog = sa.inspect(sa.create_engine(target_url, poolclass=sa.NullPool))
    schema = None if target_url.startswith("sqlite") else own_schema(target_url)
    assert ["team"] in [index["column_names"] for index in catalog.get_indexes("people", schema)]
    assert ["name"] in [index["column_names"] for index in catalog.get_indexes("teams", schema)]
    feed.resolve(last := tidb.ts())
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, last), outcome.said
    compare(tidb, run)
    assert run.rows(IN_STOCK) == tidb.execute(IN_STOCK)
    assert (outcome := run.command("verify")).code == 0, outcome.said


@pytest.mark.parametrize("target", ["postgresql", "mariadb"])
def test_sparks_tasks_load_the_chunks(
    target: str,
    tidb: Upstream,
    into: Callable[..., Command],
    spark: SparkSession,
    request: pytest.FixtureRequest,
) -> None:
    fill(tidb, 200)
    url = request.getfixturevalue(f"{target}_url")
    run = into(url, limits__load_chunk=1000, tables__at_least_once=f"{tidb.schema}.log")
    seen = list[LoadProgress]()
    load(run.options(), report=seen.append, spark=spark)
    assert seen[-1].chunks_done == seen[-1].chunks > 8
    assert seen[-1].rows_done == 406
    compare(tidb, run)


# --- a load under a workload --------------------------------------------------------------------


def test_a_load_under_a_workload_and_the_run_equal_the_upstream(
    tidb: Upstream, feed: Feed, into: Callable[..., Command], target_url: str
) -> None:
    tidb.execute(STOCK)
    run = into(target_url, limits__load_chunk=500)
    with upstream(tidb.url) as writer, working(Workload(writer, feed, seed=7)) as workload:
        outcome = run.load()
    assert outcome.code == 0, outcome.said
    snapshot_ts = run.resolved_ts - 1
    tidb.execute(f"SET @@tidb_snapshot = {snapshot_ts}")
    assert run.rows(IN_STOCK) == tidb.execute(IN_STOCK)
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, workload.last), outcome.said
    tidb.execute("SET @@tidb_snapshot = ''")
    assert run.rows(IN_STOCK) == tidb.execute(IN_STOCK)
    assert (outcome := run.command("verify")).code == 0, outcome.said


def test_run_with_load_does_both_and_loads_once(
    tidb: Upstream, feed: Feed, into: Callable[..., Command], sqlite_url: str
) -> None:
    tidb.execute("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    run = into(sqlite_url)
    first = run("--load")
    assert first.code == 0, first.said
    assert "loaded: 1 row; R " in first.said
    feed.resolve(later := tidb.ts())
    again = run("--load")
    assert (again.code, run.resolved_ts) == (0, later), again.said
    assert "loaded" not in again.said
    assert run.rows("SELECT id FROM t") == [(1,)]


# --- what is refused ----------------------------------------------------------------------------


def said_by(outcome: Any) -> str:
    assert outcome.code == 3, outcome.said
    assert outcome.said.count("\n") == 1, outcome.said
    return str(outcome.said)


def test_existing_rows_are_replaced_only_if_that_is_asked_for(
    tidb: Upstream, into: Callable[..., Command], target_url: str
) -> None:
    tidb.execute("CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 1)")
    run = into(target_url)
    engine = sa.create_engine(target_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (id int NOT NULL PRIMARY KEY, n int, own int)")
        connection.exec_driver_sql("INSERT INTO t VALUES (1, 2, 3), (4, 5, 6)")
    assert "has rows: empty it, or load with --replace" in said_by(run.load())
    outcome = run.load("--replace")
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT id, n, own FROM t") == [(1, 1, None)]


REFUSED = [
    ("CREATE TABLE t (id int)", "t: no valid key: it has neither"),
    ("CREATE TABLE t (id int PRIMARY KEY, `ID2` int, v vector)", "t: column v"),
    ("CREATE TABLE t (s varchar(999) CHARSET latin1 PRIMARY KEY)", "t: key PRIMARY (s) takes 3996"),
    ("CREATE TABLE t (i int PRIMARY KEY, s varchar(999) CHARSET latin1 UNIQUE)", "t: key s (s) "),
    ("CREATE VIEW t AS SELECT 1 AS one", "the upstream has no table that [tables] filter matches"),
]


@pytest.mark.parametrize(("create", "words"), REFUSED)
def test_what_cannot_be_loaded_is_named_before_anything_is_done(
    create: str, words: str, tidb: Upstream, into: Callable[..., Command], mysql_url: str
) -> None:
    tidb.execute(create, *(["CREATE TABLE a (id int PRIMARY KEY)"] if "TABLE" in create else []))
    run = into(mysql_url)
    assert words in said_by(run.load())
    assert not sa.inspect(sa.create_engine(mysql_url)).has_table("a")


def test_a_load_needs_topics_that_begin_before_it(
    tidb: Upstream, feed: Feed, into: Callable[..., Command], sqlite_url: str
) -> None:
    tidb.execute("CREATE TABLE t (id int PRIMARY KEY)")
    run = into(sqlite_url)
    early = tidb.ts() - (600_000 << 18)
    assert f"after {early}: changes between the two would be lost" in said_by(
        run.load("--at", str(early))
    )
    late = tidb.ts() + (600_000 << 18)
    assert f"--at {late} is not there yet" in said_by(run.load("--at", str(late)))
    present = tidb.ts()
    tidb.execute("INSERT INTO t VALUES (1)")
    outcome = run.load("--at", str(present))
    assert outcome.code == 0, outcome.said
    assert (run.rows("SELECT * FROM t"), run.resolved_ts) == ([], present + 1)
    assert "is at R = " in said_by(run.load())
