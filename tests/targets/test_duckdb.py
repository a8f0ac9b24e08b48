"""DuckDB, of the distribution in `samples/duckdb_target`: the contract, and TiCDC's messages."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession
from support import golden_run
from support.brokers import Kafka
from support.canonical_rows import contents, created, defined, laid_out, load
from support.golden import Contents, Value, scenario
from support.golden_run import Place, Row, Type, consumer_of, differences, run_to, send
from targets.contract import TargetContract
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.targets import mapping_rules, open_target
from ticdc_consumer.targets.target import Target

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "samples" / "duckdb_target"

REGISTRATION = {
    "ticdc_duckdb-0.1.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: ticdc-duckdb\nVersion: 0.1.0\n"
    ),
    "ticdc_duckdb-0.1.0.dist-info/entry_points.txt": (
        "[ticdc_consumer.targets]\nduckdb = ticdc_duckdb:DATABASE\n"
    ),
}


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution in one file, as Spark's tasks take it."""
    file = tmp_path_factory.mktemp("archive") / "ticdc_duckdb.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in REGISTRATION.items():
            archive.writestr(name, content)
        for module in sorted((SAMPLE / "ticdc_duckdb").glob("*.py")):
            archive.write(module, f"ticdc_duckdb/{module.name}")
    return file


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in REGISTRATION.items():
        file = tmp_path / "registered" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path / "registered"))


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"duckdb:///{tmp_path / 'target.duckdb'}"


@pytest.fixture
def target(url: str) -> Iterator[Target]:
    opened = open_target(url)
    yield opened
    opened.close()


class TestDuckDb(TargetContract):
    @pytest.fixture
    def url(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.setattr("ticdc_duckdb.session.TURN_TIMEOUT", 0.05)
        return f"duckdb:///{tmp_path / 'target.duckdb'}"


# --- what is DuckDB's own ----------------------------------------------------------------------

OWN_TABLES = [
    ("id integer primary key, c decimal(9,2)", "c decimal(12,2)", r"shop\.t\.c: .*DECIMAL\(12,2\)"),
    ("id integer primary key, c integer", "c int unsigned", r"shop\.t\.c: .*UINTEGER does"),
    ("id integer primary key, c time", "c time", r"shop\.t\.c: .*VARCHAR does"),
    ("id integer primary key, c varchar collate nocase", "c varchar(9)", "COLLATE"),
    ("id integer primary key, c integer generated always as (1)", "c int", "GENERATED ALWAYS"),
]


@pytest.mark.parametrize(("own", "upstream", "message"), OWN_TABLES)
def test_a_column_too_narrow_for_a_value_is_refused_by_name(
    target: Target, own: str, upstream: str, message: str
) -> None:
    target.execute(f"CREATE TABLE t ({own})")
    with pytest.raises(Stop, match=message):
        laid_out(target, defined(f"create table t (id int primary key, {upstream})"))


def test_a_key_deleted_and_inserted_in_one_commit_is_no_clash(target: Target) -> None:
    layout = created(
        target, defined("create table t (id int primary key, m varchar(9), unique key m (m(2)))")
    )
    assert not layout.upsert
    load(target, layout, [["1", "ab"], ["2", "cd"]])
    with target.transaction():
        pass
    load(target, layout, [["1", "cd"], ["2", "ab"]])
    assert contents(target, layout) == [(1, "cd"), (2, "ab")]
    with pytest.raises(Stop, match=r"^shop\.t: "):
        load(target, layout, [["3", "abx"]])


def test_zero_dates_become_null_by_the_rule(target: Target) -> None:
    table = defined("create table t (id int primary key, d date)")
    assert "zero-date-as-null" in mapping_rules()
    layout = created(target, table, rules=frozenset({"zero-date-as-null"}))
    load(target, layout, [["1", "0000-00-00"]])
    assert contents(target, layout) == [(1, None)]


def test_a_file_that_another_process_has_open_is_named(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ticdc_duckdb.session.OPEN_TIMEOUT", 0.05)
    file = sa.make_url(url).database
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); "
            "sys.stdin.read()",
            str(file),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin is not None and holder.stdout is not None
    with holder, holder.stdin:
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(Unavailable, match=r"another process holds .*target\.duckdb"):
            open_target(url)


def test_a_lost_race_within_duckdb_is_tried_again(target: Target, url: str) -> None:
    layout = created(target, defined("create table t (id int primary key, n int)"))
    load(target, layout, [["1", "1"]])
    with closing(duckdb.connect(sa.make_url(url).database)) as other:
        other.execute("BEGIN")
        other.execute("DELETE FROM t")
        with pytest.raises(Retry, match="onflict"):
            load(target, layout, [["1", "3"]])
        other.execute("ROLLBACK")
    load(target, layout, [["1", "3"]])
    assert contents(target, layout) == [(1, 3)]


# --- TiCDC's own messages ----------------------------------------------------------------------


def _in_duckdb(value: Value, type_: Type) -> Any:
    """By the table in the sample's README."""
    assert value is not None
    if isinstance(value, bytes):
        return int.from_bytes(value) if type_.name == "bit" else value
    if type_.name in golden_run.INTEGERS:
        return int(value)
    match type_.name:
        case "decimal":
            return Decimal(value) if type_.length <= 38 else value
        case "float" | "double":
            return float(value) + 0.0
        case "date":
            return date.fromisoformat(value)
        case "datetime":
            return datetime.fromisoformat(value)
        case "timestamp":
            return datetime.fromisoformat(value).replace(tzinfo=UTC)
        case _:
            return value


@contextmanager
def _query(place: Place) -> Iterator[golden_run.Query]:
    with closing(duckdb.connect(sa.make_url(place.url).database)) as connection:
        connection.execute("SET TimeZone = 'UTC'")

        def query(table: Contents, columns: Mapping[str, Type]) -> list[Row]:
            names = ", ".join(map(place.quoted, columns))
            relation = f"target.{place.relation(table.schema, table.table)}"
            rows: list[Row] = connection.execute(f"SELECT {names} FROM {relation}").fetchall()  # noqa: S608
            return rows

        yield query


GOLDEN = [
    ("keys", "canal-json.topic-per-table", "net", True),
    ("splits", "canal-json.raw.columns-w", "transactions", False),
    ("workload", "canal-json.ext", "net", False),
]


@pytest.mark.golden
@pytest.mark.parametrize(("name", "variant", "way", "again"), GOLDEN)
def test_the_target_holds_what_tidb_held(
    name: str,
    variant: str,
    way: str,
    again: bool,
    url: str,
    archive: Path,
    kafka: Kafka,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(golden_run, "EXPECTED", {"duckdb": _in_duckdb})
    monkeypatch.setattr(golden_run, "QUERIES", {"duckdb": _query})
    # Spark's tasks encode the rows.
    spark.sparkContext.addPyFile(str(archive))
    place, golden = Place(url, "duckdb"), scenario(name)
    sent = golden.variants[variant]
    topics = send(kafka, sent, again)
    left_out = ("keysdb.nokey", "keysdb.uknull")  # their changes come with force-replicate only
    filtered = ("*.*", *(f"!{table}" for table in left_out))
    with consumer_of(sent, topics, kafka, place, spark, way, filter=filtered) as consumer:
        for state in golden.states:
            run_to(consumer, state.ts, place, golden, {})
            assert differences(place, golden, state, {}, left_out) == ""
