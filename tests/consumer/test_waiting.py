from collections.abc import Callable, Iterator

import pytest
from ticdc_consumer.errors import Stop, Unavailable
from ticdc_consumer.waiting import (
    Deadline,
    at_pace,
    backing_off,
    patiently,
    retried,
    sleep,
    until,
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were slept; time passes by sleeping alone."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(slept))
    return slept


def failing(errors: list[Exception]) -> Callable[[], int]:
    """An attempt that raises these, one by one, and then returns how many there were."""
    left: Iterator[Exception] = iter(errors)

    def attempt() -> int:
        for error in left:
            raise error
        return len(errors)

    return attempt


def test_it_is_tried_again_until_it_succeeds(clock: list[float]) -> None:
    assert patiently(failing([Unavailable("one"), Unavailable("two")]), 10.0) == 2
    assert clock == [0.2, 0.2]


def test_the_last_error_is_raised_when_the_time_is_over(clock: list[float]) -> None:
    attempt = failing([Unavailable(str(number)) for number in range(9)])
    with pytest.raises(Unavailable, match="3"):
        patiently(attempt, 2.5, pause=1.0)
    assert clock == [1.0, 1.0, 1.0]


def test_without_patience_it_is_tried_once_more(clock: list[float]) -> None:
    assert patiently(failing([]), 0.0) == 0
    with pytest.raises(Unavailable, match="two"):
        patiently(failing([Unavailable("one"), Unavailable("two")]), 0.0)


def test_other_errors_end_it_at_once(clock: list[float]) -> None:
    with pytest.raises(Stop):
        patiently(failing([Stop("x")]), 10.0)
    assert patiently(failing([Stop("x"), Unavailable("y")]), 10.0, (Stop, Unavailable)) == 2
    assert clock == [0.2, 0.2]


def test_a_condition_is_waited_for(clock: list[float]) -> None:
    assert until(lambda: len(clock) == 3, 10.0)
    assert clock == [0.2, 0.2, 0.2]
    assert not until(lambda: False, 1.0, pause=0.6)
    assert clock[3:] == [0.6, 0.6]


def test_pauses_grow_up_to_the_longest(clock: list[float]) -> None:
    assert retried(failing([Unavailable("x")] * 12), backing_off(12), Unavailable) == 12
    longest = [min(10.0, 0.1 * 2**attempts) for attempts in range(12)]
    assert all(most / 2 <= pause <= most for pause, most in zip(clock, longest, strict=True))


@pytest.mark.parametrize(
    ("failures", "happened"),
    [
        pytest.param([], [], id="what succeeds at once has nothing to recover from"),
        pytest.param(["a"], ["a", "recover", "recovered"], id="a further try that succeeds"),
        pytest.param(["a", "b"], ["a", "recover", "b"], id="the last try fails"),
    ],
)
def test_a_further_try_recovers_first(
    clock: list[float], failures: list[str], happened: list[str]
) -> None:
    seen: list[str] = []

    def try_twice() -> None:
        retried(
            failing([Unavailable(text) for text in failures]),
            backing_off(1),
            Unavailable,
            recover=lambda: seen.append("recover"),
            failed=lambda error: seen.append(str(error)),
            recovered=lambda: seen.append("recovered"),
        )

    if len(failures) < 2:
        try_twice()
    else:
        with pytest.raises(Unavailable, match="b"):
            try_twice()
    assert seen == happened


def test_a_recovery_that_fails_is_a_failed_try(clock: list[float]) -> None:
    recovery = failing([Unavailable("recovery")])
    attempt = failing([Unavailable("attempt")])
    assert retried(attempt, backing_off(2), Unavailable, recover=recovery) == 1
    assert len(clock) == 2


def test_a_test_may_shorten_every_pause(clock: list[float]) -> None:
    with at_pace(0.01):
        patiently(failing([Unavailable("x")]), 10.0, pause=2.0)
    patiently(failing([Unavailable("x")]), 10.0, pause=2.0)
    assert clock == [0.02, 2.0]


def test_a_deadline_passes_after_its_patience_and_is_renewed(clock: list[float]) -> None:
    deadline = Deadline(3.0)
    sleep(2.0)
    assert (deadline.left, deadline.passed) == (1.0, False)
    sleep(2.0)
    assert (deadline.left, deadline.passed) == (0.0, True)
    deadline.renew()
    assert (deadline.left, deadline.passed) == (3.0, False)
