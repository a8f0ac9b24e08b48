"""Rules of the core, each taken away by a small change of one function's source."""

import inspect
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from types import CodeType, FunctionType
from typing import Any

Edit = tuple[str, str, str]
"""A function as `module:name` or `module:Class.name` below `ticdc_consumer`; the text that is
replaced, which it has once; and what it is replaced by."""


@dataclass(frozen=True)
class Mutant:
    """`rule` is what it takes away."""

    name: str
    rule: str
    edits: tuple[Edit, ...]


def _function(place: str) -> FunctionType:
    module, _, name = place.partition(":")
    found: Any = import_module(f"ticdc_consumer.{module}")
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    if isinstance(found, classmethod | staticmethod):
        found = found.__func__
    if isinstance(found, property):
        found = found.fget
    function = inspect.unwrap(found)
    assert isinstance(function, FunctionType)
    return function


def _compiled(function: FunctionType, edits: Iterable[Edit]) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    for _, old, new in edits:
        if source.count(old) != 1:
            raise LookupError(f"{function.__qualname__} has {source.count(old)} times {old!r}")
        source = source.replace(old, new)
    names: dict[str, Any] = {}
    source = source[source.index("def ") :]
    code = compile(source, f"<mutant of {function.__qualname__}>", "exec")
    exec(code, function.__globals__, names)
    made: CodeType = names[function.__name__].__code__
    return made


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """Inside, whoever calls these functions runs the changed ones."""
    with ExitStack() as stack:
        for place, edits in groupby(mutant.edits, key=itemgetter(0)):
            function = _function(place)
            before, function.__code__ = function.__code__, _compiled(function, edits)
            stack.callback(setattr, function, "__code__", before)
        yield


def _one(name: str, rule: str, place: str, old: str, new: str) -> Mutant:
    return Mutant(name, rule, ((place, old, new),))


