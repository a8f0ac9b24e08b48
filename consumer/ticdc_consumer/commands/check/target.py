"""Checks of the database."""

from collections.abc import Iterator
from dataclasses import replace

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, fail, ok, warn
from ticdc_consumer.commands.check.sample import Sample
from ticdc_consumer.commands.check.suggesting import left_out_by_filter, missing_table
from ticdc_consumer.cut.layouts import TableLayouts
from ticdc_consumer.cut.opening import starts_afresh
from ticdc_consumer.cut.upstream_definitions import add_with_upstream
from ticdc_consumer.ddl.generated_columns import left_out
from ticdc_consumer.errors import NoTable, problems_of
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.loading import LoadNotes
from ticdc_consumer.state.schema import OWN_TABLES, STATE_VERSION
from ticdc_consumer.state.store import Store
from ticdc_consumer.state.upgrade import OwnTables
from ticdc_consumer.targets.layout import Layout
from ticdc_consumer.targets.target import Target


def target(premises: Premises) -> Iterator[Finding]:
    url = sa.make_url(premises.options.target_url)
    opened = premises.open_target()
    yield ok("target", f"reached at {url.render_as_string()}")
    if (source := premises.options.write_source) is not None:
        yield ok("target", f"rows will be marked as replicated: tidb_cdc_write_source = {source}")
    own = OwnTables(opened).version()
    if own is not None and own.version < STATE_VERSION:
        yield ok(
            "checkpoint",
            f"the ticdc_* tables have version {own.version}; the first run of this release "
            f"migrates them to {STATE_VERSION}, and ends older consumers of all changefeeds",
        )
    checkpoint = premises.checkpoint
    if checkpoint is not None:
        reached = f"R = {with_time(checkpoint.resolved_ts)}"
        yield ok("checkpoint", reached if checkpoint.resolved_ts else "nothing is applied yet")
        store = Store(opened, premises.options.changefeed)
        for entry in store.ledger.pending():
            yield warn(
                "checkpoint",
                f"DDL {entry.id} of {entry.schema}.{entry.table} is pending: {entry.query}",
            )
        for table in store.quarantine.tables():
            stands = f"is quarantined at R {with_time(table.resolved_ts)}: {table.cause}"
            yield warn("checkpoint", f"{'.'.join(table.name)} {stands}")
    else:
        known = ", ".join(Store(opened, premises.options.changefeed).changefeeds())
        others = f"; the target knows {known}" if known else ""
        yield ok("checkpoint", f"none of {premises.options.changefeed}: a first start{others}")


def privileges(premises: Premises) -> Iterator[Finding]:
    """Checks that the checkpoint's tables exist or may be created."""
    opened = premises.target
    if opened is None:
        return
    with opened.errors():
        present = set(sa.inspect(opened.connection).get_table_names())
        if present >= OWN_TABLES:
            yield ok("privileges", "the checkpoint's tables exist")
            return
        allowed = opened.may_create_tables()
    if allowed:
        yield ok(
            "privileges", "this user may create tables, which a first run needs for its checkpoint"
        )
        return
    grant = opened.grant_to_create()
    if allowed is None:
        text = "it is not certain that this user may create the checkpoint's tables"
        offer = f", since roles and wildcards may allow it; if not, run {grant}" if grant else ""
        yield warn("privileges", f"{text}{offer}")
    else:
        text = "the checkpoint's tables are missing, and this user may not create them"
        yield fail("privileges", f"{text}; run {grant}" if grant else text)


def tables(premises: Premises) -> Iterator[Finding]:
    """Checks each table of the first messages, or defined since the beginning, against the
    target's: keys, collations, types, foreign keys, triggers."""
    opened, sample, options = premises.target, premises.sample, premises.options
    if opened is None or sample is None:
        return
    rules = TableFilter(options.filter, case_sensitive=options.case_sensitive)
    checked = TableLayouts(options, opened)
    if premises.checkpoint is not None:
        where = InTarget.by(options, opened)
        checked.learn(Store(opened, options.changefeed, where=where).ledger)
        checked.fill(LoadNotes(opened, options.changefeed).filled())
    checked.definitions = {**sample.created, **checked.definitions}
    sources = {**checked.definitions, **sample.tables}
    if not sources:
        yield warn(
            "tables", "no rows have been read yet, so it is not known which tables are needed"
        )
        return
    yield from left_out_by_filter(options, rules, sources, sample.rows)
    start = _start(premises)
    for name in sorted(sources):
        if rules.matches(*name) and not sample.is_removed_before(name, start):
            yield from _table(premises, opened, sample, checked, sources[name])


