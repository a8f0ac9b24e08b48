"""What a change makes of a function, and that its tests notice it."""

import subprocess
import sys
from pathlib import Path

import pytest
from mutants.__main__ import chosen
from mutants.equivalent import EQUIVALENT, WITH_SERVERS
from mutants.operators import applied, changes_of, probes
from ticdc_consumer.cut import cuts
from ticdc_consumer.ddl.names import parsed
from ticdc_consumer.source.marks import Mark
from ticdc_encoder.sql.statements import DropTable

HOLDS = "ticdc_consumer.cut.read.cut_range:CutRange.holds: "


def test_each_place_of_a_function_is_changed_by_itself() -> None:
    changes = changes_of("ticdc_consumer.cut.read.cut_range")
    names = [each.name.removeprefix(HOLDS) for each in changes if each.name.startswith(HOLDS)]
    assert names == [
        "return True -> return None",
        "commit_ts >= self.end -> commit_ts > self.end",
        "progress.keep(offset) -> pass",
        "return False -> return None",
        "commit_ts < self.begin -> commit_ts <= self.begin",
        "self.replays[number] += 1 -> pass",
        "return False -> return None (2)",
        "True -> False",
        "False -> True",
        "1 -> 2",
        "progress.topic_partition in self._joined -> progress.topic_partition not in self._joined",
        "self._require_later(commit_ts, time) -> pass",
        "False -> True (2)",
    ]


def test_a_changed_function_is_what_callers_run_meanwhile() -> None:
    (change,) = [
        each
        for each in changes_of("ticdc_consumer.cut.cuts")
        if "cut.cuts:choose: mark.resolved_ts > applied" in each.name
    ]
    mark = Mark(5, 0, "orders")
    assert cuts.choose(5, [mark], lambda _: True) is None
    with applied(change.module, {change.function: change.code()}):
        assert cuts.choose(5, [mark], lambda _: True) == mark
    assert cuts.choose(5, [mark], lambda _: True) is None


def test_a_module_forgets_what_it_cached_before_it_was_changed() -> None:
    (change,) = [
        each
        for each in changes_of("ticdc_consumer.ddl.names")
        if each.function == "parsed" and each.name.endswith("-> return None")
    ]
    assert parsed("DROP TABLE t", "shop") == DropTable("shop", "t")
    with applied(change.module, {change.function: change.code()}):
        assert parsed("DROP TABLE t", "shop") is None
    assert parsed("DROP TABLE t", "shop") == DropTable("shop", "t")


def test_a_probe_says_which_functions_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(cuts, "probe", called.append, raising=False)
    with applied("ticdc_consumer.cut.cuts", probes("ticdc_consumer.cut.cuts", "probe")):
        cuts.choose(5, [], lambda _: True)
    cuts.choose(5, [], lambda _: True)
    assert called == ["choose"]


def test_a_sample_is_stable_and_knows_every_listed_change() -> None:
    names = [each.name for each in chosen((), 300)]
    assert len(set(names)) == 300
    assert names == [each.name for each in chosen((), 300)]
    assert EQUIVALENT.keys() | WITH_SERVERS.keys() <= {each.name for each in chosen((), 1_000_000)}


def test_changes_that_a_test_notices_do_not_survive() -> None:
    program = Path(__file__).with_name("__main__.py")
    run = subprocess.run(
        [
            sys.executable,
            program,
            HOLDS + "commit_ts",
            "--tests",
            "consumer/cut/read/test_cut_range.py",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "2 tried, 0 do not end, 0 survive" in run.stdout
