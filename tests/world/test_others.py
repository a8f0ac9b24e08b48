"""What broke other consumers, through the few lines that have the bug, and through this one."""

from dataclasses import replace

import pytest
from support.both_paths import options_for
from ticdc_consumer.protocols import decoder
from ticdc_encoder.event import RowChange
from world.history import worlds
from world.killing import BUGS_DOCUMENT
from world.misread import MISREAD, Misread
from world.others import BUGS, Bug, document
from world.script import Told

SCHEDULES = 3


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.name))
def test_a_consumer_that_has_the_bug_ends_with_other_rows(bug: Bug) -> None:
    *_, last = bug.states().values()
    assert bug.naive(bug.items()) != last


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.name))
def test_it_ends_with_the_upstreams_rows_where_nothing_disturbs(bug: Bug) -> None:
    calm = replace(bug, truth={2: "+1:10:a", 4: "+2:20:b"}, log="2 M3 4 M9")
    assert bug.naive(calm.items()) == {1: (1, 10, "a"), 2: (2, 20, "b")}


@pytest.mark.parametrize("way", ["net", "transactions"])
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.name))
def test_this_one_equals_the_upstream_at_every_commit(bug: Bug, way: str) -> None:
    with worlds() as place:
        for seed in range(SCHEDULES):
            outcome = place.play_history(lambda file, n=seed: Told(bug, n, way, file))  # type: ignore[misc]
            if outcome.broken is not None:
                raise AssertionError(f"schedule {seed}") from outcome.broken


@pytest.mark.parametrize("bug", MISREAD, ids=lambda bug: str(bug.name))
def test_a_value_that_others_misread_is_what_tidb_holds(bug: Misread) -> None:
    assert bug.naive(bug.data, bug.old) != bug.right
    (change,) = decoder(options_for("canal-json"))(None, bug.message())
    assert isinstance(change, RowChange)
    row = change.before if bug.of_before else change.after
    assert row is not None
    assert row["v"] == bug.right
    assert type(row["v"]) is type(bug.right)


def test_each_bug_has_a_name_of_its_own() -> None:
    names = [bug.name for bug in (*BUGS, *MISREAD)]
    assert len(set(names)) == len(names)


def test_the_document_is_what_is_tested() -> None:
    assert BUGS_DOCUMENT.read_text() == document()
