"""TiCDC's own DDL messages, end to end: after each resolved ts whose contents were recorded, the
tables hold what TiDB held, in columns that a new table of their definition would have. Values that
TiCDC does not send are read from what was recorded, in place of `[source] upstream`."""

import os
from collections.abc import Collection
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from support import brokers
from support.golden import TableVersion, scenario
from support.golden_run import Place, consumer_of, differences, run_to, send
from support.golden_snapshot import recorded
from support.registry_server import served
from ticdc_consumer.cut.apply import to_target
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import TargetTable
from ticdc_encoder.sql.parser import parse_create_table

pytestmark = pytest.mark.golden

NOT_TOLD = "pkch"
"""TiCDC's new architecture does not send the DROP of a table's last valid key: it stays."""

LOST: dict[str, dict[str, str]] = {
    "debezium.ext": {
        "shop.tdef": "shop.tdef",
        "shop.wtable with space": "shop.w*",
        **{f"shop.{name}": f"shop.{name}" for name in ("ra", "rb", "rtmp", "rb2", "fb2", "vw")},
        **{name: name for name in ("shop2.ra2", "shop2.like2")},
        **{f"shop.evolve{n}": "shop.evolve*" for n in ("", "1", "3", "14", "29")},
    },
    "avro.watermark": {
        "shop.pkch": "shop.pkch",
        "shop.wtable with space": "shop.w*",
        "shop.uni表-Ü.x": "shop.uni*",
        "dbname-数据 库.t": "dbname*.*",
    },
}
"""Tables that a protocol cannot carry exactly, by variant, each with the filter's pattern: a NULL
against a DEFAULT, with all names that such tables have at some time, and RECOVER and FLASHBACK
TABLE, of which there is no message (Debezium); no primary key, and names that are not Avro's
(Avro)."""


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> brokers.Kafka:
    """The real Kafka, where there is one or has to be."""
    real = "KAFKA_BOOTSTRAP" in os.environ or os.environ.get("REQUIRE_SERVICES") == "1"
    kafka: brokers.Kafka = request.getfixturevalue("real_kafka" if real else "mock_kafka")
    return kafka


def tables_differ(place: Place, ts: int, left_out: Collection[str]) -> list[str]:
    """The tables whose columns are not those that a new table would have. The server's own way of
    telling types is used for both."""
    told = scenario("ddl")
    newest: dict[tuple[str, str], TableVersion] = {}
    for version in told.tables:
        if version.since_ts <= ts and f"{version.schema}.{version.table}" not in left_out:
            newest[version.schema, version.table] = version
    differing = []
    target = open_target(place.url)
    try:
        for (schema, name), version in newest.items():
            if name == NOT_TOLD:
                continue
            at = target.locate(place.named(schema), name)
            there = target.describe(*at)
            if version.create is None:
                # In SQLite another schema's table of the same name may be there.
                differing += [f"{name} is there"] if there and at[0] is not None else []
                continue
            wanted = parse_create_table(version.create, schema)
            fresh = target.locate(place.named(FRESH[0]), FRESH[1])
            for text in target.create_schema(place.named(FRESH[0])):
                target.execute(text).close()
            for text in target.create_table(*fresh, wanted):
                target.connection.exec_driver_sql(text, None, {"no_parameters": True})
            made = target.describe(*fresh)
            for text in target.drop_table(*fresh):
                target.execute(text).close()
            if there is None or made is None or columns(there) != columns(made):
                differing.append(f"{name}: {there} for {made}")
    finally:
        target.close()
    return differing


FRESH = ("fresh", "ticdc_fresh")


def columns(told: TargetTable) -> object:
    return (
        {replace(column, has_default=False) for column in told.columns},
        {(key.columns, key.primary, key.plain) for key in told.unique_keys},
    )


CHOICE: dict[tuple[str, str], set[tuple[str, bool]]] = {
    ("sqlite", "canal-json.ext"): {("net", False)},
    ("sqlite", "open.batch16"): set(),
    ("sqlite", "simple.json"): {("net", True)},
    ("sqlite", "simple.avro"): set(),
    ("sqlite", "debezium.ext"): set(),
    ("sqlite", "avro.watermark"): set(),
    ("postgresql", "canal-json.ext"): set(),
    ("postgresql", "open.batch16"): {("transactions", False)},
    ("mariadb", "canal-json.ext"): set(),
    ("mariadb", "open.batch16"): {("net", True)},
    ("mysql", "canal-json.ext"): {("transactions", True)},
    ("mysql", "open.batch16"): set(),
    ("tidb", "canal-json.ext"): {("net", False)},
    ("tidb", "open.batch16"): set(),
    # A topic for each table: few of them get every resolved ts.
    ("sqlite", "canal-json.topic-expr"): {("net", True)},
    ("postgresql", "open.topic-expr"): set(),
    ("mariadb", "open.topic-expr"): set(),
    ("mysql", "canal-json.topic-expr"): set(),
}
"""(way, repeated) that are run without `--long`."""

ALL = [
    (target, name, way, again)
    for (target, name), chosen in CHOICE.items()
    for way in ("net", "transactions")
    for again in (False, True)
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "again" in metafunc.fixturenames:
        long = metafunc.config.getoption("--long")
        chosen = [case for case in ALL if long or case[2:] in CHOICE[case[:2]]]
        metafunc.parametrize(("target", "name", "way", "again"), chosen)


def test_every_ddl_runs_at_its_place(
    target: str,
    name: str,
    way: str,
    again: bool,
    broker: brokers.Kafka,
    spark: SparkSession,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = scenario("ddl")
    variant = given.variants[name]
    place = Place(request.getfixturevalue(f"{target}_url"), target)
    topics = send(broker, variant, again)
    lost = LOST.get(name, {})
    monkeypatch.setattr(to_target, "_upstream_table", recorded)
    with (
        served({line["id"]: line["schema"] for line in variant.schemas}) as registry,
        consumer_of(
            variant,
            topics,
            broker,
            place,
            spark,
            way,
            by_spark=target == "sqlite" and not again,
            filter=("*.*", *(f"!{rule}" for rule in lost.values())),
            ddl_keep_dropped=86_400.0,
            registry={"url": registry},
            upstream_url="mysql://recorded",
        ) as consumer,
    ):
        for state in given.states:
            run_to(consumer, state.ts, place, given, {})
            assert differences(place, given, state, {}, lost) == ""
            assert tables_differ(place, state.ts, lost) == []
