"""A target that holds what a real TiDB held at R, faults that are put into it, and `verify`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ticdc_consumer import config
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import encoders, open_target
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.chunks import Chunk
from ticdc_consumer.upstream.rows import batches
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.snapshot import current_ts
from ticdc_consumer.upstream.tables import sent, tables

from support.databases import own_schema

Key = tuple[tuple[str, str], ...]
Found = tuple[str, str, Key, tuple[str, ...]]
"""Table, kind of difference, key, columns."""


@dataclass(frozen=True)
class Verified:
    """A changefeed whose target `load` fills without any topic."""

    upstream_url: str
    target_url: str
    file: Path
    capsys: pytest.CaptureFixture[str] | None

    @classmethod
    def of(
        cls,
        upstream_url: str,
        target_url: str,
        folder: Path,
        capsys: pytest.CaptureFixture[str] | None,
        settings: Mapping[str, Any] | None = None,
    ) -> "Verified":
        own = sa.make_url(upstream_url).database
        toml = {
            "changefeed": "proof",
            "protocol": "canal-json",
            "kafka": {"topics": ["none"], "bootstrap.servers": "127.0.0.1:1"},
            "source": {"upstream": upstream_url},
            "target": {"url": target_url},
            "tables": {
                "filter": [f"{own}.*"],
                "at_least_once": ["*.log"],
                "route": {"*.*": f"{own_schema(target_url)}.{{table}}"},
            },
            **(settings or {}),
        }
        file = folder / "verified.toml"
        file.write_text("".join(_lines(toml)))
        return cls(upstream_url, target_url, file, capsys)

    def changed(self, settings: Mapping[str, Any]) -> "Verified":
        """The same with other settings."""
        return Verified.of(
            self.upstream_url, self.target_url, self.file.parent, self.capsys, settings
        )

    @property
    def options(self) -> config.options.Settings:
        return config.Settings.read(self.file, [])

    def execute(self, *statements: str) -> None:
        """In the upstream."""
        engine = sa.create_engine(self.upstream_url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            plain = connection.execution_options(no_parameters=True)
            plain.exec_driver_sql("SET time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'")
            for statement in statements:
                plain.exec_driver_sql(statement)
        engine.dispose()

    def load(self, fill: bool = True) -> int:
        """Creates the target's tables that are not there, and fills them; returns its R."""
        options, target = self.options, open_target(self.target_url)
        with reading(self.upstream_url) as session:
            resolved_ts = current_ts(session) + 1
        try:
            store = Store(target, options.changefeed, where=InTarget.by(options, target))
            assert store.start(0.2) is None
            store.begin_first(Checkpoint.first(options, resolved_ts, {}))
            if fill:
                self.fill(target, resolved_ts - 1)
        finally:
            target.close()
        return resolved_ts

    def fill(self, target: Target, snapshot_ts: int | None = None) -> None:
        """Creates the target's tables that are not there, and fills them."""
        with reading(self.upstream_url, snapshot_ts) as session:
            for table, _ in tables(session, self.options):
                _fill(target, session, self.options, table)

    def spoil(self, *statements: str) -> None:
        """In the target."""
        target = open_target(self.target_url)
        try:
            for statement in statements:
                target.execute(statement).close()
        finally:
            target.close()

    def verify(self, *arguments: str) -> tuple[int, str, str]:
        """Its exit code, and what it printed on stdout and stderr."""
        assert self.capsys is not None
        self.capsys.readouterr()
        code = cli.main(["verify", str(self.file), *arguments])
        printed = self.capsys.readouterr()
        return code, printed.out, printed.err

    def problems(self) -> dict[str, str]:
        """Of the tables that cannot be compared."""
        code, out, err = self.verify("--json")
        assert code == 5, err
        return {t["table"]: t["problem"] for t in json.loads(out)["tables"] if t["problem"]}

    def differences(self, *arguments: str) -> set[Found]:
        code, out, err = self.verify("--json", *arguments)
        assert code in (0, 5), err
        report = json.loads(out)
        assert report["equal"] is (code == 0)
        assert [table["problem"] for table in report["tables"] if table["problem"]] == []
        return {
            (
                table["table"],
                each["kind"],
                tuple(each["key"].items()),
                tuple(each["columns"]),
            )
            for table in report["tables"]
            for each in table["differences"]
        }


def _fill(target: Target, session: Any, options: Any, table: Any) -> None:
    where = InTarget.by(options, target).of((table.schema, table.name))
    assert where is not None
    described = target.describe(*where)
    if described is None:
        for statement in target.create_table(*where, table):
            target.execute(statement).close()
        described = target.describe(*where)
    assert described is not None
    source = type(table)(table.schema, table.name, sent(table), handle_key=table.handle_key)
    layout = target.layout(source, table.handle_key, described, table, options.rules)
    encode_rows, _ = encoders(layout.dialect)
    for arrays in batches(session, table, Chunk()):
        with target.transaction():
            target.insert(layout, encode_rows(layout, arrays), "stop")


def _lines(toml: Mapping[str, Any], path: Sequence[str] = ()) -> list[str]:
    plain = {name: value for name, value in toml.items() if not isinstance(value, Mapping)}
    lines = [f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in plain.items()]
    if path:
        lines.insert(0, f"[{'.'.join(path)}]\n")
    for name, value in toml.items():
        if isinstance(value, Mapping):
            lines += _lines(value, (*path, name))
    return lines
