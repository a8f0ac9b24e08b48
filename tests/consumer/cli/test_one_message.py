"""`ticdc-consumer inspect`: a message decoded as far as possible, and the bytes around a fault."""

import json
from pathlib import Path

import pytest
from support.brokers import Kafka
from ticdc_consumer.cli import main
from ticdc_consumer.commands.inspect import Excerpt, _faults
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.formats.compression import deflate
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

TS = 445644800000000000
TABLE = parse_create_table("CREATE TABLE `users` (`id` INT NOT NULL, PRIMARY KEY (`id`))", "shop")


class Inspect:
    """The command, for messages that it puts into a topic of its own."""

    def __init__(self, file: Path, kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> None:
        self._file, self._kafka, self._capsys = file, kafka, capsys
        self.topic = kafka.create_topic("users")

    def __call__(self, *values: bytes | None, offset: int = 0, more: str = "") -> tuple[int, str]:
        messages = [Message(self.topic, 0, None, value) for value in values]
        self._kafka.produce(messages)
        file, topic = self._file, self.topic
        file.write_text(
            f'changefeed = "users"\nprotocol = "canal-json"\n[kafka]\ntopics = ["{topic}"]\n'
            f'"bootstrap.servers" = "{self._kafka.bootstrap}"\n'
            f'[target]\nurl = "sqlite:///{file.parent}/users.db"\n{more}'
        )
        options = ["--json"] if more == "" else []
        code = main(["inspect", str(file), topic, "0", str(offset), *options])
        printed = self._capsys.readouterr()
        return code, printed.out + printed.err


@pytest.fixture
def inspect(tmp_path: Path, mock_kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> Inspect:
    return Inspect(tmp_path / "users.toml", mock_kafka, capsys)


def row(identity: int) -> bytes:
    changefeed = Changefeed("kafka://x/t?protocol=canal-json&enable-tidb-extension=true")
    change = RowChange(TABLE, TS, None, {"id": identity})
    (message,) = changefeed.encode(Transaction(TS, (change,)))
    assert message.value is not None
    return message.value


TEXT = "[source]\n"


def test_a_good_message_is_shown_as_its_events(inspect: Inspect) -> None:
    code, printed = inspect(row(7), row(8), offset=1)
    (event,) = json.loads(printed)["events"]
    assert (code, event["after"], event["commit_ts"]) == (0, {"id": 8}, str(TS))


def test_the_fault_of_a_row_is_shown_with_its_bytes_and_its_json(inspect: Inspect) -> None:
    broken = row(7).replace(b'"id":"7"', b'"id":"seven"')
    code, printed = inspect(broken, more=TEXT)
    lines = printed.splitlines()
    assert code == 3
    assert lines[0].startswith(f"message  {inspect.topic}[0] offset 0, 20")
    assert lines[1:3] == ["key      null", f"value    {len(broken)} bytes"]
    assert lines[3].startswith("error    column `id` of shop.users: ")
    assert any(line.startswith("> ") for line in lines)
    assert '"id":"seven"' in "".join(line[61:] for line in lines if line.startswith((" ", ">")))
    assert '      "id": "seven"' in lines


def test_a_message_that_is_not_json_shows_where_it_ends_to_be(inspect: Inspect) -> None:
    broken = row(7)[:40]
    code, printed = inspect(broken)
    document = json.loads(printed)
    assert (code, document["events"], document["value_bytes"]) == (3, [], 40)
    assert document["error"].startswith("not JSON at character ")
    (excerpt,) = document["excerpts"]
    assert bytes.fromhex(excerpt["hex"]) == broken
    assert excerpt["fault"] <= 40


def test_a_compressed_value_is_shown_inflated(inspect: Inspect) -> None:
    plain = row(7)
    code, printed = inspect(deflate(plain, "lz4"), more='[source]\ncompression = "lz4"\n')
    assert code == 0
    assert f", {len(plain)} bytes inflated" in printed
    code, printed = inspect(plain, offset=1, more='[source]\ncompression = "lz4"\n')
    assert code == 3
    assert "the value is not an LZ4 frame" in printed


def test_a_commit_ts_that_a_run_would_refuse_is_named(inspect: Inspect) -> None:
    code, printed = inspect(row(7).replace(str(TS).encode(), str((1 << 63) - 1).encode()))
    document = json.loads(printed)
    assert (code, len(document["events"])) == (3, 1)
    assert "lies too far in the future" in document["error"]


def test_a_missing_offset_is_named_with_those_of_the_partition(inspect: Inspect) -> None:
    code, printed = inspect(row(7), row(8), offset=2)
    assert code == 2
    assert f"{inspect.topic}[0] has offsets 0 to 1, and no offset 2" in printed


def test_a_topic_that_does_not_exist_is_named(inspect: Inspect) -> None:
    inspect(row(7))
    file = inspect._file
    assert main(["inspect", str(file), "nowhere", "0", "0"]) == 3
    assert "nowhere[0]: " in inspect._capsys.readouterr().err


FAULTS = [
    (b"abc\xff", "not UTF-8 at byte 3", [3]),
    ("äö{".encode(), "not JSON at character 2", [4]),
    (b'{"id":1,"x":{"id":2}}', "column `id` of shop.users: wrong", [1, 13]),
    (b"{}", "an unknown type", []),
]


@pytest.mark.parametrize(("value", "error", "at"), FAULTS)
def test_the_bytes_that_an_error_is_about_are_found(
    value: bytes, error: str, at: list[int]
) -> None:
    assert _faults(value, error) == at


def test_an_excerpt_marks_the_line_of_the_fault() -> None:
    lines = list(Excerpt(16, b"0123456789abcdef\x00\xff", 33).lines())
    assert lines == [
        "  00000010  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef",
        "> 00000020  00 ff                                            ..",
    ]
