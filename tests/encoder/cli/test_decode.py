"""`ticdc-encoder decode`: what people see of a file or a topic."""

import base64
import gc
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import brokers
from support.closed_output import output
from support.golden import Variant, scenario
from ticdc_encoder.cli import main
from ticdc_encoder.cli.decode import lines
from ticdc_encoder.event import RowChange
from ticdc_encoder.formats import simple
from ticdc_encoder.formats.open_protocol import VERSION
from ticdc_encoder.kafka.records import Located
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

CANAL = (
    b'{"id":0,"database":"shop","table":"orders","pkNames":["id"],"isDdl":false,"type":"UPDATE",'
    b'"es":0,"ts":0,"sql":"","sqlType":{"id":4,"b":2004,"p":3},'
    b'"mysqlType":{"id":"int","b":"blob","p":"decimal(6,2)"},'
    b'"old":[{"id":"1","b":"\xc3\xbf","p":"1.50"}],"data":[{"id":"1","b":null,"p":"2.50"}]'
)
TIDB = b',"_tidb":{"commitTs":429918007904436226}}'
UPDATE = {
    "kind": "update",
    "table": "shop.orders",
    "commit_ts": 429918007904436226,
    "time": "2021-12-20T13:30:49.196Z",
    "before": {"id": 1, "b": {"hex": "ff"}, "p": "1.50"},
    "after": {"id": 1, "b": None, "p": "2.50"},
}
WITHOUT_TS = UPDATE | {"commit_ts": None, "time": None}
WATERMARK = (
    b'{"id":0,"database":"","table":"","pkNames":null,"isDdl":false,"type":"TIDB_WATERMARK",'
    b'"es":0,"ts":0,"sql":"","sqlType":null,"mysqlType":null,"data":null,"old":null,'
    b'"_tidb":{"watermarkTs":429918007904436226}}'
)
RESOLVED = {
    "kind": "resolved",
    "resolved_ts": 429918007904436226,
    "time": "2021-12-20T13:30:49.196Z",
}
DDL = (
    b'{"id":0,"database":"shop","table":"orders","pkNames":null,"isDdl":true,"type":"CREATE",'
    b'"es":0,"ts":0,"sql":"create table orders (id int)","sqlType":null,"mysqlType":null,'
    b'"data":null,"old":null' + TIDB
)
CREATED = {
    "kind": "ddl",
    "table": "shop.orders",
    "commit_ts": 429918007904436226,
    "time": "2021-12-20T13:30:49.196Z",
    "query": "create table orders (id int)",
}


def framed(*items: bytes) -> bytes:
    return b"".join(len(item).to_bytes(8, "big") + item for item in items)


OPEN_KEY = VERSION + framed(
    b'{"ts":429918007904436226,"scm":"shop","tbl":"orders","t":1}',
    b'{"ts":429918007904436226,"scm":"shop","tbl":"orders","t":1}',
)
OPEN_VALUE = framed(
    b'{"u":{"id":{"t":3,"h":true,"f":11,"v":1},"name":{"t":15,"f":64,"v":"\xff"}}}',
    b'{"d":{"id":{"t":3,"h":true,"f":11,"v":2}}}',
)
OPEN = [
    UPDATE | {"kind": "insert", "before": None, "after": {"id": 1, "name": "\udcff"}},
    UPDATE | {"kind": "delete", "before": {"id": 2}, "after": None},
]


def record(key: bytes | None, value: bytes | None, **more: Any) -> bytes:
    key_text, text = (b and base64.b64encode(b).decode() for b in (key, value))
    return json.dumps(
        {"topic": "t", "partition": 1, **more, "key": key_text, "value": text}
    ).encode()


PLACE = {"topic": "t", "partition": 1, "offset": 7}
FILES = [
    ("canal-json", CANAL + TIDB, [UPDATE]),
    ("canal-json", CANAL + b"}", [WITHOUT_TS]),
    (
        "canal-json",
        (CANAL + TIDB).replace(b'"old":[{"id":"1"', b'"old":[{"id":"9"'),
        [
            UPDATE
            | {"before": {"id": 9, "b": {"hex": "ff"}, "p": "1.50"}, "key_changed": "UPDATEPK"}
        ],
    ),
    ("canal-json", DDL + b"\r\n\r\n" + WATERMARK + b"\n", [CREATED, RESOLVED]),
    ("canal-json", record(None, CANAL + TIDB, offset=7), [UPDATE | PLACE]),
    (
        "canal-json",
        json.dumps({**PLACE, "tstype": "create", "ts": 1, "key": None})[:-1].encode()
        + b',"payload":'
        + json.dumps((CANAL + TIDB).decode()).encode()
        + b"}",
        [UPDATE | PLACE],
    ),
    (
        "open-protocol",
        record(OPEN_KEY, OPEN_VALUE),
        [event | {"topic": "t", "partition": 1} for event in OPEN],
    ),
]


