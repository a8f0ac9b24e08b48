"""How PostgreSQL reads what it holds, to be compared."""

from support.loading import opened
from ticdc_consumer.targets.postgresql import read_back
from ticdc_consumer.targets.target import Target

MANY = (
    "CREATE TABLE many AS SELECT n AS id, repeat('x', 90) AS text FROM generate_series(1, 200000) n"
)


def test_no_row_is_sorted_for_the_digests_of_a_large_table(postgresql_url: str) -> None:
    with opened(postgresql_url) as target:
        target.execute(MANY).close()
        target.execute("ANALYZE many").close()
        assert "Sort" in plan_of_digests(target)
        read_back.begin(target, None)
        plan = plan_of_digests(target)
    assert "Sort" not in plan
    assert "HashAggregate" in plan


def plan_of_digests(target: Target) -> str:
    described, words = target.describe("public", "many"), read_back.DIGEST
    assert described is not None
    assert words is not None
    columns = [read_back.column(each, "plain", each.name) for each in described.columns]
    statement = words.digests(columns, columns[:1], 1024, True, "FROM many")
    return "\n".join(line for (line,) in target.query(f"EXPLAIN {statement}"))
