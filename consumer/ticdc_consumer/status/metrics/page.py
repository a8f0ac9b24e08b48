"""The page at `/` for an operator's browser: a consumer's activity. It is rendered here completely,
and works without scripts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from types import MappingProxyType

from ticdc_encoder.errors import visible
from ticdc_encoder.tso import duration, seconds, with_time

from ticdc_consumer.errors import DDL_DONE, WaitingDdl
from ticdc_consumer.status.activity.activity import (
    Activity,
    PartitionActivity,
    SetAsideTable,
    StageSeconds,
)
from ticdc_consumer.status.causes.of_runs import RELEASE
from ticdc_consumer.status.causes.pace import UNDER_WAY, shares, speed
from ticdc_consumer.status.causes.situation import Situation, at_stage_for
from ticdc_consumer.status.causes.table import explain
from ticdc_consumer.status.metrics.definitions import OTHERS
from ticdc_consumer.status.metrics.health import unready
from ticdc_consumer.status.metrics.history import LagSample
from ticdc_consumer.status.metrics.plot import bar, lag_plot
from ticdc_consumer.status.metrics.style import (
    CONTENT_SECURITY_POLICY,
    NOT_READY,
    READY,
    STOPPED,
    STYLE,
    PageState,
    icon,
)

REFRESH = 15
"""Seconds after which a browser reloads."""
MOST_LINES = 50
"""Most lines of a table."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Refresh": str(REFRESH),
}

_TO_COPY = re.compile(
    r"\bticdc-(?:consumer|encoder) \S.*|(?<=in the target, perhaps: ).*", re.DOTALL
)
"""A command of ours, or a statement, at the end of an advice."""
_STAGES: Mapping[str, str] = {
    "plan": "planning",
    "read": "reading",
    "load": "the transaction",
    "ddl": "DDL",
}


def document(
    activity: Activity,
    samples: Sequence[LagSample],
    ready_lag: float,
    rates: Mapping[str, float] = MappingProxyType({}),
) -> str:
    """Returns HTML that is also XML. `samples` are those of the last hour, `rates` rows per second
    by table."""
    name = _text(activity.changefeed or "ticdc-consumer")
    reason = unready(activity, ready_lag)
    state = _state(activity, reason)
    sections = (
        _why(activity, state, reason),
        _section("Position", _figures(activity) + _position(activity), "wide"),
        _section("Lag", _lag(activity, samples, ready_lag), "wide"),
        _section("Where the time goes", _time(activity)),
        _section("DDL", _ddl(activity)),
        *([_section("Quarantined", _set_aside(activity), "wide")] if activity.set_aside else []),
        _section("Partitions", _partitions(activity, reason is None)),
        _section("Tables", _tables(activity, rates)),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f'<link rel="icon" href="{icon(state.color)}"/>'
        f"<title>{name}: {state.word}</title><style>{STYLE}</style></head>"
        f'<body><header><h1>{name} <span class="state {state.name}">{state.word}</span></h1>'
        f"<p>ticdc-consumer {_text(activity.release)}, {_text(activity.who)}, "
        f"at {_time_of(activity.at)}</p></header>"
        f"<main>{''.join(sections)}</main>"
        f"<footer><p>This page is read-only and reloads every {REFRESH} s. CONFIG stands for your "
        "settings file. <code>ticdc-consumer why CONFIG</code> also asks the target and the "
        'brokers. For programs: <a href="/metrics">/metrics</a>, <a href="/healthz">/healthz</a>, '
        '<a href="/readyz">/readyz</a>.</p></footer></body></html>\n'
    )


def _state(activity: Activity, reason: str | None) -> PageState:
    if activity.stage == "stopped":
        return STOPPED
    return READY if reason is None else NOT_READY


def _why(activity: Activity, state: PageState, reason: str | None) -> str:
    """The section on the cause; `reason` is why the consumer is not ready."""
    diagnosis = explain(Situation.of(activity))
    evidence = _list(map(_text, diagnosis.evidence))
    advice = _list(map(_to_copy, diagnosis.advice))
    ready = "The consumer is ready." if reason is None else f"Not ready: {_text(reason)}"
    return (
        f'<section class="why {state.name}"><h2>Why</h2>'
        f'<p class="lead">{_text(diagnosis.sentence)}</p>{evidence}'
        f'<h2>What to do</h2>{advice}<p class="soft">{ready}</p></section>'
    )


