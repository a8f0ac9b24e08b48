"""A table is loaded again beside the one in use, while the changefeed goes on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa
from support.databases import own_schema
from support.torture_cli import Command
from support.torture_driver import Driver
from support.torture_topics import Feed
from support.upstream_tidb import Upstream, upstream
from support.upstream_workload import Workload
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import sleep, until

OTHERS = 200
"""Rows that no transaction touches."""
STOCK = "CREATE TABLE stock (id int PRIMARY KEY, n int, text varchar(20), UNIQUE KEY (text, id))"
ROWS = "SELECT id, n, text FROM stock ORDER BY id"


@contextmanager
def executing(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        yield connection


@pytest.fixture
def run(tidb: Upstream, into: Callable[..., Command], target_url: str) -> Command:
    """`stock` is loaded, and then spoilt by hand where no transaction comes."""
    others = ", ".join(f"({1000 + n}, {n}, 't{n}')" for n in range(OTHERS))
    tidb.execute(STOCK, f"INSERT INTO stock VALUES {others}")  # noqa: S608
    run = into(target_url, limits__load_chunk=1000)
    outcome = run.load()
    assert outcome.code == 0, outcome.said
    with executing(target_url) as connection:
        connection.exec_driver_sql("UPDATE stock SET n = -1 WHERE id >= 1000")
    return run


class Observer:
    """Reads the target all the time: `seen` is what the spoilt rows were, one after the other."""

    def __init__(self, url: str) -> None:
        self.seen: list[tuple[int, int]] = []
        self._url, self._over = url, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Observer":
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
    driver = run.driver()
    try:
        before = run.resolved_ts
        assert until(lambda: run.resolved_ts > before or not driver.running, 60.0)
        assert driver.running, driver.text
        yield driver
    finally:
        driver.kill()


def equals(run: Command, tidb: Upstream) -> None:
    """The target is as the upstream, and nothing is left of the load."""
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert run.rows(ROWS) == tidb.execute(ROWS)
    assert run.rows("SELECT * FROM ticdc_load") == []
    engine = sa.create_engine(run.target_url, poolclass=sa.NullPool)
    schema = None if run.target_url.startswith("sqlite") else own_schema(run.target_url)
    names = sa.inspect(engine).get_table_names(schema)
    assert [name for name in names if name.startswith(("ticdc_loading", "ticdc_replaced"))] == []


def test_a_table_that_is_loaded_while_its_rows_change_is_the_old_or_the_new_and_no_mix(
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
