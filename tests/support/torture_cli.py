"""`ticdc-consumer run` in this process, with the tests' own Spark; and what a target then holds."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ticdc_consumer import config
from ticdc_consumer.cli import commands as cli
from ticdc_consumer.cli import progress
from ticdc_consumer.commands import run as consumer
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.epoch import Epoch
from ticdc_encoder.errors import TicdcError

from support.torture_driver import Driver
from support.torture_topics import Feed

CHANGEFEED = "proof"
NEVER = 1e6
"""Seconds."""


def commands(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the commands of this process run in a Spark that goes on after them. They do not say
    what they wait for, which would depend on the machine."""

    def with_spark(options: Settings, **more: Any) -> Consumer:
        return Consumer(options, spark, **more)

    monkeypatch.setattr(consumer, "Consumer", with_spark)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(progress, "SECONDS_OF_SILENCE", NEVER)
    monkeypatch.setattr(progress, "SECONDS_TO_FIRST_WORD", NEVER)


@dataclass(frozen=True)
class Outcome:
    """Of one command: its exit code, what it said on stderr, and what it printed on stdout."""

    code: int
    said: str
    printed: str = ""


class Command:
    """`ticdc-consumer run` of one changefeed into one target."""

    def __init__(
        self,
        feeds: Sequence[Feed],
        target_url: str,
        folder: Path,
        capsys: pytest.CaptureFixture[str],
        **settings: Any,
    ) -> None:
        """`settings` have two underscores for a dot: `limits__memory_budget=1`. Without feeds they
        say where the changes are."""
        self.target_url = target_url
        self._capsys = capsys
        self._file = folder / "changefeed.toml"
        of_kafka: dict[str, Any] = {}
        if feeds:
            of_kafka = {
                "protocol": feeds[0].protocol,
                "kafka__topics": ",".join(feed.topic for feed in feeds),
                "kafka__bootstrap.servers": feeds[0].kafka.bootstrap,
                # The mock cluster may go before its last client, which would remark on it.
                "kafka__log_level": 2,
            }
        self._settings: dict[str, Any] = {
            "changefeed": CHANGEFEED,
            "target__url": target_url,
            **of_kafka,
            **settings,
        }
        self._file.write_text("")

    def __call__(self, *arguments: str, until: str = "caught-up", **settings: Any) -> Outcome:
        """Runs until caught up, or elsewhere; `settings` for this run alone."""
        sets = self.arguments(**settings)
        self._capsys.readouterr()
        code = cli.main(["run", str(self._file), "--until", until, *sets, *arguments])
        return Outcome(code, self._capsys.readouterr().err)

    def set(self, **settings: Any) -> None:
        """Other settings from now on."""
        self._settings |= settings

    def load(self, *arguments: str, **settings: Any) -> Outcome:
        """`ticdc-consumer load`."""
        return self.command("load", *arguments, **settings)

    def command(self, name: str, *arguments: str, **settings: Any) -> Outcome:
        """Another of the product's commands."""
        self._capsys.readouterr()
        code = cli.main([name, str(self._file), *self.arguments(**settings), *arguments])
        captured = self._capsys.readouterr()
        return Outcome(code, captured.err, captured.out)

    def consumer(self, **settings: Any) -> Consumer:
        """The embedded consumer with the same settings, for what a test does in between."""
        return consumer.Consumer(self.options(**settings))

    def options(self, **settings: Any) -> Settings:
        """The same settings, parsed."""
        return config.Settings.read(self._file, self._sets(settings))

    def driver(
        self,
        failpoint: str | None = None,
        until: str | None = None,
        spark: bool = False,
        command: str = "run",
        arguments: Sequence[str] = (),
        **settings: Any,
    ) -> Driver:
        """The same command, or another one, as a process of its own; without `until` a run goes on
        for ever."""
        sets = self.arguments(**settings)
        end = [] if until is None else ["--until", until]
        words = [command, str(self._file), *arguments, *end, *sets]
        return Driver(words, spark=spark, failpoint=failpoint)

    def standby(self, **settings: Any) -> Driver:
        """`run --standby` as a process of its own, which goes on for ever."""
        return Driver(["run", "--standby", str(self._file), *self.arguments(**settings)])

    @property
    def file(self) -> str:
        """That of the settings, by which messages name it."""
        return str(self._file)

    def arguments(self, **settings: Any) -> list[str]:
        """The settings, for another of the product's commands."""
        return [part for text in self._sets(settings) for part in ("--set", text)]

    def _sets(self, settings: dict[str, Any]) -> list[str]:
        given = {**self._settings, **settings}
        return [f"{name.replace('__', '.')}={value}" for name, value in given.items()]

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What a query of the target gives."""
        engine = sa.create_engine(self.target_url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            found = connection.execution_options(no_parameters=True).exec_driver_sql(statement)
            return [tuple(row) for row in found]

    @property
    def resolved_ts(self) -> int:
        ((resolved_ts,),) = self.rows("SELECT resolved_ts FROM ticdc_checkpoint")
        return int(resolved_ts)

    def contents(self) -> dict[str, Any]:
        """All that a SQLite target holds, the checkpoint included; not who holds it
        now, and what that one is at."""
        tables = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        found: dict[str, Any] = {"schema": self.rows("SELECT sql FROM sqlite_master")}
        for (name,) in tables:
            found[name] = sorted(self.rows(f'SELECT * FROM "{name}"'), key=repr)  # noqa: S608
        kept = "changefeed, resolved_ts, mark_time, scope, scope_text, counters"
        found.pop("ticdc_activity", None)
        if "ticdc_checkpoint" in found:
            found["ticdc_checkpoint"] = self.rows(f"SELECT {kept} FROM ticdc_checkpoint")  # noqa: S608
        return found


Make = Callable[..., Command]
Begin = Callable[..., tuple[Feed, Command]]
"""The fixtures `command` and `begin`."""


def ended_by(epochs: Iterator[Epoch]) -> Outcome:
    """What ends an embedded consumer's loop, as the command line would put it."""
    with pytest.raises(TicdcError) as caught:
        for _ in epochs:
            pass
    return Outcome(caught.value.exit_code, str(caught.value))


def refuses(run: Command, *words: str, **settings: Any) -> None:
    """The run ends with 3, says all of `words` in one line, after that of its start if it came so
    far, and touches nothing in SQLite."""
    before = run.contents()
    outcome = run(**settings)
    assert outcome.code == 3, outcome.said
    *first, error = outcome.said.splitlines()
    assert [line for line in first if not line.startswith("changefeed ")] == [], outcome.said
    assert error.startswith("ticdc-consumer: "), outcome.said
    assert [word for word in words if word not in outcome.said] == [], outcome.said
    assert run.contents() == before
