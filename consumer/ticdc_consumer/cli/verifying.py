"""`verify`: what it compares, puts right and prints."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TextIO

from ticdc_encoder.errors import visible

from ticdc_consumer import config
from ticdc_consumer.cli.masking import hide_secrets
from ticdc_consumer.cli.output import print_out
from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Usage
from ticdc_consumer.state.repairs import RepairState
from ticdc_consumer.upstream.repair.command import number_of_now, repair
from ticdc_consumer.upstream.repair.differing_keys import DifferingKeys
from ticdc_consumer.upstream.verify.against import other_side, verify_against
from ticdc_consumer.upstream.verify.repair import RepairScript
from ticdc_consumer.upstream.verify.report import Subject, TableReport, summary, to_json, to_text
from ticdc_consumer.upstream.verify.same_state import Side
from ticdc_consumer.upstream.verify.textfile import TextFile
from ticdc_consumer.upstream.verify.verification import Request, verify


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

    def end(self, reports: Sequence[TableReport], outcome: RepairState | None = None) -> None:
        """The sum, or the document; and the metrics."""
        if self.file is not None:
            self.file.replace(reports)
        if self.json:
            print_out(to_json(reports, self.show_values, outcome))
        else:
            print_out(summary(reports))


def verified(options: Options, arguments: argparse.Namespace, script: TextIO | None) -> bool:
    """Whether all tables are equal, after the repair if one is asked for. The statements that
    repair go into `script`."""
    path = arguments.metrics_file
    file = TextFile(path, options.changefeed) if path else None
    printing = _Printing(arguments.json, arguments.show_values, file)
    if arguments.against:
        return _against(options, arguments, printing)
    differing, statements = DifferingKeys(), RepairScript()
    collectors = [differing] * arguments.repair + [statements] * (script is not None)
    request = Request(arguments.most, arguments.sessions, collectors, arguments.table)
    reports = printing.compared(verify(options, request))
    if script is not None:
        statements.write(script, {each.table for each in reports.values() if each.differences})
    outcome = None
    if arguments.repair and not _equal(reports.values()):
        printing.say(summary([*reports.values()]))
        outcome = _repaired(options, request, reports, differing, printing)
    printing.end([*reports.values()], outcome)
    return _equal(reports.values())


def _against(options: Options, arguments: argparse.Namespace, printing: _Printing) -> bool:
    """Whether another target holds the same."""
    if arguments.repair or arguments.repair_sql:
        raise Usage("--against cannot tell which side is right: repair by the upstream, without it")
    request = Request(arguments.most, tables=arguments.table)
    reports = printing.compared(verify_against(options, _other(options, arguments), request))
    printing.end([*reports.values()])
    return _equal(reports.values())


def _other(options: Options, arguments: argparse.Namespace) -> Side:
    if "://" not in arguments.against:
        other = config.load(arguments.against, [])
        hide_secrets(other)
        return Side(other)
    hide_secrets(replace(options, target_url=arguments.against))
    changefeed = arguments.against_changefeed or options.changefeed
    return other_side(options, arguments.against, changefeed)


def _repaired(
    options: Options,
    request: Request,
    reports: dict[Subject, TableReport],
    differing: DifferingKeys,
    printing: _Printing,
) -> RepairState | None:
    """Has the rows put right, and compares their tables again, into `reports`."""
    unequal = [report for report in reports.values() if report.differences]
    asked = differing.request(number_of_now(), [report.table for report in unequal])
    for report in unequal:
        if reason := differing.refused.get(report.table):
            reports[report.subject] = replace(report, not_repaired=reason)
            printing.say(visible(f"{report.name}: not repaired: {reason}"))
    if asked is None:
        return None
    printing.say(f"{asked.rows} rows of {len(asked.tables)} tables are to be put right")
    outcome = repair(options, asked)
    printing.say(visible(str(outcome)))
    again = replace(request, collectors=(), only=frozenset(asked.tables))
    reports.update(printing.compared(verify(options, again)))
    return outcome


def _equal(reports: Iterable[TableReport]) -> bool:
    return all(report.equal for report in reports)
