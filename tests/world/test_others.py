"""What broke other consumers, through the few lines that have the bug, and through this one."""

import pytest
from world.history import worlds
from world.killing import BUGS_DOCUMENT
from world.others import BUGS, Bug, document
from world.script import Told

SCHEDULES = 8


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.name))
def test_a_consumer_that_has_the_bug_ends_with_other_rows(bug: Bug) -> None:
    *_, last = bug.states().values()
    assert bug.naive(bug.items()) != last


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.name))
def test_this_one_equals_the_upstream_at_every_commit(bug: Bug, way: str) -> None:
    with worlds() as place:
        for seed in range(SCHEDULES):
            outcome = place.play_history(lambda file, n=seed: Told(bug, n, way, file))  # type: ignore[misc]
            if outcome.broken is not None:
                raise AssertionError(f"schedule {seed}") from outcome.broken


def test_the_document_is_what_is_tested() -> None:
    assert BUGS_DOCUMENT.read_text() == document()
