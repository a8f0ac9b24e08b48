"""What `check` finds, with real brokers (the mock and Kafka) and real databases."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
import sqlalchemy as sa
from confluent_kafka import Consumer, TopicPartition
from support.brokers import Kafka
from ticdc_consumer import config
from ticdc_consumer.commands.check.checks import check, exit_code
from ticdc_consumer.commands.check.finding import Finding
from ticdc_consumer.config.options import Settings
from ticdc_consumer.source.kafka import brokers as listing
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.schema import STATE_VERSION
from ticdc_consumer.state.store import Store
from ticdc_consumer.status import reading
from ticdc_consumer.targets import open_target
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Ddl, Row, RowChange, Transaction
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.testing.shop import TABLES, Shop

PROTOCOLS = ["canal-json", "open-protocol", "simple"]


def options(kafka: Kafka, topic: str, url: str, **settings: object) -> Settings:
    return config.Settings.of(
        {
            "changefeed": "shop",
            "protocol": "canal-json",
            "kafka.topics": [topic],
            "kafka.bootstrap.servers": kafka.bootstrap,
            "target.url": url,
            **{name.replace("__", "."): value for name, value in settings.items()},
        }
    )


def messages(
    topic: str, protocol: str = "canal-json", extra: str = "&enable-tidb-extension=true"
) -> list[Message]:
    """The shop's definitions, its opening and a resolved ts."""
    changefeed = Changefeed(
        f"kafka://x/{topic}?protocol={protocol}&partition-num=2{extra}",
        {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}},
        new_architecture=True,
    )
    shop = Shop(1, accounts=20, users=20)
    created = [message for ddl in shop.definitions() for message in changefeed.ddl(ddl)]
    opened = [*created, *changefeed.encode(shop.open()), *changefeed.encode(shop.trade())]
    return [*opened, *changefeed.resolve(shop.resolve())]


def report(options: Settings) -> list[Finding]:
    return list(check(options))


def lines(findings: Sequence[Finding], level: str) -> list[str]:
    return [f"{f.subject}: {f.text}" for f in findings if f.level == level]


def schema_of(url: str) -> str:
    """Where the shop goes: its own schema, or in a server that others use, the test's database."""
    parsed = sa.make_url(url)
    mysql = parsed.get_backend_name() in ("mysql", "mariadb")
    return str(parsed.database) if mysql else "shop"


def create_shop(url: str) -> None:
    """The shop's tables, as a target has them."""
    target, schema = open_target(url), schema_of(url)
    with target.transaction():
        for statement in target.create_schema(schema):
            target.execute(statement)
    for table in TABLES.values():
        with target.transaction():
            for statement in target.create_table(*target.locate(schema, table.name), table):
                target.execute(statement)
    target.close()


def tables_of(url: str) -> list[str]:
    engine = sa.create_engine(url)
    names = sa.inspect(engine).get_table_names()
    engine.dispose()
    return names


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_all_is_well_before_a_first_start(kafka: Kafka, sqlite_url: str, protocol: str) -> None:
    topic = kafka.create_topic("shop", 2)
    kafka.produce(messages(topic, protocol))
    findings = report(options(kafka, topic, sqlite_url, protocol=protocol))
    assert lines(findings, "fail") == []
    assert exit_code(findings) == 0
    subjects = [finding.subject for finding in findings]
    assert subjects[:3] == ["java", "spark", "target"]
    well = "\n".join(lines(findings, "ok"))
    for words in (
        f"topic {topic}: 2 partitions, ",
        "checkpoint: none of shop: a first start",
        f"are {protocol} with a commit_ts",
        f"topic {topic}: the first resolved ts read is 4",
        "log: complete from offset 0",
        "table shop.accounts: will be created by its own CREATE TABLE",
    ):
        assert words in well
    assert tables_of(sqlite_url) == []


@pytest.mark.parametrize("target_url", ["sqlite", "postgresql", "mariadb", "mysql"], indirect=True)
def test_a_target_that_cannot_mark_its_writes_is_told(mock_kafka: Kafka, target_url: str) -> None:
    topic = mock_kafka.create_topic("shop")
    (words, *_) = lines(
        report(options(mock_kafka, topic, target_url, **{"target.write_source": 3})), "fail"
    )
    assert words.startswith("target: [target] write_source is for a target that is TiDB, and this")
    assert words.endswith(": leave it out")


