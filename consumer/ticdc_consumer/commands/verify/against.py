"""`verify --against`: two targets of one upstream, compared with each other at one R."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from ticdc_encoder.column import Column
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableMatcher

from ticdc_consumer.commands.verify.compare import batched, compare
from ticdc_consumer.commands.verify.keys import number_of
from ticdc_consumer.commands.verify.pairs import (
    ComparedColumn,
    OtherTable,
    Pair,
    pair,
    reason,
)
from ticdc_consumer.commands.verify.report import TableReport
from ticdc_consumer.commands.verify.same_state import Side, same_state
from ticdc_consumer.commands.verify.target_state import TargetState, ddl_since
from ticdc_consumer.commands.verify.verification import Request
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Unavailable
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.known_tables import KnownTables
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target, read_back
from ticdc_consumer.targets.comparable import CONVERTED, Comparable, Form, shortest_single
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target

Convert = Callable[[str], str | None]


def other_side(options: Settings, url: str, changefeed: str) -> Side:
    """The changefeed of that name in the target of that URL, with the routes with which its
    checkpoint was reached."""
    with closing(open_target(url, to_look=True, changefeed=changefeed)) as target:
        store = Store(target, changefeed)
        checkpoint = store.read()
        if checkpoint is None:
            raise store.unknown()
    scope: dict[str, Any] = json.loads(checkpoint.scope_text)
    other = replace(
        options,
        target_url=url,
        changefeed=changefeed,
        filter=tuple(scope["filter"]),
        case_sensitive=scope["case_sensitive"],
        route=dict(scope["route"]),
        merge=dict(scope.get("merge", ())),
    )
    return Side(other, same_scope=False)


def verify_against(options: Settings, theirs: Side, request: Request) -> Iterator[TableReport]:
    """Yields a report of each table that either has. Raises `Stop` if the two do not reach the same
    R."""
    with same_state(Side(options), theirs) as (mine, others):
        yield from Both(options, theirs.options, mine, others).reports(request)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the two in a report, that of the other next to rows, and the text for a missing
    table."""

    mine: str
    other: str
    short: str
    lacks: str


CHANGEFEEDS = Names(
    "this changefeed", "the other changefeed", "the other", lacks="does not have it"
)


@dataclass(frozen=True, slots=True)
class Both:
    """Two targets at one R."""

    options: Settings
    other_options: Settings
    mine: TargetState
    others: TargetState
    called: Names = CHANGEFEEDS

    def reports(self, request: Request) -> Iterator[TableReport]:
        """Yields a report of each table that either has. Raises `Stop` if there is none."""
        chosen = TableMatcher(request.tables or ("*.*",), self.options.case_sensitive)
        names = [name for name in self.names() if chosen.matches(*name)]
        if not names:
            raise Stop(
                f"no table is known to {self.called.mine} or {self.called.other}, or passes "
                "--table if given"
            )
        for name in names:
            yield self.report(name, request.most)
            for state in (self.mine, self.others):
                state.begin_again(state.readers[0])

    def names(self) -> list[TableName]:
        """The upstream tables whose rows go to either target."""
        return sorted(
            {
                name
                for known in (self.mine.known, self.others.known)
                for name, destination in known.destinations.items()
                if destination is not None
            }
        )

    def report(self, name: TableName, most: int) -> TableReport:
        try:
            compared = self._pair(name)
        except Stop as refusal:
            problem, other = str(refusal), self.called.short
            return TableReport(name, "", self.mine.resolved_ts, problem=problem, against=other)
        target, theirs = self.mine.readers[0], OtherTarget(self.others.readers[0])
        try:
            outcome = compare(compared, theirs, target, most)
        except TicdcError:
            self._require_no_ddl(name)
            raise
        if outcome.differences:
            self._require_no_ddl(name)
        report = TableReport.of(compared, outcome, self.mine.resolved_ts)
        return replace(report, against=self.called.short)

    def _require_no_ddl(self, name: TableName) -> None:
        for options in (self.options, self.other_options):
            if ddl := ddl_since(options, self.mine.resolved_ts):
                raise Unavailable(
                    f"{'.'.join(name)}: DDL {ddl} came while its rows were read: verify again"
                )

    def _pair(self, name: TableName) -> Pair:
        table = _definition(name, self.mine.known, self.others.known)
        sides = list[Pair]()
        for options, state, which, lacks in (
            (self.options, self.mine, self.called.mine, "does not have it"),
            (self.other_options, self.others, self.called.other, self.called.lacks),
        ):
            target = state.targets[0]
            where = InTarget.by(options, target)
            if where.of(name) is None or name not in state.known.destinations:
                raise Stop(f"{which} {lacks}")
            if problem := state.set_aside_at(name):
                raise Stop(f"{which}: {problem}")
            try:
                sides.append(pair(target, options, where, table))
            except Stop as refusal:
                raise Stop(f"{which}: {reason(refusal, table)}") from None
        return _paired(*sides)


