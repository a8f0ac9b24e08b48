"""Dumpling's files of a real TiDB are loaded as the TiDB itself is."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support import brokers
from support.dumpling import dump
from support.torture_cli import Command, Make, Outcome
from support.torture_topics import Feed, ts
from support.upstream_tidb import ODD_DATES, TYPES, Upstream
from ticdc_consumer.commands.load.loading import load
from ticdc_consumer.state.loading import LoadProgress

Loads = Callable[..., tuple[Command, Outcome]]

DUMPED = [type_ for type_ in TYPES if "stored" not in type_[0]]
FORMS = {
    "sql": (),
    "complete inserts in zstd": ("--complete-insert", "--compress", "zstd"),
    "csv": ("--filetype", "csv"),
    "csv without quotes": ("--filetype", "csv", "--csv-delimiter", "", "--csv-separator", "|"),
    "csv with bytes in hex, in gzip": (
        *("--filetype", "csv", "--csv-output-dialect", "snowflake", "--compress", "gzip"),
        *("--no-header", "--csv-null-value", ""),
    ),
    "csv with bytes in base64": ("--filetype", "csv", "--csv-output-dialect", "bigquery"),
}
SETTINGS = {
    "csv without quotes": '{"csv-delimiter" = "", "csv-separator" = "|"}',
    "csv with bytes in hex, in gzip": (
        '{"csv-output-dialect" = "snowflake", "no-header" = true, "csv-null-value" = ""}'
    ),
    "csv with bytes in base64": '{"csv-output-dialect" = "bigquery"}',
}


def dumped(folder: Path, form: str = "sql") -> dict[str, Any]:
    """The settings of a dump."""
    settings = {"source__dump": folder.as_uri(), "source__dump_time_zone": "UTC"}
    return settings | ({"source__dump_csv": SETTINGS[form]} if form in SETTINGS else {})


@pytest.mark.parametrize("form", FORMS)
def test_every_type_is_loaded_from_every_form_as_from_the_tidb(
    form: str, tidb: Upstream, into: Callable[..., Command], sqlite_url: str, tmp_path: Path
) -> None:
    same_as_from_tidb(form, [*DUMPED, *ODD_DATES], tidb, into, sqlite_url, tmp_path / "dump")


@pytest.mark.parametrize("target", ["postgresql", "mariadb", "mysql", "tidb"])
def test_every_type_is_loaded_into_every_target_as_from_the_tidb(
    target: str,
    tidb: Upstream,
    into: Callable[..., Command],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    url = request.getfixturevalue(f"{target}_url")
    same_as_from_tidb("sql", DUMPED, tidb, into, url, tmp_path / "dump")


def same_as_from_tidb(
    form: str,
    types: list[Any],
    tidb: Upstream,
    into: Callable[..., Command],
    target_url: str,
    folder: Path,
) -> None:
    tidb.create_typed(types)
    snapshot_ts = dump(tidb, folder, *FORMS[form])
    tidb.execute("DELETE FROM typed")
    run = into(target_url, "from_dump", changefeed="dump", **dumped(folder, form))
    outcome = run.load()
    assert outcome.code == 0, outcome.said
    assert "loaded: 2 rows; R " in outcome.said
    assert run.resolved_ts == snapshot_ts + 1
    outcome = into(target_url, "from_tidb", changefeed="tidb").load("--at", str(snapshot_ts))
    assert outcome.code == 0, outcome.said
    rows = run.rows("SELECT * FROM from_dump ORDER BY id")
    assert len(rows) == 2
    assert rows == run.rows("SELECT * FROM from_tidb ORDER BY id")


# --- a crash anywhere ---------------------------------------------------------------------------


ODD_NAME = "100% `a`.b"


def fill(tidb: Upstream) -> None:
    odd = "`100% ``a``.b`"
    teams = ", ".join(f"({n}, 'team {n}')" for n in range(5))
    lines = ", ".join(f"({n}, {n % 5}, repeat('\\n', {n}))" for n in range(200))
    tidb.execute(
        "CREATE TABLE teams (id int PRIMARY KEY, name varchar(20))",
        f"CREATE TABLE {odd} (id int PRIMARY KEY, team int, note text, KEY (team), "
        "CONSTRAINT member FOREIGN KEY (team) REFERENCES teams (id))",
        "CREATE TABLE none (id int PRIMARY KEY)",
        "CREATE VIEW seen AS SELECT id FROM teams",
        f"INSERT INTO teams VALUES {teams}",  # noqa: S608
        f"INSERT INTO {odd} VALUES {lines}",  # noqa: S608
    )


def test_a_load_that_is_killed_goes_on_and_doubles_nothing(
    tidb: Upstream, into: Callable[..., Command], sqlite_url: str, tmp_path: Path
) -> None:
    fill(tidb)
    dump(tidb, tmp_path / "dump", "--compress", "gzip", "--no-views=false")
    run = into(sqlite_url, limits__load_chunk=1500, **dumped(tmp_path / "dump"))
    for step in ("chunk-rows-written:kill:3", "chunk-commit:kill:4"):
        code, said = run.driver(step, command="load").wait()
        assert code == -9, said
    (tmp_path / "dump" / "metadata").rename(tmp_path / "metadata")
    (tmp_path / "dump" / "metadata").write_text(METADATA)
    assert f"is not finished, and [source] dump is of {SNAPSHOT_TS}" in said_by(run.load())
    (tmp_path / "metadata").rename(tmp_path / "dump" / "metadata")
    outcome = run.load()
    assert outcome.code == 0, outcome.said
    compare(tidb, run)


def test_sparks_tasks_load_the_pieces_of_a_file(
    tidb: Upstream,
    into: Callable[..., Command],
    spark: SparkSession,
    postgresql_url: str,
    tmp_path: Path,
) -> None:
    fill(tidb)
    dump(tidb, tmp_path / "dump", "--filetype", "csv")
    run = into(postgresql_url, limits__load_chunk=1000, **dumped(tmp_path / "dump"))
    seen = list[LoadProgress]()
    load(run.options(), report=seen.append, spark=spark)
    assert seen[-1].chunks_done == seen[-1].chunks > 8
    assert seen[-1].rows_done == 205
    compare(tidb, run)


def compare(tidb: Upstream, run: Command) -> None:
    postgresql = run.target_url.startswith("postgresql")
    for name in ("teams", ODD_NAME, "none"):
        upstream = "`" + name.replace("`", "``") + "`"
        target = f'"{name}"' if postgresql else upstream
        rows = run.rows(f"SELECT * FROM {target} ORDER BY id")  # noqa: S608
        assert rows == tidb.execute(f"SELECT * FROM {upstream} ORDER BY id"), name  # noqa: S608


# --- what is refused ----------------------------------------------------------------------------

SNAPSHOT_TS = ts(5)
METADATA = f"""Started dump at: 2024-06-01 10:20:30
SHOW MASTER STATUS:
\tLog: tidb-binlog
\tPos: {SNAPSHOT_TS}
\tGTID:

