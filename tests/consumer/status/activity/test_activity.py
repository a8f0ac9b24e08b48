"""What the steps report is what others see, and what is stored beside the data."""

import platform
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from support.loading import CHANGEFEED, IMPATIENT, at, first, opened
from ticdc_consumer.errors import Stop, Unavailable, WaitingDdl
from ticdc_consumer.state.repairs import RepairState
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity import process
from ticdc_consumer.status.activity import stored as stored_activity
from ticdc_consumer.status.activity.activity import (
    Activity,
    CutActivity,
    LastDdl,
    VerifiedShare,
    dumps,
    loads,
)
from ticdc_consumer.status.activity.monitor import MOST, Monitor
from ticdc_consumer.status.activity.stored import Silent, read, read_all, write
from ticdc_consumer.targets.blockers import Blocker
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import until

R = 2**64 - 2


def busy() -> Monitor:
    """A monitor that has something in every field."""
    monitor = Monitor(CHANGEFEED, "0.1.0")
    monitor.generation, monitor.session = 3, "33"
    monitor.reached(R, at(shop=7))
    monitor.committed(R, at(shop=7), {"cuts": 1}, {"shop.a": (1, 2)}, {"load": 2.0})
    monitor.waiting(time.time() - 2, {"shop": R}, trouble=Unavailable("the brokers are away"))
    monitor.planned(CutActivity(R, R + 1, 100), {("shop", 0): 9}, {"shop": R})
    monitor.applies(CutActivity(R, R + 1, 100))
    monitor.waits_for_operator([WaitingDdl("7:1", "no such type", ("ALTER TABLE a ...",))])
    monitor.ran_ddls(["done"], 1.0, LastDdl("6:1", "DROP TABLE b", "done", "", 5.5))
    monitor.retries(Unavailable("the brokers are away"), "read failed")
    monitor.stopped(Stop("poison at shop[0] offset 7"))
    monitor.unwritten = "the disk is full"
    monitor.overtook("process 6 on b")
    monitor.has_executors(1, 2, waits=True)
    monitor.blockers = (Blocker("4711", "shop.a", "app", "SELECT ?", 2.5, "KILL 4711", "look"),)
    return monitor


def test_what_is_stored_is_what_was_seen() -> None:
    activity = busy().look()
    assert loads(dumps(activity)) == activity
    plain = activity.to_json()
    assert plain["resolved_ts"] == str(R) and plain["cut"]["end_ts"] == str(R + 1)
    assert plain["partitions"][0]["end_offset"] == 9


def test_stages_that_two_threads_leave_at_once_are_both_left() -> None:
    monitor = Monitor()
    applying = monitor.at("applying", "the cut up to 7")

    class OtherThread(str):
        """Whoever compares it lets the other thread go on."""

        def __eq__(self, other: object) -> bool:
            applying.__exit__(None, None, None)
            return False

        __hash__ = str.__hash__

    applying.__enter__()
    with monitor.at("applying", OtherThread("the cut up to 8")):
        pass
    assert [entered.detail for entered in monitor._entered] == ["the cut up to 7"]


def test_fields_of_a_later_release_are_left_out() -> None:
    plain = busy().look().to_json()
    plain["cut"]["colour"] = plain["colour"] = "blue"
    assert Activity.from_json(plain) == loads(dumps(Activity.from_json(plain)))


def applying(monitor: Monitor) -> None:
    monitor.planned(CutActivity(1, 5, 900), {}, {})
    monitor.applies(CutActivity(1, 5, 900, changes=200))
    monitor.planned(CutActivity(5, 9, 800), {}, {})
    monitor.loads(lambda: 80)


def planned(monitor: Monitor) -> None:
    monitor.planned(CutActivity(1, 5, 900), {}, {})


def thrice_locked(monitor: Monitor) -> None:
    for _ in range(3):
        monitor.retries(Unavailable("deadlock"), "target refused")


SENTENCES: list[tuple[Callable[[Monitor], None], list[str], list[str]]] = [
    (lambda m: None, [], ["starting", "0.0 s so far"]),
    (
        lambda m: m.waiting(time.time() - 50, {}),
        [],
        ["waiting for a resolved ts above R", "newest message in partition 0 is 50.", "s old"],
    ),
    (applying, ["applying"], ["applying", "80 of 200 changes loaded, 40%"]),
    (applying, ["applying", "reading"], ["applying", "80 of 200"]),
    (planned, ["reading"], ["reading", "about 900 messages"]),
    (
        thrice_locked,
        ["applying", "retrying"],
        ["retrying", "tried 3 times, last: deadlock"],
    ),
    (lambda m: m.stopped(Stop("poison")), [], ["stopped by an error"]),
]