@pytest.mark.parametrize(("protocol", "content", "expected"), FILES)
def test_a_files_lines_are_messages_or_records(
    protocol: str,
    content: bytes,
    expected: list[Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "messages"
    file.write_bytes(content)
    assert main(["decode", protocol, str(file)]) == 0
    assert [json.loads(line) for line in capfd.readouterr().out.splitlines()] == expected


def test_a_value_and_its_key_lie_in_files_of_their_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "key").write_bytes(OPEN_KEY)
    (tmp_path / "value").write_bytes(OPEN_VALUE)
    files = [str(tmp_path / "value"), "--key", str(tmp_path / "key")]
    assert main(["decode", "open-protocol", *files, "--count", "1"]) == 0
    assert json.loads(capfd.readouterr().out) == OPEN[0]


@pytest.mark.parametrize(
    "table",
    [
        "create table shop.orders (id int primary key, name varchar(9))",
        "CREATE TABLE `orders` (`id` int PRIMARY KEY, `name` varchar(9))",
        '{"Table":"orders","Schema":"shop","Version":1,"TableVersion":5,"Query":"","Type":0,'
        '"TableColumns":[{"ColumnName":"id","ColumnType":"INT","ColumnNullable":"false",'
        '"ColumnIsPk":"true"},{"ColumnName":"name","ColumnType":"VARCHAR","ColumnPrecision":"9"}],'
        '"TableColumnsTotal":2}',
    ],
)
def test_csv_is_read_by_its_table(
    table: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "CDC1.csv").write_bytes(
        b"'I';'orders';'shop';429918007904436226;1;'a;b'\r\n'D';'orders';'shop';429918007904436226;2;\\N\r\n"
    )
    (tmp_path / "table").write_text(table)
    words = [str(tmp_path / "CDC1.csv"), "--table", str(tmp_path / "table")]
    options = ["-o", "delimiter=;", "-o", "quote='", "-o", "include-commit-ts=true"]
    assert main(["decode", "csv", *words, *options]) == 0
    assert [json.loads(line) for line in capfd.readouterr().out.splitlines()] == [
        UPDATE | {"kind": "insert", "before": None, "after": {"id": 1, "name": "a;b"}},
        UPDATE | {"kind": "delete", "before": {"id": 2, "name": None}, "after": None},
    ]


def lines_of(variant: Variant, path: Path) -> None:
    path.write_bytes(
        b"\n".join(
            json.dumps(
                {
                    "topic": r.topic,
                    "partition": r.partition,
                    "key": r.key and base64.b64encode(r.key).decode(),
                    "value": r.value and base64.b64encode(r.value).decode(),
                }
            ).encode()
            for r in variant.records
        )
    )


@pytest.mark.parametrize(
    ("name", "variant", "options"),
    [
        ("splits", "canal-json.split.table", []),
        ("splits", "open.split.table", []),
        ("splits", "debezium.split.table", []),
        ("splits", "simple.json.split.table", []),
        ("splits", "classic.simple.avro", ["encoding-format=avro"]),
        ("large", "open.claim-check-lz4", ["compression=lz4"]),
        ("large", "canal-json.handle-key-only-snappy", ["compression=snappy"]),
    ],
)
def test_every_row_that_ticdc_wrote_is_shown(
    name: str,
    variant: str,
    options: list[str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    golden = scenario(name).variants[variant]
    lines_of(golden, tmp_path / "golden")
    protocol = {"canal": "canal-json", "open": "open-protocol", "debez": "debezium"}.get(
        variant.partition(".")[0][:5].removesuffix("-"), "simple"
    )
    option_words = [word for option in options for word in ("-o", option)]
    assert main(["decode", protocol, str(tmp_path / "golden"), *option_words]) == 0
    printed = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    rows = [line for line in printed if line["kind"] in ("insert", "update", "delete")]
    assert len(rows) == golden.counts["rows"]
    assert not any("schema" in line for line in printed)


def test_an_update_is_shown_with_the_kind_of_key_that_it_changes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = parse_create_table("create table t (i int primary key, u int unique, v int)", "s")
    table = replace(table, table_id=1, version=9)
    encoder = simple.Encoder(simple.Options(), lambda: 0)
    written = [encoder.bootstrap(table)]
    for new in ((2, 1, 1), (1, 2, 1), (1, 1, 2)):
        old, changed = (dict(zip("iuv", values, strict=True)) for values in ((1, 1, 1), new))
        written += encoder.row(RowChange(table, 5, old, changed))
    (tmp_path / "simple").write_bytes(b"\n".join(value or b"" for _, value in written))
    assert main(["decode", "simple", str(tmp_path / "simple")]) == 0
    shown = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line.get("key_changed") for line in shown] == ["UPDATEPK", "UPDATEUK", None]


def test_simples_rows_without_their_schema_come_last_as_text(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    row = (
        b'{"version":1,"database":"shop","table":"orders","tableID":1,"type":"INSERT",'
        b'"commitTs":429918007904436226,"buildTs":0,"schemaVersion":9,"data":{"id":"1"}}'
    )
    mark = b'{"version":1,"type":"WATERMARK","commitTs":429918007904436226,"buildTs":0}'
    (tmp_path / "simple").write_bytes(row + b"\n" + mark)
    assert main(["decode", "simple", str(tmp_path / "simple")]) == 0
    resolved, inserted = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert resolved == RESOLVED
    assert (inserted["after"], inserted["schema"]) == ({"id": "1"}, "missing")


def test_of_simples_records_only_rows_that_wait_are_kept() -> None:
    encoder = simple.Encoder(simple.Options())
    table = parse_create_table("create table orders (id int primary key)", "shop")
    key, value = encoder.bootstrap(replace(table, table_id=1, version=9))
    alive = 0

    def records() -> Iterator[Located]:
        nonlocal alive
        for number in range(100):
            yield Located(key, value, f"record {number}")
        alive = sum(isinstance(each, Located) for each in gc.get_objects())

    assert [*lines("simple", simple.Options(), records())] == []
    assert alive <= 2


ERRORS: list[tuple[list[str], int, str]] = [
    (["canal-json"], 2, "either FILE or --kafka TOPIC"),
    (["canal-json", "-", "--kafka", "t"], 2, "either FILE or --kafka TOPIC"),
    (["canal-json", "nowhere"], 2, "nowhere cannot be read: No such file"),
    (["canal-json", "bad"], 3, "not JSON at character 0; at line 2 of bad"),
    (["open-protocol", "bad"], 3, "looks like canal-json); at line 1 of bad"),
    (["canal-json", "torn"], 3, "line 1 of torn is not a record"),
    (
        ["canal-json", "bad", "-o", "flavour=1"],
        2,
        "unknown option 'flavour'; the options are compression",
    ),
    (["canal-json", "bad", "-o", "flavour"], 2, "the option 'flavour' is not KEY=VALUE"),
    (["canal-json", "bad", "-o", "compression=zip"], 2, "not one of none, lz4, snappy"),
    (["avro", "bad"], 2, "avro needs a schema registry"),
    (["csv", "bad"], 2, "csv is decoded from a FILE, with --table"),
    (["csv", "bad", "--table", "bad"], 2, "bad has no columns"),
    (["csv", "-", "--table", "-"], 2, "standard input is one file, not two"),
    (["canal-json", "/proc/self/mem"], 2, "/proc/self/mem cannot be read: Input/output error"),
    (["open-protocol", "bad", "--key", "/proc/self/mem"], 2, "cannot be read: Input/output error"),
    (["canal-json", "a\0b"], 2, "is not the name of a file"),
    (["canal-json", "--kafka", "t"], 2, "--kafka needs --bootstrap"),
    (["canal-json", "--kafka", "t", "--bootstrap", "h", "-X", "x"], 2, "-X x: not KEY=VALUE"),
    (["canal-json", "--kafka", "t", "--bootstrap", "h", "-X", "x=y"], 2, 'property: "x"'),
]


@pytest.mark.parametrize(("words", "code", "message"), ERRORS)
def test_what_is_wrong_is_one_line(
    words: list[str],
    code: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad").write_bytes(CANAL + TIDB + b"\nsecret\n")
    Path("torn").write_bytes(b'{"topic":"t","partition":0,"value":"*"}')
    if words[1:] == ["bad", "--table", "bad"]:
        Path("bad").write_text(
            '{"Table":"","Schema":"shop","Version":1,"TableVersion":5,"Query":"","Type":0,'
            '"TableColumns":null,"TableColumnsTotal":0}'
        )
    assert main(["decode", *words]) == code
    error = capfd.readouterr().err
    assert message in error
    assert error.startswith("ticdc-encoder: ") and error.count("\n") == 1
    assert "secret" not in error


def printed(*words: str, capfd: pytest.CaptureFixture[str]) -> list[tuple[int, int, str]]:
    assert main(["decode", "canal-json", *words]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    return sorted((line["partition"], line["offset"], line["kind"]) for line in lines)


def test_a_topic_is_read_to_its_end(
    kafka: brokers.Kafka, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic("orders", 3)
    update = Message(topic, 1, None, CANAL + TIDB)
    kafka.produce([update, update, Message(topic, 2, None, WATERMARK)])
    topic_words = ["--kafka", topic, "--bootstrap", kafka.bootstrap]
    assert printed(*topic_words, capfd=capfd) == [
        (1, 0, "update"),
        (1, 1, "update"),
        (2, 0, "resolved"),
    ]
    assert printed(*topic_words, "--partition", "0", capfd=capfd) == []
    assert printed(*topic_words, "--partition", "1", "--offset", "1", capfd=capfd) == [
        (1, 1, "update")
    ]
    assert main(["decode", "canal-json", *topic_words, "--partition", "3"]) == 1
    assert capfd.readouterr().err == f"ticdc-encoder: {topic} has no partition 3, but 3\n"


COMMAND = [sys.executable, "-c", "import sys; from ticdc_encoder.cli import main; sys.exit(main())"]


def test_ctrl_c_ends_it_without_a_word(mock_kafka: brokers.Mock) -> None:
    topic = mock_kafka.create_topic("orders", 1)
    mock_kafka.produce([Message(topic, 0, None, WATERMARK)])
    words = ["decode", "canal-json", "--follow", "--kafka", topic]
    # A shell's background job ignores the signal, and its children do.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    python, option, program = COMMAND
    with subprocess.Popen(
        [python, option, f"{heeding}; {program}", *words, "--bootstrap", mock_kafka.bootstrap],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline())["kind"] == "resolved"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b""
    assert process.returncode == 130


def test_a_reader_that_has_enough_ends_it_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "many").write_bytes((WATERMARK + b"\n") * 5000)
    with subprocess.Popen(
        [*COMMAND, "decode", "canal-json", str(tmp_path / "many")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_the_file_may_stand_behind_options(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one").write_bytes(WATERMARK)
    assert main(["decode", "canal-json", "-o", "compression=none", str(tmp_path / "one")]) == 0
    assert json.loads(capfd.readouterr().out) == RESOLVED
    with pytest.raises(SystemExit, match="2"):
        main(["decode", "canal-json", "a", "-o", "compression=none", "b"])
    assert "unrecognized arguments: b" in capfd.readouterr().err


def test_a_number_of_events_that_is_no_number_is_wrong_usage(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["decode", "canal-json", "-", "--count", "9" * 20])
    assert f"{'9' * 20!r} is not a number" in capfd.readouterr().err


def test_a_closed_input_is_reported() -> None:
    words = ["sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "decode", "canal-json", "-"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (2, b"ticdc-encoder: standard input is closed\n")


@pytest.mark.parametrize(
    ("left", "code", "words"),
    [
        ("closed", 141, ""),
        ("full", 1, "ticdc-encoder: the output cannot be written: No space left on device\n"),
    ],
)
@pytest.mark.parametrize("rest", [b"", b"\nno message"])
def test_an_output_that_takes_nothing_ends_the_command(
    rest: bytes,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    left: str,
    code: int,
    words: str,
) -> None:
    path = tmp_path / "messages"
    path.write_bytes(WATERMARK + rest)
    with output(left) as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert main(["decode", "canal-json", str(path)]) == code
    assert capsys.readouterr().err == words
