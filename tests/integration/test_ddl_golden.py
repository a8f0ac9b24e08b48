"""TiCDC's own DDL messages, end to end: after each resolved ts whose contents were recorded, the
tables hold what TiDB held, in columns that a new table of their definition would have."""

import os
from dataclasses import replace

import brokers
import pytest
import sqlalchemy as sa
from golden import TableVersion, scenario
from golden_run import Place, consumer_of, differences, run_to, send
from pyspark.sql import SparkSession
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import TargetTable
from ticdc_encoder.definition import parse_create_table

pytestmark = pytest.mark.golden

NOT_TOLD = "pkch"
"""TiCDC's new architecture does not send the DROP of a table's last valid key: it stays."""


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> brokers.Kafka:
    """The real Kafka, where there is one or has to be."""
    real = "KAFKA_BOOTSTRAP" in os.environ or os.environ.get("REQUIRE_SERVICES") == "1"
    kafka: brokers.Kafka = request.getfixturevalue("real_kafka" if real else "mock_kafka")
    return kafka


def tables_differ(place: Place, ts: int) -> list[str]:
    """The tables whose columns are not those that a new table would have. The server's own way of
    telling types is used for both."""
    told = scenario("ddl")
    newest: dict[tuple[str, str], TableVersion] = {}
    for version in told.tables:
        if version.since_ts <= ts:
            newest[version.schema, version.table] = version
    differing = []
    target = open_target(place.url)
    try:
        for (schema, name), version in newest.items():
            if name == NOT_TOLD:
                continue
            at = target.locate(*routed(place, schema, name))
            there = target.describe(*at)
            if version.create is None:
                # In SQLite another schema's table of the same name may be there.
                differing += [f"{name} is there"] if there and at[0] is not None else []
                continue
            wanted = parse_create_table(version.create, schema)
            fresh = target.locate(*routed(place, FRESH[0], FRESH[1]))
            for text in [*target.create_schema(routed(place, *FRESH)[0])]:
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


def routed(place: Place, schema: str, name: str) -> tuple[str, str]:
    if place.route:
        return f"{sa.make_url(place.url).database}_{schema}", name
    return schema, name


def columns(told: TargetTable) -> object:
    return (
        {replace(column, has_default=False) for column in told.columns},
        {(key.columns, key.primary, key.plain) for key in told.unique_keys},
    )


CHOICE: dict[tuple[str, str], set[tuple[str, bool]]] = {
    ("sqlite", "canal-json.ext"): {("net", False), ("transactions", True)},
    ("sqlite", "open.batch16"): {("net", True)},
    ("postgresql", "canal-json.ext"): {("net", True)},
    ("postgresql", "open.batch16"): {("transactions", False)},
    ("mariadb", "canal-json.ext"): {("transactions", False)},
    ("mariadb", "open.batch16"): {("net", True)},
    ("mysql", "canal-json.ext"): {("net", False)},
    ("mysql", "open.batch16"): {("transactions", True)},
    # A topic for each table: few of them get every resolved ts.
    ("sqlite", "canal-json.topic-expr"): {("net", True)},
    ("postgresql", "open.topic-expr"): {("transactions", False)},
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
) -> None:
    given = scenario("ddl")
    variant = given.variants[name]
    place = Place(request.getfixturevalue(f"{target}_url"), target)
    topics = send(broker, variant, again)
    with consumer_of(
        variant,
        topics,
        broker,
        place,
        spark,
        way,
        ddl_keep_dropped=86_400.0,
    ) as consumer:
        for state in given.states:
            run_to(consumer, state.ts, place, given, {})
            assert differences(place, given, state, {}, ()) == ""
            assert tables_differ(place, state.ts) == []