def _definition(name: TableName, *known: KnownTables) -> Table:
    definitions = list(filter(None, (each.get(name) for each in known)))
    definitions.sort(key=lambda definition: not definition.created)
    if not definitions:
        raise Stop("its definition is not known: verify against the upstream")
    return definitions[0].table


def _paired(mine: Pair, theirs: Pair) -> Pair:
    """The pair with both sides in forms whose values can be compared."""
    by_name = {column.name: column.target for column in theirs.columns}
    columns = {column.name: column for column in mine.layout.source}
    compared = [
        _compared(columns[column.name], by_name[column.name], column.target)
        for column in mine.columns
        if column.name in by_name
    ]
    names = [column.name for column in compared]
    words = read_back(theirs.layout.dialect).DIGEST
    return replace(
        mine,
        columns=tuple(compared),
        key=mine.key if set(mine.key) <= set(names) else (),
        left_out=tuple(c.name for c in mine.layout.source if c.name not in names),
        other=OtherTable(theirs.layout.relation, theirs.of_shard, words),
    )


def _compared(column: Column, theirs: Comparable, ours: Comparable) -> ComparedColumn:
    if theirs.form == ours.form:
        return ComparedColumn(column.name, theirs, ours)
    for form in _COMMON:
        one, other = (_between(column, side.form, form) for side in (theirs, ours))
        if one is not None and other is not None:
            return ComparedColumn(
                column.name, _converted(theirs, form, one), _converted(ours, form, other)
            )
    raise Stop(f"{column.name}: one target holds {theirs.form}, the other {ours.form}")


_COMMON: tuple[Form, ...] = (
    *("number", "double", "moment", "moment_or_null", "bytes", "json", "vector", "text"),
)
"""The forms to which two different ones may be converted, the most exact first."""


def _between(column: Column, form: Form, common: Form) -> Convert | None:
    """Conversion of a value from one form to another; None if there is none."""
    match form, common:
        case _ if form == common:
            return _same
        case "label", "number":
            return lambda labels: str(number_of(column, labels))
        case "label", "text":
            return _same
        case "single", "double":
            return shortest_single
        case "text", "bytes":
            return lambda text: text.encode().hex()
        case ("text", _) | ("number", "double") | ("moment", "moment_or_null"):
            return CONVERTED.get(common)
        case _:
            return None


def _same(text: str) -> str:
    return text


def _converted(side: Comparable, form: Form, convert: Convert) -> Comparable:
    before = side.convert

    def converted(value: Any) -> str | None:
        text = value if before is None else before(value)
        return None if text is None else convert(text)

    return replace(side, form=form, convert=converted, printed=False, integer="")


@dataclass(frozen=True, slots=True)
class OtherTarget:
    """A target in place of the upstream's session."""

    target: Target

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        with self.target.errors():
            return self.target.query(statement)

    def stream(
        self, statement: str, parameters: Sequence[object], rows: int
    ) -> Iterator[Sequence[tuple[Any, ...]]]:
        with self.target.errors():
            yield from batched(read_back(self.target.dialect).rows(self.target, statement), rows)
