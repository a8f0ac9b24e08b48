"""The command line. Exit 0: done. 1: something is unreachable. 2: wrong usage. 3: an operator must
decide. 4: a newer consumer took over. 5: the target is not as the upstream."""

import argparse
import json
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TextIO

from ticdc_encoder.cli.output import CLOSED, INTERRUPTED, OutputClosed, standard_output
from ticdc_encoder.errors import TicdcError, visible
from ticdc_encoder.tso import with_time

from ticdc_consumer import api, config
from ticdc_consumer.cli.arguments import parse
from ticdc_consumer.cli.logs import choose, handler, logging_to_stderr, print_record
from ticdc_consumer.cli.masking import hide_secrets
from ticdc_consumer.cli.output import (
    print_error,
    print_json,
    print_out,
    print_traceback,
)
from ticdc_consumer.cli.signals import stopping
from ticdc_consumer.cli.terminal import wants_colour
from ticdc_consumer.errors import UNEQUAL, Usage

if TYPE_CHECKING:
    from types import ModuleType

    from ticdc_consumer.config.options import Settings
    from ticdc_consumer.state.ledger import LedgerEntry

logger = logging.getLogger(__name__)

STANDBY = "standby: starts when no other consumer of the changefeed is alive"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    sys.excepthook = print_traceback
    arguments = parse(argv)
    with logging_to_stderr():
        return _ended(arguments)


def _ended(arguments: argparse.Namespace) -> int:
    _silence_py4j()
    if "log_format" in arguments:
        choose(arguments.log_format, arguments.log_level)
    try:
        return COMMANDS[arguments.command](arguments)
    except TicdcError as error:
        return print_error(error)
    except OutputClosed:
        return CLOSED
    except KeyboardInterrupt:
        text = "interrupted; uncommitted changes are rolled back"
        print_record(logging.ERROR, "interrupted", text, {"exit_code": INTERRUPTED})
        return INTERRUPTED


