"""Exports the checkpoint of a changefeed as a document, and imports it: for a target whose tables
were moved without the `ticdc_*` tables.

An import checks what it can before it writes: the settings that give R its meaning, the tables that
rows went to, other changefeeds. It cannot check that the rows are those of R: the person who copied
them is responsible for that.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.loading import require_loaded
from ticdc_consumer.state.other_changefeeds import OtherChangefeeds
from ticdc_consumer.state.schema import (
    CHECKPOINT,
    DEFINITION,
    KEPT,
    LEDGER,
    OFFSET,
    QUARANTINE,
    SCHEMA,
    STATE_VERSION,
    LongText,
    Unsigned64,
)
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import read_back
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target

FORMAT = "ticdc-consumer checkpoint"
TABLES = (CHECKPOINT, OFFSET, LEDGER, DEFINITION, SCHEMA, KEPT, QUARANTINE)
"""Tables that a changefeed needs to continue; the consumer's activity is not among them."""
EXACT_IN_JSON = 1 << 53
"""Limit above which integers are texts: jq and JavaScript round such numbers."""

Document = Mapping[str, Any]


def exported(target: Target, options: Settings) -> Document:
    """The checkpoint, from one consistent read. Raises `Stop` if there is none, or its tables are
    incomplete."""
    store = Store(target, options.changefeed)
    if not store.tables.readable():
        raise store.unknown()
    stored = store.tables.version()
    if stored is None or stored.version != STATE_VERSION:
        raise Stop(
            "the ticdc_* tables of the target are those of an older release: its checkpoint is "
            "exported once the first `run` of this release has migrated them"
        )
    require_loaded(target, options.changefeed)
    with target.errors():
        read_back(target.dialect).begin(target, None)
        tables = {table.name: _rows(target, options.changefeed, table) for table in TABLES}
        target.execute("COMMIT").close()
    if not tables[CHECKPOINT.name]:
        raise store.unknown()
    (checkpoint,) = tables[CHECKPOINT.name]
    return {
        "format": FORMAT,
        "version": STATE_VERSION,
        "changefeed": options.changefeed,
        "resolved_ts": str(checkpoint["resolved_ts"]),
        "tables": tables,
    }


def _rows(target: Target, changefeed: str, table: sa.Table) -> list[dict[str, Any]]:
    keys = [column for column in table.primary_key if column.name != "changefeed"]
    columns = [column for column in table.c if column.name not in ("changefeed", "owner")]
    query = sa.select(*columns).where(table.c.changefeed == changefeed).order_by(*keys)
    return [
        {name: _in_json(value) for name, value in row._mapping.items()}
        for row in target.connection.execute(query)
    ]


def _in_json(value: Any) -> Any:
    return str(value) if isinstance(value, int) and abs(value) > EXACT_IN_JSON else value


