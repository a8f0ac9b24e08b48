"""Golden variants beside what the encoder would make of the same changes."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats import FORMATS

from support.golden import SCENARIOS, Variant, scenario
from support.golden_changes import ddls, row_change, table_at


def variants(protocol: str, *scenarios: str) -> list[tuple[str, str]]:
    """(scenario, variant) of all Kafka variants of a protocol."""
    return [
        (name, variant.name)
        for name in scenarios or SCENARIOS
        for variant in scenario(name).variants.values()
        if variant.sink_uri.startswith("kafka:") and protocol_of(variant) == protocol
    ]


def _uri(variant: Variant) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(variant.sink_uri).query))


def protocol_of(variant: Variant) -> str:
    return _uri(variant)["protocol"]


def options_of(variant: Variant) -> Any:
    """The format options that the variant's sink URI and configuration amount to."""
    uri, sink = _uri(variant), tomllib.loads(variant.config_toml).get("sink", {})
    large = sink.get("kafka-config", {}).get("large-message-handle", {})
    flags = ("enable-tidb-extension", "content-compatible", "output-row-key")
    switches = {name.replace("-", "_"): uri.get(name) == "true" for name in flags}
    handle = large.get("large-message-handle-option", "none")
    common = {
        "only_output_updated_columns": uri.get("only-output-updated-columns") == "true",
        "delete_only_output_handle_key_columns": sink.get(
            "delete-only-output-handle-key-columns", False
        ),
        "time_zone": variant.server_tz,
        "compression": large.get("large-message-handle-compression", "none"),
        "large_message_handle_option": "none" if handle == "claim-check" else handle,
        "max_message_bytes": int(uri["max-message-bytes"]),
        "new_architecture": not variant.name.startswith("classic."),
    }
    batches = {
        "max_batch_size": int(uri.get("max-batch-size", 16)),
        "output_old_value": sink.get("open", {}).get("output-old-value", True),
    }
    if uri["protocol"] == "canal-json":
        return FORMATS["canal-json"].Options(**common, **switches)
    return FORMATS["open-protocol"].Options(**common, **batches)


Fact = tuple[int, str, str, str, tuple[tuple[str, Value], ...]]


@dataclass(frozen=True)
class Upstream:
    """A scenario's changes; `before` and `after` by (commit_ts, schema, table, key)."""

    changes: tuple[RowChange, ...]
    before: Mapping[tuple[Any, ...], RowChange]
    after: Mapping[tuple[Any, ...], RowChange]
    kinds: Mapping[tuple[int, str, str, str], int]

    def whole(self, name: str, decoded: RowChange) -> RowChange:
        """The decoded change as the encoder was given it: the true table, whole rows in UTC.

        The golden data prints FLOAT with six digits only: those values are the decoded ones.
        """
        table = true_table(name, decoded)
        before, after = decoded.before, decoded.after
        if table.handle_key:
            old = None if before is None else self._row(self.before, table, decoded, before, after)
            new = None if after is None else self._row(self.after, table, decoded, after, None)
            before = None if old is None else old.before
            after = None if new is None else new.after
            before = _floats(table, before, decoded.before)
            after = _floats(table, after, decoded.after)
        return replace(
            decoded,
            table=table,
            before=before,
            after=after,
            incomplete=decoded.claim_check is not None,
        )

    def _row(
        self,
        images: Mapping[tuple[Any, ...], RowChange],
        table: Table,
        decoded: RowChange,
        row: Row,
        other: Row | None,
    ) -> RowChange:
        key = _key(table, {**(other or {}), **row})
        return images[decoded.commit_ts, table.schema, table.name, key]


def _key(table: Table, row: Row | None) -> tuple[Value, ...]:
    assert row is not None
    return tuple(row[name] for name in table.handle_key)


def _floats(table: Table, whole: Row | None, decoded: Row | None) -> Row | None:
    if whole is None or decoded is None:
        return whole
    return {
        name: decoded[name]
        if name in decoded and table.column(name).type.name == "float"
        else value
        for name, value in whole.items()
    }


@cache
def _true_table(name: str, schema: str, table: str, ts: int) -> Table:
    return table_at(name, schema, table, ts)


def true_table(name: str, change: RowChange) -> Table:
    """The upstream's table behind a decoded change."""
    return _true_table(name, change.table.schema, change.table.name, change.commit_ts)


@cache
def upstream(name: str) -> Upstream:
    told = scenario(name)
    changes = tuple(row_change(name, change) for change in told.changes)
    before, after = {}, {}
    for change in changes:
        table = change.table
        place = (change.commit_ts, table.schema, table.name)
        if not table.handle_key:
            continue
        if change.before is not None:
            before[*place, _key(table, change.before)] = change
        if change.after is not None:
            after[*place, _key(table, change.after)] = change
    kinds = {
        (ddl.commit_ts, ddl.schema, ddl.table, ddl.query): ddl.kind
        for line in told.script
        if line["kind"] == "ddl"
        for ddl in ddls(told, line)
    }
    return Upstream(changes, before, after, kinds)


def facts(name: str, changes: Iterable[RowChange], *, with_old: bool = True) -> list[Fact]:
    """What the changes say, whether an UPDATE came split or not, sorted."""
    said: list[Fact] = []
    for change in changes:
        table = true_table(name, change)
        place = (change.commit_ts, table.schema, table.name)
        if change.after is not None:
            said.append((*place, "present", _plain(table, change.after)))
        if change.before is not None and (with_old or change.after is None):
            whole = {**(change.after or {}), **change.before}
            said.append((*place, "absent", _plain(table, whole)))
    return sorted(said, key=repr)


def _plain(table: Table, row: Row) -> tuple[tuple[str, Value], ...]:
    return tuple(
        (name, f"{value:.6g}" if isinstance(value, float) and type_ == "float" else value)
        for name, value, type_ in (
            (name, value, table.column(name).type.name) for name, value in sorted(row.items())
        )
    )
