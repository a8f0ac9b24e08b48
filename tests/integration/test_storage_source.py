"""Files of the cloud storage sink instead of Kafka's topics, end to end."""

import json
import re
import shutil
import sqlite3
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from support.golden import Variant, scenario
from support.golden_run import Place, differences, run_to
from support.loading import opened
from support.local_spark import LocalSpark
from support.storage_sink import Sink
from support.torture_cli import Command, Make, refuses
from support.torture_topics import ITEMS, deleted, inserted, table, ts, updated
from ticdc_consumer import cli
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut import cut_reader, planner
from ticdc_consumer.source.storage import records as reading
from ticdc_consumer.source.storage import source
from ticdc_encoder.event import Row, RowChange
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.storage.layout import METADATA, metadata_json

# --- TiCDC's own files ---------------------------------------------------------------------------

GOLDEN = [
    (name, variant.name)
    for name in ("keys", "types", "splits", "workload")
    for variant in scenario(name).variants.values()
    if variant.name.startswith(("csv", "storage")) and variant.name != "csv.default"
]
LEFT_OUT = ("keysdb.nokey", "keysdb.uknull")
"""Without a key: sent with force-replicate only."""
UNWRITTEN = "typedb.zeros"
"""A row of it has an ENUM that CSV cannot say: TiCDC's changefeed would stop."""


def options_of(variant: Variant, folder: Path, target_url: str) -> Settings:
    csv = tomllib.loads(variant.config_toml).get("sink", {}).get("csv", {})
    csv.pop("output-handle-key", None)  # the new architecture has none
    return Settings(
        changefeed="golden",
        protocol="csv" if variant.name.startswith("csv") else "canal-json",
        topics=(),
        kafka={},
        target_url=target_url,
        time_zone=variant.server_tz,
        future_limit=10 * 365 * 86400.0,
        storage_url=folder.as_uri(),
        storage_date_separator="none",
        storage_csv=csv,
    )


def golden_run(name: str, variant_name: str, place: Place, folder: Path, spark: Any) -> None:
    given = scenario(name)
    variant = given.variants[variant_name]
    for path, content in variant.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    (folder / METADATA).write_bytes(metadata_json(given.resolved[-1]))
    left_out = LEFT_OUT if variant_name == "storage-canal-json" else (*LEFT_OUT, UNWRITTEN)
    with Consumer(options_of(variant, folder, place.url), spark) as consumer:
        for state in given.states:
            run_to(consumer, state.ts, place, given, {})
            assert differences(place, given, state, {}, left_out) == ""


@pytest.mark.parametrize(("name", "variant"), GOLDEN)
def test_the_target_is_what_tidb_was_at_every_resolved_ts(
    name: str, variant: str, sqlite_url: str, tmp_path: Path
) -> None:
    golden_run(name, variant, Place(sqlite_url, "sqlite"), tmp_path / "sink", LocalSpark(2))


def test_sparks_tasks_read_the_files_into_postgresql(
    postgresql_url: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cut_reader, "SMALL", 0)
    place = Place(postgresql_url, "postgresql")
    golden_run("workload", "csv.committs", place, tmp_path / "sink", spark)


# --- a sink that goes on -------------------------------------------------------------------------

