"""How large the chunks of a load are."""

import json

import pytest
from support.upstream_tidb import Upstream
from ticdc_consumer.upstream.origin import FromUpstream, full_chunks
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.tables import defined


@pytest.mark.parametrize(
    ("rows", "detail", "full"),
    [
        (100_000, {"bytes": 1000}, 1),
        (50_000, {"bytes": 300}, 0.5),
        (10, {"bytes": 2000}, 2),
        (68, {"bytes": 100}, 0.1),
        (10, {"file": "a.sql", "begin": 500, "end": 1500}, 1),
        (50_000, {"key": ["id"]}, 0.5),  # of a load that an earlier release began
    ],
)
def test_a_chunk_is_full_by_its_bytes_or_its_rows(
    rows: int, detail: dict[str, object], full: float
) -> None:
    assert full_chunks([(json.dumps(detail), rows)], 1000) == full


def test_ten_small_tables_fill_less_than_a_chunk() -> None:
    assert full_chunks([(json.dumps({"bytes": 4000}), 68)] * 10, 16 << 20) < 0.01


@pytest.mark.parametrize("rows", [0, 1, 68])
def test_the_rows_of_a_small_table_are_counted(rows: int, tidb: Upstream) -> None:
    tidb.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))")
    if rows:
        values = ", ".join(f"({number}, 'name {number}')" for number in range(rows))
        tidb.execute(f"INSERT INTO t VALUES {values}")  # noqa: S608
    at = tidb.ts()
    with reading(tidb.url, at) as session:
        table = defined(session, tidb.schema, "t").table
    ((stored, number),) = FromUpstream(tidb.url).cut(at, table, 16 << 20)
    assert number == rows
    assert json.loads(stored)["bytes"] == pytest.approx(rows * 30, rel=0.5)
