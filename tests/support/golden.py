"""The messages that TiCDC's own encoders made of real SQL: `tests/golden/README.md`."""

import base64
import gzip
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ticdc_encoder.message import Message

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
SCENARIOS = ("keys", "types", "splits", "workload", "ddl", "large")

Value = str | bytes | None
"""As TiDB's text protocol prints it; bytes for binary types and invalid UTF-8."""


@dataclass(frozen=True, slots=True)
class Change:
    """An upstream row change, before any split by TiCDC. `kind` is insert, update or delete."""

    commit_ts: int
    start_ts: int
    schema: str
    table: str
    kind: str
    before: Mapping[str, Value] | None
    after: Mapping[str, Value] | None
    partition: str | None


@dataclass(frozen=True, slots=True)
class Contents:
    """`SELECT *` of a table, sorted by its primary key, else by text."""

    schema: str
    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class State:
    """All tables, by `schema.table`, after every change with commit_ts <= `ts`."""

    ts: int
    tables: Mapping[str, Contents]


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A table as it stood from `since_ts` on: `create` is `SHOW CREATE TABLE`, `columns` the rows
    of `information_schema.columns`; from the ts where it was dropped on it has neither."""

    schema: str
    table: str
    since_ts: int
    create: str | None
    columns: tuple[Mapping[str, Any], ...]
    dropped: bool


@dataclass(frozen=True)
class Variant:
    """The scenario as one changefeed sent it. Names that begin with `classic.` were made by
    TiCDC's old architecture; `encode_errors` say which rows TiCDC could not encode."""

    scenario: str
    name: str
    sink_uri: str
    config_toml: str
    partitions: int
    server_tz: str
    counts: Mapping[str, int]
    encode_errors: tuple[str, ...]
    _files: Mapping[str, str]

    @cached_property
    def records(self) -> tuple[Message, ...]:
        """The Kafka records in produce order; within a (topic, partition) the order is TiCDC's."""
        return tuple(
            Message(
                line["topic"], line["partition"], _decoded(line["key"]), _decoded(line["value"])
            )
            for line in _lines(self.scenario, self._files["file"])
        )

    @cached_property
    def schemas(self) -> tuple[Mapping[str, Any], ...]:
        """The schema registry: id, subject, subject_path, version, schema."""
        name = self._files.get("schemas")
        return tuple(_lines(self.scenario, name)) if name else ()

    @cached_property
    def claim_checks(self) -> Mapping[str, bytes]:
        """Claim-check files by path, without the leading slash of the messages' URLs."""
        return self._contents("claim_check_files")

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """The files of a cloud storage variant (csv, storage-canal-json) by path."""
        return self._contents("file")

    def _contents(self, kind: str) -> Mapping[str, bytes]:
        name = self._files.get(kind)
        if name is None:
            return {}
        return {
            line["path"]: base64.b64decode(line["data"]) for line in _lines(self.scenario, name)
        }


@dataclass(frozen=True)
class Scenario:
    """One run of SQL: what was written upstream, and how each changefeed variant told it."""

    name: str
    tables: tuple[TableVersion, ...]
    variants: Mapping[str, Variant]

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        return tuple(
            Change(
                commit_ts=line["commit_ts"],
                start_ts=line["start_ts"],
                schema=line["schema"],
                table=line["table"],
                kind=line["kind"],
                before=_row(line.get("before")),
                after=_row(line.get("after")),
                partition=line.get("partition"),
            )
            for line in _lines(self.name, "changes.jsonl")
        )

    @cached_property
    def script(self) -> tuple[Mapping[str, Any], ...]:
        """The SQL in order: kinds `session`, `txn`, `ddl`, `resolved`."""
        return tuple(_lines(self.name, "script.jsonl"))

    @cached_property
    def resolved(self) -> tuple[int, ...]:
        """The resolved timestamps in order."""
        return tuple(line["ts"] for line in self.script if line["kind"] == "resolved")

    @cached_property
    def states(self) -> tuple[State, ...]:
        return tuple(
            State(
                line["ts"],
                {
                    name: Contents(
                        table["schema"],
                        table["table"],
                        tuple(table["columns"]),
                        tuple(tuple(_value(value) for value in row) for row in table["rows"]),
                    )
                    for name, table in line["tables"].items()
                },
            )
            for line in _lines(self.name, "states.jsonl")
        )


@cache
def scenario(name: str) -> Scenario:
    """One of `SCENARIOS`; read once."""
    folder = GOLDEN / name
    described = json.loads(_read(folder / "scenario.json"))
    variants = list(described["variants"])
    if _exists(folder / "classic.json"):
        variants += json.loads(_read(folder / "classic.json"))["variants"]
    return Scenario(
        name,
        tuple(
            TableVersion(
                table["schema"],
                table["table"],
                table["since_ts"],
                table.get("create"),
                tuple(table.get("columns", ())),
                bool(table.get("dropped")),
            )
            for table in described["tables"]
        ),
        {
            variant["name"]: Variant(
                scenario=name,
                name=variant["name"],
                sink_uri=variant["sink_uri"],
                config_toml=variant["config_toml"],
                partitions=variant["partitions"],
                server_tz=variant["server_tz"],
                counts=variant["counts"],
                encode_errors=tuple(variant.get("encode_errors") or ()),
                _files={
                    kind: variant[kind]
                    for kind in ("file", "schemas", "claim_check_files")
                    if kind in variant
                },
            )
            for variant in variants
        },
    )


def repeated(records: Sequence[Message], seed: int) -> list[Message]:
    """The records as a producer sends them that is restarted now and then and goes back a little:
    slices of each partition come twice in a row (1 2 3 4 becomes 1 2 3 2 3 4)."""
    chance = random.Random(seed)
    partitions: dict[tuple[str, int], list[Message]] = {}
    for record in records:
        partitions.setdefault((record.topic, record.partition), []).append(record)
    sent = []
    for of_partition in partitions.values():
        at = 0
        while at < len(of_partition):
            reached = min(at + chance.randint(1, 20), len(of_partition))
            sent += of_partition[at:reached]
            sent += of_partition[chance.randint(at, reached) : reached]
            at = reached
    return sent


def _read(path: Path) -> bytes:
    if path.exists():
        return path.read_bytes()
    return gzip.decompress(path.with_name(path.name + ".gz").read_bytes())


def _exists(path: Path) -> bool:
    return path.exists() or path.with_name(path.name + ".gz").exists()


def _lines(scenario: str, name: str) -> Iterator[dict[str, Any]]:
    for line in _read(GOLDEN / scenario / name.removesuffix(".gz")).splitlines():
        yield json.loads(line)


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _row(row: Mapping[str, Any] | None) -> Mapping[str, Value] | None:
    return None if row is None else {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> Value:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
