"""`verify`: comparison, repair and output."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import TextIO

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import visible

from ticdc_consumer import api
from ticdc_consumer.cli.load_progress import LoadLines
from ticdc_consumer.cli.masking import hide_secrets
from ticdc_consumer.cli.output import print_out
from ticdc_consumer.cli.progress import RunProgress
from ticdc_consumer.cli.signals import end_by, stopping
from ticdc_consumer.commands.repair.verified import RepairStep
from ticdc_consumer.commands.verify.report import TableReport, summary, to_json, to_text
from ticdc_consumer.commands.verify.textfile import TextFile
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.epoch import Epoch
from ticdc_consumer.errors import Usage
from ticdc_consumer.state.loading import LoadProgress
from ticdc_consumer.state.repairs import RepairRequest, RepairState


@dataclass(frozen=True, slots=True)
class _Printing:
    json: bool
    show_values: bool
    file: TextFile | None = None

    def say(self, text: str) -> None:
        if not self.json:
            print_out(text)

    def compared(self, reports: Iterable[TableReport]) -> list[TableReport]:
        """Prints each report as it arrives; returns all."""
        known = []
        for report in reports:
            known.append(report)
            self.tell(report)
        return known

    def tell(self, report: TableReport) -> None:
        self.say(to_text(report, self.show_values))

    def end(self, reports: Sequence[TableReport], outcome: RepairState | None = None) -> None:
        """Prints the sum, or the document, and writes the metrics."""
        if self.file is not None:
            self.file.replace(reports)
        if self.json:
            print_out(to_json(reports, self.show_values, outcome))
        else:
            print_out(summary(reports))


def verified(options: Settings, arguments: argparse.Namespace, script: TextIO | None) -> bool:
    """Returns whether all tables are equal, after the repair if one is asked for. Writes the
    repair's statements to `script`."""
    path = arguments.metrics_file
    file = TextFile(path, options.changefeed) if path else None
    printing = _Printing(arguments.json, arguments.show_values, file)
    reports: Sequence[TableReport]
    outcome: RepairState | None = None
    if arguments.against or arguments.topics:
        reports = _against(options, arguments, printing)
    elif arguments.at is not None:
        raise Usage("--at sets where --topics starts: give both, or neither")
    else:
        reports, outcome = _with_upstream(options, arguments, script, printing)
    printing.end(reports, outcome)
    return all(report.equal for report in reports)


def _with_upstream(
    options: Settings,
    arguments: argparse.Namespace,
    script: TextIO | None,
    printing: _Printing,
) -> tuple[Sequence[TableReport], RepairState | None]:
    tables, most, sessions = arguments.table, arguments.most, arguments.sessions
    if arguments.repair:
        steps = _Steps(printing)
        repaired = api.repair(options, tables, most=most, sessions=sessions, report=steps.report)
        return repaired.reports, repaired.outcome
    if script is not None:
        repair = api.repair_sql(options, tables, most=most, sessions=sessions, report=printing.tell)
        script.write(repair.statements)
        script.flush()
        return repair.reports, None
    reports = api.verify(options, tables, most=most, sessions=sessions)
    return printing.compared(reports), None


class _Steps:
    """Prints the result of a repair, and the sum of the differences found before it."""

    def __init__(self, printing: _Printing) -> None:
        self._printing = printing
        self._compared: list[TableReport] | None = []

    def report(self, step: RepairStep) -> None:
        match step:
            case TableReport() if step.not_repaired:
                self._sum_up()
                self._printing.say(visible(f"{step.name}: not repaired: {step.not_repaired}"))
            case TableReport():
                self._printing.tell(step)
                if self._compared is not None:
                    self._compared.append(step)
            case RepairRequest():
                self._sum_up()
                tables = counted(len(step.tables), "table")
                rows = counted(step.rows, "row")
                self._printing.say(f"to repair: {rows} of {tables}")
            case RepairState():
                self._printing.say(visible(str(step)))

    def _sum_up(self) -> None:
        if self._compared is not None:
            self._printing.say(summary(self._compared))
            self._compared = None


def _against(
    options: Settings, arguments: argparse.Namespace, printing: _Printing
) -> list[TableReport]:
    """Compares the target with another, or with the contents that the topics give."""
    if arguments.repair or arguments.repair_sql:
        raise Usage(
            "--against and --topics cannot tell which side is right: repair from the upstream, "
            "without them"
        )
    if arguments.topics:
        return _topics(options, arguments, printing)
    other = _other(options, arguments)
    return printing.compared(
        api.verify_against(
            options,
            other,
            arguments.table,
            changefeed=arguments.against_changefeed or "",
            most=arguments.most,
        )
    )


def _topics(
    options: Settings, arguments: argparse.Namespace, printing: _Printing
) -> list[TableReport]:
    stop, lines, progress = Event(), LoadLines(), RunProgress()

    def report(step: LoadProgress | Epoch) -> None:
        if isinstance(step, Epoch):
            progress.report(step)
        else:
            lines.report(step)

    with stopping(stop.set) as signals:
        reports = printing.compared(
            api.verify_topics(
                options,
                arguments.table,
                at=arguments.at,
                most=arguments.most,
                report=report,
                watching=progress.watching,
                stopped=stop.is_set,
            )
        )
        if signals:
            end_by(signals[0])
    return reports


def _other(options: Settings, arguments: argparse.Namespace) -> Settings | str:
    """The other target: its settings, or its URL."""
    if "://" not in arguments.against:
        other = Settings.read(arguments.against)
        hide_secrets(other)
        return other
    url: str = arguments.against
    hide_secrets(replace(options, target_url=url))
    return url
