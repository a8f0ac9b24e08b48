"""`ticdc-consumer init --from-changefeed`: a changefeed's configuration -> the consumer's."""

import json
import re
import sqlite3
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.brokers import Kafka
from ticdc_consumer import config
from ticdc_consumer.cli import main
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.event import Ddl

TS = 429918007904436226
TARGET = "postgresql://app:canary@db/shop"

QUERY: dict[str, Any] = {
    "upstream_id": 7168358383033671922,
    "id": "orders",
    "namespace": "default",
    "sink_uri": "kafka://k1:9092,k2:9092/shop?enable-tls=true&partition-num=3&protocol=canal-json"
    "&sasl-mechanism=scram-sha-512&sasl-password=xxxxx&sasl-user=cdc",
    "config": {
        "memory_quota": 1073741824,
        "case_sensitive": True,
        "bdr_mode": False,
        "sync_point_interval": "10m0s",
        "filter": {"rules": ["shop.*", "!shop.log"], "event_filters": None},
        "sink": {
            "protocol": "canal-json",
            "schema_registry": "",
            "csv": {"delimiter": ",", "quote": '"', "null": "\\N", "include_commit_ts": False},
            "dispatchers": [
                {"matcher": ["shop.a*"], "partition": "index-value", "topic": "{schema}_{table}"},
                {"matcher": ["shop.b*"], "partition": "ts", "topic": "b.{table}"},
                {"matcher": ["shop.c*"], "partition": "ts", "topic": "c"},
            ],
            "column_selectors": None,
            "file_index_width": 20,
            "kafka_config": {
                "codec_config": {"enable_tidb_extension": True},
                "large_message_handle": {
                    "large_message_handle_option": "claim-check",
                    "large_message_handle_compression": "lz4",
                    "claim_check_storage_uri": "s3://bucket/claims?secret-access-key=canary",
                    "claim_check_raw_value": True,
                },
            },
        },
    },
    "start_ts": TS,
    "state": "normal",
    "creator_version": "v8.5.7",
}

Case = tuple[str, str, str, dict[str, Any], list[str]]
SIMPLE = "kafka://k:1/t?protocol=simple"
KAFKA = {"topics": ["t"], "bootstrap.servers": "k:1"}
TABLES = {"case_sensitive": False, "filter": ["*.*"]}

CASES: list[Case] = [
    (
        "a query's JSON is all",
        json.dumps(QUERY),
        "",
        {
            "changefeed": "orders",
            "protocol": "canal-json",
            "kafka": {
                "topics": [
                    "shop",
                    "^(?!__consumer_offsets$|__transaction_state$|_schemas$)"
                    "[A-Za-z0-9._-]+_[A-Za-z0-9._-]+$",
                    "^b\\.[A-Za-z0-9._-]+$",
                    "c",
                ],
                "bootstrap.servers": "k1:9092,k2:9092",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "cdc",
                "security.protocol": "SASL_SSL",
            },
            "source": {
                "compression": "lz4",
                "claim_check_raw_value": True,
                "claim_check": "s3://bucket/claims",
                "time_zone": "UTC",
            },
            "tables": {"case_sensitive": True, "filter": ["shop.*", "!shop.log"]},
        },
        [
            "dispatchers",
            "dispatchers",
            "time zone",
            f"start-ts {TS}",
            "claim-check-storage-uri with secret-access-key",
        ],
    ),
    (
        "a TOML file needs a sink URI",
        'case-sensitive = false\n[filter]\nrules = ["a.*"]\n[sink.kafka-config.codec-config]\n'
        'encoding-format = "avro"',
        SIMPLE,
        {
            "changefeed": "orders",
            "protocol": "simple",
            "kafka": KAFKA,
            "source": {"encoding_format": "avro"},
            "tables": {"case_sensitive": False, "filter": ["a.*"]},
        },
        [],
    ),
    (
        "a registry's password is named",
        'case-sensitive = false\n[sink]\nschema-registry = "https://u:canary@registry:8081"',
        "kafka://k:1/t?protocol=avro&enable-tidb-extension=true&avro-enable-watermark=true",
        {
            "changefeed": "orders",
            "protocol": "avro",
            "kafka": KAFKA,
            "registry": {"url": "https://registry:8081"},
            "source": {"time_zone": "UTC"},
            "tables": TABLES,
        },
        ["time zone"],
    ),
    (
        "routed tables have their new names in the topic",
        'case-sensitive = false\nfilter.rules = ["a.*"]\n'
        '[[sink.dispatchers]]\nmatcher = ["a.*"]\ntarget-schema = "b"',
        SIMPLE,
        {"changefeed": "orders", "protocol": "simple", "kafka": KAFKA, "tables": TABLES},
        ["target-schema and target-table of dispatchers"],
    ),
    (
        "what has no counterpart is named",
        "future = 1\nforce-replicate = true\nbdr-mode = true\n"
        "[sink]\nopen.output-old-value = false\n[[sink.column-selectors]]\n"
        'matcher = ["*.*"]\ncolumns = ["*"]\n[filter]\nignore-txn-start-ts = [1]',
        "kafka://k:1/t?protocol=open-protocol&new=canary",
        {
            "changefeed": "orders",
            "protocol": "open-protocol",
            "kafka": KAFKA,
            "source": {"time_zone": "UTC"},
            "tables": TABLES,
        },
        [
            "bdr-mode",
            "future",
            "new",
            "output-old-value = false",
            "sink.column-selectors",
            "case-sensitive",
            "filter.event-filters and ignore-txn-start-ts",
            "force-replicate",
            "time zone",
        ],
    ),
    (
        "files take the place of topics",
        'case-sensitive = false\n[sink]\ndate-separator = "month"\nterminator = "\\n"\n'
        '[sink.csv]\ninclude-commit-ts = true\nquote = "\'"\n[[sink.column-selectors]]\n'
        'matcher = ["a.*"]\ncolumns = ["*", "!x"]\n'
        "[sink.cloud-storage-config]\nuse-table-id-as-path = true",
        "gcs://bucket/sink?protocol=csv",
        {
            "changefeed": "orders",
            "protocol": "csv",
            "storage": {
                "url": "gs://bucket/sink",
                "date_separator": "month",
                "terminator": "\n",
                "table_id_paths": True,
                "csv": {"quote": "'", "include-commit-ts": True},
                "column_selectors": [{"matcher": ["a.*"], "columns": ["*", "!x"]}],
            },
            "source": {"time_zone": "UTC"},
            "tables": TABLES,
        },
        ["time zone"],
    ),
]


