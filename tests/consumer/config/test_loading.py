"""File, environment and command line -> options."""

import json
from pathlib import Path

import pytest
from ticdc_consumer import config
from ticdc_consumer.config import reference
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.redact import redact, secrets_of
from ticdc_consumer.config.settings import SECTIONS, SETTINGS, URLS
from ticdc_consumer.config.suggesting import known_settings
from ticdc_consumer.errors import Usage
from ticdc_consumer.state.scope import scope_hash
from ticdc_encoder.filters.column import ColumnSelector

EXAMPLE = """
changefeed = "orders"
protocol = "canal-json"
[kafka]
topics = ["orders", "^shop_.*"]
"bootstrap.servers" = "localhost:9092"
[target]
url = "postgresql+psycopg://app@localhost/shop"
"""

FULL = """
changefeed = "orders"
protocol = "open-protocol"
from_ts = 429918007904436226
[kafka]
topics = "orders"
bootstrap.servers = "a:9092,b:9092"
fetch.wait.max.ms = 10
enable.auto.commit = false
"group.id" = "monitored"
[source]
time_zone = "Europe/Berlin"
compression = "lz4"
claim_check = "s3://bucket/claims"
claim_check_raw_value = true
dump = "s3://bucket/dump"
dump_time_zone = "Asia/Shanghai"
dump_csv = { csv-separator = ";", no-header = true }
upstream = "mysql+pymysql://reader@tidb:4000"
on_corruption = "warn"
encoding_format = "avro"
[target]
url = "mysql+pymysql://app@localhost/shop"
apply = "transactions"
on_drift = "overwrite"
write_source = 2
rules = ["zero-date-as-null"]
[tables]
filter = ["shop.*", "!shop.tmp"]
case_sensitive = true
at_least_once = ["shop.log"]
allow_triggers = ["shop.orders"]
[tables.route]
"shop.*" = "store.{table}"
[tables.keys]
"shop.odd" = ["a", "b"]
[spark]
master = "local[4]"
"spark.driver.memory" = "4g"
ui.enabled = true
[limits]
rows_per_epoch = 1000
memory_budget = "64 MiB"
message_limit = 1048576
future_limit = 60
clock_skew = 1.5
schema_wait = 600
takeover_after = 5
retries = 2
[metrics]
listen = "127.0.0.1:9464"
ready_lag = "5m"
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "orders.toml"
    path.write_text(EXAMPLE)
    return path


def load(path: Path, *sets: str, **environ: str) -> Settings:
    return config.Settings.read(path, sets, environ)


def test_the_example_gives_options_with_the_defaults(written: Path) -> None:
    assert load(written) == Settings(
        changefeed="orders",
        protocol="canal-json",
        topics=("orders", "^shop_.*"),
        kafka={
            "bootstrap.servers": "localhost:9092",
            "enable.auto.commit": "false",
            "auto.offset.reset": "error",
            "group.id": "orders",
        },
        target_url="postgresql+psycopg://app@localhost/shop",
    )


def test_every_setting_of_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "full.toml"
    path.write_text(FULL)
    assert load(path) == Settings(
        changefeed="orders",
        protocol="open-protocol",
        topics=("orders",),
        kafka={
            "bootstrap.servers": "a:9092,b:9092",
            "fetch.wait.max.ms": "10",
            "enable.auto.commit": "false",
            "auto.offset.reset": "error",
            "group.id": "monitored",
        },
        target_url="mysql+pymysql://app@localhost/shop",
        from_ts=429918007904436226,
        time_zone="Europe/Berlin",
        compression="lz4",
        claim_check_url="s3://bucket/claims",
        claim_check_raw_value=True,
        dump_url="s3://bucket/dump",
        dump_time_zone="Asia/Shanghai",
        dump_csv={"csv-separator": ";", "no-header": True},
        upstream_url="mysql+pymysql://reader@tidb:4000",
        on_corruption="warn",
        encoding_format="avro",
        schema_wait=600,
        apply="transactions",
        on_drift="overwrite",
        write_source=2,
        rules=frozenset({"zero-date-as-null"}),
        filter=("shop.*", "!shop.tmp"),
        case_sensitive=True,
        at_least_once=("shop.log",),
        allow_triggers=("shop.orders",),
        route={"shop.*": "store.{table}"},
        keys={"shop.odd": ("a", "b")},
        spark={
            "spark.master": "local[4]",
            "spark.driver.memory": "4g",
            "spark.ui.enabled": "true",
        },
        rows_per_epoch=1000,
        memory_budget=64 << 20,
        message_limit=1 << 20,
        future_limit=60.0,
        clock_skew=1.5,
        takeover_after=5.0,
        retries=2,
        metrics_listen=("127.0.0.1", 9464),
        metrics_ready_lag=300.0,
    )


STORED = """
changefeed = "orders"
protocol = "csv"
[storage]
url = "s3://bucket/sink"
date_separator = "month"
table_id_paths = true
terminator = "\\n"
[storage.csv]
include-commit-ts = true
output-old-value = true
delimiter = "|"
[target]
url = "sqlite:///shop.db"
"""


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "stored.toml"
    path.write_text(STORED)
    return path


def test_a_storage_stands_in_for_kafka(stored: Path) -> None:
    csv: dict[str, bool | str] = {
        "include-commit-ts": True,
        "output-old-value": True,
        "delimiter": "|",
    }
    assert load(stored) == Settings(
        changefeed="orders",
        protocol="csv",
        topics=(),
        kafka={},
        target_url="sqlite:///shop.db",
        storage_url="s3://bucket/sink",
        storage_date_separator="month",
        storage_table_ids=True,
        storage_terminator="\n",
        storage_csv=csv,
    )
    selectors = """storage.column_selectors=[{matcher = ["*.*"], columns = ["*", "!x"]}]"""
    assert load(stored, selectors).storage_column_selectors == (
        ColumnSelector(matcher=("*.*",), columns=("*", "!x")),
    )
    more = load(stored, "storage.csv.quote=", "storage.csv.output-old-value=false")
    assert more.storage_csv == {**csv, "quote": "", "output-old-value": False}


NOT_STORED = [
    (
        "storage.csv.include-commit-ts=false",
        "storage.csv has no include-commit-ts = true: without its commit_ts no row can be placed "
        "in time; set it in [sink.csv] of the changefeed, and here",
    ),
    (
        "storage.csv.delimeter=x",
        "storage.csv has 'delimeter', which is not one of delimiter, quote",
    ),
    ("storage.csv.delimiter=abcd", "storage.csv: csv delimiter must be one to three characters"),
    ("storage.csv.output-old-value=yes", "storage.csv must be true or false"),
    ("storage.column_selectors=shop", "storage.column_selectors is not a TOML value"),
    ("storage.column_selectors=[1]", "storage.column_selectors must be a list of tables, such as"),
    (
        "storage.column_selectors=[{matchers = []}]",
        "storage.column_selectors has an invalid entry: unknown key of a column selector",
    ),
    ("storage.url=s3://bucket?key=x", "storage.url must be a prefix without parameters"),
    ("storage.date_separator=week", "storage.date_separator must be none or year or month or day"),
    ("storage.terminator=", "storage.terminator must be a non-empty text"),
    ("protocol=simple", "protocol simple is not for files: a storage has canal-json or csv"),
    ("kafka.topics=a", "both storage.url and kafka.topics are set: leave [kafka] or [storage] out"),
]


@pytest.mark.parametrize(("text", "words"), NOT_STORED)
def test_a_wrong_setting_of_a_storage_is_named(stored: Path, text: str, words: str) -> None:
    with pytest.raises(Usage) as caught:
        load(stored, text)
    assert words in str(caught.value)


def test_rows_are_verified_at_most_once_a_second(written: Path) -> None:
    with pytest.raises(Usage, match=r"verify\.every compares rows .*: set source\.upstream"):
        load(written, "verify.every=1h")
    with pytest.raises(Usage, match=r"verify\.every must be at least a second"):
        load(written, "verify.every=0")


def test_tables_that_were_left_out_are_loaded_from_an_upstream(written: Path) -> None:
    with pytest.raises(Usage, match=r"ddl\.load_missing reads tables .*: set source\.upstream"):
        load(written, "ddl.load_missing=true")
    upstream = "source.upstream=mysql+pymysql://reader@tidb:4000"
    assert load(written, "ddl.load_missing=true", upstream).ddl_load_missing
    assert not load(written).ddl_load_missing


def test_csv_needs_a_storage(written: Path) -> None:
    with pytest.raises(Usage, match=r"protocol csv is for files, not for Kafka: set storage\.url"):
        load(written, "protocol=csv")


def test_every_option_can_be_set() -> None:
    assert set(URLS) == {"target_url", "upstream_url"}
    assert set(SECTIONS) == {"kafka", "registry", "spark"}
    assert {*SETTINGS, *URLS, *SECTIONS} == set(Settings.__dataclass_fields__)


def test_every_setting_is_described_once() -> None:
    names = [setting.name for setting in SETTINGS.values()]
    assert len(names) == len(set(names))
    assert set(names) < set(config.described())
    assert all(config.described().values())


SETS = [
    ("kafka.topics=a,b", "topics", ("a", "b")),
    ('kafka.topics=["a", "^b,c"]', "topics", ("a", "^b,c")),
    ("tables.filter=a.*,!a.b", "filter", ("a.*", "!a.b")),
    ("tables.case_sensitive=true", "case_sensitive", True),
    ("tables.route.shop.*=x.{table}", "route", {"shop.*": "x.{table}"}),
    ('tables.route={"shop.*" = "x.{table}"}', "route", {"shop.*": "x.{table}"}),
    ('tables.merge={"shop_*.t" = "shard"}', "merge", {"shop_*.t": "shard"}),
    ("tables.keys.shop.odd=a,b", "keys", {"shop.odd": ("a", "b")}),
    ("ddl.on_unsupported=skip", "ddl_on_unsupported", "skip"),
    ("ddl.keep_dropped=24h", "ddl_keep_dropped", 86_400.0),
    ("ddl.keep_dropped=90", "ddl_keep_dropped", 90.0),
    ("metrics.listen=[::1]:9464", "metrics_listen", ("::1", 9464)),
    ("metrics.listen=metrics.local:1", "metrics_listen", ("metrics.local", 1)),
    ('ddl.kinds={"create view" = "skip"}', "ddl_kinds", {"CREATE VIEW": "skip"}),
    ("ddl.kinds.DROP PARTITION=skip", "ddl_kinds", {"DROP PARTITION": "skip"}),
    ("ddl.kinds.VIEW=if-certain", "ddl_kinds", {"VIEW": "if-certain"}),
    ('ddl.tables={"app.*" = "skip"}', "ddl_tables", {"app.*": "skip"}),
    ("limits.memory_budget=1 GiB", "memory_budget", 1 << 30),
    ("limits.rows_per_epoch=10_000", "rows_per_epoch", 10_000),
    ("limits.clock_skew=0.5", "clock_skew", 0.5),
    (
        "target.rules=same-collations,vector-as-text",
        "rules",
        frozenset({"same-collations", "vector-as-text"}),
    ),
    ("spark.executor.memoryOverhead=1g", "spark", {"spark.executor.memoryOverhead": "1g"}),
    ("spark.start=at-once", "spark_start", "at-once"),
    ("spark.start=at-once", "spark", {}),
    ("spark.from_messages=0", "spark_from_messages", 0),
    ("spark.from_messages=20_000", "spark_from_messages", 20_000),
]


@pytest.mark.parametrize(("text", "option", "value"), SETS)
def test_the_command_line_sets_it(written: Path, text: str, option: str, value: object) -> None:
    assert getattr(load(written, text), option) == value


RULE_FILES = [
    ("# ours\n\n shop.* \n!shop.tmp\n", ("a.b", "shop.*", "!shop.tmp")),
    ("# none\n", ("a.b",)),
]


@pytest.mark.parametrize(("lines", "expected"), RULE_FILES)
def test_a_file_of_filter_rules_is_read_once_and_is_in_the_scope(
    written: Path, tmp_path: Path, lines: str, expected: tuple[str, ...]
) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text(lines)
    before = load(written, f"tables.filter=a.b,@{rules}")
    assert before.filter == expected
    rules.write_text(f"{lines}other.*\n")
    assert scope_hash(load(written, f"tables.filter=a.b,@{rules}")) != scope_hash(before)


def test_a_file_without_filter_rules_lets_no_table_pass(written: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("# none\n")
    assert load(written, f"tables.filter=@{rules}").filter == ("!*.*",)


VARIABLES = [
    ("TICDC_CHANGEFEED", "other", "changefeed", "other"),
    ("TICDC_KAFKA_TOPICS", "a,b", "topics", ("a", "b")),
    ("TICDC_SOURCE_TIME_ZONE", "Asia/Shanghai", "time_zone", "Asia/Shanghai"),
    ("TICDC_TABLES_KEYS", '{"a.b" = ["c"]}', "keys", {"a.b": ("c",)}),
    ("TICDC_LIMITS_ROWS_PER_EPOCH", "7", "rows_per_epoch", 7),
    ("TICDC_SPARK_MASTER", "yarn", "spark", {"spark.master": "yarn"}),
    ("TICDC_SPARK_DRIVER_MEMORY", "1g", "spark", {"spark.driver.memory": "1g"}),
    ("TICDC_PORT", "tcp://10.0.0.1:80", "changefeed", "orders"),
    ("TICDC_DEBUG", "1", "changefeed", "orders"),
    ("HOME", "/", "changefeed", "orders"),
]


@pytest.mark.parametrize(("variable", "text", "option", "value"), VARIABLES)
def test_the_environment_sets_it(
    written: Path, variable: str, text: str, option: str, value: object
) -> None:
    assert getattr(load(written, **{variable: text}), option) == value


def test_command_line_beats_environment_beats_file(
    written: Path,
) -> None:
    assert load(written, TICDC_CHANGEFEED="b").changefeed == "b"
    assert load(written, "changefeed=c", TICDC_CHANGEFEED="b").changefeed == "c"
    both = load(written, "tables.route.a.b=x.y", TICDC_TABLES_ROUTE='{"c.d" = "z.w"}')
    assert both.route == {"c.d": "z.w", "a.b": "x.y"}


def test_kafka_settings_in_the_environment_use_underscores(written: Path) -> None:
    kafka = load(written, TICDC_KAFKA_BOOTSTRAP_SERVERS="k:1", TICDC_KAFKA_CLIENT_ID="me").kafka
    assert (kafka["bootstrap.servers"], kafka["client.id"]) == ("k:1", "me")


REFUSED = [
    ("changefed=x", "there is no setting changefed; did you mean changefeed?"),
    ("target.aply=net", "there is no setting target.aply; did you mean target.apply?"),
    ("tables.filters=a.*", "there is no setting tables.filters; did you mean tables.filter?"),
    ("limit.retries=1", "there is no setting limit.retries; did you mean limits.retries?"),
    ("xyzzy=1", "there is no setting xyzzy"),
    ("changefeed", "--set takes key=value"),
    ("protocol=avro-ish", "protocol must be "),
    ("target.apply=once", "target.apply must be net or transactions"),
    ("target.write_source=0", "target.write_source must be 1 or more"),
    ("target.write_source=16", "target.write_source must be 1 to 15"),
    ("target.write_source=us", "target.write_source must be a whole number"),
    ("target.on_drift=ignore", "target.on_drift must be stop or overwrite"),
    (
        "target.url=nonsense",
        "target.url is not a URL such as postgresql+psycopg://user@host/database",
    ),
    (
        "target.url=postgresql://app:se@cret:1@h/d",
        "write %40 for @ and %3A for : in a name, or set target.password",
    ),
    (
        "target.url=mysql+pymysql://app:p@rt/of#it@h/d",
        "target.url has more than one @: write %40 in a name, or set target.password",
    ),
    ("kafka.topics=", "kafka.topics must name at least one topic"),
    ("kafka.topics=a b", "kafka.topics has 'a b', which is not a valid topic name"),
    ("kafka.topics=^(", "kafka.topics has the pattern '^('"),
    ("kafka.enable.auto.commit=true", "kafka.enable.auto.commit must be false"),
    ("kafka.auto.offset.reset=latest", "kafka.auto.offset.reset must be error"),
    (
        "kafka.bootstrap.server=x",
        "kafka.bootstrap.server is not a setting of librdkafka; did you mean "
        "kafka.bootstrap.servers?",
    ),
    ("kafka.topic=x", "is not a setting of librdkafka; did you mean kafka.topics?"),
    ("kafka.bootstrapservers=x", "librdkafka; did you mean kafka.bootstrap.servers?"),
    ("kafka.sasl.passwrd=x", "librdkafka; did you mean kafka.sasl.password?"),
    ("kafka.security.protocol=nope", "kafka.security.protocol has a value librdkafka refuses"),
    ("kafka.fetch.wait.max.ms=-1", "kafka.fetch.wait.max.ms has a value librdkafka refuses"),
    ("ddl.on_unsuported=skip", "there is no setting ddl.on_unsuported; did you mean ddl.on_"),
    ("ddl.keep_dropped=a day", 'ddl.keep_dropped must be a time, such as 3600 or "24h"'),
    ("ddl.on_unsupported=ignore", "ddl.on_unsupported must be stop or skip"),
    ("metrics.listen=9464", 'metrics.listen must be an address with a port, such as "127.0.0.1'),
    ("metrics.listen=::1:9464", "metrics.listen must be an address with a port"),
    ("metrics.listen=localhost:65536", "metrics.listen must be an address with a port"),
    ("metrics.ready_lag=soon", "metrics.ready_lag must be a time"),
    ("ddl.kinds.CREATE VIEWS=skip", "ddl.kinds has 'CREATE VIEWS', which is not one of CREATE D"),
    ("ddl.kinds.CREATE VIEWS=skip", "did you mean CREATE VIEW?"),
    ("ddl.kinds.CREATE VIEW=maybe", "ddl.kinds of 'CREATE VIEW' must be stop or skip"),
    ("ddl.kinds.DROP TABLE=if-certain", "ddl.kinds of 'DROP TABLE' must be stop or skip: if-cert"),
    ("ddl.tables.app=skip", "ddl.tables has a wrong rule: no '.' between schema and table"),
    ("ddl.tables.!app.a=skip", "ddl.tables has '!app.a', which is not a pattern"),
    ("source.time_zone=Moon/Base", "source.time_zone must be a zone's name"),
    ("source.time_zone=../../etc/passwd", "source.time_zone must be a zone's name"),
    ("source.compression=zstd", "source.compression must be none or lz4 or snappy"),
    ("source.claim_check=s3://b?key=x", "source.claim_check must be a prefix without parameters"),
    ("source.dump=s3://b?key=x", "source.dump must be a prefix without parameters"),
    ("source.dump_time_zone=SYSTEM", "source.dump_time_zone must be a zone's name"),
    ("source.dump_csv.separator=x", "'separator', which is not one of csv-separator, csv-del"),
    ("source.dump_csv.csv-separator=::", "csv-separator must be one ASCII character that occurs"),
    ("source.dump_csv.csv-delimiter=n", "csv-delimiter must be one ASCII character that occurs"),
    ("source.dump_csv.csv-separator=", "csv-separator must neither be empty nor csv-delimiter"),
    ('source.dump_csv.csv-separator="', "csv-separator must neither be empty nor csv-delimiter"),
    (
        'source.dump_csv={csv-delimiter="",csv-null-value="NULL"}',
        "csv-null-value must be \\N where csv-delimiter is empty",
    ),
    ("source.dump_csv.csv-output-dialect=excel", "must be one of default, snowflake, redshift"),
    ("source.upstream=tidb", "source.upstream is not a URL such as mysql+pymysql://user@host:4000"),
    (
        "source.upstream=sqlite://",
        "source.upstream is not the URL of a TiDB, such as mysql+pymysql:",
    ),
    (
        "target.rules=zero-dates,vector-as-text",
        "target.rules has 'zero-dates', which is not one of "
        "calendar-dates, literal-defaults, same-collations, vector-as-text, zero-date-as-null",
    ),
    (
        "protocol=debezium-avro",
        "registry.url is not set: debezium-avro's messages refer to schemas",
    ),
    ("protocol=maxwell", "use canal-json, enable-tidb-extension=true"),
    ("protocol=avro", "registry.url is not set: avro's messages refer to schemas in the registry"),
    ("tables.filter=shop", "tables.filter has a wrong rule: no '.' between schema and table"),
    (
        "tables.at_least_once=log",
        "tables.at_least_once has a wrong rule: no '.' between schema and table",
    ),
    ("tables.route.shop.*=x", "tables.route: 'shop.*': 'x' is not schema.table"),
    ("tables.merge.!shop.*=x", "tables.merge: '!shop.*' is not a pattern of names"),
    ("tables.route=[1", "tables.route is not a TOML value"),
    ("tables.case_sensitive=maybe", "tables.case_sensitive must be true or false"),
    ("limits.retries=-1", "limits.retries must be a whole number"),
    ("spark.start=never", "spark.start must be when-needed or at-once"),
    ("spark.from_messages=-1", "spark.from_messages must be a whole number"),
    ("limits.rows_per_epoch=0", "limits.rows_per_epoch must be 1 or more"),
    ("limits.rows_per_epoch=many", "limits.rows_per_epoch must be a whole number"),
    ("limits.memory_budget=1 MB", 'limits.memory_budget must be bytes, such as 65536 or "256 MiB"'),
    ("limits.clock_skew=nan", "limits.clock_skew must be a number of seconds, 0 or more"),
    ("limits.clock_skew=soon", "limits.clock_skew must be a number of seconds"),
    ("from_ts=2024", "from_ts must be a TiDB timestamp (TSO)"),
    (f"from_ts={1 << 64}", "from_ts must be a TiDB timestamp (TSO)"),
    ("target.password_file=/nowhere", "target.password_file: cannot read /nowhere: No such file"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_a_wrong_setting_is_named(written: Path, text: str, words: str) -> None:
    with pytest.raises(Usage) as caught:
        load(written, text)
    assert words in str(caught.value)
    assert caught.value.exit_code == 2


MISSPELT = [
    ("spark.mastr=local[1]", "spark.mastr is not known to be a setting of Spark; did you mean "),
    ("spark.from_message=1", "did you mean spark.from_messages?"),
    ("spark.executor.memory=1g", ""),
    ("spark.spark.executor.memory=1g", ""),
    ("spark.hadoop.fs.s3a.acces.key=x", ""),
    ("spark.acme.extension=x", ""),
]


@pytest.mark.parametrize(("text", "words"), MISSPELT)
def test_a_name_that_is_nearly_one_of_sparks_is_warned_of(
    written: Path, caplog: pytest.LogCaptureFixture, text: str, words: str
) -> None:
    load(written, text)
    assert len(caplog.messages) == bool(words)
    assert words in "".join(caplog.messages)


def test_librdkafka_knows_every_setting_that_is_suggested(written: Path) -> None:
    """It judges the name before the value."""
    for name in known_settings("librdkafka"):
        try:
            load(written, f"kafka.{name}=?")
        except Usage as error:
            assert "is not a setting" not in str(error), name


def test_every_setting_has_a_type_and_a_default_or_must_be_set() -> None:
    described = {each.name: each for each in reference.settings()}
    assert {setting.read for setting in SETTINGS.values() if not setting.is_table} - {
        setting.read for setting in SETTINGS.values() if setting.allowed
    } <= set(reference.TYPES)
    assert set(config.described()) <= set(described)
    values = {name: each.values for name, each in described.items()}
    assert values["target.apply"] == 'net | transactions; default "net"'
    assert values["limits.memory_budget"].endswith('; default "384 MiB"')
    assert values["limits.retries"] == "number, 1 or more; default 8"
    assert values["changefeed"] == "text; must be set"
    assert values["target.url"].endswith("; must be set")
    assert values["tables.filter"].endswith('; default ["*.*"]')
    assert values["storage.terminator"] == 'text; default "\\r\\n"'
    assert values["tables.route"] == "table"
    assert "canal-json | open-protocol" in values["protocol"]
    assert described["kafka.topics"].variable == "TICDC_KAFKA_TOPICS"


@pytest.mark.parametrize("option", [each for each in SETTINGS if SETTINGS[each].name != "from_ts"])
def test_a_default_that_is_shown_can_be_written(written: Path, option: str) -> None:
    (shown,) = (each for each in reference.settings() if each.name == SETTINGS[option].name)
    if shown.default:
        written.write_text(f"{EXAMPLE}\n")
        text = json.loads(shown.default) if shown.default.startswith('"') else shown.default
        assert getattr(load(written, f"{shown.name}={text}"), option) == getattr(
            load(written), option
        )


@pytest.mark.parametrize("missing", ["changefeed", "protocol", "topics", "bootstrap", "url"])
def test_a_missing_setting_is_named_with_its_variable(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "less.toml"
    path.write_text("\n".join(line for line in EXAMPLE.splitlines() if missing not in line))
    with pytest.raises(Usage, match=f"{missing}.* is not set; in the environment it is TICDC_"):
        load(path)


def test_a_variable_that_is_nearly_right_is_refused(written: Path) -> None:
    with pytest.raises(
        Usage, match="TICDC_TARGET_APLY is unknown; did you mean TICDC_TARGET_APPLY"
    ):
        load(written, TICDC_TARGET_APLY="net")


FILES = [
    (None, "cannot read the configuration .*orders.toml: No such file"),
    (b"a = = b", "orders.toml is not TOML: "),
    (b"\xff\xfe", "orders.toml is not UTF-8 text"),
]


@pytest.mark.parametrize(("content", "words"), FILES)
def test_a_file_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "orders.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Usage, match=words):
        load(path)


def test_a_file_written_on_windows_is_read(written: Path) -> None:
    plain = load(written)
    text = written.read_text()
    written.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert load(written) == plain


# Secrets.

CANARY = "can@ry/pa:ss w0rd%"
ENCODED = "can%40ry%2Fpa%3Ass%20w0rd%25"


def test_passwords_come_from_files_and_variables(tmp_path: Path, written: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{CANARY}\n")
    from_file = load(
        written, f"target.password_file={secret}", f"kafka.sasl.password_file={secret}"
    )
    from_environment = load(written, TICDC_TARGET_PASSWORD=CANARY, TICDC_KAFKA_SASL_PASSWORD=CANARY)
    file_of_variable = load(
        written, TICDC_TARGET_PASSWORD=CANARY, TICDC_KAFKA_SASL_PASSWORD_FILE=str(secret)
    )
    assert from_file == from_environment == file_of_variable
    assert from_file.kafka["sasl.password"] == CANARY
    assert from_file.target_url.startswith("postgresql+psycopg://app:can%40ry")


def test_the_upstreams_password_comes_from_a_file(tmp_path: Path, written: Path) -> None:
    (tmp_path / "secret").write_text(f"{CANARY}\n")
    sets = (
        "source.upstream=mysql+pymysql://reader@tidb",
        f"source.upstream_password_file={tmp_path}/secret",
    )
    assert "reader:can%40ry" in str(load(written, *sets).upstream_url)


def test_the_whole_url_may_be_in_a_file(tmp_path: Path, written: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text("sqlite:////var/lib/shop.db\n")
    environ = {"TICDC_TARGET_URL_FILE": str(secret)}
    assert load(written, **environ).target_url == "sqlite:////var/lib/shop.db"
    assert load(written, "target.url=sqlite:///other", **environ).target_url == "sqlite:///other"


def test_a_secret_and_its_file_at_once_are_refused(written: Path) -> None:
    with pytest.raises(Usage, match=r"both .* are set: leave one out"):
        load(written, "target.password=x", "target.password_file=y")


def test_the_storages_password_is_a_secret(stored: Path) -> None:
    options = load(stored, "storage.url=ftp://me:canary-seven@host/sink")
    assert secrets_of(options) == {"canary-seven"}
    assert "canary" not in repr(options)


def secretive(written: Path) -> Settings:
    return load(
        written,
        f"target.url=mysql+pymysql://app:{ENCODED}@h/d?ssl_key_password=canary-two",
        "source.upstream=mysql+pymysql://reader:canary-five@tidb:4000",
        "source.claim_check=ftp://me:canary-six@host/claims",
        "kafka.sasl.mechanism=PLAIN",
        "kafka.security.protocol=SASL_PLAINTEXT",
        "kafka.sasl.username=me",
        f"kafka.sasl.password={CANARY}",
        "kafka.ssl.key.password=canary-three",
        "spark.ssl.keyPassword=canary-four",
    )


def test_options_show_no_password(written: Path) -> None:
    assert "can" not in repr(secretive(written)).replace("canal-json", "")


LEAKS = [
    f"cannot connect to mysql+pymysql://app:{ENCODED}@h/d",
    f"cannot connect to mysql+pymysql://app:{CANARY}@h/d?charset=utf8",
    f"login {CANARY!r} refused",
    "at https://me:canary-five@registry:8081/x",
    "dsn host=h password=canary-six user=u",
    "dsn host=h password='canary seven' user=u",
    "?user=u&sslpassword=canary-eight&x=1",
    "{'sasl.password': 'canary-nine', 'x': 1}",
    '{"client.secret": "canary-ten"}',
    "canary-two canary-three canary-four",
]


@pytest.mark.parametrize("text", LEAKS)
def test_no_text_shows_a_password(written: Path, text: str) -> None:
    redacted = redact(text, secrets_of(secretive(written)))
    assert "can@ry" not in redacted
    assert "can%40ry" not in redacted
    assert "canary" not in redacted
    assert "***" in redacted


PLAIN = [
    "orders[3] no longer holds offset 7",
    "postgresql+psycopg://app@localhost/shop: connection refused",
    "table shop.users, key (id)=(3)",
]


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_a_password_stays(written: Path, text: str) -> None:
    assert redact(text, secrets_of(secretive(written))) == text


WRONG_SECRETS = [
    "target.url=mysql://app:canary@h:port/x",
    "target.url=://app:canary@h",
    "kafka.security.protocol=canary",
    "protocol=canary",
    "source.time_zone=canary",
    "from_ts=canary",
    "tables.case_sensitive=canary",
    "limits.memory_budget=canary",
]


@pytest.mark.parametrize("text", WRONG_SECRETS)
def test_a_refusal_does_not_repeat_the_value(written: Path, text: str) -> None:
    with pytest.raises(Usage) as caught:
        load(written, text, "kafka.security.protocol=SASL_SSL")
    assert "canary" not in f"{caught.value}{caught.value!r}"


AVRO = {
    "changefeed": "orders",
    "protocol": "avro",
    "kafka.topics": "orders",
    "kafka.bootstrap.servers": "a:9092",
    "target.url": "sqlite://",
    "registry.url": "http://registry:8081",
    "registry.basic.auth.user.info": "reader:s3cret",
}


def test_registry_settings_reach_the_client_with_secrets_masked() -> None:
    options = config.Settings.of(AVRO)
    assert options.registry == {
        "url": "http://registry:8081",
        "basic.auth.user.info": "reader:s3cret",
    }
    assert "reader:s3cret" in secrets_of(options)
    assert "s3cret" not in repr(options)


@pytest.mark.parametrize("rule", ["shop.`order-items`", "!shop.größe", "`my shop`.*"])
def test_a_rule_that_no_name_of_avro_matches_is_refused(rule: str) -> None:
    with pytest.raises(Usage, match=r"tables\.filter: avro's messages have _ for every"):
        config.Settings.of({**AVRO, "tables.filter": ["*.*", rule]})