def document_of(text: str, name: str) -> Any:
    """Parses the contents of a file called `name`. Raises `Usage` if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Usage(f"{name} is not JSON: {error}") from None


def imported(target: Target, options: Settings, document: Document) -> Checkpoint:
    """Writes the checkpoint, and returns it. Raises, without writing anything, `Usage` for a
    document that is not this changefeed's, and `Stop` if the target already has a checkpoint or
    lacks a table, or if the settings differ."""
    rows = _checked(document, options)
    where = InTarget.by(options, target)
    store = Store(target, options.changefeed, where=where)
    _require_none(store.read())
    require_loaded(target, options.changefeed)
    destinations = _destinations(where, rows[DEFINITION.name])
    for row in rows[DEFINITION.name]:
        name = row["schema"], row["table"]
        row["target_schema"], row["target_table"] = destinations.get(name, (None, None))
    for name, destination in sorted(destinations.items()):
        if target.describe(*destination) is None:
            raise Stop(
                f"the target has no table {target.quote(*destination)}, to which the rows of "
                f"{'.'.join(name)} went: restore all tables, as they were at R"
            )
    _require_settings(options, rows)
    _require_none(store.start(options.takeover_after))
    OtherChangefeeds(target, options.changefeed, where).require_none_has(destinations)

    def insert() -> None:
        for table in TABLES:
            if rows[table.name]:
                target.connection.execute(sa.insert(table), rows[table.name])

    (checkpoint,) = rows[CHECKPOINT.name]
    checkpoint["generation"] += 1
    checkpoint["owner"] = target.session_id()
    store.lease.begin(checkpoint["generation"], insert)
    state = store.read()
    if state is None:
        raise store.unknown()
    return state


def _require_none(checkpoint: Checkpoint | None) -> None:
    if checkpoint is not None:
        raise Stop(
            f"the target has a checkpoint of changefeed {checkpoint.changefeed} already, at R = "
            f"{checkpoint.resolved_ts}: it belongs to the rows that are there; continue with: "
            "ticdc-consumer run CONFIG"
        )


def _require_settings(options: Settings, rows: Mapping[str, list[dict[str, Any]]]) -> None:
    """Raises `Stop` for settings with which the checkpoint was not reached."""
    (row,) = rows[CHECKPOINT.name]
    state = Checkpoint(
        options.changefeed, 0, row["resolved_ts"], row["scope"], 0, {}, {}, row["scope_text"]
    )
    state.check_scope(options)


def _destinations(
    where: InTarget, definitions: Iterable[Mapping[str, Any]]
) -> dict[TableName, tuple[str | None, str]]:
    """Destination of each known table by the settings."""
    names = [(row["schema"], row["table"]) for row in definitions]
    of_all = {name: where.of(name) for name in names}
    return {name: destination for name, destination in of_all.items() if destination is not None}


def _checked(document: Document, options: Settings) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, as they are stored. Raises `Usage`."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise Usage("this is not what `ticdc-consumer export` writes")
    if document.get("version") != STATE_VERSION:
        raise Usage(
            f"it was exported in version {document.get('version')}, and this release has version "
            f"{STATE_VERSION}: export it with this release"
        )
    if document.get("changefeed") != options.changefeed:
        raise Usage(
            f"it is the checkpoint of changefeed {document.get('changefeed')}, and CONFIG is for "
            f"{options.changefeed}"
        )
    try:
        rows = {
            table.name: [_stored(table, options.changefeed, row) for row in stored]
            for table in TABLES
            for stored in [document["tables"][table.name]]
        }
        _require_readable(rows)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Usage(f"the file is incomplete or damaged: {error!r}") from error
    if len(rows[CHECKPOINT.name]) != 1:
        raise Usage("the file is incomplete: it has no checkpoint")
    return rows


def _stored(table: sa.Table, changefeed: str, row: Mapping[str, Any]) -> dict[str, Any]:
    names = {column.name for column in table.c} - {"changefeed", "owner"}
    if names != set(row):
        raise KeyError(sorted(names ^ set(row))[0])
    return {
        "changefeed": changefeed,
        **{name: _from_json(table.c[name], value) for name, value in row.items()},
    }


def _from_json(column: sa.Column[Any], value: Any) -> Any:
    if value is None:
        if not column.nullable:
            raise ValueError(column.name)
        return None
    if isinstance(column.type, sa.String | LongText):
        return _text(column, value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(column.name)
    number = int(value)
    if number not in _range(column):
        raise ValueError(column.name)
    return number


def _text(column: sa.Column[Any], value: Any) -> str:
    """Returns the text if every target accepts it. Raises TypeError, ValueError."""
    if not isinstance(value, str):
        raise TypeError(column.name)
    value.encode()  # half a character
    if "\0" in value or len(value) > (getattr(column.type, "length", None) or len(value)):
        raise ValueError(column.name)
    return value


def _range(column: sa.Column[Any]) -> range:
    if isinstance(column.type, Unsigned64):
        return range(1 << 64)
    bits = 63 if isinstance(column.type, sa.BigInteger) else 31
    return range(-(1 << bits), 1 << bits)


def _require_readable(rows: Mapping[str, list[dict[str, Any]]]) -> None:
    """Reads the columns that contain JSON, as later starts will. Raises any error of the
    parsers."""
    for row in rows[CHECKPOINT.name]:
        _object(row["scope_text"])
        if not all(type(count) is int for count in _object(row["counters"]).values()):
            raise TypeError("counters")
    for table in (DEFINITION, SCHEMA, KEPT):
        for row in rows[table.name]:
            if row["definition"]:
                to_json(from_json(_object(row["definition"])))
    for row in rows[QUARANTINE.name]:
        for position in json.loads(row["positions"]):
            Position(*position)


def _object(text: str) -> dict[str, Any]:
    members = json.loads(text)
    if not isinstance(members, dict):
        raise TypeError(text)
    return members
