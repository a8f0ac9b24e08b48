"""What TiCDC sends with `force-replicate`: tables without a valid key, and all others beside them,
compared with TiDB's at every resolved ts. Each change is there once, so that the counts are exact.
"""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from support import brokers
from support.golden import scenario
from support.golden_run import Place, consumer_of, differences, run_to, send

pytestmark = pytest.mark.golden

WITHOUT_KEY = ("keysdb.nokey", "keysdb.uknull")
IN_MEMORY = 384 << 20

CASES = [
    ("canal-json", "sqlite", "net", IN_MEMORY),
    ("canal-json", "sqlite", "transactions", 1000),
    ("canal-json", "postgresql", "transactions", IN_MEMORY),
    ("canal-json", "mariadb", "net", IN_MEMORY),
    ("open", "sqlite", "net", IN_MEMORY),
    ("open", "postgresql", "net", IN_MEMORY),
    ("open", "mariadb", "transactions", IN_MEMORY),
    ("open", "mysql", "net", IN_MEMORY),
    ("canal-json", "tidb", "transactions", IN_MEMORY),
]
"""With a budget of 1000 bytes Spark does the counting."""


@pytest.mark.parametrize(("protocol", "target", "way", "budget"), CASES)
def test_tables_without_a_key_are_what_tidbs_were(
    protocol: str,
    target: str,
    way: str,
    budget: int,
    mock_kafka: brokers.Mock,
    spark: SparkSession,
    request: pytest.FixtureRequest,
) -> None:
    given = scenario("keys")
    variant = given.variants[f"{protocol}.force-replicate"]
    place = Place(request.getfixturevalue(f"{target}_url"), target)
    topics = send(mock_kafka, variant, again=False)
    settings: dict[str, Any] = {"at_least_once": WITHOUT_KEY, "memory_budget": budget}
    settings["by_spark"] = way == "net"
    with consumer_of(variant, topics, mock_kafka, place, spark, way, **settings) as consumer:
        for state in given.states:
            run_to(consumer, state.ts, place, given, {})
            assert differences(place, given, state, {}, ()) == ""
