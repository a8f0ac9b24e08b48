"""The command line: what it prints, with which exit code, and what it never prints."""

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from support.brokers import Kafka
from support.closed_output import output
from ticdc_consumer import config
from ticdc_consumer.cli import arguments as command_line
from ticdc_consumer.cli import commands as cli
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Ddl, Row, RowChange, Transaction
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

COMMAND = Path(sys.executable).with_name("ticdc-consumer")
CANARIES = ("canary-one", "canary@two", "canary%40two", "canary-three", "canary-four")


@pytest.fixture(autouse=True)
def own_hook_and_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for variable in [name for name in os.environ if name.startswith("TICDC_")]:
        monkeypatch.delenv(variable)
    hook = sys.excepthook
    yield
    sys.excepthook = hook


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "orders.toml"
    path.write_text(f"""
changefeed = "orders"
protocol = "canal-json"
[kafka]
topics = ["orders"]
"bootstrap.servers" = "127.0.0.1:1"
[target]
url = "sqlite:///{tmp_path}/target.db"
""")
    return path


HELP = [
    ([], ["demo", "run", "check", "status", "exit codes: 0 done; 1 broker", "TICDC_DEBUG=1"]),
    (
        ["run"],
        ["--until", "--ddl-done", "caught-up", "examples:", "default: never", "--log-format"],
    ),
    (["check"], ["writes nothing", "--json", "`ticdc-consumer settings` lists them"]),
    (["status"], ["--json", "jq .lag_seconds"]),
    (["forget"], ["--yes", "but not its tables", "--json"]),
    (["settings"], ["NAME", "--json"]),
    (["init"], ["--brokers", "must not exist"]),
    (["demo"], ["--rows", "--protocol", "--target"]),
]