@pytest.mark.parametrize(("report", "stages", "words"), SENTENCES)
def test_it_is_said_in_one_sentence(
    report: Callable[[Monitor], None], stages: list[str], words: list[str]
) -> None:
    monitor = Monitor()
    report(monitor)
    entered = [monitor.at(stage) for stage in stages]  # type: ignore[arg-type]
    for one in entered:
        one.__enter__()
    sentence = monitor.look().sentence
    assert [word for word in words if word not in sentence] == [], sentence


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"stage": 1}', '{"cut": 5}'])
def test_what_is_not_an_activity_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text)


def test_waiting_lasts_since_it_began() -> None:
    monitor = Monitor()
    monitor.waiting(None, {})
    since = monitor.look().since
    time.sleep(0.01)
    monitor.waiting(None, {})
    assert monitor.look().since == since
    planned(monitor)
    monitor.waiting(None, {})
    assert monitor.look().since > since


def test_an_error_has_no_secret_and_no_row() -> None:
    monitor = Monitor(secrets=frozenset({"canary"}))
    monitor.stopped(Stop("no access for canary"))
    assert monitor.look().error == replace(monitor.look().error, text="no access for ***")  # type: ignore[type-var]
    monitor.stopped(ValueError("row 4711"))
    error = monitor.look().error
    assert error is not None and error.text == "ValueError"


def test_a_commit_ends_what_was_wrong_before() -> None:
    monitor = busy()
    monitor.committed(R + 1, at(shop=8), {}, {}, {})
    activity = monitor.look()
    assert (activity.retry, activity.error, activity.cut) == (None, None, None)


def test_tables_beyond_1000_are_summed_and_partitions_left_out() -> None:
    monitor = Monitor()
    many = {f"t{n}": (1, 1) for n in range(MOST + 50)}
    monitor.committed(1, at(**{f"p{n}": n for n in range(MOST + 50)}), {}, many, {})
    activity = monitor.look()
    assert activity.tables[""] == (50, 50) and len(activity.tables) == MOST + 1
    assert len(activity.partitions) == MOST


def test_it_is_stored_beside_the_checkpoint(target_url: str) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        first(store)
        mine = replace(busy().look(), generation=1)
        assert write(target, mine)
        stored = read(target, CHANGEFEED)
        assert stored is not None and stored.activity == mine
        assert stored.age < 5 and not stored.running
        working = replace(mine, stage="waiting", pid=2)
        assert write(target, working)
        stored = read(target, CHANGEFEED)
        assert stored is not None and stored.running and stored.activity == working
        assert list(read_all(target)) == [CHANGEFEED]


@contextmanager
def another_process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        try:
            yield sleeper
        finally:
            sleeper.kill()


def silent(target: Target) -> tuple[bool, Silent | None]:
    """Whether the consumer runs, and how it is known if it writes nothing."""
    stored = read(target, CHANGEFEED)
    assert stored is not None and not stored.running
    return stored.alive, stored.silent


def test_a_silent_consumer_lives_as_long_as_session_or_process(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_activity, "ALIVE", -1.0)
    with opened(target_url) as looking, another_process() as sleeper:
        with opened(target_url) as target:
            first(Store(target, CHANGEFEED))
            session = target.session_id()
            last = replace(
                busy().look(),
                generation=1,
                stage="waiting",
                session=session,
                pid=sleeper.pid,
                host=platform.node(),
                started=time.time(),
            )
            assert write(target, last)
            assert silent(looking) == (True, Silent(session))
            sleeper.send_signal(signal.SIGSTOP)
            stopped = (True, Silent(session, stopped=True))
            assert until(lambda: silent(looking) == stopped, 30.0, pause=0.05)
            assert write(target, replace(last, host="elsewhere"))
            shown = (True, Silent(session)) if session else (False, None)
            assert silent(looking) == shown
        sleeper.kill()
        sleeper.wait()
        with opened(target_url) as other:
            assert write(other, last)
        assert until(lambda: silent(looking) == (False, None), 30.0, pause=0.05)


