"""TiCDC's own messages through Kafka and Spark into each kind of target, both ways of applying,
as they were sent and as a restarted producer sends them; the tables are compared with what TiDB
held at each resolved ts that its contents were recorded for.

Without `--long` (`make golden`) each variant of Canal-JSON and Open Protocol goes into SQLite once,
and a choice goes into the others in which each two of target, scenario, protocol, way and
repetition meet; of the other protocols some. See `docs/development/golden.md`.

Every variant is exact, `open.no-old-value` too: an UPDATE that moves a key comes as DELETE and
INSERT there, and for any other the new row is enough.
"""

import os
from collections.abc import Mapping
from itertools import combinations, product
from typing import NamedTuple

import pytest
from integration.golden_made import WITHOUT_PRIMARY_KEY, made
from pyspark.sql import SparkSession
from support import brokers
from support.golden import scenario
from support.golden_run import Own, Place, consumer_of, differences, protocol_of, run_to, send
from support.registry_server import served
from ticdc_consumer.cut import cut_reader
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets import column_mapping
from ticdc_encoder.errors import TicdcError

pytestmark = pytest.mark.golden

SCENARIOS = ("keys", "types", "splits", "workload")
WAYS = ("net", "transactions")
TARGETS = ("sqlite", "postgresql", "mariadb", "mysql", "tidb")

WITHOUT_KEY = ("keysdb.nokey", "keysdb.uknull")
"""Sent with force-replicate only. Nobody can tell a second copy of such a row from a row that is
equal, so that they are compared where each message comes once."""


class Case(NamedTuple):
    scenario: str
    variant: str
    target: str
    way: str
    again: bool
    spared: bool = False
    """Whether the driver reads it: that Spark's tasks give the same facts is a property's."""

    def __str__(self) -> str:
        repeated = "-repeated" if self.again else ""
        return f"{self.scenario}-{self.variant}-{self.target}-{self.way}{repeated}"


NOT_SENT = ("plain", "debezium.schema", "debezium.noschema")
"""Variants without what exactness needs; whose changefeed with it is another variant."""


def exact(name: str) -> bool:
    """Avro never tells the old key of an UPDATE, so that it is exact with split UPDATEs only; the
    old architecture's DELETE has no commit_ts there."""
    return not name.endswith(NOT_SENT) and not name.startswith(("avro.raw", "classic.avro"))


VARIANTS = [
    (name, variant.name)
    for name in SCENARIOS
    for variant in scenario(name).variants.values()
    if protocol_of(variant) and exact(variant.name)
]

LEFT_OUT = {
    ("debezium", "types"): ("typedb.alltypes", "typedb.single", "typedb.notnull", "typedb.zeros"),
    ("debezium-avro", "types"): (
        *("typedb.alltypes", "typedb.single", "typedb.notnull", "typedb.zeros"),
        *("typedb.gens",),
    ),
    ("avro", "types"): ("typedb.zeros",),
    **{("avro", name): tables for name, tables in WITHOUT_PRIMARY_KEY.items()},
}
"""Tables that a protocol cannot carry exactly: `REFUSED_BY_PROTOCOL` says why. Of `typedb.zeros`
Avro cannot carry a row with the invalid ENUM, for which the changefeed stops."""

