"""What the real TiDB says of a table, as of a timestamp."""

import time

import pytest
from support.upstream_tidb import Upstream
from ticdc_consumer.cut.upstream_definitions import definition_at
from ticdc_consumer.errors import Stop
from ticdc_encoder.tso import compose

OLD = compose(1_560_000_000_000)
"""The tests' TiDB has a safe point of 2020 (tests/services)."""


def now(tidb: Upstream) -> int:
    tidb.execute("BEGIN")
    ((ts,),) = tidb.execute("SELECT @@tidb_current_ts")
    tidb.execute("COMMIT")
    return int(ts)


def test_labels_are_those_of_the_timestamp(tidb: Upstream) -> None:
    tidb.execute("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a','b'))")
    before = now(tidb)
    tidb.execute("ALTER TABLE t MODIFY e ENUM('b','a','c')")
    after = now(tidb)
    of = tidb.schema, "t"
    assert definition_at(tidb.url, of, before).column("e").type.elements == ("a", "b")
    assert definition_at(tidb.url, of, after).column("e").type.elements == ("b", "a", "c")


def test_a_removed_snapshot_is_not_needed_without_a_later_ddl(
    tidb: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    tidb.execute("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a','b'))")
    monkeypatch.setattr(
        "ticdc_consumer.cut.upstream_definitions.physical",
        lambda ts: int(time.time() * 1000) + 61_000,
    )
    table = definition_at(tidb.url, (tidb.schema, "t"), OLD)
    assert table.column("e").type.elements == ("a", "b")


def test_a_table_that_may_have_been_another_is_refused(tidb: Upstream) -> None:
    tidb.execute("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a','b'))")
    with pytest.raises(Stop, match=rf"\.t: a DDL may have changed the table after {OLD}, and"):
        definition_at(tidb.url, (tidb.schema, "t"), OLD)
    with pytest.raises(Stop, match="the upstream has no such table"):
        definition_at(tidb.url, (tidb.schema, "other"), OLD)
