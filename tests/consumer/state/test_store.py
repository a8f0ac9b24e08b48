import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

import pytest
import sqlalchemy as sa
from sqlalchemy import make_url
from support.loading import (
    ACCOUNTS,
    CHANGEFEED,
    IMPATIENT,
    at,
    crash_at,
    crashes,
    first,
    kill_session,
    opened,
    options,
)
from ticdc_consumer.errors import LOAD_ANEW, Away, Fenced, Retry, Stop, Unavailable, UnknownCommit
from ticdc_consumer.protocols.schemas import SchemaKey, key_of
from ticdc_consumer.state import lease
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.schema import LEDGER
from ticdc_consumer.state.scope import check_scope, scope_hash, scope_text
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table

SERVERS = ["postgresql", "mariadb", "mysql", "tidb"]
GREATEST = 2**64 - 1


@pytest.fixture(params=SERVERS)
def server_url(request: pytest.FixtureRequest) -> str:
    """Each target whose sessions can be ended by others."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


def write(store: Store, old: Checkpoint, new: Checkpoint) -> None:
    with store.target.transaction():
        store.lock(old)
        store.write(old, new)


def test_a_checkpoint_comes_back_as_it_was_written(target_url: str) -> None:
    with opened(target_url) as target, opened(target_url) as other:
        store = Store(target, CHANGEFEED)
        assert store.read() is None
        old = first(store, 1, shop=7, orders=9)
        assert Store(other, CHANGEFEED).read() == old
        new = replace(
            old,
            resolved_ts=GREATEST,
            mark_time=1_760_000_000_000,
            counters={"rows": 2**40, "cuts": 1},
            positions={
                ("shop", 0): Position("shop", "dGhlIGlk", 0, 2**62, 2**62 - 1, 2**32 - 1),
                ("shop", 1): Position("shop", "dGhlIGlk", 1, 0),
            },
        )
        write(store, old, new)
        assert Store(other, CHANGEFEED).read() == new


def test_rows_wait_only_for_a_table_that_is_set_aside(target_url: str) -> None:
    name = ("s", "t")
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        state = first(store, 1, shop=7)
        with target.transaction():
            store.quarantine.add(SetAside.of(name, state, "poison"))
        for more in (3, 0, 0):
            with target.transaction():
                store.quarantine.count({name: more})
        assert [each.waiting for each in store.quarantine.tables()] == [3]
        with pytest.raises(Fenced, match=r"s\.u is no longer quarantined"), target.transaction():
            store.quarantine.count({name: 1, ("s", "u"): 0})
        assert [each.waiting for each in store.quarantine.tables()] == [3]


def test_no_cut_passes_a_ddl_that_a_restore_made_pending_again(target_url: str) -> None:
    ddl = LedgerEntry(120, 1, "bank", "t", "TRUNCATE TABLE t")
    with opened(target_url) as target, opened(target_url) as other:
        store = Store(target, CHANGEFEED)
        old = first(store, 1, shop=7)
        new = replace(old, resolved_ts=150)
        with target.transaction():
            store.ledger.add([ddl])
            store.write(old, new)
        assert store.ledger.pending() == [ddl]
        with target.transaction():
            store.ledger.mark(replace(ddl, state="done"))
        with other.transaction():
            other.connection.execute(sa.update(LEDGER).values(state="pending"))
        failure = "the DDL of commit_ts 120 was done, and is pending again: was the target restored"
        with pytest.raises(Fenced, match=failure), target.transaction():
            store.write(new, replace(new, resolved_ts=160))
        assert store.read() == new
        with other.transaction():
            other.connection.execute(sa.update(LEDGER).values(state="done"))
        write(store, new, replace(new, resolved_ts=160))


def test_only_positions_that_change_are_written(target_url: str) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        old = first(store, a=1, b=2, c=3)
        positions = dict(old.positions) | at(b=20, d=4)
        del positions["c", 0]
        new = replace(old, resolved_ts=150, positions=positions)
        with crash_at(target, 0) as ran:
            write(store, old, new)
        assert store.read() == new
        # What is gone, and in one statement all that moved.
        assert sum("ticdc_offset" in statement for statement in ran) == 2


def test_1000_positions_of_100_topics_move_in_one_statement(target_url: str) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        old = first(store, 1)
        places = [(f"topic{n % 100}", n // 100) for n in range(1000)]
        for resolved_ts, moved in ((150, places), (151, places[::3]), (152, [])):
            positions = dict(old.positions) | {
                place: Position(place[0], "", place[1], resolved_ts) for place in moved
            }
            new = replace(old, resolved_ts=resolved_ts, positions=positions)
            with crash_at(target, 0) as ran:
                write(store, old, new)
            assert sum("ticdc_offset" in statement for statement in ran) == bool(moved)
            assert store.read() == new
            old = new


def test_a_first_checkpoint_is_replaced_by_its_consumer(target_url: str) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        old = first(store, 0, a=0, b=0)
        corrected = replace(
            old, resolved_ts=50, scope="5" * 64, scope_text="{}", positions=at(b=3, c=0)
        )
        assert store.begin_again(old, corrected) == corrected
    # The session above has ended: another consumer waits for one that is open.
    with opened(target_url) as other:
        late = Store(other, CHANGEFEED)
        assert late.read() == corrected
        with pytest.raises(Fenced):
            late.begin_again(old, corrected)


def test_changefeeds_of_one_target_do_not_touch_each_other(target_url: str) -> None:
    with opened(target_url) as target, opened(target_url) as other:
        assert Store(target, "Feed").changefeeds() == []
        one, two = Store(target, "Feed"), Store(other, "feed")
        at_one, at_two = first(one, 10), first(two, 20)
        with target.transaction():
            one.ledger.add([LedgerEntry(10, 1, "bank", "t", "DROP TABLE t")])
            one.ledger.define(ACCOUNTS)
        assert two.ledger.entries() == [] and two.ledger.definitions() == {}
        write(one, at_one, replace(at_one, resolved_ts=11))
        assert two.read() == at_two
        assert two.changefeeds() == ["Feed", "feed"]


def test_without_a_checkpoint_those_of_others_are_named(
    sqlite_url: str,
) -> None:
    with opened(sqlite_url) as target, opened(sqlite_url) as other:
        store = Store(target, "mine")
        words = (
            "changefeed mine has no checkpoint in the target{}; its first run or load writes one"
        )
        assert str(store.unknown()) == words.format("")
        for name in ("one", "two"):
            first(Store(other, name), 10)
        known = ", which has those of: one, two"
        assert str(store.unknown()) == words.format(known)


def test_the_end_of_a_changefeed_removes_only_what_is_its_own(
    target_url: str,
) -> None:
    with opened(target_url) as target, opened(target_url) as other:
        one, two = Store(target, "one"), Store(other, "two")
        first(one, 10)
        at_two = first(two, 20)
        for store in (one, two):
            with store.target.transaction():
                store.ledger.define(ACCOUNTS)
        assert Store(target, "three").end(IMPATIENT) is None
        ended = one.end(IMPATIENT)
        assert ended is not None and ended.resolved_ts == 10
        assert one.read() is None
        assert Store(target, "one").ledger.definitions() == {}
        assert (two.read(), two.changefeeds()) == (at_two, ["two"])
        assert [*two.ledger.definitions()] == [("bank", "accounts")]


def test_a_consumer_that_was_overtaken_ends_nothing(sqlite_url: str) -> None:
    with opened(sqlite_url) as target, opened(sqlite_url) as other:
        older, newer = Store(target, CHANGEFEED), Store(other, CHANGEFEED)
        first(older)
        newer.start(IMPATIENT)
        deleted: list[str] = []
        with pytest.raises(Fenced, match="generation 2, this one has 1"):
            older.lease.end(lambda: deleted.append("all"))
        assert deleted == []


def test_several_consumers_create_the_tables_at_once(target_url: str) -> None:
    failures: list[BaseException] = []

    def create() -> None:
        try:
            with opened(target_url) as target:
                together.wait(60)
                assert Store(target, CHANGEFEED).start(5.0) is None
        except BaseException as error:
            failures.append(error)
            raise

    together = threading.Barrier(3)
    threads = [threading.Thread(target=create) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        assert store.start(IMPATIENT) is None
        assert store.changefeeds() == []


def test_schemas_are_committed_with_the_checkpoint_or_not_at_all(target_url: str) -> None:
    one, two, other = (
        parse_create_table(f"CREATE TABLE {name} (a INT PRIMARY KEY, b VARCHAR({width}))", "shop")
        for name, width in (("t", 5), ("t", 9), ("o", 5))
    )
    tables = [replace(one, version=GREATEST, table_id=5), replace(other, version=7)]
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        assert store.schemas() == {}
        old = first(store)
        new = replace(old, resolved_ts=200, schemas={key_of(table): table for table in tables})
        with pytest.raises(Stop), target.transaction():
            store.write(old, new)
            raise Stop("a crash")
        assert store.schemas() == {}
        write(store, old, new)
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        assert store.start(IMPATIENT) == replace(new, generation=2)
        assert [table.version for table in store.schemas().values()] in (
            [GREATEST, 7],
            [7, GREATEST],
        )
        later = replace(two, version=GREATEST, table_id=6)
        started = replace(new, generation=2)
        newest = replace(started, resolved_ts=300, schemas={key_of(later): later})
        write(store, started, newest)
        assert store.schemas() == newest.schemas
        assert Store(target, "another").schemas() == {}


def test_of_two_first_starts_one_is_refused(target_url: str) -> None:
    with opened(target_url) as target, opened(target_url) as other:
        first(Store(target, CHANGEFEED), 10)
        late = Store(other, CHANGEFEED)
        late.start(IMPATIENT)
        with pytest.raises(Fenced, match="another consumer began it first"):
            late.begin_first(Checkpoint.first(options(""), 20, {}))


@pytest.mark.parametrize(
    ("faster", "error", "what"),
    [
        (True, Fenced, "another consumer began it first"),
        (False, Unavailable, "it is not known whether its first checkpoint was written"),
    ],
)
def test_a_first_start_that_loses_its_session_looks_for_another(
    sqlite_url: str,
    monkeypatch: pytest.MonkeyPatch,
    faster: bool,
    error: type[Exception],
    what: str,
) -> None:
    with opened(sqlite_url) as target, opened(sqlite_url) as other:
        late = Store(target, CHANGEFEED)
        late.start(IMPATIENT)

        def lost(*_: object) -> None:
            if faster:
                first(Store(other, CHANGEFEED), 10)
            raise Retry("the session was lost")

        monkeypatch.setattr(target, "overtake", lost)
        monkeypatch.setattr(late.lease, "_other_began", lambda: False)  # it shows a moment later
        monkeypatch.setattr(lease, "SHOWN_AFTER", 0.0)
        with pytest.raises(error, match=what):
            late.begin_first(Checkpoint.first(options(""), 20, {}))


def test_a_later_start_refuses_the_earlier_one(target_url: str) -> None:
    with opened(target_url) as target:
        older = Store(target, CHANGEFEED)
        old = first(older)
        with opened(target_url) as other:
            newer = Store(other, CHANGEFEED)
            started = newer.start(takeover_after=IMPATIENT)
            assert started == replace(old, generation=2)
            new = replace(started, resolved_ts=200)
            with pytest.raises(Fenced, match=r"newer consumer .*generation 2, this one has 1"):
                _after_a_lost_session(
                    older, lambda: write(older, old, replace(old, resolved_ts=150))
                )
            with pytest.raises(Fenced, match="generation 2"):
                _after_a_lost_session(older, lambda: _mark_done(older))
            write(newer, started, new)
            assert newer.read() == new


def test_a_first_start_is_over_once_its_checkpoint_is_written(target_url: str) -> None:
    """A session that is lost later is not taken for the work of a consumer that began since."""
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        first(store)
        store.reconnect()  # the checkpoint names another session than the first
        with pytest.raises(Retry, match="lost again"), store.lease.explaining():
            raise Retry("the session was lost again")


@pytest.mark.parametrize(
    ("generation", "owner", "other"),
    [(1, "older", False), (1, "mine", False), (2, "mine", False), (2, "newer", True)],
)
def test_a_later_consumer_has_raised_the_generation_elsewhere(
    sqlite_url: str, generation: int, owner: str, other: bool
) -> None:
    with opened(sqlite_url) as target:
        store = Store(target, CHANGEFEED)
        first(store)
        with target.transaction():
            store.lease.update(generation=generation, owner=owner)
        store.lease._began = (1, "mine")
        assert store.lease._other_began() == other


def test_an_overtaken_consumer_is_stopped_by_the_newer_ones_work(sqlite_url: str) -> None:
    with opened(sqlite_url) as target, opened(sqlite_url) as other:
        older = Store(target, CHANGEFEED)
        first(older)
        with pytest.raises(Stop, match="no table"), older.lease.explaining():
            raise Stop("the target has no table t")
        Store(other, CHANGEFEED).start(takeover_after=IMPATIENT)
        with pytest.raises(Fenced, match="generation 2"), older.lease.explaining():
            raise Stop("the target has no table t")


def _after_a_lost_session(store: Store, work: Callable[[], None]) -> None:
    """As the load does: MySQL's newer consumer has ended the session of the older."""
    try:
        work()
    except Retry:
        store.recover()
        raise