def written(folder: Path, text: str, sink_uri: str) -> Path:
    source, file = folder / "changefeed", folder / "orders.toml"
    source.write_text(text)
    options = ["--from-changefeed", str(source), "--target", TARGET]
    if sink_uri:
        options += ["--sink-uri", sink_uri]
    assert main(["init", str(file), *options]) == 0
    return file


@pytest.mark.parametrize(
    ("text", "sink_uri", "document", "noted"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_a_changefeed_becomes_a_configuration(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    sink_uri: str,
    document: dict[str, Any],
    noted: list[str],
) -> None:
    file = written(tmp_path, text, sink_uri)
    expected = {**document, "target": {"url": "postgresql://app@db/shop"}}
    assert tomllib.loads(file.read_text()) == expected
    printed = "".join(capsys.readouterr())
    assert re.findall(r"^  - (.*?):", printed, re.MULTILINE) == noted
    assert re.findall(r"^#   - (.*?):", file.read_text(), re.MULTILINE) == noted
    assert "canary" not in printed + file.read_text()
    secrets = dict.fromkeys(re.findall(r"TICDC_KAFKA\w+", printed), "x")
    assert config.Settings.read(file, environ=secrets).changefeed == "orders"


REFUSED_BY_A_RUN = [
    (
        "kafka://k:1/t?protocol=canal-json&sasl-password=canary",
        "--sink-uri='kafka://k:1/t?protocol=canal-json&sasl-password=***"
        "&enable-tidb-extension=true'",
    ),
    (
        "kafka://k:1/t?protocol=avro&schema-registry=http://r:1&enable-tidb-extension=true",
        "--sink-uri='kafka://k:1/t?protocol=avro&schema-registry=***"
        "&enable-tidb-extension=true&avro-enable-watermark=true'",
    ),
    (
        "s3://b/p?protocol=canal-json",
        "--sink-uri='s3://b/p?protocol=canal-json&enable-tidb-extension=true'",
    ),
    ("s3://b/p?protocol=csv", "--config=FILE"),
]


@pytest.mark.parametrize(("sink_uri", "change"), REFUSED_BY_A_RUN)
def test_the_commands_that_change_a_refused_setting_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sink_uri: str, change: str
) -> None:
    file = written(tmp_path, "", sink_uri)
    assert [line.strip() for line in capsys.readouterr().out.splitlines() if "cdc cli" in line] == [
        "cdc cli changefeed pause --changefeed-id=orders",
        f"cdc cli changefeed update --changefeed-id=orders {change}",
        "cdc cli changefeed resume --changefeed-id=orders",
    ]
    assert config.Settings.read(file, environ={}).changefeed == "orders"


WRONG = [
    ("", [], "give --sink-uri"),
    ("", ["--sink-uri", "kafka://k:1/t?protocol=maxwell"], "protocol is 'maxwell'"),
    ("", ["--sink-uri", "mysql://canary:x@h/d"], "not one of cloud storage"),
    ("", ["--sink-uri", "kafka://k/t?protocol=simple"], "must be an address with a port"),
    ("", ["--sink-uri", "kafka://k:1/t?protocol=avro"], "registry.url is not set"),
    ("", ["--sink-uri", SIMPLE, "--protocol", "simple"], "--protocol comes from the changefeed"),
    ("sink = 1\n[", ["--sink-uri", SIMPLE], "is not TOML"),
    ("sink.protocol = 1", ["--sink-uri", SIMPLE], "sink.protocol must be of type str"),
    ("", ["--sink-uri", f"{SIMPLE}&sasl-mechanism=canary"], "sasl-mechanism is not one"),
    ("", ["--sink-uri", "kafka://[canary/t"], "is not a URI"),
    ("{}", [], "has no config"),
]


@pytest.mark.parametrize(("text", "options", "message"), WRONG)
def test_what_cannot_be_taken_is_named_and_nothing_is_written(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    options: list[str],
    message: str,
) -> None:
    source, file = tmp_path / "changefeed", tmp_path / "orders.toml"
    source.write_text(text)
    given = ["--from-changefeed", str(source), "--target", TARGET, *options]
    assert main(["init", str(file), *given]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "canary" not in printed
    assert not file.exists()


class OpenApi(BaseHTTPRequestHandler):
    """TiCDC's answer about one changefeed."""

    def do_GET(self) -> None:
        answers = {
            "/api/v2/changefeeds/orders?keyspace=ks": json.dumps(QUERY).encode(),
            "/api/v2/changefeeds/none": b"null",
        }
        self.send_response(200 if self.path in answers else 404)
        self.end_headers()
        self.wfile.write(answers.get(self.path, b'{"error_code": "x"}'))

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def ticdc() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OpenApi) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/api/v2/changefeeds"
        server.shutdown()
        thread.join()


def test_the_open_api_is_asked(tmp_path: Path, ticdc: str) -> None:
    file = tmp_path / "orders.toml"
    given = ["--from-changefeed", f"{ticdc}/orders?keyspace=ks", "--target", TARGET]
    assert main(["init", str(file), *given, "--brokers", "outside:9093"]) == 0
    document = tomllib.loads(file.read_text())
    assert document["kafka"]["bootstrap.servers"] == "outside:9093"
    assert document["tables"]["filter"] == ["shop.*", "!shop.log"]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("{}/other", "answers 404"),
        ("{}/none", "does not return a changefeed"),
        ("http://127.0.0.1:1/api/v2/changefeeds/a", "does not answer: "),
        ("http://u:canary@h/api", "without a user"),
        ("http://[canary/api", "is not a URI"),
        ("file:///etc/hostname", "takes a file, or TiCDC's address"),
        ("no/such/file", "cannot read no/such/file"),
    ],
)
def test_an_api_that_gives_no_changefeed_is_told(
    tmp_path: Path, ticdc: str, capsys: pytest.CaptureFixture[str], url: str, message: str
) -> None:
    given = ["--from-changefeed", url.format(ticdc), "--target", TARGET]
    assert main(["init", str(tmp_path / "orders.toml"), *given]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "canary" not in printed


def test_certificates_without_a_changefeed_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "orders.toml"), "--ca", "x"]) == 2
    assert "--ca goes with --from-changefeed" in capsys.readouterr().err


