"""The page at `/`: what a consumer is at, for an operator's browser. It is made here as a whole,
and works without scripts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from ticdc_encoder.errors import visible
from ticdc_encoder.tso import duration, seconds, with_time

from ticdc_consumer.state.activity.activity import (
    Activity,
    PartitionActivity,
    SetAsideTable,
    StageSeconds,
    WaitingDdl,
)
from ticdc_consumer.state.causes.of_runs import DDL_DONE, RELEASE
from ticdc_consumer.state.causes.pace import shares
from ticdc_consumer.state.causes.situation import Situation
from ticdc_consumer.state.causes.table import explain
from ticdc_consumer.state.metrics.definitions import OTHERS
from ticdc_consumer.state.metrics.health import unready
from ticdc_consumer.state.metrics.history import LagSample
from ticdc_consumer.state.metrics.plot import bar, lag_plot
from ticdc_consumer.state.metrics.style import CONTENT_SECURITY_POLICY, STYLE

REFRESH = 15
"""Seconds after which a browser asks again."""
MOST_LINES = 50
"""Of a table."""

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Refresh": str(REFRESH),
}

_COMMAND = re.compile(r"\bticdc-(?:consumer|encoder) \S.*", re.DOTALL)
_STAGES: Mapping[str, str] = {
    "plan": "planning",
    "read": "reading",
    "load": "the transaction",
    "ddl": "DDL",
}


def document(activity: Activity, samples: Sequence[LagSample], ready_lag: float) -> str:
    """HTML that is XML, too. `samples` are those of the last hour."""
    title = _text(activity.changefeed or "ticdc-consumer")
    sections = (
        _why(activity, unready(activity, ready_lag)),
        _section("Position", _position(activity)),
        _section("Lag", _lag(activity, samples)),
        _section("Where the time goes", _time(activity)),
        _section("DDL", _ddl(activity)),
        *([_section("Set aside", _set_aside(activity))] if activity.set_aside else []),
        _section("Partitions", _partitions(activity)),
        _section("Tables", _tables(activity)),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>{title}</title><style>{STYLE}</style></head>"
        f"<body><header><h1>{title}</h1>"
        f"<p>ticdc-consumer {_text(activity.release)}, {_text(activity.who)}, "
        f"at {_time_of(activity.at)}</p></header>"
        f"<main>{''.join(sections)}</main>"
        f"<footer><p>The page is read-only, and comes again every {REFRESH} s. CONFIG stands for "
        "your file of settings. What target and brokers show beside this, "
        "<code>ticdc-consumer why CONFIG</code> asks. For programs: "
        '<a href="/metrics">/metrics</a>, <a href="/healthz">/healthz</a>, '
        '<a href="/readyz">/readyz</a>.</p></footer></body></html>\n'
    )


def _why(activity: Activity, reason: str | None) -> str:
    """`reason` is why the consumer is not ready."""
    diagnosis = explain(Situation.of(activity))
    evidence = _list(map(_text, diagnosis.evidence))
    advice = _list(map(_with_command, diagnosis.advice))
    ready = "The consumer is ready." if reason is None else f"Not ready: {_text(reason)}"
    return (
        f'<section class="why{" ill" if reason else ""}"><h2>Why</h2>'
        f'<p class="lead">{_text(diagnosis.sentence)}</p>{evidence}'
        f'<h2>What to do</h2>{advice}<p class="soft">{ready}</p></section>'
    )


def _position(activity: Activity) -> str:
    ts, committed, error = activity.resolved_ts, activity.committed, activity.error
    lines = [
        ("R", _text(with_time(ts)) if ts else "not known yet"),
        ("lag", duration(Situation.of(activity).lag) if ts else "not known yet"),
        ("last commit", _time_of(committed) if committed else "none yet"),
        ("stage", _text(activity.sentence)),
        ("generation", str(activity.generation)),
    ]
    if activity.cut is not None:
        lines.append(("cut", f"up to {_text(with_time(activity.cut.end_ts))}"))
    if error is not None:
        lines.append(("last error", f"{_text(error.text)} ({_time_of(error.at)})"))
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{value}</dd>' for name, value in lines)}</dl>"


def _lag(activity: Activity, samples: Sequence[LagSample]) -> str:
    now = LagSample.of(activity)
    if now is None:
        return _soft("R is not known yet.")
    plot = lag_plot((*samples, now), activity.at)
    return f'<p class="lead">{duration(now.lag)}</p>{plot or _soft("No sample of it yet.")}'


def _time(activity: Activity) -> str:
    lately = shares(activity)
    if not lately:
        return _soft("No cut was applied yet.")
    rows = [
        (
            _cell(name),
            f"<td>{bar(lately[stage])}</td>",
            _number(f"{lately[stage]:.0%}"),
            _number(f"{activity.seconds.get(stage, StageSeconds()).sum:,.1f} s"),
        )
        for stage, name in _STAGES.items()
    ]
    return _table(("stage", "over the last minutes", "share", "since the start"), rows)


def _ddl(activity: Activity) -> str:
    pending = "".join(map(_pending, activity.ddls)) or _soft("No DDL waits for an operator.")
    last = activity.last_ddl
    if last is None:
        return pending + _soft("No DDL has come since the start.")
    reason = f": {_text(last.reason)}" if last.reason else ""
    return (
        f"{pending}<p>The last one, {_text(last.id)}, is {_text(last.outcome)} since "
        f"{_time_of(last.at)}{reason}</p><code>{_text(last.query)}</code>"
    )


def _set_aside(activity: Activity) -> str:
    return "".join(map(_waiting_table, activity.set_aside[:MOST_LINES])) + _rest(
        len(activity.set_aside)
    )


def _waiting_table(table: SetAsideTable) -> str:
    command = RELEASE.format(config="CONFIG", table=table.table)
    return (
        f"<p>{_text(table.table)} stands at R {_text(with_time(table.resolved_ts))} since "
        f"{_time_of(table.at)}; {table.waiting:,} of its changes wait: {_text(table.cause)}</p>"
        f"<p>mend the cause, stop the consumer, then:</p><code>{_text(command)}</code>"
    )


def _pending(ddl: WaitingDdl) -> str:
    perhaps = "".join(f"<p>perhaps by:</p><code>{_text(sql)}</code>" for sql in ddl.suggestion)
    command = DDL_DONE.format(config="CONFIG", id=ddl.id)
    return (
        f"<p>{_text(ddl.id)} waits for an operator: {_text(ddl.reason)}</p>{perhaps}"
        f"<p>do its work in the target, then:</p><code>{_text(command)}</code>"
    )


def _partitions(activity: Activity) -> str:
    if not activity.partitions:
        return _soft("No partition is known yet.")
    least = _least_mark(activity)
    # Those that hold R back come first; the others are sorted already.
    ordered = sorted(activity.partitions, key=lambda each: not _holds_back(each, least))
    rows = [_partition(activity, each, _holds_back(each, least)) for each in ordered[:MOST_LINES]]
    head = ("partition", "next offset", "end", "newest resolved ts", "")
    return _table(head, rows) + _rest(len(ordered))


def _least_mark(activity: Activity) -> int | None:
    """The resolved ts that R waits for to rise, None if it waits for none: R rises to the least of
    those of all topics, and is not yet there while a cut is applied."""
    marks = [each.resolved_ts for each in activity.partitions if each.partition == 0]
    known = any(marks)
    return min(marks) if known and min(marks) <= activity.resolved_ts else None


def _holds_back(partition: PartitionActivity, least: int | None) -> bool:
    return partition.partition == 0 and partition.resolved_ts == least


def _partition(activity: Activity, each: PartitionActivity, holds: bool) -> tuple[str, ...]:
    ts = each.resolved_ts
    age = f"{duration(max(0.0, activity.at - seconds(ts)))} old" if ts else "not read yet"
    return (
        _cell(f"{each.topic}[{each.partition}]"),
        _number(f"{each.restart_offset:,}"),
        _number("" if each.end_offset is None else f"{each.end_offset:,}"),
        _number(age if each.partition == 0 else ""),
        _cell("holds R back" if holds else ""),
    )


def _tables(activity: Activity) -> str:
    """By rows, the most first."""
    if not activity.tables:
        return _soft("No row was applied since the start.")
    ordered = sorted(activity.tables.items(), key=lambda item: (-sum(item[1]), item[0]))
    rows = [
        (_cell(name or OTHERS), _number(f"{written:,}"), _number(f"{deleted:,}"))
        for name, (deleted, written) in ordered[:MOST_LINES]
    ]
    head = ("upstream table", "rows written", "rows deleted")
    return _soft("Since the start.") + _table(head, rows) + _rest(len(ordered))


def _rest(count: int) -> str:
    more = count - MOST_LINES
    return _soft(f"{more:,} more are in /metrics.") if more > 0 else ""


def _section(heading: str, body: str) -> str:
    return f"<section><h2>{heading}</h2>{body}</section>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The cells of `rows` are markup."""
    names = "".join(f'<th scope="col">{name}</th>' for name in head)
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"


def _list(items: Iterable[str]) -> str:
    lines = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{lines}</ul>" if lines else ""


def _with_command(advice: str) -> str:
    """A command of ours that it ends with is set apart, to be copied."""
    command = _COMMAND.search(advice)
    if command is None:
        return _text(advice)
    return f"{_text(advice[: command.start()])}<code>{_text(command[0])}</code>"


def _cell(text: str) -> str:
    return f"<td>{_text(text)}</td>"


def _number(text: str) -> str:
    return f'<td class="number">{_text(text)}</td>'


def _soft(text: str) -> str:
    return f'<p class="soft">{_text(text)}</p>'


def _text(text: str) -> str:
    """A text of others: no markup, no character that hides or moves what is beside it."""
    return escape(visible(text))


def _time_of(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
