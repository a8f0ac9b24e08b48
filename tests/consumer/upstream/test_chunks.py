"""The chunks of a table hold each of its rows once, by any kind of key."""

import pytest
from support.upstream_tidb import Upstream
from ticdc_consumer.upstream.chunks import ROWID, Chunk, chunks, key_of
from ticdc_consumer.upstream.rows import batches
from ticdc_consumer.upstream.session import UpstreamSession, reading
from ticdc_consumer.upstream.tables import defined
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table

ROWS = 50


KEYS = [
    ("id bigint PRIMARY KEY CLUSTERED", "{n} * 7 - 100", ("id",)),
    ("id bigint unsigned PRIMARY KEY CLUSTERED", "18446744073709551615 - {n}", ("id",)),
    ("id bigint PRIMARY KEY NONCLUSTERED", "{n}", (ROWID,)),
    ("id int NOT NULL UNIQUE", "{n}", (ROWID,)),
    ("id int", "1", (ROWID,)),
    (
        "id varchar(20) COLLATE utf8mb4_general_ci PRIMARY KEY CLUSTERED",
        "concat(char(65 + {n} mod 7 + 32 * ({n} mod 2)), '''%', {n})",
        ("id",),
    ),
    ("id varbinary(20) PRIMARY KEY CLUSTERED", "unhex(sha1({n}))", ("id",)),
    ("id decimal(30,10) PRIMARY KEY CLUSTERED", "{n} / 7", ("id",)),
    ("id timestamp(6) PRIMARY KEY CLUSTERED", "from_unixtime(1.5 + {n} / 3)", ("id",)),
    (
        "id date PRIMARY KEY CLUSTERED",
        "if({n} = 1, '0000-00-00', '2024-01-01' + interval {n} day)",
        ("id",),
    ),
    (
        "id int, b varchar(9) NOT NULL DEFAULT 'b', PRIMARY KEY (b, id) CLUSTERED",
        "{n}",
        ("b", "id"),
    ),
    (
        "id int, e enum('z','a') NOT NULL DEFAULT 'a', PRIMARY KEY (id, e) CLUSTERED",
        "{n}",
        ("id",),
    ),
    ("id int, e enum('z','a') NOT NULL DEFAULT 'a', PRIMARY KEY (e, id) CLUSTERED", "{n}", ()),
    (
        "id int PRIMARY KEY CLUSTERED) PARTITION BY RANGE (id) "
        "(PARTITION a VALUES LESS THAN (20), PARTITION b VALUES LESS THAN MAXVALUE",
        "{n}",
        ("id",),
    ),
]


@pytest.mark.parametrize(("columns", "value", "key"), KEYS, ids=[c for c, _, _ in KEYS])
def test_each_row_is_in_one_chunk(
    columns: str, value: str, key: tuple[str, ...], tidb: Upstream
) -> None:
    values = ", ".join(f"({value.format(n=number)})" for number in range(1, ROWS + 1))
    tidb.execute(f"CREATE TABLE t ({columns})")
    tidb.execute(f"INSERT INTO t (id) VALUES {values}")  # noqa: S608
    with reading(tidb.url, tidb.ts()) as session:
        table = defined(session, tidb.schema, "t").table
        parts = list(chunks(session, table, 7))
        assert [Chunk.from_json(part.to_json()) for part in parts] == parts
        of_parts = [_ids(part, session, table) for part in parts]
        whole = _ids(Chunk(), session, table)
    assert key_of(table) == key
    assert sorted(id_ for ids in of_parts for id_ in ids) == sorted(whole)
    assert len(whole) == ROWS
    assert [part.rows for part in parts] == [len(ids) for ids in of_parts]
    if key:
        assert [len(ids) for ids in of_parts] == [7] * 7 + [1]


def _ids(chunk: Chunk, session: UpstreamSession, table: Table) -> list[str]:
    position = [column.name for column in table.columns].index("id")
    return [
        value
        for batch in batches(session, table, chunk, rows=3)
        for value in batch[position].to_pylist()
    ]


def test_a_range_of_several_columns_is_compared_column_by_column() -> None:
    table = parse_create_table(
        "CREATE TABLE t (a int, b varchar(9), c int, "
        "PRIMARY KEY (a, b, c) /*T![clustered_index] CLUSTERED */)",
        "s",
    )
    assert Chunk(("a", "b", "c"), ("1", "x", "3"), None).where(table) == (
        "`a` >= %s AND ((`a` > %s) OR (`a` = %s AND `b` > %s) "
        "OR (`a` = %s AND `b` = %s AND `c` > %s))",
        [1, 1, 1, "x", 1, "x", 3],
    )
    assert Chunk(("a", "b"), None, ("1", "x")).where(table) == (
        "`a` <= %s AND ((`a` < %s) OR (`a` = %s AND `b` <= %s))",
        [1, 1, 1, "x"],
    )
    assert Chunk(("a",), ("1",), ("5",)).where(table) == ("`a` > %s AND `a` <= %s", [1, 5])