INTO_SQLITE = [
    Case(*variant, "sqlite", WAYS[number % 2], number // 2 % 2 == 1, number % 8 not in (2, 7))
    for number, variant in enumerate(VARIANTS)
    if variant[1].removeprefix("classic.").startswith(("canal-json", "open"))
]
INTO_OTHERS = [
    Case("keys", "canal-json.topic-per-table", "postgresql", "net", True),
    Case("keys", "open.no-old-value", "mariadb", "transactions", True),
    Case("keys", "classic.open.raw", "mysql", "net", False),
    Case("types", "open.tz", "postgresql", "transactions", False),
    Case("types", "canal-json.ext", "mariadb", "net", False),
    Case("types", "canal-json.tz", "mysql", "transactions", True),
    Case("splits", "canal-json.raw.columns-w", "postgresql", "transactions", True),
    Case("splits", "open.raw.columns-u", "mariadb", "net", False),
    Case("splits", "canal-json.split.ts", "mysql", "net", False),
    Case("keys", "open.raw", "tidb", "transactions", False),
    Case("types", "canal-json.ext", "tidb", "net", True),
    Case("splits", "open.raw.columns-u", "tidb", "net", True),
    Case("workload", "canal-json.ext", "tidb", "transactions", False),
    Case("workload", "open.raw", "postgresql", "net", False),
    Case("workload", "classic.canal-json.ext", "mariadb", "net", True),
    Case("workload", "open.batch16", "mysql", "transactions", True),
]
OTHER_PROTOCOLS = [
    Case("keys", "simple.avro", "sqlite", "transactions", False),
    Case("types", "simple.json", "sqlite", "net", True),
    Case("keys", "debezium.ext", "sqlite", "net", False),
    Case("keys", "debezium-avro", "sqlite", "net", True),
    Case("types", "debezium-avro.ext", "postgresql", "transactions", False),
    Case("workload", "debezium-avro", "mysql", "net", False),
    Case("types", "avro.tz", "sqlite", "transactions", True),
    Case("workload", "avro.precise-long", "sqlite", "net", True),
    Case("types", "simple.avro.tz", "postgresql", "transactions", True),
    Case("keys", "simple.json", "mysql", "net", True),
    Case("workload", "debezium.ext", "postgresql", "net", True),
    Case("types", "debezium.ext.tz", "mysql", "transactions", False),
    Case("types", "avro.string-string", "postgresql", "net", False),
    Case("keys", "avro.precise-long", "mariadb", "transactions", True),
]
ALL = [
    Case(*variant, target, way, again)
    for variant, target, way, again in product(VARIANTS, TARGETS, WAYS, (False, True))
]

OWN: Mapping[tuple[str, str], Mapping[str, Own]] = {
    ("types", "postgresql"): {
        "typedb.alltypes": Own(
            (
                "ALTER TABLE {relation} DROP c_vc",
                "ALTER TABLE {relation} ADD c_vc text GENERATED ALWAYS AS (NULL) STORED",
            ),
            unheld=frozenset({"c_vc"}),
        ),
        "typedb.zeros": Own(
            (
                "ALTER TABLE {relation} ALTER d TYPE text, ALTER dt TYPE text, "
                "ALTER dt6 TYPE text, ALTER ts TYPE text, ALTER tsn TYPE text, ALTER dn TYPE text",
            ),
            texts=frozenset({"d", "dt", "dt6", "ts", "tsn", "dn"}),
        ),
    },
    **{
        ("types", target): {
            "typedb.vec": Own(
                (
                    "CREATE DATABASE {schema}",
                    "CREATE TABLE {relation} (id int PRIMARY KEY, v3 longtext, v longtext) "
                    "CHARACTER SET utf8mb4",
                ),
                ahead=True,
                texts=frozenset({"v3", "v"}),
                rules=frozenset({"vector-as-text"}),
            )
        }
        for target in ("mariadb", "mysql")
    },
}
"""What their users do about tables with values that new columns cannot hold; `REFUSED` says what
happens where they do nothing."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        cases = (
            ALL
            if metafunc.config.getoption("--long")
            else INTO_SQLITE + INTO_OTHERS + OTHER_PROTOCOLS
        )
        metafunc.parametrize("case", cases, ids=str)


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> brokers.Kafka:
    """The real Kafka, where there is one or has to be."""
    real = "KAFKA_BOOTSTRAP" in os.environ or os.environ.get("REQUIRE_SERVICES") == "1"
    kafka: brokers.Kafka = request.getfixturevalue("real_kafka" if real else "mock_kafka")
    return kafka


def place_of(target: str, request: pytest.FixtureRequest) -> Place:
    return Place(request.getfixturevalue(f"{target}_url"), target)


def test_the_target_is_what_tidb_was_at_every_resolved_ts(
    case: Case,
    broker: brokers.Kafka,
    spark: SparkSession,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if case.again:
        # So few messages are one task's; now the copies of a row meet in the driver, too.
        monkeypatch.setattr(cut_reader, "SMALL", 0)
    given = scenario(case.scenario)
    variant, schemas = made(given.variants[case.variant])
    place = place_of(case.target, request)
    keyless = WITHOUT_KEY if "force-replicate" in case.variant and not case.again else ()
    lost = LEFT_OUT.get((protocol_of(variant) or "", case.scenario), ())
    left_out = {*lost, *(() if keyless else WITHOUT_KEY)}
    own = {
        table: work
        for table, work in OWN.get((case.scenario, case.target), {}).items()
        if table not in left_out
    }
    for table, work in own.items():
        if work.ahead:
            place.execute(table, work.statements)
    if any(work.unheld for work in own.values()):
        # What upstream does not generate is refused where the target does: here it is wanted.
        monkeypatch.setattr(column_mapping, "_require_generated", lambda *_: None)
    topics = send(broker, variant, case.again)
    came_again = 0
    with (
        served(schemas) as registry,
        consumer_of(
            variant,
            topics,
            broker,
            place,
            spark,
            case.way,
            by_spark=case.again and not case.spared,
            rules=frozenset().union(*(work.rules for work in own.values())),
            filter=("*.*", *(f"!{table}" for table in sorted(left_out))),
            at_least_once=keyless,
            registry={"url": registry},
        ) as consumer,
    ):
        for state in given.states:
            came_again += run_to(consumer, state.ts, place, given, own)
            assert differences(place, given, state, own, left_out) == ""
    assert came_again or not case.again


def test_each_two_of_the_choices_meet() -> None:
    choices = [
        (case.scenario, case.target, case.way, case.again, "open." in case.variant)
        for case in INTO_OTHERS
    ]
    for one, other in combinations(zip(*choices, strict=True), 2):
        assert set(zip(one, other, strict=True)) == set(product(one, other))


REFUSED = [
    (
        "postgresql",
        "typedb.alltypes",
        "typedb.alltypes.c_vc: a NUL character, which PostgreSQL cannot hold in text "
        "(row with key id='3')",
    ),
    (
        "postgresql",
        "typedb.zeros",
        "typedb.zeros.dt6: a date that PostgreSQL does not have (row with key id='1')",
    ),
    ("mariadb", "typedb.vec", "column v3: mariadb has no VECTOR like TiDB's"),
    ("mysql", "typedb.vec", "column v3: mysql has no VECTOR like TiDB's"),
]


@pytest.mark.parametrize("name", ["canal-json.ext", "open.batch16"])
@pytest.mark.parametrize(("target", "table", "reason"), REFUSED)
def test_what_a_target_cannot_hold_is_refused_by_name(
    target: str,
    table: str,
    reason: str,
    name: str,
    broker: brokers.Kafka,
    spark: SparkSession,
    request: pytest.FixtureRequest,
) -> None:
    given = scenario("types")
    variant = given.variants[name]
    place = place_of(target, request)
    topics = send(broker, variant, again=False)
    with (
        consumer_of(variant, topics, broker, place, spark, "net", filter=(table,)) as consumer,
        pytest.raises(Stop) as refusal,
    ):
        for state in given.states:
            run_to(consumer, state.ts, place, given, {})
    assert reason in str(refusal.value)
    assert refusal.value.exit_code == 3


@pytest.mark.parametrize("name", ["keys", "types", "workload"])
def test_messages_without_the_tidb_extension_are_refused(
    name: str,
    broker: brokers.Kafka,
    spark: SparkSession,
    request: pytest.FixtureRequest,
) -> None:
    given = scenario(name)
    variant = given.variants["canal-json.plain"]
    place = place_of("sqlite", request)
    topics = send(broker, variant, again=False)
    with (
        consumer_of(variant, topics, broker, place, spark, "net") as consumer,
        pytest.raises(TicdcError, match="enable-tidb-extension=true"),
    ):
        run_to(consumer, given.states[-1].ts, place, given, {})


REFUSED_BY_PROTOCOL = [
    ("typedb.alltypes", "c_en: debezium sends the member '' of ENUM like its invalid, or empty,"),
    ("typedb.single", "c_en: debezium sends the member '' of ENUM like its invalid, or empty,"),
    ("typedb.notnull", "c: debezium sends a DECIMAL as a double, which holds 15 digits, not 18"),
]


@pytest.mark.parametrize(("table", "reason"), REFUSED_BY_PROTOCOL)
def test_what_debezium_cannot_carry_is_refused_by_name(
    table: str,
    reason: str,
    broker: brokers.Kafka,
    spark: SparkSession,
    request: pytest.FixtureRequest,
) -> None:
    given = scenario("types")
    variant = given.variants["debezium.ext"]
    place = place_of("sqlite", request)
    topics = send(broker, variant, again=False)
    with (
        consumer_of(variant, topics, broker, place, spark, "net", filter=(table,)) as consumer,
        pytest.raises(Stop) as refusal,
    ):
        for state in given.states:
            run_to(consumer, state.ts, place, given, {})
    assert f"{table}.{reason}" in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("debezium.schema", "enable-tidb-extension=true"),
        ("debezium.no-old-value", "debezium-disable-schema=false"),
        ("avro.plain", "enable-tidb-extension=true"),
        ("avro.precise-long", "avro-enable-watermark=true and enable-tidb-extension=true"),
        ("classic.avro.string-string", "avro-enable-watermark=true and enable-tidb"),
    ],
)
def test_a_changefeed_that_cannot_be_exact_is_told_its_setting(
    name: str,
    setting: str,
    broker: brokers.Kafka,
    spark: SparkSession,
    request: pytest.FixtureRequest,
) -> None:
    given = scenario("keys")
    variant = given.variants[name]
    topics = send(broker, variant, again=False)
    with (
        served({line["id"]: line["schema"] for line in variant.schemas}) as registry,
        consumer_of(
            variant,
            topics,
            broker,
            place_of("sqlite", request),
            spark,
            "net",
            registry={"url": registry},
        ) as consumer,
        pytest.raises(TicdcError, match=setting),
    ):
        list(consumer.epochs(until="caught-up"))
