"""Every sample runs, as its own words say."""

import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import pyspark
import pytest
import sqlalchemy as sa
from support.brokers import Kafka, Real
from support.loading import opened
from ticdc_consumer.cut.spark.java import java_home

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


def ran(*command: object) -> str:
    environment = {**os.environ, "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env={**environment, "PYSPARK_DRIVER_PYTHON": sys.executable, "PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_shop_without_a_kafka_says_so_in_a_line() -> None:
    done = subprocess.run(
        [sys.executable, SAMPLES / "shop" / "shop.py", "127.0.0.1:1", "shop"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("shop: ")
    assert done.stderr.count("\n") == 1


def test_the_page_finds_the_accounts_in_a_schema(postgresql_url: str) -> None:
    spec = importlib.util.spec_from_file_location("embed", SAMPLES / "embed" / "app.py")
    assert spec is not None and spec.loader is not None
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    with opened(postgresql_url) as target:
        target.execute("CREATE SCHEMA shop")
        target.execute("CREATE TABLE shop.accounts (id INT, owner TEXT, balance BIGINT)")
        target.execute("INSERT INTO shop.accounts VALUES (1, 'a', 7), (2, 'b', 8)")
        accounts = app.accounts_of(*target.locate("shop", "accounts"))
        page = app.read(target.engine, accounts, 5, 2)
        target.execute("DROP SCHEMA shop CASCADE")
    assert (page["accounts"], page["total"]) == ([["b", 8], ["a", 7]], 15)


@pytest.fixture
def shop(kafka: Kafka, tmp_path: Path) -> Path:
    return shop_in(kafka, tmp_path, transactions=100)


def shop_in(kafka: Kafka, tmp_path: Path, transactions: int) -> Path:
    """The sample shop's messages in Kafka, and its configuration for them."""
    topic = kafka.create_topic("shop", 4)
    said = ran(
        *(sys.executable, SAMPLES / "shop" / "shop.py", kafka.bootstrap, topic),
        *("--transactions", transactions, "--pause", 0),
    )
    assert (
        f"{transactions:,} transactions; the accounts' total is 10,000,000 in all of them" in said
    )
    path = tmp_path / "shop.toml"
    text = (SAMPLES / "shop" / "shop.toml").read_text()
    for written, mine in (
        ('["shop"]', f'["{topic}"]'),
        ("localhost:9092", kafka.bootstrap),
        ("shop.db", f"{tmp_path}/shop.db"),
    ):
        assert written in text
        text = text.replace(written, mine)
    path.write_text(text)
    return path


def total(folder: Path) -> int:
    target = sqlite3.connect(folder / "shop.db")
    (found,) = target.execute("SELECT sum(balance) FROM accounts").fetchone()
    target.close()
    return int(found)


def test_the_audit_has_a_line_for_each_cut_with_rows(shop: Path) -> None:
    said = ran(sys.executable, SAMPLES / "audit" / "audit.py", shop)
    cuts = re.findall(r"^R (\d+): (\d+) rows in", said, re.MULTILINE)
    with closing(sqlite3.connect(shop.parent / "shop.db")) as target:
        lines = target.execute("SELECT r, sum(written) FROM audit GROUP BY r ORDER BY r").fetchall()
        accounts = target.execute("SELECT count(*) FROM accounts").fetchone()
    assert accounts[0] > 0
    assert {r for r, _ in lines} <= {int(r) for r, _ in cuts}
    assert {int(r) for r, rows in cuts if rows != "0"} == {r for r, _ in lines}


def test_a_page_of_the_embedded_consumer_has_correct_balances() -> None:
    command = [sys.executable, str(SAMPLES / "embed" / "app.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as app:
        try:
            assert app.stdout is not None
            url = app.stdout.readline().strip()
            with urllib.request.urlopen(url) as page:
                assert b"EventSource" in page.read()
            totals = streamed_totals(f"{url}/balances", commits=5)
        finally:
            app.terminate()
    assert app.returncode == 0
    assert set(totals) <= {0, 10_000_000}
    assert totals[-1] == 10_000_000


def streamed_totals(url: str, commits: int) -> list[int]:
    totals: dict[str, int] = {}
    with urllib.request.urlopen(url) as stream:
        while len(totals) < commits:
            told = json.loads(stream.readline().partition(b":")[2] or b"{}")
            assert "ended" not in told, told
            if told:
                totals[told["reached"]] = told["total"]
    return list(totals.values())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cluster" in metafunc.fixturenames:
        long = metafunc.config.getoption("--long")
        metafunc.parametrize("cluster", [False, True] if long else [False])


def test_the_job_runs_under_spark_submit(kafka: Kafka, tmp_path: Path, cluster: bool) -> None:
    """In one process, and on a cluster of two workers: six JVMs, and a cut worth two tasks."""
    path = shop_in(kafka, tmp_path, 2000 if cluster else 100)
    folder = SAMPLES / "spark_submit"
    local = "--master", "local[1]", "--conf", "spark.driver.host=127.0.0.1"
    job = [folder / "standalone.sh"] if cluster else [SPARK_SUBMIT, *local, folder / "job.py"]
    said = ran(*job, "run", path, "--until", "caught-up", "--set", "spark.from_messages=0")
    assert total(tmp_path) == 10_000_000
    tasks = re.findall(r"^worker[12]: (\d+) tasks$", said, re.MULTILINE)
    assert len(tasks) == 2 * cluster
    assert all(int(number) > 1 for number in tasks)


def test_postgresql_is_kept_equal_to_mariadb(
    binlog_url: str, real_kafka: Real, postgresql_url: str
) -> None:
    name = f"{sa.make_url(binlog_url).database}_shop"
    try:
        said = ran(
            *(sys.executable, SAMPLES / "mariadb_to_postgresql" / "replicate.py"),
            *(binlog_url, real_kafka.bootstrap, postgresql_url, "--seconds", 5, "--name", name),
        )
    finally:
        real_kafka.delete_topic(name)
    assert "ADD COLUMN note" in said
    assert set(re.findall(r"total (.*)", said)) == {"50000"}
    assert re.search(r"accounts: 50 rows, equal\norders: \d+ rows, equal\n$", said)


def test_postgresql_is_loaded_from_tidb_and_kept_equal(
    upstream_url: str,
    real_kafka: Real,
    postgresql_url: str,
    tmp_path: Path,
) -> None:
    name = f"{sa.make_url(upstream_url).database}_shop"
    folder, path = SAMPLES / "tidb_to_postgresql", tmp_path / "shop.toml"
    path.write_text((folder / "shop.toml").read_text().replace('"shop', f'"{name}'))
    sets = {
        "source.upstream": upstream_url,
        "target.url": postgresql_url,
        "kafka.bootstrap.servers": real_kafka.bootstrap,
    }
    words = [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    command = [sys.executable, "-m", "ticdc_consumer"]
    shop = [sys.executable, str(folder / "shop.py"), upstream_url, real_kafka.bootstrap]
    shop += ["--seconds", "300", "--name", name]
    try:
        with subprocess.Popen(shop, stdout=subprocess.PIPE, text=True) as selling:
            assert selling.stdout is not None
            assert "50 accounts, whose total is 50000" in selling.stdout.readline()
            try:
                ran(*command, "load", path, *words)
            finally:
                selling.terminate()
        ran(*command, "run", path, *words, "--until", "caught-up")
        ran(*command, "verify", path, *words)
        engine = sa.create_engine(postgresql_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            query = f"SELECT sum(balance) FROM {name}.accounts"  # noqa: S608
            assert connection.exec_driver_sql(query).scalar_one() == 50_000
            connection.exec_driver_sql(f"DELETE FROM {name}.orders WHERE id = 3")  # noqa: S608
            connection.commit()
        said = ran(*command, "verify", path, *words, "--repair")
        for line in (" id=3 is missing in the target", "to repair: 1 row of 1 table", "\nequal at"):
            assert line in said
    finally:
        real_kafka.delete_topic(name)
        with sa.create_engine(upstream_url, poolclass=sa.NullPool).connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name}")


MISTAKES = [
    (["shop/shop.py", "127.0.0.1:1", "t", "--protocol", "foo"], 1, "shop: protocol is 'foo'"),
    (
        ["spark_submit/job.py", "run", "/no.toml", "--standby"],
        2,
        "ticdc-consumer: cannot read the configuration /no.toml",
    ),
]


@pytest.mark.parametrize(("words", "code", "said"), MISTAKES)
def test_a_sample_says_what_is_wrong_in_a_line(words: list[str], code: int, said: str) -> None:
    program, *rest = words
    done = subprocess.run(
        [sys.executable, SAMPLES / program, *rest], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (code, 1)
    assert done.stderr.startswith(said)


def test_the_package_is_the_command() -> None:
    said = ran(sys.executable, "-m", "ticdc_consumer", "run", "--help")
    assert said.startswith("usage: ticdc-consumer run ")
    assert "--standby" in said
