"""Whether `[spark] master` may be one, and whether a standalone cluster's answers."""

import socket
from dataclasses import replace
from typing import Any

import pytest
from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding
from ticdc_consumer.commands.check.spark import spark
from ticdc_consumer.config import Settings

TOML = """
changefeed = "orders"
protocol = "canal-json"
[kafka]
topics = ["orders"]
"bootstrap.servers" = "127.0.0.1:1"
[target]
url = "sqlite:///orders.db"
"""


def finding(master: str | None) -> Finding:
    settings: dict[str, Any] = {} if master is None else {"spark.master": master}
    (only,) = spark(Premises(replace(Settings.parse(TOML), spark=settings)))
    return only


MASTERS = [None, "local", "local[2]", "local[*]", "local[4,2]", "local-cluster[2,1,1024]", "yarn"]


@pytest.mark.parametrize("master", [*MASTERS, "k8s://https://host:6443"])
def test_a_master_that_spark_takes_is_well(master: str | None) -> None:
    assert finding(master).level == "ok"


@pytest.mark.parametrize("master", ["foo", "local[two]", "local[2", "localhost:7077", "Yarn"])
def test_a_master_that_spark_does_not_know_is_named(master: str) -> None:
    wrong = finding(master)
    assert (wrong.level, wrong.exit_code) == ("fail", 2)
    assert f"master is {master}, not one of local, local[N], yarn" in wrong.text


def test_a_cluster_of_which_one_master_answers_is_well() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert finding(f"spark://127.0.0.1:1,{address}").level == "ok"


def test_a_cluster_that_does_not_answer_is_unreachable() -> None:
    wrong = finding("spark://127.0.0.1:1")
    assert (wrong.level, wrong.exit_code) == ("fail", 1)
    assert "master spark://127.0.0.1:1 cannot be reached: 127.0.0.1:1: " in wrong.text
    assert "nowhere is not HOST:PORT" in finding("spark://nowhere").text
