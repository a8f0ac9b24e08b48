"""The command line. Exit 0: done. 1: something is unreachable, or a newer consumer took over.
2: wrong usage. 3: a person must decide."""

import argparse
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType, TracebackType
from typing import Literal

from ticdc_encoder.errors import ConfigError, TicdcError

from ticdc_consumer import config
from ticdc_consumer.config.options import Options
from ticdc_consumer.config.redact import redact, secrets_of
from ticdc_consumer.errors import Unavailable, Usage
from ticdc_consumer.protocols import OURS, PROTOCOLS

DECIDE = 3
"""Whatever is wrong with the data and has no exit code of its own."""

EXAMPLES = {
    "run": """examples:
  ticdc-consumer run orders.toml
  ticdc-consumer run orders.toml --until caught-up --set 'kafka.topics=orders,^shop_.*'
  ticdc-consumer run orders.toml --from-ts 429918007904436226     # the target holds a snapshot
  ticdc-consumer run orders.toml --ddl-done 429918007904436300    # a person has run that DDL
  ticdc-consumer run orders.toml --ddl-run 429918007904436300:2 instead.sql
""",
    "check": "example:\n  ticdc-consumer check orders.toml",
    "plan": "examples:\n  ticdc-consumer plan orders.toml\n"
    "  ticdc-consumer plan orders.toml --until 429918007904436226 --sql",
    "status": "examples:\n  ticdc-consumer status orders.toml\n"
    "  ticdc-consumer status orders.toml --json | jq .lag_seconds",
    "demo": """examples:
  ticdc-consumer demo
  ticdc-consumer demo --protocol open-protocol --rows 100000
  ticdc-consumer demo --target postgresql+psycopg://app@localhost/empty
""",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and says its exit code."""
    sys.excepthook = _last_words
    _quieten()
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except TicdcError as error:
        if os.environ.get("TICDC_DEBUG") == "1":
            _last_words(type(error), error, error.__traceback__)
        print(f"ticdc-consumer: {_redacted(str(error))}", file=sys.stderr)
        return _exit_code(error)
    except _Closed:
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        print("ticdc-consumer: interrupted; what was not committed is undone", file=sys.stderr)
        return 128 + signal.SIGINT


def _quieten() -> None:
    """Spark's connection remarks on every interrupt, with tracebacks."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(lambda record: "while sending command" not in str(record.msg))


def _exit_code(error: TicdcError) -> int:
    if isinstance(error, ConfigError):
        return Usage.exit_code
    return int(getattr(error, "exit_code", DECIDE))


# Commands. What they need is imported when they run: `--help` waits for no Spark.


def _run(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.progress import Progress
    from ticdc_consumer.consumer import Consumer

    options = _options(arguments)
    sql = _text_of(arguments.ddl_run[1]) if arguments.ddl_run else None
    progress = Progress(sys.stderr)
    consumer = Consumer(options)
    with _stopping(consumer.stop) as stopped, consumer:
        if arguments.ddl_done:
            entry = consumer.ddl_done(arguments.ddl_done)
            print(f"DDL {entry.id} is marked done", file=sys.stderr)
        if sql is not None:
            entry = consumer.ddl_run(arguments.ddl_run[0], sql)
            print(f"DDL {entry.id} is done by {arguments.ddl_run[1]}", file=sys.stderr)
        for epoch in consumer.epochs(arguments.until):
            progress.tell(epoch)
    progress.sum_up(f"stopped by {stopped[0]}" if stopped else "done")
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.check.checks import check, exit_code

    findings = []
    for finding in check(_options(arguments)):
        findings.append(finding)
        _tell(str(finding))
    return exit_code(findings)


def _status(arguments: argparse.Namespace) -> int:
    from ticdc_consumer import status
    from ticdc_consumer.targets import open_target

    options = _options(arguments)
    with closing(open_target(options.target_url, to_look=True)) as target:
        found = status.read(target, options)
    _tell(status.to_json(found) if arguments.json else status.to_text(found))
    return 0


def _plan(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.progress import planned
    from ticdc_consumer.consumer import Consumer

    for cut in Consumer(_options(arguments)).plan(arguments.until, sql=arguments.sql):
        _tell("\n".join(planned(cut)))
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.demo import demo

    # So that its folder goes, and Spark with it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with _told():
        demo(arguments.rows, arguments.protocol, arguments.target, arguments.seed)
    return 0


def _options(arguments: argparse.Namespace) -> Options:
    sets = [*arguments.set]
    if getattr(arguments, "from_ts", None) is not None:
        sets.append(f"from_ts={arguments.from_ts}")
    options = config.load(arguments.config, sets)
    _secrets.update(secrets_of(options))
    return options


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding=config.UTF_8)
    except OSError as error:
        raise Usage(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Usage(f"{file} is not UTF-8 text") from None


class _Closed(Exception):
    """Nobody reads on, as behind `| head -1`."""


def _tell(text: str) -> None:
    with _told():
        print(_redacted(text), flush=True)


@contextmanager
def _told() -> Iterator[None]:
    """Raises `_Closed`, or `Unavailable` where the standard output takes nothing more."""
    try:
        yield
    except OSError as error:
        # What is left in the buffer has nowhere to go, and Python would say so at its exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise _Closed from None
        raise Unavailable(f"cannot be written: {error.strerror}") from None


@contextmanager
def _stopping(stop: Callable[[], None]) -> Iterator[list[str]]:
    """The first SIGINT or SIGTERM ends the run after the epoch that is under way; one more ends
    it at once, and the database undoes what was not committed. Gives the signals' names."""
    stopped: list[str] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(signal.Signals(number).name)
        stop()

    before = {n: signal.signal(n, on_signal) for n in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# Passwords.

_secrets: set[str] = set()


def _redacted(text: str) -> str:
    return redact(text, _secrets)


def _last_words(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """A traceback without passwords: for mistakes of ours, and for all errors if TICDC_DEBUG=1."""
    sys.stderr.write(_redacted("".join(traceback.format_exception(kind, error, trace))))


# Arguments.


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ticdc-consumer",
        description="Applies TiCDC's Kafka topics to a database, exactly, through Spark.",
        epilog="exit codes: 0 done; 1 broker, target or Spark unreachable, or a newer consumer took"
        " over; 2 wrong usage or options; 3 found something that a person must decide."
        " TICDC_DEBUG=1 shows tracebacks.",
    )
    parser.add_argument("--version", action="version", version=version("ticdc-consumer"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = _command(commands, "demo", _demo, "everything embedded: see it work")
    demo.add_argument(
        "--rows", type=_count, default=30_000, metavar="N", help="row changes, about; 30000"
    )
    protocols = [name for name in OURS if PROTOCOLS[name].demo is not None]
    demo.add_argument("--protocol", default="canal-json", choices=protocols, help="canal-json")
    demo.add_argument("--target", metavar="URL", help="an empty database instead of a SQLite file")
    demo.add_argument("--seed", type=int, default=1, metavar="N", help="another history")
    run = _command(commands, "run", _run, "apply the topics to the target")
    _takes_config(run)
    run.add_argument(
        "--until",
        type=_until,
        metavar="caught-up|TS",
        help="end when the resolved ts that the topics hold now is applied, or at exactly TS",
    )
    run.add_argument(
        "--from-ts", type=_timestamp, metavar="TS", help="first start: the target is at this ts"
    )
    run.add_argument(
        "--ddl-done",
        metavar="TS[:SEQ]",
        help="a person has run this DDL, which stopped the last run",
    )
    run.add_argument(
        "--ddl-run",
        nargs=2,
        metavar=("TS[:SEQ]", "FILE"),
        help="run the SQL of a file in place of this DDL, which stopped the last run",
    )
    check = _command(commands, "check", _check, "tell each precondition; nothing is written")
    _takes_config(check)
    check.add_argument("--from-ts", type=_timestamp, metavar="TS", help="as for run")
    plan = _command(commands, "plan", _plan, "tell what the next cuts would do; nothing is done")
    _takes_config(plan)
    plan.add_argument(
        "--until",
        type=_until,
        default="caught-up",
        metavar="caught-up|TS",
        help="as for run; caught-up where it is not given",
    )
    plan.add_argument("--from-ts", type=_timestamp, metavar="TS", help="as for run")
    plan.add_argument(
        "--sql", action="store_true", help="of small cuts also the statements, with their values"
    )
    status = _command(commands, "status", _status, "tell where the target stands")
    _takes_config(status)
    status.add_argument("--json", action="store_true", help="for programs")
    return parser


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    command: Callable[[argparse.Namespace], int],
    description: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=description,
        description=description,
        epilog=EXAMPLES[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(command=command)
    return parser


def _takes_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="the TOML file")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting in place of the file's, as kafka.topics=a,b; may be repeated",
    )
    described = config.described()
    width = max(map(len, described)) + 2
    settings = "\n".join(f"  {name:<{width}}{what}" for name, what in described.items())
    parser.epilog = (
        f"{str(parser.epilog).rstrip()}\n\n"
        "settings, of CONFIG, --set, or as TICDC_KAFKA_TOPICS in the environment:\n"
        f"{settings}\n"
    )


def _until(text: str) -> Literal["caught-up"] | int:
    if text == "caught-up":
        return "caught-up"
    return _timestamp(text)


def _timestamp(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is no timestamp (TSO)")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of rows")
    return int(text)
