"""Repairs the differences that `verify` found, and compares again."""

from collections.abc import Callable
from dataclasses import replace

from ticdc_consumer.commands.repair.command import number_of_now, repair
from ticdc_consumer.commands.repair.differing_keys import DifferingKeys
from ticdc_consumer.commands.verify.report import Subject, TableReport
from ticdc_consumer.commands.verify.verification import Request, verify
from ticdc_consumer.config.options import Settings
from ticdc_consumer.state.repairs import RepairRequest, RepairState

RepairStep = TableReport | RepairRequest | RepairState


def put_right(
    options: Settings,
    request: Request,
    reports: dict[Subject, TableReport],
    differing: DifferingKeys,
    tell: Callable[[RepairStep], None] = lambda step: None,
) -> RepairState | None:
    """Has the differing rows repaired, and compares their tables again, into `reports`. `tell` gets
    the tables that cannot be repaired, the request, its outcome, and each table after it. Returns
    None if there is nothing to do."""
    unequal = [report for report in reports.values() if report.differences]
    asked = differing.request(number_of_now(), [report.table for report in unequal])
    for report in unequal:
        if reason := differing.refused.get(report.table):
            reports[report.subject] = replace(report, not_repaired=reason)
            tell(reports[report.subject])
    if asked is None:
        return None
    tell(asked)
    outcome = repair(options, asked)
    tell(outcome)
    again = replace(request, collectors=(), only=frozenset(asked.tables))
    for report in verify(options, again):
        reports[report.subject] = report
        tell(report)
    return outcome
