"""How PostgreSQL reads what it holds, to be compared."""

import hashlib

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
    return "\n".join(line for (line,) in target.query(f"EXPLAIN {digests_of(target, 'many')}"))


def digests_of(target: Target, table: str) -> str:
    """The statement."""
    described, words = target.describe("public", table), read_back.DIGEST
    assert described is not None
    assert words is not None
    columns = [read_back.column(each, "plain", each.name) for each in described.columns]
    return words.digests(columns, columns[:1], 1024, True, f"FROM {table}")


def test_a_table_of_hundreds_of_columns_has_the_common_digest(
    postgresql_url: str,
) -> None:
    numbers = [str(n) for n in range(250)]
    with opened(postgresql_url) as target:
        columns = ", ".join(f"c{n} integer" for n in numbers)
        target.execute(f"CREATE TABLE wide ({columns})").close()
        target.execute(f"INSERT INTO wide SELECT {', '.join(numbers)}").close()
        ((part, rows, digest),) = target.query(digests_of(target, "wide"))
    expected = int(hashlib.md5(",".join(numbers).encode()).hexdigest()[:15], 16)
    assert (part, rows, digest) == (0, 1, expected)