@pytest.mark.parametrize(("command", "words"), HELP)
def test_help_lists_commands_arguments_and_settings(
    command: list[str], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main([*command, "--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert [word for word in words if word not in printed] == []


def test_it_prints_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"{version('ticdc-consumer')}\n"


@pytest.mark.parametrize("command", command_line.EXAMPLES)
def test_the_examples_of_the_help_can_be_pasted(command: str) -> None:
    text = command_line.EXAMPLES[command].replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.startswith("  ")]
    for line in lines:
        name, *arguments = shlex.split(line.partition(" | ")[0], comments=True)
        assert name == "ticdc-consumer"
        assert arguments[0] == command
        command_line.parse(arguments)
    assert lines


def test_every_command_has_an_example_and_its_own_options_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parsers = command_line.parsers_of(command_line.parser())
    assert set(parsers) == set(command_line.EXAMPLES) == set(cli.COMMANDS)
    for parser in parsers.values():
        text = parser.format_help()
        assert "example" in text and len(text.splitlines()) < 60
    assert "--from-ts" not in parsers["status"].format_help()


NEAR = [
    (["chek", "orders.toml"], "did you mean check?"),
    (["run", "orders.toml", "--untill", "5"], "did you mean --until?"),
    (["status", "orders.toml", "--jso"], "did you mean --json?"),
    (["run", "orders.toml", "--log-format=jsn"], "did you mean json?"),
    (["demo", "--protocol", "canal"], "did you mean canal-json?"),
    (["frobnicate"], "invalid choice: 'frobnicate'"),
    (["rewind", "orders.toml"], "ticdc-consumer load CONFIG --replace --at TS"),
    (["end", "orders.toml"], "ticdc-consumer forget CONFIG ends a changefeed"),
]


@pytest.mark.parametrize(("arguments", "words"), NEAR)
def test_a_misspelt_command_option_or_value_names_the_nearest(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert ("did you mean" in words) == ("did you mean" in printed)


WRONG = [
    [],
    ["jump"],
    ["run"],
    ["run", "orders.toml", "--until", "tomorrow"],
    ["run", "orders.toml", "--from-ts", "0"],
    ["status", "orders.toml", "--jso"],
    ["demo", "--rows", "none"],
    ["demo", "--protocol", "morse"],
    ["demo", "--page", "0"],
]


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "usage: ticdc-consumer" in capsys.readouterr().err


ERRORS = [
    (2, ["status", "nowhere.toml"], "cannot read the configuration nowhere.toml"),
    (2, ["run", "{}", "--set", "target.aply=net"], "there is no setting target.aply; did you"),
    (2, ["run", "{}", "--ddl-done", "now"], "--ddl-done takes TS or TS:SEQ, two numbers"),
    (2, ["run", "{}", "--ddl-run", "1:", "x.sql"], "--ddl-run takes TS or TS:SEQ, two numbers"),
    (2, ["settings", "kafak"], "there is no setting kafak; did you mean kafka?"),
    (2, ["check", "{}", "--set", "protocol=x"], "protocol must be "),
    (2, ["check", "{}", "--from-ts", "17"], "from_ts must be a TiDB timestamp"),
    (2, ["status", "{}", "--set", "target.url=oracle://h/d"], "names oracle"),
    (2, ["status", "{}", "--set", "target.url=mysql://h"], "[target] url names no database; "),
    (2, ["status", "{}", "--set", "target.url=sqlite://"], "[target] url names no file; "),
    (2, ["run", "{}", "--set", "target.url=sqlite:///:memory:"], "[target] url names no file"),
    (1, ["status", "{}", "--set", "target.url=sqlite:////no/x.db"], "cannot be created"),
    (1, ["status", "{}", "--set", "target.url=sqlite:////no/such/folder/x.db"], "/no/such/folder"),
    (3, ["status", "{}"], "changefeed orders has no checkpoint in the target"),
    (2, ["forget", "{}"], "there is no terminal to ask at: say --yes"),
    (3, ["export", "{}", "{}.json"], "changefeed orders has no checkpoint in the target"),
    (2, ["export", "{}", "{}"], "orders.toml exists already, and is not overwritten"),
    (2, ["import", "{}", "{}"], "orders.toml is not JSON"),
    (3, ["forget", "{}", "--yes"], "changefeed orders has no checkpoint in the target"),
]


@pytest.mark.parametrize(("code", "arguments", "words"), ERRORS)
def test_an_error_is_one_line_and_an_exit_code(
    written: Path,
    capsys: pytest.CaptureFixture[str],
    code: int,
    arguments: list[str],
    words: str,
) -> None:
    assert cli.main([argument.format(written) for argument in arguments]) == code
    printed = capsys.readouterr().err
    assert printed.startswith("ticdc-consumer: ")
    assert words in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--until", "5"], "already, after 5"), (["--ddl-done", "7"], "7 names no pending DDL")],
)
def test_wrong_usage_is_told_before_spark_starts(
    written: Path,
    mock_kafka: Kafka,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    def session(*_: object) -> None:
        raise AssertionError("Spark starts")

    monkeypatch.setattr("ticdc_consumer.cut.spark.session.session", session)
    topic = mock_kafka.create_topic("orders")
    sets = [f"kafka.topics={topic}", f"kafka.bootstrap.servers={mock_kafka.bootstrap}"]
    begin = ["run", str(written), "--from-ts", str(TS), *(f"--set={one}" for one in sets)]
    assert cli.main([*begin, *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_traceback_is_shown_on_demand(
    written: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TICDC_DEBUG", "1")
    assert cli.main(["status", str(written)]) == 3
    printed = capsys.readouterr().err
    assert printed.startswith("Traceback")
    assert printed.splitlines()[-1].startswith(
        "ticdc-consumer: changefeed orders has no checkpoint"
    )


@pytest.mark.parametrize(
    ("left", "code", "words"),
    [
        ("closed", 141, ""),
        ("full", 1, "ticdc-consumer: the output cannot be written: No space left on device\n"),
    ],
)
def test_an_output_that_takes_nothing_ends_the_command(
    written: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    left: str,
    code: int,
    words: str,
) -> None:
    monkeypatch.setattr("ticdc_consumer.source.kafka.brokers.REQUEST_TIMEOUT", 0.2)
    with output(left) as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main(["check", str(written)]) == code
    assert capsys.readouterr().err == words


SECRETIVE = [
    ["status"],
    ["status", "--json"],
    ["check"],
    ["run"],
    ["run", "--until", "caught-up"],
    ["status", "--set", "kafka.security.protocol=canary-three"],
    ["status", "--set", "target.on_drift=canary-three"],
]


@pytest.mark.parametrize("debug", ["0", "1"])
@pytest.mark.parametrize("arguments", SECRETIVE, ids=" ".join)
def test_no_command_shows_a_password(
    written: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    debug: str,
) -> None:
    monkeypatch.setattr("ticdc_consumer.source.kafka.brokers.REQUEST_TIMEOUT", 0.2)
    monkeypatch.setenv("TICDC_DEBUG", debug)
    monkeypatch.setenv("TICDC_KAFKA_SASL_PASSWORD", "canary-one")
    command, *rest = arguments
    url = "postgresql+psycopg://app:canary%40two@127.0.0.1:1/d?sslpassword=canary-four"
    settings = [
        f"target.url={url}",
        "kafka.sasl.username=app",
        "kafka.sasl.mechanism=PLAIN",
        "kafka.security.protocol=SASL_PLAINTEXT",
        "kafka.ssl.key.password=canary-three",
    ]
    sets = [argument for text in settings for argument in ("--set", text)]
    assert cli.main([command, str(written), *sets, *rest]) in (1, 2)
    printed = "".join(capfd.readouterr())
    assert printed
    assert [canary for canary in CANARIES if canary in printed] == []


def test_a_mistake_of_ours_shows_no_password_either(
    written: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object) -> None:
        raise RuntimeError("cannot open postgresql://app:canary-one@h/d?password=canary-three")

    monkeypatch.setattr(config.Settings, "read", load)
    with pytest.raises(RuntimeError) as caught:
        cli.main(["status", str(written)])
    sys.excepthook(caught.type, caught.value, caught.tb)
    printed = capsys.readouterr().err
    assert "RuntimeError: cannot open postgresql://app:***@h/d?password=***" in printed
    assert "canary" not in printed


# A whole run, as a user starts it.

TABLE = "CREATE TABLE `t` (`id` BIGINT NOT NULL, `v` VARCHAR(9), PRIMARY KEY (`id`))"
DROP = "DROP DATABASE `attic`"
TS = 445644800000000000


def rows(changefeed: Changefeed, commit_ts: int, *inserted: Row) -> list[Message]:
    table = parse_create_table(TABLE, "shop")
    changes = tuple(RowChange(table, commit_ts, None, row) for row in inserted)
    return changefeed.encode(Transaction(commit_ts, changes))


def started(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [COMMAND, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def finished(*arguments: str) -> tuple[int, str, str]:
    process = started(*arguments)
    out, err = process.communicate()
    return process.returncode, out, err


def content(path: Path) -> list[tuple[int, str]]:
    target = sqlite3.connect(path)
    content: list[tuple[int, str]] = target.execute("SELECT * FROM t").fetchall()
    target.close()
    return content


def test_a_run_stops_at_a_ddl_continues_and_ends_by_a_signal(
    written: Path, tmp_path: Path, mock_kafka: Kafka
) -> None:
    topic = mock_kafka.create_topic("orders")
    written.write_text(
        written.read_text()
        .replace('["orders"]', f'["{topic}"]')
        .replace("127.0.0.1:1", mock_kafka.bootstrap)
    )
    changefeed = Changefeed(
        f"kafka://x/{topic}?protocol=canal-json&partition-num=1&enable-tidb-extension=true"
    )
    mock_kafka.produce(
        [
            *changefeed.ddl(Ddl("shop", "t", TABLE, TS, 3)),
            *rows(changefeed, TS + 1, {"id": 1, "v": "a"}, {"id": 2, "v": "b"}),
            *changefeed.ddl(Ddl("attic", "", DROP, TS + 2, 2)),
            *rows(changefeed, TS + 3, {"id": 3, "v": "c"}),
            *changefeed.resolve(TS + 10),
        ]
    )

    code, _, printed = finished("run", str(written), "--until", "caught-up")
    assert code == 3
    last = printed.splitlines()[-1]
    position = f"(in attic, commit_ts {TS + 2}, number 1)"
    assert last.startswith(f"ticdc-consumer: a DDL {position} waits for an operator: ")
    assert last.endswith(f"; its statement: {DROP}")
    assert f"--ddl-done {TS + 2}:1" in last
    code, status, _ = finished("status", str(written), "--json")
    current = json.loads(status)
    assert (code, int(current["resolved_ts"]), len(current["pending_ddl"])) == (0, TS + 3, 1)
    assert content(tmp_path / "target.db") == [(1, "a"), (2, "b")]

    process = started("run", str(written), "--ddl-done", f"{TS + 2}:1")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("R "):
            break
    process.send_signal(signal.SIGTERM)
    _, printed = process.communicate()
    assert process.returncode == 0, printed
    assert printed.splitlines()[-1].startswith(f"stopped by SIGTERM: R {TS + 10} (")
    assert content(tmp_path / "target.db") == [(1, "a"), (2, "b"), (3, "c")]
