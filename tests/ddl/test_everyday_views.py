"""Views as applications have them: at least four of five run into each database, and show the rows
that they show in a real TiDB. Each is created from TiDB's own text of it."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
import sqlalchemy as sa
from support.databases import fresh_database
from support.server_address import server_address
from support.view_databases import Downstream, Tables, Upstream
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets import open_target

COLUMNS = {
    # a company
    "one.staff": "id INT PRIMARY KEY, name VARCHAR(40), dept INT, hired DATE, left_on DATE",
    "one.depts": "id INT PRIMARY KEY, title VARCHAR(40), head INT",
    "one.salaries": "staff INT, since DATE, amount INT, PRIMARY KEY (staff, since)",
    # films for rent
    "one.films": "id INT PRIMARY KEY, title VARCHAR(60), rate DECIMAL(4,2), minutes SMALLINT",
    "one.categories": "id INT PRIMARY KEY, name VARCHAR(25)",
    "one.film_category": "film INT, category INT, PRIMARY KEY (film, category)",
    "one.rentals": "id INT PRIMARY KEY, film INT, customer INT, rented DATETIME, back DATETIME",
    "one.payments": "id INT PRIMARY KEY, rental INT, amount DECIMAL(5,2), paid DATETIME",
    "one.customers": "id INT PRIMARY KEY, first_name VARCHAR(45), last_name VARCHAR(45),"
    " active TINYINT",
    # a shop
    "one.orders": "id BIGINT PRIMARY KEY, customer INT, status VARCHAR(12), total DECIMAL(10,2),"
    " placed DATETIME",
    "one.order_lines": "order_id BIGINT, line INT, sku VARCHAR(20), qty INT, price DECIMAL(10,2),"
    " PRIMARY KEY (order_id, line)",
    "one.items": "sku VARCHAR(20) PRIMARY KEY, name VARCHAR(60), stock INT",
    # a wiki
    "one.pages": "id INT PRIMARY KEY, ns INT, title VARCHAR(80), touched DATETIME,"
    " redirect TINYINT",
    "one.revisions": "id INT PRIMARY KEY, page INT, author VARCHAR(40), at DATETIME, size INT",
    # a monitoring tool
    "one.hosts": "id INT PRIMARY KEY, name VARCHAR(60), enabled TINYINT",
    "one.checks": "id INT PRIMARY KEY, host INT, service VARCHAR(30)",
    "one.results": "id BIGINT PRIMARY KEY, check_id INT, state TINYINT, latency INT,"
    " at DATETIME(3)",
}
ROWS = {
    "one.staff": "(1,'Ann',1,'2019-03-01',NULL),(2,'Bo',1,'2020-02-29','2023-12-31'),"
    "(3,'Cy',2,'2021-07-15',NULL),(4,'cy ',NULL,'1999-12-31',NULL)",
    "one.depts": "(1,'Sales',1),(2,'Research',3),(3,'Nobody',NULL)",
    "one.salaries": "(1,'2019-03-01',1000),(1,'2022-01-01',1200),(3,'2021-07-15',2000)",
    "one.films": "(1,'Up','0.99',96),(2,'Down','2.99',120),(3,'Äther','4.99',NULL)",
    "one.categories": "(1,'Action'),(2,'Family'),(3,'Empty')",
    "one.film_category": "(1,1),(1,2),(2,1)",
    "one.rentals": "(1,1,1,'2024-01-31 10:00:00','2024-02-01 09:00:00'),"
    "(2,2,1,'2024-02-29 23:59:59',NULL),(3,2,2,'2024-03-01 00:00:00',NULL)",
    "one.payments": "(1,1,'0.99','2024-01-31 10:00:01'),(2,2,'2.99','2024-03-02 00:00:00'),"
    "(3,3,'-1.05','2024-03-03 00:00:00')",
    "one.customers": "(1,'Ada','Lee',1),(2,'Ben','Kai',0),(3,'Cleo',NULL,1)",
    "one.orders": "(1,1,'open','10.50','2024-01-05 08:00:00'),"
    "(2,1,'paid','0.00','2024-01-31 23:59:59'),"
    "(3,2,'open ','99999999.99','2024-02-01 00:00:00'),(4,NULL,NULL,'-3.25','2023-12-31 12:00:00')",
    "one.order_lines": "(1,1,'A-1',2,'5.25'),(1,2,'B-2',0,'1.00'),(3,1,'A-1',3,'33333333.33')",
    "one.items": "('A-1','Anvil',0),('B-2','Bolt',7),('C-3','Cog',500)",
    "one.pages": "(1,0,'Main','2024-05-01 00:00:00',0),(2,12,'Help:Edit','2024-05-02 10:00:00',0),"
    "(3,12,'help:edit','2024-05-02 10:00:00',1),(4,0,'100%','2024-05-03 00:00:00',0)",
    "one.revisions": "(1,1,'ann','2024-05-01 00:00:00',100),(2,1,'Bo','2024-05-02 00:00:00',90),"
    "(3,2,'ann','2024-05-02 10:00:00',50),(4,9,NULL,'2024-05-04 00:00:00',NULL)",
    "one.hosts": "(1,'db1',1),(2,'web1',1),(3,'old',0)",
    "one.checks": "(1,1,'ping'),(2,1,'disk'),(3,2,'http')",
    "one.results": "(1,1,0,5,'2024-06-01 00:00:00.000'),(2,1,2,9000,'2024-06-01 00:01:00.250'),"
    "(3,2,0,7,'2024-06-01 00:00:00.000'),(4,3,1,1500,'2024-06-02 00:00:00.999')",
}
VIEWS = {
    # every day
    "open orders": "SELECT id, customer, total FROM orders WHERE status = 'open'",
    "orders with names": "SELECT o.id, c.first_name, c.last_name, o.total FROM orders o"
    " JOIN customers c ON c.id = o.customer",
    "orders by status": "SELECT status, COUNT(*) AS orders, SUM(total) AS total FROM orders"
    " GROUP BY status",
    "customers without an order": "SELECT c.id, c.last_name FROM customers c LEFT JOIN orders o"
    " ON o.customer = c.id WHERE o.id IS NULL",
    "what a line costs": "SELECT order_id, line, qty * price AS cost FROM order_lines",
    "orders by month": "SELECT YEAR(placed) AS y, MONTH(placed) AS m, COUNT(*) AS n,"
    " SUM(total) AS total FROM orders GROUP BY YEAR(placed), MONTH(placed)",
    "stock in words": "SELECT sku, CASE WHEN stock = 0 THEN 'out' WHEN stock < 10 THEN 'low'"
    " ELSE 'ok' END AS level FROM items",
    "full names": "SELECT id, CONCAT(first_name, ' ', last_name) AS name FROM customers",
    "the active, sorted": "SELECT id, last_name FROM customers WHERE active = 1"
    " ORDER BY last_name, id",
    "the newest orders": "SELECT id, status, placed FROM orders ORDER BY id DESC LIMIT 3",
    "which status there is": "SELECT DISTINCT status FROM orders",
    "who came back": "SELECT customer, MIN(placed) AS first_order, MAX(placed) AS last_order"
    " FROM orders GROUP BY customer HAVING COUNT(*) > 1",
    # a company
    "staff of today": "SELECT s.id, s.name, d.title FROM staff s LEFT JOIN depts d ON d.id = s.dept"
    " WHERE s.left_on IS NULL",
    "the pay of today": "SELECT s.name, p.amount, p.since FROM staff s JOIN salaries p"
    " ON p.staff = s.id JOIN (SELECT staff, MAX(since) AS since FROM salaries GROUP BY staff) l"
    " ON l.staff = p.staff AND l.since = p.since",
    "size of departments": "SELECT d.title, COUNT(s.id) AS people FROM depts d LEFT JOIN staff s"
    " ON s.dept = d.id GROUP BY d.id, d.title",
    "heads": "SELECT d.title, s.name FROM depts d JOIN staff s ON s.id = d.head",
    "hired in two years": "SELECT id, name FROM staff"
    " WHERE hired BETWEEN '2020-01-01' AND '2021-12-31'",
    "mean pay": "SELECT staff, AVG(amount) AS mean FROM salaries GROUP BY staff",
    # films for rent
    "films with categories": "SELECT f.id, f.title, c.name AS category, f.rate FROM films f"
    " LEFT JOIN film_category x ON x.film = f.id LEFT JOIN categories c ON c.id = x.category",
    "customers in words": "SELECT id, CONCAT(first_name, _utf8mb4' ', last_name) AS name,"
    " IF(active, _utf8mb4'active', _utf8mb4'') AS notes FROM customers",
    "sales by category": "SELECT c.name AS category, SUM(p.amount) AS sales FROM payments p"
    " JOIN rentals r ON p.rental = r.id JOIN film_category x ON x.film = r.film"
    " JOIN categories c ON c.id = x.category GROUP BY c.name ORDER BY sales DESC",
    "not back": "SELECT r.id, f.title, r.rented FROM rentals r, films f WHERE r.film = f.id"
    " AND r.back IS NULL AND r.rented >= '2024-02-29'",
    "titles in capitals": "SELECT id, UPPER(title) AS title FROM films",
    # a shop
    "orders whose lines differ": "SELECT o.id, o.total, l.cost FROM orders o JOIN (SELECT order_id,"
    " SUM(qty * price) AS cost FROM order_lines GROUP BY order_id) l ON l.order_id = o.id"
    " WHERE o.total <> l.cost",
    "pieces sold": "SELECT i.sku, i.name, COALESCE(SUM(l.qty), 0) AS sold FROM items i"
    " LEFT JOIN order_lines l ON l.sku = i.sku GROUP BY i.sku, i.name",
    "paid or open": "SELECT id, total FROM orders WHERE status IN ('open', 'paid') AND total > 0.5",
    "never ordered": "SELECT sku FROM items i WHERE NOT EXISTS"
    " (SELECT 1 FROM order_lines l WHERE l.sku = i.sku)",
    # a wiki
    "latest changes": "SELECT r.id, p.title, r.author, r.at FROM revisions r LEFT JOIN pages p"
    " ON p.id = r.page WHERE r.at > '2024-05-01 00:00:00'",
    "pages by changes": "SELECT p.title, COUNT(*) AS changes, MAX(r.size) AS largest FROM pages p"
    " JOIN revisions r ON r.page = p.id GROUP BY p.id, p.title",
    "help": "SELECT id, title FROM pages WHERE title LIKE 'Help:%' AND redirect = 0",
    "authors": "SELECT DISTINCT author FROM revisions WHERE author IS NOT NULL",
    "titles in any case": "SELECT LOWER(title) AS title FROM pages",
    # a monitoring tool
    "how it is": "SELECT h.name, c.service, r.state, r.at FROM hosts h JOIN checks c"
    " ON c.host = h.id JOIN results r ON r.check_id = c.id WHERE h.enabled = 1"
    " AND r.id IN (SELECT MAX(id) FROM results GROUP BY check_id)",
    "good and bad": "SELECT check_id, SUM(CASE WHEN state = 0 THEN 1 ELSE 0 END) AS good,"
    " SUM(IF(state <> 0, 1, 0)) AS bad FROM results GROUP BY check_id",
    "slow": "SELECT check_id, latency, at FROM results WHERE latency > 1000 AND state <> 2",
    "by day": "SELECT DATE(at) AS day, COUNT(*) AS n, MAX(latency) AS worst FROM results"
    " GROUP BY DATE(at)",
    "how much is good": "SELECT check_id, SUM(state = 0) / COUNT(*) AS share FROM results"
    " GROUP BY check_id",
}
EVERYWHERE = {"mean pay", "titles in capitals", "titles in any case", "how much is good"}
LEFT_OUT = {"sqlite": {"what a line costs", "orders whose lines differ"}}
"""INT times DECIMAL(10,2) may exceed SQLite's 64 bits."""
DIALECTS = ["sqlite", "postgresql", "mysql", "mariadb", "tidb"]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with fresh_database(server_address("TIDB_URL")) as url:
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with closing(engine.connect()) as connection:
            yield Upstream(connection, str(engine.url.database), Tables(COLUMNS, ROWS))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_views_of_every_day_show_what_they_show_in_tidb(
    upstream: Upstream, dialect: str, request: pytest.FixtureRequest
) -> None:
    with ExitStack() as stack:
        if dialect == "sqlite":
            url: str = request.getfixturevalue("sqlite_url")
        else:
            server = (
                request.getfixturevalue("postgresql_server")
                if dialect == "postgresql"
                else server_address(f"{dialect.upper()}_URL")
            )
            url = stack.enter_context(fresh_database(server))
        target = open_target(url)
        stack.callback(target.close)
        downstream = Downstream(target, upstream.names, Tables(COLUMNS, ROWS))
        left_out, different = set(), {}
        for name, query in VIEWS.items():
            schema, expected, restored = upstream.tells(f"CREATE VIEW v AS {query}")
            try:
                shown = downstream.shows(restored, schema)
            except Stop as stop:
                left_out.add(name)
                assert "not translated" in str(stop), name
                continue
            if shown != expected:
                different[name] = shown, expected
        assert not different
        assert left_out == EVERYWHERE | LEFT_OUT.get(dialect, set())
        assert len(left_out) * 5 <= len(VIEWS)
