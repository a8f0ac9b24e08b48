"""The kit on whole consumers: this one passes, the naive one fails as the document says."""

import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import sqlalchemy as sa
from support import brokers
from ticdc_encoder.message import Message
from ticdc_torture import naive
from ticdc_torture.cli import main
from ticdc_torture.history import History, HistoryPlan
from ticdc_torture.judge import CHECKS, Judge
from ticdc_torture.target import ObservedTarget, ResolvedTs
from ticdc_torture.upstream import NAMES

pytestmark = pytest.mark.slow
NAIVE = f"{sys.executable} -m ticdc_torture.naive {{bootstrap}} {{topics}} {{target}}"
CHECKPOINT = "SELECT resolved_ts FROM ticdc_checkpoint"


def this_consumer(protocol: str, folder: Path) -> str:
    file = folder / "torture.toml"
    file.write_text(f'changefeed = "torture"\nprotocol = "{protocol}"\n')
    settings = {
        "kafka.bootstrap.servers": "{bootstrap}",
        "kafka.topics": "{topics}",
        "target.url": "{target}",
        "limits.takeover_after": "1",
    }
    sets = " ".join(f"--set {name}={value}" for name, value in settings.items())
    return f"{sys.executable} -m ticdc_consumer run {file} {sets}"


def test_this_consumer_passes(sqlite_url: str, tmp_path: Path, long: bool) -> None:
    """In short with a kill and an outage, in long with all disturbances and many seeds."""
    few = ["--kills", "1", "--pauses", "0", "--restarts", "0", "--calm", "0.3"]
    for seed in range(20 if long else 1):
        protocol = ("open-protocol", "canal-json", "simple", "debezium")[seed % 4]
        target = f"{sqlite_url}{seed}"
        ddl = ["--ddl"] if seed % 2 == 0 else []
        words = ["--protocol", protocol, "--target", target, "--seed", str(seed), *ddl]
        words += ["--consumer", this_consumer(protocol, tmp_path), "--resolved-ts", CHECKPOINT]
        assert main(["run", *words, "--transactions", "40", *([] if long else few)]) == 0


def test_this_consumer_passes_with_a_server_and_a_real_kafka(
    postgresql_url: str, real_kafka: brokers.Real, tmp_path: Path, long: bool
) -> None:
    few = ["--kills", "1", "--restarts", "0", "--calm", "0.3", "--transactions", "30"]
    words = ["--protocol", "simple", "--target", postgresql_url, "--seed", "3", "--ddl"]
    words += ["--kafka", real_kafka.bootstrap, "--topic", f"t{uuid.uuid4().hex[:8]}"]
    words += ["--consumer", this_consumer("simple", tmp_path), "--resolved-ts", CHECKPOINT]
    more = ["--overtakes", "2"] if long else few
    assert main(["run", *words, "--pauses", "0", "--outages", "0", *more]) == 0


UNDISTURBED = [f"--{kind}=0" for kind in ("kills", "pauses", "restarts", "outages")]


def test_a_consumer_that_leaves_ddl_out_lacks_the_tables(
    sqlite_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--protocol", "canal-json", "--target", sqlite_url, "--consumer", NAIVE, "--ddl"]
    more = ["--seed", "1", "--transactions", "8", "--patience", "3"]
    assert main(["run", *words, *UNDISTURBED, *more]) == 1
    printed = capsys.readouterr().out
    assert "FAILED   tables" in printed and "no such table" in printed


def test_a_consumer_that_always_ends_is_named_in_every_report(
    sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--protocol", "canal-json", "--target", sqlite_url, "--consumer", "ls no-such-file"]
    files = ["--json", str(tmp_path / "r.json"), "--junit", str(tmp_path / "r.xml")]
    more = ["--seed", "1", "--transactions", "8", "--ignore", "lost"]
    assert main(["run", *words, *UNDISTURBED, *files, *more]) == 1
    printed = capsys.readouterr().out
    report = json.loads((tmp_path / "r.json").read_text())
    failed = {check["check"] for check in report["checks"] if not check["passed"]}
    assert (report["verdict"], failed) == ("wrong", {"alive", "lost"})
    assert "no-such-file" in report["output"]
    (suite,) = ET.parse(tmp_path / "r.xml").iter("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == (str(len(CHECKS)), "1")
    assert "FAILED   alive" in printed and "ignored  lost" in printed
    assert printed.rstrip().endswith("--ignore lost")


@pytest.fixture
def target(sqlite_url: str) -> Iterator[ObservedTarget]:
    observed = ObservedTarget(sqlite_url, "w", NAMES, ResolvedTs())
    yield observed
    observed.close()


FAILS = {
    "transactions are torn, and slices applied again": (
        8,
        True,
        0,
        {"torn", "back", "lost", "stale"},
    ),
    "without keys a copy is a row more": (8, False, 0, {"torn", "back", "lost", "doubled"}),
    "offsets are ahead of the rows": (2, True, 30, {"torn", "lost", "left", "stale"}),
}
"""Seed, whether the tables have keys, how many messages from the fifth on are committed and not
applied, and what fails."""


@pytest.mark.parametrize(("seed", "keyed", "lost", "fails"), FAILS.values(), ids=FAILS.keys())
def test_the_naive_consumer_fails_as_the_document_says(
    sqlite_url: str, target: ObservedTarget, seed: int, keyed: bool, lost: int, fails: set[str]
) -> None:
    history = History(HistoryPlan(seed=seed, protocol="canal-json", transactions=15))
    target.create(history.definitions, keyed)
    judge = Judge(history.states())
    messages = [step for step in history.steps if isinstance(step, Message)]
    engine = sa.create_engine(sqlite_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA synchronous = OFF")
        for message in [*messages[:5], *messages[5 + lost :]]:
            change = json.loads(message.value or b"")
            if change["type"] in ("INSERT", "UPDATE", "DELETE"):
                naive.apply(connection, change)
                judge.seen(target.look())
    engine.dispose()
    judge.judge_the_end()
    assert {*judge.verdict.wrong} == fails
