"""Judges looks at a target by the history that its consumer reads. Pure."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ticdc_torture.history import State, TableState
from ticdc_torture.target import Look

CHECKS = {
    "torn": "every look equals the upstream at some timestamp",
    "back": "no look is older than one before it",
    "resolved": "at each R that the consumer tells, the target equals the upstream at R",
    "lost": "no row is missing at the end",
    "left": "no row is left at the end that the upstream has not",
    "stale": "no row has old values at the end",
    "doubled": "no row is there twice at the end",
    "tables": "the tables and their columns are the upstream's at the end",
    "restart": "a restart at the end changes nothing",
    "alive": "the consumer continues after every disturbance",
}
"""Checks, in words."""
FIRST = 5
"""Rows that a sentence names, at most."""


@dataclass
class Verdict:
    """`wrong` has the first words of each check that failed; `counts` how often it did."""

    looks: int = 0
    wrong: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def fail(self, check: str, words: str) -> None:
        self.wrong.setdefault(check, words)
        self.counts[check] += 1


class Judge:
    """Judges by `states`, the tables' contents from each commit_ts on."""

    def __init__(self, states: Sequence[tuple[int, State]]) -> None:
        self.verdict = Verdict()
        self.last: Look | None = None
        self._ts = [ts for ts, _ in states]
        self._states = [state for _, state in states]
        self._numbers: dict[State, list[int]] = {}
        for number, state in enumerate(self._states):
            self._numbers.setdefault(state, []).append(number)
        self._number = 0
        """Number of the earliest state that the last look can be."""

    def seen(self, look: Look) -> bool:
        """Judges one look; returns whether it differs from the one before."""
        self.verdict.looks += 1
        before, self.last = self.last, look
        if before == look:
            return False
        numbers = self._numbers.get(look.tables, [])
        if not numbers:
            self.verdict.fail("torn", f"the target equals no timestamp: {self._nearest(look)}")
        else:
            self._not_back(numbers)
        self._at_resolved(look, before)
        return True

    def _not_back(self, numbers: list[int]) -> None:
        later = [number for number in numbers if number >= self._number]
        if later:
            self._number = later[0]
            return
        self.verdict.fail(
            "back",
            f"the target was at {self._ts[self._number]}, then at {self._ts[numbers[-1]]} again",
        )
        self._number = numbers[-1]

    def _at_resolved(self, look: Look, before: Look | None) -> None:
        if look.resolved_ts is not None:
            number = self._below(look.resolved_ts)
            if look.tables != self._states[number]:
                words = "; ".join(differences(look.tables, self._states[number]))
                self.verdict.fail("resolved", f"at R = {look.resolved_ts}: {words}")
            if before and before.resolved_ts and look.resolved_ts < before.resolved_ts:
                self.verdict.fail("back", f"R was {before.resolved_ts}, then {look.resolved_ts}")
        if look.reached:
            least, numbers = self._below(look.reached), self._numbers.get(look.tables)
            if numbers and numbers[-1] < least:
                words = "; ".join(differences(look.tables, self._states[least]))
                self.verdict.fail("resolved", f"behind R = {look.reached}: {words}")

    def _below(self, end: int) -> int:
        """The number of the state with all commit_ts < `end`."""
        return max(0, bisect_left(self._ts, end) - 1)

    def _nearest(self, look: Look) -> str:
        """The differences from the most similar state, from the last one on."""
        some = self._states[self._number : self._number + 200]
        compared = [differences(look.tables, state) for state in some]
        nearest = min(range(len(some)), key=lambda n: len(compared[n]))
        return f"beside {self._ts[self._number + nearest]}, {'; '.join(compared[nearest][:FIRST])}"

    @property
    def is_over(self) -> bool:
        """Returns whether the last look is the upstream's last state."""
        return self.last is not None and self.last.tables == self._states[-1]

    def judge_the_end(self) -> None:
        """Judges the differences of the last look."""
        if self.last is None:
            self.verdict.fail("alive", "the target was never seen")
            return
        for check, words in _kinds(self.last.tables, self._states[-1]):
            self.verdict.fail(check, words)


def differences(tables: State, truth: State) -> list[str]:
    """The differences in words, one row a sentence."""
    return [words for _, words in _kinds(tables, truth)]


def _kinds(tables: State, truth: State) -> list[tuple[str, str]]:
    """Check and words of each difference."""
    existing = {table[0]: table for table in tables}
    wrong = []
    for expected in truth:
        table = existing.pop(expected[0], None)
        if table is None:
            wrong.append(("tables", f"table {expected[0]} is missing"))
        elif table[1] != expected[1]:
            columns = f"{', '.join(table[1])}, not {', '.join(expected[1])}"
            wrong.append(("tables", f"table {expected[0]} has the columns {columns}"))
        else:
            wrong += _rows(table, expected)
    return wrong + [("tables", f"table {name} exists") for name in sorted(existing)]


def _rows(table: TableState, expected: TableState) -> list[tuple[str, str]]:
    """A row that is missing and one that is too many, with most of their values the same, are one
    stale row."""
    name, columns, rows = table
    more, fewer = Counter(rows) - Counter(expected[2]), Counter(expected[2]) - Counter(rows)
    wrong = []
    for row in [row for row in more if row in expected[2]]:
        wrong.append(("doubled", f"{name}: {_row(columns, row)} is there {rows.count(row)} times"))
        del more[row]
    for row in list(more):
        alike = [other for other in fewer if _are_alike(row, other)]
        if alike:
            words = f"{name}: {_row(columns, row)}, not {_row(columns, alike[0])}"
            wrong.append(("stale", words))
            del more[row], fewer[alike[0]]
    wrong += [("lost", f"{name}: {_row(columns, row)} is missing") for row in fewer]
    return wrong + [("left", f"{name}: {_row(columns, row)} is too much") for row in more]


def _are_alike(row: tuple[str | None, ...], other: tuple[str | None, ...]) -> bool:
    return sum(a == b for a, b in zip(row, other, strict=True)) * 2 >= len(row)


def _row(columns: tuple[str, ...], row: tuple[str | None, ...]) -> str:
    return " ".join(
        f"{name}={'NULL' if value is None else value}"
        for name, value in zip(columns, row, strict=True)
    )
