"""The command line of the kit. Exit 0: the consumer was right, or files are written. 1: it was
wrong. 2: wrong usage. 3: Kafka or the target cannot be reached."""

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ticdc_encoder.errors import ConfigError, TicdcError

from ticdc_torture.export import export
from ticdc_torture.history import PROTOCOLS, History, HistoryPlan
from ticdc_torture.judge import CHECKS
from ticdc_torture.report import as_json, as_junit, in_words, verdict_of
from ticdc_torture.run import RunSettings, run
from ticdc_torture.target import ResolvedTs

DISTURBANCES = {
    "kills": (3, "kill -9, and a new start"),
    "pauses": (1, "SIGSTOP, and SIGCONT some seconds later"),
    "restarts": (1, "SIGTERM, and a new start"),
    "overtakes": (0, "a second one starts while the first is paused; then both run"),
    "outages": (1, "the broker is away for seconds; only of the mock Kafka"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = parser().parse_args(words)
    try:
        if arguments.command == "export":
            export(History(_plan(arguments)), arguments.folder)
            return 0
        return _run(arguments, words)
    except ConfigError as error:
        print(f"ticdc-torture: {error}", file=sys.stderr)
        return 2
    except TicdcError as error:
        print(f"ticdc-torture: {error}", file=sys.stderr)
        return 3


def parser() -> argparse.ArgumentParser:
    """All options."""
    root = argparse.ArgumentParser(prog="ticdc-torture", description=__doc__)
    commands = root.add_subparsers(dest="command", required=True)
    play = commands.add_parser("run", help="disturbs a consumer, and judges what it leaves")
    files = commands.add_parser("export", help="writes a history as files")
    for command in (play, files):
        _add_history(command)
    files.add_argument("--folder", type=Path, required=True, help="where the files are written")
    play.add_argument(
        "--consumer",
        required=True,
        metavar="COMMAND",
        help="what starts it; {bootstrap}, {topics} and {target} are replaced",
    )
    play.add_argument("--target", required=True, metavar="URL", help="SQLAlchemy's, as sqlite:///x")
    play.add_argument("--kafka", metavar="HOST:PORT", help="instead of a mock in this process")
    for name, (number, text) in DISTURBANCES.items():
        play.add_argument(f"--{name}", type=int, default=number, help=f"{text} ({number})")
    play.add_argument(
        "--tables", choices=("keyed", "plain"), default="keyed", help="plain ones have no keys"
    )
    play.add_argument("--resolved-ts", metavar="SQL|file:PATH", help="where the consumer tells R")
    play.add_argument("--inclusive", action="store_true", help="its R covers commit_ts R, too")
    play.add_argument(
        "--ignore",
        action="append",
        default=[],
        choices=list(CHECKS),
        help="what it does not promise",
    )
    play.add_argument("--pace", type=float, default=0.02, help="seconds between bursts")
    play.add_argument("--patience", type=float, default=60.0, help="seconds without a change")
    play.add_argument("--calm", type=float, default=2.0, help="seconds that the end must last")
    play.add_argument("--output", type=Path, metavar="FILE", help="what the consumer prints")
    play.add_argument("--json", type=Path, metavar="FILE", help="the report, for programs")
    play.add_argument("--junit", type=Path, metavar="FILE", help="the report, for CI")
    return root


def _add_history(command: argparse.ArgumentParser) -> None:
    command.add_argument("--protocol", choices=PROTOCOLS, required=True)
    command.add_argument("--seed", type=int, default=None, help="repeats a history and its run")
    command.add_argument("--transactions", type=int, default=200)
    command.add_argument("--ddl", action="store_true", help="tables come, go and change, too")
    command.add_argument("--topic-per-table", action="store_true")
    command.add_argument("--schema", default="w", help="of the tables")
    command.add_argument("--topic", default="torture")


def _plan(arguments: argparse.Namespace) -> HistoryPlan:
    if arguments.seed is None:
        arguments.seed = time.time_ns() % 1_000_000
    return HistoryPlan(
        seed=arguments.seed,
        protocol=arguments.protocol,
        transactions=arguments.transactions,
        ddl=arguments.ddl,
        per_table=arguments.topic_per_table,
        schema=arguments.schema,
        topic=arguments.topic,
    )


def _run(arguments: argparse.Namespace, words: list[str]) -> int:
    chosen = arguments.seed is not None
    plan = _plan(arguments)
    again = shlex.join(["ticdc-torture", *words, *([] if chosen else ["--seed", str(plan.seed)])])
    settings = RunSettings(
        consumer=arguments.consumer,
        target=arguments.target,
        bootstrap=arguments.kafka,
        **{name: getattr(arguments, name) for name in DISTURBANCES},
        keyed=arguments.tables == "keyed",
        resolved_ts=_resolved_ts(arguments.resolved_ts, arguments.inclusive),
        pace=arguments.pace,
        patience=arguments.patience,
        calm=arguments.calm,
        output=arguments.output,
    )
    result = run(plan, settings)
    ignored = frozenset(arguments.ignore)
    if arguments.json:
        arguments.json.write_text(as_json(result, again, ignored))
    if arguments.junit:
        arguments.junit.write_text(as_junit(result, again, ignored))
    print(in_words(result, again, ignored))
    return 0 if verdict_of(result, ignored) == "right" else 1


def _resolved_ts(text: str | None, inclusive: bool) -> ResolvedTs:
    if text is not None and text.startswith("file:"):
        return ResolvedTs(file=Path(text.removeprefix("file:")), inclusive=inclusive)
    return ResolvedTs(query=text, inclusive=inclusive)
