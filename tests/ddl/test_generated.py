"""Virtual generated columns, with a real TiDB as the judge: what a target computes is what TiDB
shows, for every function of the lists and for random expressions."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest
import sqlalchemy as sa
from ddl.random_expressions import (
    ColumnJudge,
    Expressions,
    Judged,
    assert_computed,
    reason,
)
from support.databases import fresh_database
from support.server_address import server_address
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.mysql.generated import FUNCTIONS, TEMPLATES
from ticdc_consumer.targets.postgresql.generated import TEMPLATES as IN_POSTGRESQL
from ticdc_consumer.targets.schema.generated import virtual_columns
from ticdc_consumer.targets.sqlite.generated import TEMPLATES as IN_SQLITE
from ticdc_consumer.targets.target import Target
from ticdc_encoder.sql.expression import Call, Expression, parse_expression

SHORT, LONG = 40, 2000
"""Random expressions."""
EACH = {
    "+": "BIGINT AS (a + b)",
    "-": "BIGINT AS (a - f)",
    "*": "BIGINT AS (a * f)",
    "DIV": "INT AS (a DIV f)",
    "%": "INT AS (f % a)",
    "NEG": "BIGINT AS (-a)",
    "=": "TINYINT AS (a = b)",
    "<>": "TINYINT AS (c <> a)",
    "<": "TINYINT AS (a < b)",
    "<=": "INT AS (c <= a)",
    ">": "INT AS (f > 1)",
    ">=": "INT AS (a >= c)",
    "<=>": "INT AS (a <=> b)",
    "IN": "INT AS (a IN (1, b, NULL))",
    "AND": "INT AS (a > 0 AND b > 0)",
    "OR": "INT AS (a > 0 OR b > 0)",
    "XOR": "INT AS (a > 0 XOR b > 0)",
    "NOT": "INT AS (NOT (a > 0))",
    "IS NULL": "INT AS (k IS NULL)",
    "IF": "INT AS (IF(k IS NULL, 1, NULL))",
    "CASE": "VARCHAR(30) AS (CASE WHEN a > 0 THEN s WHEN b > 0 THEN 'x' END)",
    "IFNULL": "INT AS (IFNULL(a, 0))",
    "COALESCE": "VARCHAR(30) AS (COALESCE(s, w, ''))",
    "CONCAT": "VARCHAR(80) AS (CONCAT(s, '-', a, u, w))",
    "LENGTH": "INT AS (LENGTH(s))",
    "CHAR_LENGTH": "INT AS (CHAR_LENGTH(s))",
    "ABS": "BIGINT AS (ABS(a))",
    "SIGN": "INT AS (SIGN(e))",
    "LEFT": "VARCHAR(20) AS (LEFT(s, f))",
    "RIGHT": "VARCHAR(20) AS (RIGHT(s, 2))",
    "REVERSE": "VARCHAR(20) AS (REVERSE(s))",
    "CONCAT_WS": "VARCHAR(80) AS (CONCAT_WS('-', s, u, w))",
    "MD5": "VARCHAR(32) AS (MD5(s))",
    "SHA1": "VARCHAR(40) AS (SHA1(s))",
    "CRC32": "BIGINT AS (CRC32(s))",
    "HEX": "VARCHAR(200) AS (HEX(s))",
    "YEAR": "INT AS (YEAR(k))",
    "MONTH": "INT AS (MONTH(l))",
    "QUARTER": "INT AS (QUARTER(k))",
    "DAY": "INT AS (DAY(k))",
    "DAYOFMONTH": "INT AS (DAYOFMONTH(l))",
    "HOUR": "INT AS (HOUR(k))",
    "MINUTE": "INT AS (MINUTE(k))",
    "SECOND": "INT AS (SECOND(k))",
    "DATE": "DATE AS (DATE(k))",
    "LOWER": "VARCHAR(80) AS (LOWER(s))",
    "UPPER": "VARCHAR(80) AS (UPPER(w))",
    "SUBSTRING": "VARCHAR(80) AS (SUBSTRING(s, f, b))",
    "SUBSTR": "VARCHAR(80) AS (SUBSTR(s, -2))",
    "TRIM": "VARCHAR(80) AS (TRIM(t))",
    "LTRIM": "VARCHAR(80) AS (LTRIM(t))",
    "RTRIM": "VARCHAR(80) AS (RTRIM(s))",
    "SHA2": "VARCHAR(128) AS (SHA2(s, 256))",
    "FLOOR": "BIGINT AS (FLOOR(e))",
    "CEIL": "BIGINT AS (CEIL(e))",
    "CEILING": "BIGINT AS (CEILING(e))",
    "ROUND": "INT AS (ROUND(e))",
    "JSON_EXTRACT": "JSON AS (j->'$.y')",
    "JSON_UNQUOTE": "LONGTEXT AS (j->>'$.x')",
    "JSON_LENGTH": "INT AS (JSON_LENGTH(j))",
    "JSON_TYPE": "VARCHAR(30) AS (JSON_TYPE(j))",
}
"""Each operator and function of the lists, over columns of `BASE`."""
MORE = (
    "DECIMAL(20,4) AS (a * e)",
    "TINYINT AS (c <> d)",
    "TINYINT AS (a < e)",
    "INT AS (d <= c)",
    "INT AS (e > 1.5)",
    "INT AS (a = NULL)",
    "INT AS (a + 1)",
    "INT AS (NULL)",
    "INT AS (1 + 1)",
    "VARCHAR(3) AS (s)",
    "VARCHAR(200) AS (j->>'$.y.z')",
    "LONGTEXT AS (j->>'$.\"a b\"')",
    "LONGTEXT AS (j->>'$.y')",
    "JSON AS (j->'$.x')",
    "INT AS (j->'$.x')",
    "BIGINT AS (c + c)",
    "BIGINT UNSIGNED AS (d * 2)",
    "BIGINT AS (d - 1)",
    "DOUBLE AS (a * 2)",
    "TINYINT AS (a)",
    "TINYINT UNSIGNED AS (a)",
    "INT AS (e)",
    "INT AS (-e)",
    "DECIMAL(8,1) AS (e * 1.05)",
    "VARCHAR(8) AS (a)",
    "VARCHAR(20) AS (c)",
    "INT AS (s)",
    "CHAR(9) AS (CONCAT(s, ' '))",
    "VARCHAR(20) AS (CONCAT(u, '|'))",
    "INT AS (LENGTH(u))",
    "FLOAT AS (m)",
    "DATETIME AS (k)",
    "DATE AS (l)",
    "INT AS (f DIV 0)",
    "DECIMAL(14,5) AS (a / f)",
    "VARCHAR(9) AS (CONCAT('\\\\', u))",
    "INT AS (IF(a > b, d, 0))",
    "BIGINT UNSIGNED AS (IF(a > b, d, c))",
)
CHAINED = (
    "BIGINT AS (a + 1), x BIGINT AS (IFNULL(v, 0)), y VARCHAR(99) AS (CONCAT(x, '-', v, s))",
    "TINYINT AS (a), x SMALLINT AS (v * 2), y INT AS (v = x), z BIGINT AS (x + y)",
    "INT AS (a * f), x INT AS (v IS NULL), y BIGINT AS (CASE WHEN x = 1 THEN 0 ELSE v * 2 END)",
)
"""Virtual columns that read others."""


@pytest.fixture(scope="module")
def judge() -> Iterator[ColumnJudge]:
    with fresh_database(server_address("TIDB_URL")) as own:
        engine = sa.create_engine(own, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with closing(engine.connect()) as connection:
            yield ColumnJudge(connection, 1)


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "mariadb", "mysql", "tidb"])
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    if request.param == "sqlite":
        with closing(
            open_target(f"sqlite:///{tmp_path_factory.mktemp('generated') / 'target.db'}")
        ) as opened:
            yield opened
        return
    server = (
        request.getfixturevalue("postgresql_server")
        if request.param == "postgresql"
        else server_address(f"{request.param.upper()}_URL")
    )
    with fresh_database(server) as url, closing(open_target(url)) as opened:
        yield opened


def compared(target: Target, judged: Judged) -> None:
    """Of all rows that TiDB takes, in strict mode or outside of it."""
    rows = (*judged.strict, *judged.lax)
    schema, _ = target.locate(str(target.engine.url.database), "t")
    if target.dialect == "postgresql":
        schema = "public"
        rows = tuple(row for row in rows if not any("-00" in str(row[name]) for name in "kl"))
    assert_computed(target, schema, judged.table, rows, target.dialect)


@pytest.mark.parametrize("name", EACH)
def test_each_function_gives_what_tidb_gives(target: Target, judge: ColumnJudge, name: str) -> None:
    judged = judge.judged(EACH[name])
    assert judged is not None
    assert name in _calls(parse_expression(judged.table.column("v").expression or ""))
    assert judged.strict
    listed = {
        "sqlite": name in IN_SQLITE,
        "postgresql": name in IN_POSTGRESQL or name == "JSON_EXTRACT",
    }.get(target.dialect, name in TEMPLATES or target.dialect in _where(name))
    why = reason(target, judged.table)
    assert listed == (why is None), why
    compared(target, judged)


def _where(name: str) -> frozenset[str]:
    return FUNCTIONS[name].where if name in FUNCTIONS else frozenset()


def _calls(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.name}.union(*map(_calls, expression.operands))


def test_every_function_of_the_lists_is_tried() -> None:
    listed = (TEMPLATES, FUNCTIONS, IN_POSTGRESQL, IN_SQLITE, {"JSON_EXTRACT": None})
    assert EACH.keys() == {name for each in listed for name in each}


@pytest.mark.parametrize("definition", MORE)
def test_what_tidb_converts_is_converted_alike(
    target: Target, judge: ColumnJudge, definition: str
) -> None:
    judged = judge.judged(definition)
    assert judged is not None
    compared(target, judged)


@pytest.mark.parametrize("definition", CHAINED)
def test_a_virtual_column_that_reads_others_is_computed(
    target: Target, judge: ColumnJudge, definition: str
) -> None:
    judged = judge.judged(definition)
    assert judged is not None
    assert judged.strict
    assert virtual_columns(judged.table, target.writer_of()).left_out == {}
    compared(target, judged)


def test_random_expressions_give_what_tidb_gives(
    target: Target, judge: ColumnJudge, long: bool
) -> None:
    tried = kept = 0
    for seed in range(LONG if long else SHORT):
        definition = Expressions(Random(seed)).column()
        judged = judge.judged(definition)
        if judged is None:
            continue
        tried += 1
        kept += reason(target, judged.table) is None
        try:
            compared(target, judged)
        except Exception as error:
            error.add_note(f"seed {seed}: {definition}")
            raise
    print(f"{target.dialect}: {kept} of {tried} columns are computed")
    assert kept > tried / 10


def test_a_difference_is_found(judge: ColumnJudge, tmp_path: object) -> None:
    judged = judge.judged("INT AS (a + 1)")
    assert judged is not None
    with closing(open_target(f"sqlite:///{tmp_path}/target.db")) as target:
        wrong = replace(
            judged.table,
            columns=tuple(
                replace(c, expression="a + 2") if c.name == "v" else c for c in judged.table.columns
            ),
        )
        with pytest.raises(AssertionError, match="a \\+ 2"):
            assert_computed(target, None, wrong, judged.strict)