ONE: Row = {"id": 1, "name": "one"}
TWO: Row = {"id": 2, "name": "two"}
THREE: Row = {"id": 3, "name": "three"}
UNO: Row = {"id": 1, "name": "uno"}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written while these tests look."""
    monkeypatch.setattr(source, "EVERY", 0.0)
    monkeypatch.setattr(planner, "PATIENCE", 0.0)
    monkeypatch.setattr("ticdc_consumer.cut.opening.PATIENCE", 0.0)


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path / "sink")


@pytest.fixture
def run(sink: Sink, sqlite_url: str, command: Make) -> Command:
    return command(
        [],
        sqlite_url,
        protocol="csv",
        storage__url=sink.folder.as_uri(),
        storage__csv="{include-commit-ts = true}",
    )


def items(run: Command) -> list[tuple[Any, ...]]:
    return run.rows("SELECT id, name FROM items ORDER BY id")


def offsets(run: Command) -> dict[str, int]:
    return dict(run.rows("SELECT topic, restart_offset FROM ticdc_offset"))


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
def test_files_of_a_quarantined_table_are_read_after_its_release(
    tmp_path: Path, sqlite_url: str, command: Make, protocol: str
) -> None:
    sink = Sink(tmp_path / "sink", protocol)
    csv = {"storage__csv": "{include-commit-ts = true}"} if protocol == "csv" else {}
    run = command([], sqlite_url, protocol=protocol, storage__url=sink.folder.as_uri(), **csv)
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    assert run().code == 0
    with opened(sqlite_url) as target:
        target.execute("CREATE UNIQUE INDEX names ON items (name)").close()
    again: Row = {"id": 2, "name": "one"}
    sink.send(inserted(110, again))
    sink.mark(200)
    sink.send(inserted(210, THREE))  # in the storage before its resolved ts
    outcome = run(on_error__quarantine="true")
    assert (outcome.code, "is quarantined" in outcome.said) == (0, True), outcome.said
    with opened(sqlite_url) as target:
        target.execute("DROP INDEX names").close()
    outcome = run.command("release", "shop.items")
    assert outcome.code == 0, outcome.said
    assert items(run) == [(1, "one"), (2, "one")]
    sink.mark(300)
    assert run().code == 0
    assert items(run) == [(1, "one"), (2, "one"), (3, "three")]


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
def test_a_file_that_cannot_be_read_sets_its_table_aside(
    tmp_path: Path, sqlite_url: str, command: Make, protocol: str
) -> None:
    sink = Sink(tmp_path / "sink", protocol)
    csv = {"storage__csv": "{include-commit-ts = true}"} if protocol == "csv" else {}
    run = command([], sqlite_url, protocol=protocol, storage__url=sink.folder.as_uri(), **csv)
    others = ITEMS.replace("items", "others")
    sink.create(10)
    sink.create(11, others)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    assert run().code == 0
    sink.send(inserted(110, TWO), inserted(120, TWO, table(others)))
    (*_, file) = sink.files(f"shop/items/**/CDC*.{'csv' if protocol == 'csv' else 'json'}")
    good, bad = (b",2,", b",x,") if protocol == "csv" else (b'"id":"2"', b'"id":"x"')
    file.write_bytes(file.read_bytes().replace(good, bad))
    for number in (200, 300):
        sink.mark(number)
        outcome = run(on_error__quarantine="true")
        assert (outcome.code, run.resolved_ts) == (0, ts(number)), outcome.said
        assert run.rows("SELECT id FROM others") == [(2,)]
    assert items(run) == [(1, "one")]
    file.write_bytes(file.read_bytes().replace(bad, good))
    assert run.command("release", "shop.items").code == 0
    assert items(run) == [(1, "one"), (2, "two")]


def test_what_metadata_covers_is_applied_and_no_more(sink: Sink, run: Command) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE), inserted(30, TWO))
    sink.mark(100)
    sink.send(updated(110, ONE, UNO), inserted(120, THREE))
    outcome = run()
    assert (outcome.code, run.resolved_ts) == (0, ts(100)), outcome.said
    assert items(run) == [(1, "one"), (2, "two")]
    folder = f"shop/items/{ts(10)}/2024-05-25"
    assert offsets(run) == {folder: 1}  # the second file is to be read again
    sink.send(deleted(130, TWO))
    sink.mark(200)
    assert run().code == 0
    assert items(run) == [(1, "uno"), (3, "three")]
    assert offsets(run) == {folder: 3}
    assert run().code == 0


def test_rows_of_one_file_are_applied_up_to_any_ts(sink: Sink, run: Command) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE), inserted(30, TWO))
    sink.mark(100)
    assert run(until=str(ts(30))).code == 0
    assert items(run) == [(1, "one")]
    assert run(until=str(ts(31))).code == 0
    assert items(run) == [(1, "one"), (2, "two")]


def test_a_ddl_stands_between_the_rows_of_two_versions(sink: Sink, run: Command) -> None:
    wider = parse_create_table("CREATE TABLE items (id INT PRIMARY KEY, name TEXT, n INT)", "shop")
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.ddl(30, "ALTER TABLE items ADD COLUMN n INT", "items", kind=5, definition=wider)
    sink.send(inserted(40, {**TWO, "n": 2}, wider))
    sink.ddl(50, "TRUNCATE TABLE items", "items", kind=11, definition=wider)
    sink.send(inserted(60, {**THREE, "n": 3}, wider))
    sink.mark(100)
    assert run(until=str(ts(45))).code == 0
    assert run.rows("SELECT * FROM items ORDER BY id") == [(1, "one", None), (2, "two", 2)]
    assert run().code == 0
    assert run.rows("SELECT * FROM items") == [(3, "three", 3)]


def test_what_a_restarted_sink_writes_again_changes_nothing(sink: Sink, run: Command) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE), updated(30, ONE, UNO))
    sink.send(inserted(120, TWO))
    sink.mark(100)
    assert run().code == 0
    again = Sink(sink.folder, start=15, today=date(2024, 5, 26))
    again.send(inserted(20, ONE), updated(30, ONE, UNO))
    again.send(inserted(120, TWO), inserted(130, THREE))
    again.mark(200)
    assert run().code == 0
    assert items(run) == [(1, "uno"), (2, "two"), (3, "three")]
    ((counters,),) = run.rows("SELECT counters FROM ticdc_checkpoint")
    counted = json.loads(counters)
    assert (counted["replays"], counted["duplicates"]) == (2, 1)


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
@pytest.mark.parametrize("separator", ["none", "year", "month", "day"])
def test_every_date_separator_is_read(
    separator: str, protocol: str, sqlite_url: str, command: Make, tmp_path: Path
) -> None:
    sink = Sink(tmp_path / "s", protocol, parameters=f"&date-separator={separator}")
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    csv = {"storage__csv": "{include-commit-ts = true}"} if protocol == "csv" else {}
    run = command(
        [],
        sqlite_url,
        protocol=protocol,
        storage__url=sink.folder.as_uri(),
        storage__date_separator=separator,
        **csv,
    )
    assert run().code == 0
    assert items(run) == [(1, "one")]


def test_several_writers_of_one_directory_count_each_for_itself(sink: Sink, run: Command) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.send(inserted(30, TWO))
    one, two = "0d2e66b2-3b3b-49b1-946b-e5cc94563f89", "1d2e66b2-3b3b-49b1-946b-e5cc94563f89"
    first, second = sink.files("shop/items/*/*/*.csv")
    first.rename(first.with_name(f"CDC_{one}_{1:020}.csv"))
    second.rename(second.with_name(f"CDC_{two}_{1:020}.csv"))
    for index in sink.files("shop/items/*/*/meta/CDC.index"):
        index.unlink()
        for writer in (one, two):
            index.with_name(f"CDC_{writer}.index").write_text(f"CDC_{writer}_{1:020}.csv\n")
    sink.mark(100)
    assert run().code == 0
    assert items(run) == [(1, "one"), (2, "two")]
    assert {Path(place).name for place in offsets(run)} == {f"CDC_{one}", f"CDC_{two}"}


def test_directories_may_be_named_by_table_ids(sink: Sink, run: Command) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    (sink.folder / "shop/items").rename(sink.folder / "77")
    assert run(storage__table_id_paths="true").code == 0
    assert items(run) == [(1, "one")]


@pytest.mark.parametrize("step", ["decode", "fenced", "commit", "committed"])
def test_a_killed_consumer_goes_on_where_its_last_commit_was(
    step: str, sink: Sink, run: Command
) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE), inserted(30, TWO))
    sink.mark(100)
    assert run(until=str(ts(25))).code == 0
    driver = run.driver(failpoint=f"{step}:kill", until="caught-up")
    assert driver.process.wait(60) == -9
    driver.kill()
    assert items(run) in ([(1, "one")], [(1, "one"), (2, "two")])
    assert run().code == 0
    assert items(run) == [(1, "one"), (2, "two")]


def test_a_default_that_is_not_utf_8_is_read_past(sink: Sink, run: Command) -> None:
    sql = "CREATE TABLE items (id INT PRIMARY KEY, name BIT(8) DEFAULT b'11111111')"
    sink.create(10, sql)
    sink.send(inserted(20, {"id": 1, "name": 254}, parse_create_table(sql, "shop")))
    sink.mark(100)
    assert run().code == 0
    assert items(run) == [(1, 254)]


@pytest.fixture
def unsized(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that lists files as fsspec's http does."""
    find = LocalFileSystem.find

    def without_sizes(self: LocalFileSystem, *args: Any, **more: Any) -> dict[str, Any]:
        found = find(self, *args, **more)
        return {path: {**about, "size": None} for path, about in found.items()}

    monkeypatch.setattr(LocalFileSystem, "find", without_sizes)


