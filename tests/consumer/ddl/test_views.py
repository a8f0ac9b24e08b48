"""Views of PostgreSQL and SQLite, which are in the way of what is done to their tables: what
becomes of the consumer's own, and of those that an operator created."""

import re
from collections.abc import Iterator

import pytest
from support.loading import bank, opened, place
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.by_operator.manual import done_by_operator, run_by_operator
from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets.target import Target
from ticdc_encoder.sql.parser import parse_ddl
from ticdc_encoder.sql.statements import CreateTable, CreateView, RenameTable

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20))"
VIEW = "CREATE VIEW v AS SELECT id FROM t WHERE s = 'x'"
"""It stops: it compares text."""


class Upstream:
    """DDL that come one after the other, each with its tables' names beside it."""

    def __init__(self, target: Target, store: Store, context: DdlContext) -> None:
        self.target, self.store, self.context = target, store, context
        self.last = ""

    def __call__(self, query: str) -> None:
        table, seq = "t", len(self.store.ledger.entries()) + 1
        match parse_ddl(query, "bank"):
            case RenameTable(_, (_, name)) | CreateView(_, name):
                table = name
            case CreateTable(created):
                table = created.name
        self.last = f"199:{seq}"
        with self.target.transaction():
            self.store.ledger.add([LedgerEntry(199, seq, "bank", table, query)])
        ddl.run_pending(self.context, self.store, retries=1)

    def stops(self, query: str) -> str:
        with pytest.raises(Stop) as stop:
            self(query)
        return str(stop.value)

    def by_hand(self, text: str) -> None:
        """`t` and `v` are their names in the target."""
        for name in ("t", "v"):
            text = text.replace(f"{{{name}}}", self.target.quote(*place(self.target, name)))
        self.target.execute(text).close()

    def rows(self) -> list[tuple[object, ...]]:
        view = self.target.quote(*place(self.target, "v"))
        return sorted(self.target.query(f"SELECT * FROM {view}"))  # noqa: S608


@pytest.fixture(params=["sqlite", "postgresql"])
def upstream(request: pytest.FixtureRequest) -> Iterator[Upstream]:
    with opened(request.getfixturevalue(f"{request.param}_url")) as target:
        here = bank(target)
        made = Upstream(target, here.store, here.ddl_context)
        made(TABLE)
        made.by_hand("INSERT INTO {t} VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'x')")
        yield made


def created_by_operator(upstream: Upstream, by: str) -> None:
    text = "CREATE VIEW {v} AS SELECT id FROM {t} WHERE s = 'x' AND id < 9"
    assert "compares with 'x' (string)" in upstream.stops(VIEW)
    if by == "--ddl-done":
        upstream.by_hand(text)
        done_by_operator(upstream.context, upstream.last)
        return
    for name in ("t", "v"):
        text = text.replace(f"{{{name}}}", upstream.target.quote(*place(upstream.target, name)))
    run_by_operator(upstream.context, upstream.store, upstream.last, text)


@pytest.mark.parametrize("by", ["--ddl-done", "--ddl-run"])
def test_an_operators_view_survives_where_it_is_not_in_the_way(upstream: Upstream, by: str) -> None:
    created_by_operator(upstream, by)
    upstream("ALTER TABLE t ADD COLUMN b INT NOT NULL DEFAULT 7")
    assert upstream.rows() == [(1,), (3,)]
    upstream("TRUNCATE TABLE t")
    assert upstream.rows() == []


@pytest.mark.parametrize("by", ["--ddl-done", "--ddl-run"])
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("ALTER TABLE t MODIFY COLUMN s VARCHAR(40)", ""),
        ("ALTER TABLE t MODIFY COLUMN id BIGINT", ""),
        ("ALTER TABLE t MODIFY COLUMN a BIGINT NOT NULL", ""),
        ("ALTER TABLE t DROP COLUMN s", ""),
        ("ALTER TABLE t RENAME COLUMN s TO r", "drop it, and create it again afterwards"),
        ("ALTER TABLE t CHANGE COLUMN s r VARCHAR(20)", "drop it, and create it again afterwards"),
        ("RENAME TABLE t TO u", "drop it, and create it again afterwards"),
    ],
)
def test_a_table_change_never_drops_the_view_of_an_operator(
    upstream: Upstream, by: str, query: str, why: str
) -> None:
    created_by_operator(upstream, by)
    try:
        upstream(query)
    except Stop as stop:
        assert why in str(stop)
    else:
        assert not why
    assert upstream.rows() == [(1,), (3,)]


