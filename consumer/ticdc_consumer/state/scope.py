"""What gives R its meaning: a checkpoint is valid only for the scope that it was reached with."""

import hashlib
import json

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Stop
from ticdc_consumer.source import scope_of


def scope_text(options: Options) -> str:
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


def scope_hash(options: Options) -> str:
    return hashlib.sha256(scope_text(options).encode()).hexdigest()


def filter_before(stored_text: str, options: Options) -> tuple[str, ...] | None:
    """The stored scope's filter, if the options have another filter, and nothing else changed."""
    before, now = json.loads(stored_text), json.loads(scope_text(options))
    differing = {name for name in before | now if before.get(name) != now.get(name)}
    return tuple(before["filter"]) if differing == {"filter"} else None


def check_scope(
    changefeed: str, resolved_ts: int, stored: str, stored_text: str, options: Options
) -> None:
    """Raises `Stop`, naming what changed, if the options have another scope than the stored one."""
    if stored == scope_hash(options):
        return
    before = json.loads(stored_text)
    now = json.loads(scope_text(options))
    changed = ", ".join(
        f"{name} was {json.dumps(before.get(name))} and is {json.dumps(now.get(name))}"
        for name in sorted(before | now)
        if before.get(name) != now.get(name)
    )
    wider = ""
    if filter_before(stored_text, options) is not None:
        wider = (
            "if the filter was only widened, load the new tables: ticdc-consumer load "
            "CONFIG --table SCHEMA.TABLE; "
        )
    raise Stop(
        f"the checkpoint of changefeed {changefeed} at R = {resolved_ts} was reached with other "
        f"settings: {changed}. Set them back; {wider}or start under another `changefeed` "
        f"name with --from-ts {resolved_ts - 1}, once tables that are new to the target hold "
        f"the upstream's rows of tidb_snapshot = {resolved_ts - 1}"
    )
