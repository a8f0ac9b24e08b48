"""Proxies before a server of the MySQL family, in small."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Protocol

import pytest
import sqlalchemy as sa
from support.brokers import Mock
from support.canonical_rows import contents, created, defined, load
from support.mysql_proxy import Habits, mysql_proxy
from ticdc_consumer import Settings, api
from ticdc_consumer.errors import Usage
from ticdc_consumer.targets.mysql.session import connect, engine_of, open_session
from ticdc_consumer.upstream.session import UpstreamSession

SERVERS = ["mysql", "mariadb", "tidb"]

PROXYSQL = Habits(shares=True, comment="(ProxySQL)")
MAXSCALE = Habits(keeps_kill=True)
SHARING = "that splits reads from writes or shares sessions: connect to the server itself"
REFUSED = [
    (SERVERS, PROXYSQL, "ProxySQL, which gives the statements of one client to several sessions"),
    # A TiDB answers a KILL of a session that it does not have as MaxScale does.
    (["mysql", "mariadb"], MAXSCALE, "a proxy that keeps KILL from the server, as MaxScale does"),
    (SERVERS, Habits(shares=True), SHARING),
    (SERVERS, Habits(splits=True), SHARING),
]


class Through(Protocol):
    """The URL through a proxy with these habits."""

    def __call__(self, habits: Habits) -> sa.URL: ...


@pytest.fixture(params=SERVERS)
def url(request: pytest.FixtureRequest) -> sa.URL:
    return sa.make_url(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def through(url: sa.URL) -> Iterator[Through]:
    with ExitStack() as running:

        def start(habits: Habits) -> sa.URL:
            proxy = mysql_proxy(str(url.host), url.port or 3306, habits)
            return url.set(host="127.0.0.1", port=running.enter_context(proxy))

        yield start


@pytest.mark.parametrize(
    ("url", "habits", "says"),
    [(server, habits, says) for servers, habits, says in REFUSED for server in servers],
    indirect=["url"],
)
def test_a_proxy_without_a_session_of_one_s_own_is_refused(
    through: Through, habits: Habits, says: str
) -> None:
    with pytest.raises(Usage, match=f"^\\[target\\] url leads to .*{says}"):
        open_session(through(habits))


def test_nothing_is_set_in_the_sessions_of_others(url: sa.URL, through: Through) -> None:
    proxied = through(Habits(shares=True))
    with pytest.raises(Usage):
        open_session(proxied)
    with sa.create_engine(proxied, poolclass=sa.NullPool).connect() as connection:
        asked = "SELECT @@foreign_key_checks, @@wait_timeout < 2147483"
        assert connection.exec_driver_sql(asked).one() == (1, 1)


def test_an_upstream_behind_such_a_proxy_is_refused_too(through: Through) -> None:
    with pytest.raises(Usage, match=r"^\[source\] upstream leads to ProxySQL"):
        UpstreamSession.open(through(PROXYSQL).render_as_string())


def test_check_names_the_proxy(mock_kafka: Mock, through: Through) -> None:
    given = {
        "changefeed": "shop",
        "protocol": "canal-json",
        "kafka.topics": ["orders"],
        "kafka.bootstrap.servers": mock_kafka.bootstrap,
        "target.url": through(PROXYSQL).render_as_string(),
    }
    found = [finding.text for finding in api.check(Settings.of(given))]
    assert [text for text in found if text.startswith("[target] url leads to ProxySQL")]


def test_through_a_proxy_of_sessions_rows_are_exact(through: Through) -> None:
    target = open_session(through(Habits()))
    layout = created(target, defined("create table t (id bigint primary key, v varchar(9))"))
    load(target, layout, [("1", "a"), ("2", "b")])
    load(target, layout, [("2", "c")], deleted=[("1",)])
    assert contents(target, layout) == [(2, "c")]
    target.close()


def test_a_session_through_a_proxy_of_sessions_can_be_ended(through: Through) -> None:
    proxied = through(Habits())
    old, new = open_session(proxied), open_session(proxied)
    new.end_session(old.session_id())
    assert not old.alive()
    for each in (old, new):
        each.close()


def test_a_server_that_greets_itself_is_asked_once(url: sa.URL) -> None:
    engine = engine_of(url)
    engine.connect().close()  # SQLAlchemy asks what it needs of the first connection
    asked: list[str] = []

    @sa.event.listens_for(engine, "before_cursor_execute")
    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    connect(engine).close()
    assert asked == ["SELECT CONNECTION_ID() + 0, VERSION()"]
