"""What `check` says of `[source] upstream`, a real TiDB, before a load."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
from support.brokers import Mock
from support.databases import fresh_database, own_schema
from support.server_address import server_address
from support.upstream_tidb import Upstream, upstream
from ticdc_consumer import config
from ticdc_consumer.commands.check.checks import check, exit_code
from ticdc_consumer.commands.check.finding import Finding
from ticdc_consumer.commands.load import zero_dates


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, zero dates are seen."""
    monkeypatch.setattr(zero_dates, "SECONDS", 60)


@pytest.fixture
def source() -> Iterator[Upstream]:
    with fresh_database(server_address("TIDB_URL")) as url, upstream(url) as opened:
        yield opened


def findings(
    kafka: Mock, topic: str, url: str, source: str, schema: str, rules: Sequence[str] = ()
) -> list[Finding]:
    given = {
        "changefeed": "shop",
        "protocol": "canal-json",
        "kafka.topics": [topic],
        "kafka.bootstrap.servers": kafka.bootstrap,
        "source.upstream": source,
        "target.url": url,
        "tables.filter": f"{schema}.*",
        "tables.route": {"*.*": f"{own_schema(url)}.{{table}}"},
        "target.rules": [*rules],
    }
    return list(check(config.Settings.of(given)))


def of_tables(report: list[Finding], schema: str) -> dict[str, str]:
    begins = f"table {schema}."
    return {f.subject.removeprefix(begins): f.text for f in report if f.subject.startswith(begins)}


TABLES = (
    "CREATE TABLE good (id int PRIMARY KEY, s varchar(9), d date)",
    "INSERT INTO good VALUES (1, 'a', '2024-02-29')",
    "CREATE TABLE keyless (id int)",
    "CREATE TABLE wide (s varchar(2000) CHARACTER SET latin1 PRIMARY KEY)",
    "CREATE TABLE alike (id int PRIMARY KEY, s varchar(2000) CHARSET latin1, UNIQUE KEY u (s))",
    "CREATE TABLE zero (id int PRIMARY KEY, d date NOT NULL, t datetime(3))",
    "INSERT INTO zero VALUES (1, '2024-00-10', NULL)",
    "CREATE TABLE vectors (id int PRIMARY KEY, v vector(3))",
)
WIDE = "takes 8000 bytes with its texts in utf8mb4"
REFUSED = {
    "sqlite": {"keyless": "no valid key"},
    "postgresql": {"keyless": "no valid key", "zero": "column d holds a zero or partial date"},
    "mariadb": {"keyless": "no valid key", "wide": WIDE, "vectors": "no VECTOR"},
    "mysql": {"keyless": "no valid key", "wide": WIDE, "alike": WIDE, "vectors": "no VECTOR"},
    "tidb": {"keyless": "no valid key"},
}


def test_check_names_every_table_that_a_load_would_refuse(
    mock_kafka: Mock, source: Upstream, target_url: str, request: pytest.FixtureRequest
) -> None:
    source.execute(*TABLES)
    topic = mock_kafka.create_topic("shop")
    report = findings(mock_kafka, topic, target_url, source.url, source.schema)
    said = of_tables([f for f in report if f.level == "fail"], source.schema)
    wanted = REFUSED[request.node.callspec.params["target_url"]]
    assert said.keys() == wanted.keys()
    assert {name for name, words in wanted.items() if words not in said[name]} == set()
    assert [text for text in said.values() if source.schema in text] == []  # the subject has it
    (summary,) = (f.text for f in report if "can be loaded" in f.text)
    good = len(TABLES) - 2 - len(wanted)
    assert summary == f"{good} tables can be loaded, of which load creates {good}"
    assert exit_code(report) == 3


def test_the_rule_lets_a_zero_date_into_a_nullable_column(
    mock_kafka: Mock, source: Upstream, postgresql_url: str
) -> None:
    topic = mock_kafka.create_topic("shop")
    source.execute(
        "CREATE TABLE a (id int PRIMARY KEY, d date)", "INSERT INTO a VALUES (1, '0000-00-00')"
    )
    at = topic, postgresql_url, source.url, source.schema
    (refused,) = (f for f in findings(mock_kafka, *at) if f.subject == f"table {source.schema}.a")
    assert 'set [target] rules = ["zero-date-as-null"]' in refused.text
    ruled = findings(mock_kafka, *at, rules=["zero-date-as-null"])
    assert [f.subject for f in ruled if f.level == "fail"] == []


def test_a_table_created_as_the_message_says_is_accepted(
    mock_kafka: Mock, source: Upstream, postgresql_url: str, mysql_url: str
) -> None:
    topic = mock_kafka.create_topic("shop")
    source.execute(
        "CREATE TABLE dates (id int PRIMARY KEY, d date NOT NULL)",
        "INSERT INTO dates VALUES (1, '0000-00-00')",
        "CREATE TABLE wide (s varchar(1000) CHARSET gbk COLLATE gbk_bin PRIMARY KEY)",
    )
    by_hand = {
        postgresql_url: ("dates", "CREATE TABLE dates (id int PRIMARY KEY, d text NOT NULL)"),
        mysql_url: (
            "wide",
            "CREATE TABLE wide (s varchar(1000) CHARSET utf8mb3 COLLATE utf8_bin PRIMARY KEY)",
        ),
    }
    for url, (table, create) in by_hand.items():
        at = topic, url, source.url, source.schema
        refused = of_tables(findings(mock_kafka, *at), source.schema)
        assert refused.keys() == {table}
        assert "create the table" in refused[table]
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            connection.exec_driver_sql(create)
        engine.dispose()
        assert of_tables(findings(mock_kafka, *at), source.schema) == {}


def test_check_says_that_the_upstream_does_not_answer(mock_kafka: Mock, tmp_path: Path) -> None:
    nowhere = "mysql+pymysql://root:secret@127.0.0.1:1"
    url, topic = f"sqlite:///{tmp_path}/x.db", mock_kafka.create_topic("shop")
    report = findings(mock_kafka, topic, url, nowhere, "shop")
    (failed,) = (f for f in report if f.level == "fail")
    assert failed.subject == "upstream"
    assert failed.text.startswith("cannot connect to 127.0.0.1:1")
    assert "secret" not in str(report)
    assert exit_code(report) == 1
