"""Every sample runs, as its own words say."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from brokers import Kafka
from ticdc_consumer.java import java_home

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


def ran(*command: object) -> str:
    environment = {**os.environ, "JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env={**environment, "PYSPARK_DRIVER_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def shop(kafka: Kafka, tmp_path: Path) -> Path:
    """The sample shop's messages in Kafka, and its configuration for them."""
    topic = kafka.create_topic("shop", 4)
    said = ran(
        *(sys.executable, SAMPLES / "shop" / "shop.py", kafka.bootstrap, topic),
        *("--transactions", 100, "--pause", 0),
    )
    assert "100 transactions; the accounts' total is 10,000,000 in all of them" in said
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


def test_the_embedded_consumer_shows_balances_that_add_up(shop: Path) -> None:
    said = ran(sys.executable, SAMPLES / "embed" / "balances.py", shop, "caught-up")
    totals = [line.split()[1] for line in said.splitlines() if "total" in line]
    assert totals[-1] == "10,000,000"
    assert set(totals) <= {"0", "10,000,000"}


def test_the_job_runs_under_spark_submit(shop: Path) -> None:
    said = ran(
        *(SPARK_SUBMIT, "--master", "local[1]", "--conf", "spark.driver.host=127.0.0.1"),
        *(SAMPLES / "spark_submit" / "job.py", shop, "caught-up"),
    )
    assert said.splitlines()[-1].startswith("R ")
    assert total(shop.parent) == 10_000_000
