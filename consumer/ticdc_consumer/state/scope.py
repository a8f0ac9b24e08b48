"""The scope that gives R its meaning: a checkpoint is valid only for the scope it was reached
with."""

import hashlib
import json
from collections.abc import Collection

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import LOAD_ANEW, Stop
from ticdc_consumer.source import scope_of


def scope_text(options: Settings) -> str:
    """The settings that decide which changes are below R, as canonical JSON; no secrets."""
    return json.dumps(
        {
            "topics": sorted(set(options.topics)),
            "filter": list(options.filter),
            "case_sensitive": options.case_sensitive,
            "route": [list(rule) for rule in options.route.items()],
            **({"merge": [list(rule) for rule in options.merge.items()]} if options.merge else {}),
            "protocol": options.protocol,
            "time_zone": options.time_zone,
            **scope_of(options),
        },
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )


def scope_hash(options: Settings) -> str:
    return hashlib.sha256(scope_text(options).encode()).hexdigest()


def filter_before(stored_text: str, options: Settings) -> tuple[str, ...] | None:
    """The stored scope's filter, if only the filter changed in the options; else None."""
    before, now = json.loads(stored_text), json.loads(scope_text(options))
    differing = {name for name in before | now if before.get(name) != now.get(name)}
    return tuple(before["filter"]) if differing == {"filter"} else None


def check_scope(
    changefeed: str, resolved_ts: int, stored: str, stored_text: str, options: Settings
) -> None:
    """Raises `Stop`, naming the changes, if the options have another scope than the stored one."""
    if stored == scope_hash(options):
        return
    before = json.loads(stored_text)
    now = json.loads(scope_text(options))
    names = {name for name in before | now if before.get(name) != now.get(name)}
    changed = ", ".join(
        f"{name} was {json.dumps(before.get(name))} and is {json.dumps(now.get(name))}"
        for name in sorted(names)
    )
    raise Stop(
        f"the checkpoint of changefeed {changefeed} at R = {resolved_ts} was reached with other "
        f"settings: {changed}. Set them back; {_way_on(names, resolved_ts - 1)}"
    )


_SELECTION = {"filter", "case_sensitive", "route", "merge"}
"""Settings that decide which tables of the target hold the rows; the changefeed stays the same."""


def _way_on(changed: Collection[str], snapshot_ts: int) -> str:
    """Advice for continuing with the current settings."""
    if "time_zone" in changed:
        # Either the existing rows or the new ones would have the times of another zone.
        return f"or, to continue with them, {LOAD_ANEW}"
    wider = ""
    if changed == {"filter"}:
        wider = (
            "if the filter was only widened, load the new tables: ticdc-consumer load "
            "CONFIG --table SCHEMA.TABLE; "
        )
    needs = ["`ticdc-consumer status CONFIG` shows no pending DDL and no quarantined table"]
    if _SELECTION.intersection(changed):
        needs.append(
            "tables that are new to the target hold the upstream's rows of "
            f"tidb_snapshot = {snapshot_ts}"
        )
    if not _SELECTION.issuperset(changed):
        needs.append(f"the new changefeed's start-ts is {snapshot_ts} or less")
    return (
        f"{wider}or, to continue with them, first: ticdc-consumer forget CONFIG, then: "
        f"ticdc-consumer run CONFIG --from-ts {snapshot_ts}; only if {', and '.join(needs)}; "
        f"else {LOAD_ANEW}"
    )