def _figures(activity: Activity) -> str:
    """The figures that are read first, and from afar."""
    situation, committed = Situation.of(activity), activity.committed
    pace = speed(situation)
    behind = sum(max(0, (p.end_offset or 0) - p.restart_offset) for p in activity.partitions)
    figures = [
        ("lag", duration(situation.lag) if activity.resolved_ts else "–"),
        ("last commit", f"{duration(max(0.0, activity.at - committed))} ago" if committed else "–"),
        ("messages after R", f"{behind:,}" if activity.partitions else "–"),
    ]
    if pace is not None and pace.rate_in is not None and pace.rate_out is not None:
        figures.append(("messages/s arriving", f"{pace.rate_in:,.0f}"))
        figures.append(("messages/s applied", f"{pace.rate_out:,.0f}"))
    cells = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)
    return f'<dl class="figures">{cells}</dl>'


def _position(activity: Activity) -> str:
    ts, error = activity.resolved_ts, activity.error
    lines = [
        ("R", _text(with_time(ts)) if ts else "not known yet"),
        ("stage", _text(activity.sentence)),
        ("generation", str(activity.generation)),
    ]
    if activity.cut is not None:
        lines.append(("cut", f"up to {_text(with_time(activity.cut.end_ts))}"))
    if error is not None:
        lines.append(("last error", f"{_text(error.text)} ({_time_of(error.at)})"))
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in lines)}</dl>"


def _lag(activity: Activity, samples: Sequence[LagSample], ready_lag: float) -> str:
    now = LagSample.of(activity)
    if now is None:
        return _soft("R is not known yet.")
    return lag_plot((*samples, now), activity.at, ready_lag) or _soft("No samples yet.")


def _time(activity: Activity) -> str:
    lately = shares(activity)
    if not lately:
        return _soft("No cut was applied yet.")
    now = UNDER_WAY.get(activity.stage)
    took = f' <span class="state ready">now, {duration(at_stage_for(activity))}</span>'
    rows = [
        (
            f"<td>{_text(name)}{took if stage == now else ''}</td>",
            f"<td>{bar(lately[stage])}</td>",
            _number(f"{lately[stage]:.0%}"),
            _number(f"{activity.seconds.get(stage, StageSeconds()).sum:,.1f} s"),
        )
        for stage, name in _STAGES.items()
    ]
    head = ("stage", "over the last minutes", "#share", "#since the start")
    busy = _soft("Shares of the time that cuts took. Idle time between cuts does not count.")
    return busy + _table(head, rows)


def _ddl(activity: Activity) -> str:
    pending = "".join(map(_pending, activity.ddls)) or _soft("No DDL waits for an operator.")
    last = activity.last_ddl
    if last is None:
        return pending + _soft("No DDL has come since the start.")
    reason = f": {_text(last.reason)}" if last.reason else ""
    return (
        f"{pending}<p>The last one, {_text(last.id)}, was {_text(last.outcome)} at "
        f"{_time_of(last.at)}{reason}</p><code>{_text(last.query)}</code>"
    )


def _set_aside(activity: Activity) -> str:
    return "".join(map(_waiting_table, activity.set_aside[:MOST_LINES])) + _rest(
        len(activity.set_aside)
    )


def _waiting_table(table: SetAsideTable) -> str:
    command = RELEASE.format(config="CONFIG", table=table.table)
    return (
        f"<p>{_text(table.table)} has waited at R {_text(with_time(table.resolved_ts))} since "
        f"{_time_of(table.at)}; {table.waiting:,} of its changes wait: {_text(table.cause)}</p>"
        "<p>Fix the cause, stop the consumer, then apply what waits:</p>"
        f"<code>{_text(command)}</code>"
    )


def _pending(ddl: WaitingDdl) -> str:
    perhaps = "".join(
        f"<p>In the target, perhaps:</p><code>{_text(sql)}</code>" for sql in ddl.suggestion
    )
    perhaps += "".join(f"<p>But {_text(caveat)}</p>" for caveat in ddl.caveats("CONFIG"))
    command = DDL_DONE.format(config="CONFIG", id=ddl.id)
    return (
        f"<p>{_text(ddl.id)} waits for an operator: {_text(ddl.reason)}</p>{perhaps}"
        "<p>Make the change in the target yourself, then continue:</p>"
        f"<code>{_text(command)}</code>"
    )


