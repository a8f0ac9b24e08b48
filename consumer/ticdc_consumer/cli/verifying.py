"""`verify`: what it compares, puts right and prints."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import TextIO

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import visible

from ticdc_consumer import config
from ticdc_consumer.cli.load_progress import LoadLines
from ticdc_consumer.cli.masking import hide_secrets
from ticdc_consumer.cli.output import print_out
from ticdc_consumer.cli.progress import RunProgress
from ticdc_consumer.cli.signals import end_by, stopping
from ticdc_consumer.commands.load.loading import load
from ticdc_consumer.commands.repair.differing_keys import DifferingKeys
from ticdc_consumer.commands.repair.verified import Step, put_right
from ticdc_consumer.commands.verify.against import other_side, verify_against
from ticdc_consumer.commands.verify.repair import RepairScript
from ticdc_consumer.commands.verify.report import (
    Subject,
    TableReport,
    summary,
    to_json,
    to_text,
)
from ticdc_consumer.commands.verify.same_state import Side
from ticdc_consumer.commands.verify.textfile import TextFile
from ticdc_consumer.commands.verify.topics import Replaying, verify_topics
from ticdc_consumer.commands.verify.verification import Request, verify
from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop, Usage
from ticdc_consumer.state.repairs import RepairRequest, RepairState


@dataclass(frozen=True, slots=True)
class _Printing:
    json: bool
    show_values: bool
    file: TextFile | None = None

    def say(self, text: str) -> None:
        if not self.json:
            print_out(text)

    def compared(self, reports: Iterable[TableReport]) -> dict[Subject, TableReport]:
        """Each report, printed as it comes."""
        by_subject = {}
        for report in reports:
            by_subject[report.subject] = report
            self.say(to_text(report, self.show_values))
        return by_subject

    def tell(self, step: Step) -> None:
        """What a repair comes to."""
        match step:
            case TableReport() if step.not_repaired:
                self.say(visible(f"{step.name}: not repaired: {step.not_repaired}"))
            case TableReport():
                self.say(to_text(step, self.show_values))
            case RepairRequest():
                tables = counted(len(step.tables), "table")
                self.say(f"to be put right: {counted(step.rows, 'row')} of {tables}")
            case RepairState():
                self.say(visible(str(step)))

    def end(self, reports: Sequence[TableReport], outcome: RepairState | None = None) -> None:
        """The sum, or the document; and the metrics."""
        if self.file is not None:
            self.file.replace(reports)
        if self.json:
            print_out(to_json(reports, self.show_values, outcome))
        else:
            print_out(summary(reports))


def verified(options: Settings, arguments: argparse.Namespace, script: TextIO | None) -> bool:
    """Whether all tables are equal, after the repair if one is asked for. The statements that
    repair go into `script`."""
    path = arguments.metrics_file
    file = TextFile(path, options.changefeed) if path else None
    printing = _Printing(arguments.json, arguments.show_values, file)
    if arguments.against or arguments.topics:
        return _against(options, arguments, printing)
    if arguments.at is not None:
        raise Usage("--at is the timestamp from which --topics begins: give both, or neither")
    differing, statements = DifferingKeys(), RepairScript()
    collectors = [differing] * arguments.repair + [statements] * (script is not None)
    request = Request(arguments.most, arguments.sessions, collectors, arguments.table)
    reports = printing.compared(verify(options, request))
    if script is not None:
        statements.write(script, {each.table for each in reports.values() if each.differences})
    outcome = None
    if arguments.repair and not _equal(reports.values()):
        printing.say(summary([*reports.values()]))
        outcome = put_right(options, request, reports, differing, printing.tell)
    printing.end([*reports.values()], outcome)
    return _equal(reports.values())


def _against(options: Settings, arguments: argparse.Namespace, printing: _Printing) -> bool:
    """Whether another target holds the same, or what the topics give."""
    if arguments.repair or arguments.repair_sql:
        raise Usage(
            "--against and --topics cannot tell which side is right: repair by the upstream, "
            "without them"
        )
    request = Request(arguments.most, tables=arguments.table)
    if arguments.topics:
        reports = _topics(options, request, arguments.at, printing)
    else:
        reports = printing.compared(verify_against(options, _other(options, arguments), request))
    printing.end([*reports.values()])
    return _equal(reports.values())


def _topics(
    options: Settings, request: Request, at: int | None, printing: _Printing
) -> dict[Subject, TableReport]:
    from ticdc_consumer.commands.run import Consumer

    stop, lines, progress = Event(), LoadLines(), RunProgress()
    with stopping(stop.set) as signals:

        def require_none() -> None:
            if signals:
                end_by(signals[0])

        def copy(scratch: Settings, at: int) -> None:
            load(scratch, at, report=lines.report, stopped=stop.is_set)
            require_none()

        def replay(scratch: Settings, until: int) -> None:
            consumer = Consumer(scratch)
            consumer.publishes, consumer.also_stops = False, stop.is_set
            with progress.watching(lambda: consumer.activity), consumer:
                if not consumer.reaches(until):
                    raise Stop("they have no resolved ts at or above the target's R yet: try again")
                for epoch in consumer.epochs(until):
                    progress.report(epoch)
            require_none()

        def reports() -> Iterator[TableReport]:
            for report in verify_topics(options, request, Replaying(copy, replay, at)):
                yield report
                require_none()

        return printing.compared(reports())


def _other(options: Settings, arguments: argparse.Namespace) -> Side:
    if "://" not in arguments.against:
        other = config.Settings.read(arguments.against, [])
        hide_secrets(other)
        return Side(other)
    hide_secrets(replace(options, target_url=arguments.against))
    changefeed = arguments.against_changefeed or options.changefeed
    return other_side(options, arguments.against, changefeed)


def _equal(reports: Iterable[TableReport]) -> bool:
    return all(report.equal for report in reports)
