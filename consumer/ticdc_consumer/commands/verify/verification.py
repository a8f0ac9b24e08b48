"""Compares all tables of a changefeed at one R while upstream and target continue."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableMatcher

from ticdc_consumer.commands.verify.compare import compare
from ticdc_consumer.commands.verify.pairs import NotInTarget, Pair, pair, reason
from ticdc_consumer.commands.verify.repair import Collector
from ticdc_consumer.commands.verify.report import Subject, TableReport
from ticdc_consumer.commands.verify.sessions import Sessions
from ticdc_consumer.commands.verify.share import Share
from ticdc_consumer.commands.verify.target_state import TargetState, ddl_since, one_state
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Unavailable
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.known_tables import lower
from ticdc_consumer.state.loading import LoadNotes
from ticdc_consumer.targets.layout import TableName, TargetName
from ticdc_consumer.targets.mysql_protocol import string_literal
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.session import UpstreamSession, upstream_url
from ticdc_consumer.upstream.snapshot import CATCH_UP, advising, pinned
from ticdc_consumer.upstream.strangers import warn_of_strangers
from ticdc_consumer.upstream.tables import defined, names

ROUNDS = 5
"""Most reads of tables, which are read again if a DDL came in the meantime."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `most`: differing rows to search for in a table; `sessions`: how many each side
    has. `collectors` get the differences. `tables` are filter rules that select among the
    changefeed's tables, all without rules; `only`, if set, names those of them to compare, and
    `share` limits their rows."""

    most: int = 1_000
    sessions: int = 2
    collectors: Sequence[Collector] = ()
    tables: Sequence[str] = ()
    only: frozenset[TableName] | None = None
    share: Share | None = None


def verify(options: Settings, request: Request) -> Iterator[TableReport]:
    """Yields a report of each table as soon as it is compared. Raises `Usage` without `[source]
    upstream`, `Stop` if R is not set or the upstream no longer has R - 1, `Unavailable`."""
    url = upstream_url(
        options,
        "without a TiDB, verify --topics, which replays the topics, or --against another target",
    )
    settled = set[Subject]()
    for number in range(ROUNDS):
        last = number == ROUNDS - 1
        with (
            one_state(options, request.sessions) as state,
            pinned(url, state.snapshot_ts),
            advising(CATCH_UP),
        ):
            work = _Round(options, request, state, settled)
            doubtful = list[TableReport]()
            for report in work.reports():
                # A DDL commits by itself, or is not seen by transactions that have already begun.
                if not report.equal and ddl_since(options, state.resolved_ts):
                    doubtful.append(report)
                else:
                    settled.add(report.subject)
                    yield report
        if not doubtful:
            return
        if last:
            raise Unavailable(
                f"{doubtful[0].name}: DDL came while its rows were read, {ROUNDS} times: "
                "verify again when fewer DDL come"
            )


class _Round:
    """The tables that are not `settled`, in one state of the target."""

    def __init__(
        self, options: Settings, request: Request, state: TargetState, settled: set[Subject]
    ) -> None:
        self._options = options
        self._request = request
        self._state = state
        self._settled = settled
        self._where = InTarget.by(options, state.targets[0])
        self._tables = TableMatcher(request.tables or ("*.*",), options.case_sensitive)

    def reports(self) -> Iterator[TableReport]:
        with ExitStack() as stack:
            sessions = Sessions(self._options, self._state, stack)
            with sessions.pair() as (session, _):
                upstream = [
                    defined(session, *name).table
                    for name in names(session, self._options)
                    if self._chosen(name)
                ]
            if not upstream and not any(map(self._chosen, self._state.known.destinations)):
                raise Stop("no table of the upstream passes [tables] filter, and --table if given")
            waiting = [each for each in upstream if (_name(each), False) not in self._settled]
            pairs = list[Pair]()
            for table in waiting:
                compared = self._pair(table)
                if isinstance(compared, TableReport):
                    yield compared
                else:
                    pairs.append(compared)
            yield from self._of_target(upstream)
            yield from self._compared(self._in_share(pairs, sessions), sessions)

    def _in_share(self, pairs: Sequence[Pair], sessions: Sessions) -> Sequence[Pair]:
        share = self._request.share
        if share is None:
            return pairs
        with sessions.pair() as (session, _):
            parts = [share.of(each, session) for each in pairs]
        return [each for each in parts if each is not None]

    def _chosen(self, name: TableName) -> bool:
        only = self._request.only
        return self._tables.matches(*name) and (only is None or name in only)

    def _pair(self, table: Table) -> Pair | TableReport:
        target = self._state.targets[0]
        if problem := self._state.set_aside_at(_name(table)):
            return self._problem(_name(table), "", problem)
        try:
            return pair(target, self._options, self._where, table)
        except NotInTarget as missing:
            loading = LoadNotes(target, self._options.changefeed).filled()
            problem = _unfinished(_name(table)) if _name(table) in loading else str(missing)
            return self._problem(_name(table), "", problem)
        except Stop as refusal:
            return self._problem(_name(table), "", f"cannot be compared: {reason(refusal, table)}")

    def _problem(self, table: TableName, relation: str, problem: str) -> TableReport:
        return TableReport(table, relation, self._state.resolved_ts, problem=problem)

    def _of_target(self, upstream: Sequence[Table]) -> Iterator[TableReport]:
        """Yields reports of rows and tables that only the target has."""
        reports = [*self._unknown_upstream(upstream)]
        if not self._request.tables and self._request.only is None:
            reports += self._of_no_shard(upstream)
            if not self._settled:  # in the first round
                self._warn_of_strangers(upstream)
        for report in reports:
            report = replace(report, of_target=True)
            if report.subject not in self._settled:
                yield report

    def _unknown_upstream(self, upstream: Sequence[Table]) -> Iterator[TableReport]:
        """Yields tables that the stream's rows went to, but that the upstream lacks at R - 1."""
        target = self._state.targets[0]
        there_too = {lower(_name(table)) for table in upstream} | {
            lower(name) for name, _ in self._settled
        }
        for name, destination in sorted(self._state.known.destinations.items()):
            if lower(name) in there_too or destination is None or self._where.of(name) is None:
                continue
            if not self._chosen(name):
                continue
            if self._where.shard(name) is None and target.describe(*destination) is not None:
                relation = target.quote(*destination)
                problem = f"the upstream has no such table, and the target has {relation}"
                yield self._problem(name, relation, problem)

    def _warn_of_strangers(self, upstream: Sequence[Table]) -> None:
        """Warns of tables that this changefeed did not fill, and that no report covers."""
        target, known = self._state.targets[0], self._state.known.destinations
        names = [*map(_name, upstream), *known]
        warn_of_strangers(target, self._options.changefeed, self._where, names)

    def _of_no_shard(self, upstream: Sequence[Table]) -> Iterator[TableReport]:
        """Yields rows of merged tables that no upstream table has."""
        target = self._state.readers[0]
        merged = defaultdict[tuple[TargetName, str], list[tuple[TableName, str]]](list)
        for name in map(_name, upstream):
            shard, destination = self._where.shard(name), self._where.of(name)
            if shard is not None and destination is not None:
                merged[destination, shard.column].append((name, shard.name))
        for (destination, column), shards in merged.items():
            described = target.describe(*destination)
            if described is None or column not in {each.name for each in described.columns}:
                continue  # each of its tables is reported
            relation = target.quote(*destination)
            known = ", ".join(string_literal(shard) for _, shard in shards)
            with target.errors():
                ((rows,),) = target.query(
                    f"SELECT count(*) FROM {relation} "  # noqa: S608
                    f"WHERE {target.quote(None, column)} NOT IN ({known})"
                )
            self._state.begin_again(target)
            if rows:
                problem = f"{relation} has {counted(rows, 'row')} of no upstream table"
                yield self._problem(shards[0][0], relation, problem)

    def _compared(self, pairs: Sequence[Pair], sessions: Sessions) -> Iterator[TableReport]:
        def compared(each: Pair) -> TableReport:
            with sessions.pair() as both:
                return self._report(each, *both)

        with ThreadPoolExecutor(len(self._state.readers)) as pool:
            running: set[Future[TableReport]] = {pool.submit(compared, each) for each in pairs}
            try:
                while running:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            except BaseException:
                for future in running:
                    future.cancel()
                sessions.end()
                raise

    def _report(self, both: Pair, upstream: UpstreamSession, target: Target) -> TableReport:
        state, request = self._state, self._request
        try:
            outcome = compare(both, upstream, target, request.most)
            for collector in request.collectors if outcome.differences else ():
                collector.add(both, outcome, upstream, target, state.resolved_ts)
        except TicdcError:
            if ddl := ddl_since(self._options, state.resolved_ts):
                problem = f"DDL {ddl} came while it was read"
                return self._problem(_name(both.table), both.layout.relation, problem)
            raise
        return TableReport.of(both, outcome, state.resolved_ts)


def _unfinished(name: TableName) -> str:
    return (
        "its load is not finished: finish it by ticdc-consumer load CONFIG --table "
        f"{'.'.join(name)}, then verify again"
    )


def _name(table: Table) -> TableName:
    return table.schema, table.name