def _partitions(activity: Activity, ready: bool) -> str:
    """The section on partitions. If the consumer is `ready`, one that holds R back is no
    trouble."""
    if not activity.partitions:
        return _soft("No partition is known yet.")
    least = _least_mark(activity)
    # Partitions that hold R back come first.
    ordered = sorted(
        activity.partitions,
        key=lambda each: (not _holds_back(each, least), each.topic, each.partition),
    )
    holding = "ready" if ready else "not-ready"
    rows = [
        _partition(activity, each, holding if _holds_back(each, least) else "")
        for each in ordered[:MOST_LINES]
    ]
    head = ("partition", "#next offset", "#end", "#newest resolved ts")
    followed = _soft(
        "TiCDC sends each resolved ts to every partition; those of partition 0 are read."
    )
    return followed + _table(head, rows) + _rest(len(ordered))


def _least_mark(activity: Activity) -> int | None:
    """The resolved ts that R waits for; None if it waits for none: R rises to the least of all
    topics, and is not yet there while a cut is applied."""
    marks = [each.resolved_ts for each in activity.partitions if each.partition == 0]
    known = any(marks)
    return min(marks) if known and min(marks) <= activity.resolved_ts else None


def _holds_back(partition: PartitionActivity, least: int | None) -> bool:
    return partition.partition == 0 and partition.resolved_ts == least


def _partition(activity: Activity, each: PartitionActivity, holding: str) -> tuple[str, ...]:
    ts = each.resolved_ts
    age = f"{duration(max(0.0, activity.at - seconds(ts)))} old" if ts else "not read yet"
    words = "R waits for its next" if holding == "ready" else "holds R back"
    mark = f' <span class="state {holding}">{words}</span>' if holding else ""
    return (
        f"<td>{_text(f'{each.topic}[{each.partition}]')}{mark}</td>",
        _number(f"{each.restart_offset:,}"),
        _number("" if each.end_offset is None else f"{each.end_offset:,}"),
        _number(age if each.partition == 0 else "–"),
    )


def _tables(activity: Activity, rates: Mapping[str, float]) -> str:
    """The section on tables, ordered by rate, then by rows; the most first."""
    if not activity.tables:
        return _soft("No row was applied since the start.")
    ordered = sorted(
        activity.tables.items(),
        key=lambda item: (-rates.get(item[0], 0.0), -sum(item[1]), item[0]),
    )
    rows = [
        (
            _cell(name or OTHERS),
            _number(f"{rates[name]:,.0f}" if name in rates else ""),
            _number(f"{written:,}"),
            _number(f"{deleted:,}"),
        )
        for name, (deleted, written) in ordered[:MOST_LINES]
    ]
    head = ("upstream table", "#rows/s", "#rows written", "#rows deleted")
    since = _soft("Rows per second over the last minute; written and deleted since the start.")
    return since + _table(head, rows) + _rest(len(ordered))


def _rest(count: int) -> str:
    more = count - MOST_LINES
    return _soft(f"{more:,} more are in /metrics.") if more > 0 else ""


def _section(heading: str, body: str, css_class: str = "") -> str:
    opening = f'<section class="{css_class}">' if css_class else "<section>"
    return f"{opening}<h2>{heading}</h2>{body}</section>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells of `rows` are markup; the head of a column of numbers begins with `#`."""
    names = "".join(map(_head, head))
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"


def _head(name: str) -> str:
    number = ' class="number"' if name.startswith("#") else ""
    return f'<th scope="col"{number}>{name.removeprefix("#")}</th>'


def _list(items: Iterable[str]) -> str:
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{lines}</ul>" if lines else ""


def _to_copy(advice: str) -> str:
    """The advice as markup, with the text to copy at its end set apart."""
    end = _TO_COPY.search(advice)
    if end is None:
        return _text(advice)
    return f"{_text(advice[: end.start()])}<code>{_text(end[0])}</code>"


def _cell(text: str) -> str:
    return f"<td>{_text(text)}</td>"


def _number(text: str) -> str:
    return f'<td class="number">{_text(text)}</td>'


def _soft(text: str) -> str:
    return f'<p class="soft">{_text(text)}</p>'


def _text(text: str) -> str:
    """A foreign text as markup: escaped, without characters that hide or move their neighbours."""
    return escape(visible(text))


def _time_of(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
