"""The command line. Exit 0: done. 1: something is unreachable. 2: wrong usage. 3: an operator must
decide. 4: a newer consumer took over."""

import argparse
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from threading import Event

from ticdc_encoder.cli.output import CLOSED, INTERRUPTED, OutputClosed, standard_output
from ticdc_encoder.errors import TicdcError, visible

from ticdc_consumer import config
from ticdc_consumer.cli.arguments import parser
from ticdc_consumer.cli.output import (
    LogLine,
    hide_secrets,
    print_error,
    print_out,
    print_traceback,
)
from ticdc_consumer.cli.signals import stopping
from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Usage


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    sys.excepthook = print_traceback
    if logging.lastResort is not None:  # where records go unless a program has other handlers
        logging.lastResort.setFormatter(LogLine())
    _silence_py4j()
    arguments = parser().parse_args(argv)
    try:
        return COMMANDS[arguments.command](arguments)
    except TicdcError as error:
        return print_error(error)
    except OutputClosed:
        return CLOSED
    except KeyboardInterrupt:
        print("ticdc-consumer: interrupted; what was not committed is undone", file=sys.stderr)
        return INTERRUPTED


def _silence_py4j() -> None:
    """Spark's client logs a traceback of its connection at every interrupt."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(lambda record: "while sending command" not in str(record.msg))


# Commands. What they need is imported when they run: `--help` waits for no Spark.


def _run(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.progress import RunProgress
    from ticdc_consumer.consumer import Consumer

    options = _options(arguments)
    sql = _text_of(arguments.ddl_run[1]) if arguments.ddl_run else None
    if arguments.load and not _loaded(options):
        return 0
    progress = RunProgress(sys.stderr)
    consumer = Consumer(options)
    with (
        stopping(consumer.stop) as signals,
        progress.watching(lambda: consumer.activity),
        consumer,
    ):
        if arguments.ddl_done:
            entry = consumer.ddl_done(arguments.ddl_done)
            print(f"DDL {entry.id} is marked done", file=sys.stderr)
        if sql is not None:
            entry = consumer.ddl_run(arguments.ddl_run[0], sql)
            print(f"DDL {entry.id} is done by {arguments.ddl_run[1]}", file=sys.stderr)
        for epoch in consumer.epochs(arguments.until):
            progress.report(epoch)
    progress.sum_up(f"stopped by {signals[0].name}" if signals else "done")
    return 0


def _load(arguments: argparse.Namespace) -> int:
    _load_tables(_options(arguments), arguments.at, arguments.replace)
    return 0


def _loaded(options: Options) -> bool:
    """Loads the tables, unless something was applied already. Whether a run may go on."""
    from ticdc_consumer.state.store import Store
    from ticdc_consumer.targets import open_target

    with closing(open_target(options.target_url, to_look=True)) as target:
        checkpoint = Store(target, options.changefeed).read()
    if checkpoint is not None and checkpoint.resolved_ts:
        return True
    return _load_tables(options)


def _load_tables(options: Options, at: int | None = None, replace_rows: bool = False) -> bool:
    """Whether everything is loaded, and no signal came before."""
    from ticdc_consumer.cli.load_progress import LoadLines
    from ticdc_consumer.upstream.load.loading import load

    stop, lines = Event(), LoadLines(sys.stderr)
    with stopping(stop.set) as signals:
        resolved_ts = load(
            options, at, replace_rows=replace_rows, report=lines.report, stopped=stop.is_set
        )
    lines.sum_up(resolved_ts, signals[0].name if signals else "")
    return resolved_ts is not None


def _check(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.check.checks import check, exit_code

    findings = []
    for finding in check(_options(arguments)):
        findings.append(finding)
        print_out(visible(str(finding)))
    return exit_code(findings)


def _status(arguments: argparse.Namespace) -> int:
    from ticdc_consumer import status
    from ticdc_consumer.targets import open_target

    options = _options(arguments)
    with closing(open_target(options.target_url, to_look=True)) as target:
        current = status.read(target, options)
    text = status.to_text(current, arguments.config)
    print_out(status.to_json(current) if arguments.json else text)
    return 0


def _why(arguments: argparse.Namespace) -> int:
    from ticdc_consumer import status

    diagnosis = status.why(_options(arguments), arguments.config)
    print_out(status.why_to_json(diagnosis) if arguments.json else status.why_to_text(diagnosis))
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from ticdc_consumer import status
    from ticdc_consumer.targets import open_target

    options = _options(arguments)
    with closing(open_target(options.target_url, to_look=True)) as target:
        changefeeds = status.list_all(target)
    if arguments.json:
        print_out(status.list_to_json(changefeeds))
    else:
        print_out(status.list_to_text(changefeeds) or "the target knows no changefeed")
    return 0


def _plan(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.progress import planned
    from ticdc_consumer.consumer import Consumer

    for cut in Consumer(_options(arguments)).plan(arguments.until, sql=arguments.sql):
        print_out("\n".join(map(visible, planned(cut))))
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.demo import demo

    # Until there is a consumer to stop: an exception lets the demo remove its folder.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with standard_output():
        demo(arguments.rows, arguments.protocol, arguments.target, arguments.seed)
    return 0


def _end(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.status import end
    from ticdc_consumer.targets import open_target

    options = _options(arguments)
    with closing(open_target(options.target_url)) as target:
        print_out(visible(end(target, options)))
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": _demo,
    "run": _run,
    "load": _load,
    "check": _check,
    "plan": _plan,
    "status": _status,
    "list": _list,
    "why": _why,
    "end": _end,
}


def _options(arguments: argparse.Namespace) -> Options:
    sets = [*arguments.set]
    if getattr(arguments, "from_ts", None) is not None:
        sets.append(f"from_ts={arguments.from_ts}")
    options = config.load(arguments.config, sets)
    hide_secrets(options)
    return options


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding=config.UTF_8)
    except OSError as error:
        raise Usage(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Usage(f"{file} is not UTF-8 text") from None
