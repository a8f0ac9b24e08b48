from collections.abc import Callable, Iterator

import pytest
from support.loading import Bank, bank, opened
from ticdc_consumer.errors import Retry, Unavailable, UnknownCommit
from ticdc_consumer.state.retry import until_known
from ticdc_consumer.waiting import at_pace

AWAY, LOST = Retry("deadlock"), UnknownCommit("the session is gone")


def attempts(*outcomes: Exception | None) -> Callable[[], None]:
    """What ends so, one after the other."""
    left = list(outcomes)

    def attempt() -> None:
        if error := left.pop(0):
            raise error

    return attempt


@pytest.fixture
def here(sqlite_url: str) -> Iterator[Bank]:
    with opened(sqlite_url) as target, at_pace(0.01):
        yield bank(target)


@pytest.mark.parametrize(
    ("outcomes", "happened"),
    [
        pytest.param([AWAY, None], False, id="refused once"),
        pytest.param([LOST, None], False, id="a COMMIT that was lost, and did not take place"),
    ],
)
def test_what_has_worked_at_last_is_no_trouble_any_more(
    here: Bank, outcomes: list[Exception | None], happened: bool
) -> None:
    until_known(here.store, 2, attempts(*outcomes), lambda: happened)
    assert here.monitor.look().retry is None


def test_a_commit_that_took_place_is_not_repeated(here: Bank) -> None:
    until_known(here.store, 2, attempts(LOST), lambda: True)


@pytest.mark.parametrize(
    ("last", "doubt"),
    [(AWAY, False), (LOST, True)],
)
def test_the_last_attempt_says_whether_it_may_be_committed(
    here: Bank, last: Exception, doubt: bool
) -> None:
    with pytest.raises(Unavailable, match="refused 2 times, last: ") as error:
        until_known(here.store, 1, attempts(LOST, last), lambda: False)
    assert ("whether the last was committed shows" in str(error.value)) == doubt


@pytest.mark.parametrize(("first", "asked"), [(AWAY, ["session"]), (LOST, ["happened"])])
def test_a_refusal_checks_the_session_a_lost_commit_is_looked_up(
    here: Bank, monkeypatch: pytest.MonkeyPatch, first: Exception, asked: list[str]
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(here.store, "recover", lambda: seen.append("session"))

    def happened() -> bool:
        seen.append("happened")
        return False

    until_known(here.store, 1, attempts(first, None), happened)
    assert seen == asked
