"""Views that are not certain to show the same in the target: left out, told, and never in the way
of tables. They may be created later, by an operator or by the upstream."""

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from support.loading import Bank, accounts, bank, crashes, open_bank, opened, place
from ticdc_consumer.ddl import known_views
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.ddl.by_operator.manual import done_by_operator, run_by_operator
from ticdc_consumer.ddl.policy import Policy
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.state.ledger import LedgerEntry

TABLE = "CREATE TABLE log (id INT PRIMARY KEY, a INT, s VARCHAR(20)) DEFAULT CHARSET=utf8mb4"
CERTAIN = "CREATE OR REPLACE VIEW v AS SELECT id FROM log WHERE a > 1"
UNCERTAIN = "CREATE OR REPLACE VIEW v AS SELECT id, UPPER(s) AS s FROM log"
OTHER = "CREATE TABLE other (id INT PRIMARY KEY)"


def entry(query: str, seq: int, table: str = "v") -> LedgerEntry:
    return LedgerEntry(199, seq, "bank", table, query)


class Upstream:
    """DDL that come one after the other."""

    def __init__(self, here: Bank) -> None:
        self.here, self.target, self.ledger = here, here.target, here.store.ledger
        self(TABLE, "log")
        self.target.execute(f"INSERT INTO {self.name('log')} VALUES (1, 1, 'x'), (2, 2, 'y')")  # noqa: S608

    def __call__(self, query: str, table: str = "v") -> LedgerEntry:
        """What became of it."""
        new = entry(query, len(self.ledger.entries()) + 1, table)
        with self.target.transaction():
            self.ledger.add([new])
        ddl.run_pending(self.here.ddl_context, self.here.store, retries=1)
        done = self.ledger.entry(new.order)
        assert done is not None
        return done

    def name(self, name: str) -> str:
        return self.target.quote(*place(self.target, name))

    def shows(self) -> list[tuple[object, ...]] | None:
        """The view's rows; None if there is none."""
        schema, name = place(self.target, "v")
        if name not in sa.inspect(self.target.connection).get_view_names(schema):
            return None
        return sorted(self.target.query(f"SELECT * FROM {self.name('v')}"))  # noqa: S608

    def left_out(self) -> list[str]:
        return [name for _, name in known_views.left_out(self.ledger)]


def left_out_in(here: Bank) -> Bank:
    """As the default is."""
    return replace(here, policy=Policy())


@pytest.fixture
def upstream(target_url: str) -> Iterator[Upstream]:
    with opened(target_url) as target:
        yield Upstream(left_out_in(bank(target)))


def test_an_uncertain_view_is_left_out_and_the_next_table_is_not(
    upstream: Upstream,
) -> None:
    left_out = upstream(UNCERTAIN)
    assert left_out.state == "skipped"
    assert "not translated" in left_out.reason
    assert upstream(OTHER, "other").state == "done"
    assert upstream.shows() is None
    assert upstream.left_out() == ["v"]


def test_a_cut_is_applied_beside_a_view_that_is_left_out(target_url: str) -> None:
    with opened(target_url) as target:
        here = left_out_in(bank(target))
        here.apply(entry(UNCERTAIN, 1), entry(OTHER, 2, "other"))
        ddl.run_pending(here.ddl_context, here.store, retries=1)
        assert [one.state for one in here.store.ledger.entries()] == ["skipped", "done"]
        assert here.store.read() == replace(here.new, generation=here.new.generation)


