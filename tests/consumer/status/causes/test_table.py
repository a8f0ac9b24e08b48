"""The table of causes: which comes first, where each begins, what the document says of it."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from ticdc_consumer.errors import (
    RESTORED,
    Away,
    Denied,
    NoAnswer,
    SourceAway,
    Stop,
    UserRefused,
    WaitingDdl,
)
from ticdc_consumer.source.facts import PartitionFacts, SourceFacts
from ticdc_consumer.state.checkpoint import Position
from ticdc_consumer.state.loading import LoadProgress
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.status.activity.activity import (
    Activity,
    ExecutorActivity,
    Pace,
    SetAsideTable,
    Takeover,
    Trouble,
    VerifiedShare,
)
from ticdc_consumer.status.activity.monitor import FOR_MARK
from ticdc_consumer.status.activity.stored import Silent
from ticdc_consumer.status.causes.situation import Situation, TargetFacts
from ticdc_consumer.status.causes.table import CAUSES, cause_of, explain
from ticdc_consumer.targets.blockers import Blocker, without_values
from ticdc_encoder.tso import compose

ROOT = Path(__file__).resolve().parents[4]
NOW = 1_700_000_000.0


def ago(seconds: float) -> int:
    """The timestamp of that time."""
    return compose(round((NOW - seconds) * 1000))


WAITING = Activity(
    changefeed="shop",
    generation=3,
    stage="waiting",
    detail=FOR_MARK,
    since=NOW - 0.5,
    at=NOW,
    started=NOW - 900,
    host="a",
    pid=7,
    release="0.1.0",
    session="33",
    resolved_ts=ago(1),
    newest_ts=ago(1),
    newest_message=NOW - 0.6,
)
QUIET = replace(WAITING, since=NOW - 40, newest_message=NOW - 41)
BUSY = replace(WAITING, stage="applying", detail="a cut", resolved_ts=ago(600), since=NOW - 2)
STOPPED = replace(WAITING, stage="stopped", detail="")
WITHOUT = SetAsideTable("shop.items", ago(900), "shop.items.n: no such column", NOW - 900, 7)
ASIDE = SetAside("shop", "items", ago(900), 0, {("t", 0): Position("t", "", 0, 90)}, 0.0, "poison")
LOOKS_LIKE = "not JSON at character 0 (it looks like avro); at t[0] offset 7"
OTHER = replace(STOPPED, error=Trouble(("WireError",), LOOKS_LIKE, NOW - 9, 3))
BLOCKER = Blocker("4711", "shop.accounts", "app@10.0.0.7", "UPDATE accounts", 720.0, "KILL 4711")


def trouble(*kinds: str, text: str = "as it is", code: int = 3) -> Trouble:
    return Trouble(kinds, text, NOW - 9, code)


def paced(growth: float, load: float = 0.1, listed: int = 500) -> Activity:
    """Behind by 600 s, over 100 s of which the lag grew by so much a second."""
    then = Pace(NOW - 100, ago(700 - 100 * growth), 100, 100, {"load": 1.0, "read": 1.0})
    sums = {"load": 1.0 + 100 * load, "read": 101.0 - 100 * load}
    return replace(BUSY, pace=(then, Pace(NOW - 1, ago(600), 300, listed, sums)))


OF_ITSELF: list[tuple[str, Activity]] = [
    ("nothing-to-do", WAITING),
    ("ticdc-lags", replace(WAITING, resolved_ts=ago(90), newest_ts=ago(90))),
    ("working", replace(WAITING, stage="reading")),
    ("working", replace(WAITING, stage="starting")),
    ("standby", replace(WAITING, stage="standby")),
    ("table-quarantined", replace(WAITING, set_aside=(WITHOUT,))),
    ("ticdc-stopped", replace(QUIET, set_aside=(WITHOUT,))),
    ("ticdc-stopped", QUIET),
    ("no-resolved-ts", replace(QUIET, newest_message=NOW - 1)),
    ("nobody-writes", replace(QUIET, newest_message=None, newest_ts=0, resolved_ts=0)),
    ("no-resolved-ts", replace(QUIET, newest_message=None, newest_ts=0)),
    ("nothing-to-do", replace(QUIET, since=NOW - 29)),
    ("brokers-unreachable", replace(QUIET, source=trouble("SourceAway", "Unavailable"))),
    ("refused", replace(QUIET, source=trouble("UserRefused", "Unavailable"))),
    ("nothing-to-do", replace(WAITING, source=trouble("SourceAway"))),
    ("schema-missing", replace(WAITING, detail="for version 3 of the schema of shop.items")),
    ("not-running", STOPPED),
    ("failed", replace(STOPPED, error=trouble("Stop"))),
    ("bad-message", replace(STOPPED, error=trouble("WireError", text="no JSON; at t[0] offset 7"))),
    ("nothing-to-do", replace(WAITING, error=trouble("Stop"))),
    ("fenced", replace(STOPPED, error=trouble("Fenced", "Unavailable", "Retry"))),
    ("fenced", replace(WAITING, takeover=Takeover("process 6 on b", NOW - 110))),
    ("nothing-to-do", replace(WAITING, takeover=Takeover("process 6 on b", NOW - 130))),
    ("disk-full", replace(STOPPED, error=trouble("Full"))),
    ("registry-unreachable", replace(STOPPED, error=trouble("Unavailable", "RegistryError"))),
    ("registry-unreachable", replace(BUSY, retry=trouble("RegistryAway"))),
    ("claim-check-unreachable", replace(BUSY, retry=trouble("ClaimCheckAway"))),
    ("schema-missing", replace(STOPPED, error=trouble("SchemaMissing"))),
    ("lock", replace(BUSY, retry=trouble("Locked"))),
    ("lock", replace(STOPPED, error=trouble("Unavailable", "Locked"))),
    ("lock", replace(BUSY, blockers=(BLOCKER,))),
    ("target-unreachable", replace(BUSY, stage="retrying", retry=trouble("Away"))),
    ("retries", replace(BUSY, retry=trouble("Retry"))),
    ("target-read-only", replace(BUSY, retry=trouble("ReadOnly"))),
    ("ddl-waits", replace(STOPPED, ddls=(WaitingDdl("7:1", "no such type"),))),
    ("ddl-runs-long", replace(BUSY, stage="running DDL", since=NOW - 31)),
    ("lag-grows", paced(0.5)),
    ("catching-up", paced(-0.5)),
    ("slow-target", paced(0.5, load=0.8)),
    ("catching-up", paced(-0.5, load=0.8)),
    ("working", paced(0.0)),
    ("working", BUSY),
    ("memory-budget", replace(paced(0.5), totals={"cuts": 6, "spilled_cuts": 3})),
    ("lag-grows", replace(paced(0.5), totals={"cuts": 7, "spilled_cuts": 3})),
    ("lag-grows", replace(paced(0.5), totals={"cuts": 2, "spilled_cuts": 2})),
    ("no-executors", replace(BUSY, executors=ExecutorActivity(0, NOW - 31))),
    ("working", replace(BUSY, executors=ExecutorActivity(0, NOW - 29))),
    ("executors-lost", replace(BUSY, executors=ExecutorActivity(1, None, 3, NOW - 500))),
    ("working", replace(BUSY, executors=ExecutorActivity(1, None, 3, NOW - 700))),
    ("working", replace(BUSY, executors=ExecutorActivity(1, None, 2, NOW - 5))),
    ("clock-skew", replace(WAITING, resolved_ts=ago(-30), newest_ts=ago(-30))),
]


@pytest.mark.parametrize(("cause", "activity"), OF_ITSELF)
def test_the_consumer_itself_knows_it(cause: str, activity: Activity) -> None:
    assert cause_of(activity) == cause


def running(activity: Activity) -> Situation:
    known = Situation.of(activity)
    return replace(known, target=TargetFacts(), source=log(), restarts={("t", 0): 90})


def log(
    begin: int = 0,
    end: int = 90,
    topic_ids: Mapping[str, str] = {},
    **more: object,
) -> SourceFacts:
    facts = PartitionFacts(begin, end, NOW - 1, ago(1), **more)  # type: ignore[arg-type]
    return SourceFacts({("t", 0): facts}, {"t": 3600.0}, tails=True, topic_ids=topic_ids)


ID = {"t": "a"}
LEFT_OUT = replace(log(), tables=frozenset({("shop", "items")}))
PASSES = replace(LEFT_OUT, passing=LEFT_OUT.tables)


def silent(activity: Activity, one: Silent) -> Situation:
    return replace(running(activity), running=False, age=45.0, silent=one)


BEHIND = replace(STOPPED, resolved_ts=ago(600))
EQUAL = VerifiedShare(at=NOW, number=0, shares=24, resolved_ts=5, rows=9)
SHOWN: list[tuple[str, Situation]] = [
    ("lock", replace(running(BUSY), target=TargetFacts((BLOCKER,)))),
    ("working", running(replace(BUSY, blockers=(BLOCKER,)))),
    ("lock", running(replace(BUSY, blockers=(BLOCKER,), retry=trouble("Locked")))),
    ("cleanup-held-up", replace(running(WAITING), target=TargetFacts(burdens=("slot s",)))),
    ("target-read-only", replace(running(WAITING), target=TargetFacts(read_only="standby"))),
    # It takes writes by now.
    ("retries", running(replace(WAITING, retry=trouble("ReadOnly")))),
    # The topics show a resolved ts above R: whatever keeps it, it is not TiCDC.
    ("working", replace(running(QUIET), resolved_ts=ago(9))),
    ("missing-index", replace(running(paced(1, 0.9)), target=TargetFacts(without_key=("t",)))),
    ("lag-grows", replace(running(paced(1, 0.1)), target=TargetFacts(without_key=("t",)))),
    ("clock-skew", replace(running(WAITING), ahead=-11.0)),
    ("nothing-to-do", replace(running(WAITING), ahead=9.0)),
    ("brokers-unreachable", replace(running(QUIET), source=None, source_error=SourceAway("down"))),
    ("not-running", replace(running(STOPPED), source=None, source_error=SourceAway("down"))),
    ("topics-changed", replace(running(QUIET), source=None, source_error=Stop("topic t"))),
    (
        "drift",
        running(replace(WAITING, verified=replace(EQUAL, differs="t: 1 row, (id=5) extra"))),
    ),
    ("nothing-to-do", running(replace(WAITING, verified=EQUAL))),
    ("topics-changed", replace(running(STOPPED), source=None, source_error=Stop("topic t"))),
    ("not-running", replace(running(STOPPED), source=None, source_error=Denied("topic t"))),
    ("topic-recreated", replace(running(STOPPED), source=log(topic_ids={"t": "b"}), topic_ids=ID)),
    ("topic-recreated", replace(running(WAITING), source=log(topic_ids={"t": "b"}), topic_ids=ID)),
    ("not-running", replace(running(STOPPED), source=log(topic_ids={"t": "a"}), topic_ids=ID)),
    ("not-running", replace(running(STOPPED), source=log(topic_ids={"t": ""}), topic_ids=ID)),
    ("topic-recreated", replace(running(STOPPED), source=log(0, 89))),
    ("filter-leaves-all-out", replace(running(WAITING), source=LEFT_OUT, has_tables=False)),
    ("nothing-to-do", replace(running(WAITING), source=LEFT_OUT)),
    ("nothing-to-do", replace(running(WAITING), source=PASSES, has_tables=False)),
    # They answer now, whatever was before.
    ("no-resolved-ts", running(replace(QUIET, source=trouble("SourceAway")))),
    ("failed", running(replace(STOPPED, error=trouble("SourceAway")))),
    ("other-protocol", replace(running(OTHER), has_tables=False)),
    ("bad-message", running(OTHER)),
    ("retention-near", replace(running(BEHIND), source=log(80, 190))),
    ("retention-near", replace(running(BEHIND), source=log(91, 190))),
    ("not-running", replace(running(BEHIND), source=log(0, 190))),
    ("not-running", replace(running(BEHIND), source=log(50, 120))),
    ("retention-near", replace(running(BEHIND), source=log(0, 120, aged=91))),
    ("not-running", replace(running(BEHIND), source=log(0, 120, aged=90))),
    # A quarantined table needs the log from 90 on, whatever the lag.
    ("retention-near", replace(running(WAITING), set_aside=(ASIDE,), source=log(0, 120, aged=91))),
    ("table-quarantined", replace(running(WAITING), set_aside=(ASIDE,), source=log(0, 120))),
    ("target-unreachable", Situation(now=NOW, unreadable=Away("no answer"))),
    ("target-unreachable", Situation(now=NOW, unreadable=NoAnswer("did not answer within 4 s"))),
    ("no-sign", silent(WAITING, Silent("33"))),
    ("no-sign", silent(WAITING, Silent(stopped=True))),
    ("no-sign", silent(STOPPED, Silent("55"))),
    ("no-sign", silent(replace(STOPPED, error=trouble("Stop")), Silent("55"))),
    ("lock", replace(silent(WAITING, Silent("33")), target=TargetFacts((BLOCKER,)))),
    ("refused", Situation(now=NOW, unreadable=UserRefused("who are you?"))),
    ("no-status", Situation(now=NOW, unreadable=Stop("no checkpoint"))),
    ("not-running", Situation(now=NOW, target=TargetFacts())),
    ("loading", Situation(now=NOW, target=TargetFacts(), loading=LoadProgress(1, ()))),
]


@pytest.mark.parametrize(("cause", "situation"), SHOWN)
def test_target_and_source_show_it(cause: str, situation: Situation) -> None:
    assert explain(situation).cause == cause


def test_a_lock_is_explained_by_its_holder_age_and_remedy() -> None:
    shown = explain(replace(running(BUSY), target=TargetFacts((BLOCKER,))))
    words = "a lock that session 4711 holds on shop.accounts"
    assert shown.sentence == f"the consumer waits for {words}"
    assert shown.evidence[:3] == (
        "session 4711 is app@10.0.0.7",
        "its transaction has been open for 12 min",
        "it runs, or ran last: UPDATE accounts",
    )
    assert shown.advice == ("let that session finish, or end it: KILL 4711",)
    assert f"waiting for {words}" in replace(BUSY, blockers=(BLOCKER,)).sentence


def test_nobody_is_told_to_start_another_one_while_one_lives() -> None:
    for _, situation in SHOWN:
        if situation.silent is not None:
            shown = explain(situation)
            assert "no consumer is running" not in shown.sentence
            assert not any(line.startswith("start it") for line in shown.advice)


@pytest.mark.parametrize(
    ("situation", "sentence", "advice"),
    [
        (silent(WAITING, Silent("33")), "hangs, or cannot write: process 7 on a", "kill -9 7"),
        (silent(WAITING, Silent("33", True)), "has been stopped, by SIGSTOP", "kill -CONT 7"),
        (
            silent(STOPPED, Silent("55")),
            "a consumer, session 55 of the target",
            "do not start another consumer",
        ),
    ],
)
def test_one_that_gives_no_sign_is_named(situation: Situation, sentence: str, advice: str) -> None:
    shown = explain(situation)
    assert sentence in shown.sentence and advice in shown.advice[0]


def test_a_target_that_was_restored_was_not_taken_over() -> None:
    text = "the checkpoint of changefeed shop went back to generation 2 from 3: " + RESTORED
    shown = explain(running(replace(STOPPED, error=trouble("Fenced", text=text))))
    assert shown.sentence == f"the last consumer ended: {text}"
    assert "run CONFIG" in shown.advice[0]


def test_a_run_that_ended_well_is_told_as_that() -> None:
    shown = explain(replace(running(STOPPED), age=300.0))
    assert shown.evidence == ("process 7 on a, session 33 ended by itself 5 min ago, exit code 0",)


def test_rates_and_the_end_of_the_lag_are_told() -> None:
    shown = explain(Situation.of(paced(0.5)))
    assert "R is 10 min behind, and loses another 0.50 s each second" in shown.sentence
    assert shown.evidence[0] == "4 messages/s arrive, 2 are applied"
    assert "the rest takes about 20 min" in explain(Situation.of(paced(-0.5))).sentence


def test_the_document_lists_every_cause_in_its_order() -> None:
    text = (ROOT / "docs" / "reference" / "why.md").read_text().partition("## The causes")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    assert rows == [
        (cause.name, cause.recognised, cause.remedy.format(config="CONFIG")) for cause in CAUSES
    ]


def test_every_cause_is_reached_here_or_by_a_real_one() -> None:
    reached = {cause for cause, _ in OF_ITSELF} | {cause for cause, _ in SHOWN}
    # Of the topics' last messages: tests/integration/test_why.py
    reached |= {"partition-without-resolved-ts", "transaction-open"}
    assert reached == {cause.name for cause in CAUSES}


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        (
            "UPDATE a SET b = 'it''s', c = -1.5e3 WHERE t1.x=7",
            "UPDATE a SET b = ?, c = ? WHERE t1.x=?",
        ),
        ("SELECT  1\n FROM `t2`", "SELECT ? FROM `t2`"),
        ("INSERT INTO t VALUES (0xff, 'cut o", "INSERT INTO t VALUES (?, ?"),
        (None, ""),
        (r"UPDATE a SET b = 'c:\', d = 'secret'", "UPDATE a SET b ="),
        ("SELECT $q$secret$q$", "SELECT"),
    ],
)
def test_a_statement_is_shown_without_its_values(query: str | None, shown: str) -> None:
    assert without_values(query) == shown


def test_where_texts_have_two_kinds_of_quotes_neither_is_shown() -> None:
    query = """INSERT INTO t VALUES ("it's", 'a "b"')"""
    assert without_values(query, quotes="'\"") == "INSERT INTO t VALUES (?, ?)"