def test_a_tidb_marks_its_writes(mock_kafka: Kafka, tidb_url: str) -> None:
    topic = mock_kafka.create_topic("shop")
    findings = report(options(mock_kafka, topic, tidb_url, **{"target.write_source": 3}))
    words = "target: rows will be marked as replicated: tidb_cdc_write_source = 3"
    assert words in lines(findings, "ok")


def test_retention_is_told_where_the_brokers_tell(kafka: Kafka, sqlite_url: str) -> None:
    topic = kafka.create_topic("shop")
    findings = report(options(kafka, topic, sqlite_url))
    (finding,) = [f for f in findings if "keeps messages" in f.text or "are not known" in f.text]
    assert finding.subject == f"topic {topic}"
    if kafka.real:
        assert "keeps messages for" in finding.text
    else:
        assert (
            finding.text == "retention and compaction are not known: the brokers do not report them"
        )


def test_a_compacted_topic_is_refused(real_kafka: Kafka, sqlite_url: str) -> None:
    topic = real_kafka.create_topic("shop", 1, **{"cleanup.policy": "compact"})
    findings = report(options(real_kafka, topic, sqlite_url))
    (words,) = lines(findings, "fail")
    assert words.startswith(f"topic {topic}: is compacted, which deletes changes")
    assert exit_code(findings) == 3


def test_another_protocol_is_told_with_its_place(kafka: Kafka, sqlite_url: str) -> None:
    topic = kafka.create_topic("shop", 2)
    kafka.produce(messages(topic, "open-protocol"))
    findings = report(options(kafka, topic, sqlite_url))
    wrong = lines(findings, "fail")
    assert wrong[0].startswith("messages: cannot be read as canal-json: ")
    assert f"at {topic}[" in wrong[0]
    assert wrong[-1].endswith("more that cannot")
    assert exit_code(findings) == 3


def test_canal_json_without_its_extension_names_the_setting(kafka: Kafka, sqlite_url: str) -> None:
    topic = kafka.create_topic("shop", 2)
    kafka.produce(messages(topic, extra="&enable-tidb-extension=false"))
    assert "enable-tidb-extension" in lines(report(options(kafka, topic, sqlite_url)), "fail")[0]


def test_a_log_that_lost_its_beginning_is_told(kafka: Kafka, sqlite_url: str) -> None:
    topic = kafka.create_topic("shop", 2)
    kafka.produce(messages(topic))
    kafka.delete_records(topic, 1, 3)
    (words,) = lines(report(options(kafka, topic, sqlite_url)), "fail")
    assert words.startswith(
        f"{topic}[1]: begins at offset 3: the log is incomplete; load all tables by"
    )


def test_a_snapshot_must_be_younger_than_the_first_message(kafka: Kafka, sqlite_url: str) -> None:
    topic = kafka.create_topic("shop", 2)
    kafka.produce(messages(topic))
    kafka.delete_records(topic, 1, 3)
    old = report(options(kafka, topic, sqlite_url, from_ts=429918007904436226))
    assert lines(old, "fail") == [
        f"{topic}[1]: begins at offset 3, whose record is not older than the snapshot "
        "429918007904436226 by limits.clock_skew: rows may be lost; use a newer one, or load "
        "all tables by: ticdc-consumer load CONFIG --replace"
    ]
    create_shop(sqlite_url)
    young = report(options(kafka, topic, sqlite_url, from_ts=(1 << 63)))
    assert lines(young, "fail") == []
    assert any(
        "does not show whether the changefeed began" in words for words in lines(young, "warn")
    )


def test_older_tables_are_reported_and_left_to_the_first_run(kafka: Kafka, sqlite_url: str) -> None:
    topic = kafka.create_topic("shop", 2)
    kafka.produce(messages(topic))
    create_shop(sqlite_url)
    with closing(open_target(sqlite_url)) as target:
        Store(target, "shop").start(1.0)
        target.execute("DROP TABLE ticdc_state").close()
        fine = lines(report(options(kafka, topic, sqlite_url)), "ok")
        assert (
            "checkpoint: the ticdc_* tables have version 0; the first run of this release migrates "
            f"them to {STATE_VERSION}, and ends older consumers of all changefeeds"
        ) in fine
        assert not sa.inspect(target.connection).has_table("ticdc_state")


