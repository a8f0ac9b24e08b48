"""A database's own lists of sessions show whose one is."""

from contextlib import closing

from ticdc_consumer.targets import open_target

OF_POSTGRESQL = "SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()"
OF_MYSQL = (
    "SELECT attr_value FROM performance_schema.session_connect_attrs "
    "WHERE attr_name = 'program_name' AND processlist_id = CONNECTION_ID()"
)


def test_postgresql_shows_the_changefeed_of_a_session(postgresql_url: str) -> None:
    with closing(open_target(postgresql_url, changefeed="orders")) as target:
        assert target.execute(OF_POSTGRESQL).scalar() == "ticdc-consumer orders"


def test_mysql_shows_the_changefeed_of_a_session(mysql_url: str) -> None:
    with closing(open_target(mysql_url, changefeed="orders")) as target:
        assert target.execute(OF_MYSQL).scalar() == "ticdc-consumer orders"


def test_mariadb_and_sqlite_take_a_session_with_a_name(mariadb_url: str, sqlite_url: str) -> None:
    for url in (mariadb_url, sqlite_url):
        with closing(open_target(url, changefeed="orders")) as target:
            assert target.execute("SELECT 1").scalar() == 1


def test_a_name_that_the_url_has_stays(postgresql_url: str) -> None:
    url = f"{postgresql_url}{'&' if '?' in postgresql_url else '?'}application_name=mine"
    with closing(open_target(url, changefeed="orders")) as target:
        assert target.execute(OF_POSTGRESQL).scalar() == "mine"
