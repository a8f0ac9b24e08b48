"""A run's report: in words, as JSON, and as JUnit's XML."""

import json
from typing import Any
from xml.etree import ElementTree as ET

from ticdc_torture.judge import CHECKS
from ticdc_torture.run import Result


def verdict_of(result: Result, ignored: frozenset[str] = frozenset()) -> str:
    """`right` or `wrong`; ignored checks are reported, and make nothing wrong."""
    return "wrong" if {*result.verdict.wrong} - ignored else "right"


def in_words(result: Result, again: str, ignored: frozenset[str] = frozenset()) -> str:
    """Text for a terminal; `again` is the command that repeats the run."""
    lines = [f"  {event}" for event in result.events]
    lines += ["", f"{result.verdict.looks} looks at the target"]
    for check, words in CHECKS.items():
        wrong = result.verdict.wrong.get(check)
        mark = "ok" if wrong is None else "ignored" if check in ignored else "FAILED"
        lines.append(f"{mark:8} {check:9} {words}")
        if wrong is not None:
            count = result.verdict.counts[check]
            lines.append(f"{'':18} {count} times, the first: {wrong}")
    verdict = verdict_of(result, ignored)
    if verdict == "wrong" and result.output:
        lines += ["", "the consumer's last words:", result.output.rstrip()]
    return "\n".join([*lines, "", f"{verdict}; again by: {again}"])


def as_json(result: Result, again: str, ignored: frozenset[str] = frozenset()) -> str:
    """One object."""
    verdict = result.verdict
    checks: list[dict[str, Any]] = [
        {
            "check": check,
            "promise": words,
            "passed": check not in verdict.wrong,
            "ignored": check in ignored,
            "failures": verdict.counts[check],
            "first": verdict.wrong.get(check),
        }
        for check, words in CHECKS.items()
    ]
    document = {
        "verdict": verdict_of(result, ignored),
        "looks": verdict.looks,
        "checks": checks,
        "events": result.events,
        "output": result.output,
        "again": again,
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_junit(result: Result, again: str, ignored: frozenset[str] = frozenset()) -> str:
    """A suite with a case for each check."""
    wrong = result.verdict.wrong
    failed = {*wrong} - ignored
    suite = ET.Element(
        "testsuite", name="ticdc-torture", tests=str(len(CHECKS)), failures=str(len(failed))
    )
    for check, words in CHECKS.items():
        case = ET.SubElement(suite, "testcase", classname="ticdc-torture", name=f"{check}: {words}")
        if check in failed:
            ET.SubElement(case, "failure", message=_plain(wrong[check])).text = f"again by: {again}"
        elif check in wrong:
            ET.SubElement(case, "skipped", message=_plain(wrong[check]))
    ET.SubElement(suite, "system-out").text = _plain("\n".join(result.events))
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def _plain(text: str) -> str:
    """Replaces characters that XML cannot hold."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)