def _silence_py4j() -> None:
    """Silences Spark's client, which logs a traceback of its connection at every interrupt."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(lambda record: "while sending command" not in str(record.msg))


# Commands. They import their modules when they run: `--help` waits for no Spark.


def _run(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.progress import RunProgress
    from ticdc_consumer.commands.run import Consumer

    options = _options(arguments)
    _check_ddl_ids(arguments)
    sql = _text_of(arguments.ddl_run[1]) if arguments.ddl_run else None
    if arguments.load and not _loaded(options):
        return 0
    progress = RunProgress()
    consumer = Consumer(options)
    with (
        stopping(consumer.stop) as signals,
        progress.watching(lambda: consumer.activity),
        ExitStack() as entered,
    ):
        if _shows_live_line(arguments):
            goal = arguments.until if isinstance(arguments.until, int) else None
            entered.enter_context(_screen().live_line(lambda: consumer.activity, goal))
        if arguments.standby:
            logger.info("%s", STANDBY, extra={"event": "standby"})
            if not consumer.stand_by():
                progress.sum_up(f"stopped by {signals[0].name}")
                return 0
        entered.enter_context(consumer)
        if arguments.ddl_done:
            entry = consumer.ddl_done(arguments.ddl_done)
            _log_manual(entry, f"DDL {entry.id} is marked as done")
        if sql is not None:
            entry = consumer.ddl_run(arguments.ddl_run[0], sql)
            _log_manual(entry, f"DDL {entry.id} is done by {arguments.ddl_run[1]}")
        for epoch in consumer.epochs(arguments.until):
            progress.report(epoch)
            handler.require_reader()
    progress.sum_up(f"stopped by {signals[0].name}" if signals else "done")
    return 0


def _check_ddl_ids(arguments: argparse.Namespace) -> None:
    """Checks the ids before any question or start: a mistyped id needs no broker and no target."""
    from ticdc_consumer.ddl.by_operator.manual import parsed_id

    if arguments.ddl_done:
        parsed_id(arguments.ddl_done, "--ddl-done")
    if arguments.ddl_run:
        parsed_id(arguments.ddl_run[0], "--ddl-run")


def _load(arguments: argparse.Namespace) -> int:
    if arguments.table:
        _load_again(arguments)
        return 0
    if arguments.give_up:
        raise Usage("--give-up needs --table; ticdc-consumer forget gives up a first load")
    _load_tables(_options(arguments), arguments.at, arguments.replace)
    return 0


def _loaded(options: "Settings") -> bool:
    """Loads the tables, unless something was applied already. Returns whether a run may
    continue.
    """
    from ticdc_consumer.state.store import Store
    from ticdc_consumer.targets import open_target

    with closing(
        open_target(options.target_url, to_look=True, changefeed=options.changefeed)
    ) as target:
        checkpoint = Store(target, options.changefeed).read()
    if checkpoint is not None and checkpoint.resolved_ts:
        return True
    return _load_tables(options)


def _load_tables(options: "Settings", at: int | None = None, replace_rows: bool = False) -> bool:
    """Returns whether everything was loaded before any signal came."""
    return _reported_load(options, at=at, replace_rows=replace_rows) is not None


def _reported_load(
    options: "Settings",
    tables: Sequence[str] = (),
    *,
    at: int | None = None,
    replace_rows: bool = False,
) -> int | None:
    """Loads and returns R; None if a signal came first."""
    from ticdc_consumer.cli.load_progress import LoadLines

    stop, lines = Event(), LoadLines(tables)
    with stopping(stop.set) as signals:
        loaded = api.load(
            options,
            tables,
            at=at,
            replace_rows=replace_rows,
            report=lines.report,
            stopped=stop.is_set,
        )
    lines.sum_up(loaded.resolved_ts, signals[0].name if signals else "")
    return loaded.resolved_ts


def _load_again(arguments: argparse.Namespace) -> None:
    from ticdc_consumer.commands.load.again import give_up

    options = _options(arguments)
    if arguments.give_up:
        api.require_at_r(arguments.at, arguments.replace)
        give_up(options, arguments.table)
        return
    _reported_load(options, arguments.table, at=arguments.at, replace_rows=arguments.replace)


def _log_manual(entry: "LedgerEntry", text: str) -> None:
    fields = {"commit_ts": entry.commit_ts, "number": entry.seq}
    logger.info("%s", text, extra={"event": "ddl_by_operator", **fields})


def _check(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.commands.check import checks

    findings = []
    for finding in api.check(_options(arguments)):
        findings.append(finding)
        if _is_for_screen(arguments):
            _screen().print_finding(finding)
        elif not arguments.json:
            print_out(visible(str(finding)))
    code = checks.exit_code(findings)
    if arguments.json:
        print_json({"exit_code": code, "findings": [each.to_json() for each in findings]})
    return code


def _status(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.status import text

    current = api.status(_options(arguments))
    if _is_for_screen(arguments):
        _screen().print_status(current, arguments.config)
    else:
        if arguments.json:
            print_out(text.to_json(current))
        else:
            print_out(text.to_text(current, arguments.config))
    return 0


def _why(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.status.diagnosis import why_to_json, why_to_text

    diagnosis = api.why(_options(arguments), arguments.config)
    print_out(why_to_json(diagnosis) if arguments.json else why_to_text(diagnosis))
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.commands.changefeeds import list_to_json, list_to_text

    changefeeds = api.changefeeds(_options(arguments))
    if arguments.json:
        print_out(list_to_json(changefeeds))
    else:
        print_out(list_to_text(changefeeds) or "the target knows no changefeed")
    return 0


def _plan(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.planned import planned, planned_json

    cuts = api.plan(_options(arguments), arguments.until, sql=arguments.sql)
    if not arguments.json:
        cut = None
        for cut in cuts:
            if _is_for_screen(arguments):
                _screen().print_cut(cut)
            else:
                print_out("\n".join(map(visible, planned(cut))))
        if cut is None:
            print_out("there is nothing to apply")
        return 0
    documents: list[dict[str, object]] = []
    try:
        documents.extend(map(planned_json, cuts))
    except TicdcError as error:
        stop = {"text": str(error), "exit_code": error.exit_code}
        print_json({"cuts": documents, "stop": stop})
        raise
    print_json({"cuts": documents, "stop": None})
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.verifying import verified

    options = _options(arguments)
    with ExitStack() as stack:
        script = None
        if arguments.repair_sql:
            script = stack.enter_context(_new_file(arguments.repair_sql))
        return 0 if verified(options, arguments, script) else UNEQUAL


def _demo(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.demo import demo

    # Before a consumer exists to stop, an exception lets the demo remove its folder.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with standard_output():
        demo(
            arguments.rows,
            arguments.protocol,
            arguments.target,
            arguments.seed,
            arguments.page,
        )
    return 0


def _forget(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.asking import require_yes

    options = _options(arguments)
    if not arguments.yes:
        require_yes(f"forget changefeed {options.changefeed}? Its tables stay as they are")
    ended = api.forget(options)
    if arguments.json:
        print_json(ended.to_json())
    else:
        print_out(visible(str(ended)))
    return 0


def _release(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.progress import RunProgress

    options, progress = _options(arguments), RunProgress()
    if arguments.load:
        rows = api.release_by_load(options, arguments.table)
        fields = {"event": "released", "table": arguments.table, "rows": rows}
        logger.info("%s is released: %d rows loaded", arguments.table, rows, extra=fields)
        return 0
    for epoch in api.release(options, arguments.table):
        progress.report(epoch)
    progress.sum_up(f"{arguments.table} is released")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    options = _options(arguments)
    if Path(arguments.file).exists():
        raise Usage(f"{arguments.file} exists already, and is not overwritten")
    exported = api.export_checkpoint(options)
    with _new_file(arguments.file) as file:
        json.dump(exported.document, file, indent=1, ensure_ascii=False)
    at = with_time(exported.resolved_ts)
    print_out(f"{arguments.file} is written: changefeed {exported.changefeed} at R = {at}")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.commands.export import document_of

    options = _options(arguments)
    document = document_of(_text_of(arguments.file), arguments.file)
    state = api.import_checkpoint(options, document)
    print_out(
        f"changefeed {state.changefeed} continues from R = {with_time(state.resolved_ts)}, which "
        "is right only if the tables hold the rows of that R: verify it with `ticdc-consumer "
        "verify CONFIG`, then continue with `ticdc-consumer run CONFIG`"
    )
    return 0


def _init(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.init import init

    print_out("\n".join(map(visible, init(arguments).split("\n"))))
    return 0


def _inspect(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.one_message import as_json, as_text

    of_message = arguments.topic, arguments.partition, arguments.offset
    inspection = api.inspect(_options(arguments), *of_message)
    if arguments.json:
        print_json(as_json(inspection))
    else:
        print_out(as_text(inspection))
    return 0 if inspection.error is None else inspection.error.exit_code


def _trace(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.trace_progress import TraceLines
    from ticdc_consumer.commands.trace.report import to_json, to_text
    from ticdc_consumer.cut.read.row_key import RowKey

    key = dict(RowKey.parse(arguments.key).parts)
    traced = api.trace(
        _options(arguments),
        arguments.table,
        key,
        first_ts=arguments.first_ts or 0,
        last_ts=arguments.last_ts,
        follow=arguments.follow,
        with_values=arguments.show_values,
        report=TraceLines().report,
    )
    if arguments.json:
        print_json(to_json(traced))
    else:
        print_out(to_text(traced))
    return UNEQUAL if traced.agrees is False else 0


def _settings(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.settings import as_json, as_text, named

    settings = named(arguments.name)
    if arguments.json:
        print_json(as_json(settings))
    else:
        print_out(as_text(settings))
    return 0


def _completion(arguments: argparse.Namespace) -> int:
    from ticdc_consumer.cli.completion import script

    print_out(script(arguments.shell).rstrip("\n"))
    return 0


def _is_for_screen(arguments: argparse.Namespace) -> bool:
    return not arguments.json and wants_colour(sys.stdout)


def _shows_live_line(arguments: argparse.Namespace) -> bool:
    of_people = arguments.log_format == "text" and arguments.log_level in ("debug", "info")
    return of_people and wants_colour(sys.stderr)


def _screen() -> "ModuleType":
    """Imports the module that draws on a terminal; pipes do not wait for it."""
    from ticdc_consumer.cli import screen

    return screen


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "demo": _demo,
    "run": _run,
    "load": _load,
    "check": _check,
    "plan": _plan,
    "status": _status,
    "list": _list,
    "why": _why,
    "verify": _verify,
    "release": _release,
    "forget": _forget,
    "export": _export,
    "import": _import,
    "init": _init,
    "trace": _trace,
    "inspect": _inspect,
    "settings": _settings,
    "completion": _completion,
}


def _options(arguments: argparse.Namespace) -> "Settings":
    sets = [*arguments.set]
    if getattr(arguments, "from_ts", None) is not None:
        sets.append(f"from_ts={arguments.from_ts}")
    options = config.Settings.read(arguments.config, sets)
    hide_secrets(options)
    return options


def _new_file(file: str) -> TextIO:
    try:
        return Path(file).open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise Usage(f"cannot write {file}: {error.strerror}") from None


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding=config.UTF_8)
    except OSError as error:
        raise Usage(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Usage(f"{file} is not UTF-8 text") from None
