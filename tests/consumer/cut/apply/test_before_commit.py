"""What a program does in the transaction of a cut is there with the rows, or not at all."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import sqlalchemy as sa
from support.loading import (
    AFTER,
    BEFORE,
    Bank,
    Change,
    accounts,
    bank,
    crashes,
    kill_session,
    lose_the_next_commit,
    open_bank,
    opened,
    stands_at,
)
from ticdc_consumer.cut.apply.before_commit import (
    BeforeCommit,
    RaisedInCut,
    UncommittedCut,
    as_raised,
)
from ticdc_consumer.cut.apply.counts import Applied
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.cut.apply.transaction import apply, apply_groups
from ticdc_consumer.errors import Usage
from ticdc_consumer.targets.target import Target

AUDIT = "INSERT INTO audit (id, r) VALUES (:id, :r)"


def with_audit(target: Target) -> Bank:
    """A bank with a table of the program's own, which no other test uses."""
    target.execute("DROP TABLE IF EXISTS audit").close()
    target.execute("CREATE TABLE audit (id BIGINT PRIMARY KEY, r BIGINT)").close()
    return bank(target)


def audited(url: str) -> list[tuple[int, int]]:
    with opened(url) as reader:
        return [(id_, r) for id_, r in reader.query("SELECT id, r FROM audit ORDER BY id")]


def note(cut: UncommittedCut) -> None:
    cut.execute(AUDIT, {"id": cut.begin_ts, "r": cut.resolved_ts})


def applied(here: Bank, before_commit: BeforeCommit) -> Applied:
    step = Step(here.old, here.new, before_commit=before_commit)
    with as_raised():
        return apply(here.ddl_context, here.store, step, here.change, here.options)


def test_what_it_executes_is_committed_with_the_rows(target_url: str) -> None:
    seen: list[UncommittedCut] = []

    def audit(cut: UncommittedCut) -> None:
        seen.append(cut)
        note(cut)
        assert audited(target_url) == []  # no other session sees it yet

    with opened(target_url) as target:
        applied(with_audit(target), audit)
    assert stands_at(target_url)[0] == AFTER
    assert audited(target_url) == [(100, 200)]
    (cut,) = seen
    counts = cut.tables["bank.accounts"]
    assert (cut.begin_ts, cut.resolved_ts, counts.deleted, counts.upserted) == (100, 200, 1, 2)


def test_it_sees_the_rows_and_the_position_of_its_cut(sqlite_url: str) -> None:
    seen: list[object] = []

    def look(cut: UncommittedCut) -> None:
        accounts_ = sa.table("accounts", sa.column("owner"))
        seen.extend(cut.execute(sa.select(accounts_.c.owner)).scalars())
        seen.append(int(cut.execute("SELECT resolved_ts FROM ticdc_checkpoint").scalar_one()))

    with opened(sqlite_url) as target:
        applied(with_audit(target), look)
    assert seen == ["ann", "bea", "dan", 200]


class Broken(Exception):
    """Of the program."""


def raises(cut: UncommittedCut) -> None:
    note(cut)
    raise Broken("no")


def violates(cut: UncommittedCut) -> None:
    note(cut)
    note(cut)


def swallows_a_violation(cut: UncommittedCut) -> None:
    with suppress(sa.exc.IntegrityError):
        violates(cut)


def rolls_back(cut: UncommittedCut) -> None:
    note(cut)
    cut._target.execute("ROLLBACK").close()
    cut._target.execute(cut._target.begin_statement).close()


FAULTS: list[tuple[BeforeCommit, type[Exception], str]] = [
    (raises, Broken, "no"),
    (violates, sa.exc.IntegrityError, "audit"),
    (lambda cut: cut.execute(" /* now */ commit").close(), Usage, "COMMIT would end the transac"),
    (lambda cut: cut.execute(sa.text("ROLLBACK")).close(), Usage, "ROLLBACK would end the transac"),
    (rolls_back, Usage, "has rolled the transaction of its cut back"),
]


@pytest.mark.parametrize(
    ("before_commit", "error", "text"),
    FAULTS,
    ids=["it raises", "its statement fails", "it commits", "it rolls back", "it did roll back"],
)
def test_an_exception_rolls_the_cut_back_and_reaches_the_caller(
    target_url: str, before_commit: BeforeCommit, error: type[Exception], text: str
) -> None:
    with opened(target_url) as target:
        here = with_audit(target)
        with pytest.raises(error, match=text):
            applied(here, before_commit)
        assert stands_at(target_url) == (BEFORE, here.old)
        assert audited(target_url) == []
        applied(here, note)
        assert stands_at(target_url) == (AFTER, here.new)
        assert audited(target_url) == [(100, 200)]