def _start(premises: Premises) -> int:
    """The commit_ts below which changes are not applied."""
    options, state = premises.options, premises.checkpoint
    if state is None or starts_afresh(options, state):
        return 0 if options.from_ts is None else options.from_ts + 1
    return state.resolved_ts


_LOAD = "ticdc-consumer load CONFIG creates and fills it"


def _table(
    premises: Premises, opened: Target, sample: Sample, checked: TableLayouts, source: Table
) -> Iterator[Finding]:
    name = source.schema, source.name
    subject = f"table {name[0]}.{name[1]}"
    state, from_ts, start = premises.checkpoint, premises.options.from_ts, _start(premises)
    empty_at = state.empty_at if state and state.resolved_ts else (None if from_ts else 0)
    definition = checked.definitions.get(name)
    try:
        relation = opened.locate(*checked.route(*name))
        existing = opened.describe(*relation)
        if definition is not None:
            for column in left_out(opened, definition, existing):
                yield warn(subject, column.text())
        if existing is None and sample.created_ts.get(name, -1) >= start:
            checked.claim(name)
            opened.create_table(*relation, sample.created[name])
            if name in sample.tables:
                _require_rows_fit(premises, checked, source, sample.created[name])
            yield ok(subject, "will be created by its own CREATE TABLE, which is in the log")
            return
        snapshot_ts = start - 1 if start else None
        url, deletes_only = premises.options.upstream_url, name in sample.deletes_only
        add_with_upstream(checked, source, deletes_only, empty_at, url, snapshot_ts)
        layout = checked.layouts[checked.shapes[name][0]]
        _probe(opened, layout)
        yield ok(subject, _described(layout))
    except NoTable as error:
        of_load = premises.options.upstream_url or premises.options.dump_url
        if of_load and not start:
            yield warn(subject, f"it is missing in the target: {_LOAD}")
            return
        if premises.options.from_ts and start == premises.options.from_ts + 1:
            created_ts = sample.created_ts.get(name)
            yield fail(subject, _not_in_snapshot(opened.quote(*relation), start - 1, created_ts))
            return
        offer = missing_table(opened, relation, definition, source) if error.may_be_empty else ""
        yield fail(subject, str(error).removeprefix(f"{name[0]}.{name[1]}: ") + offer)
    except TicdcError as error:
        for problem in problems_of(error):
            yield fail(subject, problem.removeprefix(f"{name[0]}.{name[1]}: "))


def _require_rows_fit(
    premises: Premises, checked: TableLayouts, source: Table, created: Table
) -> None:
    """Raises `Stop` if rows of a table that is created in the meantime cannot be applied to it."""
    key = source.handle_key or created.handle_key
    checked.require_identified(replace(source, handle_key=key))
    protocol_of(premises.options).exactness.require_exact(source, premises.options.rules)


def _not_in_snapshot(relation: str, from_ts: int, created_ts: int | None) -> str:
    created = "" if created_ts is None else f"; its CREATE TABLE is older ({with_time(created_ts)})"
    return (
        f"the target has no table {relation}, which the snapshot of {with_time(from_ts)} should "
        f"contain{created}: restore it from the snapshot, or leave it out by [tables] filter"
    )


def _described(layout: Layout) -> str:
    if not layout.key:
        return f"goes to {layout.relation}, without a key: at least once"
    way = "upsert" if layout.upsert else "DELETE, then INSERT, because it has further unique keys"
    return f"goes to {layout.relation}, key ({', '.join(layout.key)}), by {way}"


def _probe(opened: Target, layout: Layout) -> None:
    """Tests the rights to change the table, with statements that touch no row and are undone."""
    columns = ", ".join(
        column
        for column, codec in zip(layout.columns, layout.codecs, strict=True)
        if codec != "skip"
    )
    opened.execute(opened.begin_statement)
    try:
        with opened.errors(layout):
            opened.execute(f"DELETE FROM {layout.relation} WHERE 1 = 0")  # noqa: S608
            opened.execute(
                f"INSERT INTO {layout.relation} ({columns}) "  # noqa: S608
                f"SELECT {columns} FROM {layout.relation} WHERE 1 = 0"
            )
    finally:
        opened.execute("ROLLBACK")
