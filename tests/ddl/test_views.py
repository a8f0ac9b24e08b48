"""Views show the rows that they show in a real TiDB, or stop: each case is created there and, from
what TiCDC sends of it, in each target, whose schemas have other names."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
import sqlalchemy as sa
from support.databases import fresh_database
from support.server_address import server_address
from support.view_databases import Downstream, Tables, Upstream
from ticdc_consumer.errors import Stop, Unsupported
from ticdc_consumer.targets import open_target

FAMILY = ("mysql", "mariadb", "tidb")
TABLES = {
    "one.goods": "id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10,2), kind INT,"
    " added DATE, at DATETIME(3), `odd ``name` BIGINT UNSIGNED, f FLOAT, j JSON",
    "one.kinds": "id INT PRIMARY KEY, label VARCHAR(20), parent INT",
    "two.stock": "good INT PRIMARY KEY, pieces BIGINT, place CHAR(8), ts TIMESTAMP",
    "two.kinds": "id INT PRIMARY KEY, x INT, ci VARCHAR(9) COLLATE utf8mb4_general_ci,"
    " un VARCHAR(9) COLLATE utf8mb4_unicode_ci, nopad VARCHAR(9) COLLATE utf8mb4_0900_ai_ci",
    "one.calc": "id INT PRIMARY KEY, a INT, v BIGINT AS (a + 1), w DOUBLE AS (SQRT(a))",
}
"""The databases are called otherwise."""
ROWS = {
    "one.goods": "(1,'Apple',1.50,1,'2024-01-31','2024-01-31 10:00:00.500',7,1.1,'{}'),"
    "(2,'apple',-2.25,1,'2024-02-29','2023-12-31 23:59:59.999',18446744073709551615,2,'[1]'),"
    "(3,'pear',0.00,2,NULL,NULL,NULL,NULL,NULL),(4,'',99999999.99,NULL,'1999-12-31',"
    "'1999-12-31 00:00:00.000',0,0,'null'),"
    "(5,NULL,3.33,9,'2024-01-31','2024-02-01 00:00:00.000',7,5,'5'),"
    "(6,'apple ',1.50,2,'2024-03-01','2024-01-31 10:00:00.500',8,6,'6'),"
    "(7,'Äpfel_%',12.30,2,'2024-03-01','2024-01-31 10:00:00.000',9,7,'7'),"
    "(8,'C:\\new',NULL,3,NULL,NULL,10,8,'8'),(9,'100%',NULL,3,NULL,NULL,11,9,'9')",
    "one.kinds": "(1,'fruit',NULL),(2,'food',1),(3,'empty',2)",
    "two.stock": "(1,10,'a','2024-01-01 00:00:00'),(2,-3,'A','2024-06-01 12:00:00'),"
    "(3,9007199254740993,'b',NULL),(8,0,NULL,'2024-06-01 12:00:00')",
    "two.kinds": "(1,100,'a','ss','x'),(4,400,'A','ß','x ')",
    "one.calc": "(1,1),(2,NULL),(3,5)",
}
SENT = {"one.calc": " (id, a)"}
"""The columns that rows are of, where others are virtual."""

MADE = Tables(TABLES, ROWS, SENT)

SAME_EVERYWHERE = [
    "CREATE VIEW v AS SELECT * FROM kinds WHERE parent > 0",
    "CREATE VIEW v AS SELECT id, label FROM one.kinds",
    "CREATE VIEW two.v AS SELECT id FROM one.goods",
    "CREATE VIEW two.v (a, b) AS SELECT good, pieces FROM two.stock WHERE pieces > 0",
    "CREATE VIEW v AS SELECT id, v FROM calc WHERE v > 2",
    "CREATE VIEW two.v AS SELECT * FROM one.kinds WHERE NOT (id = 2)",
    "CREATE VIEW v AS SELECT good, place FROM two.stock",
    "CREATE OR REPLACE VIEW v AS SELECT k.id AS `a``b` FROM `kinds` AS k"
    " WHERE `K`.`PARENT` IS NULL",
    # a text, as TiCDC sends it
    "CREATE VIEW `v` AS SELECT `id`,_UTF8MB4'paid' AS `s`,_UTF8'it''s \\\\n' AS `t` FROM `goods`",
    "CREATE VIEW `v` (`i`, `s`) AS SELECT `id`,'' FROM `goods` WHERE `kind`=1",
    "CREATE VIEW `v` AS SELECT `id` FROM `goods` WHERE `name`=_UTF8MB4'apple'",
    "CREATE VIEW `v` AS SELECT `id` FROM `goods` WHERE `name`!=_UTF8MB4'apple   ' AND `id`>2",
    "CREATE VIEW `v` AS SELECT `id` FROM `goods` WHERE _UTF8MB4'C:\\\\new'=`name` OR `name`=''",
    "CREATE VIEW `v` AS SELECT `id` FROM `goods` WHERE NOT (`name` IN (_UTF8MB4'Apple','pear '))",
    "CREATE VIEW `v` AS SELECT `good` FROM `two`.`stock` WHERE `place`=_UTF8MB4'a'",
]
SAME_IN_THE_FAMILY = [
    # joins
    "CREATE VIEW v AS SELECT g.name, k.label FROM goods g JOIN kinds k ON g.kind = k.id",
    "CREATE VIEW v AS SELECT g.name, k.label FROM goods g LEFT JOIN kinds k ON g.kind = k.id",
    "CREATE VIEW v AS SELECT g.name, k.label FROM goods g RIGHT JOIN kinds k ON g.kind = k.id",
    "CREATE VIEW v AS SELECT goods.id, two.stock.pieces FROM goods, two.stock"
    " WHERE one.goods.id = two.stock.good",
    "CREATE VIEW v AS SELECT a.label, b.label AS above FROM kinds a LEFT JOIN (kinds b JOIN"
    " two.kinds c ON b.id = c.id) ON a.parent = b.id",
    "CREATE VIEW v AS SELECT a.id, x FROM kinds a LEFT JOIN two.kinds b LEFT JOIN goods c"
    " ON c.kind = b.id ON a.id = b.id",
    "CREATE VIEW v AS SELECT id, label, x FROM kinds a JOIN two.kinds b USING (id)",
    "CREATE VIEW v AS SELECT id, b.id AS other FROM kinds a LEFT JOIN two.kinds b USING (id)",
    "CREATE VIEW v AS SELECT a.*, x FROM kinds a CROSS JOIN two.kinds",
    "CREATE VIEW two.v AS SELECT s.good FROM two.stock s, one.goods g WHERE s.good = g.id",
    "CREATE VIEW v AS SELECT g.id FROM goods g, kinds k LEFT JOIN two.kinds x ON x.id = k.id"
    " WHERE g.kind = k.id",
    # conditions
    "CREATE VIEW v AS SELECT id FROM goods WHERE name = 'apple'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name <> 'apple' OR name IS NULL",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name < 'b' AND name >= ''",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name IN ('apple', 'it''s', 'pear')",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name LIKE 'app%' OR name LIKE '_pfel%'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE NOT name LIKE '%e'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name LIKE _UTF8MB4'%\\\\_\\\\%'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name LIKE 'C:\\\\\\\\n%' OR name LIKE '%\\\\%'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name BETWEEN _UTF8MB4'C:\\\\' AND 'C:\\\\z'",
    "CREATE VIEW v AS SELECT id, CONCAT(name, _UTF8MB4'\\\\n', 'x') AS n FROM goods",
    "CREATE VIEW v AS SELECT id, CASE WHEN kind = 1 THEN _UTF8MB4'one' ELSE 'more' END AS n"
    " FROM goods",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name NOT LIKE '%e'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name BETWEEN 'a' AND 'c'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name NOT BETWEEN 'a' AND 'c'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE !id = 0 AND !(id = 3) OR ! kind",
    "CREATE VIEW v AS SELECT id FROM goods WHERE id < 3 = kind OR kind = id IS NULL",
    "CREATE VIEW v AS SELECT id FROM goods WHERE id = kind BETWEEN 0 AND 5 OR id > kind IN (2)",
    "CREATE VIEW v AS SELECT id FROM goods WHERE NOT id = kind IS NULL AND NOT NOT id < 6",
    "CREATE VIEW v AS SELECT id FROM goods WHERE id - 1 - kind > id DIV 2 * 2 % 3 - - 1",
    "CREATE VIEW v AS SELECT id, v + 1 AS w FROM calc WHERE v NOT IN (6)",
    "CREATE VIEW v AS SELECT id FROM goods WHERE name = 'äpfel_%' OR name = 'Äpfel_%'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE price > 1.5 OR price = -2.250",
    "CREATE VIEW v AS SELECT id FROM goods WHERE price BETWEEN -5 AND 1.50",
    "CREATE VIEW v AS SELECT id FROM goods WHERE added = '2024-01-31'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE added >= '2024-02-01' AND added <> at",
    "CREATE VIEW v AS SELECT id FROM goods WHERE at > '2024-01-31 10:00:00'",
    "CREATE VIEW v AS SELECT id FROM goods WHERE at <= '2024-01-31 10:00:00.500' AND at < added",
    "CREATE VIEW v AS SELECT id FROM goods WHERE `odd ``name` > 7 AND id < 9223372036854775807",
    "CREATE VIEW v AS SELECT id FROM goods WHERE `odd ``name` > -1",
    "CREATE VIEW v AS SELECT id FROM goods WHERE kind <=> NULL OR kind <=> 9",
    "CREATE VIEW v AS SELECT id FROM goods WHERE kind IS TRUE AND NOT kind = 2",
    "CREATE VIEW v AS SELECT id FROM goods WHERE j IS NOT NULL AND f IS NOT NULL",
    "CREATE VIEW v AS SELECT id FROM goods WHERE kind NOT IN (1, 9) OR id IN (1)",
    "CREATE VIEW v AS SELECT id FROM goods WHERE kind = 1 OR kind = 2 AND price > 2",
    "CREATE VIEW v AS SELECT id FROM goods WHERE NOT kind = 1 AND id > 2",
    "CREATE VIEW v AS SELECT id FROM goods WHERE id + 1 = kind * 2 OR id % 3 = 1 AND -id < -2",
    "CREATE VIEW v AS SELECT id FROM goods WHERE id IN (SELECT good FROM two.stock)",
    "CREATE VIEW v AS SELECT id FROM goods WHERE NOT EXISTS"
    " (SELECT 1 FROM two.stock s WHERE s.good = goods.id AND s.pieces > 0)",
    "CREATE VIEW v AS SELECT id FROM goods g WHERE price ="
    " (SELECT MAX(price) FROM goods o WHERE o.kind = g.kind)",
    # expressions
    "CREATE VIEW v AS SELECT id, price * 2 AS p, price + kind AS q, price - 1.005 AS r FROM goods",
    "CREATE VIEW v AS SELECT id, id DIV 2 AS a, id % 4 AS b, -id AS c, id - -3 AS d FROM goods",
    "CREATE VIEW v (a, b) AS SELECT id + 1, id = 2 OR kind = 1 FROM goods",
    "CREATE VIEW `v` AS SELECT `id`,`id`--3 AS `d`,--`kind` AS `e` FROM `goods` WHERE `id`>2--1",
    "CREATE VIEW v AS SELECT id, IFNULL(kind, 0) AS k, COALESCE(name, 'none') AS n FROM goods",
    "CREATE VIEW v AS SELECT id, NULLIF(name, '') AS n, NULLIF(kind, 1) AS k FROM goods",
    "CREATE VIEW v AS SELECT id, IF(kind = 1, price, NULL) AS p FROM goods",
    "CREATE VIEW v AS SELECT id, CASE kind WHEN 1 THEN 'one' WHEN 2 THEN 'more' END AS k"
    " FROM goods",
    "CREATE VIEW v AS SELECT id, CASE WHEN price > 2 THEN name ELSE 'cheap' END AS k FROM goods",
    "CREATE VIEW v AS SELECT id, CONCAT(name, '-', id, '-', price) AS n FROM goods",
    "CREATE VIEW v AS SELECT id FROM goods WHERE CONCAT(name, 'x') = 'applex'",
    "CREATE VIEW v AS SELECT LEFT(name, 2) AS a, RIGHT(name, 2) AS b, SUBSTRING(name, 2, 3) AS c,"
    " CHAR_LENGTH(name) AS d FROM goods",
    "CREATE VIEW v AS SELECT YEAR(added) AS y, MONTH(at) AS m, DAY(added) AS d, DATE(at) AS e"
    " FROM goods",
    "CREATE VIEW v AS SELECT ABS(price) AS a, CEIL(price) AS b, FLOOR(price) AS c,"
    " GREATEST(id, 3) AS d, LEAST(kind, id, 2) AS e FROM goods",
    "CREATE VIEW v AS SELECT TRUE AS t, FALSE AS f, NULL AS n, 'it''s' AS s, 1.50 AS d FROM kinds",
    "CREATE VIEW v AS SELECT f, j, name, at FROM goods",
    # groups
    "CREATE VIEW v AS SELECT COUNT(*) AS n, COUNT(kind) AS k, COUNT(DISTINCT kind) AS d FROM goods",
    "CREATE VIEW v AS SELECT kind, SUM(price) AS s, MIN(name) AS a, MAX(at) AS m FROM goods"
    " GROUP BY kind",
    "CREATE VIEW v AS SELECT kind, SUM(id) AS s, SUM(DISTINCT price) AS p FROM goods GROUP BY kind"
    " HAVING COUNT(*) > 1 AND s > 3",
    "CREATE VIEW v AS SELECT YEAR(added) AS y, COUNT(*) AS n FROM goods GROUP BY y ORDER BY n",
    "CREATE VIEW v AS SELECT kind * 2 AS k, COUNT(1) AS n FROM goods GROUP BY 1",
    "CREATE VIEW v AS SELECT k.label, COUNT(g.id) AS n FROM kinds k LEFT JOIN goods g"
    " ON g.kind = k.id GROUP BY k.id, k.label",
    "CREATE VIEW v AS SELECT MAX(ts) AS m FROM two.stock HAVING COUNT(*) > 0",
    "CREATE VIEW v AS SELECT DISTINCT kind, added FROM goods",
    # queries of queries
    "CREATE VIEW v AS SELECT q.k, q.n FROM (SELECT kind AS k, COUNT(*) AS n FROM goods"
    " GROUP BY kind) AS q WHERE q.n > 1",
    "CREATE VIEW v AS SELECT * FROM (SELECT id, name FROM goods WHERE id < 4) AS q",
    "CREATE VIEW v AS SELECT id FROM goods UNION SELECT good FROM two.stock",
    "CREATE VIEW v AS SELECT 'g' AS what, id FROM goods UNION ALL SELECT 'k', id FROM kinds",
    "CREATE VIEW v AS SELECT id, price FROM goods ORDER BY price DESC, id LIMIT 2, 3",
    "CREATE VIEW v AS SELECT id, (SELECT pieces FROM two.stock WHERE good = goods.id) AS n"
    " FROM goods",
    "CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `v` (`i`, `l`)"
    " AS SELECT `a`.`id`,`b`.`label` FROM (`goods` AS `a`) JOIN `one`.`kinds` AS `b`"
    " ON `a`.`kind`=`b`.`id` WHERE `a`.`price`>0 AND `b`.`label`!='x'",
]
LEFT_OUT = {
    "postgresql": ["GREATEST(id, 3)", "MIN(name)"],
    "sqlite": [
        "RIGHT JOIN kinds",
        "LIKE '_pfel%'",
        "LIKE '%e'",
        "LIKE _UTF8MB4'%\\\\_\\\\%'",
        "LIKE 'C:\\\\\\\\n%'",
        "v + 1",
        "`odd ``name` >",
        "(SELECT MAX(price)",
        "LEFT(name, 2)",
        "GREATEST(id, 3)",
        "MIN(name)",
        "(SELECT pieces FROM",
    ],
}
"""What each query above has in it that one target does not read as TiDB for certain."""
STOPS = [
    ("CREATE VIEW two.v AS SELECT id FROM kinds", "the database of kinds, and .* have it"),
    ("CREATE VIEW two.v AS SELECT id FROM goods", "the database of goods, and .* has it"),
    ("CREATE VIEW v AS SELECT id, w FROM calc", "column w is virtual, and not in the target"),
    ("CREATE VIEW v AS SELECT * FROM calc", "column w is virtual, and not in the target"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE id = kind < 2", "integers|comes first"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE id <=> kind < 2", "integers|comes first"),
    ("CREATE VIEW v AS SELECT id FROM two.kinds WHERE ci LIKE 'a%'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM two.kinds WHERE ci IN ('a')", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM two.kinds WHERE ci BETWEEN 'a' AND 'b'", "integers|certain"),
    ("CREATE VIEW v AS SELECT id FROM two.kinds WHERE ci <=> 'a'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM two.kinds WHERE un = 'ss'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM two.kinds WHERE nopad = 'x'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT MIN(ci) AS m FROM two.kinds", "more than columns|not certain"),
    ("CREATE VIEW v AS SELECT COUNT(DISTINCT un) AS m FROM two.kinds", "than columns|not certain"),
    (
        "CREATE VIEW v AS SELECT DISTINCT nopad FROM two.kinds",
        "DISTINCT|which of its rows are equal",
    ),
    ("CREATE VIEW v AS SELECT ci FROM two.kinds UNION SELECT ci FROM two.kinds", "SELECT|certain"),
    ("CREATE VIEW v AS SELECT id FROM two.kinds ORDER BY ci", "ORDER in|not certain"),
    ("CREATE VIEW v AS SELECT NULLIF(ci, 'a') AS n FROM two.kinds", "than columns|not certain"),
    (
        "CREATE VIEW v AS SELECT CASE ci WHEN 'a' THEN 1 END AS n FROM two.kinds",
        "than columns|not certain",
    ),
    (
        "CREATE VIEW v AS SELECT a.id FROM two.kinds a JOIN two.kinds b ON a.ci = b.ci",
        "JOINS in|not certain",
    ),
    ("CREATE VIEW v AS SELECT a.id FROM two.kinds a JOIN two.kinds b USING (un)", "JOINS|certain"),
    (
        "CREATE VIEW v AS SELECT id FROM two.kinds WHERE ci IN (SELECT label FROM kinds)",
        "one table|not certain",
    ),
    (
        "CREATE VIEW v AS SELECT id FROM goods WHERE name COLLATE utf8mb4_general_ci = 'APPLE'",
        "integers|not certain",
    ),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE 'a' = 'A'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE name = BINARY 'apple'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT NOW() AS n FROM goods", "more than columns|not certain"),
    ("CREATE VIEW v AS SELECT UPPER(name) AS n FROM goods", "more than columns|not certain"),
    ("CREATE VIEW v AS SELECT price / 3 AS n FROM goods", "more than columns|not certain"),
    ("CREATE VIEW v AS SELECT COALESCE(kind, price) AS n FROM goods", "more than columns|certain"),
    ("CREATE VIEW v AS SELECT IF(id = 1, price, 0) AS n FROM goods", "more than columns|certain"),
    ("CREATE VIEW v AS SELECT AVG(price) AS n FROM goods", "more than columns|not certain"),
    ("CREATE VIEW v AS SELECT f + 1 AS n FROM goods", "more than columns|not certain"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE name = 5", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE id = '5'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE f > 1", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM two.kinds WHERE ci = 'a'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT ci FROM two.kinds GROUP BY ci", "GROUP in|not certain"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE added = '24-1-31'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE name = _latin1'a'", "_latin1 'a' is not certain"),
    ("CREATE VIEW v AS SELECT _binary'a' AS b FROM goods", "_binary 'a' is not certain"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE name = 'a\\0b'", "NUL"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE name LIKE 'a|_' ESCAPE '|'", "than|certain"),
    ("CREATE VIEW v AS SELECT _utf8mb4'a' FROM goods", "more than columns|has no name"),
    ("CREATE VIEW v AS SELECT id FROM goods WHERE name REGEXP 'a'", "integers|not certain"),
    ("CREATE VIEW v AS SELECT good FROM two.stock WHERE ts > '2024-01-01'", "integers|not certain"),
    (
        "CREATE VIEW v AS SELECT id FROM goods ORDER BY price LIMIT 1",
        "ORDER in|LIMIT in|order of a key",
    ),
    ("CREATE VIEW v AS SELECT id FROM goods LIMIT 1", "LIMIT in|order of a key"),
    ("CREATE VIEW v AS SELECT DISTINCT f FROM goods", "DISTINCT|which of its rows are equal"),
    ("CREATE VIEW v AS SELECT id FROM kinds NATURAL JOIN two.kinds", "JOINS in|join"),
    ("CREATE VIEW v AS WITH q AS (SELECT 1 AS a) SELECT a FROM q", "WITH in"),
    ("CREATE VIEW v AS WITH goods AS (SELECT 1 AS id) SELECT id FROM goods", "WITH in"),
    (
        "CREATE VIEW v AS WITH RECURSIVE q AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM q"
        " WHERE n < 3) SELECT n FROM q",
        "WITH in",
    ),
    (
        "CREATE VIEW v AS SELECT id, SUM(parent) OVER (PARTITION BY label ORDER BY id) AS n"
        " FROM kinds",
        "than columns|cert",
    ),
    (
        "CREATE VIEW v AS SELECT id, LAG(id) OVER w AS n FROM kinds WINDOW w AS (ORDER BY id)",
        "WINDOWS in",
    ),
    (
        "CREATE VIEW v AS SELECT ROW_NUMBER() OVER (ORDER BY id) AS n FROM kinds",
        "than columns|cert",
    ),
    ("CREATE VIEW v AS SELECT COUNT(*) FROM kinds", "more than columns|has no name"),
]
"""What TiDB takes, too."""


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with fresh_database(server_address("TIDB_URL")) as url:
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with closing(engine.connect()) as connection:
            yield Upstream(connection, str(engine.url.database), MADE)


@pytest.fixture(scope="module", params=["sqlite", "postgresql", *FAMILY])
def downstream(
    request: pytest.FixtureRequest, upstream: Upstream, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Downstream]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('views') / 'target.db'}"
        elif request.param == "postgresql":
            url = stack.enter_context(fresh_database(request.getfixturevalue("postgresql_server")))
        else:
            server = server_address(f"{request.param.upper()}_URL")
            url = stack.enter_context(fresh_database(server))
        target = open_target(url)
        stack.callback(target.close)
        yield Downstream(target, upstream.names, MADE)


def test_a_view_shows_what_it_shows_in_tidb(upstream: Upstream, downstream: Downstream) -> None:
    elsewhere = LEFT_OUT.get(downstream.target.dialect, ())
    different = {}
    for case in [*SAME_EVERYWHERE, *SAME_IN_THE_FAMILY]:
        schema, expected = upstream.shows(case)
        try:
            shown: object = downstream.shows(upstream.named(case), schema)
        except Stop as stop:
            shown = str(stop)
        left_out = isinstance(shown, str) and any(part in case for part in elsewhere)
        if shown != expected and not left_out:
            different[case] = shown, expected
    assert not different


def test_a_view_that_is_not_certain_to_show_the_same_stops(
    upstream: Upstream, downstream: Downstream
) -> None:
    for case, why in STOPS:
        schema, _ = upstream.shows(case)
        with pytest.raises(Unsupported, match=why):
            downstream.shows(upstream.named(case), schema)


def test_what_is_suggested_runs(upstream: Upstream, downstream: Downstream) -> None:
    """Where the target has the words for it."""
    ran = {case for case, _ in STOPS if downstream.suggests(upstream.named(case))}
    for words in (
        "WITH q",
        "LAG(id)",
        "SUM(parent)",
        "ci LIKE",
        "DISTINCT un",
        "SELECT id FROM goods",
    ):
        assert [case for case in ran if words in case], words


def test_a_view_of_a_view_stops_and_the_suggestion_runs(
    upstream: Upstream, downstream: Downstream
) -> None:
    inner = "CREATE VIEW i AS SELECT id, parent FROM kinds WHERE parent > 0"
    outer = "CREATE VIEW v AS SELECT id FROM i WHERE id < 3"
    with upstream.another(inner), downstream.another(upstream.named(inner), upstream.names["one"]):
        schema, expected = upstream.shows(outer)
        with pytest.raises(Unsupported, match="i is a view itself"):
            downstream.shows(outer, schema)
        assert downstream.suggests(outer) == expected


def test_each_of_these_views_shows_something(upstream: Upstream) -> None:
    assert all(len(upstream.shows(case)[1]) > 1 for case in SAME_IN_THE_FAMILY)
