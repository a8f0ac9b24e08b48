"""Tables whose virtual columns the target lacks, or that a snapshot brought."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.loading import CHANGEFEED
from ticdc_consumer.ddl import translate
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.generated_columns import left_out
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.state.stored_ledger import LedgerInDatabase
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.sql.parser import parse_create_table

DEFINED = (
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, v BIGINT AS (a + 1), s VARCHAR(9), "
    "UNIQUE KEY u (v))"
)
WITHOUT = 'CREATE TABLE "t" ("id" INTEGER NOT NULL, "a" INTEGER, "s" TEXT, PRIMARY KEY ("id"))'


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    with closing(open_target(f"sqlite:///{tmp_path / 'target.db'}")) as opened:
        Store(opened, CHANGEFEED).start(1.0)
        yield opened


def statements(target: Target, query: str, known: bool) -> list[str]:
    """Those of an ALTER TABLE, whose table was made without its virtual column, by a release that
    computed none, or came with a snapshot."""
    ledger = LedgerInDatabase(target, CHANGEFEED, lambda: None, lambda: 1)
    if known:
        with target.transaction():
            ledger.define(parse_create_table(DEFINED, "s"))
    context = DdlContext(target, ledger, lambda schema, table: (schema, table))
    return list(translate.work(context, LedgerEntry(1, 1, "s", "t", query)).statements)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ALTER TABLE t DROP COLUMN v", []),
        ("ALTER TABLE t RENAME COLUMN v TO w", []),
        ("ALTER TABLE t MODIFY COLUMN v BIGINT AS (a + 2)", []),
        ("ALTER TABLE t ADD INDEX k (v)", []),
        ("ALTER TABLE t DROP INDEX u", []),
        ("ALTER TABLE t ADD COLUMN b INT AFTER v", ['ALTER TABLE "t" ADD COLUMN "b" INTEGER']),
        (
            "ALTER TABLE t ADD COLUMN w BIGINT AS (a + 2)",
            [
                'ALTER TABLE "t" ADD COLUMN "w" INTEGER GENERATED ALWAYS AS (("a" + 2)) VIRTUAL',
            ],
        ),
    ],
)
def test_a_virtual_column_that_the_target_lacks_is_not_missed(
    target: Target, query: str, expected: list[str]
) -> None:
    target.execute(WITHOUT)
    assert statements(target, query, known=True) == expected


def test_what_reads_a_virtual_column_goes_before_it(target: Target) -> None:
    """TiDB 8.4 refuses such a change."""
    defined = "CREATE TABLE t (id INT PRIMARY KEY, a TINYINT, v INT AS (a + 1), w INT AS (v * 2))"
    target.execute(
        'CREATE TABLE "t" ("id" INTEGER NOT NULL, "a" INTEGER, "v" INTEGER AS ("a" + 1), '
        '"w" INTEGER AS ("v" * 2), PRIMARY KEY ("id"))'
    )
    ledger = LedgerInDatabase(target, CHANGEFEED, lambda: None, lambda: 1)
    with target.transaction():
        ledger.define(parse_create_table(defined, "s"))
    context = DdlContext(target, ledger, lambda schema, table: (schema, table))
    query = "ALTER TABLE t MODIFY COLUMN v INT AS (FLOOR(SQRT(a)))"
    made = translate.work(context, LedgerEntry(1, 1, "s", "t", query)).statements
    assert made == ('ALTER TABLE "t" DROP COLUMN "w"', 'ALTER TABLE "t" DROP COLUMN "v"')
    for text in made:
        target.execute(text).close()


def test_a_snapshots_table_gets_no_new_virtual_column(target: Target) -> None:
    target.execute(WITHOUT)
    query = "ALTER TABLE t ADD COLUMN w BIGINT AS (a + 2), ADD COLUMN b INT"
    added = ['ALTER TABLE "t" ADD COLUMN "b" INTEGER']
    assert statements(target, query, known=False) == added


def test_a_snapshots_table_keeps_its_own(target: Target) -> None:
    target.execute(WITHOUT.replace('"s" TEXT', '"s" TEXT, "v" INTEGER AS ("a" + 1)'))
    query = "ALTER TABLE t ADD COLUMN b INT"
    added = ['ALTER TABLE "t" ADD COLUMN "b" INTEGER']
    assert statements(target, query, known=True) == added
    table = parse_create_table(DEFINED, "s")
    layout = target.layout(
        table, ("id",), target.describe(None, "t") or pytest.fail(), table, frozenset()
    )
    assert layout.codecs[2] == "skip"
    assert not list(left_out(target, table, target.describe(None, "t")))


def test_what_is_left_out_has_a_reason(target: Target) -> None:
    target.execute(WITHOUT)
    (found,) = left_out(target, parse_create_table(DEFINED, "s"), target.describe(None, "t"))
    assert found.text() == (
        "virtual column v is left out, and with it unique key u: the target's table was made "
        "without it"
    )