def test_nothing_is_applied_yet_or_all_of_it(mock_kafka: Kafka, sqlite_url: str) -> None:
    topic = mock_kafka.create_topic("shop", 2)
    mock_kafka.produce(messages(topic))
    settings = options(mock_kafka, topic, sqlite_url)
    with closing(open_target(sqlite_url)) as target:
        store = Store(target, "shop")
        store.start(1.0)
        store.begin_first(Checkpoint.first(settings, 0, positions(topic, (0, 0))))
    assert "checkpoint: nothing is applied yet" in lines(report(settings), "ok")
    with closing(open_target(sqlite_url)) as target:
        store = Store(target, "shop")
        begun = store.start(1.0)
        assert begun is not None
        ends = positions(topic, sizes(mock_kafka, topic))
        store.begin_again(begun, Checkpoint.first(settings, 429918007904436226, ends))
    well = lines(report(settings), "ok")
    assert "messages: none after the checkpoint: everything in the topics is applied" in well


def positions(topic: str, restarts: Iterable[int]) -> dict[tuple[str, int], Position]:
    return {(topic, n): Position(topic, "", n, restart) for n, restart in enumerate(restarts)}


def sizes(kafka: Kafka, topic: str) -> list[int]:
    """How many messages the partitions have."""
    with closing(Consumer({**kafka.config, "group.id": "sizes"})) as consumer:
        return [consumer.get_watermark_offsets(TopicPartition(topic, n))[1] for n in (0, 1)]


def test_a_log_must_reach_back_to_the_checkpoint(kafka: Kafka, sqlite_url: str) -> None:
    topic = kafka.create_topic("shop", 2)
    kafka.produce(messages(topic))
    create_shop(sqlite_url)
    settings = options(kafka, topic, sqlite_url)
    target = open_target(sqlite_url)
    store = Store(target, "shop")
    assert store.start(1.0) is None
    store.begin_first(Checkpoint.first(settings, 429918007904436226, positions(topic, (2, 4))))
    target.close()
    well = lines(report(settings), "ok")
    assert "log: reaches back to the checkpoint in 2 partitions" in well
    assert "scope: topics, filter, routes, protocol and time zone match the checkpoint's" in well
    kafka.delete_records(topic, 1, 6)
    (words,) = lines(report(settings), "fail")
    assert words.startswith(f"{topic}[1]: begins at offset 6, but the next cut begins at 4: ")
    moved = report(options(kafka, topic, sqlite_url, tables__filter=["shop.*"]))
    assert [f.subject for f in moved if f.level == "fail"][1] == "scope"


def test_each_table_is_told_with_its_key_and_way(kafka: Kafka, target_url: str) -> None:
    topic = kafka.create_topic("shop", 2)
    kafka.produce(messages(topic))
    create_shop(target_url)
    route = {"shop.*": f"{schema_of(target_url)}.{{table}}"}
    findings = report(options(kafka, topic, target_url, tables__route=route))
    assert lines(findings, "fail") == []
    well = "\n".join(lines(findings, "ok"))
    assert "accounts" in well
    assert "key (id), by upsert" in well
    assert "key (id), by DELETE, then INSERT, because it has further unique keys" in well


TROUBLES = [
    ("ALTER TABLE accounts ADD extra INT NOT NULL DEFAULT 0", None),
    ("DROP TABLE accounts", "will be created"),
    ("CREATE TRIGGER watch AFTER INSERT ON accounts BEGIN SELECT 1; END", "trigger watch"),
    ("ALTER TABLE accounts RENAME COLUMN balance TO amount", "balance"),
    ("INSERT INTO accounts VALUES (1, 'x', 2)", "has rows"),
]


