"""A row that waited in a staging table is as if it had been written at once."""

from collections.abc import Iterator, Sequence
from contextlib import closing

import pyarrow as pa
import pytest
from support.canonical_rows import (
    Canonical,
    arrays,
    contents,
    created,
    defined,
    key_payloads,
    load,
    row_payloads,
)
from targets.contract import KEYS, VALUES, ZERO_KEYS
from ticdc_consumer.cut.read.facts import SCHEMA
from ticdc_consumer.cut.read.staging import LEAST_ROWS, staged
from ticdc_consumer.errors import NotHeld, Stop
from ticdc_consumer.targets import encoders, open_target
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.not_held import marking, require_holdable
from ticdc_consumer.targets.staging import STAGING_TABLE, StagingJob, drop_left, prefix
from ticdc_consumer.targets.target import Target

STAGE = f"{STAGING_TABLE}1"


@pytest.fixture(params=["postgresql", "mariadb", "mysql"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def target(url: str) -> Iterator[Target]:
    with closing(open_target(url)) as opened:
        yield opened


def publish(
    target: Target, layout: Layout, rows: Sequence[Sequence[Canonical]], on_drift: str = "stop"
) -> int:
    """By way of a stage. The number of rows that were cleared away."""
    target.stage(layout, STAGE, row_payloads(layout, rows))
    try:
        with target.transaction():
            return target.publish(layout, STAGE, "overwrite" if on_drift == "overwrite" else "stop")
    finally:
        target.drop_staging([STAGE])


def test_staged_values_are_those_that_are_written_at_once(target: Target) -> None:
    cases = [*VALUES]
    if target.has_zero_dates:
        cases += [(declared, [value, other]) for declared, value, _, other in ZERO_KEYS]
        cases.append(("ENUM('a','b')", ["0", "2"]))  # an invalid value of TiDB's
    for number, (declared, values) in enumerate(cases):
        table = defined(f"create table t{number} (id int primary key, c {declared} null)")
        layout = created(target, table)
        rows = [[str(n), value] for n, value in enumerate([*values, None])]
        load(target, layout, rows)
        at_once = contents(target, layout)
        load(target, layout, deleted=[[str(n)] for n in range(len(rows))])
        publish(target, layout, rows)
        assert contents(target, layout) == at_once, declared


def test_staged_keys_are_those_that_are_written_at_once(target: Target) -> None:
    for number, (declared, value, _, other) in enumerate(KEYS):
        table = defined(f"create table t{number} (k {declared} primary key, n int)")
        layout = created(target, table)
        load(target, layout, [[value, "1"], [other, "1"]])
        at_once = contents(target, layout)
        publish(target, layout, [[value, "1"], [other, "1"]])
        assert contents(target, layout) == at_once, declared


def test_staged_rows_take_the_place_of_those_with_their_keys(target: Target) -> None:
    layout = created(target, defined("create table t (id int primary key, name varchar(9))"))
    load(target, layout, [["1", "a"], ["2", "b"]])
    assert publish(target, layout, [["2", "c"], ["3", "d"]], "overwrite") == 0
    assert contents(target, layout) == [(1, "a"), (2, "c"), (3, "d")]


def test_a_staged_table_of_nothing_but_its_key_is_published(target: Target) -> None:
    layout = created(target, defined("create table t (id int primary key)"))
    load(target, layout, [["1"]])
    publish(target, layout, [["1"], ["2"]])
    assert contents(target, layout) == [(1,), (2,)]


def test_a_generated_column_is_not_staged(target: Target) -> None:
    layout = created(
        target,
        defined("create table t (id int primary key, a int, b int as (a + 1) stored, c int)"),
    )
    publish(target, layout, [["1", "2", "3", "4"]])
    assert contents(target, layout) == [(1, 2, 3, 4)]


def test_a_staged_row_in_the_way_stops_or_clears(target: Target) -> None:
    layout = created(
        target, defined("create table t (id int primary key, u int, unique key u (u))")
    )
    load(target, layout, [["1", "5"]])
    with pytest.raises(Stop, match=r"shop\.t"):
        publish(target, layout, [["2", "5"], ["3", "6"]])
    assert contents(target, layout) == [(1, 5)]
    assert publish(target, layout, [["2", "5"], ["3", "6"]], "overwrite") == 1
    assert contents(target, layout) == [(2, 5), (3, 6)]


@pytest.mark.parametrize("count", [3, 3000])
@pytest.mark.parametrize("key", ["primary key (id)", "primary key (id, name)"])
def test_superseded_rows_are_trimmed(target: Target, key: str, count: int) -> None:
    table = defined(f"create table t (id int not null, name varchar(9) not null, {key})")
    layout = created(target, table)
    rows = [[str(n), "x"] for n in range(count)]
    target.stage(layout, STAGE, row_payloads(layout, rows))
    superseded = [row[: len(layout.key)] for row in rows[1:]]
    assert target.trim(layout, STAGE, key_payloads(layout, superseded)) == 1
    assert target.trim(layout, STAGE, key_payloads(layout, superseded)) == 1
    with target.transaction():
        target.publish(layout, STAGE, "stop")
    assert contents(target, layout) == [(0, "x")]


def test_rows_that_a_task_cannot_stage_name_their_table(target: Target, url: str) -> None:
    layout = created(target, defined("create table t (id int primary key, name varchar(9))"))
    verb = "ALTER name TYPE" if target.dialect == "postgresql" else "MODIFY name"
    target.execute(f"ALTER TABLE {layout.relation} {verb} VARCHAR(2)")
    row = row_payloads(layout, [["1", "long"]])[0].as_py()
    key = key_payloads(layout, [["1"]])[0].as_py()
    fact = dict(zip(SCHEMA.names, (0, key, 5, True, row, 0, 0), strict=True))
    facts = pa.RecordBatch.from_pylist([fact] * LEAST_ROWS, schema=SCHEMA)
    job = StagingJob(url, "mine")
    with pytest.raises(Stop) as raised:
        list(staged(job, [layout], [facts]))
    assert raised.value.table == ("shop", "t")
    drop_left(target, "mine")


def test_a_start_drops_what_its_own_changefeed_left(target: Target) -> None:
    layout = created(target, defined("create table t (id int primary key)"))
    names = [f"{prefix(changefeed)}1" for changefeed in ("mine", "theirs")]
    for name in names:
        target.stage(layout, name, row_payloads(layout, [["1"]]))
    drop_left(target, "mine")
    assert target.staging_tables(STAGING_TABLE) == names[1:]


def test_a_row_that_the_target_cannot_hold_is_not_staged(postgresql_url: str) -> None:
    with closing(open_target(postgresql_url)) as target:
        layout = created(target, defined("create table t (k varchar(9) primary key)"))
        keys = [[f"k{n}"] for n in range(LEAST_ROWS)] + [["x\0"]]
        columns = arrays(layout, keys)
        encode_rows, encode_keys = encoders(layout.dialect)
        count = len(keys)
        values = [
            pa.repeat(pa.scalar(0, pa.int32()), count),
            encode_keys(layout, columns),
            pa.repeat(pa.scalar(7, pa.int64()), count),
            pa.repeat(pa.scalar(True), count),
            marking(encode_rows)(layout, columns),
            pa.repeat(pa.scalar(0, pa.int32()), count),
            pa.array(range(count), pa.int64()),
        ]
        job = StagingJob(postgresql_url, "feed")
        (facts,) = staged(job, [layout], [pa.RecordBatch.from_arrays(values, schema=SCHEMA)])
        assert facts["stage"].null_count == 1 and facts["row"].null_count == LEAST_ROWS
        with pytest.raises(NotHeld, match=r"k='x\\x00'"):
            require_holdable(facts["row"].drop_null())