def test_an_operators_view_for_a_creatable_one_is_left_alone(
    upstream: Upstream,
) -> None:
    upstream.by_hand("CREATE VIEW {v} AS SELECT id FROM {t} WHERE a <> 2")
    assert "there is a view" in upstream.stops("CREATE VIEW v AS SELECT id FROM t WHERE a > 0")
    done_by_operator(upstream.context, upstream.last)
    upstream("ALTER TABLE t ADD COLUMN b INT")
    assert upstream.rows() == [(1,), (3,)]


def test_an_operators_view_of_other_columns_is_left_alone(
    upstream: Upstream,
) -> None:
    upstream("CREATE VIEW v AS SELECT id FROM t WHERE a > 0")
    upstream.by_hand("DROP VIEW {v}")
    upstream.by_hand("CREATE VIEW {v} AS SELECT id AS key_of_t FROM {t} WHERE a <> 2")
    upstream("ALTER TABLE t ADD COLUMN b INT")
    assert upstream.rows() == [(1,), (3,)]


def test_upstream_replaces_and_drops_an_operators_view(
    upstream: Upstream,
) -> None:
    created_by_operator(upstream, "--ddl-done")
    upstream("CREATE OR REPLACE VIEW v AS SELECT id, a FROM t WHERE a > 1")
    assert upstream.rows() == [(2, 2), (3, 3)]
    upstream("ALTER TABLE t MODIFY COLUMN a BIGINT NOT NULL")
    assert upstream.rows() == [(2, 2), (3, 3)]


def test_the_view_of_an_operator_outlives_its_table_or_keeps_it(upstream: Upstream) -> None:
    created_by_operator(upstream, "--ddl-done")
    if upstream.target.dialect == "postgresql":
        assert "cannot drop table" in upstream.stops("DROP TABLE t")
        assert upstream.rows() == [(1,), (3,)]
        return
    upstream("DROP TABLE t")
    upstream(TABLE)
    upstream("ALTER TABLE t ADD COLUMN b INT")
    assert upstream.rows() == []


def test_a_view_that_could_not_be_created_again_stops_the_ddl(upstream: Upstream) -> None:
    upstream("CREATE VIEW v AS SELECT id FROM t WHERE a > 1")
    said = upstream.stops("ALTER TABLE t MODIFY COLUMN a VARCHAR(20)")
    assert "is in the way, and could not be created again after it" in said
    assert upstream.rows() == [(2,), (3,)]


def test_a_star_is_the_tables_columns_when_the_view_was_created(
    upstream: Upstream,
) -> None:
    upstream("CREATE VIEW v AS SELECT * FROM t WHERE a > 2")
    assert upstream.rows() == [(3, 3, "x")]
    upstream("ALTER TABLE t ADD COLUMN b INT, ADD COLUMN c INT")
    assert upstream.rows() == [(3, 3, "x")]
    upstream("ALTER TABLE t DROP COLUMN s")
    with pytest.raises(Exception, match="v"):
        upstream.rows()
    upstream.target.reconnect()
    upstream("ALTER TABLE t ADD COLUMN s VARCHAR(20) NOT NULL DEFAULT 'z'")
    assert upstream.rows() == [(3, 3, "z")]
    upstream("RENAME TABLE t TO u")
    upstream("CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(20), other INT)")
    upstream.by_hand("INSERT INTO {t} VALUES (9, 9, 'new', 1)")
    assert upstream.rows() == [(9, 9, "new")]


def test_a_database_that_is_not_said_is_not_guessed(upstream: Upstream) -> None:
    """The session's may be one that the changefeed leaves out, with a table of this name."""
    query = "CREATE VIEW other.v AS SELECT id FROM t"
    with upstream.target.transaction():
        upstream.store.ledger.add([LedgerEntry(200, 1, "other", "v", query)])
    with pytest.raises(Stop, match=r"the database of t, and .* \(bank has it\)") as stop:
        ddl.run_pending(upstream.context, upstream.store, retries=1)
    (suggestion,) = re.findall("perhaps by: (.*?);", str(stop.value))
    upstream.target.execute(suggestion).close()
    assert upstream.rows() == [(1,), (2,), (3,)]
    done_by_operator(upstream.context, "200:1")
    assert "drop it, and create it again" in upstream.stops("RENAME TABLE t TO u")


def test_no_database_is_suggested_where_it_may_be_one_of_several(upstream: Upstream) -> None:
    with upstream.target.transaction():
        upstream.store.ledger.note("third", "T")
        upstream.store.ledger.add(
            [LedgerEntry(201, 1, "bank", "w", "CREATE VIEW bank.w AS SELECT id FROM t")]
        )
    with pytest.raises(Stop, match=r"\(bank and third have it\)") as stop:
        ddl.run_pending(upstream.context, upstream.store, retries=1)
    assert "perhaps" not in str(stop.value)
