import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest
from support.loading import (
    AFTER,
    BEFORE,
    CHANGEFEED,
    IMPATIENT,
    Change,
    accounts,
    at,
    bank,
    crashes,
    kill_session,
    layout_of_accounts,
    lose_the_next_commit,
    open_bank,
    opened,
    options,
    place,
    stands_at,
)
from ticdc_consumer import failpoints
from ticdc_consumer.cut.apply.counts import Applied
from ticdc_consumer.cut.apply.repair import Repair, RepairedTable
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.apply.transaction import apply, apply_groups
from ticdc_consumer.cut.reconcile.net_change import NoChange, StagedRows
from ticdc_consumer.errors import Fenced, Retry, StagedRowsLost, Stop, Unavailable
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.staging import STAGING_TABLE
from ticdc_consumer.targets.target import Target


def test_rows_and_checkpoint_move_together(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        applied = here.apply()
        assert stands_at(target_url) == (AFTER, here.new)
    counts = applied.tables["bank.accounts"]
    assert (counts.deleted, counts.upserted, counts.cleared) == (1, 2, 0)
    assert applied.rows() == 3


def test_a_cut_without_rows_moves_the_checkpoint(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        assert here.apply(change=NoChange()) == Applied()
        assert stands_at(sqlite_url) == (BEFORE, here.new)


def test_a_repair_makes_room_for_the_rows_of_its_cut(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        relation = target.quote(*place(target))
        target.execute(f"CREATE UNIQUE INDEX owners ON {relation} (owner)").close()
        with target.transaction():
            target.execute(f"INSERT INTO {relation} VALUES (7, 'dan')")  # noqa: S608
        _, encode_keys = encoders(target.dialect)
        gone = encode_keys(here.layout, [pa.array(["7"])])
        repair = Repair(1, [RepairedTable(here.layout, len(gone), gone, pa.array([], pa.binary()))])
        step = Step(here.old, here.new, repair=repair)
        strict = options(sqlite_url, on_drift="stop")
        change = replace(here.change, absent=(2, 3, 4))
        apply(here.ddl_context, here.store, step, change, strict)
        assert accounts(target) == AFTER


@pytest.mark.parametrize(
    ("staged", "there"),
    [([1, 2], True), ([1], False), ([1, 2, 3], False), (None, False)],
    ids=["all of them", "too few", "too many", "no table"],
)
def test_staged_rows_are_published_only_if_the_target_still_has(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, staged: list[int] | None, there: bool
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        name = f"{STAGING_TABLE}1"
        if staged is not None:
            target.execute(f"CREATE TABLE {name} (id INT)")
            for number in staged:
                target.execute(f"INSERT INTO {name} VALUES ({number})")  # noqa: S608
        published: list[str] = []

        def publish(layout: Layout, name: str, on_drift: str) -> int:
            published.append(name)
            return 0

        monkeypatch.setattr(target, "publish", publish)
        rows = StagedRows(0, name, pa.array([], pa.binary()), 2)
        change = replace(here.change, staged=[rows])
        if there:
            assert here.apply(change=change).tables["bank.accounts"].upserted == 4
            assert published == [name]
        else:
            with pytest.raises(StagedRowsLost, match=r"bank\.accounts: the target lost rows"):
                here.apply(change=change)
            assert stands_at(sqlite_url) == (BEFORE, here.old)


def test_a_copy_gets_the_same_rows_and_is_not_counted(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        target.execute("CREATE TABLE beside (id INT PRIMARY KEY, owner TEXT)")
        target.execute("INSERT INTO beside VALUES (3, 'cid')")
        step = Step(here.old, here.new, copies={("bank", "accounts"): '"beside"'})
        applied = apply(here.ddl_context, here.store, step, here.change, here.options)
        counts = applied.tables["bank.accounts"]
        assert (counts.deleted, counts.upserted, counts.cleared) == (1, 2, 0)
        assert accounts(target) == AFTER
        assert target.query("SELECT id, owner FROM beside") == [(2, "bea"), (4, "dan")]


def test_a_value_that_a_deleted_row_had_goes_to_another_row(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        target.execute(f"CREATE UNIQUE INDEX owners ON {target.quote(*place(target))} (owner)")
        change = Change([here.layout], absent=(2,), present=((5, "bob"),))
        strict = options(sqlite_url, on_drift="stop")
        apply(here.ddl_context, here.store, Step(here.old, here.new), change, strict)
        assert accounts(target) == [(1, "ann"), (3, "cid"), (5, "bob")]


def test_a_strange_row_with_a_unique_value_of_the_cut_is_drift(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        target.execute(f"CREATE UNIQUE INDEX owners ON {target.quote(*place(target))} (owner)")
        taken = Change([layout_of_accounts(target)], present=((5, "bob"),))
        step = Step(here.old, here.new)
        with pytest.raises(Stop, match=r"same value of the unique key \(accounts.owner\)"):
            apply(here.ddl_context, here.store, step, taken, options(sqlite_url, on_drift="stop"))
        assert stands_at(sqlite_url) == (BEFORE, here.old)
        overwriting = options(sqlite_url, on_drift="overwrite")
        applied = apply(here.ddl_context, here.store, step, taken, overwriting)
        assert applied.tables["bank.accounts"].cleared == 1
        assert (5, "bob") in accounts(target) and (2, "bob") not in accounts(target)


def test_what_a_refused_attempt_had_counted_is_not_counted_twice(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        write, refusals = here.store.write, [Retry("deadlock")]

        def refused_once(old: Checkpoint, new: Checkpoint) -> None:
            write(old, new)
            if refusals:
                raise refusals.pop()

        monkeypatch.setattr(here.store, "write", refused_once)
        counts = here.apply().tables["bank.accounts"]
        assert (counts.deleted, counts.upserted) == (1, 2)
        assert stands_at(sqlite_url) == (AFTER, here.new)


def test_a_crash_at_any_statement_leaves_the_old_state(target_url: str) -> None:
    for here, crashed in crashes(target_url):
        expected = (BEFORE, here.old) if crashed(here.apply) else (AFTER, here.new)
        assert stands_at(target_url) == expected


@pytest.mark.parametrize(
    "step",
    [
        "begin",
        "fenced",
        "delete-rows",
        "delete-rows:2",
        "write-rows",
        "write-rows:2",
        "run-ddl",
        "write-checkpoint",
        "commit",
    ],
)
def test_a_failpoint_before_the_commit_leaves_the_old_state(
    target_url: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, hit = step.partition(":")
    monkeypatch.setattr(failpoints, "_hits", Counter())
    monkeypatch.setenv("TICDC_FAILPOINT", f"{name}:raise:{hit or 1}")
    with opened(target_url) as target:
        here = bank(target)
        with pytest.raises(failpoints.FailpointReached):
            here.apply()
        assert stands_at(target_url) == (BEFORE, here.old)
        here.apply()
        assert stands_at(target_url) == (AFTER, here.new)


@contextmanager
def child(url: str, failpoint: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that takes the bank over and applies the cut."""
    path = os.pathsep.join(sys.path)
    process = subprocess.Popen(
        [sys.executable, "-m", "support.loading", url],
        env={**os.environ, "PYTHONPATH": path, "TICDC_FAILPOINT": failpoint},
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("step", ["fenced", "write-checkpoint", "commit", "committed"])
def test_a_killed_process_leaves_the_old_state_until_the_commit(target_url: str, step: str) -> None:
    with opened(target_url) as target:
        bank(target)
    with child(target_url, f"{step}:kill") as process:
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    with opened(target_url) as target:
        here = open_bank(target)
        assert here.old.resolved_ts == (200 if step == "committed" else 100)
        assert accounts(target) == (AFTER if step == "committed" else BEFORE)


@pytest.mark.parametrize("step", ["fenced", "write-checkpoint", "committed"])
def test_a_stopped_process_is_overtaken_and_dies_of_it(server_url: str, step: str) -> None:
    with opened(server_url) as target:
        bank(target)
    with child(server_url, f"{step}:stop") as process:
        os.waitpid(process.pid, os.WUNTRACED)
        with opened(server_url) as target:
            here = open_bank(target)
            assert here.old.generation == 4
            if here.old.resolved_ts == 100:
                here.apply()
            assert stands_at(server_url)[0] == AFTER
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate()
            if step == "committed":
                assert process.returncode == 0  # it had committed, and does nothing more
            else:
                assert process.returncode == 4
                assert "newer consumer took over (generation 4, this one has 3)" in err
            assert stands_at(server_url)[0] == AFTER


def test_a_process_stopped_in_its_transaction_keeps_the_file(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        bank(target)
    with child(sqlite_url, "write-checkpoint:stop") as process:
        os.waitpid(process.pid, os.WUNTRACED)
        with opened(sqlite_url) as target:
            with pytest.raises(Unavailable, match=r"target\.db"):
                open_bank(target)
            process.send_signal(signal.SIGCONT)
            process.communicate()
            assert process.returncode == 0
            assert accounts(target) == AFTER


@dataclass(frozen=True)
class Disturbed(Change):
    """Loses its session in the middle of the rows, the first `times` times."""

    url: str = ""
    target: Target | None = None
    left: list[None] | None = None

    def rows(self) -> Iterator[tuple[int, pa.BinaryArray]]:
        for rows in super().rows():
            yield rows
            if self.left and self.target is not None:
                self.left.pop()
                kill_session(self.url, self.target.session_id())


@pytest.mark.parametrize(("times", "applied"), [(1, True), (3, True), (4, False)])
def test_a_lost_session_is_replaced_a_bounded_number_of_times(
    server_url: str, times: int, applied: bool
) -> None:
    with opened(server_url) as target:
        here = bank(target)
        change = Disturbed(
            here.change.layouts,
            here.change.absent,
            here.change.present,
            url=server_url,
            target=target,
            left=[None] * times,
        )
        if applied:
            counts = here.apply(change=change).tables["bank.accounts"]
            assert (counts.deleted, counts.upserted) == (1, 2)
            assert stands_at(server_url) == (AFTER, here.new)
        else:
            with pytest.raises(Unavailable, match="refused 4 times, last: the"):
                here.apply(change=change)
            assert stands_at(server_url) == (BEFORE, here.old)


def test_a_busy_file_is_tried_again_and_then_named(sqlite_url: str) -> None:
    with opened(sqlite_url) as target, opened(sqlite_url) as rival:
        here = bank(target)
        with rival.transaction():
            rival.execute("UPDATE accounts SET owner = owner")
            with pytest.raises(Unavailable, match=r"refused 4 times, last: .*write lock"):
                here.apply()
        assert stands_at(sqlite_url) == (BEFORE, here.old)
        here.apply()
        assert stands_at(sqlite_url) == (AFTER, here.new)


@pytest.mark.parametrize("committed", [True, False])
def test_a_lost_commit_is_looked_up_never_repeated_blind(
    server_url: str, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server_url) as target:
        here = bank(target)
        lose_the_next_commit(monkeypatch, target, server_url, committed)
        loads: list[Checkpoint] = []
        lock = here.store.lock

        def counted(old: Checkpoint) -> None:
            loads.append(old)
            lock(old)

        monkeypatch.setattr(here.store, "lock", counted)
        counts = here.apply().tables["bank.accounts"]
        assert len(loads) == (1 if committed else 2)
        assert (counts.deleted, counts.upserted) == (1, 2)
        assert stands_at(server_url) == (AFTER, here.new)


def test_a_fenced_consumer_changes_nothing(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        change = here.change
        with opened(target_url) as other:
            Store(other, CHANGEFEED).start(IMPATIENT)
            with pytest.raises(Fenced, match="generation 3, this one has 2"):
                here.apply(change=change)
        assert stands_at(target_url) == (BEFORE, replace(here.old, generation=3))


def test_what_the_source_raises_passes_through(target_url: str) -> None:
    class Broken(NoChange):
        def rows(self) -> Iterator[tuple[int, pa.BinaryArray]]:
            raise ZeroDivisionError

    with opened(target_url) as target:
        here = bank(target)
        with pytest.raises(ZeroDivisionError):
            here.apply(change=Broken())
        assert stands_at(target_url) == (BEFORE, here.old)
        here.apply()


def test_a_refused_row_stops_and_names_the_table(target_url: str) -> None:
    with opened(target_url) as target:
        here = bank(target)
        target.execute(f"CREATE UNIQUE INDEX owners ON {target.quote(*place(target))} (owner)")
        clash = Change([layout_of_accounts(target)], present=((5, "eve"), (6, "bob")))
        with pytest.raises(Stop, match=r"bank\.accounts"):
            here.apply(change=clash)
        assert stands_at(target_url) == (BEFORE, here.old)


# One transaction per commit_ts.


def test_each_group_is_committed_with_the_cuts_start_offsets(
    target_url: str,
) -> None:
    seen: list[tuple[int, str, object]] = []
    with opened(target_url) as target:
        here = bank(target)
        new = replace(here.new, mark_time=77, positions=at(shop=50, late=5))
        groups = [(ts, Change([here.layout], present=((2, f"at {ts}"),))) for ts in (100, 150, 199)]

        def watched() -> Iterator[tuple[int, Change]]:
            for ts, change in groups:
                rows, checkpoint = stands_at(target_url)
                assert checkpoint is not None
                seen.append((checkpoint.resolved_ts, rows[1][1], checkpoint.positions))
                yield ts, change

        step = Step(here.old, new)
        applied = apply_groups(here.ddl_context, here.store, step, watched(), here.options)
        # A group is applied once the next was taken; a partition that joined begins at 0.
        started = at(shop=0, late=0)
        assert seen == [
            (100, "bob", here.old.positions),
            (100, "bob", here.old.positions),
            (101, "at 100", started),
        ]
        assert applied.tables["bank.accounts"].upserted == 3
        assert stands_at(target_url) == ([(1, "ann"), (2, "at 199"), (3, "cid")], new)


@pytest.mark.parametrize("hit", [1, 2, 3])
def test_a_crash_between_groups_goes_on_from_the_last(
    sqlite_url: str, hit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failpoints, "_hits", Counter())
    monkeypatch.setenv("TICDC_FAILPOINT", f"commit:raise:{hit}")
    with opened(sqlite_url) as target:
        here = bank(target)
        new = replace(here.new, mark_time=77)
        groups = [(ts, Change([here.layout], present=((2, f"at {ts}"),))) for ts in (100, 150, 199)]
        with pytest.raises(failpoints.FailpointReached):
            apply_groups(here.ddl_context, here.store, Step(here.old, new), groups, here.options)
        reached = {1: 100, 2: 101, 3: 151}[hit]
        _, checkpoint = stands_at(sqlite_url)
        assert checkpoint is not None
        assert (checkpoint.resolved_ts, checkpoint.positions) == (reached, here.old.positions)
        assert checkpoint.mark_time == (0 if hit == 1 else 77)
        rest = [group for group in groups if group[0] >= reached]
        apply_groups(here.ddl_context, here.store, Step(checkpoint, new), rest, here.options)
        assert stands_at(sqlite_url) == ([(1, "ann"), (2, "at 199"), (3, "cid")], new)


def test_a_cut_without_groups_writes_its_own_r(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        step = Step(here.old, here.new)
        apply_groups(here.ddl_context, here.store, step, [], here.options)
        assert stands_at(sqlite_url) == (BEFORE, here.new)


@pytest.mark.parametrize("commits", [(150, 150), (150, 120), (99,), (200,)])
def test_groups_out_of_order_or_out_of_the_cut_are_a_mistake(
    sqlite_url: str, commits: tuple[int, ...]
) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        groups = [(ts, NoChange()) for ts in commits]
        step = Step(here.old, here.new)
        with pytest.raises(ValueError, match="not in the rest of its cut"):
            apply_groups(here.ddl_context, here.store, step, groups, here.options)
        assert stands_at(sqlite_url) == (BEFORE, here.old)
