"""The migrations of five applications, run in a real TiDB and sent as TiCDC sends them: every
target holds what TiDB holds, at each point where they are compared. Where a run stops, its message
is followed."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import pytest
import sqlalchemy as sa
from ddl import recorded_applications as applications
from ddl.recorded_applications import PREFIX, Point, Recorder, statements
from support import brokers
from support.databases import fresh_database
from support.golden_run import Own, Place, differences
from support.golden_snapshot import RecordedTable
from support.local_spark import LocalSpark
from support.server_address import server_address
from support.shapes import catalog
from support.torture_cli import Command, Outcome, commands
from support.torture_topics import Feed
from support.upstream_tidb import Upstream, upstream
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply import to_target
from ticdc_consumer.targets.layout import TableName

pytestmark = pytest.mark.slow
TARGETS = ("postgresql", "sqlite", "mariadb", "mysql", "tidb")
"""In this order: PostgreSQL's run loads tables, as of a moment that must not be long ago."""


@dataclass(frozen=True)
class Stop:
    """Where the run of an application ends with exit code 3, what it says, and how that is
    followed: SQL in the target, or in place of the DDL (`ddl_run`); then a table that is loaded.
    In both, `app_...` stands for the schema's name."""

    application: str
    targets: tuple[str, ...]
    says: str
    sql: tuple[str, ...] = ()
    ddl_run: bool = False
    load: str = ""
    texts: tuple[str, str] = ("", "")
    """A table, and the column of it that then holds what TiDB prints."""


def as_text(application: str, table: str, column: str) -> Stop:
    """PostgreSQL has no zero date."""
    name = f"{PREFIX}{application}.{table}"
    return Stop(
        application,
        ("postgresql",),
        f".{table}.{column}: a date that PostgreSQL does not have",
        (f"ALTER TABLE {name} ALTER COLUMN {column} TYPE text",),
        load=name,
        texts=(name, column),
    )


STOPS: tuple[Stop, ...] = (
    as_text("blog", "b_authors", "joined"),
    as_text("blog", "b_entries", "written"),
    as_text("blog", "b_talks", "said_at"),
    Stop(
        "blog",
        ("postgresql",),
        "column changed_utc: PostgreSQL has no date 0000-00-00",
        (
            "ALTER TABLE app_blog.b_entries "
            "ADD COLUMN changed_utc text NOT NULL DEFAULT '0000-00-00 00:00:00'",
        ),
        ddl_run=True,
        texts=("app_blog.b_entries", "changed_utc"),
    ),
)
JOINS = (
    "app_blog.b_published",
    "app_forge.open_issues",
    "app_monitor.hot_hosts",
    "app_shop.sold",
    "app_wiki.last_edits",
)
NOT_CERTAIN = dict.fromkeys(("sqlite", "postgresql"), JOINS)
"""Views that are not certain to show the same in a target, and are left out."""
TOO_LONG = {"profiles_host"}
"""Indexes that speed up reading alone, and are left out: docs/reference/types.md."""
FEW = 0.005
"""Of all statements, those at which some target may stop."""


class History:
    """An application's history, and its topic. Each part is played once, when it is asked for."""

    def __init__(self, application: str, url: str, tidb: Upstream, feed: Feed) -> None:
        self.application, self.upstream, self.feed = application, url, feed
        self._recorder = Recorder(application, tidb, feed)
        self._parts, self._played = self._recorder.run(), list[Point]()

    def points(self) -> Iterator[Point]:
        for number in count():
            if number == len(self._played):
                self._played += islice(self._parts, 1)
            if number == len(self._played):
                return
            yield self._played[number]

    @contextmanager
    def as_of(self, _: Settings, name: TableName, ts: int) -> Iterator[RecordedTable]:
        """Stands for `upstream.as_of.table_as_of`. The TiDB of one process keeps few versions of
        its schema; `test_ddl_upstream.py` asks it."""
        yield RecordedTable(*self._recorder.altered[*name, ts])


@pytest.fixture(scope="module")
def history() -> Iterator[Callable[[str], History]]:
    """By the application's name."""
    made: dict[str, History] = {}
    with ExitStack() as stack:
        url = stack.enter_context(fresh_database(server_address("TIDB_URL")))
        kafka = stack.enter_context(brokers.mock())

        def of(application: str) -> History:
            if application not in made:
                tidb = stack.enter_context(upstream(url))
                made[application] = History(application, url, tidb, Feed(kafka, name=application))
            return made[application]

        yield of