MUTANTS = (
    _one(
        "ddl-at-r",
        "A DDL whose commit_ts is R belongs to the next cut.",
        "plan:end_of_cut",
        "applied <= seen",
        "applied < seen",
    ),
    _one(
        "ddl-at-reach",
        "A DDL at the proven ts is not part of the cut that ends there.",
        "plan:end_of_cut",
        "commit_ts < reach",
        "commit_ts <= reach",
    ),
    _one(
        "end-before-ddl",
        "A cut with DDL of T ends at T + 1: the rows of T come before it.",
        "plan:end_of_cut",
        "commit_ts + 1, selected",
        "commit_ts, selected",
    ),
    _one(
        "ddl-share-a-cut",
        "Only CREATE TABLEs share a cut.",
        "plan:end_of_cut",
        "if most == 1 or not all(map(may_share, of_one_ts)):",
        "if False:",
    ),
    _one(
        "closed-cut",
        "A cut does not have rows whose commit_ts is its end.",
        "read.cut_range:CutRange.holds",
        "commit_ts >= self.end",
        "commit_ts > self.end",
    ),
    _one(
        "open-cut",
        "A cut has rows whose commit_ts is R.",
        "read.cut_range:CutRange.holds",
        "commit_ts < self.begin",
        "commit_ts <= self.begin",
    ),
    _one(
        "replays-count",
        "Rows below R are replays, and are dropped.",
        "read.cut_range:CutRange.holds",
        "        return False\n    return True",
        "        return True\n    return True",
    ),
    _one(
        "later-rows-not-kept",
        "The restart offset is not past a row of a later cut.",
        "read.cut_range:CutRange.holds",
        "progress.keep(offset)",
        "pass",
    ),
    _one(
        "past-the-mark",
        "A mark above the end of the cut is read again by the next.",
        "read.progress:restart_offset",
        "stopped_at if stopped_above else stopped_at + 1",
        "stopped_at + 1",
    ),
    _one(
        "ends-at-any-mark",
        "Only a mark at or above the end of the cut ends the reading of a partition.",
        "read.task:Reading._read_event",
        "resolved_ts >= self._job.end",
        "resolved_ts > self._job.begin",
    ),
    _one(
        "later-fact-first",
        "Of the facts of a key the one of the greatest commit_ts counts.",
        "read.facts:Fold.add",
        "known[:2] < fact[:2]",
        "known[:2] > fact[:2]",
    ),
    _one(
        "insert-before-delete",
        "At one commit_ts the row that is present wins over the DELETE of its key.",
        "reconcile.fold:fold",
        '"commit_ts", "present")',
        '"commit_ts", "offset")',
    ),
    _one(
        "raw-insert-before-delete",
        "So it does in what the fast readers read.",
        "read.facts:Fold.add_raw",
        "known[0] < commit_ts or (known[0] == commit_ts and not known[1])",
        "known[0] < commit_ts",
    ),
    _one(
        "present-keys-stay",
        "Where a table has more unique keys, its present keys are deleted before its rows are "
        "written.",
        "reconcile.net_change:keys_to_delete",
        "facts if replaces else",
        "facts if False else",
    ),
    _one(
        "checkpoint-not-locked",
        "A transaction goes on only if the checkpoint is what this consumer left.",
        "state.store:Store.lock",
        "self.lease.own(self.lease.locked_row())",
        "old",
    ),
    Mutant(
        "no-fence",
        "An older consumer cannot commit.",
        (
            ("state.lease:Lease.own", "row.generation > self.generation", "False"),
            ("state.lease:Lease.own", "row.generation < self.generation", "False"),
        ),
    ),
    _one(
        "same-generation",
        "A start raises the generation.",
        "state.lease:Lease.take",
        "row.generation + 1",
        "row.generation",
    ),
    _one(
        "blind-retry",
        "A COMMIT of unknown outcome is not repeated blind.",
        "state.retry:until_known",
        "if unknown and happened():",
        "if False:",
    ),
    _one(
        "unknown-is-done",
        "Nor is it taken for done.",
        "state.retry:until_known",
        "if unknown and happened():",
        "if unknown:",
    ),
    _one(
        "offsets-not-written",
        "Offsets and R move in one transaction.",
        "state.store:Store.write",
        "self._write_positions(old.positions, new.positions)",
        "pass",
    ),
    _one(
        "read-ahead-for-another-r",
        "What was read ahead for another R is not applied.",
        "epoch:Epochs._take",
        "prepared.base.resolved_ts == self.state.resolved_ts",
        "True",
    ),
    _one(
        "new-partition-from-its-end",
        "A partition that joins is read from its first offset.",
        "reader:Reader._starts",
        "starts.update(dict.fromkeys(new, 0))",
        "starts.update({name: listing.ends[name] for name in new})",
    ),
    _one(
        "gaps-are-not-looked-for",
        "A log that no longer reaches back to the cut stops the run.",
        "reader:Reader._starts",
        "require(gaps_since(base.positions, base.resolved_ts, log, expected))",
        "pass",
    ),
    Mutant(
        "unseen-ddl",
        "Whoever meets a DDL that the plan does not have abandons the cut.",
        (
            ("reader:Reader._planned", "self.source.read_to(reach, heads, PATIENCE)", "pass"),
            ("read.task:Reading.read_ddl", "if identity not in job.known_ddls:", "if False:"),
        ),
    ),
    _one(
        "layouts-stay",
        "After a DDL its table's layout is built again.",
        "layouts:TableLayouts._forget",
        "self.shapes.pop(name, (None, None))",
        "(None, None)",
    ),
    _one(
        "remembered-is-whole",
        "What is remembered of a partition stands for it only from where it begins.",
        "source.kafka.recent:Recent.covers",
        "begin is not None and begin <= offset <= self._ends[topic_partition]",
        "begin is not None",
    ),
    _one(
        "end-of-partition-is-the-end",
        "A partition is read at its listed end, not at the first end that the broker names.",
        "source.kafka.tasks:until_ends",
        "progress is not None and message.offset() >= progress.end",
        "progress is not None",
    ),
    _one(
        "least-restart",
        "Of several tasks' restart offsets of a partition the least counts.",
        "reconcile.gathered:merge",
        "min(restart, merged.restarts.get(partition, restart))",
        "restart",
    ),
    _one(
        "rows-of-created-tables",
        "A cut that creates tables has no rows of them, unless they come after all.",
        "ddl.creation:early",
        "if begun else 0",
        "if False else 0",
    ),
    _one(
        "one-group-twice",
        "In `transactions` mode each commit_ts is applied in a transaction of its own.",
        "apply:apply_groups",
        "if end > old.resolved_ts:",
        "if False:",
    ),
    _one(
        "groups-move-offsets",
        "Until the last of a cut's transactions the offsets stay where the cut began.",
        "apply:apply_groups",
        "replace(started, resolved_ts=end)",
        "replace(new, resolved_ts=end)",
    ),
    _one(
        "marks-at-r",
        "A mark at R proves no cut.",
        "plan:choose",
        "mark.resolved_ts > applied",
        "mark.resolved_ts >= applied",
    ),
)