@pytest.mark.parametrize(("statement", "words"), TROUBLES)
def test_what_is_wrong_with_a_table_is_told(
    mock_kafka: Kafka, sqlite_url: str, statement: str, words: str | None
) -> None:
    topic = mock_kafka.create_topic("shop", 2)
    mock_kafka.produce(messages(topic))
    create_shop(sqlite_url)
    engine = sa.create_engine(sqlite_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
    findings = report(options(mock_kafka, topic, sqlite_url))
    reported = [f for f in findings if f.subject == "table shop.accounts"]
    if words is None:
        assert [f.level for f in reported] == ["ok"]
    else:
        assert words in reported[0].text


def test_all_that_is_wrong_with_a_table_is_told_at_once(mock_kafka: Kafka, sqlite_url: str) -> None:
    topic = mock_kafka.create_topic("shop", 2)
    mock_kafka.produce(messages(topic))
    create_shop(sqlite_url)
    engine = sa.create_engine(sqlite_url)
    with engine.begin() as connection:
        for statement in (
            "INSERT INTO accounts VALUES (1, 'x', 2)",
            "CREATE TRIGGER watch AFTER INSERT ON accounts BEGIN SELECT 1; END",
            "ALTER TABLE accounts RENAME COLUMN balance TO amount",
        ):
            connection.exec_driver_sql(statement)
    engine.dispose()
    findings = report(options(mock_kafka, topic, sqlite_url))
    wrong = [f.text for f in findings if f.subject == "table shop.accounts"]
    assert {"the", "trigger"} <= {text.partition(" ")[0] for text in wrong}
    assert any("balance" in text for text in wrong)
    assert len(wrong) >= 3


def loaded(topic: str, query: str, row: Row, extra: str = "") -> list[Message]:
    """A row of a table whose CREATE TABLE is not in the log, as after a snapshot."""
    changefeed = Changefeed(
        f"kafka://x/{topic}?protocol=canal-json&enable-tidb-extension=true&partition-num=1{extra}"
    )
    table = parse_create_table(query, "shop")
    change = RowChange(table, 445644800000000000, after=row)
    resolved = changefeed.resolve(445644800000000001)
    return [*changefeed.encode(Transaction(change.commit_ts, (change,))), *resolved]


WIDE = "CREATE TABLE t (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, v VARCHAR(9), n DECIMAL(7,2))"


@pytest.mark.parametrize("target_url", ["sqlite", "postgresql"], indirect=True)
def test_a_missing_table_comes_with_its_create_table(mock_kafka: Kafka, target_url: str) -> None:
    topic = mock_kafka.create_topic("shop")
    row: Row = {"id": 1, "v": "x", "n": Decimal("1.00")}
    mock_kafka.produce(loaded(topic, WIDE, row, "&content-compatible=true"))
    of_snapshot = options(mock_kafka, topic, target_url, from_ts=445644700000000000)
    (missing,) = [t for t in lines(report(of_snapshot), "fail") if t.startswith("table ")]
    assert "which the snapshot of 445644700000000000 (" in missing
    assert missing.endswith(": restore it from the snapshot, or leave it out by [tables] filter")
    settings = options(mock_kafka, topic, target_url)
    (missing,) = [t for t in lines(report(settings), "fail") if t.startswith("table ")]
    assert "or create it if upstream's table had no rows when the changefeed began" in missing
    to_load = options(mock_kafka, topic, target_url, source__upstream="mysql+pymysql://u@tidb:4000")
    (waits,) = [t for t in lines(report(to_load), "warn") if t.startswith("table ")]
    assert waits.startswith("table shop.t: it is missing in the target: ticdc-consumer load CONFIG")
    statements = missing.partition("; perhaps by: ")[2].split("; ")
    target = open_target(target_url)
    with target.transaction():
        for statement in statements:
            target.execute(statement)
    target.close()
    assert [t for t in lines(report(settings), "fail") if t.startswith("table ")] == []


def changes(topic: str, *events: Ddl | RowChange) -> list[Message]:
    changefeed = Changefeed(
        f"kafka://x/{topic}?protocol=canal-json&enable-tidb-extension=true&partition-num=1",
        {"force-replicate": True},
        new_architecture=True,
    )
    sent: list[Message] = []
    for event in events:
        if isinstance(event, Ddl):
            sent += changefeed.ddl(event)
        else:
            sent += changefeed.encode(Transaction(event.commit_ts, (event,)))
    return [*sent, *changefeed.resolve(90 << 18)]


CREATES = Ddl("shop", "t", "CREATE TABLE t (id INT PRIMARY KEY)", 10 << 18, 3)
CREATES_KEYLESS = Ddl("shop", "t", "CREATE TABLE t (id INT)", 10 << 18, 3)
CREATES_TOO_MANY = Ddl(
    "shop", "t", f"CREATE TABLE t (id INT PRIMARY KEY, {'c' * 70} INT)", 10 << 18, 3
)
DROPS = Ddl("shop", "t", "DROP TABLE t", 20 << 18, 4)
RENAMES = Ddl("shop", "u", "RENAME TABLE t TO shop.u", 20 << 18, 14)
CREATES_AGAIN = Ddl("shop", "t", "CREATE TABLE t (id INT PRIMARY KEY)", 30 << 18, 3)


def row_of(created: Ddl, commit_ts: int = 15 << 18) -> RowChange:
    return RowChange(parse_create_table(created.query, "shop"), commit_ts, after={"id": 1})


START = 20 << 18
CREATED = [
    ("from the beginning", None, [CREATES, row_of(CREATES)], "ok", "will be created by its own"),
    ("before the snapshot", START, [CREATES, row_of(CREATES)], "fail", "is older (2621440 ("),
    ("before it, without rows", START, [CREATES], "fail", "restore it from the snapshot"),
    ("at it", 10 << 18, [CREATES], "fail", "restore it from the snapshot"),
    ("after it", (10 << 18) - 1, [CREATES], "ok", "will be created by its own"),
    ("and dropped before it", START + 1, [CREATES, row_of(CREATES), DROPS], None, ""),
    ("and renamed before it", START + 1, [CREATES, RENAMES], None, ""),
    ("and again after it", START + 1, [CREATES, DROPS, CREATES_AGAIN], "ok", "will be created"),
    ("without a key", None, [CREATES_KEYLESS, row_of(CREATES_KEYLESS)], "fail", "no valid key"),
    ("without a key or rows", None, [CREATES_KEYLESS], "ok", "will be created by its own"),
    ("with a name that is too long", None, [CREATES_TOO_MANY], "fail", "63 bytes"),
]
"""How a table that the target lacks is created, the snapshot, and what is found."""


@pytest.mark.parametrize("target_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("how", "from_ts", "events", "level", "words"), CREATED)
def test_a_missing_table_is_created_by_what_a_run_reads(
    mock_kafka: Kafka,
    target_url: str,
    how: str,
    from_ts: int | None,
    events: Sequence[Ddl | RowChange],
    level: str | None,
    words: str,
) -> None:
    topic = mock_kafka.create_topic("shop", 1)
    mock_kafka.produce(changes(topic, *events))
    settings = {} if from_ts is None else {"from_ts": from_ts}
    found = [
        f
        for f in report(options(mock_kafka, topic, target_url, **settings))
        if f.subject == "table shop.t"
    ]
    assert [f.level for f in found] == ([] if level is None else [level]), how
    assert all(words in f.text for f in found), [f.text for f in found]


def test_a_missing_table_of_unknown_lengths_shows_its_columns(
    mock_kafka: Kafka, sqlite_url: str
) -> None:
    topic = mock_kafka.create_topic("shop")
    mock_kafka.produce(loaded(topic, WIDE, {"id": 1, "v": "x", "n": Decimal("1.00")}))
    settings = options(mock_kafka, topic, sqlite_url)
    (missing,) = [t for t in lines(report(settings), "fail") if t.startswith("table ")]
    assert missing.endswith("; its rows have id bigint unsigned, v varchar, n decimal, key (id)")


RULES = [
    (["shop.users", "shop.acounts"], "shop.acounts matches none", "did you mean shop.accounts?"),
    (["*.*", "!shp.*"], "!shp.* matches none", "did you mean shop.*?"),
    (["shop.*", "elsewhere.x"], "elsewhere.x matches none", "of the first messages"),
]


@pytest.mark.parametrize(("rules", "words", "end"), RULES)
def test_a_filter_rule_without_a_match_names_the_nearest_table(
    mock_kafka: Kafka, sqlite_url: str, rules: list[str], words: str, end: str
) -> None:
    topic = mock_kafka.create_topic("shop", 2)
    mock_kafka.produce(messages(topic))
    findings = report(options(mock_kafka, topic, sqlite_url, tables__filter=rules))
    (finding,) = [f for f in findings if f.subject == "filter" and f.level == "warn"]
    assert words in finding.text and finding.text.endswith(end)


def test_the_tables_that_the_filter_leaves_out_are_named(
    mock_kafka: Kafka, sqlite_url: str
) -> None:
    topic = mock_kafka.create_topic("shop", 2)
    mock_kafka.produce(messages(topic))
    findings = report(options(mock_kafka, topic, sqlite_url, tables__filter=["shop.users"]))
    (finding,) = [f for f in findings if f.subject == "filter"]
    left = len(TABLES) - 1
    assert finding.level == "ok"
    assert finding.text.startswith(f"leaves out {left} of {left + 1} tables: shop.accounts")
    everything = report(options(mock_kafka, topic, sqlite_url))
    assert [f for f in everything if f.subject == "filter"] == []


def test_the_grant_for_the_checkpoints_tables_is_named(
    mock_kafka: Kafka, postgresql_url: str
) -> None:
    topic = mock_kafka.create_topic("shop")
    engine = sa.create_engine(postgresql_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        connection.exec_driver_sql("DROP ROLE IF EXISTS nobody_yet")
        connection.exec_driver_sql("CREATE ROLE nobody_yet LOGIN PASSWORD 'x'")
        connection.exec_driver_sql("GRANT USAGE ON SCHEMA public TO nobody_yet")
        try:
            url = engine.url.set(username="nobody_yet", password="x")
            text = url.render_as_string(hide_password=False)
            (words,) = [
                t
                for t in lines(report(options(mock_kafka, topic, text)), "fail")
                if t.startswith("privileges")
            ]
            grant = words.partition("; run ")[2]
            assert grant == 'GRANT USAGE, CREATE ON SCHEMA "public" TO "nobody_yet"'
            connection.exec_driver_sql(grant)
            good = lines(report(options(mock_kafka, topic, text)), "ok")
            assert [t for t in good if t.startswith("privileges: this user may create tables")]
        finally:
            connection.exec_driver_sql("DROP OWNED BY nobody_yet; DROP ROLE nobody_yet")
    engine.dispose()


def test_tables_that_are_filtered_out_are_not_looked_at(mock_kafka: Kafka, sqlite_url: str) -> None:
    topic = mock_kafka.create_topic("shop", 2)
    mock_kafka.produce(messages(topic))
    findings = report(options(mock_kafka, topic, sqlite_url, tables__filter=["shop.users"]))
    assert [f.subject for f in findings if f.subject.startswith("table ")] == ["table shop.users"]


def test_a_missing_topic_is_a_persons_to_decide(kafka: Kafka, sqlite_url: str) -> None:
    findings = report(options(kafka, f"^{kafka.prefix}nothing", sqlite_url))
    assert lines(findings, "fail") == ["brokers: no topic matches [kafka] topics"]
    assert exit_code(findings) == 3


def test_a_sqlite_file_that_is_not_there_stays_so(mock_kafka: Kafka, tmp_path: Path) -> None:
    topic = mock_kafka.create_topic("shop", 2)
    mock_kafka.produce(messages(topic))
    at = options(mock_kafka, topic, f"sqlite:///{tmp_path}/shop.db")
    assert [f.subject for f in report(at) if f.level == "fail"] == []
    with (
        closing(open_target(at.target_url, to_look=True)) as target,
        pytest.raises(TicdcError, match="has no checkpoint"),
    ):
        reading.read(target, at)
    assert [*tmp_path.iterdir()] == []


def test_what_cannot_be_reached_is_told_and_the_rest_still_is(
    mock_kafka: Kafka,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(listing, "REQUEST_TIMEOUT", 0.3)
    nowhere = f"sqlite:///{tmp_path}/no/such/folder/x.db"
    findings = report(options(mock_kafka, "shop", nowhere, kafka__bootstrap__servers="127.0.0.1:1"))
    assert [f.subject for f in findings if f.level == "fail"] == ["target", "brokers"]
    words = lines(findings, "fail")[1]
    assert words.startswith("brokers: the brokers at 127.0.0.1:1 do not list their topics: ")
    assert "Connection refused" in words
    assert exit_code(findings) == 1
    # librdkafka's own remarks would bury it.
    assert capfd.readouterr() == ("", "")
    good = report(options(mock_kafka, mock_kafka.create_topic("shop"), nowhere))
    assert [f.subject for f in good if f.level == "fail"] == ["target"]
    assert exit_code(good) == 1


def test_virtual_columns_that_are_left_out_are_told(mock_kafka: Kafka, sqlite_url: str) -> None:
    topic = mock_kafka.create_topic("virtual", 1)
    changefeed = Changefeed(
        f"kafka://x/{topic}?protocol=canal-json&enable-tidb-extension=true&partition-num=1",
        new_architecture=True,
    )
    query = (
        "CREATE TABLE t (id INT PRIMARY KEY, v BIGINT AS (id + 1), d DOUBLE AS (SQRT(id)),"
        " UNIQUE KEY u (d))"
    )
    table = parse_create_table(query, "shop")
    row = RowChange(table, 20 << 18, after={"id": 1})
    mock_kafka.produce(
        [
            *changefeed.ddl(Ddl("shop", "t", query, 10 << 18, 3)),
            *changefeed.encode(Transaction(20 << 18, (row,))),
            *changefeed.resolve(30 << 18),
        ]
    )
    told = (
        "table shop.t: virtual column d is left out, and with it unique key u: SQRT does not mean "
        "the same here for certain"
    )
    assert told in lines(report(options(mock_kafka, topic, sqlite_url)), "warn")
