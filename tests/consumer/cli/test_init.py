"""`ticdc-consumer init`: a first configuration."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from ticdc_consumer import config
from ticdc_consumer.cli import main

OPTIONS = {
    "--brokers": "k1:9092,k2:9092",
    "--topics": "orders,^shop_.*",
    "--protocol": "simple",
    "--target": "postgresql://app@localhost/shop",
}


def words(**changed: str) -> list[str]:
    options = {**OPTIONS, **{f"--{name}": value for name, value in changed.items()}}
    return [word for pair in options.items() for word in pair]


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "simple", "debezium", "avro"])
def test_it_writes_a_commented_configuration_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    file = tmp_path / "orders.toml"
    assert main(["init", str(file), *words(protocol=protocol)]) == 0
    assert f"next: ticdc-consumer check {file}" in capsys.readouterr().out
    options = config.Settings.read(file, environ={})
    assert (options.changefeed, options.protocol) == ("orders", protocol)
    assert options.topics == ("orders", "^shop_.*")
    assert options.kafka["bootstrap.servers"] == "k1:9092,k2:9092"
    assert options.target_url == "postgresql://app@localhost/shop"
    assert file.read_text().count("#") > 10


def test_what_stands_in_comments_can_be_used(tmp_path: Path) -> None:
    file = tmp_path / "orders.toml"
    assert main(["init", str(file), *words()]) == 0
    text = file.read_text()
    for name in ("kafka.password", "target.password"):
        (tmp_path / name).write_text("x")
        text = text.replace(f'"{name}"', f'"{tmp_path / name}"')
    head, _, settings = text.partition("changefeed =")
    settings = settings.replace("\n# ", "\n")
    file.write_text(f"{head}changefeed ={settings}")
    options = config.Settings.read(file, environ={})
    assert options.route == {"shop.*": "store.{table}"}
    assert options.metrics_listen == ("127.0.0.1", 9464)
    assert options.kafka["sasl.password"] == "x"


def test_it_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "orders.toml"
    file.write_text("mine")
    assert main(["init", str(file), *words()]) == 2
    assert "exists already, and is not overwritten" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_a_password_of_the_url_is_in_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "orders.toml"
    assert main(["init", str(file), *words(target="mysql://app:canary@h/shop")]) == 0
    printed = "".join(capsys.readouterr())
    assert "set TICDC_TARGET_PASSWORD" in printed
    assert "canary" not in printed + file.read_text()


WRONG = [
    ({"brokers": "localhost"}, "--brokers must be an address with a port"),
    ({"topics": "a b"}, "--topics has 'a b', which is not a valid topic name"),
    ({"protocol": "canal-jsn"}, "did you mean canal-json?"),
    ({"protocol": "csv"}, "csv is for files"),
    ({"target": "postgres://h/d"}, "did you mean postgresql?"),
    ({"target": "postgresql://h"}, "must name a database"),
    ({"target": "postgresql://h/d?sslpassword=x"}, "has a secret among its parameters"),
]


@pytest.mark.parametrize(("options", "text"), WRONG)
def test_a_wrong_option_is_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, str], text: str
) -> None:
    file = tmp_path / "orders.toml"
    assert main(["init", str(file), *words(**options)]) == 2
    assert text in capsys.readouterr().err
    assert not file.exists()


def test_a_missing_option_is_named_without_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "empty").open("w+") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert main(["init", str(tmp_path / "orders.toml"), *words()[:-4]]) == 2
    assert "there is no terminal to ask at: give --protocol, --target" in capsys.readouterr().err


def test_it_asks_at_a_terminal_until_an_answer_is_right(tmp_path: Path) -> None:
    file = tmp_path / "orders.toml"
    ours, theirs = pty.openpty()
    command = [str(Path(sys.executable).with_name("ticdc-consumer")), "init", str(file)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        shown = ""
        for question, answer in (
            ("1 of 4", ""),
            ("2 of 4", "orders"),
            ("3 of 4", "canal-jsn"),
            ("did you mean canal-json?", ""),
            ("4 of 4", "sqlite:////var/lib/shop.db"),
        ):
            while question not in shown:
                shown += os.read(ours, 1000).decode()
            shown = shown.partition(question)[2]
            os.write(ours, f"{answer}\n".encode())
        assert process.wait(60) == 0
    os.close(ours)
    options = config.Settings.read(file, environ={})
    assert (options.protocol, options.kafka["bootstrap.servers"]) == (
        "canal-json",
        "localhost:9092",
    )
    assert options.target_url == "sqlite:////var/lib/shop.db"