@pytest.mark.usefixtures("unsized")
def test_files_that_are_listed_without_sizes_are_asked_for_them(sink: Sink, run: Command) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.send(inserted(30, TWO))
    (last,) = sink.files("shop/items/*/*/*2.csv")
    last.write_bytes(b"")
    sink.mark(25)
    assert run().code == 0
    assert items(run) == [(1, "one")]
    assert offsets(run) == {f"shop/items/{ts(10)}/2024-05-25": 1}


@pytest.mark.usefixtures("unsized")
def test_files_that_have_no_size_at_all_stop_the_run(
    sink: Sink, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    monkeypatch.setattr(LocalFileSystem, "size", lambda self, path: None)
    outcome = run()
    assert outcome.code == 3
    assert "lists files without their sizes, and gives none for shop/items/" in outcome.said


def test_what_fails_once_is_asked_for_again(
    sink: Sink, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "PATIENCE", 5.0)
    monkeypatch.setattr("ticdc_consumer.cut.opening.PATIENCE", 5.0)
    asked: Counter[tuple[str, str]] = Counter()

    def every_other_fails(name: str) -> Any:
        real = getattr(LocalFileSystem, name)

        def flaky(self: LocalFileSystem, path: str, **more: Any) -> Any:
            asked[name, path] += 1
            if asked[name, path] % 2:
                raise ConnectionResetError
            return real(self, path, **more)

        return flaky

    for name in ("find", "cat_file"):
        monkeypatch.setattr(LocalFileSystem, name, every_other_fails(name))
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    outcome = run()
    assert outcome.code == 0, outcome.said
    assert items(run) == [(1, "one")]
    (data,) = sink.files("shop/items/*/*/*.csv")
    assert asked["cat_file", str(data)] > 1


@pytest.mark.parametrize(
    ("what", "until"),
    [("metadata", "caught-up"), ("metadata", str(ts(100))), (".csv", "caught-up")],
)
def test_a_storage_that_stays_away_ends_the_run(
    what: str, until: str, sink: Sink, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "PATIENCE", 0.5)
    monkeypatch.setattr(reading, "PATIENCE", 0.5)
    monkeypatch.setattr(planner, "PATIENCE", 0.5)
    monkeypatch.setattr("ticdc_consumer.cut.opening.PATIENCE", 0.5)
    asked = 0
    real = LocalFileSystem.cat_file

    def away(self: LocalFileSystem, path: str, **more: Any) -> Any:
        nonlocal asked
        if what not in path:
            return real(self, path, **more)
        asked += 1
        raise ConnectionResetError

    monkeypatch.setattr(LocalFileSystem, "cat_file", away)
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    outcome = run(until=until)
    assert outcome.code == 1
    assert re.search("the storage does not give .*: ConnectionResetError$", outcome.said)
    assert asked > 1


def test_a_storage_that_does_not_open_is_named_without_its_url(
    run: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "ftp://key:secret@127.0.0.1:1/sink"  # a driver that connects when it is opened
    words = "the storage does not open: ConnectionRefusedError\n"
    outcome = run(storage__url=url)
    assert (outcome.code, outcome.said) == (1, f"ticdc-consumer: {words}")
    code, said = said_by("check", run, tmp_path, capsys, storage__url=url)
    assert (code, f"fail  storage: {words}" in said) == (1, True)
    assert "secret" not in said


# --- what is not whole ---------------------------------------------------------------------------


def test_a_last_file_that_is_empty_or_missing_is_waited_for(sink: Sink, run: Command) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.send(inserted(120, TWO))
    sink.mark(100)
    (last,) = sink.files("shop/items/*/*/*2.csv")
    content = last.read_bytes()
    last.write_bytes(b"")
    assert run().code == 0
    last.unlink()
    assert run().code == 0
    assert offsets(run) == {f"shop/items/{ts(10)}/2024-05-25": 1}
    last.write_bytes(content)
    sink.mark(200)
    assert run().code == 0
    assert items(run) == [(1, "one"), (2, "two")]


Damage = Callable[[Path], object]


def middle(folder: Path) -> Path:
    return next(folder.glob("shop/items/*/*/*2.csv"))


def shortened(folder: Path) -> None:
    path = middle(folder)
    path.write_bytes(path.read_bytes()[:-7])


def last_ones_gone(folder: Path) -> None:
    for number in (2, 3):
        next(folder.glob(f"shop/items/*/*/*{number}.csv")).unlink()


def schema_of(folder: Path) -> Path:
    return next(folder.glob("shop/items/meta/*.json"))


def schema_changed(folder: Path) -> None:
    path = schema_of(folder)
    path.write_text(path.read_text().replace("INT", "BIGINT"))


DAMAGED: list[tuple[str, Damage, str]] = [
    ("a file cut short", shortened, "2.csv does not end with the terminator: it was cut short"),
    ("a file less", lambda f: middle(f).unlink(), "file 2 is missing, though file 3 exists"),
    ("an emptied file", lambda f: middle(f).write_bytes(b""), "file 2 is empty, though file 3"),
    ("the last files gone", last_ones_gone, "says that file 3 is the last, but only 1 exist"),
    ("another schema file", schema_changed, "the schema file's checksum is not"),
    ("no schema file", lambda f: schema_of(f).unlink(), "no schema files of version"),
    ("no JSON", lambda f: (f / METADATA).write_bytes(b'{"check'), "not JSON at character"),
    ("a file of another protocol", lambda f: (f / "shop/items/CDC1.json").touch(), "does not fit"),
    ("an older layout", lambda f: (f / "shop/items/schema.json").touch(), "TiCDC before 6.5.3"),
    ("a directory less", lambda f: shutil.rmtree(middle(f).parent), "is in the checkpoint, but"),
]


@pytest.mark.parametrize(("damage", "words"), [d[1:] for d in DAMAGED], ids=[d[0] for d in DAMAGED])
def test_what_is_damaged_stops_the_run(
    damage: Damage, words: str, sink: Sink, run: Command
) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    assert run(until=str(ts(15))).code == 0
    sink.send(inserted(120, TWO))
    sink.send(inserted(130, THREE))
    sink.mark(200)
    damage(sink.folder)
    reading._table_of.cache_clear()  # a process that runs has seen the schema file
    refuses(run, words)


# --- what the changefeed leaves out, or names otherwise -------------------------------------------

ROUTES = """
[[sink.dispatchers]]
matcher = ["shop.*"]
target-schema = "lake"
target-table = "{schema}_{table}"
"""
WIDE = "CREATE TABLE `items` (`id` INT PRIMARY KEY, `twice` INT AS (`id` * 2), `name` VARCHAR(9))"
SELECTORS = '[[sink.column-selectors]]\nmatcher = ["shop.*"]\ncolumns = ["*", "!name"]\n'
NEW: Any = {"version": "8.5.7", "new_architecture": True}
MASTER: Any = {"version": "9.0.0", "new_architecture": True}


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
def test_a_routed_table_is_applied_under_its_target_name(
    protocol: str, tmp_path: Path, run: Command
) -> None:
    sink = Sink(tmp_path / "routed", protocol, config=ROUTES, **NEW)
    sink.create(10)
    sink.send(inserted(20, ONE), inserted(30, TWO))
    sink.ddl(40, "ALTER TABLE `items` ADD COLUMN `n` INT DEFAULT 7", "items", 5)
    sink.mark(100)
    settings = {"protocol": protocol, "storage__url": sink.folder.as_uri()}
    assert run(**settings, tables__filter="lake.*").code == 0
    assert run.rows("SELECT id, name, n FROM shop_items ORDER BY id") == [
        (1, "one", 7),
        (2, "two", 7),
    ]


def test_a_header_of_ticdc_8_5_with_virtual_columns_is_read(tmp_path: Path, run: Command) -> None:
    sink = Sink(tmp_path / "headed", config="output-field-header = true\n", **NEW)
    sink.create(10, WIDE)
    sink.send(inserted(20, ONE, table(WIDE)))
    sink.mark(100)
    (file,) = sink.files("shop/items/*/*/CDC*.csv")
    assert b",id,twice,name\r\n" in file.read_bytes()
    csv = "{include-commit-ts = true, output-field-header = true}"
    assert run(storage__url=sink.folder.as_uri(), storage__csv=csv).code == 0
    assert run.rows("SELECT id, twice, name FROM items") == [(1, 2, "one")]


CSV = "{include-commit-ts = true}"
HEADED = "{include-commit-ts = true, output-field-header = true}"
SELECTED: list[tuple[str, str, dict[str, str]]] = [
    ("csv", "", {"storage__column_selectors": '[{matcher = ["*.*"], columns = ["*", "!name"]}]'}),
    ("csv", "output-field-header = true\n", {"storage__csv": HEADED}),
    ("canal-json", "", {"protocol": "canal-json"}),
]


@pytest.mark.parametrize(("protocol", "config", "settings"), SELECTED)
def test_columns_that_selectors_leave_out_are_not_asked_for(
    protocol: str,
    config: str,
    settings: dict[str, str],
    tmp_path: Path,
    sqlite_url: str,
    run: Command,
) -> None:
    sink = Sink(tmp_path / "selected", protocol, config=config + SELECTORS, **MASTER)
    settings = {**settings, "storage__url": sink.folder.as_uri()}
    sink.create(10, WIDE)
    sink.mark(50)
    assert run(**settings).code == 0
    sink.send(inserted(120, ONE, table(WIDE)), inserted(130, TWO, table(WIDE)))
    sink.mark(200)
    refuses(run, "shop.items.name: its rows come without this column", **settings)
    with closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"))) as target:
        target.execute("ALTER TABLE items DROP COLUMN name")
    assert run(**settings).code == 0
    assert run.rows("SELECT id FROM items ORDER BY id") == [(1,), (2,)]


def test_selectors_of_csv_that_are_not_known_here_are_named(tmp_path: Path, run: Command) -> None:
    sink = Sink(tmp_path / "selected", config=SELECTORS, **MASTER)
    sink.mark(10)
    assert run(storage__url=sink.folder.as_uri()).code == 0
    sink.send(inserted(20, ONE, table(WIDE)))
    sink.mark(100)
    refuses(
        run,
        "list selectors that leave them out in storage.column_selectors",
        storage__url=sink.folder.as_uri(),
    )


WRONG: list[tuple[dict[str, str], str]] = [
    ({"storage__date_separator": "none"}, "does not fit among csv files: are protocol, "),
    ({"storage__csv": "{include-commit-ts = true, output-old-value = true}"}, "fields, but "),
    ({"storage__csv": "{include-commit-ts = true, delimiter = '|'}"}, "not csv of these settings"),
    ({"storage__terminator": "|"}, "storage.terminator is not the changefeed's"),
    ({"protocol": "canal-json", "storage__csv": "{}"}, "does not fit among json files"),
]


@pytest.mark.parametrize(("settings", "words"), WRONG)
def test_settings_that_are_not_the_changefeeds_stop_the_run(
    settings: dict[str, str], words: str, sink: Sink, sqlite_url: str, run: Command
) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE), inserted(30, TWO))
    sink.mark(100)
    outcome = run(**settings)
    assert outcome.code == 3
    assert words in outcome.said
    assert "items" not in [name for (name,) in run.rows("SELECT name FROM sqlite_master")] or (
        items(run) == []
    )