def test_one_that_was_killed_a_moment_ago_does_not_run(target_url: str) -> None:
    with opened(target_url) as looking, another_process() as sleeper:
        with opened(target_url) as target:
            first(Store(target, CHANGEFEED))
            session = target.session_id()
            last = replace(
                busy().look(),
                generation=1,
                stage="waiting",
                session=session,
                pid=sleeper.pid,
                host=platform.node(),
            )
            assert write(target, last)

            def runs() -> bool:
                stored = read(looking, CHANGEFEED)
                assert stored is not None
                return stored.running

            sleeper.kill()
            sleeper.wait()
            assert runs()  # its session lives, as if it were out of sight
        # A file has no sessions: the process may be another container's.
        assert until(lambda: runs() is not bool(session), 30.0, pause=0.05)


def test_the_pid_of_a_process_that_began_later_is_another_ones() -> None:
    with another_process() as sleeper:
        assert process.state_of(sleeper.pid, time.time()) == "lives"
        assert process.state_of(sleeper.pid, time.time() - 3600) == ""


def test_a_waiter_for_an_ended_ones_lease_is_known_by_its_lock(
    target_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_activity, "ENDED", -1.0)
    with opened(target_url) as looking, opened(target_url) as target:
        first(Store(target, CHANGEFEED))
        assert write(target, replace(busy().look(), generation=1))  # it has stopped
        names_a_lock = target.dialect not in ("sqlite", "postgresql")
        shown = (True, Silent(target.session_id())) if names_a_lock else (False, None)
        assert silent(looking) == shown


def test_an_overtaken_consumer_does_not_overwrite_the_newer_one(target_url: str) -> None:
    with opened(target_url) as target:
        first(Store(target, CHANGEFEED))
        older = replace(busy().look(), generation=1)
        assert write(target, older)
        assert Store(target, CHANGEFEED).start(IMPATIENT)
        assert not write(target, older)
        assert write(target, replace(older, generation=2))


def test_a_failed_start_is_stored_unless_another_consumer_runs(target_url: str) -> None:
    with opened(target_url) as target:
        failed = replace(busy().look(), generation=0)
        assert not write(target, failed)  # there are no tables
        first(Store(target, CHANGEFEED))
        assert write(target, failed)
        assert write(target, replace(failed, generation=1, stage="waiting"))
        assert not write(target, failed)


def test_a_changefeed_that_has_ended_gets_no_row(target_url: str) -> None:
    with opened(target_url) as target:
        store = Store(target, CHANGEFEED)
        first(store)
        mine = replace(busy().look(), generation=1)
        assert write(target, mine)
        assert store.end(IMPATIENT)
        assert read_all(target) == {}
        assert not write(target, mine)


def share(number: int, differs: str = "", failed: str = "") -> VerifiedShare:
    return VerifiedShare(7.0, number, 24, 470, 100, int(bool(differs)), differs, failed)


@pytest.mark.parametrize(
    ("shares", "differing", "shown"),
    [
        ([share(0)], 0, "share 1 of 24, 100 rows; all is equal"),
        ([share(0, "a: 1"), share(1)], 1, "share 2 of 24, 100 rows; it differs: a: 1"),
        (
            [share(0, "a: 1"), share(1, "b: 2")],
            2,
            "share 2 of 24, 100 rows; it differs: a: 1; b: 2",
        ),
        ([share(0, "a: 1"), share(1), share(0)], 0, "share 1 of 24, 100 rows; all is equal"),
        (
            [share(0, "a: 1"), share(0, failed="away")],
            1,
            "share 1 of 24, 100 rows, not compared: away; it differs: a: 1",
        ),
    ],
)
def test_what_differs_is_shown_until_its_share_is_equal(
    shares: list[VerifiedShare], differing: int, shown: str
) -> None:
    monitor = Monitor()
    for each in shares:
        monitor.verified(each)
    verified = monitor.look().verified
    assert verified is not None and (verified.differing, str(verified)) == (differing, shown)


def test_a_repair_ends_what_differs() -> None:
    monitor = Monitor()
    monitor.verified(share(0, "a: 1"))
    monitor.repaired(RepairState(1, "done", 470, 1, ""))
    assert monitor.look().verified is None