def test_a_failure_that_it_hides_is_no_commit_of_a_part(target_url: str) -> None:
    with opened(target_url) as target:
        here = with_audit(target)
        if target.dialect == "postgresql":  # which ends a transaction at its first error
            with pytest.raises(Usage, match="after a statement of its own that failed"):
                applied(here, swallows_a_violation)
            assert stands_at(target_url) == (BEFORE, here.old)
            assert audited(target_url) == []
        else:
            applied(here, swallows_a_violation)
            assert stands_at(target_url) == (AFTER, here.new)
            assert audited(target_url) == [(100, 200)]


@pytest.mark.parametrize("statement", ["CREATE TABLE audit2 (id INT)", "TRUNCATE TABLE audit"])
def test_ddl_that_would_commit_by_itself_is_refused(server_url: str, statement: str) -> None:
    with opened(server_url) as target:
        here = with_audit(target)
        if target.transactional_ddl:
            return
        with pytest.raises(Usage, match="would end the transaction of the cut"):
            applied(here, lambda cut: cut.execute(statement).close())
        assert stands_at(server_url) == (BEFORE, here.old)


def test_it_is_called_again_after_a_passing_refusal(server_url: str) -> None:
    calls: list[int] = []

    def loses_its_session(cut: UncommittedCut) -> None:
        calls.append(cut.resolved_ts)
        note(cut)
        if len(calls) == 1:
            kill_session(server_url, cut._target.session_id())
            cut.execute("SELECT 1").close()

    with opened(server_url) as target:
        here = with_audit(target)
        applied(here, loses_its_session)
        assert stands_at(server_url) == (AFTER, here.new)
    assert calls == [200, 200]
    assert audited(server_url) == [(100, 200)]


@pytest.mark.parametrize("committed", [True, False])
def test_after_a_lost_commit_its_work_is_there_once(
    server_url: str, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(server_url) as target:
        here = with_audit(target)
        lose_the_next_commit(monkeypatch, target, server_url, committed)
        applied(here, note)
        assert stands_at(server_url) == (AFTER, here.new)
    assert audited(server_url) == [(100, 200)]


def test_a_crash_at_any_statement_leaves_all_or_nothing(sqlite_url: str) -> None:
    for here, crashed in crashes(sqlite_url):
        here.target.execute("DROP TABLE IF EXISTS audit").close()
        here.target.execute("CREATE TABLE audit (id BIGINT PRIMARY KEY, r BIGINT)").close()
        stopped = crashed(lambda here=here: applied(here, note))  # type: ignore[misc]
        expected = (BEFORE, []) if stopped else (AFTER, [(100, 200)])
        assert (stands_at(sqlite_url)[0], audited(sqlite_url)) == expected


@contextmanager
def child(url: str, failpoint: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if failpoint:
        environment["TICDC_FAILPOINT"] = failpoint
    process = subprocess.Popen([sys.executable, __file__, url], env=environment)
    with process:
        yield process


@pytest.mark.parametrize("step", ["write-checkpoint", "in the call", "commit", "committed"])
def test_a_killed_process_leaves_both_or_neither(target_url: str, step: str) -> None:
    with opened(target_url) as target:
        with_audit(target)
    failpoint = "" if step == "in the call" else f"{step}:kill"
    with child(target_url, failpoint) as process:
        assert process.wait() == -signal.SIGKILL
    with opened(target_url) as target:
        here = open_bank(target)
        done = step == "committed"
        assert accounts(target) == (AFTER if done else BEFORE)
        assert audited(target_url) == ([(100, 200)] if done else [])
        if not done:
            applied(here, note)
    assert (stands_at(target_url)[0], audited(target_url)) == (AFTER, [(100, 200)])


def test_each_transaction_of_a_cut_calls_it_with_its_own_r(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = with_audit(target)
        groups = [(ts, Change([here.layout], present=((2, f"at {ts}"),))) for ts in (100, 150)]
        step = Step(here.old, here.new, before_commit=note)
        apply_groups(here.ddl_context, here.store, step, groups, here.options)
    assert audited(sqlite_url) == [(100, 101), (101, 200)]


def test_an_error_of_the_program_is_carried_as_it_is(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = with_audit(target)
        step = Step(here.old, here.new, before_commit=raises)
        with pytest.raises(RaisedInCut) as carried:
            apply(here.ddl_context, here.store, step, here.change, here.options)
    assert isinstance(carried.value.error, Broken)


def main() -> None:
    """Applies the cut to the bank of that URL, and is killed at a failpoint, or in the call."""

    def note_and_die(cut: UncommittedCut) -> None:
        note(cut)
        if "TICDC_FAILPOINT" not in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)

    with opened(sys.argv[1]) as target:
        applied(open_bank(target), note_and_die)


if __name__ == "__main__":
    main()