def test_a_run_takes_what_was_written(tmp_path: Path, mock_kafka: Kafka) -> None:
    topic = mock_kafka.create_topic("orders")
    sink_uri = f"kafka://{mock_kafka.bootstrap}/{topic}?protocol=canal-json&partition-num=1"
    settings = {"sink": {"kafka-config": {"codec-config": {"enable-tidb-extension": True}}}}
    changefeed = Changefeed(sink_uri, settings)
    statement = "CREATE TABLE t (id INT PRIMARY KEY)"
    mock_kafka.produce(
        [*changefeed.ddl(Ddl("shop", "t", statement, TS, 3)), *changefeed.resolve(TS + 10)]
    )
    query = {
        "id": "orders",
        "sink_uri": sink_uri,
        "config": {
            "case_sensitive": False,
            "sink": {"kafka_config": {"codec_config": {"enable_tidb_extension": True}}},
        },
    }
    (tmp_path / "query.json").write_text(json.dumps(query))
    file, target = tmp_path / "orders.toml", tmp_path / "target.db"
    given = ["--from-changefeed", str(tmp_path / "query.json"), "--target", f"sqlite:///{target}"]
    assert main(["init", str(file), *given]) == 0
    assert main(["run", str(file), "--until", "caught-up"]) == 0
    connection = sqlite3.connect(target)
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(0,)]
    connection.close()
