"""After a DDL only the layouts that it may have changed are built again."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from support.both_paths import WHOLE, job_of, options_for
from support.loading import options
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.read.task import Reading
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.pickled_once import BLOCK, PickledInBlocks, unpacked
from ticdc_consumer.protocols.shape import PickledShapes
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_encoder.event import Resolved, RowChange, Table
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.sql.parser import parse_create_table

CREATED = {
    "parent": "CREATE TABLE parent (id INT PRIMARY KEY, v INT)",
    "child": "CREATE TABLE child (id INT PRIMARY KEY, p INT REFERENCES parent (id), "
    "FOREIGN KEY (p) REFERENCES parent (id))",
    "Other": "CREATE TABLE Other (id INT PRIMARY KEY, v INT)",
    "far": "CREATE TABLE far (id INT PRIMARY KEY, v INT)",
}
STAYING = [
    ("CREATE TABLE new (id INT PRIMARY KEY)", "new", {"parent", "child", "Other", "far"}),
    ("CREATE TABLE new LIKE far", "new", {"parent", "child", "Other", "far"}),
    (
        "CREATE TABLE new (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES far (id))",
        "new",
        {"parent", "child", "Other"},
    ),
    ("ALTER TABLE Other ADD COLUMN w INT", "Other", {"parent", "child", "far"}),
    ("ALTER TABLE OTHER ADD COLUMN w INT", "Other", {"parent", "child", "far"}),
    ("ALTER TABLE parent ADD COLUMN w INT", "parent", {"Other", "far"}),
    ("ALTER TABLE child ADD COLUMN w INT", "child", {"Other", "far"}),
    ("TRUNCATE TABLE far", "far", {"parent", "child", "Other"}),
    ("DROP TABLE child", "child", {"Other", "far"}),
    ("RENAME TABLE far TO away", "away", {"parent", "child", "Other"}),
    ("CREATE VIEW seen AS SELECT id FROM far", "seen", {"parent", "child", "Other", "far"}),
    ("CREATE DATABASE more", "", {"parent", "child", "Other", "far"}),
    ("DROP DATABASE shop", "", set()),
    ("CREATE SEQUENCE numbers", "numbers", set()),
]


class Changefeed:
    """A SQLite file with the tables above, whose rows have come."""

    def __init__(self, path: Path, **settings: object) -> None:
        self.options = options(f"sqlite:///{path}", **settings)
        self.target = open_target(self.options.target_url)
        self.store = Store(self.target, self.options.changefeed)
        self.store.start(1.0)
        self.store.begin_first(Checkpoint.first(self.options, 1, {}))
        self.tables = TableLayouts(self.options, self.target)
        self.context = DdlContext.of(
            self.options, self.target, self.store.ledger, self.tables.route
        )
        self.ts = 1
        self.run("CREATE DATABASE shop", "")
        for name, query in CREATED.items():
            self.run(query, name)
        self.tables.learn(self.store.ledger)
        for query in CREATED.values():
            self.tables.add(parse_create_table(query, "shop"), deletes_only=False)

    def run(self, query: str, table: str) -> list[LedgerEntry]:
        self.ts += 1
        entries = [LedgerEntry(self.ts, 1, "shop", table, query)]
        with self.target.transaction():
            ddl.run_in_cut(self.context, entries)
        return entries

    def built(self) -> dict[str, int]:
        """The layouts that there are, each by its identity."""
        layouts, shapes = self.tables.for_tasks()
        return {name: id(layouts[number]) for (_, name), (number, _) in shapes.items()}


@contextmanager
def changefeed(path: Path, **settings: object) -> Iterator[Changefeed]:
    feed = Changefeed(path / "target.db", **settings)
    try:
        yield feed
    finally:
        feed.target.close()


@pytest.mark.parametrize(
    ("query", "table", "staying"), STAYING, ids=[query for query, *_ in STAYING]
)
def test_a_ddl_keeps_the_layouts_of_tables_it_does_not_touch(
    tmp_path: Path, query: str, table: str, staying: set[str]
) -> None:
    with changefeed(tmp_path) as feed:
        before = feed.built()
        entries = feed.run(query, table)
        feed.tables.learn(feed.store.ledger, entries)
        assert feed.built() == {name: before[name] for name in staying}
        # Without the DDL, it may have been any.
        feed.tables.learn(feed.store.ledger)
        assert feed.built() == {}


def test_what_an_operator_ran_instead_may_have_touched_any_table(tmp_path: Path) -> None:
    with changefeed(tmp_path) as feed:
        (entry,) = feed.run(*STAYING[0][:2])
        feed.tables.learn(feed.store.ledger, [replace(entry, instead="DROP TABLE far")])
        assert feed.built() == {}


def test_avro_may_name_a_new_table_like_another(tmp_path: Path) -> None:
    with changefeed(tmp_path) as feed:
        feed.tables._exactness = replace(feed.tables._exactness, wire_name=str.lower)
        feed.tables.learn(feed.store.ledger, feed.run(*STAYING[0][:2]))
        assert feed.built() == {}


def test_the_number_of_a_layout_that_was_dropped_is_used_again(tmp_path: Path) -> None:
    with changefeed(tmp_path) as feed:
        before = feed.tables.for_tasks()[1]
        feed.tables.learn(feed.store.ledger, feed.run("ALTER TABLE far ADD COLUMN w INT", "far"))
        assert ("shop", "far") not in feed.tables.for_tasks()[1]
        query = "CREATE TABLE far (id INT PRIMARY KEY, v INT, w INT)"
        feed.tables.add(parse_create_table(query, "shop"), deletes_only=False)
        assert len(feed.tables.layouts) == len(CREATED)
        layouts, shapes = feed.tables.for_tasks()
        number, expected = shapes["shop", "far"]
        assert number == before["shop", "far"][0]
        assert not expected.keys_only
        assert len(expected.columns) == len(layouts[number].source) == 3


def test_a_task_builds_what_it_needs_of_three_tables_of_300() -> None:
    tables = {
        ("shop", f"t{n}"): parse_create_table(f"CREATE TABLE t{n} (id INT PRIMARY KEY)", "shop")
        for n in range(300)
    }
    job = job_of(options_for("canal-json"), tables)
    layouts, shapes = PickledInBlocks(job.layouts), PickledShapes(job.shapes)
    job = pickle.loads(pickle.dumps(replace(job, layouts=layouts, shapes=shapes)))
    unpacked.cache_clear()
    reading = Reading(job, [WHOLE])
    assert unpacked.cache_info().misses == 0
    wire = FORMATS["canal-json"]
    encoder = wire.Encoder(wire.Options(), lambda: 0)
    (progress,) = reading.progress.values()
    for offset, number in enumerate([7, 250, 7, 8, 250]):
        change = RowChange(tables["shop", f"t{number}"], 10 + offset, after={"id": offset})
        for record in [*encoder.row(change), *encoder.flush()]:
            reading.feed(progress, *record, offset, 0)
    reading.feed(progress, *encoder.resolved(Resolved(99)), 5, 0)
    batches = list(reading.fold.flush())
    assert sorted((batch["table"][0].as_py(), batch.num_rows) for batch in batches) == [
        (7, 2),
        (8, 1),
        (250, 2),
    ]
    assert sorted(reading.fold._met) == [7, 8, 250]
    # t7 and t8 are in one block of layouts; all blocks of shapes are equal here.
    assert BLOCK == 32 and unpacked.cache_info().misses == 3


BARE = "CREATE TABLE bare (id INT, v INT)"
TWO = "CREATE TABLE two (a INT NOT NULL UNIQUE, b INT NOT NULL UNIQUE)"
ONE = "CREATE TABLE one (a INT NOT NULL UNIQUE, b INT)"
SUMS = "CREATE TABLE sums (id INT PRIMARY KEY, v INT AS (id + 1) STORED)"
WORDS = "CREATE TABLE words (id INT PRIMARY KEY, mood TEXT)"
SENT_WORDS = "CREATE TABLE words (id INT PRIMARY KEY, mood ENUM('b','a'))"
TRIGGER = "CREATE TRIGGER seen AFTER INSERT ON far BEGIN SELECT 1; END"
REFUSED = [
    (TRIGGER, CREATED["far"], ("id",), "shop.far: trigger seen would see net changes only"),
    (BARE, BARE, (), "shop.bare: no valid key: neither the messages nor the target's table"),
    (BARE, BARE, ("id",), r"shop.bare: rows are identified by \(id\), but"),
    (TWO, TWO, (), r"shop.two: neither .* name upstream's key, and the target's \(.; .\) may be"),
    (ONE, ONE, (), r"shop.one: neither .* name upstream's key, and the target's \(a\) may be an"),
    (TWO, TWO, ("a", "b"), r"shop.two: rows are identified by \(a, b\), but"),
    ("SELECT 1", BARE, ("id",), 'shop.bare: the target has no table "bare"'),
    (SUMS, SUMS, ("id",), "shop.sums.v: the target generates it, and whether upstream does is not"),
    (WORDS, SENT_WORDS, ("id",), "shop.words.mood: the labels of this enum are not known"),
]
"""What was run in the target; a table as its rows show it, and the key that they name; why not."""


def as_rows_show(query: str, *handle_key: str) -> Table:
    table = parse_create_table(query, "shop")
    columns = tuple(
        replace(c, generated=None, expression=None, type=replace(c.type, elements=()))
        for c in table.columns
    )
    return replace(table, columns=columns, indexes=(), handle_key=handle_key)


@pytest.mark.parametrize(("run", "query", "key", "why"), REFUSED, ids=[r[-1] for r in REFUSED])
def test_a_table_whose_rows_cannot_be_applied_exactly_is_refused(
    tmp_path: Path, run: str, query: str, key: tuple[str, ...], why: str
) -> None:
    with changefeed(tmp_path) as feed:
        feed.target.execute(run).close()
        with pytest.raises(Stop, match=why):
            feed.tables.add(as_rows_show(query, *key), deletes_only=False)


ALLOWED = [
    (TRIGGER, CREATED["far"], ("id",), {"apply": "transactions"}),
    (TRIGGER, CREATED["far"], ("id",), {"allow_triggers": ("shop.far",)}),
    (BARE, BARE, (), {"at_least_once": ("shop.bare",)}),
    (TWO, TWO, (), {"keys": {"shop.two": ("b",)}}),
    (ONE, ONE, (), {"keys": {"shop.one": ("a",)}}),
]


@pytest.mark.parametrize(("run", "query", "key", "settings"), ALLOWED)
def test_what_an_operator_allows_is_not_refused(
    tmp_path: Path, run: str, query: str, key: tuple[str, ...], settings: dict[str, object]
) -> None:
    with changefeed(tmp_path, **settings) as feed:
        feed.target.execute(run).close()
        table = as_rows_show(query, *key)
        feed.tables.add(table, deletes_only=False)
        assert table.name in feed.built()


def test_a_foreign_key_that_no_session_can_defer_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with changefeed(tmp_path) as feed:
        described = feed.target.describe(None, "far")
        assert described is not None
        strict = replace(described, strict_foreign_keys=(("fk", "ALTER TABLE far ..."),))
        monkeypatch.setattr(feed.target, "describe", lambda *_: strict)
        with pytest.raises(Stop, match=r"shop.far: foreign key fk cannot be deferred; run: ALTER"):
            feed.tables.add(parse_create_table(CREATED["far"], "shop"), deletes_only=False)


STRANGE_ROWS = [
    (
        0,
        "start with --from-ts TS if they are a snapshot of TS, load all tables by: ticdc-consumer "
        "load CONFIG --replace, or delete them if upstream's table had no rows when",
    ),
    (5, "did not write; load it by: ticdc-consumer load CONFIG --table shop.old, or delete them"),
]


@pytest.mark.parametrize(("empty_at", "words"), STRANGE_ROWS)
def test_a_table_of_which_nothing_is_known_must_have_no_rows(
    tmp_path: Path, empty_at: int, words: str
) -> None:
    with changefeed(tmp_path) as feed:
        feed.target.execute("CREATE TABLE old (id INT PRIMARY KEY NOT NULL)").close()
        old = parse_create_table("CREATE TABLE old (id INT PRIMARY KEY)", "shop")
        feed.tables.add(old, deletes_only=False, empty_at=empty_at)
        feed.target.execute("INSERT INTO old VALUES (1)").close()
        feed.tables.add(old, deletes_only=False)  # a snapshot was declared
        with pytest.raises(Stop) as refusal:
            feed.tables.add(old, deletes_only=False, empty_at=empty_at)
        assert words in str(refusal.value)


def test_a_table_that_the_ledger_knows_may_have_rows(tmp_path: Path) -> None:
    with changefeed(tmp_path) as feed:
        feed.target.execute("INSERT INTO far VALUES (1, 1)").close()
        far = parse_create_table(CREATED["far"], "shop")
        feed.tables.add(far, deletes_only=False, empty_at=5)
        with feed.target.transaction():
            feed.store.ledger.note("shop", "old")
        feed.tables.learn(feed.store.ledger)
        feed.target.execute("CREATE TABLE old (id INT PRIMARY KEY NOT NULL)").close()
        feed.target.execute("INSERT INTO old VALUES (1)").close()
        old = parse_create_table("CREATE TABLE OLD (id INT PRIMARY KEY)", "shop")
        feed.tables.add(old, deletes_only=False, empty_at=5)


def test_what_messages_lack_of_a_table_comes_from_the_upstream(
    tmp_path: Path,
) -> None:
    with changefeed(tmp_path) as feed:
        for run, query, key, codecs in (
            (ONE, ONE, ("a",), ("integer", "integer")),
            (SUMS, SUMS, ("id",), ("integer", "skip")),
            (WORDS, SENT_WORDS, ("id",), ("integer", "enum")),
        ):
            feed.target.execute(run).close()
            sent = as_rows_show(query)
            feed.tables.declare(sent, parse_create_table(query, "elsewhere"))
            assert feed.tables.for_reading()["shop", sent.name].handle_key == key
            feed.tables.add(sent, deletes_only=False)
            layout = feed.tables.layouts[feed.tables.shapes["shop", sent.name][0]]
            assert (layout.key, layout.codecs) == (key, codecs)
        assert layout.elements == ((), ("b", "a"))
        assert [table.schema for table in feed.tables.declared()] == ["shop"] * 3
        seen = {table.name for table in feed.tables.sightings()}
        assert seen.isdisjoint({"one", "sums", "words"})
        declared = feed.tables.declared()
        feed.tables.note_recorded([], [])
        assert feed.tables.declared() == []
        assert [feed.tables.definitions["shop", t.name] for t in declared] == declared


OTHERS = [
    ("CREATE TABLE far (id INT PRIMARY KEY)", "shop.far.v: .* has no such column"),
    (
        "CREATE TABLE far (id INT PRIMARY KEY, v TEXT)",
        "shop.far.v: .* has another type .* have int",
    ),
]


@pytest.mark.parametrize(("query", "why"), OTHERS)
def test_the_definition_of_another_table_is_not_believed(
    tmp_path: Path, query: str, why: str
) -> None:
    with changefeed(tmp_path) as feed, pytest.raises(Stop, match=why):
        feed.tables.declare(as_rows_show(CREATED["far"], "id"), parse_create_table(query, "shop"))


def test_a_column_that_only_the_target_generates_is_refused(tmp_path: Path) -> None:
    with changefeed(tmp_path) as feed:
        feed.target.execute(SUMS).close()
        plain = parse_create_table("CREATE TABLE sums (id INT PRIMARY KEY, v INT)", "shop")
        feed.tables.declare(plain, plain)
        with pytest.raises(Stop, match=r"sums\.v: the target generates it, and upstream does"):
            feed.tables.add(plain, deletes_only=False)


def test_a_table_without_an_upstream_key_gets_none_of_the_target(tmp_path: Path) -> None:
    with changefeed(tmp_path, at_least_once=("shop.one",)) as feed:
        feed.target.execute(ONE).close()
        keyless = parse_create_table("CREATE TABLE one (a INT, b INT)", "shop")
        feed.tables.declare(keyless, keyless)
        feed.tables.add(keyless, deletes_only=False)
        layout = feed.tables.layouts[feed.tables.shapes["shop", "one"][0]]
        assert layout.key == ()


def test_labels_of_a_column_that_an_alter_added_are_known(tmp_path: Path) -> None:
    with changefeed(tmp_path) as feed:
        feed.target.execute("CREATE TABLE words (id INT PRIMARY KEY)").close()
        feed.run("ALTER TABLE words ADD COLUMN mood ENUM('b','a')", "words")
        feed.tables.learn(feed.store.ledger)
        feed.tables.add(as_rows_show(SENT_WORDS, "id"), deletes_only=False)
        layout = feed.tables.layouts[feed.tables.shapes["shop", "words"][0]]
        assert layout.elements == ((), ("b", "a"))