CHANGED: list[dict[str, str]] = [
    {"storage__date_separator": "none"},
    {"storage__date_separator": "year"},
    {"storage__table_id_paths": "true"},
]


@pytest.mark.parametrize("settings", CHANGED, ids=str)
def test_a_layout_that_changes_after_the_first_cut_stops_the_run(
    settings: dict[str, str],
    sink: Sink,
    run: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    assert run().code == 0
    words = "no directory under date_separator and table_id_paths of [storage]: set them back"
    refuses(run, words, **settings)
    code, said = said_by("check", run, tmp_path, capsys, **settings)
    assert (code, words in said) == (3, True)


def test_a_partitions_id_is_not_taken_for_a_year(
    tmp_path: Path, sqlite_url: str, command: Make
) -> None:
    sql = "CREATE TABLE items (id INT PRIMARY KEY, name TEXT) PARTITION BY HASH (id) PARTITIONS 2"
    sink = Sink(tmp_path / "sink", parameters="&date-separator=none")
    sink.create(10, sql)
    sink.send(replace(inserted(20, ONE, parse_create_table(sql, "shop")), partition_id=1104))
    sink.mark(100)
    csv = "{include-commit-ts = true}"
    run = command(
        [], sqlite_url, protocol="csv", storage__url=sink.folder.as_uri(), storage__csv=csv
    )
    outcome = run(storage__date_separator="year")
    assert outcome.code == 3
    assert "1104 was over when the table's version began, at 2024-05-25: is " in outcome.said
    assert run(storage__date_separator="none").code == 0
    assert items(run) == [(1, "one")]


def test_a_table_that_cannot_be_read_may_be_left_out(
    sink: Sink, run: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sink.create(10)
    odd = parse_create_table("CREATE TABLE odd (id INT PRIMARY KEY, v INT AS (id))", "shop")
    sink.send(inserted(20, ONE), RowChange(odd, ts(30), None, {"id": 1}))
    sink.mark(100)
    assert "fail  files: 5 fields, but shop.odd has 2" in said_by("check", run, tmp_path, capsys)[1]
    outcome = run()
    assert (outcome.code, "5 fields, but shop.odd has 2" in outcome.said) == (3, True)
    settings: dict[str, Any] = {"tables__filter": ["*.*", "!shop.odd"]}
    code, said = said_by("check", run, tmp_path, capsys, **settings)
    assert (code, "ok    files: 1 were decoded" in said) == (0, True)
    outcome = run(**settings)
    assert (outcome.code, items(run)) == (0, [(1, "one")]), outcome.said
    assert sorted(offsets(run).values()) == [1, 1]


def test_canal_json_without_the_extension_names_the_setting(
    tmp_path: Path, sqlite_url: str, command: Make
) -> None:
    sink = Sink(tmp_path / "sink", "canal-json", parameters="&enable-tidb-extension=false")
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    run = command([], sqlite_url, protocol="canal-json", storage__url=sink.folder.as_uri())
    outcome = run()
    assert (outcome.code, "enable-tidb-extension=true" in outcome.said) == (3, True)


def test_a_day_that_is_over_may_be_deleted(sink: Sink, run: Command) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    assert run().code == 0
    # Four days later.
    later = Sink(sink.folder, start=15, today=date(2024, 5, 29))
    day = 86_400_000 << 18
    later.send(replace(inserted(120, TWO), commit_ts=ts(4 * day)))
    later.mark(5 * day)
    assert run().code == 0
    (old,) = sink.files("shop/items/*/2024-05-25")
    shutil.rmtree(old)
    later.send(replace(inserted(120, THREE), commit_ts=ts(6 * day)))
    later.mark(7 * day)
    assert run().code == 0
    assert items(run) == [(1, "one"), (2, "two"), (3, "three")]
    assert offsets(run) == {f"shop/items/{ts(15)}/2024-05-29": 2}


# --- the other commands --------------------------------------------------------------------------


def said_by(
    name: str, run: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], **settings: Any
) -> tuple[int, str]:
    capsys.readouterr()
    code = cli.main([name, str(tmp_path / "changefeed.toml"), *run.arguments(**settings)])
    return code, capsys.readouterr().out


def test_check_and_status_know_the_storage(
    sink: Sink, run: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sink.create(10)
    sink.send(inserted(20, ONE))
    sink.mark(100)
    code, said = said_by("check", run, tmp_path, capsys)
    assert code == 0, said
    assert f"ok    storage: metadata says {ts(100)} " in said
    assert "ok    storage: 1 file, numbered without a gap" in said
    assert "ok    files: 1 were decoded, one per directory" in said
    assert "ok    table shop.items: will be created by its own CREATE TABLE" in said
    code, said = said_by("check", run, tmp_path, capsys, storage__terminator="|")
    assert (code, "fail  files: " in said) == (3, True)
    assert run().code == 0
    code, said = said_by("status", run, tmp_path, capsys)
    assert f"shop/items/{ts(10)}/2024-05-25          0               1" in said