class Target:
    """A changefeed from a played history into an empty database."""

    def __init__(self, place: Place, played: History, run: Command) -> None:
        self.place, self.played, self.run = place, played, run
        self._own = f"{sa.make_url(played.upstream).database}_{PREFIX}"

    def follow(self, outcome: Outcome, stop: Stop, until: str, folder: Path) -> Outcome:
        """Does what the message of a stop says, and goes on."""
        sql = [self._named(text) for text in stop.sql]
        if stop.ddl_run:
            found = re.search(r"--ddl-run (\S+) FILE", outcome.said)
            assert found is not None, outcome.said
            file = folder / "own.sql"
            file.write_text("".join(f"{text};\n" for text in sql))
            return self.run("--ddl-run", found[1], str(file), until=until)
        engine = sa.create_engine(self.place.url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            for text in sql:
                connection.exec_driver_sql(text)
        if stop.load:
            loaded = self.run.load("--table", self.own(stop.load))
            assert loaded.code == 0, loaded.said
        return self.run(until=until)

    def leave_out(self, tables: Iterable[str]) -> None:
        """Of the application's tables, by the upstream's names."""
        rules = [f"{self._own}{self.played.application}*.*"]
        self.run.set(tables__filter=",".join([*rules, *(f"!{name}" for name in tables)]))

    def own(self, name: str) -> str:
        """The upstream's name of a table."""
        return name.replace(PREFIX, self._own)

    def _named(self, sql: str) -> str:
        """The names of tables as the target has them."""
        return re.sub(
            rf"{PREFIX}(\w+)\.(\w+)",
            lambda name: self.place.relation(f"{self._own}{name[1]}", name[2]),
            sql,
        )


@pytest.fixture
def opened(
    request: pytest.FixtureRequest,
    history: Callable[[str], History],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[str, str], Target]:
    """By application and target."""

    def opened(application: str, target: str) -> Target:
        played = history(application)
        place = Place(request.getfixturevalue(f"{target}_url"), target)
        commands(LocalSpark(2), monkeypatch)
        monkeypatch.setattr(to_target, "_upstream_table", played.as_of)
        settings = {"source__upstream": played.upstream, "ddl__load_missing": "true"}
        for pattern, to in place.route.items():
            settings["tables__route"] = f'{{"{pattern}" = "{to}"}}'
        run = Command([played.feed], place.url, tmp_path, capsys, **settings)
        here = Target(place, played, run)
        here.leave_out(())
        return here

    return opened


def stops_of(application: str, target: str) -> list[Stop]:
    return [s for s in STOPS if s.application == application and target in s.targets]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("application", applications.NAMES)
def test_a_target_is_as_tidb_is_after_each_migration(
    application: str, target: str, opened: Callable[[str, str], Target], tmp_path: Path
) -> None:
    here = opened(application, target)
    left_out = () if target == "tidb" else TOO_LONG  # which has indexes of latin1
    expected, own = stops_of(application, target), dict[str, Own]()
    for point in here.played.points():
        until = str(point.resolved_ts)
        outcome = here.run(until=until)
        while outcome.code == 3 and expected:
            stop = expected.pop(0)
            assert stop.says in outcome.said
            outcome = here.follow(outcome, stop, until, tmp_path)
            table, column = map(here.own, stop.texts)
            texts = own[table].texts if table in own else frozenset()
            own[table] = Own((), texts=texts | {column})
        assert outcome.code == 0, outcome.said
        with catalog(here.place) as found:
            missing = found.views_left_out(point.told.tables)
            shapes = [
                each for table in point.tables for each in found.differences(*table, left_out)
            ]
        assert shapes == []
        assert differences(here.place, point.told, point.state, own, missing) == ""
    assert missing <= {here.own(name) for name in NOT_CERTAIN.get(target, ())}
    assert expected == []


def test_few_statements_stop() -> None:
    all_ = sum(each is not None for name in applications.NAMES for each in statements(name))
    assert sum(len(stop.targets) for stop in STOPS) <= FEW * all_ * len(TARGETS)


REFUSED = {("blog", "postgresql"): {"app_blog.b_authors", "app_blog.b_entries"}}
"""Tables that `load` refuses, by application and target."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("application", applications.NAMES)
def test_check_names_what_load_refuses_and_the_rest_is_exact(
    application: str, target: str, opened: Callable[[str, str], Target]
) -> None:
    here = opened(application, target)
    assert list(here.played.points()) != []
    refused = {here.own(name) for name in REFUSED.get((application, target), ())}
    checked = here.run.command("check")
    named = set(re.findall(r"^fail +table (\S+):", checked.printed, re.MULTILINE))
    assert (checked.code, named) == (3 if refused else 0, refused), checked.printed
    if refused:
        outcome = here.run.load()
        assert outcome.code == 3, outcome.said
        assert all(name in outcome.said for name in refused)
        assert here.run.rows("SELECT * FROM ticdc_checkpoint") == []
        here.leave_out(refused)
    outcome = here.run.load()
    assert outcome.code == 0, outcome.said
    verified = here.run.command("verify")
    assert verified.code == 0, verified.printed + verified.said