Finished dump at: 2024-06-01 10:20:31
"""
SCHEMA = """/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `t` (
  `id` int NOT NULL,
  `name` varchar(9) DEFAULT NULL,
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
"""
ROWS = """/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
INSERT INTO `t` VALUES
(1,'one'),
(2,NULL);
"""
CSV = '"id","name"\r\n1,"one"\r\n2,\\N\r\n'
DUMP = {"metadata": METADATA, "shop.t-schema.sql": SCHEMA, "shop.t.000000000.sql": ROWS}
OF_CSV = {"shop.t.000000000.sql": None, "shop.t.000000000.csv": CSV}
SCHEMA_FILE, FILE = "shop.t-schema.sql", "shop.t.000000000.sql"

Damage = dict[str, str | bytes | None]
"""Files that are other, None for one that is missing."""

DAMAGED: list[tuple[str, Damage, str]] = [
    ("no metadata", {"metadata": None}, "metadata is missing in [source] dump: Dumpling writes it"),
    (
        "unfinished metadata",
        {"metadata": METADATA.partition("Finished")[0]},
        "metadata: the dump is not finished",
    ),
    (
        "another database",
        {"metadata": METADATA.replace("tidb-binlog", "mysql-bin.000001")},
        "metadata names no position of a TiDB",
    ),
    (
        "a position that is a time",
        {"metadata": METADATA.replace(str(SNAPSHOT_TS), "2024-06-01 10:20:30")},
        "metadata: Pos is not a TSO",
    ),
    (
        "no schema file",
        {SCHEMA_FILE: None},
        "shop.t: its rows are in shop.t.000000000.sql, but its",
    ),
    ("a schema file cut off", {SCHEMA_FILE: SCHEMA[:-9]}, "shop.t-schema.sql is cut off"),
    (
        "a schema file of another table",
        {SCHEMA_FILE: SCHEMA.replace("`t`", "`u`")},
        "shop.t-schema.sql has the definition of table u",
    ),
    (
        "a definition that is not understood",
        {SCHEMA_FILE: SCHEMA.replace("varchar(9)", "varchar(9")},
        "shop.t: shop.t-schema.sql: ",
    ),
    (
        "a stored generated column",
        {SCHEMA_FILE: SCHEMA.replace("DEFAULT NULL", "GENERATED ALWAYS AS ('x') STORED")},
        "shop.t: column name is generated and stored, and Dumpling leaves its values out",
    ),
    (
        "a table without a key",
        {SCHEMA_FILE: SCHEMA.replace("  PRIMARY KEY (`id`)", "  KEY (`id`)")},
        "shop.t: no valid key",
    ),
    ("a file within a row", {FILE: ROWS[:-5]}, f"{FILE} is cut off: its last row does not end"),
    ("a file between rows", {FILE: ROWS[:-9]}, f"{FILE} is cut off: its last row does not end"),
    ("an empty file", {FILE: ""}, f"{FILE} is cut off"),
    (
        "a compressed file cut off",
        {FILE: None, f"{FILE}.gz": gzip.compress(ROWS.encode())[:-12]},
        f"{FILE}.gz is damaged or cut off: copy it again",
    ),
    (
        "a codec that cannot be read",
        {FILE: None, f"{FILE}.snappy": ROWS},
        f"{FILE}.snappy: .snappy cannot be read: dump with --compress gzip or zstd",
    ),
    (
        "two dumps",
        {"shop.t.000000000.csv": CSV},
        "shop.t: [source] dump has its rows more than once",
    ),
    (
        "a name of a template",
        {"t.sql": ROWS},
        "t.sql in [source] dump does not have one of Dumpling's",
    ),
]
LATER: list[tuple[str, Damage, str]] = [
    (
        "too few values",
        {FILE: ROWS.replace("2,NULL", "2")},
        f"{FILE}, byte 100: the row has 1 values, and not 2: dump again",
    ),
    (
        "too many values",
        {FILE: ROWS.replace("2,NULL", "2,'a\\',(',3")},
        f"{FILE}, byte 100: the row has 3 values, and not 2: dump again",
    ),
    (
        "doubled quotes",
        {FILE: ROWS.replace("'one'", "'it''s'")},
        f"{FILE}, byte 89: the row is not as Dumpling writes it with --escape-backslash",
    ),
    (
        "an INSERT of other columns",
        {FILE: ROWS.replace("`t` VALUES", "`t` (`name`,`id`) VALUES")},
        f"{FILE}, byte 66: the row is not as Dumpling writes it",
    ),
    ("a byte", {FILE: ROWS.encode().replace(b"one", b"o\xffe")}, f"{FILE}: shop.t.name: text that"),
    (
        "another header",
        {**OF_CSV, "shop.t.000000000.csv": CSV.replace('"name"', '"title"')},
        "shop.t.000000000.csv: its first line does not name the columns",
    ),
    (
        "a line of CSV",
        {**OF_CSV, "shop.t.000000000.csv": CSV.replace('"one"', '"o"ne"')},
        "shop.t.000000000.csv, byte 13: the row is not as Dumpling writes it",
    ),
]


@pytest.fixture
def loads(mock_kafka: brokers.Mock, command: Make, sqlite_url: str, tmp_path: Path) -> Loads:
    """Loads a dump that is damaged, without an upstream, into SQLite."""

    def loads(damage: Damage, **settings: Any) -> tuple[Command, Outcome]:
        feed = Feed(mock_kafka)
        feed.mark(1)
        folder = tmp_path / "dump"
        folder.mkdir()
        for name, content in {**DUMP, **damage}.items():
            if content is not None:
                content = content if isinstance(content, bytes) else content.encode()
                (folder / name).write_bytes(content)
        run = command([feed], sqlite_url, source__dump=folder.as_uri(), **settings)
        return run, run.load()

    return loads


@pytest.mark.parametrize(
    ("damage", "words"), [pytest.param(*case[1:], id=case[0]) for case in DAMAGED]
)
def test_an_incomplete_dump_is_refused_before_anything_is_done(
    damage: Damage, words: str, loads: Loads
) -> None:
    run, outcome = loads(damage)
    assert words in said_by(outcome)
    assert "ticdc_load" not in run.contents() or run.rows("SELECT * FROM ticdc_load") == []
    assert "t" not in run.contents()


@pytest.mark.parametrize(
    ("damage", "words"), [pytest.param(*case[1:], id=case[0]) for case in LATER]
)
def test_a_row_that_dumpling_does_not_write_ends_the_load(
    damage: Damage, words: str, loads: Loads
) -> None:
    run, outcome = loads(damage)
    assert words in said_by(outcome)
    assert (run.rows("SELECT * FROM t"), run.resolved_ts) == ([], 0)


def test_a_dump_is_loaded_without_an_upstream(loads: Loads) -> None:
    run, outcome = loads({"README": "other files may lie there"})
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT * FROM t") == [(1, "one"), (2, None)]
    assert run.resolved_ts == SNAPSHOT_TS + 1
    assert run().code == 0


def test_at_is_the_timestamp_of_the_dump(loads: Loads) -> None:
    run, _ = loads({SCHEMA_FILE: None})
    assert f"[source] dump is of {SNAPSHOT_TS}: leave --at 7 out" in said_by(run.load("--at", "7"))


def test_a_timestamp_without_its_time_zone_is_refused(loads: Loads) -> None:
    schema = SCHEMA.replace("varchar(9)", "timestamp NULL")
    rows = ROWS.replace("'one'", "'2024-06-01 10:20:30'")
    run, outcome = loads({SCHEMA_FILE: schema, FILE: rows})
    assert outcome.code == 2
    assert (
        "shop.t: column name is a TIMESTAMP, which Dumpling writes in its session's" in outcome.said
    )
    outcome = run.load(source__dump_time_zone="Asia/Shanghai")
    assert outcome.code == 0, outcome.said
    assert run.rows("SELECT name FROM t WHERE id = 1") == [("2024-06-01 02:20:30",)]


def said_by(outcome: Outcome) -> str:
    assert outcome.code == 3, outcome.said
    assert outcome.said.count("\n") == 1, outcome.said
    return outcome.said