def test_a_view_that_is_not_certain_stops_if_the_settings_say_so(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        with target.transaction():
            here.store.ledger.add([entry(UNCERTAIN, 1)])
        with pytest.raises(Stop, match="waits for an operator"):
            ddl.run_pending(here.ddl_context, here.store, retries=1)


@pytest.mark.parametrize(
    ("in_the_way", "reason"),
    [
        ("CREATE TABLE {v} (id INT)", "refused|exist|TABLE|not VIEW"),
        ("CREATE VIEW {v} AS SELECT id AS other FROM {log}", "there is a view"),
    ],
)
def test_what_is_in_the_way_of_a_view_stays_and_stops_no_table(
    upstream: Upstream, in_the_way: str, reason: str
) -> None:
    text = in_the_way.format(v=upstream.name("v"), log=upstream.name("log"))
    upstream.target.execute(text).close()
    left_out = upstream(CERTAIN.replace(" OR REPLACE", ""))
    assert left_out.state == "skipped"
    assert upstream("DROP VIEW v").state == "done"
    upstream.target.execute(f"SELECT * FROM {upstream.name('v')}").close()  # noqa: S608
    assert upstream.left_out() == []


def test_a_view_that_an_uncertain_one_replaces_is_dropped(upstream: Upstream) -> None:
    upstream(CERTAIN)
    assert upstream.shows() == [(2,)]
    upstream(UNCERTAIN)
    assert upstream.shows() is None
    upstream(CERTAIN)
    assert upstream.shows() == [(2,)]
    assert upstream.left_out() == []


def test_a_drop_of_a_view_left_out_leaves_what_has_its_name(
    upstream: Upstream,
) -> None:
    upstream(UNCERTAIN)
    text = f"CREATE VIEW {upstream.name('v')} AS SELECT id FROM {upstream.name('log')}"  # noqa: S608
    upstream.target.execute(text).close()
    upstream("DROP VIEW v")
    assert upstream.shows() == [(1,), (2,)]
    assert upstream.left_out() == []


@pytest.mark.parametrize("by", ["--ddl-run", "--ddl-done"])
def test_a_view_left_out_is_upstreams_once_a_person_creates_it(upstream: Upstream, by: str) -> None:
    left_out = upstream(UNCERTAIN)
    upstream(OTHER, "other")
    relation, log = upstream.name("v"), upstream.name("log")
    text = f"CREATE VIEW {relation} AS SELECT id, UPPER(s) AS s FROM {log}"  # noqa: S608
    if by == "--ddl-run":
        run_by_operator(upstream.here.ddl_context, upstream.here.store, left_out.id, text)
    else:
        upstream.target.execute(text).close()
        done_by_operator(upstream.here.ddl_context, left_out.id)
    assert upstream.shows() == [(1, "X"), (2, "Y")]
    assert upstream.left_out() == []
    upstream("ALTER TABLE log ADD COLUMN b INT", "log")
    assert upstream.shows() == [(1, "X"), (2, "Y")]
    upstream("DROP VIEW v")
    assert upstream.shows() is None


def test_sql_that_fails_leaves_a_view_left_out_as_before(upstream: Upstream) -> None:
    left_out = upstream(UNCERTAIN)
    with pytest.raises(Stop, match="the target refused statement 1 of 1"):
        run_by_operator(
            upstream.here.ddl_context, upstream.here.store, left_out.id, "CREATE VIEW v AS x"
        )
    assert upstream(OTHER, "other").state == "done"
    assert upstream.left_out() == ["v"]


def test_an_id_that_is_none_is_answered_with_those_that_are(upstream: Upstream) -> None:
    left_out = upstream(UNCERTAIN)
    expected = f"no pending DDL; pending are: none; of views that are left out: {left_out.id}"
    with pytest.raises(Usage, match=expected):
        done_by_operator(upstream.here.ddl_context, "5:1")


def test_a_view_over_one_that_was_left_out_is_left_out(upstream: Upstream) -> None:
    upstream(UNCERTAIN)
    above = upstream("CREATE VIEW bank.w AS SELECT id FROM bank.v", "w")
    assert above.reason == "CREATE VIEW is not translated: bank.v is a view itself"
    upstream("DROP VIEW w", "w")
    assert upstream.left_out() == ["v"]


def test_a_view_that_a_table_change_makes_uncertain_is_left_out(
    upstream: Upstream, caplog: pytest.LogCaptureFixture
) -> None:
    created = upstream(CERTAIN)
    with caplog.at_level(logging.WARNING):
        assert upstream("ALTER TABLE log MODIFY COLUMN a VARCHAR(20)", "log").state == "done"
    assert upstream.shows() is None
    assert upstream.left_out() == ["v"]
    left_out = upstream.ledger.entry(created.order)
    assert left_out is not None
    assert left_out.reason.startswith("since a change of its table: CREATE VIEW is not translated")
    (told,) = (record for record in caplog.records if record.__dict__["event"] == "view_left_out")
    assert f"--ddl-run {created.id} FILE" in told.getMessage()


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement", [(UNCERTAIN, "v"), ("ALTER TABLE log MODIFY COLUMN a VARCHAR(20)", "log")]
)
def test_a_crash_at_any_statement_leaves_the_view_out_once(
    target_url: str, statement: tuple[str, str]
) -> None:
    for before, crashed in crashes(target_url):
        upstream = Upstream(left_out_in(before))
        upstream(CERTAIN)
        with before.target.transaction():
            before.store.ledger.add([entry(statement[0], 9, statement[1])])
        crashed(lambda: ddl.run_pending(upstream.here.ddl_context, before.store, retries=1))  # noqa: B023
        with opened(target_url) as target:
            here = left_out_in(open_bank(target))
            ddl.run_pending(here.ddl_context, here.store, retries=1)
            after = Upstream.__new__(Upstream)
            after.here, after.target, after.ledger = here, target, here.store.ledger
            assert after.shows() is None
            assert after.left_out() == ["v"]
            assert not here.store.ledger.pending()
            assert accounts(target)