def _mark_done(store: Store) -> None:
    with store.target.transaction():
        store.ledger.mark(LedgerEntry(1, 1, "bank", "t", "", state="done"))


def test_a_consumer_stopped_inside_its_transaction_is_overtaken(server_url: str) -> None:
    with opened(server_url) as target, opened(server_url) as other:
        older, newer = Store(target, CHANGEFEED), Store(other, CHANGEFEED)
        first(older)
        old = older.start(IMPATIENT)
        assert old is not None
        with pytest.raises(Retry), target.transaction():
            older.lock(old)
            older.write(old, replace(old, resolved_ts=150))
            started = newer.start(IMPATIENT)
            assert started == replace(old, generation=3)
            older.ledger.pending()
        with pytest.raises(Fenced, match="generation 3, this one has 2"):
            older.recover()
        assert newer.read() == started


def test_a_changefeed_ended_during_a_start_is_not_begun_again(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would begin at `from_ts`, below what the tables hold."""
    with opened(server_url) as target, opened(server_url) as other:
        beginning, ending = Store(target, CHANGEFEED), Store(other, CHANGEFEED)
        first(ending)
        read = beginning.lease._stored_generation

        def ended_afterwards() -> int:
            generation = read()
            ending.end(IMPATIENT)
            return generation

        monkeypatch.setattr(beginning.lease, "_stored_generation", ended_afterwards)
        with pytest.raises(Fenced, match="the target no longer has a checkpoint"):
            beginning.start(IMPATIENT)
        monkeypatch.undo()
        assert beginning.start(IMPATIENT) is None  # who begins it now, knows


def test_of_two_that_take_it_over_at_once_the_slower_one_is_told(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server_url) as target, opened(server_url) as other:
        slower, newer = Store(target, CHANGEFEED), Store(other, CHANGEFEED)
        first(slower)
        read = slower._schemas

        def overtaken() -> dict[SchemaKey, Table]:
            newer.start(IMPATIENT)
            return read()

        monkeypatch.setattr(slower, "_schemas", overtaken)
        with pytest.raises(Fenced, match="a newer consumer took over while this one began"):
            slower.start(IMPATIENT)
        old = newer.read()
        assert old is not None
        write(newer, old, replace(old, resolved_ts=150))


@pytest.mark.slow
def test_a_lock_on_the_file_cannot_be_taken_away(sqlite_url: str) -> None:
    with opened(sqlite_url) as target, opened(sqlite_url) as other:
        older, newer = Store(target, CHANGEFEED), Store(other, CHANGEFEED)
        old = first(older)
        with target.transaction():
            older.lock(old)
            with pytest.raises(Unavailable, match=r"write lock of .*target\.db"):
                newer.start(IMPATIENT)
            older.write(old, replace(old, resolved_ts=150))
        assert newer.start(IMPATIENT) == replace(old, generation=2, resolved_ts=150)


def test_a_checkpoint_moved_by_a_stranger_is_no_newer_consumer(target_url: str) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        old = first(store, 100)
        target.execute("UPDATE ticdc_checkpoint SET resolved_ts = 120")
        for attempt in (store.lock, lambda old: store.write(old, replace(old, resolved_ts=150))):
            with (
                pytest.raises(Fenced, match="R = 120, but this consumer left it at 100"),
                target.transaction(),
            ):
                attempt(old)
        target.execute("DELETE FROM ticdc_checkpoint")
        with pytest.raises(Fenced, match="no longer has a checkpoint"), target.transaction():
            store.lock(old)


def test_a_cut_that_does_not_raise_r_is_a_mistake(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        store = Store(target, CHANGEFEED)
        old = first(store)
        with pytest.raises(ValueError, match="must raise R"):
            store.write(old, old)


@pytest.mark.parametrize("committed", [True, False])
def test_the_checkpoint_shows_whether_an_unknown_commit_happened(
    server_url: str, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server_url) as target:
        store = Store(target, CHANGEFEED)
        first(store)
        old = store.start(IMPATIENT)
        assert old is not None
        new = replace(old, resolved_ts=150, positions=at(shop=5))
        with monkeypatch.context() as lossy:
            lose_the_commit(lossy, target, server_url, committed)
            with pytest.raises(UnknownCommit):
                write(store, old, new)
        assert store.resolve_unknown(old, new) == ("new" if committed else "old")
        assert store.read() == (new if committed else old)
        # The new session is fenced as the lost one was.
        reached = new if committed else old
        write(store, reached, replace(reached, resolved_ts=160))


def test_a_fenced_consumer_does_not_resolve_an_unknown_commit(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server_url) as target, opened(server_url) as other:
        store = Store(target, CHANGEFEED)
        old = first(store)
        new = replace(old, resolved_ts=150)
        with monkeypatch.context() as lossy:
            lose_the_commit(lossy, target, server_url, committed=True)
            with pytest.raises(UnknownCommit):
                write(store, old, new)
        assert Store(other, CHANGEFEED).start(IMPATIENT) == replace(new, generation=2)
        with pytest.raises(Fenced, match="generation 2"):
            store.resolve_unknown(old, new)


def test_a_server_that_refuses_for_a_while_is_reached_again(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable() -> None:
        raise Unavailable("cannot connect")

    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        old = first(store)
        with monkeypatch.context() as away:
            away.setattr(target, "_connect", unreachable)
            for _ in range(2):
                with pytest.raises(Retry, match="cannot connect"):
                    store.reconnect()
        assert store.reconnect() == old.resolved_ts
        write(store, old, replace(old, resolved_ts=150))


def test_a_wait_for_a_server_is_told_every_half_minute(
    target_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slept: list[float] = []
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        old = first(store)
        connect = target._connect

        def restarting() -> object:
            if sum(slept) < 100:
                raise Away("cannot connect to it")
            return connect()

        with monkeypatch.context() as away:
            away.setattr(target, "_connect", restarting)
            away.setattr("ticdc_consumer.waiting.sleep", slept.append)
            away.setattr("time.monotonic", lambda: sum(slept))
            assert store.reconnect() == old.resolved_ts
        assert caplog.messages == ["waiting for the target: cannot connect to it"] * 4
        write(store, old, replace(old, resolved_ts=150))


def test_a_consumer_that_is_to_stop_does_not_wait_for_its_server(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restarting() -> None:
        raise Away("cannot connect to it")

    with opened(target_url) as target:
        store = Store(target, CHANGEFEED, gives_up=lambda: True)
        first(store)
        monkeypatch.setattr(target, "_connect", restarting)
        with pytest.raises(Away, match="cannot connect to it"):
            store.reconnect()


@pytest.mark.parametrize(
    ("url", "is_away"),
    [
        ("postgresql://me@127.0.0.1:1/db", True),
        ("mysql+pymysql://me@127.0.0.1:1/db", True),
        ("sqlite:////nowhere/at/all.db", False),
    ],
)
def test_a_server_that_does_not_answer_is_away(url: str, is_away: bool) -> None:
    with pytest.raises(Unavailable) as raised:
        open_target(url)
    assert isinstance(raised.value, Away) == is_away


def test_a_server_that_refuses_the_user_is_not_away(server_url: str) -> None:
    url = make_url(server_url).set(database="there_is_none")
    with pytest.raises(Unavailable) as raised:
        open_target(url.render_as_string(hide_password=False))
    assert not isinstance(raised.value, Away)


def lose_the_commit(patch: pytest.MonkeyPatch, target: Target, url: str, committed: bool) -> None:
    """The session ends just before the next COMMIT reaches the server, or just after."""
    session, execute = target.session_id(), target.execute

    def lossy(statement: str, parameters: object = ()) -> object:
        if statement != "COMMIT":
            return execute(statement, parameters)
        if committed:
            execute(statement, parameters)
        kill_session(url, session)
        return execute("SELECT 1" if committed else statement)

    patch.setattr(target, "execute", lossy)


def test_a_crash_while_taking_over_leaves_the_feed_to_the_next(target_url: str) -> None:
    for here, crashed in crashes(target_url):
        again = Store(here.target, CHANGEFEED)
        expected = (2, 3) if crashed(lambda again=again: again.start(IMPATIENT)) else (3,)  # type: ignore[misc]
        with opened(target_url) as target:
            stored = Store(target, CHANGEFEED).read()
            assert stored is not None and stored.generation in expected
            assert stored == replace(here.old, generation=stored.generation)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"topics": ("shop", "more")}, 'topics was ["shop"] and is ["more", "shop"]'),
        ({"filter": ("bank.*",)}, 'filter was ["*.*"] and is ["bank.*"]'),
        ({"case_sensitive": True}, "case_sensitive was false and is true"),
        ({"route": {"a.*": "b.{table}"}}, 'route was [] and is [["a.*", "b.{table}"]]'),
        ({"protocol": "open-protocol"}, 'protocol was "canal-json" and is "open-protocol"'),
        ({"time_zone": "Asia/Shanghai"}, 'time_zone was "UTC" and is "Asia/Shanghai"'),
    ],
)
def test_a_change_of_scope_is_refused_with_what_changed(
    sqlite_url: str, changed: dict[str, object], words: str
) -> None:
    with opened(sqlite_url) as target:
        store = Store(target, CHANGEFEED)
        first(store, 100)
        stored = store.read()
    assert stored is not None
    stored.check_scope(options(sqlite_url))
    with pytest.raises(Stop) as stop:
        stored.check_scope(options(sqlite_url, **changed))
    assert words in str(stop.value) and LOAD_ANEW in str(stop.value)


GOES_ON = "forget CONFIG, then: ticdc-consumer run CONFIG --from-ts 99; only if"
NEW_TABLES = "the upstream's rows of tidb_snapshot = 99"
NEW_CHANGEFEED = "the new changefeed's start-ts is 99 or less"
ONLY_WIDENED = "ticdc-consumer load CONFIG --table SCHEMA.TABLE"
WAYS = {GOES_ON, NEW_TABLES, NEW_CHANGEFEED, ONLY_WIDENED}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"filter": ("bank.*",)}, {ONLY_WIDENED, GOES_ON, NEW_TABLES}),
        ({"route": {"a.*": "b.{table}"}}, {GOES_ON, NEW_TABLES}),
        ({"protocol": "open-protocol"}, {GOES_ON, NEW_CHANGEFEED}),
        (
            {"topics": ("shop", "more"), "filter": ("bank.*",)},
            {GOES_ON, NEW_TABLES, NEW_CHANGEFEED},
        ),
        ({"time_zone": "Asia/Shanghai", "filter": ("bank.*",)}, set[str]()),
    ],
)
def test_each_setting_says_what_going_on_with_another_one_needs(
    changed: dict[str, object], expected: set[str]
) -> None:
    before, now = options(""), options("", **changed)
    with pytest.raises(Stop) as stop:
        check_scope(CHANGEFEED, 100, scope_hash(before), scope_text(before), now)
    assert {way for way in WAYS if way in str(stop.value)} == expected


def test_the_order_of_topics_is_not_part_of_the_scope() -> None:
    assert scope_hash(options("", topics=("a", "b"))) == scope_hash(options("", topics=("b", "a")))
    assert scope_hash(options("", filter=("a", "b"))) != scope_hash(options("", filter=("b", "a")))


def test_no_secret_is_in_the_checkpoint() -> None:
    secret = options("postgresql://app:hush@db/shop", kafka={"sasl.password": "hush"})
    assert "hush" not in repr(Checkpoint.first(secret, 1, {}))


@pytest.mark.slow
def test_a_start_refused_at_any_statement_says_to_start_again(
    sqlite_url: str,
) -> None:
    with opened(sqlite_url) as target:
        first(Store(target, CHANGEFEED))
    for statement in count(1):
        with opened(sqlite_url) as target, refused_at(target, statement) as ran:
            try:
                Store(target, CHANGEFEED).start(0.0)
            except Unavailable as error:
                assert "start again" in str(error)
        if len(ran) < statement:
            assert statement > 5
            return


@contextmanager
def refused_at(target: Target, statement: int) -> Iterator[list[str]]:
    """Raises `Retry` before the statement of that number; yields those that ran."""
    ran: list[str] = []

    def watch(_connection: object, _cursor: object, text: str, *_: object) -> None:
        ran.append(text)
        if len(ran) == statement:
            raise Retry("the connection was lost")

    sa.event.listen(target.engine, "before_cursor_execute", watch)
    try:
        yield ran
    finally:
        sa.event.remove(target.engine, "before_cursor_execute", watch)
